"""The interface between a store and its persistence, and the methods of stores that use it.

The cache does not depend on storages, and imports the persistence layer by name. Methods of a persistence are called
under the store's lock unless stated otherwise, and none of them raises because of the state of the storage.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

from ..base.durations import bounded
from ..base.lazy_imports import asyncio, find
from ..base.values import Struct

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from ..base.durations import Duration
    from ..base.steps import Step, Steps, StepsOf
    from .actions import Action
    from .policy import Reading
    from .request import Request
    from .tables import EntityPath, State


T = TypeVar("T")


class StorageStats(Struct):
    """The state of a store's storage, with counters since the store was created."""

    state: str = "off"
    """`on`; `down`: it does not respond; `off`: it is not used."""
    reason: str = "no storage"
    """Why the storage is not on, in words."""
    rows: int = 0
    results: int = 0
    bytes: int = 0
    """The size of the namespace; 0 if the storage cannot report it."""
    loads: int = 0
    loaded_rows: int = 0
    holes: int = 0
    """Referenced rows that could not be used, so that a read fetched."""
    commits: int = 0
    committed_rows: int = 0
    moved: int = 0
    """Commits that conflicted with writes of other processes."""
    fenced: int = 0
    """Commits that wrote nothing because of an earlier reset."""
    pending_rows: int = 0
    pending_names: int = 0
    """Data that waits for its commit; `pending_names` are those of rows that will only be deleted."""
    entries: int = 0
    breaks: int = 0
    """Applied changes of other processes; `breaks` is how often all data in memory had to be verified."""
    leases: int = 0
    leases_waited_for: int = 0
    requests_saved: int = 0
    unstorable: int = 0
    """Responses that have no exact JSON form, or are too large."""
    errors: dict[str, int] = {}  # noqa: RUF012 - the default of a field, which no one edits


class StorageLike(Protocol):
    """The part of `restencil.Storage` that the cache uses."""

    inline: bool
    writable: bool

    def close(self, /) -> None:
        """Close all connections."""
        ...


class PendingRequest(Protocol):
    """A request that waits to be sent, unless another process sends it."""

    @property
    def is_over(self) -> bool:
        """Whether the request has an outcome."""
        ...

    @property
    def requires_network(self) -> bool:
        """Whether the request must be sent in any case."""
        ...

    def accept_cached(self, *, is_known: bool) -> bool:
        """Make the data of the store the outcome if it is acceptable; return whether it is.

        `is_known` tells whether a load from the storage, which has just ended, allows showing the data.
        """
        ...

    def wait(self, delay: float, /) -> Step:
        """Return a step that waits for `delay` ms, or until `wake`; its result is True if it was woken."""
        ...

    def wake(self) -> None:
        """End the current wait."""
        ...


class PersistencePort(Protocol):
    """The persistence of a store; methods are called under the store's lock unless stated otherwise."""

    def add_client(self, *, origin: str = "", secret: str = "", sends_credential: bool = False) -> None:
        """Register the origin of a client, the name of a secret, or that it sends a credential.

        Raises ValueError if the origin differs from that of other clients.
        """
        ...

    # -- writing

    def capture(self, action: Action, effects: Any, /) -> object:
        """Capture an action and its effects before they are in memory; return None if there is nothing to store."""
        ...

    def committed(self, captured: Any, /) -> None:
        """Write a captured action, which is in memory now, to the storage, immediately or in the background."""
        ...

    def is_pinned(self, path: EntityPath, /) -> bool:
        """Return whether an entity or list waits for its commit, so that it must not be evicted."""
        ...

    def evicted(self, paths: Collection[EntityPath], keys: Collection[str], /) -> None:
        """Notify the persistence that memory has evicted these paths and keys."""
        ...

    # -- reading

    def before_read(self, request: Request, state: State | None = None, /) -> bool:
        """Load the data of a read of a state (None: the view); return False if part of it must not be shown."""
        ...

    def before_value(self, schema: Any, args: tuple[Any, ...], state: State | None = None, /) -> bool:
        """Load the data of a schema's value; return whether all of it is in memory."""
        ...

    def knows_result(self, key: str, /, *, is_absent: bool) -> bool:
        """Return whether memory knows the result of a key that an action updates; `is_absent`: memory has none."""
        ...

    def catch_up(self, /) -> None:
        """Update memory to the newest commit, if the storage is local."""
        ...

    def knows(self, request: Request, /) -> bool:
        """Return whether the stored result of a request's key is known, so that an entity in memory may be used."""
        ...

    def knows_entity(self, table: str, pk: str, /) -> bool:
        """Return whether the stored form of an entity is known."""
        ...

    def origin(self, key: str, /) -> str | None:
        """Return the origin of a key's result, in words; None if it is a response of this store."""
        ...

    # -- steps, without the lock

    def reading(self, request: Request, read: Callable[[bool], T], /) -> StepsOf[T]:
        """Return steps that load the data of a read and then read it, under one lock.

        The argument of `read` is False if part of the data must not be shown.
        """
        ...

    def opening(self) -> Steps:
        """Return steps that open the storage, if it is closed and responds."""
        ...

    def sharing(self, request: Request, fetch_id: int, wanted: PendingRequest, /) -> Steps:
        """Return steps before sending a request; their result is True if another process sent it."""
        ...

    def shared(self, fetch_id: int, /) -> None:
        """End the steps of `sharing`, because the request has its response or has failed."""
        ...

    # -- the life of a store, without the lock

    def flush(self, timeout: float, /) -> bool:
        """Wait until all commits are in the storage; return False if this takes longer than `timeout` ms."""
        ...

    def close(self, timeout: float, /) -> None:
        """Flush and close the storage."""
        ...

    def stats(self, /) -> StorageStats:
        """Return the state and the counters of the storage."""
        ...

    def fork(self, phase: Literal["before", "parent", "child"], /) -> None:
        """Notify the persistence before and after a fork; called under the lock."""
        ...


