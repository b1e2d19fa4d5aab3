"""The ETags of entities: by them a mutation tells the server what it was made for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..base.values import INVALID, UNDEFINED
from .tables import EMPTY

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .tables import ChangeSet, EntityPath, Tables

_LOOK_AT: Final = 10_000
"""From so many ETags on it is looked which are of entities that are here no more."""


class EntityTags:
    """The ETag that the last answer about each entity had, with when that was fetched (ms); changed under the lock.

    One stays until another replaces it, its entity is deleted or invalidated, or the store starts over.
    """

    def __init__(self, base: Tables) -> None:
        self._base = base
        self._tags: dict[str, dict[str, tuple[str, float]]] = {}
        self._look_at = _LOOK_AT

    def get(self, cell: EntityPath) -> str | None:
        """The ETag of an entity, None where none is known."""
        table, pk = cell
        found = self._tags.get(table, EMPTY).get(pk)
        return None if found is None else found[0]

    def note(
        self, change: ChangeSet, found: Mapping[EntityPath, tuple[str, float]], untagged: Collection[EntityPath]
    ) -> None:
        """A change was written, whose answer had these ETags, or refused those of some entities."""
        for table, tags in self._tags.items():
            for pk, stored in change.entities.get(table, EMPTY).items():
                if stored is INVALID:
                    tags.pop(pk, None)
        for table, pk in untagged:
            self._tags.get(table, {}).pop(pk, None)
        for (table, pk), (tag, fetched_at) in found.items():
            tags = self._tags.setdefault(table, {})
            known = tags.get(pk)
            if known is None or known[1] <= fetched_at:
                tags[pk] = tag, fetched_at
        if found and sum(map(len, self._tags.values())) > self._look_at:
            self._forget()

    def _forget(self) -> None:
        get = self._base.get
        self._tags = {
            table: {pk: tag for pk, tag in tags.items() if get(table, pk) is not UNDEFINED}
            for table, tags in self._tags.items()
        }
        self._look_at = max(_LOOK_AT, 2 * sum(map(len, self._tags.values())))
