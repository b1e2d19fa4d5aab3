"""The initial data of the mock server: the examples of a spec, and sample records for entities without examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from restencil_generator.mock import fake_values
from restencil_generator.mock.errors import CannotServe, InvalidRecord
from restencil_generator.mock.store_json import Intake
from restencil_generator.mock.tables import Ref, Row, Stored, Tables, argument_field, pk_part, scalar_of, text_of
from restencil_generator.spec import model as d
from restencil_generator.spec.member_names import to_wire
from restencil_generator.spec.type_info import bare, first_entity
from restencil_generator.spec.validate_value import validation_errors

MANY = 25
"""Number of records of an entity with paginated lists: two and a half pages."""

FEW = 5
"""Number of records of other entities."""


def seeded(spec: d.Spec) -> Tables:
    """Return the tables of a spec with their initial data. Raises `CannotServe` if an example is invalid."""
    tables = Tables(spec)
    for name, endpoint in _endpoints(spec):
        example = endpoint.example
        if example is None or example.response is d.MISSING or endpoint.side_effect or endpoint.schema is None:
            continue
        response = to_wire(spec, endpoint.schema, example.response)
        # With hand-written code the declared type is the converted response, so the example is not validated.
        judged = endpoint.process is None and endpoint.base is None
        try:
            errors = validation_errors(spec, endpoint.schema, response, "response", ("response",)) if judged else ()
            for found in errors:
                raise InvalidRecord(found)
            held = Intake(tables, _texts(example.params)).absorb(endpoint.schema, response)
        except InvalidRecord as error:
            place = example.places.get(("response",), example.place)
            where = f"{place.file or spec.file}:{place.line}" if place.line else spec.file
            raise CannotServe(f"{where}: the example response of {name} does not fit: {error}") from error
        row = tables.follow(held) if isinstance(held, Ref) else None
        if row is not None:
            # A last parameter that is not a field also identifies the record of the example.
            for name in [parameter.name for parameter in endpoint.path.parameters][-1:]:
                text = text_of(scalar_of(example.params.get(name)))
                if text is not None and argument_field(row.entity, name) is None:
                    row.scope = {**row.scope, name: text}
    _Invention(tables).fill()
    return tables


def _texts(params: Mapping[str, d.Json]) -> dict[str, str]:
    """Return arguments as strings of a URL."""
    texts = ((name, text_of(scalar_of(value))) for name, value in params.items())
    return {name: text for name, text in texts if text is not None}


def _endpoints(spec: d.Spec) -> Iterator[tuple[str, d.Endpoint]]:
    for resource in spec.resources.values():
        for name, endpoint in resource.all_endpoints():
            yield f"{resource.name}.{name}", endpoint


class _Invention:
    """Fills empty tables: first the plain fields of all records, then the relations among them."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.spec = tables.spec
        self._nests = tuple(_nests(tables.spec))
        self._foreign: dict[tuple[str, str], tuple[d.Entity, d.Field] | None] = {}

    def fill(self) -> None:
        empty = {entity.key for entity in self.spec.entities.values() if not self.tables.table(entity.key)}
        sizes = self._sizes()
        # An entity without a list is nested in others, so it needs more records than they have.
        inner_size = 2 * max(sizes.values(), default=FEW)
        rows = [
            (self._record(entity, number), number)
            for entity in self.tables.leaves
            if entity.key in empty
            for number in self._numbers(entity, sizes.get(entity.key, inner_size))
        ]
        self._foreign = {
            (entity.name, field.name): self._target(entity, field)
            for entity in {row.entity.name: row.entity for row, _ in rows}.values()
            for field in entity.all_fields
            if first_entity(field.type) is None
        }
        for row, number in rows:
            self._hang(row, number)
        for row, number in rows:
            for field in row.entity.all_fields:
                if first_entity(field.type) is not None:
                    row.data[field.wire] = self._relation(row, field.type, number)
                elif field.name not in row.entity.pk:
                    row.data.update(self._repeated(row.entity, field, number))

    def _hang(self, row: Row, number: int) -> None:
        """Assign a record whose pk contains its owner, like `[order_id, position]`, to an existing owner."""
        if len(row.entity.pk) < 2:
            return
        owners: dict[str, Stored] = {}
        for field in row.entity.all_fields:
            if field.name in row.entity.pk:
                owners |= self._repeated(row.entity, field, number)
        hung = Row(row.entity, {**row.data, **owners})
        if not self.tables.holds(hung):
            self.tables.remove(row)
            row.data = hung.data
            self.tables.insert(row)

    def _repeated(self, entity: d.Entity, field: d.Field, number: int) -> dict[str, Stored]:
        """Return the value of a field that repeats one of another record, by JSON name; empty for other fields."""
        target = self._foreign.get((entity.name, field.name))
        others = self.tables.table(target[0].key) if target is not None else []
        if target is None or not others:
            return {}
        return {field.wire: others[(number - 1) % len(others)].data.get(target[1].wire)}

    def _sizes(self) -> dict[str, int]:
        """Return the number of records in each table with lists."""
        sizes: dict[str, int] = {}
        for _, endpoint in _endpoints(self.spec):
            part = first_entity(endpoint.schema)
            if part is not None:
                paged = endpoint.pagination is not None or endpoint.pagination_field is not None
                for key in self.tables.keys(part):
                    sizes[key] = max(sizes.get(key, 0), MANY if paged else FEW)
        return sizes

    def _numbers(self, entity: d.Entity, size: int) -> range:
        first = self.tables.next_number(entity)
        return range(first, first + size)

    def _record(self, entity: d.Entity, number: int) -> Row:
        """Return a record without its relations."""
        row = Row(entity, {})
        for field in entity.all_fields:
            if field.name in entity.pk:
                row.data[field.wire] = pk_part(entity, field, number)
            elif first_entity(field.type) is None:
                row.data[field.wire] = fake_values.value(self.spec, field.type, field.name, number)
        row.data = self.tables.with_key(entity, row.data, number, anew=True)
        for union in self.tables.unions:
            for choice in union.choices:
                if choice.entity == entity.name and union.wire:
                    row.data[union.wire] = choice.value
        return self.tables.insert(row)

    def _relation(self, row: Row, type: d.Type, number: int) -> Stored:
        """Return a relation: records are distributed evenly, and lists divide a table among their owners."""
        match type:
            case d.EntityRef() | d.UnionOf():
                targets = [other for _, other in self.tables.rows(type)]
                if not targets:
                    return None
                target = targets[(number - 1) % len(targets)]
                return Ref(target.entity.key, self.tables.pk(target))
            case d.OneOf((first, *_)):
                return self._relation(row, first, number)
            case d.Optional():
                return None if number % 3 == 0 else self._relation(row, type.item, number)
            case d.ListOf() | d.ValuesOf():
                if not isinstance(type.item, d.EntityRef | d.UnionOf):
                    return [] if isinstance(type, d.ListOf) else {}
                owners = max(1, len(self.tables.table(row.entity.key)))
                refs = [
                    Ref(other.entity.key, self.tables.pk(other))
                    for index, (_, other) in enumerate(self.tables.rows(type.item))
                    if index % owners == (number - 1) % owners
                ]
                return refs if isinstance(type, d.ListOf) else {ref.pk: ref for ref in refs}
            case d.AllOf():
                return self._relation(row, d.ListOf(type.of), number)
            case d.CollectionOf() | d.QueryOf():
                return self._relation(row, type.of, number)
            case _:
                return None

    def _target(self, owner: d.Entity, field: d.Field) -> tuple[d.Entity, d.Field] | None:
        """Return the field whose values a plain field repeats: by a collection's `nest`, or by a name like `user_id`.

        In a pk of several fields, the name of the entity is sufficient.
        """
        if owner.pk == (field.name,):
            return None
        for entity, nested in self._nests:
            of = first_entity(nested)
            if of is not None and owner.key in self.tables.keys(of):
                for pair in nested.nest:
                    if argument_field(owner, pair.argument) == field:
                        return _field(entity, pair.field)
        words = fake_values.words(field.name)
        for entity in self.spec.entities.values():
            if len(entity.pk) == 1:
                name = fake_values.words(entity.name)
                names = (f"{name} id", f"{name} {fake_values.words(entity.pk[0])}")
                if words in names or (words == name and field.name in owner.pk):
                    return _field(entity, entity.pk[0])
        return None


def _field(entity: d.Entity, name: str) -> tuple[d.Entity, d.Field] | None:
    field = entity.field(name)
    return None if field is None else (entity, field)


def _nests(spec: d.Spec) -> Iterator[tuple[d.Entity, d.CollectionOf]]:
    """Yield every nested collection that declares which records belong to it."""
    for entity in spec.entities.values():
        for field in entity.all_fields:
            type = bare(field.type)
            if isinstance(type, d.CollectionOf) and type.nest:
                yield entity, type
