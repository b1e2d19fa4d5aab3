"""How a list's pages are asked for, told by the names of its parameters and of what stands around it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final

from restencil_generator.openapi.document.model import Operation, Part, Schema
from restencil_generator.openapi.infer.names.inflection import snake_case
from restencil_generator.openapi.infer.records import Shapes
from restencil_generator.openapi.spec_tree import Value

CURSORS: Final = [
    "cursor",
    "page_token",
    "starting_after",
    "after",
    "next_token",
    "continuation_token",
    "marker",
    "start_cursor",
    "continue",
]
PAGES: Final = ["page", "page_number", "pagenumber"]
OFFSETS: Final = ["offset", "skip", "start", "start_index", "start_at"]
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
    by_name = {snake_case(wire): wire for wire in reversed(parameters)}
    cursor = next((by_name[name] for name in CURSORS if name in by_name), "")
    page = next((by_name[name] for name in PAGES if name in by_name), "")
    offset = next((by_name[name] for name in OFFSETS if name in by_name), "")
    around = list(_around(shapes, answer))
    if any(header.lower() == "link" for header in operation.result.headers):
        return Pages(cursor or page or offset, {"style": "link"})
    if cursor:
        return _cursor(shapes, cursor, page, around, pk)
    if page:
        pagination: dict[str, Value] = {"style": "page"}
        schema = parameters[page]
        if schema.default == 0 or schema.bounds.get("minimum") == 0:
            pagination["start"] = 0
        return Pages(page, {**pagination, **_ends(around)}, _doubt(around))
    if offset and parameters[offset].type == "string":  # no number, so it is what the last page names
        token = _cursor(shapes, offset, page, around, "")
        if token is not None:
            return token
    if offset:
        return Pages(offset, {"style": "offset", **_ends(around)}, _doubt(around))
    url = next((path for path, schema in around if _is_url(path, schema)), ())
    return Pages("", {"style": "url", "next": _shown(url)}, url[-1]) if url else None


def _cursor(
    shapes: Shapes, cursor: str, page: str, around: list[tuple[tuple[str, ...], Schema]], pk: str
) -> Pages | None:
    name = snake_case(cursor)
    wanted = (f"next_{name}", name, "next", "next_cursor", "next_page_token", "next_token", "next_page")
    found = next((path for want in wanted for path, _ in around if snake_case(path[-1]) == want), ())
    found = found or next((path for path, _ in around if snake_case(path[-1]).startswith("next")), ())
    if not found and not pk:
        return None
    pagination: dict[str, Value] = {"style": "cursor", "next": _shown(found) if found else f"last.{pk}"}
    comment = found[-1] if found else "the last item's key"
    if page:
        comment += f"; check: {page} is a parameter too"
    return Pages(cursor, {**pagination, **_ends(around)}, comment)


def _ends(around: list[tuple[tuple[str, ...], Schema]]) -> dict[str, Value]:
    """The members that say whether there is more, and how many items there are."""
    found: dict[str, Value] = {}
    outer = {snake_case(path[0]) for path, _ in around if len(path) == 1}
    if outer >= {"count", "next", "previous"}:  # Django REST framework
        return {"more": "next", "total": "count"}
    for key, names, types in (("more", MORE, ("boolean",)), ("total", TOTAL, ("integer", "number"))):
        path = next(
            (
                path
                for name in names
                for path, schema in around
                if snake_case(path[-1]) == name and schema.type in types
            ),
            (),
        )
        if path:
            found[key] = _shown(path)
    return found


def _doubt(around: list[tuple[tuple[str, ...], Schema]]) -> str:
    """What is to be checked of the total, where an answer has one of all items and one of those that are selected."""
    names = {snake_case(path[-1]) for path, _ in around}
    filtered = [name for name in FILTERED if name in names]
    return f"check: {filtered[0]} is taken for the total" if filtered and names & set(TOTAL) - set(FILTERED) else ""


def _around(shapes: Shapes, answer: Part | None) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """The scalars beside a list, outer ones first, each with the names that lead to it."""
    if answer is None:
        return
    level: list[tuple[tuple[str, ...], Schema]] = [((), shapes.of(answer))]
    for _ in range(3):
        below: list[tuple[tuple[str, ...], Schema]] = []
        for path, outer in level:
            for wire, part in outer.properties.items():
                if "." in wire and not wire.startswith("@"):
                    continue
                schema = shapes.of(part)
                if schema.type in ("string", "integer", "number", "boolean", "one_of", "any"):
                    yield (*path, wire), schema
                elif schema.type == "object" and (
                    snake_case(wire) in AROUND or (not path and len(outer.properties) <= 2)
                ):
                    below.append(((*path, wire), schema))
        level = below


def _is_url(path: tuple[str, ...], schema: Schema) -> bool:
    name = snake_case(path[-1])
    if schema.type not in ("string", "any", "one_of"):
        return False
    return name in (
        "next",
        "next_url",
        "next_link",
        "odata_next_link",
        "next_page_url",
        "next_href",
        "next_page_uri",
        "next_uri",
    ) and (name != "next" or schema.format in ("uri", "url", ""))


def _shown(path: tuple[str, ...]) -> str:
    """A path in the answer, with the names of Python."""
    return ".".join(map(snake_case, path))
