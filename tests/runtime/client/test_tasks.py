"""Tasks whose first step is taken at once: to everyone who looks at them they are tasks like all others."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from restencil.client.tasks import is_alone, start_task

Task = asyncio.Task[Any]
_place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="outside")


def within_a_loop(test: Callable[[], Awaitable[None]]) -> None:
    """Runs it with asyncio, any warning about a task left behind being an error."""
    problems: list[dict[str, Any]] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
        await test()

    asyncio.run(main())
    assert problems == []


def started(work: Any) -> Task | None:
    """The task, None where it is over."""
    return start_task(work, asyncio.get_running_loop())


def test_what_does_not_wait_is_over_at_once() -> None:
    """Without a turn of the loop, and without a trace in it."""

    async def test() -> None:
        done: list[str] = []

        async def work() -> None:
            done.append("work")

        here = asyncio.current_task()
        assert started(work()) is None
        assert done == ["work"] and asyncio.current_task() is here and asyncio.all_tasks() == {here}

    within_a_loop(test)


def test_what_waits_goes_on_as_one_task() -> None:
    """The current task and the context are the same in all steps, and not those of the one who started it."""

    async def test() -> None:
        seen: list[Any] = []

        async def work() -> None:
            seen.append(asyncio.current_task())
            _place.set("inside")
            await asyncio.sleep(0)
            seen.append(asyncio.current_task())
            await asyncio.sleep(0.001)
            seen.extend((asyncio.current_task(), _place.get()))

        task = started(work())
        assert task is not None and task in asyncio.all_tasks()
        await task
        assert seen == [task, task, task, "inside"] and _place.get() == "outside"
        assert task is not asyncio.current_task()

    within_a_loop(test)


@pytest.mark.parametrize("turns", [0, 1])
def test_it_can_be_cancelled_at_any_moment(turns: int) -> None:
    """Before the loop has seen it too: the coroutine hears of it where it waits, and what it waits for is given up."""

    async def test() -> None:
        heard: list[str] = []
        answer = asyncio.get_running_loop().create_future()

        async def work() -> None:
            try:
                await answer
            except asyncio.CancelledError:
                heard.append("cancelled")
                raise

        task = started(work())
        assert task is not None
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert heard == ["cancelled"] and answer.cancelled() and task.cancelled()

    within_a_loop(test)


def test_scopes_of_anyio_and_asyncio_may_span_its_steps() -> None:
    """They remember the task that entered them: connection pools depend on it."""

    async def test() -> None:
        heard: list[str] = []

        async def work() -> None:
            with anyio.CancelScope(), anyio.move_on_after(60):
                await asyncio.sleep(0)
            async with asyncio.timeout(60):
                await asyncio.sleep(0)
            with anyio.move_on_after(0.001):
                await asyncio.sleep(60)
            try:
                async with asyncio.timeout(0.001):
                    await asyncio.sleep(60)
            except TimeoutError:
                heard.append("timeout")

        task = started(work())
        assert task is not None
        await task
        assert heard == ["timeout"]

    within_a_loop(test)


def test_a_timeout_may_be_entered_before_anything_else() -> None:
    """asyncio asks the current task how often it was cancelled."""

    async def test() -> None:
        async def work() -> None:
            async with asyncio.timeout(0.001):
                await asyncio.sleep(60)

        task = started(work())
        assert task is not None
        with pytest.raises(TimeoutError):
            await task

    within_a_loop(test)


def test_its_first_step_may_ask_the_current_task_for_anything() -> None:
    """Names, texts, callbacks; also where nothing follows that step."""

    async def test() -> None:
        called: list[Any] = []

        async def work(*, waits: bool) -> None:
            task = asyncio.current_task()
            assert task is not None
            assert task.get_name() in repr(task) and not task.done() and not task.cancelled()
            task.add_done_callback(called.append)
            if waits:
                await asyncio.sleep(0)

        assert started(work(waits=False)) is None
        assert started(work(waits=True)) is not None
        while len(called) < 2:
            await asyncio.sleep(0)
        assert all(task.done() and not task.cancelled() for task in called)

    within_a_loop(test)


def test_one_who_kept_the_task_finds_it_done() -> None:
    """Also where it was over before anyone wanted more of it than to know which one it is."""

    async def test() -> None:
        kept: list[Any] = []

        async def work() -> None:
            kept.append(asyncio.current_task())

        assert started(work()) is None
        kept[0].get_name()
        await asyncio.sleep(0)
        assert kept[0].done() and not kept[0].cancelled()

    within_a_loop(test)


def test_it_may_cancel_itself_in_its_first_step() -> None:
    """As every task: the next time that it waits, it is cancelled."""

    async def test() -> None:
        async def work() -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(60)

        task = started(work())
        assert task is not None
        with pytest.raises(asyncio.CancelledError):
            await task

    within_a_loop(test)


def test_the_loop_s_own_kind_of_task_is_respected() -> None:
    """A task factory sees every request; its tasks begin in the next turn."""

    async def test() -> None:
        made: list[Task] = []

        def factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Task:
            made.append(asyncio.Task(work, loop=loop, **options))
            return made[-1]

        async def work() -> None:
            return None

        loop = asyncio.get_running_loop()
        loop.set_task_factory(factory)
        task = started(work())
        loop.set_task_factory(None)
        assert made == [task] and task is not None and not task.done()
        await task

    within_a_loop(test)


def test_a_loop_is_alone_while_nothing_waits_for_its_turn() -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        assert is_alone(loop)
        loop.call_soon(lambda: None)
        assert not is_alone(loop)
        await asyncio.sleep(0)
        assert is_alone(loop)

    within_a_loop(test)
