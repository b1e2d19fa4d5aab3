"""The testing kit itself: virtual time, the mock server, the pytest plugin."""

from __future__ import annotations

import asyncio
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import python
from tests.runtime.users import Users

import restencil
from restencil import AbortError, AsyncController, Controller, Entity, NetworkError, ProcessingError, create_resource
from restencil.testing import Answer, FakeClock, Fixture, MockServer, NetworkDown


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    clock = FakeClock(start=1000)
    yield clock
    clock.close()


def test_testing_timers_fire_in_order_each_at_its_own_time(clock: FakeClock) -> None:
    fired: list[tuple[str, float]] = []
    for name, delay in (("c", 30), ("a", 10), ("b", 10), ("late", 31)):
        clock.call_later(delay, lambda name=name: fired.append((name, clock())))  # type: ignore[misc]
    clock.call_later(20, lambda: clock.call_later(5, lambda: fired.append(("nested", clock()))))
    clock.call_later(15, lambda: fired.append(("cancelled", 0))).cancel()
    clock.advance(30)
    assert fired == [("a", 1010), ("b", 1010), ("nested", 1025), ("c", 1030)]
    assert clock() == 1030


@pytest.mark.parametrize("start", [0, 1, -5, float("nan")])
def test_testing_time_does_not_begin_before_what_is_stale(start: float) -> None:
    """A store at the time 0 would take what it never had for fresh."""
    with pytest.raises(ValueError, match="start is .*; expected 2 or more"):
        FakeClock(start)


def test_testing_threads_and_tasks_wait_in_one_time(clock: FakeClock) -> None:
    order: list[tuple[str, float]] = []

    def thread() -> None:
        clock.sleep(20)
        order.append(("thread", clock()))
        clock.sleep(20)
        order.append(("thread", clock()))

    async def task() -> None:
        await asyncio.sleep(0.030)
        order.append(("task", clock()))

    tasks = [clock.start(thread), clock.start(task), clock.start(task())]
    clock.settle()
    assert order == [] and {task.state for task in tasks} == {"pending"}
    clock.advance(40)
    assert order == [("thread", 1020), ("task", 1030), ("task", 1030), ("thread", 1040)]
    assert {task.state for task in tasks} == {"resolved"}


def test_testing_run_jumps_to_what_is_due_and_gives_value_or_error(clock: FakeClock) -> None:
    async def later() -> str:
        await asyncio.sleep(3600)
        return "done"

    assert clock.run(later) == "done" and clock() == 3_601_000

    def fail() -> None:
        clock.sleep(5)
        raise KeyError("x")

    with pytest.raises(KeyError):
        clock.run(fail)


def test_testing_waiting_for_what_will_never_come_is_an_error_not_a_hang(clock: FakeClock) -> None:
    with pytest.raises(RuntimeError, match="waits for an event that will never happen"):
        clock.run(lambda: clock.wait(threading.Event()))
    assert not clock.wait(threading.Event(), 50)
    assert clock() == 1050


@pytest.mark.parametrize("method", ["advance", "settle", "run", "close"])
def test_testing_thread_of_the_clock_cannot_move_it_and_is_reported_to_sleep(clock: FakeClock, method: str) -> None:
    """The clock would wait for the thread, and the thread for the clock."""
    moves: dict[str, Any] = {
        "advance": lambda: clock.advance(10),
        "settle": clock.settle,
        "run": lambda: clock.run(lambda: 1),
        "close": clock.close,
    }
    with pytest.raises(RuntimeError, match=r"one of the clock's own: .*let time pass here with clock\.sleep\(delay\)"):
        clock.run(moves[method])
    clock.run(lambda: clock.sleep(10))
    assert clock() == 1010


def test_testing_clock_may_be_moved_by_a_thread_of_another_clock(clock: FakeClock) -> None:
    other = FakeClock(start=5)
    clock.run(lambda: other.advance(10))
    assert other() == 15
    other.close()


