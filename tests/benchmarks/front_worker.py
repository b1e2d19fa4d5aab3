"""The jobs of the front table on restencil's side: calls that users make, with answers that are new in each turn.

Started with `--standard` it reads JSON with the standard library alone.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from operator import getitem
from typing import Any

from serve import Run, in_fresh, serve, timed

if "--standard" in sys.argv:
    sys.modules["orjson"] = None  # type: ignore[assignment]  # as where it is not installed

from entities import Project
from front_shapes import PREFIX, client, see, tree

from restencil import Controller, Entity, RestEndpoint, Store
from restencil.schema import Collection, Lazy


class Product(Entity, key="Product"):
    id: int = 0
    name: str = ""
    sku: str = ""
    price: float = 0.0
    stock: int = 0
    active: bool = False
    note: str | None = None
    kind: str = ""


class Customer(Entity, key="Customer"):
    id: int = 0
    name: str = ""
    since: datetime | None = None


class Ware(Entity, key="Ware"):
    id: int = 0
    name: str = ""
    since: datetime | None = None


class Order(Entity, key="Order", schema={"customer": Customer, "product": Ware}):
    id: int = 0
    name: str = ""
    state: str = ""
    total: Decimal = Decimal(0)
    created_at: datetime | None = None
    updated_at: datetime | None = None
    customer: Customer
    product: Ware


class Part(Entity, key="Part", schema={"parts": [Lazy(lambda: Part)]}):
    id: str = ""
    name: str = ""
    weight: float = 0.0
    tags: list[str] = []
    parts: list[Part] = []


class Event(Entity, key="Event"):
    id: int = 0
    name: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None


_SCHEMAS: dict[str, Any] = {
    "nested": {"project": [Project]},
    "flat": Collection([Product]),
    "page": {"results": Collection([Order])},
    "deep": Part,
}
_ENDPOINTS: dict[str, RestEndpoint[..., Any]] = {
    shape: RestEndpoint(url_prefix=PREFIX, path=f"/{shape}", schema=schema, name=shape)
    for shape, schema in _SCHEMAS.items()
}


def fresh(shape: str) -> Run:
    ours, endpoint = client(shape, 1), _ENDPOINTS[shape]
    return timed(lambda: Controller(Store(), client=ours).fetch(endpoint))


def again(shape: str) -> Run:
    controller, endpoint = Controller(Store(), client=client(shape, 0)), _ENDPOINTS[shape]
    return timed(lambda: controller.fetch(endpoint))


def changed(shape: str, share: float) -> Run:
    controller, endpoint = Controller(Store(), client=client(shape, share)), _ENDPOINTS[shape]

    def turn() -> None:
        controller.fetch(endpoint)
        see(shape, controller.cached(endpoint), getitem)

    return timed(turn)


def set_response(shape: str) -> Run:
    data, endpoint = tree(shape), _ENDPOINTS[shape]
    return timed(lambda: Controller(Store()).set_response(endpoint, data))


def page(share: float, folder: str) -> Run:
    """A page by the generated client."""
    sys.path.insert(0, folder)
    ours = importlib.import_module("ours").Ours(client=client("page", share))
    return timed(ours.orders.get_list.fetch)


_event: RestEndpoint[..., Any] = RestEndpoint(path="/events/:id", schema=Event, name="event")
_events: RestEndpoint[..., Any] = RestEndpoint(path="/events", schema=Collection([Event]), name="events")


def _held(count: int) -> Controller:
    controller = Controller(Store())
    moment = "2026-05-06T07:08:09Z"
    made = [{"id": number, "name": "Event", "starts_at": moment, "ends_at": moment} for number in range(count)]
    controller.set_response(_events, made, {})
    return controller


def cached(count: int) -> Run:
    def fresh() -> Callable[[int], object]:
        controller = _held(count)
        return lambda _: [controller.cached(_event, id=number) for number in range(count)]

    return in_fresh(fresh, 1)


if __name__ == "__main__":
    serve(fresh, again, changed, set_response, page, cached)