_PERSISTENCE_OF: Final = "restencil.persistence.storage_persistence:persistence_of"
"""The function that creates the persistence of a store; imported by name because this layer must not depend on it."""


def persistence_of(store: object, state: object, storage: StorageLike) -> PersistencePort:
    """Create the persistence of a store over a storage.

    Raises TypeError if `storage` is not a storage, and RuntimeError if it is in use.
    """
    made: PersistencePort = find(_PERSISTENCE_OF)(store, state, storage)
    return made


class PersistentStoreMixin:
    """The methods of a store that concern its storage; without one they do nothing."""

    _persistence: PersistencePort | None = None
    is_persistent = False
    """Whether the store has a storage, so that reads may have to wait for it."""

    def looking(self, request: Request, read: Callable[..., Reading], *, is_memoized: bool = True) -> StepsOf[Reading]:
        """Return steps that load a result from the storage, if there is one, and read it by `read` or `read_base`.

        Not `is_memoized`: `fresh` has just found nothing in memory.
        """
        persistence = self._persistence
        if persistence is None or request.inactive:
            return read(request, is_memoized=is_memoized)
        return (yield from persistence.reading(request, lambda is_known: read(request, is_known=is_known)))

    def opening(self) -> Steps:
        """Return steps that open the storage before a request gets its number, so that earlier commits are known."""
        if self._persistence is not None:
            yield from self._persistence.opening()

    def sharing(self, request: Request, fetch_id: int, wanted: PendingRequest) -> Steps:
        """Return steps before sending a request: their result is True if another process has received its response."""
        persistence = self._persistence
        if persistence is None:
            return False
        return (yield from persistence.sharing(request, fetch_id, wanted))

    def shared(self, fetch_id: int) -> None:
        """End the steps of `sharing`, because the request has its response or has failed."""
        if self._persistence is not None:
            self._persistence.shared(fetch_id)

    def origin(self, key: str) -> str | None:
        """Return the origin of a key's result, in words; None if it is a response of this store."""
        return None if self._persistence is None else self._persistence.origin(key)

    def flush(self, timeout: Duration = 5_000) -> bool:
        """Wait until all earlier writes are in the storage; return True at once if there is none.

        Returns False if this takes longer than `timeout` (ms, `"5s"` or a timedelta), or if the storage is not used.
        Raises ValueError for an invalid timeout.
        """
        limit, persistence = bounded(timeout, "timeout", 0, endless=True), self._persistence
        return True if persistence is None else persistence.flush(limit)

    def close(self, timeout: Duration = 1_000) -> None:
        """Flush for up to `timeout` ms, then close the storage; the store continues in memory."""
        limit, persistence = bounded(timeout, "timeout", 0, endless=True), self._persistence
        if persistence is not None:
            persistence.close(limit)

    async def aclose(self, timeout: Duration = 1_000) -> None:  # noqa: ASYNC109 - in ms, as everywhere
        """Close the storage as `close` does, without blocking the event loop."""
        if self._persistence is not None:
            await asyncio.to_thread(self.close, timeout)

    def storage_stats(self) -> StorageStats:
        """Return the state and the counters of the storage; they contain no secrets."""
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
