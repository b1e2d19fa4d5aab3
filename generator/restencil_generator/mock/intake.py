"""JSON into rows: what a body, an example or a default says becomes part of the tables."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping

from restencil_generator.declaration import (
    MISSING,
    AdderOf,
    AllOf,
    CollectionOf,
    Const,
    Entity,
    EntityRef,
    Field,
    InvalidateOf,
    Json,
    ListOf,
    ObjectRef,
    ObjectType,
    Optional,
    PageOf,
    QueryOf,
    Scalar,
    Type,
    UnionOf,
    ValuesOf,
)
from restencil_generator.mock import made_up
from restencil_generator.mock.body import misfits
from restencil_generator.mock.errors import Misfit
from restencil_generator.mock.kinds import argument_field
from restencil_generator.mock.tables import Ref, Row, Stored, Tables, pk_of, pk_part, text_of, whole
from restencil_generator.mock.wire import to_wire


class Intake:
    """Brings records in JSON into tables: a nested entity becomes a row of its own, and a reference in its place."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.spec = tables.spec

    def create(
        self,
        of: EntityRef | UnionOf,
        body: Mapping[str, Json],
        *,
        params: Mapping[str, str] | None = None,
        label: str | None = None,
    ) -> Row:
        """A new row from a body. What the body lacks comes from `params`, the defaults, or is made up.

        Raises `Misfit` where the body does not say which entity of a union it is, or its pk is taken.
        """
        entity = self.tables.most_complete(self._choose(of, body))
        given = {**self._from_params(entity, params or {}), **body}
        data = self._absorb_fields(entity, given)
        number = self.tables.next_number(entity)
        for field in entity.all_fields:
            if field.wire not in data:
                self._default(entity, field, data, number)
        pk = pk_of(entity, data)
        if pk is None:
            raise Misfit(f"a new {entity.name} needs the fields of its pk ({', '.join(entity.pk)}), not empty or null")
        if self.tables.follow(Ref(entity.key, pk)) is not None:
            raise Misfit(f"a record of {entity.name} with the pk {pk!r} exists already")
        scope = {name: text for name, text in (params or {}).items() if argument_field(entity, name) is None}
        return self.tables.insert(Row(entity, data, scope, label))

    def change(self, row: Row, body: Mapping[str, Json], *, replace: bool = False) -> None:
        """Writes the members of a body into a row. `replace` sets what the body lacks to its default, as PUT does.

        The fields of the pk and those that are read-only stay as they are.
        """
        fixed = {
            field.wire for field in row.entity.all_fields if field.read_only or field.name in row.entity.pk
        } & row.data.keys()
        incoming = self._absorb_fields(row.entity, body)
        if replace:
            for field in row.entity.all_fields:
                if field.wire not in incoming and field.wire not in fixed and field.default is not MISSING:
                    row.data[field.wire] = self.absorb(field.type, to_wire(self.spec, field.type, field.default))
        row.data.update({name: value for name, value in incoming.items() if name not in fixed})

    def _absorb_fields(self, entity: Entity, body: Mapping[str, Json]) -> dict[str, Stored]:
        """The members of a body as they are kept. Raises `Misfit` for one that is not of its field's type."""
        fields = {field.wire: field for field in entity.all_fields}
        absorbed: dict[str, Stored] = {}
        for name, value in body.items():
            field = fields.get(name)
            if field is not None and field.decode is None and field.encode is None:
                for misfit in misfits(self.spec, field.type, value, (name,)):
                    raise Misfit(misfit)
            absorbed[name] = value if field is None else self.absorb(field.type, value)
        return absorbed

    def absorb(self, type_: Type, value: Json) -> Stored:
        """JSON of this type with its entities in the tables and references in their place."""
        match type_:
            case EntityRef() | UnionOf():
                return self._absorb_entity(type_, value)
            case Optional():
                return None if value is None else self.absorb(type_.item, value)
            case CollectionOf() | AllOf() | InvalidateOf() | QueryOf() | AdderOf() | PageOf():
                return self.absorb(type_.of, value)
            case ListOf() if isinstance(value, list):
                return [self.absorb(type_.item, item) for item in value]
            case ValuesOf() if isinstance(value, dict):
                return {key: self.absorb(type_.item, item) for key, item in value.items()}
            case ObjectType() | ObjectRef() if isinstance(value, dict):
                members = type_.members if isinstance(type_, ObjectType) else self.spec.objects[type_.name].fields
                types = {member.wire: member.type for member in members}
                return {key: self.absorb(types[key], item) if key in types else item for key, item in value.items()}
            case _:
                return value

    def _absorb_entity(self, of: EntityRef | UnionOf, value: Json) -> Stored:
        if isinstance(value, list):  # the items of a schema that holds one or several
            return [self._absorb_entity(of, item) for item in value]
        if not isinstance(value, dict):
            pk = text_of(value)
            return None if pk is None else Ref(self._holder(of, pk).key, pk)
        entity = self.tables.most_complete(self._choose(of, value))
        pk = pk_of(entity, value)
        row = None if pk is None else self.tables.follow(Ref(entity.key, pk))
        if row is None:
            row = self.create(EntityRef(entity.name), value)
        else:
            row.data.update(self._absorb_fields(row.entity, value))
        return Ref(entity.key, self.tables.pk(row))

    def _holder(self, of: EntityRef | UnionOf, pk: str) -> Entity:
        entities = self.tables.entities(of)
        return next((entity for entity in entities if self.tables.follow(Ref(entity.key, pk)) is not None), entities[0])

    def _choose(self, of: EntityRef | UnionOf, value: Mapping[str, Json]) -> Entity:
        """Which entity of a union a record is: by the discriminator, or, under a function, by the fields it has."""
        entities = self.tables.entities(of)
        if isinstance(of, EntityRef):
            return entities[0]
        if of.wire:
            said = value.get(of.wire)
            for choice in of.choices:
                if choice.value == said:
                    return self.spec.entities[choice.entity]
            known = ", ".join(json.dumps(choice.value) for choice in of.choices)
            raise Misfit(f"the member {of.wire!r} says which kind of record it is: one of {known}, not {said!r}")
        return max(entities, key=lambda entity: len({field.wire for field in entity.all_fields} & value.keys()))

    def _from_params(self, entity: Entity, params: Mapping[str, str]) -> dict[str, Json]:
        """The fields that a URL's arguments give: a new record is found by the list that it was added to."""
        given: dict[str, Json] = {}
        for name, text in params.items():
            field = argument_field(entity, name)
            if field is not None and (value := _typed(field.type, text)) is not None:
                given[field.wire] = value
        return given

    def _default(self, entity: Entity, field: Field, data: dict[str, Stored], number: int) -> None:
        """Fills a field that a new record lacks."""
        type_ = field.type
        if field.name in entity.pk:
            data[field.wire] = pk_part(entity, field, number)
        elif isinstance(type_, Const):
            data[field.wire] = type_.value
        elif field.read_only and type_ == Scalar("datetime"):
            data[field.wire] = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        elif field.default is not MISSING:
            data[field.wire] = self.absorb(type_, to_wire(self.spec, type_, field.default))
        elif isinstance(type_, EntityRef | UnionOf):
            # A required relation: somebody has to be it, as on a real server the signed-in user is.
            first = next(self.tables.rows(type_), None)
            if first is not None:
                data[field.wire] = Ref(first[1].entity.key, self.tables.pk(first[1]))
        elif isinstance(type_, Optional):
            data[field.wire] = None
        else:
            data[field.wire] = made_up.value(self.spec, type_, field.name, number)


def _typed(type_: Type, text: str) -> Json:
    """A URL's text as the JSON value of a field; None where it is none."""
    match type_:
        case Optional():
            return _typed(type_.item, text)
        case Scalar("integer"):
            return whole(text)
        case Scalar("number"):
            try:
                number = float(text)
            except ValueError:
                return None
            return number if math.isfinite(number) else None
        case Scalar("boolean"):
            return {"true": True, "false": False}.get(text)
        case ListOf() | ValuesOf() | ObjectRef() | ObjectType() | CollectionOf() | AllOf() | QueryOf():
            return None
        case _:
            return text
