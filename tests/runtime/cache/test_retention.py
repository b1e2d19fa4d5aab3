"""Bounded stores: what is let go of, what is kept, and how it shows."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.runtime.doubles import AnyEndpoint, Desk
from tests.runtime.users import User as Person
from tests.runtime.users import Users as People
from tests.runtime.worlds import World

import restencil
from restencil import AbortError, Entity, ExpiryStatus, GCPolicy, RestEndpoint, Store, create_resource, schema
from restencil.testing import Answer


class User(Entity, indexes=("slug",)):
    id: str = ""
    name: str = ""
    slug: str = "none"


class Article(Entity, schema={"author": User, "readers": [User]}):
    id: str = ""
    author: User | None = None
    readers: list[User] = []


Articles: Any = create_resource(path="/articles/:id", schema=Article, optimistic=True)
Users: Any = create_resource(path="/users/:id", schema=User, optimistic=True)
plain: Any = RestEndpoint(path="/plain", schema=[User])
mapped: Any = RestEndpoint(path="/mapped", schema=schema.Values(User))
wrapped: Any = RestEndpoint(path="/wrapped", schema={"best": User, "users": [User], "total": 0})
everyone: Any = RestEndpoint(path="/everyone", schema=schema.All(User))
bare: Any = RestEndpoint(path="/bare")


def user(number: Any) -> dict[str, Any]:
    """What the server says of a user."""
    return {"id": str(number), "name": f"n{number}", "slug": f"s{number}"}


def fill(desk: Desk, *numbers: Any) -> None:
    """Fetches one user after the other."""
    for number in numbers:
        desk.answer(Users.get, user(number), {"id": number})


def let_go(desk: Desk, endpoint: AnyEndpoint, *args: Any) -> bool:
    """Whether a read finds nothing and waits for a fetch."""
    reading = desk.read(endpoint, *args)
    gone = reading.data is None
    if gone:
        assert (reading.expiry_status, reading.expires_at, reading.suspends) == (ExpiryStatus.InvalidIfStale, 1, True)
    return gone


# -- max_entities ------------------------------------------------------------------------------------------------------


def test_retention_least_recently_written_goes_first() -> None:
    """The number of entities and collections stays at the bound."""
    desk = Desk(max_entities=3)
    fill(desk, 1, 2, 3, 1, 4)
    assert desk.pks("User") == ["1", "3", "4"]


def test_retention_reading_counts_as_use() -> None:
    """Through any endpoint, nested entities included."""
    desk = Desk(max_entities=4)
    desk.answer(Articles.get, {"id": "a", "author": user(1)}, {"id": "a"})
    fill(desk, 2, 3)
    desk.data(Articles.get, {"id": "a"})
    fill(desk, 4)
    assert (desk.pks("User"), desk.pks("Article")) == (["1", "3", "4"], ["a"])


@pytest.mark.parametrize(
    ("endpoint", "response"),
    [
        (plain, [user(1), user(2)]),
        (mapped, {"a": user(1), "b": user(2)}),
        (wrapped, {"best": user(1), "users": [user(2)], "total": 2}),
        (wrapped, {"best": user(2), "users": [user(1)], "total": 2}),
        (Users.get_list, [user(1), user(2)]),
        (RestEndpoint(path="/a", schema=Article), {"id": "a", "author": user(1)}),
        (RestEndpoint(path="/a", schema=Article), {"id": "a", "readers": [user(1), user(2)]}),
    ],
)
def test_retention_what_refers_to_it_must_be_fetched_again(endpoint: AnyEndpoint, response: Any) -> None:
    """Never a shorter list, an entity without its relation, or a smaller map: no data, InvalidIfStale, expired."""
    desk = Desk()
    desk.answer(endpoint, response)
    before = desk.data(endpoint)
    desk.collect(("User", "1"))
    assert let_go(desk, endpoint)
    desk.answer(endpoint, response)
    assert desk.data(endpoint) == before
    assert desk.read(endpoint).expiry_status is ExpiryStatus.Valid


def test_retention_everything_that_was_listed_must_be_fetched_again() -> None:
    """An endpoint that answered with all entities says so when one of them was let go of, until it answered again."""
    desk = Desk(max_entities=3)
    desk.answer(everyone, [user(1), user(2), user(3)])
    assert len(desk.data(everyone)) == 3
    fill(desk, 4)
    assert let_go(desk, everyone)
    assert [item.id for item in desk.get(everyone.schema)] == ["2", "3", "4"]
    desk.answer(everyone, [user(n) for n in range(1, 5)])
    assert [item.id for item in desk.data(everyone)] == ["2", "3", "4", "1"]


def test_retention_what_is_held_stays() -> None:
    """As often as it is held; releasing twice counts once."""
    desk = Desk(max_entities=2)
    fill(desk, 1)
    releases = [
        desk.store.hold(Users.get.key({"id": 1}), desk.store.paths(Users.get.request(({"id": 1},)))) for _ in range(2)
    ]
    releases[0]()
    releases[0]()
    fill(desk, 2, 3, 4)
    assert desk.pks("User") == ["1", "4"]
    assert desk.store.is_held(("User", "1"))
    releases[1]()
    assert not desk.store.is_held(("User", "1"))
    fill(desk, 5, 6)
    assert desk.pks("User") == ["5", "6"]


def test_retention_what_a_pending_action_touches_stays() -> None:
    """Also when no one has read the view since it started."""
    desk = Desk(max_entities=2)
    fill(desk, 1)
    fetch = desk.start(Users.partial_update, {"id": "1"}, {"name": "opt"})
    for number in (2, 3, 4):
        desk.set(User, user(number))
    assert desk.data(Users.get, {"id": 1}).name == "opt"
    desk.fail(Users.partial_update, AbortError("x"), {"id": "1"}, {}, fetch=fetch)
    assert desk.data(Users.get, {"id": 1}).name == "n1"


def test_retention_deleted_entity_counts_until_its_time_has_come() -> None:
    """Its mark of deletion is let go of like a record; what refers to it is fetched again."""
    desk = Desk(max_entities=2)
    desk.answer(plain, [user(1)])
    desk.answer(Users.delete, "1", {"id": "1"})
    assert desk.data(plain) == []
    fill(desk, 2, 3)
    assert let_go(desk, plain)


def test_retention_index_entries_go_with_their_entity() -> None:
    """Also those that a deleted one kept."""
    desk = Desk(max_entities=2)
    fill(desk, 1, 2)
    desk.answer(Users.delete, "2", {"id": "2"})
    assert desk.store.state["indexes"]["User"]["slug"] == {"s1": "1", "s2": "2"}
    fill(desk, 3, 4)
    assert desk.store.state["indexes"]["User"]["slug"] == {"s3": "3", "s4": "4"}


# -- collection --------------------------------------------------------------------------------------------------------


def test_retention_collecting_takes_entities_keys_and_their_times() -> None:
    """In place and without notification; what is held when it happens stays; unknown ones are no matter."""
    desk = Desk()
    heard: list[int] = []
    fill(desk, 1, 2)
    release = desk.store.hold("GET /users/2", [("User", "2")])
    desk.store.add_listener(lambda: heard.append(1))
    desk.collect(("User", "1"), ("User", "2"), ("User", "9"), ("None", "1"), keys=("GET /users/1", "GET /users/2", "x"))
    state = desk.store.state
    assert (list(state["entities"]["User"]), list(state["entities_meta"]["User"])) == (["2"], ["2"])
    assert (list(state["endpoints"]), list(state["meta"])) == (["GET /users/2"], ["GET /users/2"])
    assert state["indexes"]["User"]["slug"] == {"s2": "2"}
    assert heard == []
    release()


# -- nothing grows -----------------------------------------------------------------------------------------------------


def test_retention_results_and_times_of_keys_are_bounded() -> None:
    """However many keys are fetched, fail or are invalidated; a key that was let go of is as never fetched."""
    desk = Desk(max_entities=50)
    fill(desk, 0)
    for number in range(2_000):
        args = {"q": number}
        match number % 4:
            case 0:
                desk.answer(bare, {"n": number}, args)
            case 1:
                desk.answer(plain, ["0"], args)
            case 2:
                desk.fail(bare, ValueError("x"), args)
            case _:
                desk.invalidate(bare, args)
    state = desk.store.state
    assert len(state["endpoints"]) <= len(state["meta"]) <= 100
    assert desk.data(bare, {"q": 1996})["n"] == 1996
    assert desk.read(bare, {"q": 0}).expiry_status is ExpiryStatus.Invalid


def _busy(desk: Desk, numbers: range) -> None:
    for number in numbers:
        args = {"id": number}
        desk.answer(Users.get, user(number), args)
        desk.answer(Articles.get, {"id": number, "author": str(number), "readers": [str(number - 1), "x"]}, args)
        desk.answer(Users.get_list, [str(number), str(number - 7)], {"page": number})
        desk.answer(plain, [str(number - 3), f"y{number}"], {"page": number})
        for back in (0, 20, 200):
            past = {"id": number - back}
            desk.read(Users.get, past)
            desk.read(Articles.get, past)
            desk.read(Users.get_list, {"page": number - back})
            desk.read(plain, {"page": number - back})
        desk.get(schema.All(User))
        if number % 5 == 0:
            fetch = desk.start(Users.partial_update, args, {"name": "opt"})
            desk.read(Users.get, args)
            desk.answer(Users.partial_update, user(number), args, {"name": "opt"}, fetch=fetch)
        if number % 11 == 0:
            desk.answer(Users.delete, str(number), args)


def test_retention_memory_is_flat_over_a_long_time() -> None:
    """Reads and writes of ever new entities and keys leave nothing behind in a bounded store."""
    desk = Desk(max_entities=50)
    for number in range(4_200):  # as many composed results as are ever kept
        desk.answer(plain, ["nobody"], {"q": number})
        desk.read(plain, {"q": number})
    blocks = []
    for start in range(0, 800, 200):
        _busy(desk, range(start, start + 200))
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert blocks[3] - blocks[2] < 1_500, blocks


# -- gc


MINUTE = 60_000


class UsersWorld(World):
    """A controller whose server knows every user."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.server.respond = self.answer

    def answer(self, request: Any) -> Answer:
        name = request.url.rpartition("/")[2]
        if name == "users":
            return Answer(json=[{"id": "1", "name": "1"}, {"id": "2", "name": "2"}])
        return Answer(json={"id": name, "name": name})

    def hold_and_drop(self, endpoint: Any = People.get, **kwargs: Any) -> None:
        with self.controller.live(endpoint, **kwargs) as live:
            next(live)

    def stored(self) -> list[str]:
        return sorted(self.store.state["entities"].get("User", {}))

    def keys(self) -> list[str]:
        return sorted(self.store.state["meta"])