def test_testing_response_that_moves_the_clock_fails_with_that_text(clock: FakeClock) -> None:
    """An answer is made in the thread that asks: in one of the clock, it takes its time by sleeping."""

    def respond(request: Any) -> Answer:
        clock.advance(10)
        return Answer(json={"id": "1"})

    client = MockServer(clock, respond=respond).client()
    with Controller(clock.store(), client=client, base_url="http://mock") as controller:
        with pytest.raises(Exception, match=r"clock\.sleep\(delay\)"):
            clock.run(lambda: controller.fetch(Users.get, id="1"))


def test_testing_asyncio_timeouts_are_in_virtual_time(clock: FakeClock) -> None:
    async def impatient() -> str:
        try:
            async with asyncio.timeout(10):
                await asyncio.sleep(60)
        except TimeoutError:
            return f"gave up at {clock()}"
        return "no timeout"

    assert clock.run(impatient) == "gave up at 11000.0"


def test_testing_task_that_is_pending_has_no_result(clock: FakeClock) -> None:
    task = clock.start(lambda: clock.sleep(10))
    with pytest.raises(RuntimeError, match="advance the clock"):
        task.result()
    assert repr(task) == "<Task pending>"


def test_testing_closing_the_clock_ends_what_still_waits(clock: FakeClock) -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("task")

    def blocked() -> None:
        try:
            clock.wait(threading.Event())
        finally:
            ended.append("thread")

    clock.start(forever)
    clock.start(blocked)
    clock.settle()
    before = threading.active_count()
    clock.close()
    assert sorted(ended) == ["task", "thread"]
    assert threading.active_count() <= before


def test_testing_read_in_the_test_s_own_thread_takes_no_real_time(clock: FakeClock) -> None:
    server = MockServer(clock, [Fixture(Users.get, ({"id": "1"},), {"id": "1", "name": "Ann"}, delay=5000)])
    with Controller(clock.store(), client=server.client(), base_url="http://mock") as controller:
        assert controller.read(Users.get, id="1").name == "Ann"
    assert clock() == 6000


def test_testing_fixtures_give_their_answers_in_turn_and_the_last_one_repeats(clock: FakeClock) -> None:
    server = MockServer(clock)
    server.on(Users.get, response={"id": "1", "name": "a"}, id="1")
    server.on(Users.get, response={"id": "1", "name": "b"}, id="1")
    with Controller(clock.store(), client=server.client(), base_url="http://mock") as controller:
        assert [controller.fetch(Users.get, id="1").name for _ in range(3)] == ["a", "b", "b"]
    assert [(request.method, request.url) for request in server.requests] == [("GET", "http://mock/users/1")] * 3


def test_testing_fixtures_may_represent_any_arguments_be_functions_and_be_errors(clock: FakeClock) -> None:
    server = MockServer(
        clock,
        [
            Fixture(Users.get, ({"id": "down"},), error=NetworkDown()),
            Fixture(Users.get, ({"id": "gone"},), error=NetworkError("gone", status=410)),
            Fixture(Users.get, ({"id": "teapot"},), error=418),
            Fixture(Users.get, None, lambda request: {"id": request.url.rpartition("/")[2]}),
            Fixture(Users.get_list, (), Answer(text="[]", headers={"Content-Type": "application/json"})),
            Fixture(Users.delete, ({"id": "1"},)),
        ],
    )
    with Controller(clock.store(), client=server.client(), base_url="http://mock") as controller:
        assert controller.fetch(Users.get, id="any").id == "any"
        assert controller.fetch(Users.get_list) == []
        assert controller.fetch(Users.delete, id="1") is None
        for name, status in (("down", 500), ("gone", 410), ("teapot", 418)):
            with pytest.raises(NetworkError) as caught:
                controller.fetch(Users.get, id=name)
            assert caught.value.status == status
        with pytest.raises(NetworkError) as caught:
            controller.fetch(Users.update, id="1", body={})
    assert caught.value.status == 404 and caught.value.response is not None
    assert "no fixture for PUT" in caught.value.response.text


def test_testing_mock_server_works_in_real_time_as_well() -> None:
    server = MockServer(fixtures=[Fixture(Users.get, None, {"id": "1"}, delay=1)])
    with Controller(client=server.client(), base_url="http://mock") as controller:
        assert controller.read(Users.get, id="1").id == "1"

    async def main() -> None:
        async with AsyncController(client=server.async_client(), base_url="http://mock") as controller:
            assert (await controller.read(Users.get, id="1")).id == "1"

    asyncio.run(main())
    assert len(server.requests) == 2


