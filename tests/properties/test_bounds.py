"""Bounded stores: what is let go of shows as a read that must fetch again, never as shorter or other data.

A naive store keeps everything. Whatever a bounded store says is what the naive one says, or it says nothing at all and
asks for a fetch.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.effort import examples
from tests.properties.library import Driver, Schemas, unlike
from tests.properties.model import Kind, Listed, Many, Mapped, Members, Naive, One, Removed, Shape

from restencil import ExpiryStatus, RestEndpoint, Store, schema
from restencil.cache.actions import Collect

Json = Any
Read = tuple[RestEndpoint[..., Any], Shape, tuple[Json, ...]]

KINDS = {
    "User": Kind("User", {"id": "", "name": ""}),
    "Item": Kind(
        "Item",
        {"id": "", "title": "", "owner": None, "watchers": []},
        {"owner": One("User"), "watchers": Many(One("User"))},
    ),
}
SCHEMAS = Schemas(KINDS)
WRAPPED = Members((("best", One("Item")), ("rest", Many(One("Item")))))


def _endpoint(path: str, shape: Shape) -> RestEndpoint[..., Any]:
    return RestEndpoint(path=path, schema=SCHEMAS.of(shape))


get_item, get_user = _endpoint("/items/:id", One("Item")), _endpoint("/users/:id", One("User"))
listed, plain_list = _endpoint("/items", Listed("Item")), _endpoint("/plain", Many(One("Item")))
wrapped, mapped = _endpoint("/search", WRAPPED), _endpoint("/staff", Mapped(One("User")))
delete: RestEndpoint[..., Any] = RestEndpoint(
    path="/items/:id", method="DELETE", schema=schema.Invalidate(SCHEMAS.classes["Item"])
)

READS: list[Read] = [
    *((get_item, One("Item"), ({"id": f"i{number}"},)) for number in range(6)),
    *((get_user, One("User"), ({"id": f"u{number}"},)) for number in range(4)),
    (listed, Listed("Item"), ()),
    (listed, Listed("Item"), ({"by": "u1"},)),
    (plain_list, Many(One("Item")), ()),
    (wrapped, WRAPPED, ()),
    (mapped, Mapped(One("User")), ()),
]


class History:
    """A random history of one bounded store beside one that keeps everything."""

    def __init__(self, seed: int, limit: int | None) -> None:
        self.choose = random.Random(seed)
        self.limit = limit
        self.driver = Driver(Store(clock=lambda: 0.0, max_entities=limit))
        self.naive = Naive(KINDS)
        self.at = 0.0
        self.held: list[Any] = []
        self.kept: list[Read] = []

    def user(self) -> Json:
        number = self.choose.randrange(4)
        return {"id": f"u{number}", "name": self.choose.choice("xyz")}

    def item(self) -> Json:
        number = self.choose.randrange(6)
        watchers = [self.user() for _ in range(self.choose.randrange(3))]
        return {"id": f"i{number}", "title": self.choose.choice("xyz"), "owner": self.user(), "watchers": watchers}

    def response(self, shape: Shape, args: tuple[Json, ...]) -> Json:
        match shape:
            case One(kind):
                return {**(self.item() if kind == "Item" else self.user()), "id": args[0]["id"]}
            case Members():
                return {"best": self.item(), "rest": [self.item() for _ in range(3)], "total": 4}
            case Mapped():
                return {name: self.user() for name in "ab"}
            case _:
                return [self.item() for _ in range(self.choose.randrange(4))]

    def write(self) -> None:
        """A response arrives."""
        endpoint, shape, args = self.choose.choice(READS)
        response = self.response(shape, args)
        self.at += 10
        self.driver.answer(endpoint, args, response, self.at)
        self.naive.respond(endpoint.key(*args), shape, args, response, self.at)

    def remove(self) -> None:
        """An entity is deleted."""
        args = ({"id": f"i{self.choose.randrange(6)}"},)
        self.at += 10
        self.driver.answer(delete, args, args[0], self.at)
        self.naive.respond(delete.key(*args), Removed("Item"), args, args[0], self.at)

    def hold(self) -> None:
        """Someone shows a read for as long as the history lasts."""
        endpoint, shape, args = self.choose.choice(READS)
        if len(self.held) < 2 and self.driver.read(endpoint, *args) is not None:
            store = self.driver.store
            self.held.append(store.hold(endpoint.key(*args), store.paths(endpoint.request(args))))
            self.kept.append((endpoint, shape, args))

    def collect(self) -> None:
        """Some entities and keys are collected that no one holds."""
        store = self.driver.store
        cells = [(kind, f"{kind[0].lower()}{number}") for kind in ("Item", "User") for number in range(4)]
        keys = [endpoint.key(*args) for endpoint, _, args in READS]
        gone = [cell for cell in cells if self.choose.random() < 0.2 and not store.is_held(cell)]
        dropped = [key for key in keys if self.choose.random() < 0.1 and not store.is_held(key)]
        store.apply(Collect(tuple(gone), tuple(dropped)))
        for key in dropped:
            self.naive.results.pop(key, None)

    def check(self) -> None:
        """Each read is what the naive store says, or it says nothing and a fetch is due."""
        for endpoint, shape, args in self.choose.sample(READS, len(READS)):
            key = endpoint.key(*args)
            reading = self.driver.store.read(endpoint.request(args))
            if isinstance(shape, Members) and key not in self.naive.results:
                continue
            problem = unlike(self.naive.read(key, shape, args), reading.data, key)
            if problem is not None:
                due = (reading.data, reading.expiry_status, reading.expires_at)
                assert due == (None, ExpiryStatus.InvalidIfStale, 1), problem

    def check_bound(self) -> None:
        """There are no more entities than allowed, apart from those that someone holds and the last response."""
        assert self.limit is not None
        tables = self.driver.store.state["entities"]
        cells = [(table, pk) for table, records in tables.items() for pk in records]
        free = [cell for cell in cells if not self.driver.store.is_held(cell)]
        assert len(cells) <= self.limit or len(free) <= max(self.limit, 25)


@pytest.mark.parametrize("limit", [3, 8, 20])
def test_bounds_what_was_evicted_never_shortens_a_list(limit: int) -> None:
    """With `max_entities` a read gives what an unbounded store gives, or it is due for a fetch."""
    for seed in range(examples(12, 3)):
        history = History(seed, limit)
        for _ in range(30):
            history.choose.choice([history.write, history.write, history.remove, history.hold])()
            history.check()
            history.check_bound()


def test_bounds_what_was_collected_never_shortens_a_list() -> None:
    """After a collection a read gives what a store that keeps everything gives, or it is due for a fetch."""
    for seed in range(examples(20, 3)):
        history = History(seed, None)
        for _ in range(30):
            history.choose.choice([history.write, history.write, history.remove, history.collect])()
            history.check()


@pytest.mark.parametrize("limit", [3, 8])
def test_bounds_what_is_held_is_never_evicted(limit: int) -> None:
    """A read that someone holds, and that nothing new was written to, keeps its data whatever else comes."""
    for seed in range(examples(12, 3)):
        history = History(seed, limit)
        history.write()
        while not history.held:
            history.write()
            history.hold()
        endpoint, _, args = history.kept[0]
        touched = history.driver.store.paths(endpoint.request(args))
        data = history.driver.read(endpoint, *args)
        for number in range(50):
            history.at += 10
            body = {"id": f"n{number}", "name": "new"}
            history.driver.answer(get_user, ({"id": f"n{number}"},), body, history.at)
        assert history.driver.read(endpoint, *args) is data
        assert touched == history.driver.store.paths(endpoint.request(args))


def test_bounded_store_stays_bounded() -> None:
    """However much is written, no more than `max_entities` are kept when no one holds any."""
    driver = Driver(Store(clock=lambda: 0.0, max_entities=50))
    for number in range(2_000):
        driver.answer(get_user, ({"id": f"u{number}"},), {"id": f"u{number}", "name": "x"}, float(number))
    assert len(driver.store.state["entities"]["User"]) <= 50
    assert driver.read(get_user, {"id": "u1999"}).name == "x"
    assert driver.read(get_user, {"id": "u0"}) is None
