"""Which schemas are compiled, and when, for normalization and denormalization.

Benchmarks: normalize the parsed response into an empty store, and denormalize it all cold.
"""

from __future__ import annotations

from typing import Any, Final

from ..base.code import Source
from ..schema.containers import Array, List, Object
from ..schema.entity import EntitySchema
from ..schema.protocol import Schema
from ..schema.relation import Relation

PAYS: Final = 32
"""The number of values after which a schema is compiled: for fewer, compiling costs more than it saves."""

COMPILED: Final = frozenset({EntitySchema, List, Array, Object})
"""The kinds of schemas that are compiled; all others are interpreted."""


def resolved(relation: Relation) -> Schema | None | Relation:
    """Return the schema of a relation, or the relation itself if its schema is not defined yet."""
    try:
        return relation.node
    except Exception:
        return relation


def written_out(schema: Schema | None, above: tuple[Schema, ...] = ()) -> bool:
    """Return whether a schema consists only of compiled kinds, up to the entities in it."""
    if schema is None or isinstance(schema, EntitySchema) or schema in above:
        return True
    return type(schema) in COMPILED and all(written_out(child, (*above, schema)) for child in schema.children())


def finished(source: Source, name: str, schema: Schema) -> Any:
    """Return the function that was compiled for a schema."""
    return source.function(name, f"<restencil {name} {schema.title} {id(schema):x}>")
