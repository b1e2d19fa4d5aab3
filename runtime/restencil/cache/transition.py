"""What a reducer decides: how the store changes, as data, and what the action returns.

There is a class for each way in which a store changes. `StoreState.commit` carries them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ..schema.entity import EntitySchema
    from .actions import Fetch
    from .request_log import Answered
    from .response_record import ResponseRecord
    from .staleness import StaleSet
    from .tables import ChangeSet, EntityPath, ResultMeta
    from .write_set import WriteSet


def _nothing() -> None:
    return None


class _Transition:
    """The common members of all transitions."""

    error: Exception | None = None
    """The error that the action raises once the transition is committed."""
    ended: int | None = None
    """The fetch whose optimistic update is removed."""
    notifies: bool = True
    """Whether listeners are called; if an optimistic update ended, they always are."""
    touched: Answered | None = None
    """The data that the request touched, if another request may overlap with it."""
    stale: StaleSet | None = None
    """The data that the action makes stale."""

    def __init__(
        self, outcome: Callable[[], Any] = _nothing, *, ended: int | None = None, notifies: bool = True
    ) -> None:
        self.outcome = outcome
        """Returns the value of the action once the transition is committed."""
        self.ended = ended
        self.notifies = notifies


class NoWrite(_Transition):
    """Nothing is written to the tables."""


class WriteChange(_Transition):
    """A change set is written to the tables."""

    write_set: WriteSet | None = None
    """The operations that the change set was merged from, for a store with a storage."""
    is_stored: bool = True
    """Whether a storage, or a dump, may contain it."""
    set_as: EntitySchema | None = None
    """The entity that a value was set as, without an endpoint."""
    record: tuple[str, ResponseRecord | None] | None = None
    """The key of a response, and the record by which the same one is recognized later; None if it is not."""
    tags: Mapping[EntityPath, tuple[str, float]] | None = None
    """By entity: the ETag of the response, and when it was fetched."""
    untagged: Collection[EntityPath] = ()
    """Entities whose ETag turned out to be outdated."""

    def __init__(
        self,
        change: ChangeSet,
        outcome: Callable[[], Any] = _nothing,
        *,
        ended: int | None = None,
        notifies: bool = True,
    ) -> None:
        super().__init__(outcome, ended=ended, notifies=notifies)
        self.change = change


class QueueOptimistic(_Transition):
    """The optimistic update of a fetch is queued."""

    def __init__(self, fetch: Fetch) -> None:
        super().__init__()
        self.fetch = fetch


class RecordKeys(_Transition):
    """The metadata of results is replaced; with `drops_results`, the results are removed."""

    def __init__(self, metas: Mapping[str, ResultMeta], *, drops_results: bool = False) -> None:
        super().__init__()
        self.metas = metas
        self.drops_results = drops_results


class RemoveEntries(_Transition):
    """Entities and results are removed from the tables, without notification."""

    def __init__(self, paths: Collection[EntityPath], keys: Collection[str]) -> None:
        super().__init__(notifies=False)
        self.paths = paths
        self.keys = keys


class StartOver(_Transition):
    """Everything is removed."""


Transition: TypeAlias = NoWrite | WriteChange | QueueOptimistic | RecordKeys | RemoveEntries | StartOver
