"""The protocol of all schemas: three operations, with the recursion handed in (§5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakSet, WeakValueDictionary

from ..base.errors import ConversionError, ProcessingError
from ..base.package import check_reference, find
from ..base.values import LIST, SCALARS, TUPLE, UNDEFINED, read_only
from .codec import encode_any
from .record import RecordMeta

if TYPE_CHECKING:
    from ..cache.denormalize import Denormalization
    from ..cache.normalize import Normalization
    from .entity import Entity


class Schema:
    """What all schema kinds have in common; each declares where entities are in a value (§5.1)."""

    plain: ClassVar[bool] = False
    """Whether there is nothing in it to denormalize (§8.1)."""

    normalizer: Callable[[Any, Any, str | None, Any], Any] | None = None
    """The compiled form of `normalize`, once it pays."""
    uses: int = 0
    """How many values were normalized before it was compiled."""
    denormalizer: Callable[[Any, Any], Any] | None = None
    """The compiled form of `denormalize`, once it pays."""
    reads: int = 0
    """How many values were denormalized before it was compiled."""

    def drop_compiled(self) -> None:
        """A schema was redefined, perhaps one that was compiled into this one."""
        self.normalizer = self.denormalizer = None

    def normalize(self, value: Any, parent: Any, key: str | None, run: Normalization) -> Any:
        """Response value → stored form; entities in it are written through `run`."""
        raise NotImplementedError(f"{type(self).__name__} has no normalize")

    def normalize_scalar(self, value: Any, run: Normalization) -> Any:
        """A scalar where this schema stands: unchanged, except for entities and `Invalidate` (§5.1)."""
        return value

    def denormalize(self, stored: Any, run: Denormalization) -> Any:
        """Stored form → objects; `UNDEFINED` for missing and `INVALID` for unusable."""
        raise NotImplementedError(f"{type(self).__name__} has no denormalize")

    def answer(self, value: Any, run: Answer) -> Any:
        """The response's own shape, in which every entity is the store's instance (§7.2)."""
        raise NotImplementedError(f"{type(self).__name__} has no answer")

    def query_key(self, args: tuple[Any, ...], run: Denormalization) -> Any:
        """The stored form that would be the result for these args, from tables alone; `UNDEFINED` if unknown."""
        return UNDEFINED

    def children(self) -> Iterable[Schema | None]:
        """The schemas directly inside this one, in declaration order."""
        return ()

    @property
    def inert(self) -> bool:
        """Whether it hands out what lies in the tables: nothing is checked, converted or computed that could fail."""
        return False

    @property
    def title(self) -> str:
        """The name that endpoints and errors use for it (§4.2)."""
        return type(self).__name__


class _Definitions:
    """Counts the calls of `define()`, after which nothing that was made from a schema before is used (§5.1)."""

    count = 0

    def __init__(self) -> None:
        self.compiled: WeakSet[Schema] = WeakSet()

    def changed(self) -> None:
        """A schema means something else from now on."""
        self.count += 1
        for schema in self.compiled:
            schema.drop_compiled()
        self.compiled.clear()


definitions: Final = _Definitions()


class Answer:
    """Hands the recursion of `Schema.answer` in: what the store holds now, and what the response was stored as."""

    def __init__(self, run: Normalization, reader: Denormalization) -> None:
        self.written: Mapping[tuple[int, str], str] = run.written
        self.processed: Mapping[tuple[int, str], Mapping[str, Any]] = run.processed
        self.chosen: Mapping[tuple[int, int], Schema] = run.chosen
        self.reader = reader

    def visit(self, schema: Schema | None, value: Any) -> Any:
        """The answer for one value; without a schema the value itself."""
        if schema is None:
            return value if type(value) in SCALARS else read_only(value)
        if value is None:
            return None
        return schema.answer(list(value) if isinstance(value, TUPLE) else value, self)


class Conversion(Schema):
    """A plain callable that turns a stored value into what is handed out, never called on None (§5.1)."""

    def __init__(self, convert: Callable[[Any], Any], encode: Callable[[Any], Any] = encode_any) -> None:
        self.convert = convert
        self.encode = encode

    def normalize(self, value: Any, parent: Any, key: str | None, run: Normalization) -> Any:
        return value

    def converted(self, value: Any) -> Any:
        """What is handed out for a stored value; lists and dicts go in and come out read-only (§6.1)."""
        return read_only(self.convert(read_only(value)))

    def denormalize(self, stored: Any, run: Denormalization) -> Any:
        try:
            return self.converted(stored)
        except ProcessingError:
            raise
        except Exception as error:
            raise ConversionError(
                f"{stored!r:.100} does not convert by {self.title}: {error}; give the schema a conversion that fits "
                "what the server sends"
            ) from error

    def answer(self, value: Any, run: Answer) -> Any:
        return self.denormalize(value, run.reader)

    @property
    def title(self) -> str:
        return getattr(self.convert, "__name__", type(self.convert).__name__)


class Lazy(Schema):
    """Stands for a schema that is asked for at first use and then remembered: what a function gives, or a name.

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
        """The schema as it was written where it stands."""
        if self._raw is UNDEFINED:
            resolve = self._resolve
            self._raw = find(resolve, self._asking) if isinstance(resolve, str) else resolve()
        return self._raw

    @property
    def target(self) -> Schema | None:
        """The schema that it stands for."""
        return schema_of(self.raw)

    def __repr__(self) -> str:
        return f"Lazy({self._raw if self._raw is not UNDEFINED else self._resolve!r})"


