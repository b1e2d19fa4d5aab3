"""Cancelling a request without harm to the connection pool.

A cancelled task gets its error wherever it waits at that moment, also inside the bookkeeping of the pool: after a full
pool assigned a connection to the request, before the first byte of a new connection, or while a response is closed.
There the pool loses the connection for ever. So a request over a pool is cancelled only where it waits for the network,
which its connection reports (the `trace` extension); elsewhere it continues to the next such place and ends there.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from ..base.lazy_imports import asyncio
from ..base.transport import AwaitingTransport

#: A request that need not queue gets a report of its connection within a few rounds of the loop. A transport without
#: any after so many has no pool (it responds from memory, say): its requests are simply cancelled.
ROUNDS: Final = 20


class TracedTransport(AwaitingTransport):
    """A transport that knows whether its connections report what they do (`traces`), as those of a pool do."""

    traces = False


class Cancellation:
    """Cancels a task at a moment at which its request can be cancelled without harm."""

    # Class attributes, as one is made for every fetch and most stay unused ("fetch through the cache, async").
    _owner: TracedTransport | None = None
    _transport: TracedTransport | None = None
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

    def enter(self, transport: TracedTransport, extensions: dict[str, Any]) -> None:
        """Called before a request is sent; its connection reports what it does through `extensions`."""
        extensions["trace"] = self
        self._owner = self._transport = transport

    async def __call__(self, event: str, info: Any) -> None:
        """Called by the connection for each of its events (the `trace` extension)."""
        if self._owner is not None:
            self._owner.traces = True
        self._interruptible = event.endswith(".started") and not event.endswith("response_closed.started")
        if self._interruptible:
            self._give_up()

    def leave(self) -> None:
        """Called when the request has ended. Raises CancelledError where it was cancelled and could not end earlier."""
        self._transport = None
        self._interruptible = False
        if self._cancelled:
            self._give_up()

    def _give_up(self) -> None:
        if self._cancelled:
            self._cancelled = False
            raise asyncio.CancelledError


_cancellation: Final[ContextVar[Cancellation | None]] = ContextVar("restencil_cancellation", default=None)


def current_cancellation() -> Cancellation | None:
    """The cancellation of the running task, if it has one."""
    return _cancellation.get()


def cancellable() -> Cancellation:
    """Gives the running task a cancellation, through which it is cancelled from now on."""
    made = Cancellation()
    _cancellation.set(made)
    return made
