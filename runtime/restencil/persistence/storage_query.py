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
"""So many rows may be asked for at once where an event loop runs, which must not be held up."""


class StorageQuery:
    """A query of a storage: a function of it, and about how many rows it reads."""

    __slots__ = ("size", "work")

    def __init__(self, work: Callable[[Storage], Any], size: int = 1) -> None:
        self.work = work
        self.size = size


Asking: TypeAlias = Generator[StorageQuery, Any, T]
"""Yields queries, is sent their results (None if the storage did not answer), and returns its own result."""


class WouldBlock(Exception):
    """Raised where a query would block this thread; carries the query to run elsewhere."""

    def __init__(self, question: StorageQuery) -> None:
        super().__init__("the storage has to be queried by a thread that may wait")
        self.question = question


def ask_here(asking: Asking[T], connection: StorageConnection, most: int) -> T:
    """Asks under the lock to the end (locked). Raises WouldBlock at a question about more than `most` rows."""
    connection.drain_capture()
    try:
        question = next(asking)
        while True:
            if question.size > most:
                raise WouldBlock(question)
            question = asking.send(connection.load(question.work))
    except StopIteration as stop:
        found: T = stop.value
        return found


def ask_apart(asking: Asking[T], connection: StorageConnection, question: StorageQuery | None = None) -> T:
    """Asks to the end, each time without the lock; from this question on, where one was met already."""
    lock = connection.lock
    try:
        if question is None:
            with lock:
                connection.drain_capture()
                question = next(asking)
        while True:
            # A fork waits for the end of what is asked of a file, and closes it.
            answer = (connection.work if connection.storage.inline else connection.load)(question.work)
            with lock:
                connection.drain_capture()
                question = asking.send(answer)
    except StopIteration as stop:
        found: T = stop.value
        return found
