"""What the mock server knows: one table of rows per entity key, relations kept as references.

A row is in wire form (JSON names), except that nested entities are `Ref`s: a change of one record shows wherever it is
nested. `Tables.create` and `change` bring JSON into that form, `Tables.show` brings a row back.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from restencil_generator import examples
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
    Spec,
    Type,
    UnionOf,
    ValuesOf,
)
from restencil_generator.mock import made_up

DEPTH = 3
"""How many levels of entities inside entities an answer shows; below, and in a cycle, relations are left out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ref:
    """A nested entity: the key of its table and its pk."""

    key: str
    pk: str


Stored: TypeAlias = "Ref | None | bool | int | float | str | Sequence[Stored] | Mapping[str, Stored]"


@dataclasses.dataclass(slots=True)
class Row:
    """One record. `scope` holds path parameters that are no fields, `label` its key in a `values` collection."""

    entity: Entity
    data: dict[str, Stored]
    scope: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    label: str | None = None


class Misfit(Exception):
    """A body that does not fit the spec; the text says how."""


def text_of(value: Stored) -> str | None:
    """A scalar as it stands in a URL; None for what has no such form."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case int() | float() | str():
            return str(value)
        case Ref():
            return value.pk
        case _:
            return None


def entity_part(type_: Type | None) -> EntityRef | UnionOf | None:
    """The first entity or union inside a type; it says whose rows the type is about."""
    match type_:
        case EntityRef() | UnionOf():
            return type_
        case Optional() | ListOf() | ValuesOf():
            return entity_part(type_.item)
        case CollectionOf() | AllOf() | InvalidateOf() | QueryOf() | AdderOf() | PageOf():
            return entity_part(type_.of)
        case ObjectType():
            return next((part for member in type_.members if (part := entity_part(member.type))), None)
        case _:
            return None


class Tables:
    """All rows of a spec's entities; empty at first."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self._rows: dict[str, dict[str, Row]] = {entity.key: {} for entity in spec.entities.values()}
        self.contents: dict[str, bytes] = {}
        """What was sent as bytes, by the address that it was sent to."""
        self.unions = tuple(_unions(spec))
        self.leaves = _leaves(spec)
        self._families = {name: self._family(name) for name in spec.entities}
        self._groups = self._pk_groups()

    # ---------------------------------------------------------------------------------------------------------- reading

    def entities(self, of: EntityRef | UnionOf) -> tuple[Entity, ...]:
        """The entities that a reference or union stands for."""
        names = (of.name,) if isinstance(of, EntityRef) else dict.fromkeys(choice.entity for choice in of.choices)
        return tuple(self.spec.entities[name] for name in names)

    def keys(self, of: EntityRef | UnionOf) -> frozenset[str]:
        """The tables that hold the rows of a reference or union."""
        return frozenset(entity.key for entity in self.entities(of))

    def members(self, keys: frozenset[str]) -> frozenset[str]:
        """The names in JSON of the fields that records of these tables may have."""
        entities = (entity for entity in self.spec.entities.values() if entity.key in keys)
        return frozenset(field.wire for entity in entities for field in entity.all_fields)

    def rows(self, of: EntityRef | UnionOf) -> Iterator[tuple[Entity, Row]]:
        """Every row that can be read as this entity or union, with the entity that it is read as."""
        for entity in self.entities(of):
            family = self._families[entity.name]
            for row in self.table(entity.key):
                if row.entity.name in family:
                    yield entity, row

    def table(self, key: str) -> list[Row]:
        """All rows under an entity key, in the order in which they came."""
        return list(self._rows[key].values())

    def follow(self, ref: Ref) -> Row | None:
        """The row that a reference names, or None where it is gone."""
        return self._rows[ref.key].get(ref.pk)

    def show(self, row: Row, entity: Entity | None = None, above: tuple[Ref, ...] = ()) -> dict[str, Json]:
        """A row as JSON with its relations filled in, read as `entity` (default: as what it is)."""
        entity = entity or row.entity
        here = (*above, Ref(row.entity.key, self.pk(row)))
        whole = len(here) <= DEPTH and here[-1] not in above
        fields = {field.wire: field for field in entity.all_fields}
        others = {field.wire for field in row.entity.all_fields} - fields.keys()
        shown: dict[str, Json] = {}
        for name, value in row.data.items():
            if name not in others:
                field = fields.get(name)
                if field is None or entity_part(field.type) is None:
                    shown[name] = self._fill(value, ())
                elif whole:
                    nested = self._related(row, field, value, here)
                    if nested is not None or isinstance(field.type, Optional):
                        shown[name] = nested
        return shown

    def _related(self, row: Row, field: Field, value: Stored, above: tuple[Ref, ...]) -> Json:
        """A relation's value. One that a nested collection describes (`nest`) is looked up, not stored."""
        type_ = field.type.item if isinstance(field.type, Optional) else field.type
        of = entity_part(type_)
        if isinstance(type_, CollectionOf) and type_.nest and of is not None:
            wanted = {
                pair.argument: text_of(row.data.get(source.wire))
                for pair in type_.nest
                if (source := row.entity.field(pair.field)) is not None
            }
            found = [
                (entity, other)
                for entity, other in self.rows(of)
                if all(text is not None and self.agrees(other, name, text) for name, text in wanted.items())
            ]
            if isinstance(type_.of, ValuesOf):
                return {other.label or self.pk(other): self.show(other, entity, above) for entity, other in found}
            return [self.show(other, entity, above) for entity, other in found]
        return self._fill(value, above)

    def _fill(self, value: Stored, above: tuple[Ref, ...]) -> Json:
        """A stored value as JSON. References to what is gone are left out of lists and mappings."""
        match value:
            case None | bool() | int() | float() | str():
                return value
            case Ref():
                row = self.follow(value)
                return None if row is None else self.show(row, None, above)
            case Mapping():
                return {key: self._fill(item, above) for key, item in value.items() if not self._is_gone(item)}
            case _:
                return [self._fill(item, above) for item in value if not self._is_gone(item)]

    def _is_gone(self, value: Stored) -> bool:
        return isinstance(value, Ref) and self.follow(value) is None

    def pk(self, row: Row) -> str:
        """The row's pk as the runtime computes it."""
        pk = pk_of(row.entity, row.data)
        if pk is None:
            raise AssertionError(f"a stored {row.entity.name} has a pk")
        return pk

    def agrees(self, row: Row, name: str, text: str) -> bool | None:
        """Whether the row's field for the argument `name` has this text; None where no field is meant by that name.

        A list agrees where one item does, a relation where its pk or one of its own texts does.
        """
        field = argument_field(row.entity, name)
        if field is None:
            return None
        return self._agrees(row.data.get(field.wire), text)

    def _agrees(self, value: Stored, text: str) -> bool:
        match value:
            case list():
                return any(self._agrees(item, text) for item in value)
            case Ref():
                row = self.follow(value)
                return value.pk == text or (row is not None and text in map(text_of, row.data.values()))
            case _:
                return text_of(value) == text

    # ---------------------------------------------------------------------------------------------------------- writing

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
        entity = self._most_complete(self._choose(of, body))
        given = {**self._from_params(entity, params or {}), **body}
        data = self._absorb_fields(entity, given)
        number = self.next_number(entity)
        for field in entity.all_fields:
            if field.wire not in data:
                self._default(entity, field, data, number)
        pk = pk_of(entity, data)
        if pk is None:
            raise Misfit(f"a new {entity.name} needs the fields of its pk ({', '.join(entity.pk)}), not empty or null")
        if pk in self._rows[entity.key]:
            raise Misfit(f"a record of {entity.name} with the pk {pk!r} exists already")
        scope = {name: text for name, text in (params or {}).items() if argument_field(entity, name) is None}
        return self.insert(Row(entity, data, scope, label))

    def holds(self, row: Row) -> bool:
        """Whether there is a record with the pk of this one."""
        return self.pk(row) in self._rows[row.entity.key]

    def insert(self, row: Row) -> Row:
        """Puts a row that has its pk into its table."""
        self._rows[row.entity.key][self.pk(row)] = row
        return row

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
                    row.data[field.wire] = self.absorb(
                        field.type, examples.to_wire(self.spec, field.type, field.default)
                    )
        row.data.update({name: value for name, value in incoming.items() if name not in fixed})

    def attach(self, row: Row, field: Field, child: Row) -> None:
        """Puts a row into a relation of another one: at the end of a list, in the place of a single one."""
        ref = Ref(child.entity.key, self.pk(child))
        type_ = field.type.item if isinstance(field.type, Optional) else field.type
        if isinstance(type_, EntityRef | UnionOf):
            row.data[field.wire] = ref
            return
        held = row.data.get(field.wire)
        if isinstance(held, Mapping):
            row.data[field.wire] = {**held, child.label or ref.pk: ref}
        else:
            row.data[field.wire] = [*(held if isinstance(held, list) else []), ref]

    def remove(self, row: Row) -> None:
        """Deletes a row. References to it lead nowhere from now on, so it is gone from what shows them."""
        del self._rows[row.entity.key][self.pk(row)]

    def _absorb_fields(self, entity: Entity, body: Mapping[str, Json]) -> dict[str, Stored]:
        fields = {field.wire: field for field in entity.all_fields}
        return {
            name: self.absorb(fields[name].type, value) if name in fields else value for name, value in body.items()
        }

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
        entity = self._most_complete(self._choose(of, value))
        pk = pk_of(entity, value)
        row = None if pk is None else self._rows[entity.key].get(pk)
        if row is None:
            row = self.create(EntityRef(entity.name), value)
        else:
            row.data.update(self._absorb_fields(row.entity, value))
        return Ref(entity.key, self.pk(row))

    def _holder(self, of: EntityRef | UnionOf, pk: str) -> Entity:
        entities = self.entities(of)
        return next((entity for entity in entities if pk in self._rows[entity.key]), entities[0])

    def _choose(self, of: EntityRef | UnionOf, value: Mapping[str, Json]) -> Entity:
        """Which entity of a union a record is: by the discriminator, or, under a function, by the fields it has."""
        entities = self.entities(of)
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
            data[field.wire] = self.absorb(type_, examples.to_wire(self.spec, type_, field.default))
        elif isinstance(type_, EntityRef | UnionOf):
            # A required relation: somebody has to be it, as on a real server the signed-in user is.
            first = next(self.rows(type_), None)
            if first is not None:
                data[field.wire] = Ref(first[1].entity.key, self.pk(first[1]))
        elif isinstance(type_, Optional):
            data[field.wire] = None
        else:
            data[field.wire] = made_up.value(self.spec, type_, field.name, number)

    # ------------------------------------------------------------------------------------------------------------ shape

    def _family(self, name: str) -> frozenset[str]:
        """The entities on the same table whose rows can be read as this one: what it extends, what extends it."""
        key = self.spec.entities[name].key
        above = set(self._line(name))
        return frozenset(
            other.name
            for other in self.spec.entities.values()
            if other.key == key and (other.name in above or name in self._line(other.name))
        )

    def _line(self, name: str) -> Iterator[str]:
        """An entity and all that it extends."""
        current: str | None = name
        while current is not None:
            yield current
            current = self.spec.entities[current].extends

    def _most_complete(self, entity: Entity) -> Entity:
        """The one entity that has all fields of a table, where there is one: a record may be known by a part of it."""
        whole = [leaf for leaf in self.leaves if leaf.name in self._families[entity.name] and leaf.key == entity.key]
        return whole[0] if len(whole) == 1 else entity

    def _pk_groups(self) -> dict[str, frozenset[str]]:
        """Tables that a union joins have one numbering, so that an id in a URL names one record."""
        groups = {key: frozenset([key]) for key in self._rows}
        for union in self.unions:
            joined = frozenset[str]().union(*(groups[entity.key] for entity in self.entities(union)))
            for key in joined:
                groups[key] = joined
        return groups

    def next_number(self, entity: Entity) -> int:
        """One more than the largest number that a pk of the entity's tables is or ends with."""
        largest = 0
        for key in self._groups[entity.key]:
            for row in self.table(key):
                for name in row.entity.pk[-1:]:
                    field = row.entity.field(name)
                    if field is not None:
                        largest = max(largest, _number(row.data.get(field.wire)))
        return largest + 1


