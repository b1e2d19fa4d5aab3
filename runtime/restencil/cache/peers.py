"""The peer stores of one client, which contain different data under the same keys, and their notifications.

Responses in another language, or for another user, have a separate store, because a store contains only one
representation of an entity. A mutation through one of these stores affects all requests with the same credential, so
peers with this credential are notified of it. A reset of the first store resets all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from ..base.logs import logger
from .actions import PeerMutated, Reset, SetError, SetResponse

if TYPE_CHECKING:
    from threading import RLock

    from .actions import Action
    from .store_state import RequestsInFlight


class PeerHost(Protocol):
    """The interface of a store for its peers."""

    member: PeerStore | None
    lock: RLock

    @property
    def in_flight(self) -> RequestsInFlight:
        """The requests in flight."""
        ...

    @property
    def may_know_deletions(self) -> bool:
        """Whether it, or another process with its storage, may know of deleted records."""
        ...

    def assume_deletions(self) -> None:
        """Assume that records were deleted before: the record of a `get` is not taken from a list alone."""
        ...

    def apply(self, action: Action, /) -> Any:
        """Apply an action."""
        ...


class Peers:
    """The first store of a client and its peers, which are referenced weakly."""

    def __init__(self, store: PeerHost) -> None:
        self._members: WeakSet[PeerStore] = WeakSet()
        self._lock = store.lock
        self.first = self.member(store, None, (), store.apply)
        self._hinted: set[str] = set()

    def member(
        self, store: PeerHost, credential: Hashable, names: tuple[str, ...], dispatch: Callable[[Action], Any]
    ) -> PeerStore:
        """Add a store to the peers.

        `names` are the headers that it exists for, `dispatch` passes actions to it. If `credential` is None, it has the
        credential of the client.
        """
        made = store.member = PeerStore(self, store, credential, names, dispatch)
        with self._lock:
            self._members.add(made)
        if any(other.store.may_know_deletions for other in made.of_same_credential()):
            store.assume_deletions()
        return made

    def others(self, member: PeerStore) -> list[PeerStore]:
        """Return all members except this one."""
        with self._lock:
            return [other for other in self._members if other is not member]

    def hint(self, topic: str, names: tuple[str, ...], text: str) -> None:
        """Log a hint once for each of these headers."""
        for name in names:
            if f"{topic} {name.lower()}" not in self._hinted:
                self._hinted.add(f"{topic} {name.lower()}")
                logger.warning(text, name)


class PeerStore:
    """A store as a member of `Peers`."""

    def __init__(
        self,
        family: Peers,
        store: PeerHost,
        credential: Hashable,
        names: tuple[str, ...],
        dispatch: Callable[[Action], Any],
    ) -> None:
        self.family = family
        self.credential = credential
        self.names = names
        self.store = store
        self._dispatch = dispatch
        self._has_read = False

    def did(self, action: Action) -> None:
        """Notify the peers of an action that the store has applied; called without the lock."""
        if type(action) is Reset:
            if self is self.family.first:
                for other in self.family.others(self):
                    other.reset()
        elif isinstance(action, SetResponse | SetError) and action.fetch_id is not None:
            if action.request.rules.side_effect:
                self._tell(action)
            elif isinstance(action, SetResponse):
                self._has_read = True

    def reset(self) -> None:
        """Reset the store, because the first one was reset."""
        try:
            self._dispatch(Reset())
        except Exception:
            logger.exception("another store of the client could not be reset")

    def of_same_credential(self) -> list[PeerStore]:
        """Return the other members that mutations through this one affect, and the reverse."""
        return [other for other in self.family.others(self) if other.credential == self.credential]

    def hear(self, action: SetResponse | SetError) -> bool:
        """Apply the effects of a mutation of another store; return whether anything became stale in this one."""
        return bool(self.store.apply(PeerMutated(action)))

    def _tell(self, action: SetResponse | SetError) -> None:
        marked_stale = [other.hear(action) for other in self.of_same_credential()]
        if any(marked_stale) and not self._has_read:
            self.family.hint(
                "change",
                self.names,
                "a change was sent with the header %r, which may change responses, so the data that it changed is now "
                "stale in other stores of the client. If the header does not change responses, pass it with "
                "vary=False, or add it to inert_headers in the spec",
            )
