"""Work with several storage queries as a generator, run under the store's lock or in a thread that may wait.

The code between two queries runs under the store's lock. Short queries of a local storage do, too. Long queries and
those of a remote storage run without it: in the thread that reads, or in one for event loops and background work.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Hashable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from ..base.lazy_imports import asyncio
from ..base.logs import logger

if TYPE_CHECKING:
    from ..base.steps import StepsOf
    from ..base.transport import AwaitingTransport, BlockingTransport
    from ..cache.store import Store
    from ..storage.protocol import Storage
    from .connection import StorageConnection

    Ask: TypeAlias = Callable[[Storage], Any]

T = TypeVar("T")

MOST_IN_LOOP: Final = 500
"""The most rows that are read at once in an event loop, which must not be blocked."""


class StorageQuery:
    """A query of a storage: a function of it, and about how many rows it reads."""

    __slots__ = ("size", "work")

    def __init__(self, work: Ask, size: int = 1) -> None:
        self.work = work
        self.size = size


StorageWork: TypeAlias = Generator[StorageQuery, Any, T]
"""Yields queries, receives their results (None if the storage does not respond), and returns its own result."""


class WouldBlock(Exception):
    """Raised if a query would block this thread; contains the query to run elsewhere."""

    def __init__(self, query: StorageQuery) -> None:
        super().__init__("the storage must be queried by a thread that may block")
        self.query = query


def run_here(asking: StorageWork[T], connection: StorageConnection, most: int) -> T:
    """Run storage work to its end (locked). Raises WouldBlock at a query of more than `most` rows."""
    connection.drain_capture()
    try:
        query = next(asking)
        while True:
            if query.size > most:
                raise WouldBlock(query)
            query = asking.send(connection.load(query.work))
    except StopIteration as stop:
        found: T = stop.value
        return found


def run_waiting(asking: StorageWork[T], connection: StorageConnection) -> T:
    """Run storage work to its end, with each query outside the lock."""
    lock = connection.lock
    try:
        with lock:
            connection.drain_capture()
            query = next(asking)
        while True:
            # `work` holds the write lock, so that a fork waits for the end of a query and closes the file.
            answer = (connection.work if connection.storage.inline else connection.load)(query.work)
            with lock:
                connection.drain_capture()
                query = asking.send(answer)
    except StopIteration as stop:
        found: T = stop.value
        return found


class StorageStep:
    """A step: one query of the storage, by a thread that may wait."""

    __slots__ = ("_ask", "_loader", "_work")

    def __init__(self, ask: Callable[[Ask], Any], loader: LoaderThread, work: Ask) -> None:
        self._ask = ask
        self._loader = loader
        self._work = work

    def take(self, transport: BlockingTransport) -> object:
        """Run the query in this thread."""
        return self._ask(self._work)

    async def take_async(self, transport: AwaitingTransport) -> object:
        """Run the query in the loader thread and await its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def answered(answer: object) -> None:
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
        self.forked()

    def forked(self) -> None:
        """Start over in a forked process, where the thread does not run."""
        self._lock = threading.Lock()
        self._waiting: deque[Callable[[], object]] = deque()
        self._begun: set[Hashable] = set()
        self._runs = False
        self._is_closed = False

    def submit(self, work: Callable[[], object]) -> None:
        """Run a function in the thread, after those submitted before."""
        with self._lock:
            self._waiting.append(work)
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._run, name="restencil-loads", daemon=True).start()

    def step(self, work: Ask) -> StorageStep:
        """Return a step that runs a query in a thread that may wait."""
        return StorageStep(self._connection.load, self, work)

    def steps(self, asking: StorageWork[T], most: int) -> StepsOf[T]:
        """Return steps that run storage work: queries of up to `most` rows here, then in a thread that may wait.

        They return its result.
        """
        connection = self._connection
        try:
            try:
                with connection.lock:
                    return run_here(asking, connection, most)
            except WouldBlock as waits:
                query = waits.query
                while True:
                    answer = yield self.step(query.work)
                    with connection.lock:
                        connection.drain_capture()
                        query = asking.send(answer)
        except StopIteration as stop:
            found: T = stop.value
            return found
        finally:
            asking.close()
            self._store.tell()

    def begin(self, name: tuple[object, ...], begin: Callable[[], StorageWork[bool]]) -> None:
        """Run storage work in the background and notify listeners after it; ignored while one of this name runs."""
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
                logger.exception("loading from the storage in the background failed")

    def close(self) -> None:
        """Drop waiting work and begin no more in the background."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
