"""Pagination: the settings of a level, and their resolution against the schema of an endpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from restencil_generator.diagnostics.model import Place, did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.symbols import Declarations, SymbolTable
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.names import python_name, wire_name
from restencil_generator.spec.page_styles import STYLES, PageStyle, implied_style
from restencil_generator.spec.source.nodes import Node
from restencil_generator.spec.type_info import type_info

ANY_TEXT: Final = d.AnyOf((d.Scalar("string"), d.Scalar("integer")))
"""The type of a parameter that the spec does not declare."""


@dataclasses.dataclass(frozen=True, slots=True)
class WrittenPagination:
    """Pagination settings before they are resolved for a schema: paths in the response are strings with their nodes."""

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
    """Return the pagination settings of a level."""
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
    tables: Declarations,
    name: str | None,
    known: Sequence[d.Field],
    written: WrittenPagination | None = None,
    endpoint: d.Endpoint | None = None,
    *,
    place: Place = d.NOWHERE,
) -> d.Field | None:
    """Return the parameter for the page of an endpoint as a field. `place` is that of its name.

    It has the type of the search parameter of the same name, or of the body member with `in: body`; else page numbers
    and offsets are integers, and a cursor has the type of the field that contains it.
    """
    if name is None:
        return None
    for field in known:
        if field.name == name:
            return dataclasses.replace(field, type=type_info(field.type).bare, default=d.MISSING)
    type = _page_type(tables, name, written, endpoint)
    return d.Field(name, python_name(name, "parameter"), wire_name(name, tables.wire), type, place=place)


def _page_type(
    tables: Declarations, name: str, written: WrittenPagination | None, endpoint: d.Endpoint | None
) -> d.Type:
    style = None if written is None else written.style
    if style is not None and style.is_integer:
        return d.Scalar("integer")
    if style is not None and style.needs_next and not style.is_url and written is not None and endpoint is not None:
        types = {type_info(type).bare: None for type in _cursor_types(tables, written.next or "", endpoint)}
        known = [type for type in types if type_info(type).in_path]
        return known[0] if len(known) == len(types) == 1 else d.Scalar("string")
    implied = implied_style(wire_name(name, "snake_case").rpartition("_")[2])
    if implied is not None and implied.is_integer:
        return d.Scalar("integer")
    return ANY_TEXT if style is None else d.Scalar("string")


def _cursor_types(tables: Declarations, text: str, endpoint: d.Endpoint) -> list[d.Type]:
    """Return the possible types of the value that contains the cursor; empty for a header."""
    if text.startswith("header:"):
        return []
    steps, types = _start("next", text, endpoint)
    for name in steps:
        types = [field.type for field in _fields_of(tables, types) or () if field.name == name]
    return types


def resolve_pagination(tables: Declarations, written: WrittenPagination, endpoint: d.Endpoint) -> d.Pagination:
    """Return the pagination of an endpoint, with paths in JSON names."""
    following = None if written.next is None else _next(tables, "next", written.next, endpoint)
    named = {key: _next(tables, key, text, endpoint) for key, (text, _) in written.paths.items()}
    size = None
    if written.size is not None:
        name, value = written.size
        fields = body_members(tables, endpoint) if written.in_body else endpoint.search_params
        known = next((field for field in fields if field.name == name), None)
        param = known or d.Field(
            name, python_name(name, "parameter"), wire_name(name, tables.wire), d.Scalar("integer")
        )
        size = d.PageSize(param, value)
    return d.Pagination(
        written.style.name,
        following,
        size,
        written.remove_cursor,
        named.get("more"),
        named.get("total"),
        named.get("size"),
        written.start,
        written.in_body,
    )


def check_pagination(types: SymbolTable, written: WrittenPagination, endpoint: d.Endpoint, what: Subject) -> None:
    """Report paths in the response that do not exist, and an invalid size parameter."""
    paths = {} if written.next is None else {"next": (written.next, written.node)}
    for key, (text, node) in (paths | dict(written.paths)).items():
        if key == "next" and text.startswith("header:"):
            continue
        missing = _follow(types, *_start(key, text, endpoint))[1]
        if missing is not None:
            name, known = missing
            expected = "a path in the response" + (", header:NAME or last.<field>" if key == "next" else "")
            message = f"'{key}' of {what} is {quoted(text)}, but {quoted(name)} does not exist"
            types.report("unknown-field", message, node, did_you_mean(name, known) or f"write {expected}")
    size = None if endpoint.pagination is None else endpoint.pagination.size
    if size is not None and not written.in_body:
        names = (size.param.name, size.param.wire)
        if any(parameter.name in names for parameter in endpoint.path.parameters):
            message = f"the size parameter {quoted(size.param.name)} of {what} is also a parameter of its path"
            types.report("parameter-clash", message, written.node, "rename one of them")


def body_members(tables: Declarations, endpoint: d.Endpoint) -> tuple[d.Field, ...]:
    """Return the members that the body of an endpoint declares."""
    type = None if endpoint.body is None else endpoint.body.type
    if isinstance(type, d.ObjectRef):
        return tables.objects[type.name].fields
    return type.members if isinstance(type, d.ObjectType) else ()


def check_in_body(
    types: SymbolTable,
    written: WrittenPagination,
    field: d.Field | None,
    endpoint: d.Endpoint,
    what: Subject,
    field_node: Node,
) -> None:
    """Report `in: body` if the body does not select the list, or has no member for the page or its size.

    `field_node` is the node of `pagination_field`.
    """
    hints = {
        "changes something": "write 'side_effect: false' where it only reads" if endpoint.side_effect else "",
        "sends no body": "" if endpoint.has_body else "write 'method: POST' and a 'body'",
        "has one key for all bodies": "" if endpoint.request.in_key else "add 'request: {in_key: true}'",
    }
    for why, hint in hints.items():
        if hint:
            message = f"'in: body' in the pagination of {what}, which {why}"
            types.report("pagination-in-body", message, written.key, hint)
            return
    members = [member.name for member in body_members(types, endpoint)]
    position = None if field is None or written.style.is_url else field.name
    size = None if written.size is None else written.size[0]
    named = (("the pagination field", position, field_node), ("the size parameter", size, written.key))
    for named_as, name, node in named:
        if members and name is not None and name not in members:
            message = f"{named_as} {quoted(name)} of {what} is not a member of its body"
            hint = did_you_mean(name, members) or f"its members: {', '.join(members)}"
            types.report("unknown-field", message, node, hint)


def _next(tables: Declarations, key: str, text: str, endpoint: d.Endpoint) -> d.Next:
    """Convert a path of the pagination settings to JSON names."""
    assert endpoint.schema is not None
    if key == "next" and text.startswith("header:"):
        return d.Next("header", (text.removeprefix("header:"),))
    names = tuple(_follow(tables, *_start(key, text, endpoint))[0])
    return d.Next("last" if key == "next" and _is_last(text) else "response", names)


def _is_last(text: str) -> bool:
    """Return whether a path starts at the last item of a page."""
    return text.startswith("last.")


def _start(key: str, text: str, endpoint: d.Endpoint) -> tuple[list[str], list[d.Type]]:
    """Return the steps of a path, and the types at its start: of the response, or of the last item of a page."""
    if key != "next" or not _is_last(text):
        return text.split("."), _answer(endpoint)
    collection = endpoint.collection
    return text.split(".")[1:], [collection.of.item] if collection is not None else []


def _answer(endpoint: d.Endpoint) -> list[d.Type]:
    if endpoint.response.envelope:
        return [d.Scalar("any")]  # the members next to the list are not declared
    schema = endpoint.schema.of if isinstance(endpoint.schema, d.PageOf) else endpoint.schema
    return [] if schema is None else [schema]


def _follow(
    tables: Declarations, steps: list[str], types: list[d.Type]
) -> tuple[list[str], tuple[str, list[str]] | None]:
    """Return the JSON names along a path; and the first unknown name with the known ones, or None."""
    names: list[str] = []
    missing: tuple[str, list[str]] | None = None
    for name in steps:
        fields = _fields_of(tables, types)
        field = next((field for field in fields or () if field.name == name), None)
        if field is None:
            if fields is not None and missing is None:
                missing = name, [field.name for field in fields]
            names.append(wire_name(name, tables.wire))
            types = [d.Scalar("any")]
        else:
            names.append(field.wire)
            types = [field.type]
    return names, missing


def _fields_of(tables: Declarations, types: list[d.Type]) -> list[d.Field] | None:
    """Return the fields of values of these types; None if they may have any."""
    found: list[d.Field] = []
    for type in types:
        match type:
            case d.Optional(item):
                inner = _fields_of(tables, [item])
            case d.ObjectType(members):
                inner = list(members)
            case d.ObjectRef(name):
                inner = list(tables.objects[name].fields)
            case d.EntityRef(name):
                inner = list(tables.entities[name].all_fields) if name in tables.entities else None
            case d.UnionOf(choices):
                inner = _fields_of(tables, [d.EntityRef(choice.entity) for choice in choices])
            case d.ValuesOf() | d.Scalar("any"):
                inner = None
            case _:
                inner = []
        if inner is None:
            return None
        found.extend(inner)
    return found