_SHORTHAND: tuple[type[Any], ...] = (list, dict)
_shorthands: Final[WeakValueDictionary[int, Schema]] = WeakValueDictionary()


def schema_of(raw: Any) -> Schema | None:
    """The schema that a value written as one stands for; None where it is documentation only (§4.4, §5.1).

    One list or dict object always gives one schema object. Raises TypeError for a list that has not exactly one item.
    """
    if raw is None:
        return None
    if isinstance(raw, Lazy):
        return raw.target
    if isinstance(raw, Schema):
        return raw
    if isinstance(raw, RecordMeta):
        node: Schema | None = getattr(raw.__model__, "node", None)
        return node if node is not None else Conversion(raw.__model__.cls.from_js)
    if isinstance(raw, _SHORTHAND):
        from .containers import List, Object

        known = _shorthands.get(id(raw))
        if known is None:
            known = List(raw) if isinstance(raw, LIST) else Object(raw)
            known.written_as = raw  # held, so that the id stays this object's
            _shorthands[id(raw)] = known
        return known
    if callable(raw):
        return Conversion(raw)
    return None


def check_shorthand(raw: Any, above: tuple[Any, ...] = ()) -> None:
    """Raises TypeError for a list, in a schema written as lists and dicts, that has not exactly one item (§5.5)."""
    if isinstance(raw, _SHORTHAND) and not any(raw is outer for outer in above):
        if isinstance(raw, LIST) and len(raw) != 1:
            schema_of(raw)
        for member in raw if isinstance(raw, LIST) else raw.values():
            check_shorthand(member, (*above, raw))


def is_plain(schema: Schema | None, seen: frozenset[int] = frozenset()) -> bool:
    """Whether there is nothing to denormalize: no schema, or only plain values (§8.1)."""
    if schema is None:
        return True
    if id(schema) in seen:
        return True
    if not schema.plain:
        return False
    return all(is_plain(child, seen | {id(schema)}) for child in schema.children())


def entity_of(raw: Any) -> type[Entity] | None:
    """The entity class that a schema is about: itself, or the one inside its containers; None for several or none."""
    from .entity import EntitySchema

    schema = schema_of(raw)
    seen: set[int] = set()
    while schema is not None and id(schema) not in seen:
        if isinstance(schema, EntitySchema):
            return schema.cls
        seen.add(id(schema))
        inner = [child for child in schema.children() if child is not None]
        schema = inner[0] if len(inner) == 1 else None
    return None


_naming: Final[ContextVar[frozenset[int]]] = ContextVar("restencil_naming", default=frozenset())


def title_of(schema: Schema | None, otherwise: str) -> str:
    """The title of a schema inside another one; `otherwise` for none, and where it leads back to one around it."""
    around = _naming.get()
    if schema is None or id(schema) in around:
        return otherwise
    token = _naming.set(around | {id(schema)})
    try:
        return schema.title
    finally:
        _naming.reset(token)


def schema_name(raw: Any) -> str:
    """The name of a schema in endpoint names (§4.2)."""
    schema = schema_of(raw)
    return title_of(schema, type(raw).__name__)
