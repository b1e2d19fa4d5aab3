"""The jobs of the front table on the other side: httpx alone, and httpx with pydantic."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from front_shapes import PREFIX, client, see, tree
from pydantic import BaseModel, TypeAdapter
from serve import Run, serve, timed


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


def fetch(shape: str, share: float) -> Run:
    ours, adapter, url = client(shape, share), _ADAPTERS[shape], f"{PREFIX}/{shape}"
    return timed(lambda: adapter.validate_json(ours.get(url).content))


def looked(shape: str, share: float) -> Run:
    ours, adapter, url = client(shape, share), _ADAPTERS[shape], f"{PREFIX}/{shape}"
    return timed(lambda: see(shape, adapter.validate_json(ours.get(url).content), getattr))


def validate(shape: str) -> Run:
    data, adapter = tree(shape), _ADAPTERS[shape]
    return timed(lambda: adapter.validate_python(data))


if __name__ == "__main__":
    serve(fetch, looked, validate)
