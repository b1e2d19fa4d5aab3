"""The data of the mock server: one table of rows per entity key, with relations as references.

A row has JSON names, and `Ref`s instead of nested entities: a change of one record is visible wherever it is nested.
`Intake` converts JSON to rows, `serialize` converts rows to JSON.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from restencil_generator.mock import fake_values
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare, first_entity


@dataclasses.dataclass(frozen=True, slots=True)
class Ref:
    """A nested entity: the key of its table and its pk."""

    key: str
    pk: str


Stored: TypeAlias = "Ref | None | bool | int | float | str | Sequence[Stored] | Mapping[str, Stored]"


@dataclasses.dataclass(slots=True)
class Row:
    """One record. `scope` has path parameters that are not fields, `label` is its key in a `values` collection."""

    entity: d.Entity
    data: dict[str, Stored]
    scope: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    label: str | None = None


def text_of(value: Stored) -> str | None:
    """Return a scalar as a string of a URL; None for other values."""
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


def whole(text: str) -> int | None:
    """Return the integer of a string; None for anything else, and for integers with too many digits."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 300 else None


def scalar_of(value: d.Json) -> str | int | float | bool | None:
    """Return a JSON value if it is a string, a number, true or false; else None."""
    return value if isinstance(value, str | int | float) else None


