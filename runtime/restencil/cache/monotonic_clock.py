"""The store's time: a clock's, but for its steps back.

The order of events, their expiry and the due times of timers are moments of one time. Were it to go back
(a clock is set right, a machine wakes up with a wrong one), later answers would lose against earlier ones, and what
was fetched would stay fresh until the clock has made up for its step.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def monotonic_clock(clock: Callable[[], float] | None) -> Callable[[], float]:
    """The time (ms) of a clock, by default the system's, that never goes back.

    It runs as the clock does, and jumps forward with it. After a step back it goes on from where it was.
    """
    lock = threading.Lock()
    unit: float = 1
    if clock is None:
        clock, unit = time.time, 1000
    latest: float | None = None
    ahead: float = 0

    def now() -> float:
        nonlocal latest
        moment = clock() * unit + ahead
        if latest is not None and moment < latest:
            return after_a_step()
        latest = moment
        return moment

    def after_a_step() -> float:
        nonlocal latest, ahead
        with lock:  # another thread may only have looked in between
            moment = clock() * unit + ahead
            if latest is not None and moment < latest:
                ahead += latest + 1 - moment  # what begins after the step is later than what began before it
                moment = latest + 1
            latest = moment
            return moment

    return now
