"""The pending write of one action: its values in memory and its operations, until they are committed.

An action captures references, under the store's lock, before it changes memory: records and the values of a change are
never edited in place, other objects are copied. Which of them are stored is decided when they are decoded at first use,
usually by the thread of the storage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..base.logs import logger
from ..base.values import INVALID, UNDEFINED, Meta
from ..cache.staleness import EXPIRED, StaleSet
from ..cache.tables import EMPTY, ResultMeta, Whole
from ..cache.write_set import DeleteRecord, EditList, Expire, MergeRecord, Operation, ReplaceRecord
from ..schema.stored import record_of

if TYPE_CHECKING:
    from ..base.freshness import Validators
    from ..cache.request import Request, Rules
    from ..cache.tables import EntityPath
    from ..cache.write_set import WriteSet
    from ..schema.entity import EntitySchema
    from ..storage.protocol import Place, StoredResult
    from .timeline import Event


_NO_PLACES: Final[Mapping[Place, None]] = {}
_NO_RESULTS: Final[Mapping[str, Result]] = {}
NO_NAMES: Final[frozenset[str]] = frozenset()


class Result(NamedTuple):
    """The result that an action wrote under a key."""

    value: Any
    """The value; UNDEFINED if there is none."""
    meta: ResultMeta
    """Its metadata without errors, with times of the store."""
    rules: Rules | None = None
    """The rules of the endpoint that wrote it; None if a call of another endpoint did."""
    validators: Validators | None = None
    """The validators of the response, if a conditional request can use them."""


class BulkInvalidation(NamedTuple):
    """Expires or invalidates all results whose keys pass a test, as of `moment`."""

    test: Callable[[str], bool]
    invalidates: bool
    moment: float

    def accepts(self, key: str) -> bool:
        """Whether it changes the result of a key; True if the test raises, so that the result is requested again."""
        try:
            return bool(self.test(key))
        except Exception:
            logger.exception("%s counts as accepted: the test of its key failed", key)
            return True

    def applied(self, result: StoredResult, times: Meta) -> tuple[StoredResult, Meta]:
        """Return a result that was received before it, with its times in memory."""
        if times.date > self.moment or not self.accepts(result.key):
            return result, times
        if self.invalidates:
            return result._replace(invalidated=True, value=None), Meta(times.fetched_at, self.moment, 0)
        return result, times._replace(expires_at=min(times.expires_at, 1))


Table: TypeAlias = "tuple[str, Mapping[str, Any]]"
"""A table, and the rows that an action writes to it."""
Key: TypeAlias = "tuple[str, Any, ResultMeta | None, Any, ResultMeta | None]"
"""A key, the result and its metadata that an action writes (UNDEFINED and None if absent), and both before it."""


class PendingWrite:
    """The values that one action wrote in memory, and its operations, until they are committed."""

    # Empty rare members are class attributes. (Benchmark: write of one entity over a storage.)
    is_decoded = True
    """Whether it was decided which values are stored; until then, it has only the captured references."""
    tables: Sequence[Table] = ()
    """The captured rows, until it is decoded."""
    keys: Sequence[Key] = ()
    """The captured keys, until it is decoded."""
    is_confirmation = False
    """Whether it confirms a stored response, so that only times are new."""
    validators: Validators | None = None
    """The validators of the response."""
    is_answer = False
    """Whether it is a response with a value, and not "304 Not Modified"."""
    is_allowed = True
    """Whether the server allows storing the response."""

    cells: Mapping[str, Mapping[str, Any]] = EMPTY
    """By table and primary key, the values that it wrote in memory."""
    metas: Mapping[str, Mapping[str, Meta]] = EMPTY
    """The times of cells that differ from those of the action."""
    write_set: WriteSet | None = None
    listed: frozenset[str] = NO_NAMES
    misses: frozenset[str] = NO_NAMES
    """Tables whose stored rows are incomplete after the commit."""
    drop: Mapping[Place, None] = _NO_PLACES
    """Rows and results that are deleted from the storage."""
    bulk_invalidations: Sequence[BulkInvalidation] = ()
    """Invalidations of stored results, until the keys of these are known."""
    joins: Sequence[EditList] = ()
    """Edits of collections that need not be in memory."""
    release: Sequence[str] = ()
    is_reset = False
    is_reset_done = False
    """Whether the storage was reset, or the reset failed."""
    stale: StaleSet | None = None
    """The stale marks that the action sets, if any."""
    event: Event | None = None
    """The event of these marks on the timeline; set after the commit to memory."""
    partial: Mapping[str, Mapping[str, Whole]] = EMPTY
    """By table and primary key, the response that last contained the complete record, if not this one."""
    request: Request | None = None
    """The request, if the action is a response."""
    results: Mapping[str, Result] = _NO_RESULTS
    order = 0
    """Its position among all pending writes."""
    rows = 0

    def __init__(self, times: Meta) -> None:
        self.times = times
        """The times of the action."""

    @property
    def label(self) -> str:
        """The name of the action in log messages."""
        return "a change" if self.request is None else self.request.label

    def times_of(self, table: str, pk: str) -> Meta:
        """Return the times of a cell that it wrote."""
        found: Meta = self.metas.get(table, EMPTY).get(pk, self.times)
        return found

    def writes(self, cell: EntityPath) -> bool:
        """Whether it wrote a cell in memory."""
        return cell[1] in self.cells.get(cell[0], EMPTY)

    def concerns(self, cell: EntityPath) -> bool:
        """Whether it changes a cell, in memory or not."""
        return self.writes(cell) or any(
            join.table == cell[0] and join.accepts(cell[1]) for join in self.joins if join.pk in (None, cell[1])
        )

    def nodes_of(self, table: str, pk: str) -> list[EntitySchema]:
        """Return all classes that wrote a record, in order."""
        classes: Any = {} if self.write_set is None else self.write_set.classes
        return [node for node, pks in classes.items() if node.table_key == table and pk in pks]

    def pieces(self, table: str, pk: str) -> Iterable[Operation]:
        """Return the operations on one cell, in order."""
        write_set = self.write_set
        stored = self.cells.get(table, EMPTY).get(pk, UNDEFINED)
        if write_set is None:
            return [DeleteRecord()] if stored is INVALID else [] if stored is UNDEFINED else [Expire()]
        came = write_set.records.get(table, EMPTY).get(pk, UNDEFINED)
        if came is INVALID:
            return [DeleteRecord()]
        nodes = self.nodes_of(table, pk)
        if nodes:
            node = nodes[-1]
            record = record_of(stored) if came is UNDEFINED else came
            cell = table, pk
            if cell in write_set.replaced:
                return [ReplaceRecord(node, record)]
            rules = None if self.request is None else self.request.rules
            return [MergeRecord(node, record, rules, cell in write_set.recreated, write_set.keeps_whole)]
        pieces: list[Operation] = [
            piece
            for piece in write_set.collections
            if piece.table == table and (piece.pk == pk or (piece.pk is None and piece.accepts(pk)))
        ]
        if not pieces and stored is not UNDEFINED:
            return [DeleteRecord()] if stored is INVALID else [Expire()]
        return pieces

    def add_keys(self, keys: Iterable[str]) -> None:
        """Add the stored results among these keys that its bulk invalidations concern, except those that it wrote."""
        results, stale = {**self.results}, StaleSet(EXPIRED)
        for key in keys:
            found = [one for one in self.bulk_invalidations if key not in self.results and one.accepts(key)]
            if any(one.invalidates for one in found):
                moment = found[0].moment
                results[key] = Result(UNDEFINED, ResultMeta(Meta(moment, moment, 0), invalidated=True))
            elif found:
                stale.keys.add(key)
        if self.stale is not None:
            stale.update(self.stale)
            self.stale = stale
        self.results, self.bulk_invalidations = results, ()

    def take_tables(self) -> None:
        """Decode the captured tables and edits of collections."""
        self.cells = dict(self.tables)
        if self.write_set is not None and self.write_set.collections:
            self.joins = [piece for piece in self.write_set.collections if isinstance(piece, EditList)]

    def end_capture(self) -> None:
        """Note that it is decoded, and release the captured references."""
        self.is_decoded = True
        self.tables, self.keys = (), ()

    def all_cells(self) -> list[EntityPath]:
        """Return all cells that it wrote in memory."""
        return [(table, pk) for table, written in self.cells.items() for pk in written]

    def keep_invalidations(self) -> None:
        """Drop all values and deletions except invalidated results."""
        results = {key: result for key, result in self.results.items() if result.meta.invalidated}
        self.forget_values()
        self.results, self.drop = results, _NO_PLACES

    def forget_values(self) -> None:
        """Drop the values; bulk invalidations stay."""
        self.cells, self.metas, self.results = EMPTY, EMPTY, _NO_RESULTS
        self.write_set, self.joins = None, ()
        self.listed = NO_NAMES

    def leave_out(self) -> None:
        """Store nothing of it, and delete older versions from the storage."""
        places: dict[Place, None] = dict.fromkeys(self.all_cells())
        places.update(dict.fromkeys(self.results))
        self.misses |= frozenset(self.cells)
        self.drop = {**self.drop, **places}
        self.forget_values()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        if self.stale is not None or self.is_reset:
            return False
        written = (self.cells, self.results, self.listed, self.joins)
        return not any((*written, self.drop, self.bulk_invalidations, self.misses, self.release))


def deletion_of(places: Iterable[Place], moment: float) -> PendingWrite:
    """Return a pending write that deletes these rows and results from the storage."""
    pending = PendingWrite(Meta(moment, moment, moment))
    pending.drop = dict.fromkeys(places)
    return pending
