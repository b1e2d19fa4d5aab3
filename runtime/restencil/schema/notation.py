"""Schema notation: lists, dicts, classes and functions as schemas, and `Lazy` references to schemas defined later."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from ..base.errors import ConversionError, ProcessingError
from ..base.lazy_imports import check_reference, find
from ..base.values import LIST, UNDEFINED, read_only
from .codec import encode_any
from .protocol import Echo, Reader, Schema, Writer, title_of
from .record import Model, RecordMeta, to_wire

T = TypeVar("T")


class Conversion(Schema):
    """A function as a schema: it converts a stored value for readers, and is never called with None."""

    fingerprint_name = "custom"

    takes_scalars = True
    is_leaf = True

    def __init__(self, convert: Callable[[Any], Any], encode: Callable[[Any], Any] = encode_any) -> None:
        self.convert = convert
        self.encode = encode

    def normalize(self, value: Any, parent: object, key: str | None, writer: Writer) -> Any:
        return value

    def converted(self, value: Any) -> object:
        """Convert a stored value; lists and dicts are passed in and returned read-only."""
        return read_only(self.convert(read_only(value)))

    def nested(self, value: object) -> object:
        return self.converted(value)

    @property
    def wire_model(self) -> Any:
        return self

    def encode_one(self, value: object) -> object:
        """Encode a value as JSON."""
        return None if value is None else to_wire(self.encode(value))

    def denormalize(self, stored: object, reader: Reader) -> Any:
        try:
            return self.converted(stored)
        except ConversionError:
            raise
        except ProcessingError as error:
            raise ConversionError(str(error)) from error
        except Exception as error:
            raise ConversionError(
                f"{stored!r:.100} cannot be converted by {self.title}: {error}; declare a conversion that fits the "
                "values of the server"
            ) from error

    def echo(self, value: Any, echo: Echo) -> Any:
        return self.denormalize(value, echo.reader)

    @property
    def title(self) -> str:
        return getattr(self.convert, "__name__", type(self.convert).__name__)


class Lazy(Schema):
    """A reference to a schema that is resolved at first use: a function that returns the schema, or a name.

    `Lazy(lambda: User)` is the class `User` of the same module, `Lazy(".users:User", __name__)` a class of the sibling
    module `users`, and `Lazy("shop.users:User")` a class of any module. Raises ValueError for a malformed name.
    """

    def __init__(self, resolve: Callable[[], Any] | str, asking: str = "") -> None:
        if isinstance(resolve, str):
            check_reference(resolve, relative=bool(asking))
        self._resolve = resolve
        self._asking = asking
        self._raw: Any = UNDEFINED

    @property
    def raw(self) -> Any:
        """The schema as it was declared."""
        if self._raw is UNDEFINED:
            resolve = self._resolve
            self._raw = find(resolve, self._asking) if isinstance(resolve, str) else resolve()
        return self._raw

    @property
    def target(self) -> Schema | None:
        """The schema that this refers to."""
        return schema_of(self.raw)

    def __repr__(self) -> str:
        return f"Lazy({self._raw if self._raw is not UNDEFINED else self._resolve!r})"


def schema_of(raw: object) -> Schema | None:
    """Return the schema that a value declares; None for a value without meaning as a schema.

    The same list or dict object always returns the same schema object. Raises TypeError for a list that does not have
    exactly one item.
    """
    if raw is None:
        return None
    if isinstance(raw, Lazy):
        return raw.target
    if isinstance(raw, Schema):
        return raw
    return notation(raw)


@singledispatch
def notation(raw: object) -> Schema | None:
    """Return the schema for a value that is not a schema object; each kind of schema registers its notation."""
    return Conversion(raw) if callable(raw) else None


@notation.register
def _record_class(raw: RecordMeta) -> Schema:
    found: Schema = raw.__model__.node
    return found


_shorthands: Final[WeakValueDictionary[int, Schema]] = WeakValueDictionary()


def shorthand(raw: T, make: Callable[[T], Schema]) -> Schema:
    """Return the schema for a list or dict, created when the object is first used."""
    schema = _shorthands.get(id(raw))
    if schema is None:
        schema = _shorthands[id(raw)] = make(raw)
        schema.written_as = raw  # a reference, so that the id stays this object's
    return schema


_SHORTHAND: tuple[type[Any], ...] = (list, dict)


def check_shorthand(raw: Any, above: tuple[Any, ...] = ()) -> None:
    """Raise TypeError if a schema of lists and dicts contains a list that does not have exactly one item."""
    if isinstance(raw, _SHORTHAND) and not any(raw is outer for outer in above):
        if isinstance(raw, LIST) and len(raw) != 1:
            schema_of(raw)
        for member in raw if isinstance(raw, LIST) else raw.values():
            check_shorthand(member, (*above, raw))


def body_model(raw: object) -> object:
    """Return the model that `to_wire` converts request bodies with, for an endpoint with this schema."""
    schema = schema_of(raw)
    return None if schema is None else schema.body_model


def schema_name(raw: object) -> str:
    """Return the name of a schema, as endpoint names contain it."""
    return title_of(schema_of(raw), type(raw).__name__)


Model.schema_of = staticmethod(schema_of)
