"""How schemas are written: as lists, dicts, classes and functions, or `Lazy` if they are defined later."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from ..base.errors import ConversionError, ProcessingError
from ..base.package import check_reference, find
from ..base.values import LIST, UNDEFINED, read_only
from .codec import encode_any
from .protocol import Echo, Reader, Schema, ValueTypes, Writer, title_of
from .record import Model, RecordMeta

T = TypeVar("T")


class Conversion(Schema):
    """A plain callable that turns a stored value into what is handed out, never called on None."""

    fingerprint_name = "custom"

    takes_scalars = True
    is_leaf = True

    def __init__(
        self, convert: Callable[[Any], Any], encode: Callable[[Any], Any] = encode_any, model: Any = None
    ) -> None:
        self.convert = convert
        self.encode = encode
        self._model = model

    @property
    def wire_model(self) -> Any:
        return self._model

    def value_types(self, of: ValueTypes) -> None:
        of.value(self.wire_model)

    def normalize(self, value: Any, parent: Any, key: str | None, writer: Writer) -> Any:
        return value

    def converted(self, value: Any) -> Any:
        """What is handed out for a stored value; lists and dicts go in and come out read-only."""
        return read_only(self.convert(read_only(value)))

    def denormalize(self, stored: Any, reader: Reader) -> Any:
        try:
            return self.converted(stored)
        except ConversionError:
            raise
        except ProcessingError as error:
            raise ConversionError(str(error)) from error
        except Exception as error:
            raise ConversionError(
                f"{stored!r:.100} does not convert by {self.title}: {error}; give the schema a conversion that fits "
                "what the server sends"
            ) from error

    def echo(self, value: Any, echo: Echo) -> Any:
        return self.denormalize(value, echo.reader)

    @property
    def title(self) -> str:
        return getattr(self.convert, "__name__", type(self.convert).__name__)


class Lazy(Schema):
    """A reference to a schema that is resolved at first use: a function that gives it, or a name.

    `Lazy(lambda: User)` is the class `User` of the same module, `Lazy(".users:User", __name__)` that of the module
    `users` beside it, and `Lazy("shop.users:User")` that of any module. Raises ValueError for another form of a name.
    """

    def __init__(self, resolve: Callable[[], Any] | str, asking: str = "") -> None:
        if isinstance(resolve, str):
            check_reference(resolve, relative=bool(asking))
        self._resolve = resolve
        self._asking = asking
        self._raw: Any = UNDEFINED

    @property
    def raw(self) -> Any:
        """The schema as it was written."""
        if self._raw is UNDEFINED:
            resolve = self._resolve
            self._raw = find(resolve, self._asking) if isinstance(resolve, str) else resolve()
        return self._raw

    @property
    def target(self) -> Schema | None:
        """The schema it refers to."""
        return schema_of(self.raw)

    def __repr__(self) -> str:
        return f"Lazy({self._raw if self._raw is not UNDEFINED else self._resolve!r})"


def schema_of(raw: Any) -> Schema | None:
    """The schema for a value written as one; None if it is documentation only.

    One list or dict object always gives one schema object. Raises TypeError for a list that has not exactly one item.
    """
    if raw is None:
        return None
    if isinstance(raw, Lazy):
        return raw.target
    if isinstance(raw, Schema):
        return raw
    return notation(raw)


@singledispatch
def notation(raw: Any) -> Schema | None:
    """The schema for a value that is no schema object; each kind of schema registers how it may be written."""
    return Conversion(raw) if callable(raw) else None


@notation.register
def _record_class(raw: RecordMeta) -> Schema:
    found: Schema = raw.__model__.node
    return found


_shorthands: Final[WeakValueDictionary[int, Schema]] = WeakValueDictionary()


def shorthand(raw: T, make: Callable[[T], Schema]) -> Schema:
    """The schema for a list or dict, made when the object is met first."""
    schema = _shorthands.get(id(raw))
    if schema is None:
        schema = _shorthands[id(raw)] = make(raw)
        schema.written_as = raw  # held, so that the id stays this object's
    return schema


_SHORTHAND: tuple[type[Any], ...] = (list, dict)


def check_shorthand(raw: Any, above: tuple[Any, ...] = ()) -> None:
    """Raises TypeError for a list, in a schema written as lists and dicts, that has not exactly one item."""
    if isinstance(raw, _SHORTHAND) and not any(raw is outer for outer in above):
        if isinstance(raw, LIST) and len(raw) != 1:
            schema_of(raw)
        for member in raw if isinstance(raw, LIST) else raw.values():
            check_shorthand(member, (*above, raw))


def body_model(raw: Any) -> Any:
    """What brings a body to wire form for an endpoint with this schema: its entity, or what chooses one."""
    schema = schema_of(raw)
    return None if schema is None else schema.body_model


def schema_name(raw: Any) -> str:
    """The name of a schema in endpoint names."""
    return title_of(schema_of(raw), type(raw).__name__)


Model.schema_of = staticmethod(schema_of)