class Tables:
    """All rows of a spec's entities; empty at first."""

    def __init__(self, spec: d.Spec) -> None:
        self.spec = spec
        self._rows: dict[str, dict[str, Row]] = {entity.key: {} for entity in spec.entities.values()}
        self.contents: dict[str, bytes] = {}
        self.singletons: dict[tuple[str, ...], Row | None] = {}
        """The rows of singletons by resource and path; None if it was deleted."""
        """Content that was sent as bytes, by URL."""
        self.unions = tuple(_unions(spec))
        self.leaves = _leaves(spec)
        self._families = {name: self._family(name) for name in spec.entities}
        self._groups = self._pk_groups()

    # ---------------------------------------------------------------------------------------------------------- reading

    def entities(self, of: d.EntityRef | d.UnionOf) -> tuple[d.Entity, ...]:
        """Return the entities of a reference or union."""
        names = (of.name,) if isinstance(of, d.EntityRef) else dict.fromkeys(choice.entity for choice in of.choices)
        return tuple(self.spec.entities[name] for name in names)

    def keys(self, of: d.EntityRef | d.UnionOf) -> frozenset[str]:
        """Return the tables with the rows of a reference or union."""
        return frozenset(entity.key for entity in self.entities(of))

    def members(self, keys: frozenset[str]) -> dict[str, list[d.Field]]:
        """Return the possible fields of records in these tables, by JSON name."""
        found: dict[str, list[d.Field]] = {}
        for entity in self.spec.entities.values():
            for field in entity.all_fields if entity.key in keys else ():
                found.setdefault(field.wire, []).append(field)
        return found

    def rows(self, of: d.EntityRef | d.UnionOf) -> Iterator[tuple[d.Entity, Row]]:
        """Yield every row that is valid as this entity or union, with its entity."""
        for entity in self.entities(of):
            family = self._families[entity.name]
            for row in self.table(entity.key):
                if row.entity.name in family:
                    yield entity, row

    def table(self, key: str) -> list[Row]:
        """Return all rows of a table, in insertion order."""
        return list(self._rows[key].values())

    def follow(self, ref: Ref) -> Row | None:
        """Return the row of a reference, or None if it was deleted."""
        return self._rows[ref.key].get(ref.pk)

    def pk(self, row: Row) -> str:
        """Return the pk of a row as the runtime computes it."""
        pk = self.pk_of(row.entity, row.data)
        if pk is None:
            raise AssertionError(f"a stored {row.entity.name} has a pk")
        return pk

    def pk_of(self, entity: d.Entity, data: Mapping[str, Stored]) -> str | None:
        """Return the pk of a record, None if a part of it is missing."""
        texts = [text_of(value_at(data, self.path(entity, name))) for name in entity.pk]
        found = [text for text in texts if text]
        if len(found) < len(texts):
            return None
        if entity.pk_is_list:
            return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        return found[0] if found else None

    def path(self, entity: d.Entity, dotted: str) -> tuple[str, ...]:
        """Return the JSON names along a dotted name of a field; empty if the field is unknown."""
        return tuple(field.wire for field in self.fields_to(entity, dotted))

    def fields_to(self, entity: d.Entity, dotted: str) -> tuple[d.Field, ...]:
        """Return the fields along a dotted name, the named one last."""
        fields: Sequence[d.Field] = entity.all_fields
        found: list[d.Field] = []
        for name in dotted.split("."):
            field = next((field for field in fields if field.name == name), None)
            if field is None:
                return ()
            found.append(field)
            inner = bare(field.type)
            fields = inner.members if isinstance(inner, d.ObjectType) else ()
            if isinstance(inner, d.ObjectRef):
                fields = self.spec.objects[inner.name].fields
        return tuple(found)

    def with_key(
        self, entity: d.Entity, data: dict[str, Stored], number: int, *, anew: bool = False
    ) -> dict[str, Stored]:
        """Add missing parts of the pk that are in objects to a record; `anew` replaces existing parts."""
        for name in entity.pk:
            found = self.fields_to(entity, name)
            path = tuple(field.wire for field in found)
            if len(path) > 1 and (anew or not text_of(value_at(data, path))):
                data = with_value(data, path, pk_part(entity, found[-1], number))
        return data

    def agrees(self, row: Row, name: str, text: str) -> bool | None:
        """Return whether the row's field for the argument `name` has this string; None if no field matches the name.

        A list matches if one item does, a relation if its pk or one of its own strings does.
        """
        if "." in name:
            path = self.path(row.entity, name)
            return text_of(value_at(row.data, path)) == text if path else None
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

    def is_relation(self, field: d.Field, entity: d.Entity) -> bool:
        """Return whether a field contains rows of an entity's table."""
        of = first_entity(field.type)
        return of is not None and entity.key in self.keys(of)

    def is_of(self, row: Row, of: d.EntityRef | d.UnionOf) -> bool:
        """Return whether a row is valid as this entity or union."""
        return any(row is other for _, other in self.rows(of))

    # ---------------------------------------------------------------------------------------------------------- writing

    def holds(self, row: Row) -> bool:
        """Return whether there is a record with the pk of this one."""
        return self.pk(row) in self._rows[row.entity.key]

    def insert(self, row: Row) -> Row:
        """Add a row with a pk to its table."""
        self._rows[row.entity.key][self.pk(row)] = row
        return row

    def attach(self, row: Row, field: d.Field, child: Row) -> None:
        """Add a row to a relation of another one: at the end of a list, or instead of a single one."""
        ref = Ref(child.entity.key, self.pk(child))
        if isinstance(bare(field.type), d.EntityRef | d.UnionOf):
            row.data[field.wire] = ref
            return
        held = row.data.get(field.wire)
        if isinstance(held, Mapping):
            row.data[field.wire] = {**held, child.label or ref.pk: ref}
        else:
            row.data[field.wire] = [*(held if isinstance(held, list) else []), ref]

    def remove(self, row: Row) -> None:
        """Delete a row. References to it are then ignored."""
        del self._rows[row.entity.key][self.pk(row)]

    # ----------------------------------------------------------------------------------------------------- of one table

    def _family(self, name: str) -> frozenset[str]:
        """Return the entities of the same table whose rows are valid as this one: its base and derived entities."""
        key = self.spec.entities[name].key
        above = set(self._line(name))
        return frozenset(
            other.name
            for other in self.spec.entities.values()
            if other.key == key and (other.name in above or name in self._line(other.name))
        )

    def _line(self, name: str) -> Iterator[str]:
        """Yield an entity and its base entities."""
        current: str | None = name
        while current is not None:
            yield current
            current = self.spec.entities[current].extends

    def most_complete(self, entity: d.Entity) -> d.Entity:
        """Return the only entity with all fields of a table, if there is one: a record may be known by a part of it."""
        whole = [leaf for leaf in self.leaves if leaf.name in self._families[entity.name] and leaf.key == entity.key]
        return whole[0] if len(whole) == 1 else entity

    def _pk_groups(self) -> dict[str, frozenset[str]]:
        """Return groups of tables that share a numbering because a union joins them, so that ids are unique."""
        groups = {key: frozenset([key]) for key in self._rows}
        for union in self.unions:
            joined = frozenset[str]().union(*(groups[entity.key] for entity in self.entities(union)))
            for key in joined:
                groups[key] = joined
        return groups

    def next_number(self, entity: d.Entity) -> int:
        """Return the largest number in the pks of the entity's tables, plus one."""
        largest = 0
        for key in self._groups[entity.key]:
            for row in self.table(key):
                for name in row.entity.pk[-1:]:
                    largest = max(largest, _number(value_at(row.data, self.path(row.entity, name))))
        return largest + 1