@pytest.fixture
def world() -> Iterator[UsersWorld]:
    world = UsersWorld(gc=GCPolicy())
    yield world
    world.close()


def test_gc_what_was_held_and_release_is_collected_after_twice_its_lifetime_and_two_minutes(world: UsersWorld) -> None:
    world.hold_and_drop(id="1")
    world.clock.advance(5 * MINUTE - 1)
    assert world.stored() == ["1"]
    world.clock.advance(1)
    assert world.stored() == [] and world.keys() == []


def test_gc_candidate_that_is_not_old_enough_stays_one_for_the_next_sweep(world: UsersWorld) -> None:
    slow = People.get.extend(data_expiry_length=4 * MINUTE)
    world.hold_and_drop(slow, id="1")
    world.clock.advance(5 * MINUTE)
    assert world.stored() == ["1"]
    world.clock.advance(5 * MINUTE)
    assert world.stored() == []


def test_gc_what_is_held_again_at_the_sweep_is_kept(world: UsersWorld) -> None:
    world.hold_and_drop(id="1")
    with world.controller.live(People.get, id="1") as live:
        next(live)
        world.clock.advance(60 * MINUTE)
        assert world.stored() == ["1"]
    world.clock.advance(5 * MINUTE)
    assert world.stored() == []


def test_gc_entity_held_through_another_result_is_kept(world: UsersWorld) -> None:
    with world.controller.live(People.get_list) as live:
        next(live)
        world.hold_and_drop(id="1")
        world.clock.advance(60 * MINUTE)
        assert world.stored() == ["1", "2"]
        assert world.keys() == ["GET /users"]


