"""The reducer, what a read finds and how old it is, and the manners of the store."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.clients import Asked, as_json
from tests.runtime.doubles import AnyEndpoint, Desk, same_error
from tests.runtime.users import User, Users

import restencil
from restencil import Controller, Entity, ExpiryStatus, ProcessingError, RestEndpoint, Store, create_resource, schema
from restencil.cache import policy
from restencil.cache.actions import Invalidate, InvalidateAll
from restencil.cache.policy import ABSENT, FOUND, NONE, RECORDED, SOFT, USABLE, Decision, Found, Recorded, decide
from restencil.cache.policy import BROKEN as UNUSABLE
from restencil.cache.store_state import monotonic_clock


class Article(Entity, schema={"author": User}):
    id: str = ""
    title: str = ""
    author: User = User()


Articles: Any = create_resource(path="/articles/:id", schema=Article)
bare: Any = RestEndpoint(path="/bare/:id?")

ONE = {"id": "1"}
BROKEN = restencil.NetworkError("no", status=503)


def fetched(desk: Desk) -> None:
    """Article 1 was fetched at 1000, for 60 s."""
    desk.answer(Articles.get, {"id": "1", "author": {"id": "u"}}, ONE)


# -- the reducer -------------------------------------------------------------------------------------------------------


def test_store_processing_error_is_recorded_and_raised(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Status 400, cause and response attached, key and schema named, logged; tables stay; it lives like an error."""
    fetched(desk)
    before = desk.store.state
    endpoint = Articles.get.extend(error_policy=lambda error: "soft", error_expiry_length=500)
    desk.now = 2_000
    with caplog.at_level(logging.WARNING, "restencil"), pytest.raises(ProcessingError) as caught:
        desk.answer(endpoint, {"title": "x"}, ONE)
    error = caught.value
    assert (error.status, error.response) == (400, {"title": "x"})
    assert isinstance(error.__cause__, ProcessingError)
    assert str(error).startswith("GET /articles/1: the response does not fit its schema (Entity of Article): ")
    assert caplog.messages == [
        "GET /articles/1: the response cannot be stored (ProcessingError); the raised error has the reason"
    ]
    after = desk.store.state
    assert (after["entities"], after["endpoints"]) == (before["entities"], before["endpoints"])
    reading = desk.read(endpoint, ONE)
    assert same_error(reading.raw_error, error)
    assert (reading.error, reading.expires_at) == (None, 2_500)


def test_store_set_with_a_function_of_the_previous_value(desk: Desk) -> None:
    """It gets what a read gives; without a previous value nothing happens."""
    desk.set(User, lambda user: {"id": user.id, "name": user.name + "!"}, {"id": "1"})
    assert desk.store.state["entities"] == {}
    desk.set(User, {"id": "1", "name": "Ann"})
    desk.set(User, lambda user: {"id": user.id, "name": user.name + "!"}, {"id": "1"})
    desk.set(User, lambda user: user.replace(name=user.name + "?"), {"id": "1"})
    assert desk.get(User, "1").name == "Ann!?"