def _leaves(spec: Spec) -> tuple[Entity, ...]:
    """The entities that rows are made of: concrete, and not merely a part of another one on the same table."""
    parts = {
        entity.extends
        for entity in spec.entities.values()
        if entity.extends is not None and not entity.abstract and spec.entities[entity.extends].key == entity.key
    }
    return tuple(
        entity for entity in spec.entities.values() if not entity.abstract and entity.pk and entity.name not in parts
    )


def _unions(spec: Spec) -> Iterator[UnionOf]:
    """Every union that a spec writes somewhere."""

    def walk(type_: Type | None) -> Iterator[UnionOf]:
        match type_:
            case UnionOf():
                yield type_
            case Optional() | ListOf() | ValuesOf():
                yield from walk(type_.item)
            case CollectionOf() | AllOf() | InvalidateOf() | QueryOf() | AdderOf() | PageOf():
                yield from walk(type_.of)
            case ObjectType():
                for member in type_.members:
                    yield from walk(member.type)
            case _:
                return

    for entity in spec.entities.values():
        for field in entity.all_fields:
            yield from walk(field.type)
    for resource in spec.resources.values():
        yield from walk(resource.schema)
        for _, endpoint in resource.all_endpoints():
            yield from walk(endpoint.schema)


def pk_of(entity: Entity, data: Mapping[str, Stored]) -> str | None:
    """The pk of a record, None where a part of it is missing (§5.3)."""
    texts: list[str] = []
    for name in entity.pk:
        field = entity.field(name)
        text = None if field is None else text_of(data.get(field.wire))
        if not text:
            return None
        texts.append(text)
    if entity.pk_is_list:
        return json.dumps(texts, ensure_ascii=False, separators=(",", ":"))
    return texts[0] if texts else None


