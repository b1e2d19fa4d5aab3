"""Handlers that run before and after the process forks.

Before a fork all stores are locked, so that the child has consistent stores, and no lock of a thread that it does not
have.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from threading import RLock


class Forkable(Protocol):
    """An object whose lock is held during a fork."""

    lock: RLock

    def before_fork(self) -> None:
        """Prepare for a fork; the lock is held."""
        ...

    def after_fork(self) -> None:
        """Continue in the parent."""
        ...

    def forked(self) -> None:
        """Continue in the child."""
        ...


class Closable(Protocol):
    """An object with open files, and with locks that are taken while the lock of a store is held."""

    def before_fork(self) -> None:
        """Close everything, and open nothing until `after_fork`."""
        ...

    def after_fork(self) -> None:
        """Continue in the parent or the child."""
        ...


class HasParentState(Protocol):
    """An object with threads, locks or connections that the child must not use."""

    def forked(self) -> None:
        """Replace the state of the parent, in the child."""
        ...


stores: Final[weakref.WeakSet[Forkable]] = weakref.WeakSet()
reset_in_child: Final[weakref.WeakSet[HasParentState]] = weakref.WeakSet()
"""Objects that are notified in the child after the locks of its stores are released."""
within_stores: Final[weakref.WeakSet[Closable]] = weakref.WeakSet()


class _Forking(threading.local):
    """The objects that the forking thread has locked."""

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
