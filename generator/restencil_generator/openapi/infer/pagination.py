"""Finds the pagination style of a list."""

from __future__ import annotations

import dataclasses
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
MORE: Final = ("has_more", "has_next", "more", "has_next_page")
FILTERED: Final = ("filter_count", "filtered_count", "total_filtered", "records_filtered")
"""Totals of the items that are selected."""
TOTAL: Final = (*FILTERED, "total_count", "total", "total_results", "total_items", "total_size", "count_total")
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
"""Members beside a list that say something of its pages."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pages:
    """What is written of a list's pages: the parameter that names one (in JSON), and `pagination`."""

    field: str
    pagination: dict[str, Value]
    comment: str = ""


def pages_of(
    operation: Operation, shapes: Shapes, answer: Part | None, parameters: dict[str, Schema], pk: str
) -> Pages | None:
    """The pages of a list. `parameters` are those of its query, by wire name; `pk` is the field that is its key."""
    members = tuple(_around(shapes, answer))
    signs = Signs(
        {
            snake_case(name): Parameter(
                name, schema.type == "string", schema.default == 0 or schema.bounds.get("minimum") == 0
            )
            for name, schema in reversed(parameters.items())
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
    return Pages("" if guess.field is None else guess.field.name, written, "; ".join(filter(None, comments)))


def _ends(signs: Signs) -> dict[str, Value]:
    """The members that say whether there is more, and how many items there are."""
    if {member.name for member in signs.members if len(member.path) == 1} >= {"count", "next", "previous"}:
        return {"more": "next", "total": "count"}  # Django REST framework
    kinds = (("more", MORE, ("boolean",)), ("total", TOTAL, ("integer", "number")))
    found = {key: signs.member(names, types) for key, names, types in kinds}
    return {key: member.dotted for key, member in found.items() if member is not None}


def _doubt(members: Iterable[Member]) -> str:
    """What is to be checked of the total, where an answer has one of all items and one of those that are selected."""
    names = {member.name for member in members}
    filtered = [name for name in FILTERED if name in names]
    return f"check: {filtered[0]} is taken for the total" if filtered and names & set(TOTAL) - set(FILTERED) else ""


def _around(shapes: Shapes, answer: Part | None) -> Iterator[Member]:
    """The scalars beside a list, outer ones first."""
    if answer is None:
        return
    level: list[tuple[tuple[str, ...], Schema]] = [((), shapes.of(answer))]
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
