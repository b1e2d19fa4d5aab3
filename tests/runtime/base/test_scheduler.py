"""The default scheduler: each piece of work has a thread of its own."""

from __future__ import annotations

import threading

from tests.patience import PATIENCE, eventually

from restencil.base.scheduler import ThreadScheduler


def test_scheduler_pieces_of_work_do_not_wait_for_each_other() -> None:
    """Each one has a thread, which ends with it."""
    before = threading.active_count()
    scheduler = ThreadScheduler()
    meeting = threading.Barrier(5)
    for _ in range(4):
        scheduler.spawn(lambda: meeting.wait(PATIENCE))
    meeting.wait(PATIENCE)
    eventually(lambda: threading.active_count() <= before)
