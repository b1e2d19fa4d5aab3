"""The default scheduler: all work that is given to it runs, whenever its idle threads end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.patience import PATIENCE, eventually

from restencil.base.scheduler import ThreadScheduler


class Brief(ThreadScheduler):
    """Its threads end at once if there is no work; work comes at the moment when the first of them wants to end."""

    idle_seconds = 0.01

    def __init__(self) -> None:
        super().__init__()
        self.late = threading.Event()
        self._is_first = True

    def dismiss(self, worker: Any) -> bool:
        if self._is_first:
            self._is_first = False
            self.spawn(self.late.set)
        return super().dismiss(worker)


@pytest.fixture
def threads() -> Iterator[int]:
    """The number of threads; no test leaves one over."""
    before = threading.active_count()
    yield before
    eventually(lambda: threading.active_count() <= before)


def test_scheduler_work_runs_that_comes_when_an_idle_thread_ends(threads: int) -> None:
    """And so does all work after it: no thread that has ended counts as idle."""
    scheduler = Brief()
    scheduler.spawn(lambda: None)
    assert scheduler.late.wait(PATIENCE)
    eventually(lambda: threading.active_count() <= threads)
    for _ in range(3):
        done = threading.Event()
        scheduler.spawn(done.set)
        assert done.wait(PATIENCE)


def test_scheduler_pieces_of_work_do_not_wait_for_each_other(threads: int) -> None:
    """Also those that an idle thread takes: each one has a thread of its own."""
    scheduler = Brief()
    scheduler.spawn(lambda: None)
    assert scheduler.late.wait(PATIENCE)
    meeting = threading.Barrier(5)
    for _ in range(4):
        scheduler.spawn(lambda: meeting.wait(PATIENCE))
    meeting.wait(PATIENCE)
