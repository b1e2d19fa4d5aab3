"""Storage queries of longer work, written once as a generator: under the lock, or in a thread that may wait.

The code between two queries runs under the store's lock. A local storage is queried under it as well; a remote one, or
a query that takes long, without it, by a thread that may wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

if TYPE_CHECKING:
    from ..storage.protocol import Storage
    from .connection import StorageConnection

T = TypeVar("T")

MOST_IN_LOOP: Final = 500
"""So many rows may be read at once in an event loop, which must not be blocked."""


class StorageQuery:
    """A query of a storage: a function of it, and about how many rows it reads."""

    __slots__ = ("size", "work")

    def __init__(self, work: Callable[[Storage], Any], size: int = 1) -> None:
        self.work = work
        self.size = size


StorageWork: TypeAlias = Generator[StorageQuery, Any, T]
"""Yields queries, is sent their results (None if the storage did not answer), and returns its own result."""


class WouldBlock(Exception):
    """Raised where a query would block this thread; carries the query to run elsewhere."""

    def __init__(self, query: StorageQuery) -> None:
        super().__init__("the storage has to be queried by a thread that may wait")
        self.query = query


def run_here(asking: StorageWork[T], connection: StorageConnection, most: int) -> T:
    """Runs to the end under the lock (locked). Raises WouldBlock at a query of more than `most` rows."""
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
    """Runs to the end, with each query outside of the lock."""
    lock = connection.lock
    try:
        with lock:
            connection.drain_capture()
            query = next(asking)
        while True:
            # A fork waits for the end of what is asked of a file, and closes it.
            answer = (connection.work if connection.storage.inline else connection.load)(query.work)
            with lock:
                connection.drain_capture()
                query = asking.send(answer)
    except StopIteration as stop:
        found: T = stop.value
        return found
