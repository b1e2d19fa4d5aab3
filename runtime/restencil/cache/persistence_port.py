"""The interface of a store to its persistence, and the members of a store that use it.

The cache knows no storage, and finds the persistence layer by its name. The methods of a persistence are called with
the store's lock unless they say otherwise, and none of them raises because of the state of the storage.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from ..base.durations import bounded
from ..base.lazy_imports import asyncio, find
from ..base.values import Struct

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from ..base.durations import Duration
    from ..base.steps import Step, Steps
    from .actions import Action
    from .request import Request
    from .tables import EntityPath, State


class StorageStats(Struct):
    """What a storage is doing for a store; numbers are since the store was made."""

    state: str = "off"
    """`on`; `down`: it does not answer now; `off`: it is not used."""
    reason: str = "no storage"
    """Why it is not on, in words."""
    rows: int = 0
    results: int = 0
    bytes: int = 0
    """How much the namespace holds; 0 where the storage cannot be asked."""
    loads: int = 0
    loaded_rows: int = 0
    holes: int = 0
    """Rows that were referred to and could not be used, so that a read fetched."""
    commits: int = 0
    committed_rows: int = 0
    moved: int = 0
    """Commits that met what others had written."""
    fenced: int = 0
    """Commits that came after a reset, and wrote nothing."""
    pending_rows: int = 0
    pending_names: int = 0
    """What waits for its commit; of names, only that it has to be dropped is known any more."""
    entries: int = 0
    breaks: int = 0
    """Changes of others that were taken in; how often all in memory had to be doubted."""
    leases: int = 0
    leases_waited_for: int = 0
    requests_saved: int = 0
    unstorable: int = 0
    """Responses that have no exact JSON form, or are too big."""
    errors: dict[str, int] = {}  # noqa: RUF012 - the default of a field, which no one edits


class StorageLike(Protocol):
    """The part of `restencil.Storage` that the cache uses."""

    inline: bool
    writable: bool

    def close(self, /) -> None:
        """Lets connections go."""
        ...


class PendingRequest(Protocol):
    """A request that is to be sent, unless another process has sent it: who waits for an answer."""

    @property
    def is_over(self) -> bool:
        """There is an outcome."""
        ...

    @property
    def requires_network(self) -> bool:
        """The server is to be asked in any case."""
        ...

    def accept_cached(self) -> bool:
        """Makes what is in the store the outcome, if that will do."""
        ...

    def wait(self, delay: float, /) -> Step:
        """A step: lets so many ms pass, or less where something is heard; True where it is."""
        ...

    def wake(self) -> None:
        """Something was heard."""
        ...


class PersistencePort(Protocol):
    """What a store asks of its persistence, and notifies it of; with the store's lock, unless it says otherwise."""

    def add_client(self, *, origin: str = "", secret: str = "", sends_credential: bool = False) -> None:
        """A client has this origin, keeps a secret under this name, or sends a credential.

        Raises ValueError for another origin than that of other clients.
        """
        ...

    # -- writing

    def capture(self, action: Action, effects: Any, /) -> object:
        """Captures an action and its effects before they are in memory; None if there is nothing to store."""
        ...

    def committed(self, captured: Any, /) -> None:
        """A captured action is in memory: the storage writes it now, or behind."""
        ...

    def is_pinned(self, path: EntityPath, /) -> bool:
        """Whether an entity or list waits for its commit, so that it must not be evicted."""
        ...

    def evicted(self, paths: Collection[EntityPath], keys: Collection[str], /) -> None:
        """Memory has evicted these."""
        ...

    # -- reading

    def before_read(self, request: Request, state: State | None = None, /) -> bool:
        """Loads what a read of a state needs (None: the view); False if part of it is unknown and must not be shown."""
        ...

    def before_value(self, schema: Any, args: tuple[Any, ...], state: State | None = None, /) -> bool:
        """Loads what the value of a schema needs; whether all of it is in memory then."""
        ...

    def before_update(self, key: str, /, *, is_absent: bool, may_load: bool) -> bool:
        """Loads the result of a key that an action updates; False if it is not known."""
        ...

    def catch_up(self, /) -> None:
        """Brings memory up to the newest commit, if the storage is local."""
        ...

    def knows(self, request: Request, /) -> bool:
        """Whether it is known what is stored under the key of a request, so that an entity in memory may answer it."""
        ...

    def knows_entity(self, table: str, pk: str, /) -> bool:
        """Whether it is known what is stored of an entity."""
        ...

    def origin(self, key: str, /) -> str | None:
        """Where the result of a key came from, in words; None if a response contained it."""
        ...

    # -- steps, without the lock

    def steps(self, request: Request, /) -> Steps:
        """Steps that load what a read needs, for callers that may wait."""
        ...

    def opening(self) -> Steps:
        """Steps that open the storage, if it is not open and answers."""
        ...

    def sharing(self, request: Request, fetch_id: int, wanted: PendingRequest, /) -> Steps:
        """Steps before a request is sent: True if another process has sent it and there is an outcome."""
        ...

    def shared(self, fetch_id: int, /) -> None:
        """The request of these steps has its response, or has failed."""
        ...

    # -- the life of a store, without the lock

    def flush(self, timeout: float, /) -> bool:
        """Waits until all that was committed is in the storage; False: not within `timeout` ms."""
        ...

    def close(self, timeout: float, /) -> None:
        """Flushes and closes the storage."""
        ...

    def stats(self, /) -> StorageStats:
        """The state and the counters of the storage."""
        ...

    def fork(self, phase: Literal["before", "parent", "child"], /) -> None:
        """The process is about to fork, or has forked; with the lock."""
        ...


