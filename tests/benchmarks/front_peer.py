"""The jobs of the front table on the other side: httpx alone, and httpx with pydantic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import httpx
from front_shapes import answers, tree
from pydantic import BaseModel, TypeAdapter
from serve import Run, serve, timed

PREFIX = "https://api.test"


class BuildType(BaseModel):
    id: str = ""
    internalId: str = ""
    name: str = ""
    type: str = ""
    paused: bool = False
    projectId: str = ""
    description: str = ""


class BuildTypes(BaseModel):
    buildType: list[BuildType]


class Project(BaseModel):
    id: str = ""
    internalId: str = ""
    name: str = ""
    parentProjectId: str = ""
    archived: bool = False
    description: str = ""
    buildTypes: BuildTypes


class Projects(BaseModel):
    project: list[Project]


class Product(BaseModel):
    id: int = 0
    name: str = ""
    sku: str = ""
    price: float = 0.0
    stock: int = 0
    active: bool = False
    note: str | None = None
    kind: str = ""


class Named(BaseModel):
    id: int = 0
    name: str = ""
    since: datetime | None = None


class Order(BaseModel):
    id: int = 0
    name: str = ""
    state: str = ""
    total: Decimal = Decimal(0)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    customer: Named
    product: Named


class Orders(BaseModel):
    count: int
    next: str | None
    previous: str | None
    results: list[Order]


class Part(BaseModel):
    id: str = ""
    name: str = ""
    weight: float = 0.0
    tags: list[str] = []
    parts: list[Part] = []


_ADAPTERS: dict[str, TypeAdapter[Any]] = {
    "nested": TypeAdapter(Projects),
    "flat": TypeAdapter(list[Product]),
    "page": TypeAdapter(Orders),
    "deep": TypeAdapter(Part),
}


def _client(shape: str, changed: float, file: str) -> httpx.Client:
    bodies = answers(shape, changed, file)

    class Memory(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, headers={"content-type": "application/json"}, content=next(bodies))

    return httpx.Client(transport=Memory())


def _look_nested(value: Any) -> Iterator[Any]:
    for project in value.project:
        yield project.name
        for build in project.buildTypes.buildType:
            yield build.name


def _look_flat(value: Any) -> Iterator[Any]:
    for product in value:
        yield product.name


def _look_page(value: Any) -> Iterator[Any]:
    for order in value.results:
        yield order.name
        yield order.created_at
        yield order.customer.since
        yield order.product.since


def _look_deep(value: Any) -> Iterator[Any]:
    yield value.name
    for part in value.parts:
        yield from _look_deep(part)


_LOOKS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "nested": _look_nested,
    "flat": _look_flat,
    "page": _look_page,
    "deep": _look_deep,
}


def _see(shape: str, value: Any) -> None:
    for _ in _LOOKS[shape](value):
        pass


def fetch(shape: str, share: float, file: str) -> Run:
    client, adapter, url = _client(shape, share, file), _ADAPTERS[shape], f"{PREFIX}/{shape}"
    return timed(lambda: adapter.validate_json(client.get(url).content))


def looked(shape: str, share: float, file: str) -> Run:
    client, adapter, url = _client(shape, share, file), _ADAPTERS[shape], f"{PREFIX}/{shape}"
    return timed(lambda: _see(shape, adapter.validate_json(client.get(url).content)))


def plain(shape: str, file: str) -> Run:
    client, url = _client(shape, 1, file), f"{PREFIX}/{shape}"
    return timed(lambda: client.get(url).json())


def validate(shape: str, file: str) -> Run:
    data, adapter = tree(shape, file), _ADAPTERS[shape]
    return timed(lambda: adapter.validate_python(data))


if __name__ == "__main__":
    serve({"fetch": fetch, "looked at": looked, "plain": plain, "validate": validate})
