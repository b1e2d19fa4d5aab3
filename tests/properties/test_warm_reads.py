"""What was read before never shows: a store read after every step says what one says that is read once.

Random schemas and histories of responses, removals, invalidations and pending mutations. After each step a second store
goes through the same history without a single read; then both are read, in different orders.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from types import new_class
from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import AbortError, Entity, ProcessingError, RestEndpoint, schema
from restencil.cache.compiling import PAYS
from restencil.schema.containers import Choice
from restencil.schema.entity import EntitySchema
from restencil.schema.notation import schema_of
from restencil.schema.protocol import Schema

Json = Any


class Bench(Desk):
    """A store and the mutations that are pending in it."""

    def __init__(self) -> None:
        super().__init__()
        self.pending: list[tuple[Any, int]] = []

    def begin(self, endpoint: Any, *args: Json) -> None:
        """A mutation starts."""
        self.pending.append((endpoint, self.start(endpoint, *args, {})))

    def leave(self, place: int) -> None:
        """One of the pending mutations is given up."""
        endpoint, number = self.pending.pop(place)
        self.fail(endpoint, AbortError("left"), {}, fetch=number)


Step = Callable[[Bench], object]

KINDS = [
    "one",
    "one",
    "one",
    "list",
    "array",
    "values",
    "object",
    "union",
    "collection",
    "map",
    "mixed",
    "all",
    "every",
]
IDS = [1, 2, 3, "1", "4"]
ARGS: list[tuple[Json, ...]] = [
    (),
    ({"id": 1},),
    ({"id": "2"},),
    ({"a": 1},),
    ({"t": "A", "id": 1},),
    ({"of": 1, "key": "r"},),
]


def _validate(cls: Any, record: Mapping[str, Json]) -> str | None:
    return "seven" if record.get("a") == 7 else None


def _process(cls: Any, value: Mapping[str, Json], parent: Json, key: str | None, args: tuple[Json, ...]) -> Json:
    return None if value.get("a") == 9 else {**value}


HOOKS: dict[str, Callable[..., Any]] = {
    "validate": _validate,
    "process": _process,
}


def _of(parent: Mapping[str, Json], key: str | None) -> dict[str, Json]:
    return {"of": parent.get("id"), "key": key}


def _listed(value: Json, *args: Json) -> Json:
    return [list(args[:1]), value]


class World:
    """The classes, endpoints and queries of one history, and what is drawn for it."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.names = "ABC"[: self.choose.randint(1, 3)]
        self.classes: dict[str, type[Entity]] = {}
        for name in self.names:
            self.classes[name] = self._class(name)
        first = self.classes[self.names[0]]
        shapes: list[Any] = [self.shape(2) for _ in range(3)]
        shapes += [self.classes[self.choose.choice(self.names)], schema.Collection([first])]
        self.reads: list[Any] = [RestEndpoint(path=f"/e{n}/:id?", schema=shape) for n, shape in enumerate(shapes)]
        self.removals = [schema.Invalidate(cls) for cls in self.classes.values()]
        self.removals.append(schema.Invalidate(dict(self.classes), "t"))
        everything = schema.All(dict(self.classes), "t")
        self.queries: list[Any] = [everything, schema.Query(everything, _listed), schema.All(first)]
        self.queries += [schema.Union(dict(self.classes), "t"), schema.Query(schema.Collection([first]), _listed)]
        self.started = 0
        known = self.choose.choice([0, PAYS // 2, PAYS])
        for node in self._nodes():
            node.uses = node.reads = known  # so that functions are compiled at once, on the way, or rarely

    def _nodes(self) -> list[Schema]:
        found: dict[int, Schema] = {}
        waiting: list[Schema | None] = [
            schema_of(raw) for raw in [*self.queries, *(read.schema for read in self.reads)]
        ]
        while waiting:
            node = waiting.pop()
            if node is not None and id(node) not in found:
                found[id(node)] = node
                waiting += node.children()
                if isinstance(node, EntitySchema):
                    waiting += [relation.node for relation in node.model.relations]
        return list(found.values())

    def _class(self, name: str) -> type[Entity]:
        choose = self.choose
        relations = {relation: self.shape(1, nested=True) for relation in choose.sample("rs", choose.randint(0, 2))}
        defaults: dict[str, Json] = {"id": "", "t": name, "a": 0}
        defaults |= {relation: choose.choice([None, [], 0]) for relation in relations}

        def body(namespace: dict[str, Any]) -> None:
            namespace |= {"__module__": __name__, "__annotations__": dict.fromkeys(defaults, Any), **defaults}
            for hook, function in HOOKS.items():
                if choose.random() < 0.2:
                    namespace[hook] = classmethod(function)

        key = name if choose.random() < 0.85 else "A"
        options: dict[str, Any] = {"key": key, "schema": relations, "indexes": ("a",) if choose.random() < 0.3 else ()}
        made: type[Entity] = new_class(name, (Entity,), options, body)
        return made

    def shape(self, depth: int, *, nested: bool = False) -> Any:
        """A schema; below an entity its collections have an identity of the entity's, or sometimes the arguments'."""
        choose = self.choose
        one = self._lazy(choose.choice(self.names))
        mapping = {name: self._lazy(name) for name in self.names} | ({"Z": one} if choose.random() < 0.3 else {})
        nest: dict[str, Any] = {"nest_key": _of} if nested and choose.random() < 0.8 else {}

        def inner() -> Any:
            found = self.shape(depth - 1, nested=nested)
            return schema.Object(found) if isinstance(found, dict) else found

        match choose.choice(KINDS) if depth else "one":
            case "list":
                return [inner()]
            case "array":
                return schema.Array(inner())
            case "values":
                return schema.Values(inner())
            case "object":
                return {"m": inner(), "n": inner(), "k": 0}
            case "union":
                return schema.Union(mapping, "t")
            case "collection":
                return schema.Collection([one], **nest)
            case "map":
                return schema.Collection(schema.Values(one), **nest)
            case "mixed":
                return schema.Collection([schema.Union(mapping, "t")], **nest)
            case "all":
                return schema.All(one)
            case "every":
                return schema.All(mapping, "t")
            case _:
                return one

    def _lazy(self, name: str) -> Any:
        return schema.Lazy(lambda: self.classes[name])

    def value(self, node: Schema | None, depth: int = 4) -> Json:
        """A value that mostly fits the schema."""
        choose = self.choose
        if node is None or choose.random() < 0.06:
            return None
        inner = list(node.children())
        if isinstance(node, EntitySchema):
            return self._record(node, depth)
        if isinstance(node, Choice):
            name = choose.choice([*node.mapping, "zz"])
            found = self.value(node.mapping.get(name, inner[0]), depth - 1)
            return {**found, "t": name} if isinstance(found, dict) else found
        if isinstance(node, schema.Object):
            members = {name: self.value(member, depth - 1) for name, member in node.members.items()}
            return {name: found for name, found in members.items() if choose.random() < 0.9}
        if isinstance(node, schema.Values):
            return {name: self.value(inner[0], depth - 1) for name in choose.sample("xyz", choose.randint(0, 3))}
        if isinstance(node, schema.Collection):
            return self.value(inner[0], depth)
        return [self.value(inner[0], depth - 1) for _ in range(choose.randint(0, 3))]

    def _record(self, node: EntitySchema, depth: int) -> Json:
        choose = self.choose
        if depth <= 0 or choose.random() < 0.25:
            return str(choose.choice(IDS))
        found: dict[str, Json] = {"id": choose.choice(IDS)}
        if choose.random() < 0.6:
            found["a"] = choose.choice([0, 1, 2, 7, 9, "x"])
        if choose.random() < 0.5:
            found["t"] = choose.choice(["A", "B", "C", "Z", "q"])
        for relation in node.model.relations:
            if choose.random() < 0.6:
                found[relation.in_json] = self.value(relation.node, depth - 1)
        return found

    def step(self) -> Step:
        """Something that happens, and happens alike in every store that it is done to."""
        choose = self.choose
        endpoint = choose.choice(self.reads)
        args = choose.choice(ARGS)
        response = self.value(schema_of(endpoint.schema))
        match choose.choice(["answer", "answer", "answer", "set", "old", "removed", "stale", "starts", "ends"]):
            case "old":
                back = choose.randint(1, 20)
                return lambda desk: desk.answer(endpoint, deepcopy(response), *args, started=desk.now - back)
            case "set":
                return lambda desk: desk.set(endpoint.schema, response, *args)
            case "removed":
                gone: Any = RestEndpoint(path="/gone", method="DELETE", schema=choose.choice(self.removals))
                pk = choose.choice([{"id": 1}, {"id": 2}, "3"])
                return lambda desk: desk.set(gone.schema, pk) if pk != "3" else desk.answer(gone, pk)
            case "stale":
                return choose.choice(
                    [lambda desk: desk.invalidate(endpoint, *args), lambda desk: desk.expire_all(endpoint)]
                )
            case "starts":
                pending: Any = RestEndpoint(
                    path="/pending",
                    method="POST",
                    schema=endpoint.schema,
                    get_optimistic_response=lambda snapshot, *args: response,
                )
                self.started += 1
                return lambda desk: desk.begin(pending, *args)
            case "ends" if self.started:
                self.started -= 1
                place = choose.randint(0, self.started)
                return lambda desk: desk.leave(place)
            case _:
                return lambda desk: desk.answer(endpoint, deepcopy(response), *args)


def _done(desk: Bench, step: Step) -> None:
    desk.now += 2
    try:
        step(desk)
    except ProcessingError:
        pass  # a response that does not fit is recorded as an error


def _told(value: Any, above: tuple[Any, ...] = ()) -> Json:
    """A value with the types of its entities; one that is its own ancestor ends there."""
    if isinstance(value, Entity):
        if any(value is outer for outer in above):
            return "ring"
        return type(value).__name__, {name: _told(item, (*above, value)) for name, item in value.to_dict().items()}
    if isinstance(value, dict):
        members: dict[Any, Any] = value
        return {name: _told(item, above) for name, item in members.items()}
    if isinstance(value, list):
        items: list[Any] = value
        return [_told(item, above) for item in items]
    return value


def _looks(world: World, desk: Desk, looks: list[tuple[Any, tuple[Json, ...]]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for what, args in looks:
        if isinstance(what, RestEndpoint):
            reading = desk.read(what, *args)
            found[f"{what.path} {args}"] = (_told(reading.data), reading.expiry_status, reading.expires_at)
            assert desk.read(what, *args).data is reading.data, "read twice, it is the identical object"
        else:
            found[f"query {world.queries.index(what)} {args}"] = _told(desk.get(what, *args))
    return found


def _compare(seed: int) -> None:
    world = World(seed)
    warm = Bench()
    history: list[Step] = []
    for _ in range(world.choose.randint(4, 12)):
        history.append(world.step())
        _done(warm, history[-1])
        looks = [(what, args) for what in [*world.reads, *world.queries] for args in ARGS]
        looks = world.choose.sample(looks, 10)
        seen = _looks(world, warm, looks)
        cold = Bench()
        for step in history:
            _done(cold, step)
        world.choose.shuffle(looks)
        assert _looks(world, cold, looks) == seen, f"seed {seed}, after step {len(history)}"


@pytest.mark.parametrize("batch", range(12))
def test_warm_reads_reads_show_nothing_of_earlier_reads(batch: int) -> None:
    """After each step a store that was read before says what one says that is read for the first time."""
    for seed in range(20 * batch, 20 * (batch + 1)):
        _compare(seed)


@pytest.mark.slow
def test_warm_reads_reads_show_nothing_of_earlier_reads_for_long() -> None:
    """The same for many more histories."""
    for seed in range(1_000, 8_000):
        _compare(seed)
