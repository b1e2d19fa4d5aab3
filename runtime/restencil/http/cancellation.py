"""Cancelling a request without harm to the connection pool (§9.6).

A cancelled task gets its error wherever it waits at that moment, also inside httpcore's own book-keeping: when a full
pool has given the request a connection of which it does not know yet, before the first byte of a new connection, or
while an answer is put away. There httpcore loses the connection for ever. So a request over a pool is cancelled only
where it waits for the network, which its connection tells (httpx's `trace` extension); elsewhere it goes on to the next
such place and gives up there by itself.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final, Protocol

from ..base.lazy import asyncio

#: A request that need not queue lets its connection tell something within a few rounds of the loop. A transport of
#: which nothing was heard after so many has no pool (it answers from memory, say): its requests are simply cancelled.
ROUNDS: Final = 20


class Traced(Protocol):
    """A transport; `traces` says whether its connections tell what they do, as those of a pool do."""

    traces: bool


class Guard:
    """Stands between the one who cancels a task and the request that the task runs."""

    # Set where they differ from this: a guard is made for every fetch, and seldom has anything to do.
    _owner: Traced | None = None
    _transport: Traced | None = None
    _interruptible = False
    _cancelled = False

    def cancel(self, task: asyncio.Task[Any], rounds: int = ROUNDS) -> None:
        """Cancels the task, at once or as soon as that does no harm. Called in the task's own loop."""
        transport = self._transport
        if transport is None or self._interruptible:
            task.cancel()
        elif transport.traces:
            self._cancelled = True
        elif rounds:
            task.get_loop().call_soon(self.cancel, task, rounds - 1)
        else:
            task.cancel()

    def enter(self, transport: Traced, extensions: dict[str, Any]) -> None:
        """A request is about to be sent; its connection will tell what it does through `extensions`."""
        extensions["trace"] = self
        self._owner = self._transport = transport

    async def __call__(self, event: str, info: Any) -> None:
        """The connection tells what it does (httpx's `trace` extension)."""
        if self._owner is not None:
            self._owner.traces = True
        self._interruptible = event.endswith(".started") and not event.endswith("response_closed.started")
        if self._interruptible:
            self._give_up()

    def leave(self) -> None:
        """The request is over. Raises CancelledError where it was cancelled and had no occasion to give up."""
        self._transport = None
        self._interruptible = False
        if self._cancelled:
            self._give_up()

    def _give_up(self) -> None:
        if self._cancelled:
            self._cancelled = False
            raise asyncio.CancelledError


_guard: Final[ContextVar[Guard | None]] = ContextVar("restencil_guard", default=None)


def current_guard() -> Guard | None:
    """The guard of the task that runs now, if it has one."""
    return _guard.get()


def guarded() -> Guard:
    """A guard of the requests that this task makes from now on."""
    guard = Guard()
    _guard.set(guard)
    return guard
