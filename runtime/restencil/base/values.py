"""Stored values: sentinels, read-only containers, JSON equality and times; and `Struct`, for immutable objects."""

from __future__ import annotations

import enum
import gc
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, Self, TypeGuard, TypeVar, dataclass_transform

K = TypeVar("K")
V = TypeVar("V")


class Sentinel:
    """A unique marker value that is never returned to users."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __bool__(self) -> bool:
        return False

    def __copy__(self) -> Sentinel:
        return self

    def __deepcopy__(self, memo: object) -> Sentinel:
        return self

    def __reduce__(self) -> str:
        return self._name  # unpickled as the object of this name in the module, so that it stays unique


UNDEFINED: Final = Sentinel("UNDEFINED")
"""Marks an unknown value: there is no entry."""

INVALID: Final = Sentinel("INVALID")
"""Marks a value that is known to be unusable: deleted, invalidated, or rejected by `validate`."""


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    kind = "list" if isinstance(self, list) else "dict"
    raise TypeError(f"this {kind} is shared by all readers and read-only; copy it first: {kind}(value)")


class ReadOnlyList(list[V]):
    """A list that cannot be changed: methods that would change it raise TypeError."""

    __slots__ = ()

    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __copy__(self) -> list[V]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[V]:
        from copy import deepcopy

        return [deepcopy(item, memo) for item in self]

    def __reduce__(self) -> tuple[Any, ...]:
        # The items are pickled as state, after the list itself, so that it may be part of a cycle.
        return type(self), (), list(self)

    def __setstate__(self, items: list[V]) -> None:
        super().extend(items)


class ReadOnlyDict(dict[K, V]):
    """A dict that cannot be changed: methods that would change it raise TypeError."""

    __slots__ = ()

    update = setdefault = pop = popitem = clear = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __copy__(self) -> dict[K, V]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[K, V]:
        from copy import deepcopy

        return {key: deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (), dict(self)

    def __setstate__(self, members: dict[K, V]) -> None:
        super().update(members)


SCALARS: Final = frozenset({str, int, float, bool, type(None)})

# With these in `isinstance`, type checkers infer Any for the items instead of an unknown type, without a call.
DICT: type[Any] = dict
LIST: type[Any] = list
MAPPING: type[Any] = Mapping
TUPLE: type[Any] = tuple
SEQUENCE: tuple[type[Any], ...] = (list, tuple)
kind_of: Callable[[Any], type[Any]] = type


def is_sequence(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """True for a list or tuple."""
    return isinstance(value, list | tuple)


def is_items(value: object) -> TypeGuard[Sequence[Any]]:
    """True for a list, a tuple, and other sequences such as a deque or a range, but not for strings and bytes."""
    return isinstance(value, list | tuple) or (
        isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview)
    )


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """True for a list."""
    return isinstance(value, list)


def is_dict(value: object) -> TypeGuard[dict[str, Any]]:
    """True for a dict."""
    return isinstance(value, dict)


def is_mapping(value: Any) -> TypeGuard[Mapping[str, Any]]:
    """True for a dict or another mapping."""
    return isinstance(value, dict) or isinstance(value, Mapping)  # noqa: SIM101 - an ABC takes five times as long


def read_only(value: Any) -> Any:
    """Return a value with each plain list and dict in it replaced by a read-only one."""
    kind = kind_of(value)
    # Loops, because comprehensions use a frame of their own up to Python 3.11, and JSON may be nested deeply.
    if kind is list:
        items: list[Any] = []
        for item in value:
            items.append(item if type(item) in SCALARS else read_only(item))  # noqa: PERF401 - see above
        return ReadOnlyList(items)
    if kind is dict:
        members: dict[Any, Any] = {}
        for key, item in value.items():
            members[key] = item if type(item) in SCALARS else read_only(item)
        return ReadOnlyDict(members)
    return value


def looked_through(record: dict[str, object]) -> bool:
    """Whether a dict contains values other than scalars."""
    return not SCALARS.issuperset(map(type, record.values()))


holds_containers: Final[Callable[[dict[str, Any]], bool]] = (
    # Benchmark: normalize the parsed response into an empty store. Up to 3.13 the garbage collector does not track
    # dicts of scalars, and `is_tracked` takes a tenth of the time.
    gc.is_tracked
    if sys.version_info < (3, 14) and hasattr(gc, "is_tracked")
    else looked_through
)
"""If False, a dict contains only scalars; True for every dict with a list, dict or object, and perhaps for others."""


def copy_in(value: Any) -> Any:
    """Return a deep copy of a user's value: containers are copied, all other objects are not."""
    kind = kind_of(value)
    if kind is dict or (kind is not list and isinstance(value, MAPPING)):
        # Benchmark: set_response of a tree. Most dicts contain scalars only; tuples may be untracked too.
        if kind is dict and not holds_containers(value) and tuple not in map(type, value.values()):
            scalars: dict[Any, Any] = value.copy()
            return scalars
        members: dict[Any, Any] = {}
        for key, item in value.items():
            members[key] = item if type(item) in SCALARS else copy_in(item)
        return members
    if kind is list or isinstance(value, SEQUENCE):
        items: list[Any] = []
        for item in value:
            items.append(item if type(item) in SCALARS else copy_in(item))  # noqa: PERF401 - as in read_only
        return items
    return value


