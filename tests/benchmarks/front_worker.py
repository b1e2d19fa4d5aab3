"""The jobs of the front table on restencil's side: calls that users make, with answers that are new in each turn.

Started with `--standard` it reads JSON with the standard library alone.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from serve import Run, in_fresh, serve, timed

if "--standard" in sys.argv:
    sys.modules["orjson"] = None  # type: ignore[assignment]  # as where it is not installed

from entities import Project
from front_shapes import PREFIX, client, look_deep, look_flat, tree

from restencil import Controller, Entity, RestEndpoint, Store
from restencil.base.json_text import decode_json
from restencil.base.values import Meta, copy_in
from restencil.cache import reduce
from restencil.cache.actions import SetResponse
from restencil.cache.denormalize_compiled import reader_of
from restencil.cache.dependency_graph import DependencyGraph
from restencil.cache.normalize_compiled import CompiledNormalization
from restencil.cache.tables import Tables
from restencil.schema import Collection, Lazy
from restencil.schema.notation import schema_of


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


def look_nested(value: Any) -> Iterator[Any]:
    for project in value["project"]:
        yield project.name
        for build in project.buildTypes["buildType"]:
            yield build.name


def look_page(value: Any) -> Iterator[Any]:
    for order in value["results"]:
        yield order.name
        yield order.created_at
        yield order.customer.since
        yield order.product.since


_LOOKS: dict[str, Callable[[Any], Iterator[Any]]] = {
    "nested": look_nested,
    "flat": look_flat,
    "page": look_page,
    "deep": look_deep,
}


def _see(shape: str, value: Any) -> None:
    for _ in _LOOKS[shape](value):
        pass


def fresh(shape: str, file: str) -> Run:
    ours, endpoint = client(shape, 1, file), _ENDPOINTS[shape]
    return timed(lambda: Controller(Store(), client=ours).fetch(endpoint))


def looked(shape: str, file: str) -> Run:
    ours, endpoint = client(shape, 1, file), _ENDPOINTS[shape]
    return timed(lambda: _see(shape, Controller(Store(), client=ours).fetch(endpoint)))


def again(shape: str, file: str) -> Run:
    controller, endpoint = Controller(Store(), client=client(shape, 0, file)), _ENDPOINTS[shape]
    return timed(lambda: controller.fetch(endpoint))


def changed(shape: str, share: float, file: str) -> Run:
    controller, endpoint = Controller(Store(), client=client(shape, share, file)), _ENDPOINTS[shape]

    def turn() -> None:
        controller.fetch(endpoint)
        _see(shape, controller.cached(endpoint))

    return timed(turn)


# -- the parts of a fetch: each does what the one before does, and one thing more --------------------------------------


def received(shape: str, file: str) -> Run:
    """The bytes by httpx alone."""
    ours = client(shape, 1, file)
    return timed(lambda: ours.get(f"{PREFIX}/{shape}").content)


def decoded(shape: str, file: str) -> Run:
    ours = client(shape, 1, file)
    return timed(lambda: decode_json(ours.get(f"{PREFIX}/{shape}").content))


def normalized(shape: str, file: str) -> Run:
    """Records and primary keys; no store has them yet."""
    ours, schema = client(shape, 1, file), schema_of(_SCHEMAS[shape])
    assert schema is not None

    def turn() -> None:
        data = decode_json(ours.get(f"{PREFIX}/{shape}").content)
        CompiledNormalization(Tables(), ({},), Meta(1, 2, 3), owns_response=True).write(schema, data)

    return timed(turn)


def stored(shape: str, file: str) -> Run:
    """A store has them, and no object is built."""
    ours, endpoint = client(shape, 1, file), _ENDPOINTS[shape]
    request = endpoint.request(endpoint.bind_args((), {}))

    def turn() -> None:
        data, store = decode_json(ours.get(f"{PREFIX}/{shape}").content), Store()
        action = SetResponse(request, data, Meta(1, 2, 3), fetch_id=1)
        store._store_state.commit(reduce.set_response(store._cache_reader, action))

    return timed(turn)


def applied(shape: str, file: str) -> Run:
    """The store gives the objects."""
    ours, endpoint = client(shape, 1, file), _ENDPOINTS[shape]
    request = endpoint.request(endpoint.bind_args((), {}))

    def turn() -> None:
        data = decode_json(ours.get(f"{PREFIX}/{shape}").content)
        Store().apply(SetResponse(request, data, Meta(1, 2, 3), fetch_id=1))

    return timed(turn)


def instances(shape: str, file: str) -> Run:
    """After decoding, one instance of a plain class for each object of the answer: the least that Python can do."""
    ours = client(shape, 1, file)

    def turn() -> None:
        _instances(decode_json(ours.get(f"{PREFIX}/{shape}").content))

    return timed(turn)


class _Plain:
    pass


def _instances(value: Any) -> Any:
    if type(value) is list:
        return [_instances(item) if type(item) is dict or type(item) is list else item for item in value]
    made = _Plain()
    made.__dict__ = value
    for name, item in value.items():
        if type(item) is dict or type(item) is list:
            value[name] = _instances(item)
    return made


def copied(shape: str, file: str) -> Run:
    """The copy that `set_response` makes of what it is given, so that its caller may go on changing that."""
    data = tree(shape, file)
    return timed(lambda: copy_in(data))


def set_response(shape: str, file: str) -> Run:
    data, endpoint = tree(shape, file), _ENDPOINTS[shape]
    return timed(lambda: Controller(Store()).set_response(endpoint, data))


def page(share: float, folder: str) -> Run:
    """A page by the generated client."""
    sys.path.insert(0, folder)
    ours = importlib.import_module("ours").Ours(client=client("page", share, ""))
    return timed(ours.orders.get_list.fetch)


_event: RestEndpoint[..., Any] = RestEndpoint(path="/events/:id", schema=Event, name="event")
_events: RestEndpoint[..., Any] = RestEndpoint(path="/events", schema=Collection([Event]), name="events")


def _held(count: int) -> Controller:
    controller = Controller(Store())
    moment = "2026-05-06T07:08:09Z"
    made = [{"id": number, "name": "Event", "starts_at": moment, "ends_at": moment} for number in range(count)]
    controller.set_response(_events, made, {})
    return controller


def singles(count: int) -> Run:
    tables = _held(count).store._store_state.base  # the row is over insides
    pks = list(tables.entities["Event"])
    schema = schema_of(Event)

    def turn() -> None:
        for pk in pks:
            reader_of(tables, (), DependencyGraph()).read(schema, pk, pk)

    return timed(turn)


def cached(count: int) -> Run:
    def fresh() -> Callable[[int], object]:
        controller = _held(count)
        return lambda _: [controller.cached(_event, id=number) for number in range(count)]

    return in_fresh(fresh, 1)


if __name__ == "__main__":
    serve(
        {
            "fresh": fresh,
            "looked at": looked,
            "again": again,
            "changed": changed,
            "received": received,
            "decoded": decoded,
            "instances": instances,
            "normalized": normalized,
            "stored": stored,
            "applied": applied,
            "copied": copied,
            "set_response": set_response,
            "page": page,
            "singles with datetimes": singles,
            "cached with datetimes": cached,
        }
    )
