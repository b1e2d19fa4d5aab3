"""Inference of the pagination style of a list."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Final

from restencil_generator.openapi.document.model import Operation, Part, Schema
from restencil_generator.openapi.infer.names.inflection import snake_case
from restencil_generator.openapi.infer.records import Shapes
from restencil_generator.openapi.spec_tree import Value
from restencil_generator.spec.page_styles import STYLES, Member, Parameter, Signs, positions

SIZES: Final = frozenset(
    [
        "limit",
        "per_page",
        "page_size",
        "max_results",
        "count",
        "size",
        "top",
        "first",
        "pagesize",
        "perpage",
        "page_limit",
    ]
)
ORDERS: Final = frozenset(
    [
        "order",
        "sort",
        "order_by",
        "sort_by",
        "sort_order",
        "order_direction",
        "direction",
        "sorting",
        "orderby",
        "sortby",
        "dir",
    ]
)
DIRECTIONS: Final = frozenset(("order", "direction", "dir"))
"""The ambiguous ones among them, which have other meanings in many APIs."""
MORE: Final = ("has_more", "has_next", "more", "has_next_page")
FILTERED: Final = ("filter_count", "filtered_count", "total_filtered", "records_filtered")
"""Members with the total number of matching items."""
TOTAL: Final = (
    *FILTERED,
    "total_count",
    "total",
    "total_results",
    "total_items",
    "total_size",
    "total_entries",
    "count_total",
)
_FEWER: Final = re.compile(r"\bfewer\b[^.]*\bthan\b", re.IGNORECASE)
"""Words in descriptions of pages that may have fewer items than requested."""

AROUND: Final = frozenset(
    [
        "meta",
        "links",
        "paging",
        "pagination",
        "response_metadata",
        "page",
        "page_info",
        "cursors",
        "_links",
        "next_page",
    ]
)
"""Members next to a list that contain information about pages."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pages:
    """The pagination of a list: the JSON name of the parameter for the page, and `pagination`."""

    field: str
    pagination: dict[str, Value]
    comment: str = ""


def pages_of(
    operation: Operation, shapes: Shapes, response: Part | None, parameters: dict[str, Schema], pk: str
) -> Pages | None:
    """Return the pagination of a list. `parameters` are its query parameters by JSON name; `pk` is its key field."""
    members = tuple(_around(shapes, response))
    described = {each.name: each.description for each in operation.parameters if each.place == "query"}
    described = {name: described.get(name) or schema.description for name, schema in parameters.items()}
    signs = Signs(
        {
            snake_case(name): Parameter(name, schema.type == "string", _start(schema), described.get(name, ""))
            for name, schema in reversed(parameters.items())
            if schema.format not in ("date", "date-time")  # `after` a time is a filter
        },
        members,
        frozenset(snake_case(header) for header in operation.result.headers),
        pk,
    )
    for style in STYLES.values():
        guess = style.guess(signs)
        if guess is not None:
            break
    else:
        return None
    written: dict[str, Value] = {"style": style.name, **guess.keys}
    comments = [guess.comment]
    if not style.is_url:
        written |= _ends(signs)
        comments += [f"check: {other.name} is a parameter too" for other in positions(signs) if other != guess.field]
        comments.append(_doubt(members))
        if guess.field is not None and style.is_counted and _FEWER.search(operation.description):
            comments.append("check: a page that is not full may not be the last one")
    return Pages("" if guess.field is None else guess.field.name, written, "; ".join(filter(None, comments)))


def _start(schema: Schema) -> int | None:
    """Return the declared first number of a parameter: 0 or 1, as its default or its minimum."""
    above = schema.bounds.get("exclusiveMinimum")
    found = (schema.default, schema.bounds.get("minimum"), above + 1 if isinstance(above, int) else None)
    return next((number for number in found if type(number) is int and number in (0, 1)), None)


def _ends(signs: Signs) -> dict[str, Value]:
    """Return the members that show whether there are more items, and how many."""
    if {member.name for member in signs.members if len(member.path) == 1} >= {"count", "next", "previous"}:
        return {"more": "next", "total": "count"}  # Django REST framework
    kinds = (("more", MORE, ("boolean",)), ("total", TOTAL, ("integer", "number")))
    found = {key: signs.member(names, types) for key, names, types in kinds}
    return {key: member.dotted for key, member in found.items() if member is not None}


def _doubt(members: Iterable[Member]) -> str:
    """Return what to check about the total, if a response has both the number of all and of matching items."""
    names = {member.name for member in members}
    filtered = [name for name in FILTERED if name in names]
    return f"check: {filtered[0]} is taken for the total" if filtered and names & set(TOTAL) - set(FILTERED) else ""


def _around(shapes: Shapes, response: Part | None) -> Iterator[Member]:
    """Yield the scalars next to a list, outer ones first."""
    if response is None:
        return
    level: list[tuple[tuple[str, ...], Schema]] = [((), shapes.of(response))]
    for _ in range(3):
        inner: list[tuple[tuple[str, ...], Schema]] = []
        for path, outer in level:
            for wire, part in outer.properties.items():
                if "." in wire and not wire.startswith("@"):
                    continue
                schema = shapes.of(part)
                if schema.type in ("string", "integer", "number", "boolean", "one_of", "any"):
                    yield Member(tuple(map(snake_case, (*path, wire))), wire, schema.type, schema.format)
                elif schema.type == "object" and (
                    snake_case(wire) in AROUND or (not path and len(outer.properties) <= 2)
                ):
                    inner.append(((*path, wire), schema))
        level = inner
