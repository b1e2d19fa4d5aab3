"""Responses: the result of a call in the form that the spec declares."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from restencil_generator.mock import fake_values
from restencil_generator.mock.call import Call, Reply
from restencil_generator.mock.changes import Outcome
from restencil_generator.mock.pages import Page, Pages
from restencil_generator.mock.records import Records
from restencil_generator.mock.routes import filled
from restencil_generator.mock.seed import MANY
from restencil_generator.mock.serialize import show
from restencil_generator.mock.tables import Row, Tables, argument_field, text_of, value_at
from restencil_generator.spec import model as d
from restencil_generator.spec.member_names import to_wire
from restencil_generator.spec.type_info import bare, first_entity, holds_many
from restencil_generator.spec.validate_value import fits


class Shape:
    """Builder of the response to one call."""

    def __init__(self, tables: Tables, call: Call, outcome: Outcome) -> None:
        self.tables = tables
        self.spec = tables.spec
        self.call = call
        self.outcome = outcome
        self.records = Records(tables, call)
        self.pages = Pages(tables, call)

    def reply(self) -> Reply:
        """Return the response, with headers for its page, or with the location of a created record."""
        reply, created = self._reply(), self._location()
        return reply if created is None else dataclasses.replace(reply, headers={**reply.headers, "Location": created})

    def _location(self) -> str | None:
        """Return the path of the created record, if the resource has paths for single records."""
        row, resource = self.outcome.subject, self.call.resource
        if row is None or not self.outcome.added or resource.path is None or resource.schema is None:
            return None
        if not self.tables.is_of(row, resource.schema):
            return None
        found = {name: text for name, text in row.scope.items() if text}
        found |= dict(self.call.params)
        for name in (parameter.name for parameter in resource.parameters):
            dotted = self.call.fields.get(name, "")
            field = argument_field(row.entity, name)
            value = value_at(row.data, self.tables.path(row.entity, dotted)) if dotted else None
            text = text_of(value) if dotted else None if field is None else text_of(row.data.get(field.wire))
            found |= {} if text is None else {name: text}
        path = filled(resource.path, found)
        return (
            None
            if path is None or "get" not in resource.endpoints
            else f"{self.call.root}{self.call.route.prefix}{path}"
        )

    def _reply(self) -> Reply:
        endpoint, status = self.call.endpoint, self.outcome.status
        example = d.MISSING if endpoint.example is None else endpoint.example.response
        type = endpoint.schema or endpoint.returns
        if endpoint.response.ignore:
            return Reply(status, {"ok": True})
        if self.outcome.removed is not d.MISSING:
            silent = endpoint.standard and endpoint.process is None and isinstance(endpoint.schema, d.InvalidateOf)
            return Reply(HTTPStatus.NO_CONTENT) if silent else Reply(status, self._wrapped(self.outcome.removed))
        if endpoint.side_effect and endpoint.response.empty in ("merge", "none"):
            return Reply(HTTPStatus.NO_CONTENT)
        if endpoint.content in ("text", "bytes", "stream"):
            return self._text(example)
        has_pages = self.pages.paging is not None and d.values_list(type) is not None
        if first_entity(endpoint.schema) is None and example is not d.MISSING and not has_pages:
            return Reply(status, self._wrapped(example if type is None else to_wire(self.spec, type, example)))
        if type is None:
            return Reply(HTTPStatus.NO_CONTENT) if endpoint.side_effect else Reply(status, {})
        content = self._wrapped(self._build(type, endpoint.name, example))
        self._put_next(content)
        return Reply(status, content, self.pages.headers)

    def _wrapped(self, value: d.Json | d.Missing) -> d.Json:
        """Wrap a value in the declared envelope of the response."""
        found: Any = value
        for step in reversed(self.call.endpoint.response.envelope):
            found = [*[None] * int(step), found] if step.isdecimal() else {step: found}
        return found  # type: ignore[no-any-return]  # JSON in JSON

    def _text(self, example: d.Json | d.Missing) -> Reply:
        """Return the content that was sent to the URL before, else the example, else the name of the endpoint."""
        text = example if isinstance(example, str) else f"{self.call.endpoint.name} of {self.call.resource.name}\n"
        content = self.tables.contents.get(self.call.url, text.encode())
        if self.call.endpoint.content == "text":
            return Reply(self.outcome.status, content.decode("utf-8", "replace"), text=True)
        return Reply(self.outcome.status, content)

    def _build(self, type: d.Type, name: str, example: d.Json | d.Missing, page: Page[Any] | None = None) -> d.Json:
        """Return a value of this type for the response. `example` is the value at its place in the spec's example."""
        match type:
            case d.Optional():
                return self._build(type.item, name, example, page)
            case d.EntityRef() | d.UnionOf():
                return self._one(type)
            case d.OneOf((first, *_)) if example is d.MISSING:
                return fake_values.marked(type, first, self._build(first, name, example))
            case d.InvalidateOf():
                return self._build(type.of, name, example)
            case d.AdderOf():
                return self._added(type)
            case d.CollectionOf() | d.AllOf() | d.QueryOf() | d.PageOf():
                inner = d.ListOf(type.of) if isinstance(type.of, d.EntityRef | d.UnionOf) else type.of
                return self._build(inner, name, example, page)
            case d.ListOf(d.EntityRef() | d.UnionOf() as item):
                return [show(self.tables, row, entity) for entity, row in self._rows(item, page)]
            case d.ValuesOf(d.EntityRef() | d.UnionOf() as item):
                return {self._key(row): show(self.tables, row, entity) for entity, row in self._rows(item, page)}
            case d.ObjectType():
                return self._wrap(type, example, page)
            case d.ListOf() if self.pages.paging is not None and d.values_list(type) is not None:
                return list((page or self._page_of_values(type, name, example)).items)
            case _:
                return fake_values.value(self.spec, type, name, 1) if example is d.MISSING else example

    def _one(self, of: d.EntityRef | d.UnionOf) -> d.Json:
        """Return the row of the call as the entity of the response; else the first one that is possible."""
        subject = self.outcome.subject
        for entity, row in self.tables.rows(of):
            if row is subject:
                return show(self.tables, row, entity)
        return next((show(self.tables, row, entity) for entity, row in self.tables.rows(of)), None)

    def _added(self, type: d.AdderOf) -> d.Json:
        """Return the added records: one as itself, several as the list or mapping that was sent."""
        rows = self.outcome.added or ()
        if type.how == "assign":
            return {self._key(row): show(self.tables, row) for row in rows}
        if self.outcome.subject is not None:
            return show(self.tables, self.outcome.subject)
        return [show(self.tables, row) for row in rows]

    def _rows(self, of: d.EntityRef | d.UnionOf, page: Page[Any] | None) -> Sequence[tuple[d.Entity, Row]]:
        """Return the rows that the call added, else the requested page."""
        if self.outcome.added is not None:
            return [(row.entity, row) for row in self.outcome.added]
        return (page or self._page(of)).items

    def _page(self, of: d.EntityRef | d.UnionOf) -> Page[tuple[d.Entity, Row]]:
        return self.pages.cut(self.records.rows(of))

    def _page_of_values(self, type: d.ListOf, name: str, example: d.Json | d.Missing) -> Page[d.Json]:
        """Return a page of the values in the example, or of enough sample values for several pages."""
        shown = to_wire(self.spec, type, example) if example is not d.MISSING else d.MISSING
        made = (fake_values.value(self.spec, type.item, name, number) for number in range(1, MANY + 1))
        return self.pages.cut_values(shown if isinstance(shown, list) else list(made))

    def _key(self, row: Row) -> str:
        return row.label or self.tables.pk(row)

    def _wrap(self, type: d.ObjectType, example: d.Json | d.Missing, page: Page[Any] | None) -> d.Json:
        """Return an object around data: its first list is the requested page, and other members describe the page."""
        values = None if self.pages.paging is None else d.values_list(type)
        lists = (
            one
            for one in type.members
            if holds_many(one.type) or (values is not None and values is d.list_in(one.type))
        )
        main = next(lists, None)
        if main is not None and page is None and self.outcome.added is None:
            of = first_entity(main.type)
            if of is not None:
                page = self._page(of)
            elif values is not None:
                page = self._page_of_values(values, main.name, _member(example, main))
        wrapped: dict[str, d.Json] = {}
        for member in type.members:
            shown = _member(example, member)
            if member is main and page is not None and first_entity(member.type) is None:
                wrapped[member.wire] = list(page.items)
            elif first_entity(member.type) is not None or isinstance(bare(member.type), d.ObjectType):
                its = page if member is main or not holds_many(member.type) else None
                wrapped[member.wire] = self._build(member.type, member.name, shown, its)
            else:
                wrapped[member.wire] = self._plain(member, shown)
        return wrapped

    def _plain(self, member: d.Field, example: d.Json | d.Missing) -> d.Json:
        """Return a member without records: from the example, the request, or a sample value."""
        if example is not d.MISSING:
            return to_wire(self.spec, member.type, example)
        sent = self.call.body.get(member.wire) if isinstance(self.call.body, dict) else None
        if sent is not None and fits(self.spec, member.type, sent, "response"):
            return sent
        return fake_values.value(self.spec, member.type, member.name, 1)

    def _put_next(self, content: d.Json) -> None:
        """Set the cursor of the next page at its declared position in the response."""
        paging, page = self.pages.paging, self.pages.first
        if page is None or paging is None or not isinstance(content, dict):
            return
        pagination = paging.pagination
        values = (
            (pagination.next, page.next),
            (pagination.more, page.next is not None),
            (pagination.total, page.total),
            (pagination.length, page.size),
        )
        type = self.call.endpoint.schema
        members = type.members if isinstance(type, d.ObjectType) else ()
        optional = {member.wire for member in members if isinstance(member.type, d.Optional)}
        for where, value in values:
            if where is not None and where.kind == "response":
                is_object = value is None and where.path[0] in optional  # the object around a cursor
                _put(content, where.path[:1] if is_object else where.path, value)


def _member(example: d.Json | d.Missing, member: d.Field) -> d.Json | d.Missing:
    """Return the value of a member in an example, under its JSON name or its name in the spec."""
    return example.get(member.wire, example.get(member.name, d.MISSING)) if isinstance(example, dict) else d.MISSING


def _put(target: dict[str, d.Json], path: Sequence[str], value: d.Json) -> None:
    for name in path[:-1]:
        inner = target.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        target = inner
    target[path[-1]] = value
