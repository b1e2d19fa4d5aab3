"""Conversion of JSON to rows: bodies, examples and defaults are stored in the tables."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping
from typing import cast

from restencil_generator.mock import fake_values
from restencil_generator.mock.errors import InvalidRecord
from restencil_generator.mock.tables import (
    Ref,
    Row,
    Stored,
    Tables,
    argument_field,
    pk_part,
    text_of,
    value_at,
    whole,
    with_value,
)
from restencil_generator.spec import model as d
from restencil_generator.spec.datetimes import in_format
from restencil_generator.spec.member_names import to_wire
from restencil_generator.spec.type_info import first_entity
from restencil_generator.spec.validate_value import fits, validation_errors


class Intake:
    """Stores JSON records in tables: a nested entity becomes a separate row, replaced by a reference.

    `params` are the arguments of the call: they provide fields that only the path has.
    """

    def __init__(self, tables: Tables, params: Mapping[str, str] | None = None) -> None:
        self.tables = tables
        self.spec = tables.spec
        self.params = params or {}

    def create(
        self,
        of: d.EntityRef | d.UnionOf,
        body: Mapping[str, d.Json],
        *,
        params: Mapping[str, str] | None = None,
        label: str | None = None,
        may_exist: bool = False,
    ) -> Row:
        """Create a row from a body. Missing fields come from `params`, from defaults, or are sample values.

        With `may_exist` an existing row with the pk gets the members of the body. Raises `InvalidRecord` if the entity
        of a union cannot be determined, or if the pk already exists.
        """
        entity = self.tables.most_complete(self._choose(of, body))
        from_params = self._from_params(entity, params or {})
        both = {
            name: {**held, **part}
            for name, part in body.items()
            if isinstance(part, dict) and isinstance(held := from_params.get(name), dict)
        }
        given = {**from_params, **body, **both}
        data = self._absorb_fields(entity, given)
        number = self.tables.next_number(entity)
        for field in entity.all_fields:
            if field.wire not in data:
                self._default(entity, field, data, number)
        data = self.tables.with_key(entity, data, number)
        pk = self.tables.pk_of(entity, data)
        if pk is None:
            names = ", ".join(entity.pk)
            raise InvalidRecord(f"a new {entity.name} needs the fields of its pk ({names}), none empty or null")
        found = self.tables.follow(Ref(entity.key, pk))
        if found is not None and may_exist:
            found.data.update(self._absorb_fields(entity, given))
            return found
        if found is not None:
            raise InvalidRecord(f"a record of {entity.name} with the pk {pk!r} exists already")
        scope = {
            name: text
            for name, text in (params or {}).items()
            if argument_field(entity, name) is None and not self.tables.path(entity, name)
        }
        return self.tables.insert(Row(entity, data, scope, label))

    def change(self, row: Row, body: Mapping[str, d.Json], *, replace: bool = False) -> None:
        """Write the members of a body into a row. `replace` sets missing fields to their defaults, as for PUT.

        The fields of the pk and read-only fields are not changed.
        """
        fixed = {
            field.wire for field in row.entity.all_fields if field.read_only or field.name in row.entity.pk
        } & row.data.keys()
        incoming = self._absorb_fields(row.entity, body)
        if replace:
            for field in row.entity.all_fields:
                if field.wire not in incoming and field.wire not in fixed and field.default is not d.MISSING:
                    row.data[field.wire] = self.absorb(field.type, to_wire(self.spec, field.type, field.default))
        paths = [path for name in row.entity.pk if len(path := self.tables.path(row.entity, name)) > 1]
        keys = [(path, value_at(row.data, path)) for path in paths]
        row.data.update({name: value for name, value in incoming.items() if name not in fixed})
        for path, value in keys:
            row.data = with_value(row.data, path, value)

    def _absorb_fields(self, entity: d.Entity, body: Mapping[str, d.Json]) -> dict[str, Stored]:
        """Return the members of a body in stored form. Raises `InvalidRecord` for a value of a wrong type."""
        fields = {field.wire: field for field in entity.all_fields}
        absorbed: dict[str, Stored] = {}
        for name, value in body.items():
            field = fields.get(name)
            if field is not None and field.decode is None and field.encode is None:
                for error in validation_errors(self.spec, field.type, value, "response", (name,)):
                    raise InvalidRecord(error)
            absorbed[name] = value if field is None else self.absorb(field.type, value)
        return absorbed

    def absorb(self, type: d.Type, value: d.Json) -> Stored:
        """Convert JSON of this type to stored form: entities go to the tables, and references replace them."""
        match type:
            case d.EntityRef() | d.UnionOf():
                return self._absorb_entity(type, value)
            case d.Optional():
                return None if value is None else self.absorb(type.item, value)
            case d.CollectionOf() | d.AllOf() | d.InvalidateOf() | d.QueryOf() | d.AdderOf() | d.PageOf():
                return self.absorb(type.of, value)
            case d.OneOf():
                return self._absorb_one_of(type, value)
            case d.ListOf() if isinstance(value, list):
                return [self.absorb(type.item, item) for item in value]
            case d.ValuesOf() if isinstance(value, dict):
                return {key: self.absorb(type.item, item) for key, item in value.items()}
            case d.ObjectType() | d.ObjectRef() if isinstance(value, dict):
                members = type.members if isinstance(type, d.ObjectType) else self.spec.objects[type.name].fields
                types = {member.wire: member.type for member in members}
                return {key: self.absorb(types[key], item) if key in types else item for key, item in value.items()}
            case _:
                return value

    def _absorb_entity(self, of: d.EntityRef | d.UnionOf, value: d.Json) -> Stored:
        if isinstance(value, list):  # the items of a schema for one or several entities
            return [self._absorb_entity(of, item) for item in value]
        if not isinstance(value, dict):
            pk = text_of(value)
            return None if pk is None else Ref(self._holder(of, pk).key, pk)
        entity = self.tables.most_complete(self._choose(of, value))
        value = {**self._from_path(entity), **value}
        pk = self.tables.pk_of(entity, value)
        row = None if pk is None else self.tables.follow(Ref(entity.key, pk))
        if row is None:
            row = self.create(d.EntityRef(entity.name), value, may_exist=True)  # the pk is a sample value
        else:
            row.data.update(self._absorb_fields(row.entity, value))
        return Ref(entity.key, self.tables.pk(row))

    def _absorb_one_of(self, union: d.OneOf, value: d.Json) -> Stored:
        """Store a value of one of several types: an entity becomes a separate row."""
        if not isinstance(value, dict):
            fitting = (one for one in union.alternatives if fits(self.spec, one, value, "response"))
            plain = (one for one in fitting if not isinstance(one, d.EntityRef))
            return self.absorb(next(plain, d.Scalar("any")), value)
        for one in union.alternatives:
            if isinstance(one, d.EntityRef) and self._is_entity(union, one.name, value):
                return self.absorb(one, value)
        return value

    def _is_entity(self, union: d.OneOf, name: str, value: Mapping[str, d.Json]) -> bool:
        """Return whether an object is this one of several entities."""
        fields = self.spec.entities[name].all_fields
        fixed = {field.wire: field.type.value for field in fields if isinstance(field.type, d.Const)}
        if union.attribute:
            marks = [choice.value for choice in union.values if choice.entity == name]
            return value.get(union.wire) in (*marks, fixed.get(union.wire, name))
        entities = [one for one in union.alternatives if isinstance(one, d.EntityRef)]
        return len(entities) == 1 or (bool(fixed) and all(value.get(wire) == mark for wire, mark in fixed.items()))

    def _holder(self, of: d.EntityRef | d.UnionOf, pk: str) -> d.Entity:
        entities = self.tables.entities(of)
        return next((entity for entity in entities if self.tables.follow(Ref(entity.key, pk)) is not None), entities[0])

    def _choose(self, of: d.EntityRef | d.UnionOf, value: Mapping[str, d.Json]) -> d.Entity:
        """Return the entity of a union record: by the discriminator, or by its fields if that is a function."""
        entities = self.tables.entities(of)
        if isinstance(of, d.EntityRef):
            return entities[0]
        if of.wire:
            mark = value.get(of.wire)
            for choice in of.choices:
                if choice.value == mark:
                    return self.spec.entities[choice.entity]
            known = ", ".join(json.dumps(choice.value) for choice in of.choices)
            raise InvalidRecord(f"the member {of.wire!r} must be one of {known}, not {mark!r}")
        return max(entities, key=lambda entity: len({field.wire for field in entity.all_fields} & value.keys()))

    def _from_params(self, entity: d.Entity, params: Mapping[str, str]) -> dict[str, d.Json]:
        """Return the fields that URL arguments provide: a new record must be in the list to which it was added."""
        given: dict[str, d.Json] = {}
        for name, text in params.items():
            found = self.tables.fields_to(entity, name) if "." in name else ()
            if found and (value := _typed(found[-1].type, text)) is not None:
                given = cast("dict[str, d.Json]", with_value(given, [field.wire for field in found], value))
            field = argument_field(entity, name)
            if field is not None and (value := _typed(field.type, text)) is not None:
                given[field.wire] = value
        return given

    def _from_path(self, entity: d.Entity) -> dict[str, d.Json]:
        """Return the fields that are only in the path, and not in responses."""
        fields = [field for field in entity.all_fields if field.param in self.params]
        return {field.wire: _typed(field.type, self.params[field.param]) for field in fields}

    def _default(self, entity: d.Entity, field: d.Field, data: dict[str, Stored], number: int) -> None:
        """Set a field that is missing in a new record."""
        type = field.type
        if field.name in entity.pk:
            data[field.wire] = pk_part(entity, field, number)
        elif isinstance(type, d.Const):
            data[field.wire] = type.value
        elif field.read_only and isinstance(type, d.Scalar) and type.name == "datetime":
            data[field.wire] = in_format(datetime.datetime.now(datetime.UTC).replace(microsecond=0), type.format)
        elif field.default is not d.MISSING:
            data[field.wire] = self.absorb(type, to_wire(self.spec, type, field.default))
        elif isinstance(type, d.EntityRef | d.UnionOf | d.OneOf) and (of := first_entity(type)) is not None:
            # A required relation gets the first record, like the signed-in user of a real server.
            first = next(self.tables.rows(of), None)
            if first is not None:
                data[field.wire] = Ref(first[1].entity.key, self.tables.pk(first[1]))
        elif isinstance(type, d.Optional):
            data[field.wire] = None
        else:
            data[field.wire] = fake_values.value(self.spec, type, field.name, number)


def _typed(type: d.Type, text: str) -> d.Json:
    """Convert a string of a URL to the JSON value of a field; None if it does not fit."""
    match type:
        case d.Optional():
            return _typed(type.item, text)
        case d.Scalar("integer"):
            return whole(text)
        case d.Scalar("number"):
            try:
                number = float(text)
            except ValueError:
                return None
            return number if math.isfinite(number) else None
        case d.Scalar("boolean"):
            return {"true": True, "false": False}.get(text)
        case d.ListOf() | d.ValuesOf() | d.ObjectRef() | d.ObjectType() | d.CollectionOf() | d.AllOf() | d.QueryOf():
            return None
        case _:
            return text