def test_testing_request_that_can_be_aborted_is_in_virtual_time_as_well(clock: FakeClock, asynchronous: bool) -> None:
    server = MockServer(clock, respond=lambda request: Answer(json={"id": "1", "name": "Ann"}, delay=50))
    controller: Any
    if asynchronous:
        controller = AsyncController(clock.store(), client=server.async_client(), base_url="http://mock")
    else:
        controller = Controller(clock.store(), client=server.client(), base_url="http://mock")
    abort = restencil.AbortController()
    get = Users.get.extend(signal=abort.signal)
    assert clock.run(lambda: controller.read(get, id="1")).name == "Ann"
    assert clock() == 1050
    task: Any = clock.start(lambda: controller.fetch(get, id="1"))
    clock.advance(10)
    assert not task.done
    clock.call(abort.abort)
    clock.settle()
    with pytest.raises(AbortError):
        task.result()


def test_testing_same_steps_give_the_same_order_every_time() -> None:
    def history() -> list[str]:
        clock = FakeClock()
        server = MockServer(
            clock, respond=lambda request: Answer(json={"id": request.url[-1]}, delay=int(request.url[-1]))
        )
        store = clock.store()
        sync = Controller(store, client=server.client(), base_url="http://mock")
        other = AsyncController(store, client=server.async_client(), base_url="http://mock")
        seen: list[str] = []
        store.add_listener(lambda: seen.append(f"{clock()} {sorted(store.state['endpoints'])}"))
        for number in range(9):
            controller: Any = (sync, other)[number % 2]
            clock.start(lambda c=controller, n=number: c.fetch(Users.get, id=str(n)))  # type: ignore[misc]
        clock.advance(20)
        clock.run(other.aclose)
        clock.close()
        return seen

    first = history()
    assert len(first) == 9 and all(history() == first for _ in range(5))


def test_testing_plugin_s_fixtures_drive_controllers_of_both_kinds(tmp_path: Path) -> None:
    (tmp_path / "test_user.py").write_text(textwrap.dedent("""
            import asyncio
            from restencil import Entity, create_resource

            class User(Entity, key="User"):
                id: str = ""

            Users = create_resource(path="/users/:id", schema=User)

            def test_sync(restencil_controller, restencil_server, restencil_clock):
                restencil_server.on(Users.get, response={"id": "1"}, delay=150, id="1")
                assert restencil_controller.read(Users.get, id="1").id == "1"
                assert restencil_clock() == 1_000_150

            async def test_async(restencil_async_controller, restencil_server, restencil_clock):
                restencil_server.on(Users.get, response={"id": "1"}, delay=150, id="1")
                await asyncio.sleep(3600)
                assert (await restencil_async_controller.read(Users.get, id="1")).id == "1"
                assert restencil_clock() == 1_000_000 + 3_600_150

            def test_they_share_a_store(restencil_controller, restencil_async_controller, restencil_store):
                assert restencil_controller.store is restencil_async_controller.store is restencil_store
            """))
    run = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path), cwd=tmp_path)
    assert run.returncode == 0 and "3 passed" in run.stdout, run.stdout + run.stderr


def test_testing_store_of_the_kit_rejects_what_does_not_fit(clock: FakeClock) -> None:
    """A double that answers another kind than is declared is a mistake of the test; `validate="off"` takes it."""

    class Measured(Entity, key="MeasuredByTheKit"):
        id: int = 0
        size: int = 0

    read: Any = create_resource(path="/measured/:id", schema=Measured).get
    with Controller(clock.store(), base_url="http://mock") as strict:
        with pytest.raises(ProcessingError, match=r'\$\.size is "big", expected an integer'):
            strict.set_response(read, {"id": 1, "size": "big"}, {"id": 1})
    with Controller(clock.store(validate="off"), base_url="http://mock") as lax:
        lax.set_response(read, {"id": 1, "size": "big"}, {"id": 1})
        taken: Any = lax.cached(read, id=1)
        assert taken.size == "big"
