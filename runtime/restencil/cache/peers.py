"""Stores of one client that hold different things under the same keys, and what they tell each other.

Responses in another language, or for another user, are kept in a store of their own: an entity is in a store once,
so that nothing else keeps two of its representations apart. A change that was asked for through one of these stores
changed it for all who ask with the same credential, so their stores hear of it. A reset of the first one resets all.
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


class PeerHost(Protocol):
    """What a store is to its family."""

    member: PeerStore | None
    lock: RLock

    def apply(self, action: Action, /) -> Any:
        """Carries out an action."""
        ...


class Peers:
    """The store of a client, and those beside it for as long as someone has them."""

    def __init__(self, store: PeerHost) -> None:
        self._members: WeakSet[PeerStore] = WeakSet()
        self._lock = store.lock
        self.first = self.member(store, None, (), store.apply)
        self._hinted: set[str] = set()

    def member(
        self, store: PeerHost, credential: Hashable, names: tuple[str, ...], dispatch: Callable[[Action], Any]
    ) -> PeerStore:
        """A store that belongs to the family from now on.

        `names` are the headers for which it is there, `dispatch` takes actions on their way to it. Without a credential
        of its own it has that of the client.
        """
        made = store.member = PeerStore(self, store, credential, names, dispatch)
        with self._lock:
            self._members.add(made)
        return made

    def others(self, member: PeerStore) -> list[PeerStore]:
        """All members but one."""
        with self._lock:
            return [other for other in self._members if other is not member]

    def hint(self, topic: str, names: tuple[str, ...], text: str) -> None:
        """Logs a hint once for each of these headers."""
        for name in names:
            if f"{topic} {name.lower()}" not in self._hinted:
                self._hinted.add(f"{topic} {name.lower()}")
                logger.warning(text, name)


class PeerStore:
    """A store as the others of its family know it."""

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
        self._store = store
        self._dispatch = dispatch
        self._has_read = False

    def did(self, action: Action) -> None:
        """The store has carried out an action, and its lock is free."""
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
        """The store starts over, because the first one did."""
        try:
            self._dispatch(Reset())
        except Exception:
            logger.exception("a store beside that of the client could not be reset")

    def hear(self, action: SetResponse | SetError) -> bool:
        """A change was answered through another store; whether it made anything stale in this one."""
        return bool(self._store.apply(PeerMutated(action)))

    def _tell(self, action: SetResponse | SetError) -> None:
        marked_stale = [other.hear(action) for other in self.family.others(self) if other.credential == self.credential]
        if any(marked_stale) and not self._has_read:
            self.family.hint(
                "change",
                self.names,
                "a change was sent with the header %r, which may change what is answered, so what others have stored "
                "of it is stale now, and fetched anew. If the header changes nothing there, give it with vary=False, "
                "or name it among the inert_headers of the spec",
            )
