"""Pagination: what a level writes about it, and what that means for the schema of an endpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from restencil_generator.diagnostics.model import did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.symbols import SymbolTable
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.names import python_name, wire_name
from restencil_generator.spec.page_styles import STYLES, PageStyle, implied_style
from restencil_generator.spec.source.nodes import Node
from restencil_generator.spec.type_info import facts

ANY_TEXT: Final = d.AnyOf((d.Scalar("string"), d.Scalar("integer")))
"""The type of a parameter of which the spec says nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class WrittenPagination:
    """A pagination before it meets a schema: paths in the response keep their text, and their node."""

    style: PageStyle
    next: str | None
    node: Node
    size: tuple[str, int] | None
    remove_cursor: d.Reference | None
    paths: Mapping[str, tuple[str, Node]]
    """Paths in the response: `more`, `total`, `size`."""
    start: int | None
    in_body: bool
    key: Node


def written_pagination(given: ParsedSection) -> WrittenPagination | None:
    """The pagination that a level writes."""
    written: ParsedSection | None = given["pagination"]
    if written is None or written["style"] is None:
        return None
    size: ParsedSection | str | None = written["size"]
    pair: tuple[str, int] | None = None
    if isinstance(size, ParsedSection) and None not in (size["param"], size["value"]):
        pair = size["param"], size["value"]
    paths = {
        key: (written[key], written.node(key) or given.key("pagination"))
        for key in ("more", "total", "size")
        if isinstance(written[key], str)
    }
    return WrittenPagination(
        STYLES[written["style"]],
        written["next"],
        written.node("next") or given.key("pagination"),
        pair,
        written["remove_cursor"],
        paths,
        written["start"],
        written["in"] == "body",
        written.key("in") if "in" in written else given.key("pagination"),
    )


def page_field(
    declared: SymbolTable,
    name: str | None,
    known: Sequence[d.Field],
    written: WrittenPagination | None = None,
    endpoint: d.Endpoint | None = None,
) -> d.Field | None:
    """The field of the parameter that names a page of an endpoint.

    It has the type of the search parameter, or with `in: body` of the body member, of the same name; else page numbers
    and offsets are integers, and a cursor has the type of the field that it is taken from.
    """
    if name is None:
        return None
    for field in known:
        if field.name == name:
            return dataclasses.replace(field, type=facts(field.type).bare, default=d.MISSING)
    type = _page_type(declared, name, written, endpoint)
    return d.Field(name, python_name(name, "parameter"), wire_name(name, declared.wire), type)


def _page_type(
    declared: SymbolTable, name: str, written: WrittenPagination | None, endpoint: d.Endpoint | None
) -> d.Type:
    style = None if written is None else written.style
    if style is not None and style.is_counted:
        return d.Scalar("integer")
    if style is not None and style.needs_next and not style.is_url and written is not None and endpoint is not None:
        types = {facts(type).bare: None for type in _cursor_types(declared, written.next or "", endpoint)}
        known = [type for type in types if facts(type).in_path]
        return known[0] if len(known) == len(types) == 1 else d.Scalar("string")
    implied = implied_style(wire_name(name, "snake_case").rpartition("_")[2])
    if implied is not None and implied.is_counted:
        return d.Scalar("integer")
    return ANY_TEXT if style is None else d.Scalar("string")


def _cursor_types(declared: SymbolTable, text: str, endpoint: d.Endpoint) -> list[d.Type]:
    """The types of what stands where the cursor of the next page is taken from; none for a header."""
    if text.startswith("header:"):
        return []
    steps, stand = _start(text, endpoint)
    for name in steps:
        fields = _fields_of(declared, stand)
        stand = [field.type for field in fields or () if field.name == name]
    return stand


def resolved_pagination(
    declared: SymbolTable, written: WrittenPagination, endpoint: d.Endpoint, what: Subject, *, strict: bool
) -> d.Pagination:
    """How the next page of an endpoint is found. `strict` reports what does not fit its schema."""
    following: d.Next | None = None
    if written.next is not None:
        following = _next(declared, written.next, "next", written.node, endpoint, what, strict)
    paths = {
        key: _next(declared, text, key, node, endpoint, what, strict) for key, (text, node) in written.paths.items()
    }
    size: d.PageSize | None = None
    if written.size is not None:
        name, value = written.size
        fields = body_members(declared, endpoint) if written.in_body else endpoint.search_params
        known = next((field for field in fields if field.name == name), None)
        param = known or d.Field(
            name, python_name(name, "parameter"), wire_name(name, declared.wire), d.Scalar("integer")
        )
        in_path = () if written.in_body else endpoint.path.parameters
        if strict and any(parameter.name in (name, param.wire) for parameter in in_path):
            message = f"the size parameter {quoted(name)} of {what} is also a parameter of its path"
            declared.report("parameter-clash", message, written.node, "rename one of them")
        size = d.PageSize(param, value)
    return d.Pagination(
        written.style.name,
        following,
        size,
        written.remove_cursor,
        paths.get("more"),
        paths.get("total"),
        paths.get("size"),
        written.start,
        written.in_body,
    )


