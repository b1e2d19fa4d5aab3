"""Before images for snapshots: the values of the base state before later changes."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ..base.values import UNDEFINED, Meta
from .tables import ChangeSet, EntityPath, ListBinding, ResultMeta, State, Tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


class BeforeImage:
    """The base state at the time of a snapshot; it stores the previous values of data that changed since."""

    def __init__(self, base: Tables) -> None:
        self.base = base
        self.cells: dict[EntityPath, tuple[Any, Meta | None]] = {}
        self.results: dict[str, tuple[Any, ResultMeta | None]] = {}
        self.indexes: dict[tuple[str, str, str], str | None] = {}
        self.tables: dict[str, tuple[str, ...] | None] = {}

    # -- the interface of a state --------------------------------------------------------------------------------------

    def get(self, table: str, pk: str) -> Any:
        kept = self.cells.get((table, pk)) if self.cells else None
        return self.base.get(table, pk) if kept is None else kept[0]

    def meta(self, table: str, pk: str) -> Meta | None:
        kept = self.cells.get((table, pk))
        return self.base.meta(table, pk) if kept is None else kept[1]

    def result(self, key: str) -> Any:
        kept = self.results.get(key)
        return self.base.result(key) if kept is None else kept[0]

    def key_meta(self, key: str) -> ResultMeta | None:
        kept = self.results.get(key)
        return self.base.key_meta(key) if kept is None else kept[1]

    def by_index(self, table: str, field: str, value: str) -> str | None:
        place = (table, field, value)
        return self.indexes[place] if place in self.indexes else self.base.by_index(table, field, value)

    def indexed(self, table: str, pk: str) -> list[tuple[str, str]]:
        kept = {(name, value): found for (other, name, value), found in self.indexes.items() if other == table}
        own = [place for place, found in kept.items() if found == pk]
        return [*own, *(place for place in self.base.indexed(table, pk) if place not in kept)]

    def pks(self, table: str) -> Iterator[str]:
        kept = self.tables.get(table)
        if kept is not None:
            return iter(kept)
        return (pk for pk in self.base.pks(table) if self.get(table, pk) is not UNDEFINED)

    def has_table(self, table: str) -> bool:
        if table in self.tables:
            return self.tables[table] is not None
        return self.base.has_table(table)

    def listings(self, entity: str) -> list[ListBinding]:
        return self.base.listings(entity)

    # -- recording -----------------------------------------------------------------------------------------------------

    def keep_change(self, change: ChangeSet) -> None:
        """Store the previous values of a change that is about to be written."""
        for table, written in change.entities.items():
            if table not in self.tables and not self.base.has_table(table):
                self.tables[table] = None
            for pk in written:
                self._keep_cell(table, pk)
        for key in (*change.results, *change.key_metas):
            self.keep_result(key)
        for (table, name), entries in change.indexes.items():
            for text in entries:
                self._keep_index(table, name, text)

    def keep_removed(self, cells: Collection[EntityPath]) -> None:
        """Store the values of entities and collections that are about to be removed."""
        for table in {table for table, _ in cells}:
            if table not in self.tables:
                self.tables[table] = tuple(self.pks(table))
        for table, pk in cells:
            self._keep_cell(table, pk)
            for name, text in self.base.indexed(table, pk):
                self._keep_index(table, name, text)

    def keep_result(self, key: str) -> None:
        """Store the result and metadata of a key that are about to change."""
        if key not in self.results:
            self.results[key] = (self.base.result(key), self.base.key_meta(key))

    def _keep_cell(self, table: str, pk: str) -> None:
        if (table, pk) not in self.cells:
            self.cells[table, pk] = (self.base.get(table, pk), self.base.meta(table, pk))

    def _keep_index(self, table: str, field: str, value: str) -> None:
        self.indexes.setdefault((table, field, value), self.base.by_index(table, field, value))


class BeforeImages(set["weakref.ref[BeforeImage]"]):
    """The before images of all snapshots in use, referenced weakly; empty if there are none, which writes check."""

    def keep(self, before_image: BeforeImage) -> None:
        """Add a before image for as long as its snapshot is in use."""
        self.add(weakref.ref(before_image, self.discard))

    def held(self) -> list[BeforeImage]:
        """Return all before images in use."""
        return [before_image for reference in self.copy() if (before_image := reference()) is not None]

    def keep_results(self, keys: Iterable[str]) -> None:
        """Store the results and metadata of keys that are about to change, in all before images."""
        for before_image in self.held() if self else ():
            for key in keys:
                before_image.keep_result(key)


def as_of(state: State, base: Tables, before_image: BeforeImage) -> State:
    """Return a state over the base that later changes of the base do not affect."""
    if state is base or not isinstance(state, ChangeSet):
        return before_image
    return state.over(as_of(state.underlying, base, before_image))
