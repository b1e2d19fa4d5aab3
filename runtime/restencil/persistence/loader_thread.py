"""Loads that may wait: by the thread that reads, or by one thread for event loops and background work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from ..base.lazy_imports import asyncio
from ..base.logs import logger
from .storage_query import StorageWork, WouldBlock, run_here, run_waiting

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..base.steps import Steps
    from ..base.transport import AwaitingTransport, BlockingTransport
    from ..cache.store import Store
    from ..storage.protocol import Storage
    from .connection import StorageConnection

    Ask: TypeAlias = Callable[[Storage], Any]


class StorageStep:
    """A step: one query of the storage, by a thread that may wait."""

    __slots__ = ("_ask", "_loader", "_work")

    def __init__(self, ask: Callable[[Ask], Any], loader: LoaderThread, work: Ask) -> None:
        self._ask = ask
        self._loader = loader
        self._work = work

    def take(self, transport: BlockingTransport) -> Any:
        """Asks, in the thread that reads."""
        return self._ask(self._work)

    async def take_async(self, transport: AwaitingTransport) -> Any:
        """Awaits the result of the loader thread."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def answered(answer: Any) -> None:
            if not future.done():
                future.set_result(answer)

        def work() -> None:
            answer = self._ask(self._work)
            try:
                loop.call_soon_threadsafe(answered, answer)
            except RuntimeError:
                pass  # the loop was closed meanwhile; no one waits there

        self._loader.submit(work)
        return await future


class LoaderThread:
    """The thread `restencil-loads`, which runs while there is something to load."""

    def __init__(self, store: Store, connection: StorageConnection) -> None:
        self._store = store
        self._connection = connection
        self._forked()

    def _forked(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], object]] = deque()
        self._begun: set[Hashable] = set()
        self._runs = False
        self._is_closed = False

    def submit(self, work: Callable[[], object]) -> None:
        """Does this in the thread, after what was submitted before."""
        with self._lock:
            self._waiting.append(work)
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._run, name="restencil-loads", daemon=True).start()

    def step(self, work: Ask) -> StorageStep:
        """A step that asks the storage this, in a thread that may wait."""
        return StorageStep(self._connection.load, self, work)

    def steps(self, asking: StorageWork[bool], most: int) -> Steps:
        """Steps: asks to the end, here as long as that is about `most` rows, else by a thread that may wait."""
        connection = self._connection
        try:
            try:
                with connection.lock:
                    run_here(asking, connection, most)
            except WouldBlock as waits:
                query = waits.query
                while True:
                    answer = yield self.step(query.work)
                    with connection.lock:
                        connection.drain_capture()
                        query = asking.send(answer)
        except StopIteration:
            pass
        finally:
            asking.close()
            self._store.tell()

    def begin(self, name: tuple[Any, ...], begin: Callable[[], StorageWork[bool]]) -> None:
        """Asks in the background, once at a time, and lets the listeners hear that there is more to show."""
        marked = repr(name)
        with self._lock:
            if self._is_closed or marked in self._begun:
                return
            self._begun.add(marked)

        def work() -> None:
            try:
                run_waiting(begin(), self._connection)
            finally:
                with self._lock:
                    self._begun.discard(marked)
            with self._connection.lock:
                self._store.changed()
            self._store.tell()

        self.submit(work)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._runs = False
                    return
                work = self._waiting.popleft()
            try:
                work()
            except Exception:
                logger.exception("what was to be loaded in the background was not")

    def close(self) -> None:
        """Nothing is begun any more."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()

    def forked(self) -> None:
        """This is a forked process, in which no thread runs but this one."""
        self._forked()
