"""Cancellation of a request without leaking a connection of the pool.

CancelledError is raised wherever the task is waiting, also inside the bookkeeping of the pool: after a full pool
assigned a connection to the request, before the first byte of a new connection, or while a response is closed. At these
points the pool loses the connection permanently. A request over a pool is therefore cancelled only while it waits for
the network, which its connection reports (the `trace` extension); otherwise it continues until the next such point.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from ..base.lazy_imports import asyncio

if TYPE_CHECKING:
    from ..base.transport import AwaitingTransport

#: A request that need not queue gets a report of its connection within a few rounds of the loop. A transport without
#: any after so many has no pool (it responds from memory, say): its requests are simply cancelled.
ROUNDS: Final = 20


class Cancellation:
    """Cancels a task at a point at which its request can be cancelled safely."""

    # Class attributes, as one is made for every fetch and most stay unused ("fetch through the cache, async").
    _owner: AwaitingTransport | None = None
    _transport: AwaitingTransport | None = None
    _interruptible = False
    _cancelled = False

    def cancel(self, task: asyncio.Task[Any], rounds: int = ROUNDS) -> None:
        """Cancel the task, at once or as soon as that is safe. Must be called in the event loop of the task."""
        transport = self._transport
        if transport is None or self._interruptible:
            task.cancel()
        elif transport.traces:
            self._cancelled = True
        elif rounds:
            task.get_loop().call_soon(self.cancel, task, rounds - 1)
        else:
            task.cancel()

    def enter(self, transport: AwaitingTransport, extensions: dict[str, Any]) -> None:
        """Start tracing a request through its `extensions`; called before it is sent."""
        extensions["trace"] = self
        self._owner = self._transport = transport

    async def __call__(self, event: str, info: Any) -> None:
        """Handle an event of the connection (the `trace` extension)."""
        if self._owner is not None:
            self._owner.traces = True
        self._interruptible = event.endswith(".started") and not event.endswith("response_closed.started")
        if self._interruptible:
            self._give_up()

    def leave(self) -> None:
        """Stop tracing; called when the request has ended. Raises CancelledError if a cancellation is still pending."""
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
    """Return the cancellation of the running task; None without one."""
    return _cancellation.get()


def cancellable() -> Cancellation:
    """Create the cancellation of the running task, which must be cancelled through it from then on."""
    made = Cancellation()
    _cancellation.set(made)
    return made
