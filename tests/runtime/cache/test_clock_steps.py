"""A clock that is set back, or far ahead: order, freshness and timers go on as if it had run all along."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.runtime.clients import Asked, as_json
from tests.runtime.doubles import Desk

from restencil import Controller, Entity, Store, create_resource
from restencil.cache.store_state import monotonic_clock

YEAR = 365 * 24 * 3_600_000.0

STEPS = pytest.mark.parametrize("step", [-YEAR, -1.0, 50 * YEAR], ids=["a year back", "a blink back", "50 years on"])


class Page(Entity, key="Page"):
    id: str = ""
    text: str = ""


Pages: Any = create_resource(url_prefix="http://case.test", path="/pages/:id", schema=Page)
ONE = {"id": "1"}


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
