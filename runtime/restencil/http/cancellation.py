"""Cancelling a request without harm to the connection pool.

A cancelled task gets its error wherever it waits at that moment, also inside the pool's own book-keeping: when a full
pool has given the request a connection of which it does not know yet, before the first byte of a new connection, or
while a response is put away. There the pool loses the connection for ever. So a request over a pool is cancelled only
where it waits for the network, which its connection tells (the `trace` extension); elsewhere it goes on to the next
such place and gives up there by itself.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Final

from ..base.lazy import asyncio
from ..base.transport import AwaitingTransport

#: A request that need not queue lets its connection tell something within a few rounds of the loop. A transport of
#: which nothing was heard after so many has no pool (it answers from memory, say): its requests are simply cancelled.
ROUNDS: Final = 20


class TracedTransport(AwaitingTransport):
    """A transport that learns from its connections; `traces` says whether they tell what they do, as a pool's do."""

    traces = False


class Cancellation:
    """Stands between the one who cancels a task and the request that the task runs."""

    # Set where they differ from this: one is made for every fetch, and seldom has anything to do. This is
    # "fetch through the cache, async".
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
        """A request is about to be sent; its connection will tell what it does through `extensions`."""
        extensions["trace"] = self
        self._owner = self._transport = transport

    async def __call__(self, event: str, info: Any) -> None:
        """The connection tells what it does (the `trace` extension)."""
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


_cancellation: Final[ContextVar[Cancellation | None]] = ContextVar("restencil_cancellation", default=None)


def current_cancellation() -> Cancellation | None:
    """What stands between the running task and those who cancel it, if it has that."""
    return _cancellation.get()


def cancellable() -> Cancellation:
    """What stands, from now on, between those who cancel this task and the requests that it makes."""
    made = Cancellation()
    _cancellation.set(made)
    return made
