"""The store jobs on restencil's side; each is named like its counterpart among the peers'."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from entities import Item, Project
from serve import Run, in_fresh, serve, timed

from restencil import Controller, RestEndpoint, Store
from restencil.base.values import Meta
from restencil.cache.denormalize_compiled import reader_of
from restencil.cache.dependency_graph import DependencyGraph
from restencil.cache.normalize import Normalization
from restencil.cache.tables import Tables
from restencil.schema import Collection
from restencil.schema.notation import schema_of
from restencil.schema.protocol import Schema


def _schema(raw: Any) -> Schema:
    found = schema_of(raw)
    assert found is not None
    return found


ALL = _schema({"project": [Project]})
ONE = _schema(Project)
META = Meta(1, 1, float("inf"))

get_item: RestEndpoint[..., Any] = RestEndpoint(path="/items/:id", schema=Item, name="get")
get_items: RestEndpoint[..., Any] = RestEndpoint(path="/items", schema=Collection([Item]), name="list")


def normalized(tables: Tables, data: Any) -> Any:
    """A response in the tables; its normalized result."""
    run = Normalization(tables, (), META, owns_response=True)
    result = run.write(ALL, data)
    tables.commit(run.change)
    return result


def _filled(file: str) -> tuple[Tables, Any]:
    tables = Tables()
    return tables, normalized(tables, json.loads(Path(file).read_bytes()))


def _item(number: int, title: str) -> dict[str, Any]:
    return {"id": number, "title": title, "a": 1, "b": "text", "c": True, "d": None}


def _stored(count: int) -> Controller:
    controller = Controller(Store())
    controller.set_response(get_items, [_item(number, f"item {number}") for number in range(count)], {})
    return controller


def empty(file: str) -> Run:
    data = json.loads(Path(file).read_bytes())
    return timed(lambda: normalized(Tables(), data))


def cold(file: str) -> Run:
    tables, result = _filled(file)
    # A memo that is let go of is a ring of many nodes, and none ever is while its store lives.
    return in_fresh(lambda: lambda _: reader_of(tables, (), DependencyGraph()).read(ALL, result, "all"), 1)


def warm(file: str) -> Run:
    tables, result = _filled(file)
    memo = DependencyGraph()
    found = reader_of(tables, (), memo).read(ALL, result, "all")

    def turn() -> None:
        assert reader_of(tables, (), memo).read(ALL, result, "all") is found

    return timed(turn)


def warm_after_a_write(file: str) -> Run:
    data = json.loads(Path(file).read_bytes())
    controller = Controller(Store())
    projects: RestEndpoint[..., Any] = RestEndpoint(path="/projects", schema=ALL, name="projects")
    controller.set_response(projects, data)
    found = controller.cached(projects)
    turns = 0

    def run(count: int) -> float:
        nonlocal turns
        spent = 0.0
        for _ in range(0, count, 10):
            turns += 1
            controller.set(Item, _item(1, f"turn {turns}"))
            spent += read_again(10)
        return spent

    def turn() -> None:
        assert controller.cached(projects) is found

    read_again: Run = timed(turn)
    return run


def read(count: int) -> Run:
    controller = _stored(count)
    assert controller.cached(get_item, id="500") is not None
    return timed(lambda: controller.cached(get_item, id="500"))


def read_bound(count: int) -> Run:
    bound = _stored(count).bind(get_item)
    bound(id="500")
    return timed(lambda: bound(id="500"))


def write(count: int) -> Run:
    controller = _stored(count)
    turns = 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        controller.set_response(get_item, _item(500, f"changed {turns}"), {"id": 500})

    return timed(turn)


def push(count: int) -> Run:
    def fresh() -> Callable[[int], object]:
        controller = _stored(count)

        def turn(place: int) -> None:
            start = count + 10 * place
            controller.set_response(get_items.push, [_item(start + number, "new") for number in range(10)], {}, {})

        return turn

    return in_fresh(fresh, 100)


def _keys(count: int) -> Controller:
    controller = Controller(Store())
    for number in range(count):
        controller.set_response(get_item, _item(number, "item"), {"id": number})
    return controller


def invalidate_all(count: int) -> Run:
    return in_fresh(lambda: _invalidating(count, look=False), 1)


def invalidate_each(count: int) -> Run:
    return in_fresh(lambda: _invalidating(count, look=True), 1)


def _invalidating(count: int, *, look: bool) -> Callable[[int], object]:
    """Invalidates keys that were just written; with `look` it has been carried out for each of them at the end."""
    controller = _keys(count)
    names = [f"GET /items/{number}" for number in range(count)] if look else []
    known = controller.store.endpoint_meta

    def turn(_: int) -> None:
        controller.invalidate_all(get_item)
        for name in names:
            known(name)

    return turn


if __name__ == "__main__":
    serve(empty, cold, warm, warm_after_a_write, read, read_bound, write, push, invalidate_all, invalidate_each)
