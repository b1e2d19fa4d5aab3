"""Schemas: they describe where entities are in a response, and how readers get them."""

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
    """Return a schema for a type with a built-in conversion: `codec(datetime.datetime)`.

    `format` is the format of datetimes in JSON, one of those of `field`. Raises TypeError for a type without a
    conversion.
    """
    found = codec_of(kind, format if has_format(format) else None)
    if found is None:
        raise TypeError(f"{kind!r} needs no conversion: its JSON values are used unchanged")
    return _Conversion(found.decode, found.encode)
