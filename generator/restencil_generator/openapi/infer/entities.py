"""Inference of entities: key, fields and comments."""

from __future__ import annotations

import re
from typing import Final

from restencil_generator.openapi.infer.context import KEY_TYPES, ImportContext
from restencil_generator.openapi.infer.list_endpoints import names_in
from restencil_generator.openapi.infer.names.inflection import snake_case
from restencil_generator.openapi.infer.resources import VERSION_CHECK, Entity
from restencil_generator.openapi.infer.schema_types import Typed, is_read_only
from restencil_generator.openapi.spec_tree import NodePath, Origin, Value

_EMPTY_IN_LISTS: Final = re.compile(
    r"\b(?:empty|null|blank|masked|redacted|truncated|shortened)\b[^.]{0,40}\blist(?:s|ing|ings)?\b", re.IGNORECASE
)
"""Words in the description of a field that lists show with another value than `get`."""


class EntityTable:
    """Inference of the table of entities."""

    def __init__(self, context: ImportContext) -> None:
        self.context = context

    def entities(self) -> dict[str, Value]:
        """Return the table of entities."""
        found: dict[str, Value] = {}
        for entity in self.context.found.entities:
            if entity.name and not entity.choices:
                found[entity.name] = self._entity(entity)
        # References between entities need the fields of all others.
        for entity in self.context.found.entities:
            if entity.name in found and self._pk_optional(entity):
                values = found[entity.name]
                assert isinstance(values, dict)
                fields = values.pop("fields")
                found[entity.name] = {**values, "pk_optional": True, "fields": fields}
        return found

    def _entity(self, entity: Entity) -> dict[str, Value]:
        names, path = entity.names, ("entities", entity.name)
        key = self.context.key_fields(entity)
        values: dict[str, Value] = {}
        description = next((source.description or source.title for source in entity.record.sources), "").strip()
        if description and snake_case(description) != snake_case(entity.name):
            values["description"] = description
        pk = [name for name, _ in key]
        if pk != ["id"]:
            values["pk"] = [] if not pk else pk[0] if len(pk) == 1 else list(pk)
        self._entity_comment(entity, path, pk)
        fields: dict[str, Value] = {}
        for name, part in key:
            if not part.wires:
                fields[name] = {
                    "type": self.context.param_type(entity, part.parameter),
                    "param": self.context.param_name(entity, part.parameter),
                }
        must = self._must(entity)
        others = {each.name for each in self.context.found.entities if entity.is_of_time and each is not entity}
        is_distinguished = any(source.at in self.context.survey.alternatives for source in entity.record.sources)
        for wire, member in entity.record.members.items():
            name = names[wire]
            is_key = any(part.wires and part.wires == (wire,) for _, part in key)
            inside = any(len(part.wires) > 1 and part.wires[0] == wire for _, part in key)
            typed, check = self.context.types.member(member, entity.name, wire)
            if is_key:
                typed, doubt = self._key_type(typed)
                check = check or doubt
            optional = not is_key and not inside and self.context.types.is_optional(member, typed)
            constant = (
                self.context.types.constant(member) if is_distinguished and member.everywhere and not is_key else None
            )
            fields[name] = self.context.types.field(
                wire,
                name,
                member,
                typed,
                optional=optional,
                must=wire in must and not optional,
                read_only=is_read_only(self.context.types, entity.record, member),
                constant=constant,
            )
            declared = fields[name]
            text = declared.get("description") if isinstance(declared, dict) else None
            if not check and isinstance(text, str) and _EMPTY_IN_LISTS.search(text):
                check = "check: lists show another value of it"
            if not check and others and not others.isdisjoint(names_in(typed.value)):
                check = VERSION_CHECK
            if check:
                self.context.tree.comments[(*path, "fields", name)] = check
            self.context.tree.origins[(*path, "fields", name)] = self.context.types.origin_of(wire, member)
        values["fields"] = fields
        self.context.tree.origins[path] = Origin(entity.identity, *self._pointer(entity))
        return values

    def _pointer(self, entity: Entity) -> tuple[str, str]:
        where = entity.record.sources[0].where
        return where.pointer, where.file

    def _entity_comment(self, entity: Entity, path: NodePath, pk: list[str]) -> None:
        comment = entity.key.comment
        if not comment:
            return
        at = (*path, "pk") if pk != ["id"] else (*path, "fields", "id")
        self.context.tree.comments[at] = comment

    def _key_type(self, typed: Typed) -> tuple[Typed, str]:
        """Return the type of a key: a scalar with a unique string form."""
        value = typed.value
        if isinstance(value, str) and (value in KEY_TYPES or value in self.context.types.enums) and not typed.format:
            return typed, ""
        if isinstance(value, dict) and "enum" in value:
            return typed, ""
        if isinstance(value, dict) and isinstance(value.get("one_of"), list):
            kinds = value["one_of"]
            assert isinstance(kinds, list)
            first = next((kind for kind in kinds if kind in list(KEY_TYPES)), "string")
            return Typed(first), "check: it has several types"
        return Typed("integer" if value == "number" or typed.format.startswith("unix") else "string"), ""

    def _must(self, entity: Entity) -> set[str]:
        """Return the members that bodies require, by JSON name."""
        records = entity.sent
        if not records or not self.context.document.names_required:
            return set()
        found = {wire for wire, member in records[0].members.items() if member.required}
        for record in records[1:]:
            found &= {wire for wire, member in record.members.items() if member.required}
        return found

    def _pk_optional(self, entity: Entity) -> bool:
        """Return whether a record may be nested in other responses without its key."""
        wires = entity.key.wires
        if not self.context.document.names_required or not wires or self.context.options.required is True:
            return False
        for at in entity.nested:
            for source in entity.record.sources:
                if source.at == at and not wires <= source.required:
                    return True
        return False
