"""Selection of records for a call: the record of its path, or the list that its arguments filter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus

from restencil_generator.mock import fake_values, styles
from restencil_generator.mock.call import Call
from restencil_generator.mock.errors import Refusal
from restencil_generator.mock.pages import paging_of
from restencil_generator.mock.store_json import Intake
from restencil_generator.mock.tables import Ref, Row, Stored, Tables, argument_field, scalar_of, text_of
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare, first_entity


class Records:
    """Selects the records of one call. Raises `Refusal` if the identified record does not exist."""

    def __init__(self, tables: Tables, call: Call) -> None:
        self.tables = tables
        self.call = call

    def _agrees(self, row: Row, name: str, text: str) -> bool | None:
        """Return whether the field of an argument has this string; None if it has no field."""
        return self.tables.agrees(row, self.call.fields.get(name, name), text)

    def owner(self) -> Row | None:
        """Return the resource's row for the path parameters; None if the path does not identify a single row."""
        of = self.call.resource.schema
        if of is not None and self.call.resource.singleton:
            return self._only(of)
        names = [parameter.name for parameter in self.call.resource.parameters]
        if of is None or not names or names[-1] not in self.call.params:
            return None
        wanted = {name: text for name, text in self.call.params.items() if name in names}
        for _, row in self.tables.rows(of):
            if self._is_named(row, wanted, last=names[-1]):
                return row
        kind = " or ".join(entity.name for entity in self.tables.entities(of))
        shown = ", ".join(f"{name}={text!r}" for name, text in wanted.items())
        raise Refusal(HTTPStatus.NOT_FOUND, f"there is no {kind} with {shown}")

    def _only(self, of: d.EntityRef | d.UnionOf) -> Row | None:
        """Return the row of a singleton at the path of this call.

        It is created on first use; after it is deleted there is none until the next PUT.
        """
        names = [parameter.name for parameter in self.call.resource.parameters]
        params = {name: text for name, text in self.call.params.items() if name in names}
        place = self.call.resource.name, *params.values()
        singletons = self.tables.singletons
        if place not in singletons or (singletons[place] is None and self.call.endpoint.method == "PUT"):
            known = None if place in singletons else self._first(of, params)
            # With `pk: []` there is one record, whatever the path.
            singletons[place] = known or Intake(self.tables).create(of, {}, params=params, may_exist=True)
        row = singletons[place]
        if row is None or not any(row is one for _, one in self.tables.rows(of)):
            singletons[place] = None
            raise Refusal(HTTPStatus.NOT_FOUND, f"there is no {self.call.resource.name} here: it was deleted")
        return row

    def _first(self, of: d.EntityRef | d.UnionOf, params: Mapping[str, str]) -> Row | None:
        """Return the first row with these arguments that is not that of another singleton."""
        taken = [row for row in self.tables.singletons.values() if row is not None]
        for _, row in self.tables.rows(of):
            named = all(self.tables.agrees(row, name, text) for name, text in params.items())
            if named and not any(row is other for other in taken):
                return row
        return None

    def _is_named(self, row: Row, wanted: Mapping[str, str], last: str) -> bool:
        for name, text in wanted.items():
            agrees = self._agrees(row, name, text)
            if agrees is None:
                # No field has that name: the last parameter is the pk, or the parameter under which the row was first
                # shown; earlier parameters are the scope of the row.
                usual = self.tables.pk(row) if name == last and row.entity.pk else text
                agrees = row.scope.get(name, usual) == text
            if not agrees:
                return False
        return True

    def single(self, of: d.EntityRef | d.UnionOf) -> Row:
        """Return the row for a response with a single record."""
        owner = self.owner()
        entities = self.tables.entities(of)
        if owner is not None:
            if self.tables.is_of(owner, of):
                return owner
            for field in owner.entity.all_fields:
                ref = owner.data.get(field.wire)
                row = self.tables.follow(ref) if isinstance(ref, Ref) else None
                if row is not None and self.tables.is_of(row, of):
                    return row
        for _, row in self._filtered(of):
            return row
        raise Refusal(HTTPStatus.NOT_FOUND, f"there is no {' or '.join(entity.name for entity in entities)}")

    def named_by_body(self, of: d.EntityRef | d.UnionOf) -> Row | None:
        """Return the row that members of the body identify; None if no member is a field of the record.

        Such a member is declared with `field`; a body that removes a record may also contain its primary key.
        """
        body, declared = self.call.body, self.call.endpoint.body
        if not isinstance(body, dict) or declared is None or not isinstance(declared.type, d.ObjectType):
            return None
        wanted = {field.of: body[field.wire] for field in declared.type.members if field.of and field.wire in body}
        if not wanted and isinstance(self.call.endpoint.schema, d.InvalidateOf):
            keys = {name for entity in self.tables.entities(of) for name in entity.pk}
            members = (field for field in declared.type.members if field.name in keys and field.wire in body)
            wanted = {field.name: body[field.wire] for field in members}
        if not wanted:
            return None
        texts = {name: text_of(scalar_of(value)) or "" for name, value in wanted.items()}
        for _, row in self.tables.rows(of):
            if all(self.tables.agrees(row, name, text) for name, text in texts.items()):
                return row
        kind = " or ".join(entity.name for entity in self.tables.entities(of))
        shown = ", ".join(f"{name}={text!r}" for name, text in texts.items())
        raise Refusal(HTTPStatus.NOT_FOUND, f"there is no {kind} with {shown}")

    def rows(self, of: d.EntityRef | d.UnionOf) -> list[tuple[d.Entity, Row]]:
        """Return the rows of a list: those below the row of the path, or those that match its parameters and query."""
        if not self._is_of_resource(of):
            owner = self.owner()
            if owner is not None:
                return [(entity, row) for entity, row in self._filtered(of) if self._belongs(row, owner)]
        return self._filtered(of)

    def _belongs(self, row: Row, owner: Row) -> bool:
        """Return whether a row is below another one: in one of its lists, or by a relation or id that refers to it."""
        holders = [field for field in owner.entity.all_fields if self.tables.is_relation(field, row.entity)]
        if holders:
            return any(
                self._leads_to(ref, row)
                for field in holders
                for value in [owner.data.get(field.wire)]
                for ref in (
                    value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]
                )
            )
        back = argument_field(row.entity, f"{fake_values.words(owner.entity.name)} id")
        return back is None or bool(self.tables.agrees(row, back.wire, self.tables.pk(owner)))

    def _leads_to(self, ref: Stored, row: Row) -> bool:
        return isinstance(ref, Ref) and self.tables.follow(ref) is row

    def _filtered(self, of: d.EntityRef | d.UnionOf) -> list[tuple[d.Entity, Row]]:
        """Return the rows that match the path and the search parameters that are fields."""
        rows = [
            (entity, row)
            for entity, row in self.tables.rows(of)
            if all(self._in_path(row, name, text) for name, text in self.call.list_params().items())
        ]
        paging = paging_of(self.call.endpoint)
        collection = self.call.endpoint.collection
        skipped = frozenset[str]() if paging is None else paging.arguments
        if collection is not None:
            skipped |= frozenset(collection.non_filter_arguments)
        for name, texts in self._arguments():
            if name in skipped:
                continue
            if name in self.call.fields or any(argument_field(one, name) for one in self.tables.entities(of)):
                rows = [pair for pair in rows if any(self._agrees(pair[1], name, one) for one in texts)]
        return rows

    def _in_path(self, row: Row, name: str, text: str) -> bool:
        agrees = self._agrees(row, name, text)
        if agrees is not None and not self._names_owner(name):
            return agrees
        return row.scope.get(name, text) == text

    def _names_owner(self, name: str) -> bool:
        """Return whether a parameter identifies a row of the resource, and the response has rows of another kind."""
        parameters = self.call.resource.parameters
        of = first_entity(self.call.endpoint.schema)
        return bool(parameters) and name == parameters[-1].name and of is not None and not self._is_of_resource(of)

    def _is_of_resource(self, of: d.EntityRef | d.UnionOf) -> bool:
        """Return whether rows of these entities are those of the resource."""
        schema = self.call.resource.schema
        return schema is not None and bool(self.tables.keys(of) & self.tables.keys(schema))

    def _arguments(self) -> Iterable[tuple[str, list[str]]]:
        """Yield search arguments, each with its alternatives; one of them must match.

        They come from the query, from the query of the template, and from the body of a reading endpoint.
        """
        yield from self._searched()
        for name in self.call.route.holes.values():
            if name in self.call.params:
                yield name, [self.call.params[name]]
        if not self.call.endpoint.side_effect and isinstance(self.call.body, dict):
            for name, value in self.call.body.items():
                if (text := text_of(scalar_of(value))) is not None:
                    yield name, [text]

    def _searched(self) -> Iterable[tuple[str, list[str]]]:
        """Yield the search arguments of the query, parsed by their styles."""
        spec, endpoint, query = self.tables.spec, self.call.endpoint, self.call.query
        styled = [field for field in endpoint.search_params if field.style is not None]
        lists = {
            field.wire: isinstance(bare(field.type), d.ListOf)
            for field in endpoint.search_params
            if field.style is None and d.list_in(field.type) is not None
        }
        taken = {name for field in styled for name in styles.names(spec, field)}
        for name, text in query:
            if name.partition("[")[0] not in taken:
                # A string that may be a list or not is treated as both.
                texts = text.split(",") if name in lists else []
                yield name, texts if lists.get(name) else [text, *texts]
        for field in styled:
            value = styles.read(spec, field, query, endpoint.search_style[0])
            if value is not d.MISSING:
                yield from styles.pairs(field, value)