def argument_field(entity: Entity, name: str) -> Field | None:
    """The field that an argument of a URL means.

    It has that name, is a relation `author` for `author_id` or the other way round, a list `tags` for `tag`, or the pk
    of an Article for `article_id`.
    """
    wanted = made_up.words(name)
    for field in entity.all_fields:
        if name in (field.wire, field.name) or made_up.words(field.name) == wanted:
            return field
    for field in entity.all_fields:
        own = made_up.words(field.name)
        related = entity_part(field.type) is not None
        if (related and wanted == f"{own} id") or own in (f"{wanted} id", f"{wanted}s"):
            return field
    if len(entity.pk) == 1 and wanted == f"{made_up.words(entity.name)} id":
        return entity.field(entity.pk[0])
    return None


def _typed(type_: Type, text: str) -> Json:
    """A URL's text as the JSON value of a field; None where it is none."""
    match type_:
        case Optional():
            return _typed(type_.item, text)
        case Scalar("integer"):
            return int(text) if text.lstrip("-").isdecimal() else None
        case Scalar("number"):
            try:
                return float(text)
            except ValueError:
                return None
        case Scalar("boolean"):
            return {"true": True, "false": False}.get(text)
        case ListOf() | ValuesOf() | ObjectRef() | ObjectType() | CollectionOf() | AllOf() | QueryOf():
            return None
        case _:
            return text


def pk_part(entity: Entity, field: Field, number: int) -> Json:
    """The value of a field of the pk for the record `number`."""
    match field.type:
        case Scalar("integer" | "number"):
            return number
        case Scalar("uuid" | "datetime" | "date"):
            return made_up.scalar(field.type.name, field.name, number)
        case Scalar("string" | "any"):
            return (
                str(number)
                if field.name in ("id", "pk")
                else f"{made_up.words(entity.name).replace(' ', '-')}-{number}"
            )
        case _:
            # Anything else repeats itself sooner or later as made up; a number in its text does not.
            return str(number)


def _number(value: Stored) -> int:
    text = text_of(value) or ""
    digits = text[len(text.rstrip("0123456789")) :]
    if (day := made_up.day(text)) is not None:
        return max(0, day)
    if len(text) == 36 and text.count("-") == 4:  # a UUID: made-up ones end with their number in hexadecimal
        number = int(text[-12:], 16)
        return number if text == made_up.identifier(number) else 0
    return int(digits or "0")