def body_members(declared: SymbolTable, endpoint: d.Endpoint) -> tuple[d.Field, ...]:
    """The members that the body of an endpoint declares."""
    type = None if endpoint.body is None else endpoint.body.type
    if isinstance(type, d.ObjectRef):
        return declared.objects[type.name].fields
    return type.members if isinstance(type, d.ObjectType) else ()


def check_in_body(
    declared: SymbolTable,
    written: WrittenPagination,
    field: d.Field | None,
    endpoint: d.Endpoint,
    what: Subject,
    field_node: Node,
) -> None:
    """Reports `in: body` where the list is not read by its body, and positions that the body has no member for.

    `field_node` is where the pagination field is written.
    """
    hints = {
        "changes something": "write 'side_effect: false' where it only reads" if endpoint.side_effect else "",
        "sends no body": "" if endpoint.has_body else "write 'method: POST' and a 'body'",
        "has one key for all bodies": "" if endpoint.request.in_key else "add 'request: {in_key: true}'",
    }
    for why, hint in hints.items():
        if hint:
            message = f"'in: body' in the pagination of {what}, which {why}"
            declared.report("pagination-in-body", message, written.key, hint)
            return
    members = [member.name for member in body_members(declared, endpoint)]
    position = None if field is None or written.style.is_url else field.name
    size = None if written.size is None else written.size[0]
    named = (("the pagination field", position, field_node), ("the size parameter", size, written.key))
    for named_as, name, node in named:
        if members and name is not None and name not in members:
            message = f"{named_as} {quoted(name)} of {what} is no member of its body"
            hint = did_you_mean(name, members) or f"its members: {', '.join(members)}"
            declared.report("unknown-field", message, node, hint)


def _next(
    declared: SymbolTable, text: str, key: str, node: Node, endpoint: d.Endpoint, what: Subject, strict: bool
) -> d.Next:
    """Where the answer tells of its pages under this key of the pagination, in wire names."""
    assert endpoint.schema is not None
    if key == "next" and text.startswith("header:"):
        return d.Next("header", (text.removeprefix("header:"),))
    path = _Path(f"'{key}' of {what} is {quoted(text)}", node, key)
    if key == "next" and _is_last(text):
        return d.Next("last", tuple(_step(declared, *_start(text, endpoint), path, strict)))
    return d.Next("response", tuple(_step(declared, text.split("."), _answer(endpoint), path, strict)))


def _is_last(text: str) -> bool:
    """Whether a path begins at the last item of a page."""
    return text.startswith("last.")


def _start(text: str, endpoint: d.Endpoint) -> tuple[list[str], list[d.Type]]:
    """The steps of a path to the next page, and the types of what stands where it begins."""
    if not _is_last(text):
        return text.split("."), _answer(endpoint)
    collection = endpoint.collection
    return text.split(".")[1:], [collection.of.item] if collection is not None else []


def _answer(endpoint: d.Endpoint) -> list[d.Type]:
    if endpoint.response.envelope:
        return [d.Scalar("any")]  # what is beside the list is declared nowhere
    schema = endpoint.schema.of if isinstance(endpoint.schema, d.PageOf) else endpoint.schema
    return [] if schema is None else [schema]


@dataclasses.dataclass(frozen=True, slots=True)
class _Path:
    """A path of the pagination, as messages name it."""

    says: str
    node: Node
    key: str


def _step(declared: SymbolTable, steps: list[str], stand: list[d.Type], path: _Path, strict: bool) -> Iterator[str]:
    """The wire names of a path; `stand` are the types of what may stand at its beginning."""
    for name in steps:
        fields = _fields_of(declared, stand)
        if fields is None:
            yield wire_name(name, declared.wire)
            stand = [d.Scalar("any")]
            continue
        field = next((field for field in fields if field.name == name), None)
        if field is None:
            if strict:
                message = f"{path.says}, but there is no {quoted(name)}"
                known = [field.name for field in fields]
                ways = "a path in the response" + (", header:NAME or last.<field>" if path.key == "next" else "")
                declared.report("unknown-field", message, path.node, did_you_mean(name, known) or f"write {ways}")
                strict = False
            yield wire_name(name, declared.wire)
            stand = [d.Scalar("any")]
        else:
            yield field.wire
            stand = [field.type]


def _fields_of(declared: SymbolTable, types: list[d.Type]) -> list[d.Field] | None:
    """The fields of what stands in one place; None where anything may stand."""
    found: list[d.Field] = []
    for type in types:
        match type:
            case d.Optional(item):
                inner = _fields_of(declared, [item])
            case d.ObjectType(members):
                inner = list(members)
            case d.ObjectRef(name):
                inner = list(declared.objects[name].fields)
            case d.EntityRef(name):
                inner = list(declared.entities[name].all_fields) if name in declared.entities else None
            case d.UnionOf(choices):
                inner = _fields_of(declared, [d.EntityRef(choice.entity) for choice in choices])
            case d.ValuesOf() | d.Scalar("any"):
                inner = None
            case _:
                inner = []
        if inner is None:
            return None
        found.extend(inner)
    return found
