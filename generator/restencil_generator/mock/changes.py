"""Mutations: the rules of REST for methods that change data."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from restencil_generator.mock import fake_values
from restencil_generator.mock.call import Call, Sent
from restencil_generator.mock.errors import Refusal
from restencil_generator.mock.records import Records
from restencil_generator.mock.serialize import show
from restencil_generator.mock.store_json import Intake
from restencil_generator.mock.tables import Row, Tables, argument_field
from restencil_generator.spec import model as d
from restencil_generator.spec.type_info import bare, first_entity, holds_many, holds_records
from restencil_generator.spec.validate_value import fits, validation_errors


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call, for its response.

    `subject` is the row that was found, created or changed; `added` are the created rows, if the call creates;
    `removed` is the previous value of the removed record.
    """

    status: HTTPStatus = HTTPStatus.OK
    subject: Row | None = None
    added: Sequence[Row] | None = None
    removed: d.Json | d.Missing = d.MISSING


class Changes:
    """Executes a call with a side effect. Raises `Refusal` if the request cannot be processed."""

    def __init__(self, tables: Tables, call: Call) -> None:
        self.tables = tables
        self.spec = tables.spec
        self.call = call
        self.records = Records(tables, call)
        self.intake = Intake(tables)

    def perform(self) -> Outcome:
        """Execute the call."""
        self._check_body()
        self._keep()
        of = first_entity(self.call.endpoint.schema)
        if of is None:
            return self._perform_without_entity()
        named = self.records.named_by_body(of)
        if self.call.endpoint.method == "DELETE" or isinstance(self.call.endpoint.schema, d.InvalidateOf):
            return self._delete(of, named)
        if named is not None:
            return self._change(named)
        owner = self.records.owner()
        if owner is not None and self.tables.is_of(owner, of):
            return self._change(owner)
        if self.call.endpoint.method == "POST":
            return self._add(of, holder=owner)
        return self._change(self.records.single(of))

    def _perform_without_entity(self) -> Outcome:
        owner = self.records.owner()
        if owner is not None and self.call.ends_at_record:
            if self.call.endpoint.method == "DELETE":
                self.tables.remove(owner)
            elif self.call.endpoint.method in ("PUT", "PATCH"):
                return self._change(owner)
        return Outcome()

    def _delete(self, of: d.EntityRef | d.UnionOf, named: Row | None) -> Outcome:
        row = named or self.records.owner()
        if row is None or not self.tables.is_of(row, of):
            row = self.records.single(of)
        removed = show(self.tables, row)
        self.tables.remove(row)
        return Outcome(removed=removed)

    def _keep(self) -> None:
        """Store sent bytes as the content of the URL until it is deleted."""
        if isinstance(self.call.body, bytes):
            self.tables.contents[self.call.url] = self.call.body
        elif self.call.endpoint.method == "DELETE":
            self.tables.contents.pop(self.call.url, None)

    def _check_body(self) -> None:
        """Reject a body with values of a wrong type, or without required fields. Unknown fields are stored."""
        body, declared, request = self.call.body, self.call.endpoint.body, self.call.endpoint.request
        if isinstance(body, d.Missing) and self.call.endpoint.has_body and not request.optional:
            body = {}  # an absent body lacks all required fields
        if declared is None or declared.type is None or isinstance(body, d.Missing | bytes) or body is None:
            return
        type = declared.type
        if isinstance(type, d.EntityRef | d.UnionOf) and isinstance(body, list):
            type = d.ListOf(type)
        elif isinstance(type, d.EntityRef | d.UnionOf) and self._assigns:
            type = d.ValuesOf(type)
        found = [*validation_errors(self.spec, type, body, "partial_body" if declared.partial else "body")]
        if found and isinstance(self.call.body, d.Missing):
            found = [error for error in found if error.where]
        if found:
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(map(str, found)))

    def _change(self, row: Row) -> Outcome:
        """Update a record: PUT replaces, other methods merge. A body that is not a record does not change it."""
        if self.call.endpoint.has_body and not self._is_plain():
            body = self._record(self.call.body, frozenset((row.entity.key,)))
            self.intake.change(row, body, replace=self.call.endpoint.method == "PUT")
        return Outcome(subject=row)

    def _is_plain(self) -> bool:
        """Return whether the body is declared as `[string]`, `any` or bytes, rather than records, and no object."""
        declared = self.call.endpoint.body
        plain = declared is not None and not holds_records(declared.type)
        return plain and isinstance(self.call.body, bytes | list | str | int | float)

    def _add(self, of: d.EntityRef | d.UnionOf, holder: Row | None) -> Outcome:
        """Create the sent records, and add them to a record if the path identifies one."""
        params = self._params(of, holder)
        if self._is_plain():
            added = [self.intake.create(of, {}, params=params)]
            subject = None if holds_many(self.call.endpoint.schema) else added[0]
        else:
            added = self._create(of, self.call.body if self.call.endpoint.has_body else {}, params)
            subject = added[0] if self._is_single else None
        if holder is not None:
            for row in added:
                for field in holder.entity.all_fields:
                    if self.tables.is_relation(field, row.entity) and not isinstance(
                        bare(field.type), d.EntityRef | d.UnionOf
                    ):
                        self.tables.attach(holder, field, row)
        return Outcome(HTTPStatus.CREATED, subject, added)

    def _params(self, of: d.EntityRef | d.UnionOf, holder: Row | None) -> dict[str, str]:
        """Return the arguments that provide fields of a new record, so that it is in the list with these arguments."""
        params = {**dict(self.call.query), **self.call.list_params()}
        params = {self.call.fields.get(name, name): text for name, text in params.items()}
        if holder is not None:
            params.pop(self.call.resource.parameters[-1].name, None)
            for entity in self.tables.entities(of):
                back = argument_field(entity, f"{fake_values.words(holder.entity.name)} id")
                if back is not None:
                    params[back.wire] = self.tables.pk(holder)
        return params

    def _create(self, of: d.EntityRef | d.UnionOf, body: Sent, params: Mapping[str, str]) -> list[Row]:
        """Create one record, or several if the body is a list, or a mapping for `assign`."""
        keys = self.tables.keys(of)
        if self._assigns:
            return [
                self.intake.create(of, self._record(item, keys, f"the member {key!r}"), params=params, label=key)
                for key, item in self._object(body).items()
            ]
        if isinstance(body, list):
            return [
                self.intake.create(of, self._record(item, keys, f"item {index}"), params=params)
                for index, item in enumerate(body)
            ]
        return [self.intake.create(of, self._record(body, keys), params=params)]

    @property
    def _assigns(self) -> bool:
        schema = self.call.endpoint.schema
        return isinstance(schema, d.AdderOf) and schema.how == "assign"

    @property
    def _is_single(self) -> bool:
        """Whether the body is one record."""
        return not self._assigns and not (self.call.endpoint.has_body and isinstance(self.call.body, list))

    def _record(self, body: Sent, keys: frozenset[str], what: str = "the body") -> dict[str, d.Json]:
        """Return the part of a body that is stored in a record of these tables.

        Members that are declared for the body, but not for the record, or with a different type, are input for the
        server and not stored; undeclared members are stored, as on a server that is newer than the spec.
        """
        declared = {field.wire for field in self._body_fields()}
        found = self._object(body, what).items()
        return {name: value for name, value in found if name not in declared or self._is_shown(keys, name, value)}

    def _is_shown(self, keys: frozenset[str], name: str, value: d.Json) -> bool:
        """Return whether records of these tables have a field that accepts this value."""
        fields = self.tables.members(keys).get(name, ())
        return any(
            field.decode is not None or field.encode is not None or fits(self.spec, field.type, value, "response")
            for field in fields
        )

    def _body_fields(self) -> Sequence[d.Field]:
        """Return the fields that the body itself declares; none if it has those of entities."""
        type = None if self.call.endpoint.body is None else self.call.endpoint.body.type
        while isinstance(type, d.Optional | d.ListOf | d.ValuesOf):
            type = type.item
        match type:
            case d.ObjectType():
                return type.members
            case d.ObjectRef():
                return self.spec.objects[type.name].fields
            case _:
                return ()

    def _object(self, body: Sent, what: str = "the body") -> dict[str, d.Json]:
        if isinstance(body, dict):
            return body
        if body is d.MISSING or body is None or body == b"":
            return {}
        found = "bytes" if isinstance(body, bytes) else json.dumps(body)[:80]
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"{what} is {found}; expected a JSON object")
