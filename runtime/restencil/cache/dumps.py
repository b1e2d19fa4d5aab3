"""What a store holds may be taken elsewhere, but for what is secret."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from ..base.lazy_imports import find
from .persistence_port import PersistentStoreMixin

if TYPE_CHECKING:
    from typing import Self

    from .store_state import StoreState


_DUMPS: Final = "restencil.persistence.dump"
"""The module that writes and reads dumps: it is looked up by its name, as this layer does not know that one."""


class Dumpable(PersistentStoreMixin):
    """The members of a store that are about dumps of it."""

    lock: threading.RLock
    _store_state: StoreState

    def note_secret(self, name: str) -> None:
        """What bears this name is a secret, as the search parameter is in which a client sends its credential."""
        with self.lock:
            self._store_state.secrets.add(name)
            if self._persistence is not None:
                self._persistence.add_client(secret=name)

    def note_credential(self) -> None:
        """A client sends a credential, so that what it is answered may be for the eyes of some alone."""
        with self.lock:
            if self._persistence is not None:
                self._persistence.add_client(sends_credential=True)

    def dump(self) -> bytes:
        """What memory holds of what responses brought, as JSON: for fixtures, and for `Store.load`.

        What no storage would keep is not in it: secrets by their names, what `persist` excludes, errors, optimistic
        updates. The same state gives the same bytes.
        """
        with self.lock:
            text: bytes = find(f"{_DUMPS}:dump")(self._store_state, self._persistence)
            return text

    @classmethod
    def load(cls, data: bytes | str, /, *, times: str = "kept", **options: Any) -> Self:
        """A store of what `dump` gave: `Store.load(fixture, times="now")`; `options` are those of a store.

        `times`: `kept`, all is as old as it was; `now`, as if it was received now, each with its lifetime; `stale`, it
        shows, and the first read asks for it anew. What is loaded is built when it is read, by the classes that are
        known then, and what classes wrote that have changed since is not there. Raises StorageError, a ValueError, for
        data that is no dump, and TypeError where `storage` is given as well.
        """
        if "storage" in options:
            raise TypeError("Store.load makes a store over its dump alone: take storage= away, or give it to Store(…)")
        make: Any = cls
        made: Self = make(storage=find(f"{_DUMPS}:storage_of")(data, times), **options)
        return made
