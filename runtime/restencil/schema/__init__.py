"""All schema kinds: where entities are in a response, and what of them a reader gets."""

from __future__ import annotations

from .all import All
from .codec import codec_of, has_format
from .collection import Collection, find_collection, paginated_schema
from .containers import Array, Object, Union, Values
from .derived import Invalidate, Query
from .entity import Entity, entity_of, validate_required
from .notation import Conversion as _Conversion
from .notation import Lazy, schema_name, schema_of
from .one_of import OneOf
from .protocol import Schema

__all__ = [
    "All",
    "Array",
    "Collection",
    "Entity",
    "Invalidate",
    "Lazy",
    "Object",
    "OneOf",
    "Query",
    "Schema",
    "Union",
    "Values",
    "codec",
    "entity_of",
    "find_collection",
    "paginated_schema",
    "schema_name",
    "schema_of",
    "validate_required",
]


def codec(kind: type, format: str | None = None) -> Schema:
    """The conversion of a type that converts by itself, as a schema: `codec(datetime.datetime)`.

    `format` is how datetimes look in JSON, as `field` has it. Raises TypeError for a type whose JSON values are handed
    out as they are.
    """
    found = codec_of(kind, format if has_format(format) else None)
    if found is None:
        raise TypeError(f"{kind!r} needs no conversion: its JSON values are handed out as they are")
    return _Conversion(found.decode, found.encode)
