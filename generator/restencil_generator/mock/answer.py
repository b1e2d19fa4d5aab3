"""What the mock server answers: the rules of REST over the tables, in the shapes that the spec declares.

Nothing here knows HTTP libraries: a `Call` comes in, a `Reply` goes out.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import TypeAlias
from urllib.parse import urlencode

from restencil_generator import examples
from restencil_generator.declaration import (
    MISSING,
    AdderOf,
    AllOf,
    CollectionOf,
    Const,
    Endpoint,
    Entity,
    EntityRef,
    EnumRef,
    Field,
    InvalidateOf,
    Json,
    ListOf,
    Missing,
    ObjectRef,
    ObjectType,
    Optional,
    PageOf,
    Pagination,
    QueryOf,
    Resource,
    Scalar,
    Spec,
    Type,
    UnionOf,
    ValuesOf,
)
from restencil_generator.mock import made_up
from restencil_generator.mock.routes import Route
from restencil_generator.mock.tables import Misfit, Ref, Row, Stored, Tables, argument_field, entity_part, text_of

PAGE = 10
"""Items a page where the spec does not say."""

Body: TypeAlias = "Json | bytes | Missing"


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A request that has found its route.

    `query` are the arguments that are not part of the route's template; `url` is the address without them; `body` is
    parsed, `MISSING` where none was sent.
    """

    route: Route
    params: Mapping[str, str]
    query: Sequence[tuple[str, str]] = ()
    body: Body = MISSING
    url: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `content` is JSON, or bytes, or with `text` plain text; `MISSING`: no body."""

    status: int
    content: Json | bytes | Missing = MISSING
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    text: bool = False


_ERRORS: Mapping[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    422: "unprocessable_content",  # a name of its own in each Python, so it is fixed here
}


class Refusal(Exception):
    """An answer that is an error: its status, a stable word and a sentence."""

    def __init__(self, status: HTTPStatus, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})

    def reply(self) -> Reply:
        """The error as JSON: `{"error": "not_found", "message": …}`."""
        return Reply(self.status, {"error": _ERRORS[self.status], "message": str(self)}, self.headers)


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """The items of one page, and what its neighbours and the whole are.

    `next` is the value of the pagination parameter for the next page, None on the last one.
    """

    items: Sequence[tuple[Entity, Row]]
    total: int
    size: int
    number: int
    offset: int
    next: str | int | None
    previous: str | int | None

    def fact(self, name: str) -> Json | Missing:
        """The value of a wrapper's member that tells something about the page, by the names that APIs use for it."""
        facts: dict[str, Json] = {
            "total": self.total,
            "count": self.total,
            "total count": self.total,
            "total items": self.total,
            "total results": self.total,
            "limit": self.size,
            "size": self.size,
            "page size": self.size,
            "per page": self.size,
            "page": self.number,
            "current page": self.number,
            "page number": self.number,
            "pages": -(-self.total // self.size),
            "total pages": -(-self.total // self.size),
            "page count": -(-self.total // self.size),
            "last page": -(-self.total // self.size),
            "offset": self.offset,
            "skip": self.offset,
            "next": self.next,
            "next cursor": self.next,
            "next page": self.next,
            "next token": self.next,
            "next page token": self.next,
            "cursor": self.next,
            "previous": self.previous,
            "prev": self.previous,
            "previous page": self.previous,
            "prev page": self.previous,
            "has more": self.next is not None,
            "has next": self.next is not None,
            "has next page": self.next is not None,
            "has previous": self.previous is not None,
            "has previous page": self.previous is not None,
        }
        return facts.get(made_up.words(name), MISSING)


def answer(tables: Tables, call: Call) -> Reply:
    """The reply to a call; changes the tables where the endpoint has a side effect. Raises `Refusal`."""
    try:
        return _Answer(tables, call).reply()
    except Misfit as misfit:
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"{misfit}") from misfit


class _Answer:
    def __init__(self, tables: Tables, call: Call) -> None:
        self.tables = tables
        self.call = call
        self.endpoint: Endpoint = call.route.endpoint
        self.resource: Resource = call.route.resource
        self.headers: dict[str, str] = {}
        self.subject: Row | None = None
        """The row that the call has found, created or changed: what single members of the answer show."""
        self.added: Sequence[Row] | None = None
        """The rows that the call has created, where it creates."""
        self.page: Page | None = None
        """The first page that the answer shows, where it shows one."""

    @property
    def spec(self) -> Spec:
        return self.tables.spec

    def reply(self) -> Reply:
        if self.endpoint.side_effect:
            return self._write()
        schema = self.endpoint.schema
        of = entity_part(schema)
        if of is not None and not _is_list(schema):
            self.subject = self._single(of)
        return self._respond(HTTPStatus.OK)

    # ---------------------------------------------------------------------------------------------------------- reading

    def _owner(self) -> Row | None:
        """The row of the resource that the path's parameters name; None where the path does not go down to one row."""
        of = self.resource.schema
        names = [parameter.name for parameter in self.resource.path.parameters]
        if names[-1] not in self.call.params:
            return None
        wanted = {name: text for name, text in self.call.params.items() if name in names}
        for _, row in self.tables.rows(of):
            if self._is_named(row, wanted, last=names[-1]):
                return row
        kind = " or ".join(entity.name for entity in self.tables.entities(of))
        said = ", ".join(f"{name}={text!r}" for name, text in wanted.items())
        raise Refusal(HTTPStatus.NOT_FOUND, f"there is no {kind} with {said}")

    def _is_named(self, row: Row, wanted: Mapping[str, str], last: str) -> bool:
        for name, text in wanted.items():
            agrees = self.tables.agrees(row, name, text)
            if agrees is None:
                # No field of that name: the last parameter is the pk, one before it a place that the row was put in.
                agrees = self.tables.pk(row) == text if name == last else row.scope.get(name, text) == text
            if not agrees:
                return False
        return True

    def _single(self, of: EntityRef | UnionOf) -> Row:
        """The one row that a single answer is about."""
        owner = self._owner()
        entities = self.tables.entities(of)
        if owner is not None:
            if self._is_of(owner, of):
                return owner
            for field in owner.entity.all_fields:
                ref = owner.data.get(field.wire)
                row = self.tables.follow(ref) if isinstance(ref, Ref) else None
                if row is not None and self._is_of(row, of):
                    return row
        for _, row in self._filtered(of):
            return row
        raise Refusal(HTTPStatus.NOT_FOUND, f"there is no {' or '.join(entity.name for entity in entities)}")

    def _is(self, row: Row, ref: Stored) -> bool:
        return isinstance(ref, Ref) and self.tables.follow(ref) is row

    def _is_of(self, row: Row, of: EntityRef | UnionOf) -> bool:
        return any(row is other for _, other in self.tables.rows(of))

    def _rows(self, of: EntityRef | UnionOf) -> list[tuple[Entity, Row]]:
        """The rows of a list: those below the row that the path names, or those that its parameters and query leave."""
        if not self.tables.keys(of) & self.tables.keys(self.resource.schema):
            owner = self._owner()
            if owner is not None:
                return [(entity, row) for entity, row in self._filtered(of) if self._belongs(row, owner)]
        return self._filtered(of)

    def _belongs(self, row: Row, owner: Row) -> bool:
        """Whether a row is below another one: in a list of it, or by a relation or id that leads back to it."""
        holders = [field for field in owner.entity.all_fields if self._is_relation(field, row.entity)]
        if holders:
            return any(
                self._is(row, ref)
                for field in holders
                for value in [owner.data.get(field.wire)]
                for ref in (
                    value if isinstance(value, list) else value.values() if isinstance(value, dict) else [value]
                )
            )
        back = argument_field(row.entity, f"{made_up.words(owner.entity.name)} id")
        return back is None or bool(self.tables.agrees(row, back.wire, self.tables.pk(owner)))

    def _is_relation(self, field: Field, entity: Entity) -> bool:
        of = entity_part(field.type)
        return of is not None and entity.key in self.tables.keys(of)

    def _filtered(self, of: EntityRef | UnionOf) -> list[tuple[Entity, Row]]:
        """The rows that agree with the path and with every search parameter that has a meaning, in order."""
        rows = [
            (entity, row)
            for entity, row in self.tables.rows(of)
            if all(self._in_path(row, name, text) for name, text in self._list_params().items())
        ]
        skipped = self._page_arguments()
        for name, text in self._arguments():
            if name in skipped:
                continue
            if self._orders(name):
                rows = self._ordered(rows, text)
            elif any(argument_field(entity, name) is not None for entity in self.tables.entities(of)):
                declared = next((field for field in self.endpoint.search_params if field.wire == name), None)
                texts = text.split(",") if declared is not None and _is_array(declared.type) else [text]
                rows = [pair for pair in rows if any(self.tables.agrees(pair[1], name, one) for one in texts)]
            elif made_up.words(name) in ("q", "query", "search", "text", "term", "keyword", "keywords", "filter"):
                rows = [pair for pair in rows if _contains(self.tables.show(pair[1]), text.lower())]
        return rows

    def _list_params(self) -> Mapping[str, str]:
        """The path's parameters that restrict a list. Those of another template's query are search arguments."""
        own = {parameter.name for parameter in self.endpoint.path.parameters} - set(self.call.route.holes.values())
        return {name: text for name, text in self.call.params.items() if name in own}

    def _in_path(self, row: Row, name: str, text: str) -> bool:
        agrees = self.tables.agrees(row, name, text)
        if agrees is not None and not self._names_owner(name):
            return agrees
        return row.scope.get(name, text) == text

    def _names_owner(self, name: str) -> bool:
        """Whether a parameter names a row of the resource and the answer is about rows of another kind."""
        parameters = self.resource.path.parameters
        of = entity_part(self.endpoint.schema)
        return (
            name == parameters[-1].name
            and of is not None
            and not self.tables.keys(of) & self.tables.keys(self.resource.schema)
        )

    def _arguments(self) -> Iterable[tuple[str, str]]:
        """Search arguments: of the query, of the template's own query, and of the body of a reading endpoint."""
        yield from self.call.query
        for name in self.call.route.holes.values():
            if name in self.call.params:
                yield name, self.call.params[name]
        if not self.endpoint.side_effect and isinstance(self.call.body, dict):
            for name, value in self.call.body.items():
                if (text := text_of(_scalar(value))) is not None:
                    yield name, text

    def _orders(self, name: str) -> bool:
        of = self.endpoint.collection
        return made_up.words(name).startswith(("order", "sort")) or (
            of is not None and name in of.non_filter_arguments and made_up.words(name).endswith(("order", "sort", "by"))
        )

    def _ordered(self, rows: list[tuple[Entity, Row]], text: str) -> list[tuple[Entity, Row]]:
        """Sorted by the field that an ordering names (`title`, `-title`, `title:desc`), if it names one."""
        name, _, direction = text.removeprefix("-").partition(":")
        if any(argument_field(entity, name) is None for entity in {one.name: one for one, _ in rows}.values()):
            return rows

        def rank(pair: tuple[Entity, Row]) -> tuple[int, float, str]:
            field = argument_field(pair[0], name)
            value = None if field is None else pair[1].data.get(field.wire)
            if isinstance(value, int | float):
                return 0, value, ""
            value_text = text_of(value)
            return (2, 0, "") if value_text is None else (1, 0, value_text)

        return sorted(rows, key=rank, reverse=text.startswith("-") or direction.lower() == "desc")

    # ------------------------------------------------------------------------------------------------------------ pages

    def _style(self) -> Pagination | None:
        if self.endpoint.pagination is not None or self.endpoint.pagination_field is None:
            return self.endpoint.pagination
        name = self.endpoint.pagination_field.name
        return Pagination("page" if name == "page" else "offset" if name in ("offset", "skip") else "cursor")

    def _page_field(self) -> str:
        field = self.endpoint.pagination_field
        style = self._style()
        return field.wire if field is not None else "page" if style is None or style.style == "link" else style.style

    def _size_field(self) -> str | None:
        style = self._style()
        return None if style is None or style.size is None else style.size.param.wire

    def _page_arguments(self) -> frozenset[str]:
        if self._style() is None:
            return frozenset()
        return frozenset(name for name in (self._page_field(), self._size_field()) if name is not None)

    def _page(self, of: EntityRef | UnionOf) -> Page:
        """The page that the call asks for; all rows where the spec knows no pages."""
        rows = self._rows(of)
        style = self._style()
        if style is None:
            return Page(rows, len(rows), max(1, len(rows)), 1, 0, None, None)
        arguments = dict(self.call.query)
        size = PAGE if style.size is None else style.size.value
        size_field = self._size_field()
        if size_field is not None and size_field in arguments:
            size = self._whole(size_field, arguments[size_field], least=1)
        name = self._page_field()
        given = arguments.get(name)
        if style.style == "cursor":
            start = 0 if given is None else self._after(rows, given)
        elif given is None:
            start = 0
        elif style.style == "offset":
            start = self._whole(name, given, least=0)
        else:
            start = (self._whole(name, given, least=1) - 1) * size
        items = rows[start : start + size]
        more = start + size < len(rows)
        number = start // size + 1
        next_: str | int | None = None
        if more and items:
            offset = start + size if style.style == "offset" else number + 1
            next_ = self._cursor(*items[-1]) if style.style == "cursor" else offset
        previous = {"page": number - 1, "link": number - 1, "offset": max(0, start - size)}.get(style.style)
        page = Page(items, len(rows), size, number, start, next_, previous if start else None)
        self.page = self.page or page
        self._page_headers(style, page)
        return page

    def _whole(self, name: str, text: str, *, least: int) -> int:
        if not (text.isascii() and text.isdecimal()) or int(text) < least:
            raise Refusal(HTTPStatus.BAD_REQUEST, f"{name} is a whole number from {least} on, not {text!r}")
        return int(text)

    def _cursor(self, entity: Entity, row: Row) -> str:
        """The cursor after a row: the member that `next: last.…` names, else an opaque text."""
        style = self._style()
        if style is not None and style.next is not None and style.next.kind == "last":
            return text_of(_scalar(_at(self.tables.show(row, entity), style.next.path))) or ""
        return base64.urlsafe_b64encode(f"after {self.tables.pk(row)}".encode()).decode().rstrip("=")

    def _after(self, rows: Sequence[tuple[Entity, Row]], cursor: str) -> int:
        """The index after the row that a cursor names, also of one deleted meanwhile where ids count up."""
        style = self._style()
        texts = [self._cursor(entity, row) for entity, row in rows]
        if cursor in texts:
            return len(texts) - texts[::-1].index(cursor)
        last = cursor
        if style is None or style.next is None or style.next.kind != "last":
            try:
                decoded = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
            except (binascii.Error, UnicodeDecodeError, ValueError):
                decoded = ""
            if not decoded.startswith("after "):
                raise Refusal(HTTPStatus.BAD_REQUEST, f"{self._page_field()} is no cursor of this list: {cursor!r}")
            last = decoded.removeprefix("after ")
            texts = [self.tables.pk(row) for _, row in rows]
        if (
            last.isdecimal()
            and all(text.isdecimal() for text in texts)
            and (numbers := [*map(int, texts)]) == sorted(numbers)
        ):
            return sum(number <= int(last) for number in numbers)
        raise Refusal(HTTPStatus.BAD_REQUEST, f"{self._page_field()} names no item of this list: {cursor!r}")

    def _page_headers(self, style: Pagination, page: Page) -> None:
        self.headers["X-Total-Count"] = str(page.total)
        if style.next is not None and style.next.kind == "header" and page.next is not None:
            self.headers[style.next.path[0]] = str(page.next)
        if style.style == "link":
            kept = [pair for pair in self.call.query if pair[0] != self._page_field()]
            holes = [(argument, self.call.params[name]) for argument, name in self.call.route.holes.items()]
            before = [*self.call.route.literals, *holes, *kept]
            self.headers["Link"] = ", ".join(
                f'<{self.call.url}?{urlencode([*before, (self._page_field(), value)])}>; rel="{relation}"'
                for relation, value in (("next", page.next), ("prev", page.previous), ("first", 1))
                if value is not None
            )

    # ---------------------------------------------------------------------------------------------------------- writing

    def _write(self) -> Reply:
        self._check_body()
        self._keep()
        schema = self.endpoint.schema
        of = entity_part(schema)
        method = self.endpoint.method
        if of is None:
            return self._write_without_entity()
        if method == "DELETE" or isinstance(schema, InvalidateOf):
            return self._delete(of)
        owner = self._owner()
        if owner is not None and self._is_of(owner, of):
            self._change(owner)
        elif method == "POST":
            return self._add(of, below=owner)
        else:
            self._change(self._single(of))
        return self._respond(HTTPStatus.OK)

    def _keep(self) -> None:
        """Bytes that were sent are what the address answers from now on, until it is deleted."""
        if isinstance(self.call.body, bytes):
            self.tables.contents[self.call.url] = self.call.body
        elif self.endpoint.method == "DELETE":
            self.tables.contents.pop(self.call.url, None)

    def _check_body(self) -> None:
        """Refuses a body with values of a wrong type. Fields may be missing, and unknown ones are kept."""
        body, declared = self.call.body, self.endpoint.body
        if declared is None or declared.type is None or isinstance(body, Missing | bytes) or body is None:
            return
        schema, type_ = self.endpoint.schema, declared.type
        if isinstance(type_, EntityRef | UnionOf) and isinstance(body, list):
            type_ = ListOf(type_)
        elif isinstance(type_, EntityRef | UnionOf) and isinstance(schema, AdderOf) and schema.how == "assign":
            type_ = ValuesOf(type_)
        found = [
            f"{'.'.join(map(str, misfit.where)) or 'the body'}: {misfit.message}"
            for misfit in examples.misfits(self.spec, type_, body)
            if not misfit.at_key and not _is_converted(self.spec, type_, misfit.where)
        ]
        if found:
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "; ".join(found))

    def _write_without_entity(self) -> Reply:
        owner = self._owner()
        if owner is not None and self.endpoint.method == "DELETE" and self._ends_at_owner():
            self.tables.remove(owner)
        elif owner is not None and self.endpoint.method in ("PUT", "PATCH") and self._ends_at_owner():
            self._change(owner)
        return self._respond(HTTPStatus.OK)

    def _ends_at_owner(self) -> bool:
        """Whether the path is that of the row itself, not of something below it."""
        return self.endpoint.path.text == self.resource.path.text

    def _delete(self, of: EntityRef | UnionOf) -> Reply:
        row = self._owner()
        if row is None or not self._is_of(row, of):
            row = self._single(of)
        shown = self.tables.show(row)
        self.tables.remove(row)
        if self.endpoint.standard and self.endpoint.process is None and isinstance(self.endpoint.schema, InvalidateOf):
            return Reply(HTTPStatus.NO_CONTENT)
        return Reply(HTTPStatus.OK, shown)

    def _change(self, row: Row) -> None:
        """PUT replaces, all else merges. What has no body does what its name says, where a field can show it."""
        self.subject = row
        if self._is_plain():
            self._change_field(row)
            return
        if self.endpoint.has_body:
            body = self._record(self.call.body, frozenset((row.entity.key,)))
            self.tables.change(row, body, replace=self.endpoint.method == "PUT")
            return
        stem = self.endpoint.name.removesuffix("e").lower()
        for field in row.entity.all_fields:
            type_ = field.type.item if isinstance(field.type, Optional) else field.type
            if type_ == Scalar("boolean") and field.name.lower().startswith(stem):
                row.data[field.wire] = True
            if isinstance(type_, EnumRef):
                for member in self.spec.enums[type_.name].members:
                    if isinstance(member.value, str) and member.value.lower().startswith(stem):
                        row.data[field.wire] = member.value

    def _is_plain(self) -> bool:
        """Whether the body is declared as something else than records (`[string]`, `any`, bytes), and is no mapping."""
        declared = self.endpoint.body
        plain = declared is not None and not _is_record(declared.type)
        return plain and isinstance(self.call.body, bytes | list | str | int | float)

    def _change_field(self, row: Row) -> None:
        """A body that is no record is the value of the field that the path ends with, if there is one that it fits.

        PUT sets the field, all else adds to a list. Without such a field the record stays as it is.
        """
        body = self.call.body
        field = argument_field(row.entity, self.endpoint.path.text.rpartition("/")[2])
        if field is None or isinstance(body, Missing | bytes) or any(examples.misfits(self.spec, field.type, body)):
            return
        held = row.data.get(field.wire)
        adds = self.endpoint.method != "PUT" and isinstance(body, list) and isinstance(held, list)
        value = self.tables.absorb(field.type, body)
        row.data[field.wire] = [*held, *value] if adds and isinstance(held, list) and isinstance(value, list) else value

    def _named(self, of: EntityRef | UnionOf) -> list[Row]:
        """The rows whose pks a body lists, where it lists nothing else."""
        if not isinstance(self.call.body, list):
            return []
        rows = {self.tables.pk(row): row for _, row in self.tables.rows(of)}
        found = [rows.get(text_of(_scalar(item)) or "") for item in self.call.body]
        return [row for row in found if row is not None] if None not in found else []

    def _add(self, of: EntityRef | UnionOf, below: Row | None = None) -> Reply:
        schema = self.endpoint.schema
        params = {**dict(self.call.query), **self._list_params()}
        if below is not None:
            params.pop(self.resource.path.parameters[-1].name, None)
            for entity in self.tables.entities(of):
                back = argument_field(entity, f"{made_up.words(below.entity.name)} id")
                if back is not None:
                    params[back.wire] = self.tables.pk(below)
        body = self.call.body if self.endpoint.has_body else {}
        keys = self.tables.keys(of)
        if self._is_plain():
            self.added = self._named(of)
            if self.added:
                self.subject = self.added[0]
                return self._respond(HTTPStatus.OK)
            many = len(body) if isinstance(body, list) and _is_list(schema) else 1
            self.added = [self.tables.create(of, {}, params=params) for _ in range(many)]
            self.subject = self.added[0] if not _is_list(schema) else None
        elif isinstance(schema, AdderOf) and schema.how == "assign":
            self.added = [
                self.tables.create(of, self._record(item, keys, f"the member {key!r}"), params=params, label=key)
                for key, item in self._object(body).items()
            ]
        elif isinstance(body, list):
            self.added = [
                self.tables.create(of, self._record(item, keys, f"item {index}"), params=params)
                for index, item in enumerate(body)
            ]
        else:
            self.added = [self.tables.create(of, self._record(body, keys), params=params)]
            self.subject = self.added[0]
        if below is not None:
            for row in self.added:
                for field in below.entity.all_fields:
                    if self._is_relation(field, row.entity) and not isinstance(_bare(field.type), EntityRef | UnionOf):
                        self.tables.attach(below, field, row)
        return self._respond(HTTPStatus.CREATED)

    def _record(self, body: Body, keys: frozenset[str], what: str = "the body") -> dict[str, Json]:
        """What a body says about a record of these tables.

        A member that the spec declares for the body and for no such record is said to the server, which does not show
        it; one that the spec does not know at all is kept, as by a server that is ahead of the spec.
        """
        said = {field.wire for field in self._body_fields()} - self.tables.members(keys)
        return {name: value for name, value in self._object(body, what).items() if name not in said}

    def _body_fields(self) -> Sequence[Field]:
        """The fields that the body declares itself; none where it takes those of entities."""
        type_ = None if self.endpoint.body is None else self.endpoint.body.type
        while isinstance(type_, Optional | ListOf | ValuesOf):
            type_ = type_.item
        match type_:
            case ObjectType():
                return type_.members
            case ObjectRef():
                return self.spec.objects[type_.name].fields
            case _:
                return ()

    def _object(self, body: Body, what: str = "the body") -> dict[str, Json]:
        if isinstance(body, dict):
            return body
        if body is MISSING or body is None or body == b"":
            return {}
        found = "bytes" if isinstance(body, bytes) else json.dumps(body)[:80]
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"{what} is {found}; expected a JSON object")

    # -------------------------------------------------------------------------------------------------------- answering

    def _respond(self, status: HTTPStatus) -> Reply:
        endpoint = self.endpoint
        example = endpoint.example
        canned = MISSING if example is None else example.response
        type_ = endpoint.schema or endpoint.returns
        if endpoint.content in ("text", "bytes", "stream"):
            text = canned if isinstance(canned, str) else f"{endpoint.name} of {self.resource.name}\n"
            content = self.tables.contents.get(self.call.url, text.encode())
            plain = endpoint.content == "text"
            return Reply(status, content.decode("utf-8", "replace") if plain else content, self.headers, text=plain)
        if entity_part(endpoint.schema) is None and canned is not MISSING:
            return Reply(status, canned if type_ is None else examples.to_wire(self.spec, type_, canned), self.headers)
        if type_ is None:
            if self.endpoint.side_effect:
                return Reply(HTTPStatus.NO_CONTENT, headers=self.headers)
            return Reply(status, {}, self.headers)
        answered = self._build(type_, self.endpoint.name, canned)
        self._put_next(answered)
        return Reply(status, answered, self.headers)

    def _build(self, type_: Type, name: str, canned: Json | Missing, page: Page | None = None) -> Json:
        """A value of this type for the answer. `canned` is the example's value in its place."""
        match type_:
            case Optional():
                return self._build(type_.item, name, canned, page)
            case EntityRef() | UnionOf():
                row = self.subject
                if row is None or not self._is_of(row, type_):
                    row = next((row for _, row in self.tables.rows(type_)), None)
                return None if row is None else self._show(row, type_)
            case InvalidateOf():
                return self._build(type_.of, name, canned)
            case AdderOf():
                rows = self.added or ()
                if type_.how == "assign":
                    return {row.label or self.tables.pk(row): self.tables.show(row) for row in rows}
                if self.subject is not None:
                    return self.tables.show(self.subject)
                return [self.tables.show(row) for row in rows]
            case CollectionOf() | AllOf() | QueryOf() | PageOf():
                inner = type_.of
                if isinstance(inner, EntityRef | UnionOf):
                    inner = ListOf(inner)
                return self._build(inner, name, canned, page)
            case ListOf() | ValuesOf() if isinstance(type_.item, EntityRef | UnionOf):
                if self.added is not None:
                    pairs = [(row.entity, row) for row in self.added]
                else:
                    pairs = list((page or self._page(type_.item)).items)
                if isinstance(type_, ListOf):
                    return [self.tables.show(row, entity) for entity, row in pairs]
                return {row.label or self.tables.pk(row): self.tables.show(row, entity) for entity, row in pairs}
            case ObjectType():
                return self._wrap(type_, canned, page)
            case _:
                return made_up.value(self.spec, type_, name, 1) if canned is MISSING else canned

    def _show(self, row: Row, of: EntityRef | UnionOf) -> Json:
        entity = next((entity for entity, other in self.tables.rows(of) if other is row), row.entity)
        return self.tables.show(row, entity)

    def _wrap(self, type_: ObjectType, canned: Json | Missing, page: Page | None) -> Json:
        """An object around data: its first list is the page that the call asks for, numbers and cursors tell of it."""
        main = next((member for member in type_.members if _is_list(member.type)), None)
        if main is not None and page is None and self.added is None and (of := entity_part(main.type)) is not None:
            page = self._page(of)
        sent = self.call.body if isinstance(self.call.body, dict) else {}
        wrapped: dict[str, Json] = {}
        for member in type_.members:
            example = canned.get(member.wire, canned.get(member.name, MISSING)) if isinstance(canned, dict) else MISSING
            fact = MISSING if page is None else page.fact(member.name)
            if entity_part(member.type) is not None or isinstance(_bare(member.type), ObjectType):
                mine = page if member is main or not _is_list(member.type) else None
                wrapped[member.wire] = self._build(member.type, member.name, example, mine)
            elif isinstance(member.type, Const):
                wrapped[member.wire] = member.type.value
            elif fact is not MISSING and (fact is not None or isinstance(member.type, Optional)):
                wrapped[member.wire] = _as(member.type, fact)
            elif example is not MISSING:
                wrapped[member.wire] = examples.to_wire(self.spec, member.type, example)
            elif member.wire in sent:
                wrapped[member.wire] = sent[member.wire]
            else:
                wrapped[member.wire] = made_up.value(self.spec, member.type, member.name, 1)
        return wrapped

    def _put_next(self, answered: Json) -> None:
        """Writes the next page's cursor where the pagination says that it stands in the response."""
        style = self._style()
        if self.page is None or style is None or style.next is None or style.next.kind != "response":
            return
        if isinstance(answered, dict):
            _put(answered, style.next.path, self.page.next)


def _is_list(type_: Type | None) -> bool:
    """Whether a type holds many entities rather than one."""
    match type_:
        case ListOf() | ValuesOf() | CollectionOf() | AllOf() | QueryOf() | PageOf():
            return entity_part(type_) is not None
        case Optional():
            return _is_list(type_.item)
        case ObjectType():
            return any(_is_list(member.type) for member in type_.members)
        case _:
            return False


def _is_record(type_: Type | None) -> bool:
    """Whether a body of this type holds the fields of one record or of several."""
    match type_:
        case EntityRef() | UnionOf() | ObjectRef() | ObjectType():
            return True
        case Optional() | ListOf() | ValuesOf():
            return _is_record(type_.item)
        case _:
            return False


def _is_converted(spec: Spec, type_: Type, where: Sequence[str | int]) -> bool:
    """Whether a place in a value belongs to a field with `decode` or `encode`, whose JSON only these know."""
    if not where:
        return False
    match type_:
        case Optional():
            return _is_converted(spec, type_.item, where)
        case ListOf() | ValuesOf():
            return _is_converted(spec, type_.item, where[1:])
        case EntityRef():
            fields = spec.entities[type_.name].all_fields
        case ObjectRef():
            fields = spec.objects[type_.name].fields
        case ObjectType():
            fields = type_.members
        case _:
            return False
    for field in fields:
        if where[0] in (field.wire, field.name):
            converted = field.decode is not None or field.encode is not None
            return converted or _is_converted(spec, field.type, where[1:])
    return False


def _bare(type_: Type) -> Type:
    return type_.item if isinstance(type_, Optional) else type_


def _is_array(type_: Type) -> bool:
    return isinstance(_bare(type_), ListOf)


def _scalar(value: Json) -> str | int | float | bool | None:
    return value if isinstance(value, str | int | float) else None


def _contains(value: Json, text: str) -> bool:
    """Whether a text of a record, or of what is nested in it, has this in it (in lower case)."""
    match value:
        case str():
            return text in value.lower()
        case list():
            return any(_contains(item, text) for item in value)
        case dict():
            return any(_contains(item, text) for item in value.values())
        case _:
            return False


def _at(value: Json, path: Sequence[str]) -> Json:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _put(target: dict[str, Json], path: Sequence[str], value: Json) -> None:
    for name in path[:-1]:
        inner = target.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        target = inner
    target[path[-1]] = value


def _as(type_: Type, fact: Json) -> Json:
    """A number as text where the member is a string."""
    return str(fact) if _bare(type_) == Scalar("string") and isinstance(fact, int) else fact
