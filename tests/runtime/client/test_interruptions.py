"""An interruption at any call of the library: an action is whole or not there, and nothing is left behind.

A trace function counts the calls of functions of the library, and raises at the n-th. Then the store, another thread
and the next call are compared with those of a store that nothing disturbed.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any, Final

import pytest
from tests.libraries import httpx
from tests.patience import elsewhere
from tests.runtime.clients import Asked, as_json

import restencil
from restencil import AsyncController, Controller, Entity, Store, create_resource

# A strike may hit a generator that is being thrown away, or a coroutine before its first step: nothing comes of that.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning"),
]


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left_for_other_tests() -> Iterator[None]:
    """What strikes have left is thrown away here, where that may warn."""
    yield
    gc.collect()


LIBRARY: Final = os.path.dirname(restencil.__file__) + os.sep
FIRST: Final = {"id": "1"}
STRIDE: Final = 11
"""In the tests of every day each so many-th call; another rest for each operation."""


class Team(Entity, key="Team"):
    id: str = ""
    title: str = ""


class Player(Entity, key="Player"):
    id: str = ""
    name: str = ""
    team: Team | None = None
    schema = {"team": Team}


Players: Any = create_resource(url_prefix="http://case.test", path="/players/:id", schema=Player, optimistic=True)
Slow: Any = Players.get.extend(retries=1)


class Strike(BaseException):
    """The interruption."""


def _player(number: Any, name: str = "Ann") -> dict[str, Any]:
    return {"id": str(number), "name": name, "team": {"id": "t", "title": "Reds"}}


def _respond(request: httpx.Request) -> httpx.Response:
    place = request.url.path.rpartition("/")[2]
    if request.method == "POST":
        return as_json(_player(9, "New"), 201)
    if request.method == "PATCH":
        return as_json(_player(place, "Changed"))
    if request.method == "DELETE":
        return httpx.Response(204)
    return as_json([_player(1), _player(2)] if place == "players" else _player(place, "Fetched"))


Operation = Callable[[Any], Any]

OPERATIONS: Final[dict[str, Operation]] = {
    "fetch": lambda controller: controller.fetch(Players.get, FIRST),
    "fetch a list": lambda controller: controller.fetch(Players.get_list),
    "fetch with retries": lambda controller: controller.fetch(Slow, FIRST),
    "change": lambda controller: controller.fetch(Players.partial_update, FIRST, {"name": "Changed"}),
    "create": lambda controller: controller.fetch(Players.create, {"name": "New"}),
    "delete": lambda controller: controller.fetch(Players.delete, FIRST),
    "read what is there": lambda controller: controller.read(Players.get_list),
    "read what is not": lambda controller: controller.read(Players.get, {"id": "5"}),
}
AT_ONCE: Final[dict[str, Operation]] = {
    "push": lambda controller: controller.set_response(Players.get_list.push, _player(9), {"name": "New"}),
    "set": lambda controller: controller.set(Player, {"id": "1", "name": "Set"}, FIRST),
    "set an error": lambda controller: controller.set_error(Players.get, ValueError("no"), FIRST),
    "invalidate": lambda controller: controller.invalidate(Players.get_list),
    "invalidate all": lambda controller: controller.invalidate_all(Players.get_list),
    "expire": lambda controller: controller.expire_all(lambda key: True),
    "reset": lambda controller: controller.reset_entire_store(),
}


class Scene:
    """A store that holds some players, a controller, and a listener."""

    def __init__(self, world: str = "sync", *, bounded: bool = False) -> None:
        self.store = Store(clock=lambda: 1e6, max_entities=4 if bounded else None)
        self.asked = Asked(_respond)
        self.world, self.bounded = world, bounded
        self.controller: Any
        self.controller = (
            Controller(self.store, client=self.asked.sync)
            if world == "sync"
            else AsyncController(self.store, client=self.asked.asynchronous)
        )
        self.heard = 0
        self.controller.set_response(Players.get_list, [_player(1), _player(2)])
        self.controller.set_response(Players.get, _player(1), FIRST)
        self.shown()
        self.controller.add_listener(self._hear)

    def _hear(self) -> None:
        self.heard += 1

    def do(self, operation: Operation) -> Any:
        """The operation, to its end."""
        if self.world == "sync" or operation in AT_ONCE.values():
            return operation(self.controller)

        async def run() -> Any:
            try:
                return await operation(self.controller)
            finally:
                sys.settrace(None)

        return asyncio.run(run())

    def holds(self) -> Any:
        """What is stored, but for ids that count up."""
        state = self.store.state
        return {name: state[name] for name in ("entities", "endpoints", "indexes", "optimistic")}

    def shown(self) -> Any:
        """What reads show."""
        reads = [(Players.get_list, ()), (Players.get, (FIRST,)), (Players.get, ({"id": "5"},))]
        found = [self.controller.get_response(endpoint, *args) for endpoint, args in reads]
        return [(repr(one.data), one.found, one.expires_at > 1, repr(one.raw_error)) for one in found]


class _Tracer:
    """Counts calls of functions of the library in this thread, and raises at one of them."""

    def __init__(self, at: int) -> None:
        self.count = 0
        self._at = at

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(LIBRARY):
            self.count += 1
            if self.count == self._at:
                sys.settrace(None)
                raise Strike


def _struck(scene: Scene, operation: Operation, at: int) -> tuple[int, Any]:
    """Does the operation, struck at a call; how many calls there were, and what it raised or gave."""
    tracer = _Tracer(at)
    sys.settrace(tracer)
    try:
        outcome = scene.do(operation)
    except BaseException as error:
        outcome = error
    finally:
        sys.settrace(None)
    return tracer.count, outcome


def _sweep(operation: Operation, world: str, stride: int, *, bounded: bool = False) -> None:
    logging.disable(logging.CRITICAL)
    try:
        for _ in range(3):  # what is made at first use is made
            Scene(world, bounded=bounded).do(operation)
        calm = Scene(world, bounded=bounded)
        before = calm.holds(), calm.shown()
        total, _ = _struck(calm, operation, -1)
        after = calm.holds(), calm.shown()
        given = repr(calm.do(operation))
        later = calm.holds(), calm.shown()
        assert total > 10
        for at in range(1 + total % stride, total + 1, stride):
            _check(operation, at, Scene(world, bounded=bounded), [before, after], given, later)
    finally:
        logging.disable(logging.NOTSET)


def _markers() -> dict[str, Any]:
    """What the library has noted of this thread, where it notes anything."""
    noted = copy_context().items()
    mine = {variable.name: value for variable, value in noted if variable.name.startswith("restencil_")}
    return {name: value for name, value in mine.items() if value is not None and value is not False}


def _check(operation: Operation, at: int, scene: Scene, whole: list[Any], given: str, later: Any) -> None:
    marked = _markers()
    _, outcome = _struck(scene, operation, at)
    store, told = scene.store, f"struck at call {at}: {outcome!r}"
    in_flight = store.in_flight
    assert not (in_flight.by_id or in_flight.joinable or in_flight.mutations), f"{told}: a request is left in flight"
    assert _markers() == marked, f"{told}: a marker is left"
    assert not store.state["optimistic"], f"{told}: an optimistic update stays"
    assert (scene.holds(), scene.shown()) in whole, f"{told}: half of an action is there"
    heard = scene.heard
    elsewhere(lambda: scene.controller.set_response(Players.get, _player(7), {"id": "7"}))
    assert scene.heard > heard, f"{told}: listeners are not told any more"
    if isinstance(outcome, BaseException):
        assert not isinstance(outcome, (AssertionError, RuntimeError)), told
    _again(operation, at, Scene(scene.world, bounded=scene.bounded), given, later)


def _again(operation: Operation, at: int, scene: Scene, given: str, later: Any) -> None:
    """Another thread, and this one, go on as if nothing had been."""
    _struck(scene, operation, at)
    found = elsewhere(lambda: scene.do(operation))
    assert not isinstance(found, BaseException), f"struck at call {at}: another thread gets {found!r}"
    again = scene.do(operation)
    assert repr(again) == given, f"struck at call {at}: the next call gives {again!r}, expected {given}"
    assert (scene.holds(), scene.shown()) == later, f"struck at call {at}: the next call leaves something else"


EACH: Final = [
    *((name, world) for name in OPERATIONS for world in ("sync", "asyncio")),
    *((n, "sync") for n in AT_ONCE),
]


@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.slow)], ids=["some calls", "each call"])
@pytest.mark.parametrize(("name", "world"), EACH)
def test_interruption_leaves_nothing_behind(name: str, world: str, stride: int) -> None:
    """Neither at some calls, nor at each."""
    _sweep({**OPERATIONS, **AT_ONCE}[name], world, stride)


@pytest.mark.parametrize("name", ["fetch a list", "create", "push", "read what is not"])
def test_interruption_of_letting_go_leaves_nothing_behind(name: str) -> None:
    """In a store that is full."""
    _sweep({**OPERATIONS, **AT_ONCE}[name], "sync", STRIDE, bounded=True)


INTERRUPTIONS: Final = [KeyboardInterrupt, asyncio.CancelledError]


@pytest.mark.parametrize("kind", INTERRUPTIONS)
@pytest.mark.parametrize("hook", ["process", "get_optimistic_response", "update", "get_headers", "merge", "listener"])
def test_interruptions_hooks_and_listeners_may_end_a_thread(hook: str, kind: type[BaseException]) -> None:
    """What a hook or a listener raises comes out; then all goes on, and nothing stays."""
    armed = True

    def strike(*args: Any, **kwargs: Any) -> Any:
        nonlocal armed
        if armed:
            armed = False
            raise kind
        return {} if hook in ("update", "get_headers") else args[-1] if hook == "merge" else args[0]

    class Merged(Player, key="Player"):
        @classmethod
        def merge(cls, existing: Any, incoming: Any) -> Any:
            return strike(existing, incoming) if hook == "merge" else {**existing, **incoming}

    options: dict[str, Any] = {}
    if hook == "get_optimistic_response":
        options[hook] = lambda snapshot, params, body: strike({**params, **body})
    elif hook not in ("merge", "listener"):
        options[hook] = strike
    change = Players.partial_update.extend(schema=Merged, **options)
    store = Store()
    heard: list[int] = []
    with Controller(store, client=Asked(_respond).sync) as controller:
        controller.set_response(Players.get, _player(1), FIRST)
        if hook == "listener":
            controller.add_listener(strike)
        controller.add_listener(lambda: heard.append(len(repr(controller.cached(Players.get, FIRST)))))
        caught: BaseException | None = None
        try:
            controller.fetch(change, FIRST, {"name": "Changed"})
        except BaseException as error:
            caught = error
        assert isinstance(caught, kind)
        assert not (store.state["optimistic"] or store.in_flight.by_id or store.in_flight.mutations)
        assert hook != "listener" or heard
        assert controller.fetch(change, FIRST, {"name": "Changed"}).name == "Changed"
        assert elsewhere(lambda: controller.fetch(Players.get, FIRST)).name == "Fetched"
