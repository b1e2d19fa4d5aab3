"""What is done before and after the process forks.

A process forks between two actions: the child finds each store whole, and no lock held by a thread that it lacks.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from threading import RLock


class Forkable(Protocol):
    """What has a lock that must be free when the process forks."""

    lock: RLock

    def before_fork(self) -> None:
        """The process is about to fork, and the lock is held."""
        ...

    def after_fork(self) -> None:
        """This is the parent."""
        ...

    def forked(self) -> None:
        """This is the child."""
        ...


class Closable(Protocol):
    """What has locks that are taken while a store's is held, and must not be open when the process forks."""

    def before_fork(self) -> None:
        """Nothing is open, and nothing is opened until `after_fork`."""
        ...

    def after_fork(self) -> None:
        """This is the parent or the child."""
        ...


class HasParentState(Protocol):
    """What has threads, locks or connections that belong to the parent."""

    def forked(self) -> None:
        """This is the child."""
        ...


stores: Final[weakref.WeakSet[Forkable]] = weakref.WeakSet()
reset_in_child: Final[weakref.WeakSet[HasParentState]] = weakref.WeakSet()
"""What else lets go of the parent's in a child, once the locks of its stores are free."""
within_stores: Final[weakref.WeakSet[Closable]] = weakref.WeakSet()


class _Forking(threading.local):
    """What the thread which forks has locked."""

    stores: tuple[Forkable, ...] = ()
    within: tuple[Closable, ...] = ()


_forking: Final = _Forking()


def _before_fork() -> None:
    _forking.stores = tuple(stores)
    for store in _forking.stores:
        store.lock.acquire()
        store.before_fork()
    _forking.within = tuple(within_stores)
    for closable in _forking.within:
        closable.before_fork()


def _after_fork_in_parent() -> None:
    _release_within()
    for store in _forking.stores:
        store.after_fork()
    _release()


def _after_fork_in_child() -> None:
    _release_within()
    for store in _forking.stores:
        store.forked()
    _release()
    for held in list(reset_in_child):
        held.forked()


def _release_within() -> None:
    closed, _forking.within = _forking.within, ()
    for closable in closed:
        closable.after_fork()


def _release() -> None:
    locked, _forking.stores = _forking.stores, ()
    for store in locked:
        store.lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
