"""What the mock server knows: one table of rows per entity key, relations kept as references.

A row is in wire form (JSON names), except that nested entities are `Ref`s: a change of one record shows wherever it is
nested. `Tables.create` and `change` bring JSON into that form, `Tables.show` brings a row back.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from restencil_generator.failure import Failure
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
    scope: Mapping[str, str]
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
    """All rows of a spec's entities, first filled from its examples, or made up where it has none.

    `many` is how many rows are made up for a table that a list shows in pages.
    """

    def __init__(self, spec: Spec, *, many: int = 25, few: int = 5) -> None:
        self.spec = spec
        self._rows: dict[str, dict[str, Row]] = {entity.key: {} for entity in spec.entities.values()}
        self._families = {name: self._family(name) for name in spec.entities}
        self._groups = self._pk_groups()
        self._absorb_examples()
        self._make_up(many, few)

    # ---------------------------------------------------------------------------------------------------------- reading

    def entities(self, of: EntityRef | UnionOf) -> tuple[Entity, ...]:
        """The entities that a reference or union stands for."""
        names = (of.name,) if isinstance(of, EntityRef) else dict.fromkeys(choice.entity for choice in of.choices)
        return tuple(self.spec.entities[name] for name in names)

    def keys(self, of: EntityRef | UnionOf) -> frozenset[str]:
        """The tables that hold the rows of a reference or union."""
        return frozenset(entity.key for entity in self.entities(of))

    def rows(self, of: EntityRef | UnionOf) -> Iterator[tuple[Entity, Row]]:
        """Every row that can be read as this entity or union, with the entity that it is read as."""
        for entity in self.entities(of):
            family = self._families[entity.name]
            for row in list(self._rows[entity.key].values()):
                if row.entity.name in family:
                    yield entity, row

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
        number = self._next_number(entity)
        for field in entity.all_fields:
            if field.wire not in data:
                self._default(entity, field, data, number)
        pk = pk_of(entity, data)
        if pk is None:
            raise Misfit(f"a new {entity.name} needs the fields of its pk ({', '.join(entity.pk)}), not empty or null")
        if pk in self._rows[entity.key]:
            raise Misfit(f"there is a {entity.name} with the pk {pk!r} already")
        scope = {name: text for name, text in (params or {}).items() if argument_field(entity, name) is None}
        row = Row(entity, data, scope, label)
        self._rows[entity.key][pk] = row
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
                    row.data[field.wire] = self._absorb(
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
            name: self._absorb(fields[name].type, value) if name in fields else value for name, value in body.items()
        }

    def _absorb(self, type_: Type, value: Json) -> Stored:
        """JSON of this type with its entities in the tables and references in their place."""
        match type_:
            case EntityRef() | UnionOf():
                return self._absorb_entity(type_, value)
            case Optional():
                return None if value is None else self._absorb(type_.item, value)
            case CollectionOf() | AllOf() | InvalidateOf() | QueryOf() | AdderOf() | PageOf():
                return self._absorb(type_.of, value)
            case ListOf() if isinstance(value, list):
                return [self._absorb(type_.item, item) for item in value]
            case ValuesOf() if isinstance(value, dict):
                return {key: self._absorb(type_.item, item) for key, item in value.items()}
            case ObjectType() | ObjectRef() if isinstance(value, dict):
                members = type_.members if isinstance(type_, ObjectType) else self.spec.objects[type_.name].fields
                types = {member.wire: member.type for member in members}
                return {key: self._absorb(types[key], item) if key in types else item for key, item in value.items()}
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
            data[field.wire] = _pk_part(entity, field, number)
        elif isinstance(type_, Const):
            data[field.wire] = type_.value
        elif field.read_only and type_ == Scalar("datetime"):
            data[field.wire] = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        elif field.default is not MISSING:
            data[field.wire] = self._absorb(type_, examples.to_wire(self.spec, type_, field.default))
        elif isinstance(type_, EntityRef | UnionOf):
            # A required relation: somebody has to be it, as on a real server the signed-in user is.
            first = next(self.rows(type_), None)
            if first is not None:
                data[field.wire] = Ref(first[1].entity.key, self.pk(first[1]))
        elif isinstance(type_, Optional):
            data[field.wire] = None
        else:
            data[field.wire] = made_up.value(self.spec, type_, field.name, number)

    # ------------------------------------------------------------------------------------------------------- first data

    def _absorb_examples(self) -> None:
        for resource in self.spec.resources.values():
            for name, endpoint in resource.all_endpoints():
                example = endpoint.example
                if example is None or example.response is MISSING or endpoint.side_effect or endpoint.schema is None:
                    continue
                try:
                    self._absorb(endpoint.schema, examples.to_wire(self.spec, endpoint.schema, example.response))
                except Misfit as misfit:
                    raise Failure(
                        f"the example response of {resource.name}.{name} cannot be served: {misfit}; "
                        "`restencil lint` shows where it stands"
                    ) from misfit

    def _make_up(self, many: int, few: int) -> None:
        """Fills the tables that no example filled: first the plain fields of all, then the relations among them."""
        empty = [key for key, rows in self._rows.items() if not rows]
        paged = {
            entity.key
            for resource in self.spec.resources.values()
            for _, endpoint in resource.all_endpoints()
            if endpoint.pagination is not None or endpoint.pagination_field is not None
            for part in [entity_part(endpoint.schema)]
            if part is not None
            for entity in self.entities(part)
        }
        listed = {
            entity.key
            for resource in self.spec.resources.values()
            for _, endpoint in resource.all_endpoints()
            for part in [entity_part(endpoint.schema)]
            if part is not None
            for entity in self.entities(part)
        }
        new: list[tuple[Row, int]] = []
        for entity in self._leaves():
            if entity.key not in empty:
                continue
            size = many if entity.key in paged else few if entity.key in listed else (2 * many if paged else 2 * few)
            new.extend(self._make_row(entity) for _ in range(size))
        for row, number in new:
            for field in row.entity.all_fields:
                if entity_part(field.type) is not None:
                    row.data[field.wire] = self._make_relation(row, field.type, number)
                elif field.name not in row.entity.pk and (target := self._foreign(row.entity, field)) is not None:
                    entity, name = target
                    others = list(self._rows[entity.key].values())
                    source = entity.field(name)
                    if others and source is not None:
                        row.data[field.wire] = others[(number - 1) % len(others)].data.get(source.wire)

    def _foreign(self, owner: Entity, field: Field) -> tuple[Entity, str] | None:
        """The entity and field whose values a plain field repeats: by a collection's `nest`, or a name as `user_id`."""
        for entity in self.spec.entities.values():
            for nested in entity.all_fields:
                type_ = nested.type.item if isinstance(nested.type, Optional) else nested.type
                of = entity_part(type_)
                if isinstance(type_, CollectionOf) and of is not None and owner.key in self.keys(of):
                    for pair in type_.nest:
                        if argument_field(owner, pair.argument) == field:
                            return entity, pair.field
        for entity in self.spec.entities.values():
            if made_up.words(field.name) == f"{made_up.words(entity.name)} id" and len(entity.pk) == 1:
                return entity, entity.pk[0]
        return None

    def _make_row(self, entity: Entity) -> tuple[Row, int]:
        number = self._next_number(entity)
        data: dict[str, Stored] = {}
        for field in entity.all_fields:
            if field.name in entity.pk:
                data[field.wire] = _pk_part(entity, field, number)
            elif entity_part(field.type) is None:
                data[field.wire] = made_up.value(self.spec, field.type, field.name, number)
        self._discriminate(entity, data)
        row = Row(entity, data, {})
        pk = pk_of(entity, data)
        if pk is not None:
            self._rows[entity.key][pk] = row
        return row, number

    def _discriminate(self, entity: Entity, data: dict[str, Stored]) -> None:
        """Sets the members by which unions tell this entity."""
        for union in self._unions():
            for choice in union.choices:
                if choice.entity == entity.name and union.wire:
                    data[union.wire] = choice.value

    def _make_relation(self, row: Row, type_: Type, number: int) -> Stored:
        """Relations share the rows out: the first record gets the first, lists divide a table among their owners."""
        match type_:
            case EntityRef() | UnionOf():
                targets = [other for _, other in self.rows(type_)]
                if not targets:
                    return None
                target = targets[(number - 1) % len(targets)]
                return Ref(target.entity.key, self.pk(target))
            case Optional():
                return None if number % 3 == 0 else self._make_relation(row, type_.item, number)
            case ListOf() | ValuesOf():
                of = entity_part(type_.item)
                if of is None or not isinstance(type_.item, EntityRef | UnionOf):
                    return [] if isinstance(type_, ListOf) else {}
                owners = max(1, len(self._rows[row.entity.key]))
                refs = [
                    Ref(other.entity.key, self.pk(other))
                    for index, (_, other) in enumerate(self.rows(of))
                    if index % owners == (number - 1) % owners
                ]
                return [*refs] if isinstance(type_, ListOf) else {ref.pk: ref for ref in refs}
            case CollectionOf() | AllOf() | QueryOf():
                return self._make_relation(row, type_.of, number)
            case _:
                return None

    # ------------------------------------------------------------------------------------------------------------ shape

    def _leaves(self) -> Iterable[Entity]:
        """The entities that rows are made of: concrete, and not merely a part of another one on the same table."""
        parts = {
            self.spec.entities[entity.extends].name
            for entity in self.spec.entities.values()
            if entity.extends is not None
            and not entity.abstract
            and self.spec.entities[entity.extends].key == entity.key
        }
        return [
            entity
            for entity in self.spec.entities.values()
            if not entity.abstract and entity.pk and entity.name not in parts
        ]

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
        whole = [leaf for leaf in self._leaves() if leaf.name in self._families[entity.name] and leaf.key == entity.key]
        return whole[0] if len(whole) == 1 else entity

    def _unions(self) -> Iterator[UnionOf]:
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

        for entity in self.spec.entities.values():
            for field in entity.all_fields:
                yield from walk(field.type)
        for resource in self.spec.resources.values():
            yield from walk(resource.schema)
            for _, endpoint in resource.all_endpoints():
                yield from walk(endpoint.schema)

    def _pk_groups(self) -> dict[str, frozenset[str]]:
        """Tables that a union joins have one numbering, so that an id in a URL names one record."""
        groups = {key: frozenset([key]) for key in self._rows}
        for union in self._unions():
            joined = frozenset[str]().union(*(groups[entity.key] for entity in self.entities(union)))
            for key in joined:
                groups[key] = joined
        return groups

    def _next_number(self, entity: Entity) -> int:
        """One more than the largest number that a pk of the entity's tables is or ends with."""
        largest = 0
        for key in self._groups[entity.key]:
            for row in self._rows[key].values():
                for name in row.entity.pk[-1:]:
                    field = row.entity.field(name)
                    if field is not None:
                        largest = max(largest, _number(row.data.get(field.wire)))
        return largest + 1


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
    """The field that an argument of a URL means: by its name, a relation by `author_id`, a list by its singular, the pk by
    `article_id`."""
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


def _pk_part(entity: Entity, field: Field, number: int) -> Json:
    match field.type:
        case Scalar("integer"):
            return number
        case Scalar("uuid"):
            return made_up.identifier(number)
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
    if len(text) == 36 and text.count("-") == 4:  # a UUID: made-up ones end with their number in hexadecimal
        number = int(text[-12:], 16)
        return number if text == made_up.identifier(number) else 0
    return int(digits or "0")