def test_gc_what_no_one_ever_held_is_never_collected(world: UsersWorld) -> None:
    world.controller.fetch(People.get, id="1")
    world.hold_and_drop(id="2")
    world.clock.advance(60 * MINUTE)
    assert world.stored() == ["1"]


def test_gc_interval_multiplier_and_datetime_are_the_user_s() -> None:
    world = UsersWorld(gc=GCPolicy(interval=1000, expiry_multiplier=10))
    world.hold_and_drop(id="1")
    world.clock.advance(10 * MINUTE)
    assert world.stored() == ["1"]
    world.clock.advance(1001)
    assert world.stored() == []
    soon = UsersWorld(gc=GCPolicy(interval=1000, expires_at=lambda times: times.fetched_at + 500))
    soon.hold_and_drop(id="1")
    soon.clock.advance(1000)
    assert soon.stored() == []


def test_gc_pending_optimistic_actions_keep_nothing_alive(world: UsersWorld) -> None:
    users: Any = create_resource(path="/users/:id", schema=Person, optimistic=True)
    world.hold_and_drop(id="1")
    world.server.respond = lambda request: Answer(json={"id": "1", "name": "x"}, delay=100 * MINUTE)
    world.clock.start(lambda: world.controller.fetch(users.partial_update, id="1", body={"name": "x"}))
    world.clock.advance(5 * MINUTE)
    assert world.controller.cached(People.get, id="1") is None
    assert world.store.entity_meta("User", "1") is None


def test_gc_no_timer_is_set_while_there_is_nothing_to_collect() -> None:
    world = UsersWorld(gc=GCPolicy())
    world.controller.fetch(People.get, id="1")
    assert "0 timers" in repr(world.clock)
    world.hold_and_drop(id="1")
    assert "1 timers" in repr(world.clock)
    world.clock.advance(60 * MINUTE)
    assert "0 timers" in repr(world.clock)


def test_gc_without_a_policy_and_with_the_immortal_one_everything_is_kept() -> None:
    for options in ({}, {"gc": restencil.ImmortalGCPolicy()}):
        world = UsersWorld(**options)
        world.hold_and_drop(id="1")
        world.clock.advance(1000 * MINUTE)
        assert world.stored() == ["1"]


def test_gc_policy_serves_one_store_and_rejects_numbers_that_make_no_sense() -> None:
    policy = GCPolicy()
    Store(gc=policy)
    with pytest.raises(RuntimeError, match="already serves a store"):
        Store(gc=policy)
    with pytest.raises(ValueError, match="positive interval"):
        GCPolicy(interval=0)
