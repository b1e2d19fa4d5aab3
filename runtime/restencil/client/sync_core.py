"""The core of a controller for blocking code: a request runs in the thread that waits for it, or on its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from threading import get_ident
from typing import TYPE_CHECKING, Any

from ..base.scheduler import ThreadScheduler, WaitingScheduler
from ..base.steps import drive
from ..cache.reading import Decision
from ..cache.store import Store
from ..http.transport import SyncTransport
from .core import Core, bind_args_of, read_for_call, read_through
from .in_flight import InFlight

if TYPE_CHECKING:
    from ..base.durations import Duration, Timeout
    from ..base.response import Response
    from ..base.scheduler import Handle, Scheduler
    from ..base.steps import Steps
    from ..base.transport import BlockingClient
    from ..cache.request import Request
    from ..endpoint.endpoint import Endpoint
    from ..http.auth import Preparation
    from ..http.user_agent import Agent
    from .core import Managers
    from .managers import Manager
    from .paging import PagesOfList
    from .retry import Retries


class SyncCore(Core):
    """Sends requests through a transport for blocking code, and waits by blocking the thread."""

    is_blocking = True
    transport: SyncTransport

    def __init__(
        self,
        store: Store | None,
        managers: Managers | None,
        retries: int | Retries | None,
        preparation: Preparation | None,
        *,
        client: BlockingClient | None,
        http: str | None,
        base_url: str,
        timeout: Duration | Timeout | None,
        max_response_bytes: int | None,
        agent: Agent,
        request_id: str | None,
    ) -> None:
        store = Store() if store is None else store
        scheduler = store.scheduler
        self._threads = scheduler if isinstance(scheduler, ThreadScheduler | WaitingScheduler) else ThreadScheduler()
        transport = SyncTransport(
            client,
            http=http,
            base_url=base_url,
            timeout=timeout,
            max_response_bytes=max_response_bytes,
            prepare=preparation,
            agent=agent,
            scheduler=self._threads,
        )
        transport.request_id = request_id
        super().__init__(store, managers, retries, preparation, transport)

    def sibling(self, store: Store, managers: tuple[Manager, ...], transport: SyncTransport) -> SyncCore:
        """The core of a partition: as this one, with a store, managers and a transport of its own."""
        made = object.__new__(SyncCore)
        made._threads = self._threads
        Core.__init__(made, store, managers, self.retries, self.preparation, transport)
        return made

    def close(self) -> None:
        """Stops the managers and closes what was opened; a second call does nothing."""
        if self.opened:
            self.stop()
            self.transport.close()

    def wait_for(self, steps: Steps) -> Any:
        """Takes steps to their end, blocking where they wait."""
        return drive(steps, self.transport)

    def read(self, request: Request) -> Any:
        """Reads through the cache: fresh data at once, stale data while it is fetched anew, else blocks for it."""
        store = self.store
        data = store.fresh(request)
        if data is not None:
            return data
        if store.is_persistent:
            drive(store.ensure_loaded(request), self.transport)
        reading = read_for_call(store, request)
        if reading.decision is Decision.GIVE:
            return reading.data
        return drive(read_through(self, request, reading), self.transport)

    def fetch(self, request: Request) -> tuple[Any, Any]:
        """What was in flight, and the value that it brought, once that is in the store."""
        if self.store.is_persistent:
            drive(self.store.opening(), self.transport)
        in_flight = self.start(request)
        try:
            return in_flight, self.complete(in_flight)
        except BaseException:
            self.abandon_unsent(in_flight)
            raise

    def pages(self, endpoint: Endpoint[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> PagesOfList:
        """A run over the pages of a list. Raises TypeError where the next page cannot be found."""
        from .paging import Pages, PagesOfList

        return PagesOfList(self, Pages(self, endpoint, bind_args_of(endpoint, args, kwargs), asks_always=True))

    def ask(self, request: Request) -> Response[Any]:
        """The response to a request that is not shared and not stored."""
        in_flight, steps = self.ask_steps(request)
        answer: Response[Any] = drive(steps, in_flight.transport)
        return answer

    def complete(self, in_flight: Any, /) -> Any:
        """Sends the request, unless that was done; the value of the fetch, once it is in the store."""
        if not isinstance(in_flight, InFlight):
            return in_flight  # a manager answered the fetch itself
        is_mine = False
        try:
            if in_flight.sender is self.network and not in_flight.claimed:
                if not in_flight.mutation and threading.active_count() > 1:
                    # Another thread may reset the store, or answer in the network's place: then the caller goes on.
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

    def complete_in_background(self, in_flight: Any) -> None:
        """Sends the request of a fetch that nobody waits for, on a thread of the scheduler."""
        if not isinstance(in_flight, InFlight) or in_flight.claimed or in_flight.sender is not self.network:
            return
        in_flight.detached = True
        if self.store.scheduler is self._threads:
            self._send_elsewhere(in_flight)
        else:
            # A scheduler of the user's own may take its time: a caller who comes meanwhile sends the request itself.
            self._spawn(in_flight, self.store.scheduler)

    def call_later(self, delay: float, work: Callable[[], object], /) -> Handle:
        """Does the work after `delay` milliseconds, on the store's scheduler."""
        return self.store.scheduler.call_later(delay, work)

    def _send_elsewhere(self, in_flight: InFlight) -> None:
        """Sends the request on another thread, unless it is on its way to one."""
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
        except BaseException:  # no thread can be started, say
            in_flight.sender.abandon(in_flight)
            raise

    def _send(self, in_flight: InFlight) -> None:
        if not in_flight.claim(get_ident()):
            return  # a caller who did not want to wait for this thread sent it
        try:
            in_flight.sender.send(in_flight, self.transport_of(in_flight))
        except Exception as error:
            in_flight.fail(error)
        except BaseException:
            in_flight.sender.abandon(in_flight)
            raise
