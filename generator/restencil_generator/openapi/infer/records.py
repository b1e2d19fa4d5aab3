"""Records: the members of objects and of their alternatives.

A *record* is an object in responses: the members of one object schema, or of all its alternatives.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from restencil_generator.openapi.document.model import Document, Part, Schema, Where
from restencil_generator.openapi.infer.names.inflection import snake_case

SCALAR_TYPES: Final = frozenset(("string", "integer", "number", "boolean"))


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """A member of a record: its parts, whether each source requires it, and whether each has it."""

    parts: tuple[Part, ...]
    required: bool
    everywhere: bool


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Record:
    """The members of one or several object schemas, by JSON name, in order."""

    sources: tuple[Schema, ...]
    members: Mapping[str, Member]
    by_name: Mapping[str, str]
    """The JSON name for each name in snake_case."""

    @property
    def name(self) -> str:
        """The name of the schema, empty if it has none or if there are several."""
        return self.sources[0].name if len(self.sources) == 1 else ""


class Shapes:
    """Queries about the schemas of a document for the rules of inference."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._records: dict[Where, Record | None] = {}

    def of(self, part: Part) -> Schema:
        """Return the schema of a part."""
        return self.document.schema(part)

    def without_empty(self, part: Part) -> Part:
        """Return the only alternative of a part other than the empty string, which forms use to unset a value.

        Returns the part itself if it has no such alternative.
        """
        schema = self.of(part)
        if schema.type != "one_of":
            return part
        kept = [each for each in schema.alternatives if self.of(each).const != ""]
        return kept[0] if len(kept) == 1 and len(schema.alternatives) > 1 else part

    def record(self, schema: Schema) -> Record | None:
        """Return the record of a schema; None if it has no members."""
        if schema.at not in self._records:
            self._records[schema.at] = None  # a cycle is not part of its own alternatives
            self._records[schema.at] = self._record(schema)
        return self._records[schema.at]

    def _record(self, schema: Schema) -> Record | None:
        if schema.type == "object":
            if not schema.properties:
                return None
            members = {
                name: Member((part,), name in schema.required, True)
                for name, part in schema.properties.items()
                if name  # the spec language has no empty names
            }
            if not members:
                return None
            return _made((schema,), members)
        if schema.type != "one_of":
            return None
        records = [self.record(self.of(part)) for part in schema.alternatives]
        known = [record for record in records if record is not None]
        return merged(known) if known and len(known) == len(records) else None

    def record_of(self, part: Part | None) -> Record | None:
        """Return the record of a part."""
        return None if part is None else self.record(self.of(part))

    def is_scalar(self, part: Part, depth: int = 0) -> bool:
        """Return whether a value is a string, number or boolean, or one of several of them."""
        schema = self.of(part)
        if schema.type == "one_of" and depth < 4:
            return all(self.is_scalar(each, depth + 1) for each in schema.alternatives)
        return schema.type in SCALAR_TYPES

    def has_scalar(self, record: Record, name: str) -> bool:
        """Return whether a record has a scalar with a name in snake_case."""
        wire = record.by_name.get(name)
        return wire is not None and all(self.is_key(part) for part in record.members[wire].parts)

    def is_key(self, part: Part) -> bool:
        """Return whether a value can identify records: a string, a number, or a value of undeclared type."""
        schema = self.of(part)
        if schema.type == "any":
            return not schema.properties and schema.at == schema.where
        return schema.type != "boolean" and self.is_scalar(part)


def merged(records: Iterable[Record]) -> Record:
    """Merge several records: the members of the first in its order, then those of the others."""
    all_of = list(records)
    if len(all_of) == 1:
        return all_of[0]
    names = dict.fromkeys(name for record in all_of for name in record.members)
    members: dict[str, Member] = {}
    for name in names:
        found = [record.members[name] for record in all_of if name in record.members]
        parts = tuple(dict.fromkeys(part for member in found for part in member.parts))
        everywhere = len(found) == len(all_of) and all(member.everywhere for member in found)
        members[name] = Member(parts, everywhere and all(member.required for member in found), everywhere)
    sources = {schema.at: schema for record in all_of for schema in record.sources}
    return _made(tuple(sources.values()), members)


def _made(sources: tuple[Schema, ...], members: Mapping[str, Member]) -> Record:
    by_name: dict[str, str] = {}
    for name in members:
        by_name.setdefault(snake_case(name), name)
    return Record(sources, members, by_name)


def overlap(one: Record, other: Record, key: Collection[str]) -> bool:
    """Return whether half of the members of the smaller record, besides those of the key, are in the other."""
    smaller, larger = sorted((one.members.keys() - set(key), other.members.keys() - set(key)), key=len)
    return len(smaller & larger) * 2 >= len(smaller)
