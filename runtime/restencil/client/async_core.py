"""The core of a controller for asyncio, which runs each request in a separate task."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.lazy_imports import asyncio, running_loop
from ..base.scheduler import ThreadScheduler
from ..base.steps import drive_async
from ..http.cancellation import cancellable
from ..http.transport import AsyncTransport
from .core import Core, bind_args_of, read_through
from .in_flight import InFlight

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Coroutine
    from typing import Self

    from ..base.response import Response
    from ..base.scheduler import Handle
    from ..base.steps import Steps
    from ..cache.request import Request
    from ..cache.store import Store
    from ..endpoint.endpoint import Endpoint
    from ..http.auth import Preparation
    from .core import Managers
    from .managers import Manager
    from .paging import AwaitedPagesOfList
    from .retry import Retries


class AsyncCore(Core):
    """Sends requests through a transport for asyncio, and waits in the running loop."""

    is_blocking = False
    transport: AsyncTransport

    def __init__(
        self,
        store: Store,
        managers: Managers | None,
        retries: int | Retries | None,
        preparation: Preparation | None,
        transport: AsyncTransport,
    ) -> None:
        self._loop: AbstractEventLoop | None = None
        super().__init__(store, managers, retries, preparation, transport)

    def sibling(self, store: Store, managers: tuple[Manager, ...], transport: AsyncTransport) -> Self:
        """Return the core of a partition: a copy of this one with another store, managers and transport."""
        made = super().sibling(store, managers, transport)
        made._loop = self._loop
        return made

    def enter_loop(self) -> None:
        """Use the running loop for background work from now on. Raises RuntimeError if none is running."""
        self._loop = required_loop()

    async def close(self) -> None:
        """Stop the managers and close the transport; a second call does nothing."""
        if self.opened:
            self.stop()
            await self.transport.aclose()

    def wait_for(self, steps: Steps) -> Coroutine[Any, Any, Any]:
        """Run steps to their end without blocking, and return their result."""
        return drive_async(steps, self.transport)

    async def read(self, request: Request) -> Any:
        """Read through the cache: return fresh data, or stale data while it is fetched again, else await a fetch."""
        data = self.store.fresh(request)
        if data is not None:
            return data
        return await drive_async(read_through(self, request), self.transport)

    async def fetch(self, request: Request) -> tuple[Any, Any]:
        """Fetch, and return the request in flight and its value once that is stored."""
        if self.store.is_persistent:
            await drive_async(self.store.opening(), self.transport)
        in_flight = self.start(request)
        try:
            return in_flight, await self.complete(in_flight)
        except BaseException:
            self.abandon_unsent(in_flight)
            raise

    def pages(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> AwaitedPagesOfList:
        """Return an iterator over the pages of a list. Raises TypeError for an endpoint without pagination."""
        from .paging import AwaitedPagesOfList, Pages

        return AwaitedPagesOfList(self, Pages(self, endpoint, bind_args_of(endpoint, args, kwargs), asks_always=True))

    async def ask(self, request: Request) -> Response[Any]:
        """Send a request that is neither coalesced nor stored, and return its response."""
        in_flight, steps = self.ask_steps(request)
        loop = in_flight.loop = required_loop()
        task = in_flight.task = loop.create_task(self._response_to(in_flight, steps))
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            in_flight.cancel()  # delayed if it would damage the connection pool
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # marks it as retrieved
            raise
        answer: Response[Any] = task.result()
        return answer

    async def _response_to(self, in_flight: InFlight, steps: Steps) -> Response[Any]:
        in_flight.cancellation = cancellable()
        answer: Response[Any] = await drive_async(steps, in_flight.transport)
        return answer

    async def complete(self, in_flight: object, /) -> object:
        """Send the request in a separate task, unless it was sent; return the value of the fetch once it is stored."""
        if not isinstance(in_flight, InFlight):
            return in_flight  # a manager handled the fetch itself
        loop = required_loop()  # before the claim, after which this caller has to send the request
        if in_flight.sender is self.network and in_flight.claim():
            try:
                # Sent even if another source settled it meanwhile, because its own response must be stored too.
                if not in_flight.done or in_flight.resets == self.store.resets:
                    self._send_in_task(in_flight, loop)
            except BaseException:
                if in_flight.task is None:
                    in_flight.sender.abandon(in_flight)
                raise
        if in_flight.done:
            return in_flight.result()
        try:
            return await in_flight.wait_async()
        finally:
            if not in_flight.done:
                in_flight.leave()

    def complete_in_background(self, in_flight: object) -> None:
        """Send the request of a fetch in a task, without waiting for it."""
        if not isinstance(in_flight, InFlight) or in_flight.claimed or in_flight.sender is not self.network:
            return
        in_flight.detached = True
        loop = self._home()
        in_flight.loop = loop
        if not isinstance(self.store.scheduler, ThreadScheduler):
            self.store.scheduler.spawn(lambda: loop.call_soon_threadsafe(self._send_detached, in_flight, loop))
        elif running_loop() is loop:
            self._send_detached(in_flight, loop)
        else:
            loop.call_soon_threadsafe(self._send_detached, in_flight, loop)

    def call_later(self, delay: float, work: Callable[[], object], /) -> Handle:
        """Call `work` after `delay` milliseconds, in the loop or on the custom scheduler of the store."""
        from .timers import RemoteTimer, set_timer

        loop = self._home()
        if running_loop() is loop or not isinstance(self.store.scheduler, ThreadScheduler):
            return set_timer(self.store.scheduler, loop, delay, work)
        return RemoteTimer(loop, delay, work)

    def _home(self) -> AbstractEventLoop:
        """Return the loop for background work: the running one, else the one in which this controller was last used."""
        running = running_loop()
        if running is not None:
            self._loop = running
            return running
        loop = self._loop or getattr(self.store.scheduler, "loop", None)
        if loop is None:
            raise RuntimeError(
                "an AsyncController does background work in an asyncio event loop; call this from a coroutine"
            )
        return loop

    def _send_in_task(self, in_flight: InFlight, loop: AbstractEventLoop) -> None:
        self._loop = loop
        in_flight.loop = loop
        in_flight.task = loop.create_task(in_flight.sender.send_async(in_flight, self.transport_of(in_flight)))
        in_flight.task.add_done_callback(_ended(weakref.ref(in_flight)))

    def _send_detached(self, in_flight: InFlight, loop: AbstractEventLoop) -> None:
        if in_flight.claim():
            self._send_in_task(in_flight, loop)


def _ended(reference: Callable[[], InFlight | None]) -> Callable[[object], None]:
    """Return a callback that ends a request with its task, which may be cancelled before its first step.

    It has a weak reference, because the loop keeps callbacks for one more iteration, which would keep the response.
    """

    def ended(task: object) -> None:
        in_flight = reference()
        if in_flight is not None and not in_flight.done:
            in_flight.sender.abandon(in_flight)

    return ended


def required_loop() -> AbstractEventLoop:
    """Return the running asyncio loop. Raises RuntimeError if none is running."""
    loop = running_loop()
    if loop is None:
        raise RuntimeError(
            "AsyncController runs on asyncio, and no asyncio event loop is running here; "
            "use asyncio.run(…), or Controller in code without a loop"
        )
    return loop
