"""What memory has from its storage: what came from there, what of it cannot be used, and what is doubted."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..base.values import UNDEFINED, is_dict, is_list
from ..cache.staleness import ELSEWHERE
from ..schema.protocol import EntityNode
from ..schema.record import class_record
from ..schema.stored import record_of
from .row_codec import lacks
from .stale_marks import load_marks

if TYPE_CHECKING:
    from ..cache.store_state import StoreState
    from ..cache.tables import ChangeSet, EntityPath
    from ..storage.protocol import Loaded, TableInfo
    from .connection import StorageConnection
    from .pending_write import CapturedAction, PendingWrite
    from .row_codec import Left, Validator
    from .write_behind import Writer


class Provenance:
    """What memory has from its storage, besides the revs (locked)."""

    def __init__(self, store_state: StoreState, connection: StorageConnection, writer: Writer) -> None:
        self._store_state = store_state
        self._connection = connection
        self._writer = writer
        self.loaded: dict[str, set[str]] = {}
        """By table, what came from the storage and was not written here since."""
        self.loaded_keys: set[str] = set()
        self.validators: dict[str, tuple[int, Validator]] = {}
        """By key, the validator that came with the result of a rev, until the key is written here."""
        self.key_shapes = connection.known.key_shapes
        """The shapes of the endpoints of results that memory has."""
        self.key_writers = connection.known.key_writers
        """Who wrote results last, as far as the log told that."""
        self.dangling: set[EntityPath] = set()
        """What responses of this process refer to and nobody stored."""
        self.unusable: set[EntityPath] = set()
        """Rows that are there and cannot be used: of another shape, too old, or no JSON."""
        self.unusable_keys: set[str] = set()
        self.unread: set[str] = set()
        """Keys whose results were loaded for a function of `update`, and which no endpoint has read here."""
        self.broken: list[EntityPath | str] = []
        """What is no JSON: the next commit drops it."""
        self.left: dict[EntityPath, Left] = connection.known.left
        """The members that were left out of rows."""
        self.whole: set[str] = set()
        """Tables of which memory has all that the storage has."""
        self.unordered = connection.known.unordered
        self.listed: set[str] = set()
        """Tables of which the server told this process all that is in them."""
        self.infos: dict[str, TableInfo] = {}
        self.indexed: dict[str, set[tuple[str, str]]] = {}
        """The index entries that were asked for, by table, as field and text."""
        self.indexed_meanwhile: set[str] = set()
        """Tables of which index entries were asked for while something of this process was on its way."""
        self.doubted = connection.known.doubted
        """What memory holds and is not known any more, with the revs that it had; -1 is that of another epoch."""
        self.doubted_keys = connection.known.doubted_keys
        self.memory_only: set[EntityPath] = set()
        """What memory holds, stale, and the storage does not have, or has as something that cannot be used here."""
        self.just_loaded: set[str] = set()
        """Keys whose results were loaded, and of which nobody knows yet what they touch."""
        self.has_earlier = False
        """Whether memory may hold what came from an earlier epoch: what that refers to may be nowhere any more."""
        self.generation: int = 0
        """How often something in memory changed by what others wrote: what was begun before begins anew."""
        self.absent = 0

    # -- what is known ---------------------------------------------------------------------------------------------

    def begin_anew(self) -> None:
        """Nothing is known, and memory holds nothing."""
        for kept in (
            self.loaded,
            self.loaded_keys,
            self.validators,
            self.key_shapes,
            self.dangling,
            self.unusable,
            self.unusable_keys,
            self.unread,
            self.broken,
            self.left,
            self.whole,
            self.unordered,
            self.listed,
            self.infos,
            self.indexed,
            self.indexed_meanwhile,
            self.doubted,
            self.doubted_keys,
            self.memory_only,
            self.just_loaded,
        ):
            kept.clear()
        self.has_earlier = False
        self.generation += 1
        self.absent = 0

    def wrote(self, pending: PendingWrite, captured: CapturedAction) -> None:
        """An action of this process wrote these."""
        if self.loaded:
            for table, written, _ in captured.tables:
                known = self.loaded.get(table)
                if known:
                    known.difference_update(written)
        if self.loaded_keys or self.unusable_keys:
            for key, value, meta, _, _ in captured.keys:
                if meta is not None and meta.error is None:
                    # What a function of `update` made of it is still from the storage.
                    self.loaded_keys.discard(key)
                    self.validators.pop(key, None)
                    self.unusable_keys.discard(key)
                    self.unread.discard(key)
                if value is not UNDEFINED:
                    self.validators.pop(key, None)
        if pending.listed:
            self.listed |= pending.listed

    def writes(self, change: ChangeSet) -> None:
        """An action of this process is about to write: it is merged with what the storage has, and nothing else."""
        for table, pk in self.memory_only.intersection(change.cells()):
            self.memory_only.discard((table, pk))
            self._connection.known.forget(table, pk)
            self.doubted.setdefault(table, {})[pk] = -1

    def take_marks(self, loaded: Loaded) -> None:
        """Takes in what the storage says is stale."""
        marks, number_of_event = self._store_state.base.marks, self._connection.known.timeline.number_of_event
        if loaded.marks:
            load_marks(marks, loaded.marks, number_of_event)
            self._store_state.hot_results.clear()
        for row in loaded.rows:
            if row.stale_rev and (row.stale_rev > row.whole_rev or row.value is None or not row.shape):
                marks.load("cells", (row.table, row.pk), number_of_event(row.stale_rev))

    def is_memory_only(self, cell: EntityPath) -> None:
        """The storage does not have what memory has of this; it counts as stale."""
        self._store_state.mark_stale([cell], ELSEWHERE)
        self.memory_only.add(cell)

    def let_go(self, cells: Iterable[EntityPath], keys: Iterable[str]) -> None:
        """Memory has let go of these."""
        self.memory_only.difference_update(cells)
        for table, pk in cells:
            self.whole.discard(table)
            self.indexed.pop(table, None)  # what led to it is gone as well
            self.unusable.discard((table, pk))
            self.left.pop((table, pk), None)
            known = self.loaded.get(table)
            if known:
                known.discard(pk)
            if self.doubted:
                self.doubted.get(table, {}).pop(pk, None)
        for key in keys:
            self.loaded_keys.discard(key)
            self.validators.pop(key, None)
            self.unusable_keys.discard(key)
            self.unread.discard(key)
            self.key_shapes.pop(key, None)
            self.doubted_keys.pop(key, None)
            self.key_writers.pop(key, None)

    def shape_of(self, key: str) -> str | None:
        """The shape of the endpoint that has read a key here; None where none has."""
        return None if key in self.unread else self.key_shapes.get(key)

    def lacks_members(self, node: Any, cell: EntityPath, stored: Any) -> bool:
        """Whether members were left out of a row that a class declares, and memory does not have them."""
        left = self.left.get(cell)
        if left is None or not isinstance(node, EntityNode):
            return False
        model: Any = class_record(node.cls)
        return lacks(model, tuple(path for path in left if not _has(record_of(stored), path)))

    def doubt(self, *, is_epoch: bool) -> None:
        """All that memory holds has to be compared with the storage before it is believed; `is_epoch`: with another."""
        known, base = self._connection.known, self._store_state.base
        for table, pks in base.entities.items():
            revs, before = known.revs.get(table, {}), self.doubted.get(table, {})
            self.doubted[table] = {
                pk: -1 if is_epoch else revs[pk] if pk in revs else before.get(pk, -1)
                for pk in pks
                if not self._writer.is_pending((table, pk))
            }
        for key in {**base.results, **base.key_metas}:
            rev = known.key_revs.get(key, self.doubted_keys.get(key, -1))
            self.doubted_keys[key] = -1 if is_epoch else rev
        for kept in (known.revs, known.key_revs, known.odd_shapes, known.versions, known.members):
            kept.clear()
        self.key_writers.clear()
        for more in (self.dangling, self.unusable, self.unusable_keys, self.whole, self.infos, self.indexed):
            more.clear()
        self._writer.waiting.doubt()
        self.has_earlier = self.has_earlier or is_epoch
        self.absent = 0
        self.generation += 1
        self._store_state.has_unverified = True

    def doubt_keys(self, keys: Iterable[str]) -> None:
        """Whether the storage has later results under these keys has to be found out; none was known before."""
        self.doubted_keys.update((key, 0) for key in keys)
        self._store_state.has_unverified = self._store_state.has_unverified or bool(self.doubted_keys)

    def settle(self) -> None:
        """Tells whether everything in memory may be believed."""
        if self.indexed_meanwhile and not self._writer.is_open:
            for table in self.indexed_meanwhile:
                self.indexed.pop(table, None)
            self.indexed_meanwhile.clear()
        self._store_state.has_unverified = bool(self.some_unverified(1) or self.doubted_keys or self.unordered)

    def some_unverified(self, number: int) -> list[EntityPath]:
        """Some of the cells that are doubted."""
        return list(islice(((table, pk) for table, pks in self.doubted.items() for pk in pks), number))

    def some_unverified_keys(self, number: int) -> list[str]:
        """Some of the keys that are doubted."""
        return list(islice(self.doubted_keys, number))


def _has(record: Any, path: tuple[str, ...]) -> bool:
    """Whether memory has a member that was left out of a row; of those in lists that is not looked at."""
    for name in path:
        if is_list(record) or not is_dict(record) or name not in record:
            return False
        record = record[name]
    return True
