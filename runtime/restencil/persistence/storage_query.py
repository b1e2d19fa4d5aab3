"""What is asked of a storage in the course of something longer, written once: a generator of questions.

What is between two questions happens under the store's lock. A storage beside the process is asked under it as well;
one that is far away, or a question that takes long, is asked without it, by a thread that may wait.
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
    """What is asked of a storage: a function of it, and about how many rows it is about."""

    __slots__ = ("size", "work")

    def __init__(self, work: Callable[[Storage], Any], size: int = 1) -> None:
        self.work = work
        self.size = size


Asking: TypeAlias = Generator[StorageQuery, Any, T]
"""Gives questions, is sent what they were answered, or None, and returns what came of it."""


class WouldBlock(Exception):
    """A question that must not be asked here, and the asking that goes on with its answer."""

    def __init__(self, question: StorageQuery) -> None:
        super().__init__("a storage has to be asked where one may wait")
        self.question = question


def ask_here(asking: Asking[T], connection: StorageConnection, most: int) -> T:
    """Asks under the lock to the end (locked). Raises Waits at a question about more than `most` rows."""
    connection.settle()
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
                connection.settle()
                question = next(asking)
        while True:
            # A fork waits for the end of what is asked of a file, and closes it.
            answer = (connection.work if connection.storage.inline else connection.load)(question.work)
            with lock:
                connection.settle()
                question = asking.send(answer)
    except StopIteration as stop:
        found: T = stop.value
        return found