def _leaves(spec: d.Spec) -> tuple[d.Entity, ...]:
    """Return the entities of rows: concrete ones that are not merely a part of another one in the same table."""
    parts = {
        entity.extends
        for entity in spec.entities.values()
        if entity.extends is not None and not entity.abstract and spec.entities[entity.extends].key == entity.key
    }
    return tuple(
        entity
        for entity in spec.entities.values()
        if not entity.abstract and (entity.pk or entity.pk_is_list) and entity.name not in parts
    )


def _unions(spec: d.Spec) -> Iterator[d.UnionOf]:
    """Yield every union in a spec."""

    def inside(type: d.Type | None) -> Iterator[d.UnionOf]:
        return (part for part in d.walk(type) if isinstance(part, d.UnionOf)) if type is not None else iter(())

    for entity in spec.entities.values():
        for field in entity.all_fields:
            yield from inside(field.type)
    for resource in spec.resources.values():
        yield from inside(resource.schema)
        for _, endpoint in resource.all_endpoints():
            yield from inside(endpoint.schema)


def value_at(data: Mapping[str, Stored], path: Sequence[str]) -> Stored:
    """Return the value in a record at a path of names; None if there is none."""
    value: Stored = data
    for name in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def with_value(data: Mapping[str, Stored], path: Sequence[str], value: Stored) -> dict[str, Stored]:
    """Return a record with a value at a path of names; objects on the path keep their other members."""
    name, *rest = path
    inner = data.get(name)
    inner_value: Stored = with_value(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value
    return {**data, name: inner_value}


def pk_part(entity: d.Entity, field: d.Field, number: int) -> d.Json:
    """Return the value of a field of the pk for the record `number`."""
    match field.type:
        case d.Scalar("integer" | "number"):
            return number
        case d.Scalar("uuid" | "datetime" | "date"):
            return fake_values.scalar(field.type.name, field.name, number)
        case d.Scalar("string" | "any"):
            return (
                str(number)
                if field.name in ("id", "pk")
                else f"{fake_values.words(entity.name).replace(' ', '-')}-{number}"
            )
        case _:
            # Other sample values repeat eventually; a string with the number does not.
            return str(number)


def _number(value: Stored) -> int:
    text = text_of(value) or ""
    digits = text[len(text.rstrip("0123456789")) :]
    if (day := fake_values.day(text)) is not None:
        return max(0, day)
    if len(text) == 36 and text.count("-") == 4:  # a UUID: sample ones end with their number in hexadecimal
        try:
            number = int(text[-12:], 16)
        except ValueError:
            return 0
        return number if text == fake_values.identifier(number) else 0
    return whole(digits) or 0


def argument_field(entity: d.Entity, name: str) -> d.Field | None:
    """Return the field that an argument of a URL refers to.

    The field has that name, or is a relation `author` for `author_id` or the reverse, a list `tags` for `tag`, or the
    field `id` or `slug` of an Article for `article_id` or `article_slug`; `article_id` may be a pk of any name.
    """
    wanted = fake_values.words(name)
    for field in entity.all_fields:
        if field.param == name:
            return field
    for field in entity.all_fields:
        if name in (field.wire, field.name) or fake_values.words(field.name) == wanted:
            return field
    for field in entity.all_fields:
        own = fake_values.words(field.name)
        related = first_entity(field.type) is not None
        if (related and wanted == f"{own} id") or own in (f"{wanted} id", f"{wanted}s"):
            return field
    owner = fake_values.words(entity.name)
    if len(entity.pk) == 1 and wanted == f"{owner} id":
        return entity.field(entity.pk[0])
    return next((field for field in entity.all_fields if wanted == f"{owner} {fake_values.words(field.name)}"), None)
