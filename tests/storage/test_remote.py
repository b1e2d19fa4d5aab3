"""A storage that is far away: nothing waits for it that must not, and it shows all the same."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.storage.here import FIRST, SECOND, Articles, Here, one, titles
from tests.storages import PatientStore

from restencil import AsyncController, Store
from restencil.base.errors import StorageDown
from restencil.testing import FakeClock


class Elsewhere(Here):
    """A process whose storage is far away."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock, inline=False, poll=10)


@pytest.fixture
def here(clock: FakeClock) -> Any:
    here = Elsewhere(clock)
    yield here
    here.store.close()


def heard(store: Store, is_there: Callable[[], bool]) -> None:
    """Waits until listeners heard of something that is so."""
    event = threading.Event()
    remove = store.add_listener(event.set)
    until = time.monotonic() + PATIENCE
    while not is_there() and time.monotonic() < until:
        event.wait(0.05)
        event.clear()
    remove()
    assert is_there()


def test_remote_read_waits_for_what_is_stored(here: Elsewhere) -> None:
    """A read loads what is stored and makes no request."""
    here.other.answered(Articles.get_list, [FIRST, SECOND])
    assert titles(here.controller.read(Articles.get_list)) == ["A", "B"]
    assert here.asked == 0


def test_remote_cached_gives_nothing_for_now(here: Elsewhere) -> None:
    """`cached` never asks a remote storage: None for now, then listeners hear that it is there."""
    here.other.answered(Articles.get_list, [FIRST])
    assert here.controller.cached(Articles.get_list) is None
    heard(here.store, lambda: here.controller.cached(Articles.get_list) is not None)
    assert titles(here.controller.cached(Articles.get_list)) == ["A"]
    assert here.asked == 0


def test_remote_change_by_another_process_shows(here: Elsewhere) -> None:
    """The thread that watches the log takes in what others write."""
    here.other.answered(Articles.get, FIRST, id="1")
    here.controller.read(Articles.get, id="1")
    here.clock.advance(10)
    here.other.answered(Articles.get, {**FIRST, "title": "New"}, id="1")
    heard(here.store, lambda: one(here.controller.cached(Articles.get, id="1")).title == "New")
    assert "restencil-changes" in {thread.name for thread in threading.enumerate()}


def test_remote_loop_awaits_what_is_stored(here: Elsewhere) -> None:
    """Under asyncio a read awaits the storage, which a thread asks; `cached` and `fetch_if_stale` as ever."""
    here.other.answered(Articles.get_list, [FIRST])
    here.other.answered(Articles.get, SECOND, id="2")
    threads: list[str] = []
    load = here.storage.load

    async def main() -> None:
        storage = here.storage.another()

        def loaded(*args: Any) -> Any:
            threads.append(threading.current_thread().name)
            return type(storage).load(storage, *args)

        storage.load = loaded  # type: ignore[method-assign]  # a storage of the test's own
        store = PatientStore(clock=here.clock, storage=storage)
        async with AsyncController(store, client=here.server.async_client(), base_url="http://api.test") as controller:
            assert titles(await controller.read(Articles.get_list)) == ["A"]
            assert (await controller.fetch_if_stale(Articles.get, id="2")).title == "B"
            async with controller.live(Articles.get, id="1") as live:
                assert (await anext(live)).title == "A"
        store.close()

    asyncio.run(main())
    assert here.asked == 0 and load is not None
    assert {*threads} == {"restencil-loads"}


def test_remote_storage_that_is_down_is_no_error(here: Elsewhere) -> None:
    """Reads go on without a storage that does not answer, and it is asked three times at most."""
    asked: list[None] = []

    def down(*args: Any) -> Any:
        asked.append(None)
        raise StorageDown("nobody answers")

    storage = here.storage.another()
    storage.open = down  # type: ignore[method-assign]  # a storage of the test's own
    here.answers["/articles/1"] = FIRST
    begun = time.monotonic()
    with Store(clock=here.clock, scheduler=here.clock, storage=storage) as store:
        here.store, here.controller = store, type(here.controller)(
            store, client=here.server.client(), base_url="http://api.test"
        )
        for _ in range(5):
            assert one(here.controller.read(Articles.get, id="1")).title == "A"
        assert store.storage_stats().state == "down" and store.storage_stats().reason == "nobody answers"
        seconds = time.monotonic() - begun  # in each of which it may be asked again
        assert here.asked == 1 and len(asked) <= 4 + 2 * seconds
