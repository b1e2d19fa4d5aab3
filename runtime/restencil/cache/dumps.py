"""Dumps of the contents of stores, without secrets."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from ..base.lazy_imports import find
from .persistence_port import PersistentStoreMixin

if TYPE_CHECKING:
    from typing import Self

    from .store_state import StoreState


_DUMPS: Final = "restencil.persistence.dump"
"""The module that writes and reads dumps; imported by name because this layer must not depend on it."""


class Dumpable(PersistentStoreMixin):
    """The methods of a store for dumps."""

    lock: threading.RLock
    _store_state: StoreState

    def note_secret(self, name: str) -> None:
        """Register the name of a secret, such as the query parameter with the credential of a client."""
        with self.lock:
            self._store_state.secrets.add(name)
            if self._persistence is not None:
                self._persistence.add_client(secret=name)

    def note_credential(self) -> None:
        """Record that a client sends a credential, so that responses may be private."""
        with self.lock:
            if self._persistence is not None:
                self._persistence.add_client(sends_credential=True)

    def dump(self) -> bytes:
        """Return the data of responses that is in memory, as JSON: for fixtures, and for `Store.load`.

        It excludes everything that storages exclude: secrets by their names, data with `persist=False`, errors and
        optimistic updates. Equal states return equal bytes.
        """
        with self.lock:
            text: bytes = find(f"{_DUMPS}:dump")(self._store_state, self._persistence)
            return text

    @classmethod
    def load(cls, data: bytes | str, /, *, times: str = "kept", **options: Any) -> Self:
        """Create a store from the result of `dump`: `Store.load(fixture, times="now")`; `options` are those of a store.

        `times` is `kept` (the original times), `now` (as if it was received now, with its lifetime) or `stale` (it is
        shown, and the first read fetches it again). Objects are created when they are read, by the current classes;
        records of classes that have changed since are dropped. Raises StorageError, a ValueError, for data that is no
        dump, and TypeError if `storage` is passed as well.
        """
        if "storage" in options:
            raise TypeError("Store.load creates a store from a dump only; remove storage=, or pass it to Store(…)")
        make: Any = cls
        made: Self = make(storage=find(f"{_DUMPS}:storage_of")(data, times), **options)
        return made
