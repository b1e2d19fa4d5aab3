"""Collecting what no live read holds any more, and bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.runtime.users import User, Users
from tests.runtime.worlds import World

from restencil import GCPolicy, ImmortalGCPolicy, Store, create_resource
from restencil.testing import Answer

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

    def hold_and_drop(self, endpoint: Any = Users.get, **kwargs: Any) -> None:
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
    slow = Users.get.extend(data_expiry_length=4 * MINUTE)
    world.hold_and_drop(slow, id="1")
    world.clock.advance(5 * MINUTE)
    assert world.stored() == ["1"]
    world.clock.advance(5 * MINUTE)
    assert world.stored() == []


def test_gc_what_is_held_again_at_the_sweep_is_kept(world: UsersWorld) -> None:
    world.hold_and_drop(id="1")
    with world.controller.live(Users.get, id="1") as live:
        next(live)
        world.clock.advance(60 * MINUTE)
        assert world.stored() == ["1"]
    world.clock.advance(5 * MINUTE)
    assert world.stored() == []


def test_gc_entity_held_through_another_result_is_kept(world: UsersWorld) -> None:
    with world.controller.live(Users.get_list) as live:
        next(live)
        world.hold_and_drop(id="1")
        world.clock.advance(60 * MINUTE)
        assert world.stored() == ["1", "2"]
        assert world.keys() == ["GET /users"]


def test_gc_what_no_one_ever_held_is_never_collected(world: UsersWorld) -> None:
    world.controller.fetch(Users.get, id="1")
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
    users: Any = create_resource(path="/users/:id", schema=User, optimistic=True)
    world.hold_and_drop(id="1")
    world.server.respond = lambda request: Answer(json={"id": "1", "name": "x"}, delay=100 * MINUTE)
    world.clock.start(lambda: world.controller.fetch(users.partial_update, id="1", body={"name": "x"}))
    world.clock.advance(5 * MINUTE)
    assert world.controller.cached(Users.get, id="1") is None
    assert world.store.entity_meta("User", "1") is None


def test_gc_no_timer_is_set_while_there_is_nothing_to_collect() -> None:
    world = UsersWorld(gc=GCPolicy())
    world.controller.fetch(Users.get, id="1")
    assert "0 timers" in repr(world.clock)
    world.hold_and_drop(id="1")
    assert "1 timers" in repr(world.clock)
    world.clock.advance(60 * MINUTE)
    assert "0 timers" in repr(world.clock)


def test_gc_without_a_policy_and_with_the_immortal_one_everything_is_kept() -> None:
    for options in ({}, {"gc": ImmortalGCPolicy()}):
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