def test_store_set_that_fails_leaves_the_state_and_is_logged(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Bad input raises at the caller, too."""
    with caplog.at_level(logging.ERROR, "restencil"), pytest.raises(ProcessingError, match="no usable primary key"):
        desk.set([User], [{"id": "1"}, {}])
    assert "set(User) failed; the store is unchanged" in caplog.messages
    assert desk.store.state["entities"] == {}
    with pytest.raises(TypeError, match=r"set\(\) got 5; expected a schema"):
        desk.set(5, {})


# -- the value of a fetch ----------------------------------------------------------------------------------------------


def test_store_tuples_are_lists(desk: Desk) -> None:
    """What a `process` function returns need not be a list."""
    value = desk.answer(Articles.get_list, ({"id": "1"}, {"id": "2"}))
    assert [item.id for item in value] == [item.id for item in desk.data(Articles.get_list)] == ["1", "2"]


# -- the update option -------------------------------------------------------------------------------------------------


plain_list: Any = RestEndpoint(path="/todos", schema=[User])


def updating(update: Any) -> AnyEndpoint:
    """A creation with this `update`."""
    return RestEndpoint(path="/todos", method="POST", schema=User, update=update)


def test_store_update_that_fails_is_logged_and_the_others_run(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """The response itself stays applied, whether the option or one of its functions fails."""

    def bad(ids: Any) -> Any:
        raise ValueError("bad")

    def worse(*found: Any) -> Any:
        raise ValueError("worse")

    with caplog.at_level(logging.ERROR, "restencil"):
        desk.answer(updating(lambda new, *args: {"A": bad, "B": lambda ids: [new]}), {"id": 1}, {})
        desk.answer(updating(worse), {"id": 2}, {})
    assert desk.store.state["endpoints"] == {"POST /todos": "2", "B": ["1"]}
    assert caplog.messages == [
        "POST /todos: update of A failed; the other updates still run",
        "POST /todos: update failed; the response itself stays applied",
    ]


def test_store_update_cannot_edit_what_is_stored(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """It must return new containers: the stored list is handed to it read-only."""
    desk.answer(plain_list, [{"id": "1"}])
    with caplog.at_level(logging.ERROR, "restencil"):
        desk.answer(updating(lambda new, *args: {plain_list.key(): lambda ids: ids.append(new)}), {"id": 2}, {})
    assert desk.result(plain_list) == ["1"]
    assert "read-only; copy it first" in caplog.text


# -- listeners, hooks, threads -----------------------------------------------------------------------------------------


def test_store_listeners_are_notified_of_each_change_after_it_happened(desk: Desk) -> None:
    """They may read the new state; a removed one hears nothing; collection is silent."""
    heard: list[list[str]] = []
    remove = desk.store.add_listener(lambda: heard.append(desk.pks("User")))
    desk.answer(Users.get, {"id": "1"}, ONE)
    desk.answer(Users.get, {"id": "2"}, {"id": "2"})
    desk.collect(("User", "1"))
    assert heard == [["1"], ["1", "2"]]
    remove()
    desk.reset()
    assert len(heard) == 2


def test_store_listener_may_change_the_store(desk: Desk) -> None:
    """What it does is heard after all listeners heard of the first change, in order of actions."""
    order: list[str] = []

    def first() -> None:
        order.append(f"first {len(desk.pks('User'))}")
        if len(desk.pks("User")) == 1:
            desk.answer(Users.get, {"id": "2"}, {"id": "2"})

    desk.store.add_listener(first)
    desk.store.add_listener(lambda: order.append(f"second {len(desk.pks('User'))}"))
    desk.answer(Users.get, {"id": "1"}, ONE)
    assert order == ["first 1", "second 2", "first 2", "second 2"]


def test_store_listener_that_fails_is_logged_and_the_others_run(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """The caller does not see its error."""
    heard: list[int] = []

    def bad() -> None:
        raise ValueError("bad")

    desk.store.add_listener(bad)
    desk.store.add_listener(lambda: heard.append(1))
    with caplog.at_level(logging.ERROR, "restencil"):
        desk.answer(bare, 1, {})
    assert heard == [1]
    assert "a listener of the store failed; the others still run" in caplog.messages


def test_store_listeners_run_outside_of_the_lock(desk: Desk) -> None:
    """Another thread can use the store while a listener runs."""
    found: list[Any] = []

    def listen() -> None:
        with ThreadPoolExecutor() as threads:
            found.append(threads.submit(desk.data, bare, {}).result(PATIENCE))

    desk.store.add_listener(listen)
    desk.answer(bare, 7, {})
    assert found == [7]


HOOKS = ["merge", "validate", "process", "pk", "update", "error_policy", "query", "set", "test", "optimistic"]


@pytest.mark.parametrize("where", HOOKS)
def test_store_hook_may_read_but_not_change(desk: Desk, where: str) -> None:
    """An operation that changes the store raises RuntimeError naming the hook and the operation; reads work."""
    caught: list[str] = []
    reads: list[Any] = []
    desk.answer(bare, "known", {})

    def hook_that_changes(*args: Any) -> Any:
        reads.append(desk.data(bare, {}))
        try:
            desk.store.apply(Invalidate("x"))
        except RuntimeError as error:
            caught.append(str(error))

    class Nosy(Entity):
        id: str = ""

        def pk(self) -> str:
            if where == "pk":
                hook_that_changes()
            return self.id

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any]:
            if where == "process":
                hook_that_changes()
            return {**input}

        @classmethod
        def validate(cls, record: Mapping[str, Any]) -> str | None:
            if where == "validate":
                hook_that_changes()
            return None

        @classmethod
        def merge(cls, existing: Mapping[str, Any], incoming: Mapping[str, Any]) -> Mapping[str, Any]:
            if where == "merge":
                hook_that_changes()
            return {**existing, **incoming}

    nosy: Any = RestEndpoint(
        path="/nosy/:id",
        method="PUT",
        schema=Nosy,
        update=lambda *found: (hook_that_changes() if where == "update" else None) or {},
        error_policy=lambda error: hook_that_changes() if where == "error_policy" else None,
        get_optimistic_response=lambda snapshot, *args: (hook_that_changes() if where == "optimistic" else None)
        or args[0],
    )
    for number in (1, 2):
        fetch = desk.start(nosy, {"id": "1"}, {})
        desk.read(nosy, {"id": "1"}, {})
        desk.answer(nosy, {"id": "1", "n": number}, {"id": "1"}, {}, fetch=fetch)
    desk.fail(nosy, BROKEN, {"id": "1"}, {})
    desk.get(schema.Query(Nosy, lambda found, *args: hook_that_changes() if where == "query" else found), "1")
    desk.set(Nosy, lambda found: (hook_that_changes() if where == "set" else None) or {"id": "1"}, "1")
    desk.store.apply(InvalidateAll(lambda key: bool(hook_that_changes()) if where == "test" else False))
    assert set(reads) == {"known"}
    assert set(caught) == {
        "the hook 'test_store_hook_may_read_but_not_change.<locals>.hook_that_changes' "
        "called Invalidate: a hook may read "
        "the store, but not change it or fetch; do it where the fetch was started, or in a listener"
    }
    assert desk.store.endpoint_meta("x") is None


def test_store_arguments_that_cannot_be_compared_are_read_again_each_time(desk: Desk) -> None:
    """As arrays of numbers cannot, whose comparison is no yes or no."""

    class Array:
        def __eq__(self, other: object) -> bool:
            raise ValueError("the truth value of an array is ambiguous")

        def __hash__(self) -> int:
            return 0

        def __str__(self) -> str:
            return "1"

    user: Any = RestEndpoint(path="/users/:id", schema=User)
    desk.answer(user, {"id": "1", "name": "Ann"}, {"id": "1"})
    found = [desk.store.fresh(user.request(({"id": Array()},))) for _ in range(3)]
    assert [one.name for one in found] == ["Ann"] * 3


@pytest.mark.parametrize("hook", ["error_policy", "get_optimistic_response"])
def test_store_hooks_of_endpoints_are_plain_functions(desk: Desk, hook: str, caplog: pytest.LogCaptureFixture) -> None:
    """A coroutine is closed, and a TypeError that names endpoint and hook is logged."""

    async def coroutine(*args: Any) -> Any:
        return None

    endpoint = Articles.partial_update.extend(**{hook: coroutine})
    with caplog.at_level(logging.ERROR, "restencil"):
        desk.start(endpoint, ONE, {})
        desk.data(Articles.get, ONE)
        desk.fail(endpoint, BROKEN, ONE, {})
    assert f"{hook} " in caplog.text
    assert "Article.partial_update" in caplog.text


def test_store_state_is_plain_data_of_your_own(desk: Desk) -> None:
    """It has the members of the documented shape, can be written as JSON, and changing it changes nothing."""
    fetched(desk)
    state = desk.store.state
    assert list(state) == ["entities", "entities_meta", "endpoints", "meta", "indexes", "optimistic", "last_reset"]
    json.dumps(state)
    state["entities"]["Article"].clear()
    assert desk.pks("Article") == ["1"]


def test_store_checks_its_bound() -> None:
    """A bound below one is a ValueError."""
    with pytest.raises(ValueError, match="max_entities is 0; expected a positive number, or None for no bound"):
        Store(max_entities=0)


# -- clock steps


YEAR = 365 * 24 * 3_600_000.0

STEPS = pytest.mark.parametrize("step", [-YEAR, -1.0, 50 * YEAR], ids=["a year back", "a blink back", "50 years on"])


class Page(Entity, key="Page"):
    id: str = ""
    text: str = ""


Pages: Any = create_resource(url_prefix="http://case.test", path="/pages/:id", schema=Page)


@STEPS
def test_clock_steps_nothing_is_fresh_for_ever(step: float) -> None:
    """What was fetched before or after the step is stale after its time, errors too; and the clock may step again."""
    desk = Desk(100 * YEAR)
    asked = Asked(as_json({"id": "1", "text": "a"}))
    with Controller(desk.store, client=asked.sync) as controller:
        for _ in range(3):
            controller.fetch(Pages.get, **ONE)
            controller.set_error(Pages.get, ValueError(), id="2")
            desk.now += step
            assert controller.get_response(Pages.get, **ONE).needs_fetch is (step > 0)
            desk.now += 60_002
            assert controller.get_response(Pages.get, **ONE).needs_fetch
            assert controller.get_response(Pages.get, id="2").needs_fetch
            controller.fetch(Pages.get, **ONE)
            assert not controller.get_response(Pages.get, **ONE).needs_fetch
            desk.now -= step


@pytest.fixture
def system_time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The system's clock, in seconds."""
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    return now


def test_systems_clock_may_step(system_time: list[float]) -> None:
    """The default clock is no better than one of the user's own."""
    store = Store()
    before = store.now()
    assert before == 1e12
    system_time[0] -= 1e7
    assert before < store.now() < before + 10
    system_time[0] += 5
    assert before + 5_000 < store.now() < before + 5_010
    system_time[0] += 1e9
    assert store.now() > before + 1e12 - 1e10


def test_clock_steps_read_of_another_thread_is_no_step() -> None:
    """A moment that is a little older than the last, because a thread was slow with it, does not set time ahead."""
    moments = iter([10.0, 9.9, 10.1, 10.2])
    now = monotonic_clock(lambda: next(moments))
    assert [now(), now(), now()] == [10.0, 10.1, 10.2]


# -- policy


EITHER = (False, True)
Invalid, InvalidIfStale, Valid = ExpiryStatus


def written_status(found: Found, invalidated: bool, error: Recorded, invalid_if_stale: bool) -> ExpiryStatus:
    """The rules of a status as sentences."""
    if invalidated:
        return Invalid
    if found is UNUSABLE and error is NONE:
        return Invalid
    if found in (UNUSABLE, ABSENT) or invalid_if_stale:
        return InvalidIfStale
    return Valid


def written_decision(status: ExpiryStatus, stale: bool, error: bool) -> Decision:
    """The rules of a decision as sentences."""
    fetches = stale or status is Invalid
    if fetches:
        return Decision.GIVE_AND_REFETCH if status is Valid else Decision.WAIT
    return Decision.RAISE if error else Decision.GIVE


def test_policy_tables_say_what_the_sentences_say() -> None:
    """For all combinations of facts."""
    for facts in product(FOUND, EITHER, RECORDED, EITHER, EITHER):
        found, _, error, _, stale = facts
        shown = error is not NONE and not (error is SOFT and found is USABLE)
        status = written_status(*facts[:4])
        assert decide(*facts) == (status, shown, written_decision(status, stale, shown)), facts


@pytest.mark.parametrize("name", ["OLD_ROWS", "RECORDED_ROWS", "STATUS_ROWS", "ERROR_ROWS", "DECISION_ROWS"])
def test_policy_each_row_decides_something(name: str) -> None:
    """There is a combination of facts for which it is the first that fits."""
    taken: set[Any] = set()
    rows: Any = getattr(policy, name)
    for *sets, outcome in rows:
        own = set(product(*sets)) - taken
        assert own, (sets, outcome)
        taken |= own
