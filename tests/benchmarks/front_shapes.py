"""Answers of four shapes, each in several versions: as bytes, with the classes that either side reads them as."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any, Final

import httpx
from answering import transport
from shapes import input_file

PREFIX: Final = "https://api.test"

VERSIONS: Final = 6
"""How many versions of an answer take turns; each differs from the one before, the first from the last too."""


def answers(shape: str, changed: float) -> Iterator[bytes]:
    """Answers without end, in which this share of the records differs from the answer before."""
    made = []
    for version in range(VERSIONS):
        text = json.dumps(_changed(shape, changed, version), separators=(",", ":"))
        made.append(text.encode())
    # A copy each: no two answers of a server are the same object.
    return (bytes(memoryview(answer)) for answer in cycle(made))


def client(shape: str, changed: float) -> httpx.Client:
    """A client over a transport that answers from memory."""
    return httpx.Client(transport=transport(answers(shape, changed)))


def see(shape: str, value: Any, of: Callable[[Any, str], Any]) -> None:
    """Look at each record of an answer; `of` reads a member of what is no record."""
    for _ in _look(shape, value, of):
        pass


def _look(shape: str, value: Any, of: Callable[[Any, str], Any]) -> Iterator[Any]:
    if shape == "nested":
        for project in of(value, "project"):
            yield project.name
            for build in of(project.buildTypes, "buildType"):
                yield build.name
    elif shape == "flat":
        for product in value:
            yield product.name
    elif shape == "page":
        for order in of(value, "results"):
            yield order.name
            yield order.created_at
            yield order.customer.since
            yield order.product.since
    else:
        yield value.name
        for part in value.parts:
            yield from _look(shape, part, of)


def tree(shape: str) -> Any:
    """The data of one answer."""
    return _changed(shape, 0, 0)


def _changed(shape: str, changed: float, version: int) -> Any:
    data = _MAKERS[shape]()
    records = _records(shape, data)
    for place in range(round(changed * len(records))):
        records[place * len(records) // round(changed * len(records))]["name"] += f" {version}"
    return data


def _records(shape: str, data: Any) -> list[dict[str, Any]]:
    if shape == "nested":
        return [*data["project"], *(build for one in data["project"] for build in one["buildTypes"]["buildType"])]
    if shape == "flat":
        return list(data)
    if shape == "page":
        return list(data["results"])
    found, waiting = [], [data]
    while waiting:
        record = waiting.pop()
        found.append(record)
        waiting += record.get("parts", ())
    return found


def _nested() -> Any:
    return json.loads(input_file("projects.json").read_bytes())


def _flat() -> Any:
    return [
        {
            "id": number,
            "name": f"Product {number}",
            "sku": f"SKU-{number:05}",
            "price": 10.5 + number,
            "stock": number % 17,
            "active": number % 3 > 0,
            "note": None,
            "kind": "regular",
        }
        for number in range(1_000)
    ]


def _page() -> Any:
    def moment(number: int) -> str:
        return f"2026-{1 + number % 12:02}-{1 + number % 28:02}T{number % 24:02}:30:00Z"

    return {
        "count": 5_000,
        "next": "https://api.test/orders?page=2",
        "previous": None,
        "results": [
            {
                "id": number,
                "name": f"Order {number}",
                "state": "open",
                "total": "19.90",
                "created_at": moment(number),
                "updated_at": moment(number + 5),
                "customer": {"id": number % 20, "name": f"Customer {number % 20}", "since": moment(number % 20)},
                "product": {"id": number % 12, "name": f"Product {number % 12}", "since": moment(number % 12)},
            }
            for number in range(50)
        ],
    }


def _deep() -> Any:
    def part(path: str, levels: int) -> dict[str, Any]:
        made: dict[str, Any] = {"id": path, "name": f"Part {path}", "weight": 1.5, "tags": ["a", "b"]}
        made["parts"] = [part(f"{path}.{place}", levels - 1) for place in range(3)] if levels else []
        return made

    return part("0", 5)


_MAKERS: Final = {"nested": _nested, "flat": _flat, "page": _page, "deep": _deep}
SHAPES: Final = {
    "nested": "709 projects with 2,117 nested builds, 0.5 MB",
    "flat": "a flat list of 1,000",
    "page": "a page of 50 with two relations and datetimes",
    "deep": "one object of 364, nested 6 deep",
}