_PERSISTENCE_OF: Final = "restencil.persistence.storage_persistence:persistence_of"
"""What makes the persistence of a store: it is looked up by its name, as this layer does not know that one."""


def persistence_of(store: object, state: object, reader: object, storage: StorageLike) -> PersistencePort:
    """The persistence of a store, its state and its reader over a storage.

    Raises TypeError for what is no storage, RuntimeError for one that is in use.
    """
    made: PersistencePort = find(_PERSISTENCE_OF)(store, state, reader, storage)
    return made


class PersistentStoreMixin:
    """The members of a store that concern its storage; without one they do nothing."""

    _persistence: PersistencePort | None = None

    @property
    def is_persistent(self) -> bool:
        """Whether it has a storage, so that a read may have to wait for that."""
        return self._persistence is not None

    def ensure_loaded(self, request: Request) -> Steps:
        """Steps: what a read touches is brought into memory from the storage, if there is one."""
        persistence = self._persistence
        if persistence is not None and not request.inactive:
            yield from persistence.steps(request)

    def opening(self) -> Steps:
        """Steps before a request gets its number: the storage is open, so that its commits are known to be earlier."""
        if self._persistence is not None:
            yield from self._persistence.opening()

    def sharing(self, request: Request, fetch_id: int, wanted: PendingRequest) -> Steps:
        """Steps before a request is sent: True where another process was answered, so that it need not be."""
        persistence = self._persistence
        if persistence is None:
            return False
        return (yield from persistence.sharing(request, fetch_id, wanted))

    def shared(self, fetch_id: int) -> None:
        """The request was answered, or has failed, before which those steps were taken."""
        if self._persistence is not None:
            self._persistence.shared(fetch_id)

    def origin(self, key: str) -> str | None:
        """Where the result under a key came from, in words; None where an answer brought it."""
        return None if self._persistence is None else self._persistence.origin(key)

    def flush(self, timeout: Duration = 5_000) -> bool:
        """Waits until all that was written before is in the storage; True at once where there is none.

        False: not within `timeout` ms (or `"5s"`, or a timedelta), or the storage is not used. Raises ValueError for a
        timeout that is none.
        """
        limit, persistence = bounded(timeout, "timeout", 0, endless=True), self._persistence
        return True if persistence is None else persistence.flush(limit)

    def close(self, timeout: Duration = 1_000) -> None:
        """Flushes for `timeout` ms at most and lets go of the storage; the store goes on in memory."""
        limit, persistence = bounded(timeout, "timeout", 0, endless=True), self._persistence
        if persistence is not None:
            persistence.close(limit)

    async def aclose(self, timeout: Duration = 1_000) -> None:  # noqa: ASYNC109 - in ms, as everywhere
        """Lets go of the storage as `close` does, and waits for it in a thread."""
        if self._persistence is not None:
            await asyncio.to_thread(self.close, timeout)

    def storage_stats(self) -> StorageStats:
        """Whether the storage is used, and what was done with it; no secrets."""
        persistence = self._persistence
        return StorageStats() if persistence is None else persistence.stats()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()