def same_json(left: object, right: Any) -> bool:
    """Whether two values are equal in JSON: `True` and `1` differ at any depth, `3` and `3.0` do not."""
    if left is right:
        return True
    try:
        return bool(left == right) and alike(left, right)
    except Exception:  # comparing objects of users may raise anything
        return False


def alike(left: Any, right: Any) -> bool:
    """Whether two values that are equal in Python are equal in JSON too, where booleans are not numbers."""
    kind = kind_of(left)
    if kind is dict or (kind is not list and isinstance(left, DICT)):
        if not isinstance(right, DICT):
            return False
        for key, value in left.items():
            if type(value) is not str:
                other = right[key]
                if value is not other and not (type(value) is type(other) is int) and not alike(value, other):
                    return False
        return True
    if kind is list or isinstance(left, LIST):
        if not isinstance(right, LIST):
            return False
        for place, value in enumerate(left):
            if type(value) is not str:
                other = right[place]
                if value is not other and not alike(value, other):
                    return False
        return True
    return (left is True or left is False) is (right is True or right is False)


def text_of(value: object) -> str:
    """Convert a value to its string in URL parameters and in the identity of a collection."""
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, str):
        return value if type(value) is str else str.__str__(value)
    if value is True:
        return "true"
    if value is False:
        return "false"
    return _float_text(value) if isinstance(value, float) else str(value)


def scalar_text(value: object) -> str | None:
    """Convert a value to its string in a path, a query, a form or a collection's primary key; None without one."""
    plain = value.value if isinstance(value, enum.Enum) else value
    if isinstance(plain, list | tuple | Mapping | set | frozenset | bytes | bytearray):
        return None
    # A generator, a function or another object without a string of its own would be sent as its `repr`.
    is_textless = type(plain).__str__ is object.__str__ and not isinstance(plain, str | int | float | None)
    return None if is_textless else text_of(plain)


def _float_text(value: float) -> str:
    """Format a number as JavaScript does: without `.0`, and with an exponent only below 1e-6 and from 1e21 on."""
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    digits, _, exponent = repr(value).partition("e")
    if not exponent:
        return digits
    power = int(exponent)
    if power < -6 or power > 0:
        return f"{digits}e{power:+}"
    return f"{value:.{len(digits.partition('.')[2]) - power}f}"


def with_article(noun: str) -> str:
    """Return a noun with its article, chosen by the first letter: `a User`, `an Article`."""
    return f"{'an' if noun[:1] in 'aeioAEIO' else 'a'} {noun}"


def described(value: Any) -> str:
    """Return the type of a value with an article, for messages: `a list`, `an int`, `None`."""
    return "None" if value is None else with_article(type(value).__name__)


class Meta(NamedTuple):
    """The times of stored data, in ms of the store's clock: when it was requested, received, and becomes stale."""

    fetched_at: float
    date: float
    expires_at: float

    def with_page(self, page: Meta) -> Meta:
        """Return the times of a list after another page was added: the list is as old as its oldest page."""
        return Meta(min(self.fetched_at, page.fetched_at), page.date, min(self.expires_at, page.expires_at))


@dataclass_transform(frozen_default=True)
class Struct:
    """The base class of immutable values, like frozen dataclasses but without code generation at import.

    The annotated names of a class are its members, given by position or by name; class attributes are defaults. Two
    instances of a class are equal if their members are. Raises TypeError for missing or unknown members, and
    AttributeError if one is changed.
    """

    __members: ClassVar[tuple[str, ...]] = ()
    __known: ClassVar[frozenset[str]] = frozenset()
    __required: ClassVar[frozenset[str]] = frozenset()
    __least: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        names = cls.__members = tuple(cls.__annotations__)
        cls.__known = frozenset(names)
        cls.__required = frozenset(name for name in names if name not in cls.__dict__)
        # The number of positional members that is sufficient.
        cls.__least = max((place for place, name in enumerate(names, 1) if name in cls.__required), default=0)

    def __init__(self, /, *args: Any, **members: Any) -> None:
        names, given = self.__members, self.__dict__
        given.update(zip(names, args))  # noqa: B905 - too many are detected below
        if not members and self.__least <= len(args) <= len(names):
            return
        given.update(members)
        if len(given) < len(args) + len(members) or not self.__required <= given.keys() <= self.__known:
            by_name, required = ", ".join(members) or "none", ", ".join(sorted(self.__required)) or "none"
            raise TypeError(
                f"{type(self).__name__} got {len(args)} members by position and {by_name} by name; its members are: "
                f"{', '.join(names)}; required: {required}"
            )

    def replaced(self, **members: object) -> Self:
        """Return a copy with other values for some members."""
        return type(self)(**{**self.__dict__, **members})

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; its member {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; its member {name!r} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__values() == other.__values()

    def __hash__(self) -> int:
        return hash((type(self), self.__values()))

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__members)
        return f"{type(self).__name__}({members})"

    def __values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.__members])
