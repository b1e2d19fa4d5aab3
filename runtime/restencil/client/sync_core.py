"""The core of a controller for blocking code: a request runs in the thread that waits for it, or on its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from threading import get_ident
from typing import TYPE_CHECKING, Any

from ..base.steps import drive
from ..cache.store import Store
from ..http.transport import SyncTransport
from .core import Core, bind_args_of, read_through
from .in_flight import InFlight

if TYPE_CHECKING:
    from ..base.response import Response
    from ..base.scheduler import Handle, Scheduler
    from ..base.steps import Steps
    from ..cache.request import Request
    from ..endpoint.endpoint import Endpoint
    from ..http.auth import Preparation
    from .core import Managers
    from .paging import PagesOfList
    from .retry import Retries


class SyncCore(Core):
    """Sends requests through a transport for blocking code, and waits by blocking the thread."""

    is_blocking = True
    transport: SyncTransport

    def __init__(
        self,
        store: Store,
        managers: Managers | None,
        retries: int | Retries | None,
        preparation: Preparation | None,
        transport: SyncTransport,
    ) -> None:
        self._threads = transport.scheduler
        super().__init__(store, managers, retries, preparation, transport)

    def close(self) -> None:
        """Stop the managers and close the transport; a second call does nothing."""
        if self.opened:
            self.stop()
            self.transport.close()

    def wait_for(self, steps: Steps) -> object:
        """Run steps to their end, blocking while they wait, and return their result."""
        return drive(steps, self.transport)

    def read(self, request: Request) -> Any:
        """Read through the cache: return fresh data, or stale data while it is fetched again, else block to fetch."""
        data = self.store.fresh(request)
        if data is not None:
            return data
        return drive(read_through(self, request), self.transport)

    def fetch(self, request: Request) -> tuple[Any, Any]:
        """Fetch, and return the request in flight and its value once that is stored."""
        if self.store.is_persistent:
            drive(self.store.opening(), self.transport)
        in_flight = self.start(request)
        try:
            return in_flight, self.complete(in_flight)
        except BaseException:
            self.abandon_unsent(in_flight)
            raise

    def pages(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> PagesOfList:
        """Return an iterator over the pages of a list. Raises TypeError for an endpoint without pagination."""
        from .paging import Pages, PagesOfList

        return PagesOfList(self, Pages(self, endpoint, bind_args_of(endpoint, args, kwargs), asks_always=True))

    def ask(self, request: Request) -> Response[Any]:
        """Send a request that is neither coalesced nor stored, and return its response."""
        in_flight, steps = self.ask_steps(request)
        answer: Response[Any] = drive(steps, in_flight.transport)
        return answer

    def complete(self, in_flight: object, /) -> Any:
        """Send the request, unless it was sent; return the value of the fetch once it is stored."""
        if not isinstance(in_flight, InFlight):
            return in_flight  # a manager handled the fetch itself
        is_mine = False
        try:
            if in_flight.sender is self.network and not in_flight.claimed:
                if not in_flight.mutation and threading.active_count() > 1:
                    # Another thread may reset the store or settle the request, which must wake the caller at once.
                    self._send_elsewhere(in_flight)
                else:
                    is_mine = True
                    if in_flight.claim(get_ident()):
                        return in_flight.sender.send(in_flight, self.transport_of(in_flight))
                    is_mine = False
            return in_flight.wait()
        except BaseException:
            if is_mine and not in_flight.done:
                in_flight.sender.abandon(in_flight)
            raise

    def complete_in_background(self, in_flight: object) -> None:
        """Send the request of a fetch on a thread of the scheduler, without waiting for it."""
        if not isinstance(in_flight, InFlight) or in_flight.claimed or in_flight.sender is not self.network:
            return
        in_flight.detached = True
        if self.store.scheduler is self._threads:
            self._send_elsewhere(in_flight)
        else:
            # A custom scheduler may start the thread late: until then, another caller may send the request itself.
            self._spawn(in_flight, self.store.scheduler)

    def call_later(self, delay: float, work: Callable[[], object], /) -> Handle:
        """Call `work` after `delay` milliseconds, on the store's scheduler."""
        return self.store.scheduler.call_later(delay, work)

    def _send_elsewhere(self, in_flight: InFlight) -> None:
        """Send the request on another thread, unless a thread was started for it."""
        try:
            if in_flight.claim_thread():
                self._spawn(in_flight, self._threads)
        except BaseException:
            if not in_flight.claimed:
                in_flight.sender.abandon(in_flight)
            raise

    def _spawn(self, in_flight: InFlight, scheduler: Scheduler) -> None:
        context = copy_context()
        try:
            scheduler.spawn(lambda: context.run(self._send, in_flight))
        except BaseException:  # for instance if no thread can be started
            in_flight.sender.abandon(in_flight)
            raise

    def _send(self, in_flight: InFlight) -> None:
        if not in_flight.claim(get_ident()):
            return  # a caller has sent it before this thread started
        try:
            in_flight.sender.send(in_flight, self.transport_of(in_flight))
        except Exception as error:
            in_flight.fail(error)
        except BaseException:
            in_flight.sender.abandon(in_flight)
            raise
