"""What one action hands over to be committed: what it wrote, and what it brought before that was merged.

What an action hands over are references, taken under the store's lock before it is carried out: records, and what a
change writes, are never edited in place; what becomes a table, and lists that would grow, are copied. It is worked out
by who asks for it first, which is the thread of the storage as a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..base.logs import logger
from ..base.values import INVALID, UNDEFINED, Meta
from ..cache.tables import EMPTY, Whole
from ..cache.write_set import DeleteRecord, EditList, Expire, MergeRecord, Operation, ReplaceRecord
from ..schema.stored import record_of

if TYPE_CHECKING:
    from ..cache.request import Request, Rules
    from ..cache.staleness import StaleSet
    from ..cache.tables import EntityPath, ResultMeta
    from ..cache.validators import Terms, Validators
    from ..cache.write_set import WriteSet
    from ..schema.entity import EntitySchema
    from ..storage.protocol import IndexEntry, Place
    from .timeline import Event


_NO_INDEX: Final[Mapping[IndexEntry, str | None]] = {}
_NO_PLACES: Final[Mapping[Place, None]] = {}
_NO_RESULTS: Final[Mapping[str, Result]] = {}
NO_NAMES: Final[frozenset[str]] = frozenset()


class Result(NamedTuple):
    """What an action wrote under a key; times are the store's."""

    value: Any
    """UNDEFINED where nothing lies there."""
    times: Meta
    rules: Rules | None
    """Those of the endpoint that answered; None where another one wrote it."""
    is_invalidated: bool = False
    is_same: bool = False
    """Whether only its times are new."""
    terms: Terms | None = None
    """How long it is good, where the server was asked for that."""
    validators: Validators | None = None
    """What the answer said of itself, where it can be asked for by that."""
    number: float | None = None
    """That of the request; None for the moment of `times`."""
    brought: Mapping[str, AbstractSet[str]] | None = None
    """By table, the records and lists that the response brought; None where that does not matter."""


class Sweep(NamedTuple):
    """A change of all results whose keys a test accepts, but for those that were received later."""

    test: Callable[[str], bool]
    invalidates: bool
    moment: float

    def accepts(self, key: str) -> bool:
        """Whether it changes the result of a key; a test that fails accepts it: rather the network is asked."""
        try:
            return bool(self.test(key))
        except Exception:
            logger.exception("whether %s is meant cannot be told; it counts as meant", key)
            return True


class Extension(NamedTuple):
    """A page of a list: the result of the list says what the page says beside its items, and is as fresh."""

    key: str
    result: Any
    """UNDEFINED where it says nothing else."""
    times: Meta

    def accepts(self, key: str) -> bool:
        """Whether it changes the result of a key."""
        return key == self.key


Key: TypeAlias = "tuple[str, Any, ResultMeta | None, Any, ResultMeta | None]"
"""A key, what an action writes under it (UNDEFINED for no result, None for nothing else), and both as they were."""


class ActionHeader(NamedTuple):
    """What an action says of itself as a whole: the beginning of what it hands over."""

    rows: int
    times: Meta
    request: Request | None
    """What was asked for, if it is an answer."""
    brought: WriteSet | None
    differing: Mapping[str, Sequence[str]]
    indexes: Mapping[tuple[str, str], Mapping[str, str | None]]
    metas: Mapping[str, Mapping[str, Meta]]
    listed: frozenset[str]
    stale: StaleSet | None
    """What it made stale, if anything."""
    event: Event | None
    """That it did; set once it was carried out."""
    partial: Mapping[str, Mapping[str, Whole]]
    """The responses that last brought records whole, where that is not this one."""
    validators: Validators | None
    """What an answer said of itself."""
    is_answer: bool
    """Whether it is an answer with a value of its own, and none that came once more."""
    is_stored: bool
    """Whether the server lets others keep it."""
    moment: float
    """When that was, where it matters; else 0."""
    tables: int
    """How many tables follow: of each its name, what is written, how much of what was there before follows, and that.

    Then all keys follow, each with the other members of `Key`.
    """


STALE_AT: Final = ActionHeader._fields.index("stale")
"""Where that stands in what is handed over; whether it was noted as an event follows."""


class CapturedAction(NamedTuple):
    """What an action has handed over: references to what nobody edits any more."""

    header: ActionHeader
    tables: Sequence[tuple[str, Mapping[str, Any], Sequence[Any] | None]]
    """What it writes, by table, and what was there before, where that is looked at."""
    keys: Sequence[Key]

    @classmethod
    def of(cls, flat: list[Any]) -> CapturedAction:
        """What a flat list says."""
        rest = iter(flat)
        header = ActionHeader(*islice(rest, len(ActionHeader._fields)))
        tables: list[tuple[str, Mapping[str, Any], Sequence[Any] | None]] = []
        for _ in range(header.tables):
            table, written, count = islice(rest, 3)
            before = [*islice(rest, count)]
            if written:
                tables.append((table, written, before or None))
        return cls(header, tables, [*zip(rest, rest, rest, rest, rest, strict=True)])


class PendingWrite:
    """What one action wrote, and what it brought."""

    # What is rarely there is the class's as long as it is empty. (Benchmark: write of one entity over a storage.)
    cells: Mapping[str, Mapping[str, Any]] = EMPTY
    """By table and primary key, what memory has from it."""
    metas: Mapping[str, Mapping[str, Meta]] = EMPTY
    """The times of cells that are not the action's."""
    differing: Mapping[str, frozenset[str]] = EMPTY
    """By table, which of what it wrote is not what was there before; a table that it lacks has none that is the same,
    as far as that is known."""
    brought: WriteSet | None = None
    index: Mapping[IndexEntry, str | None] = _NO_INDEX
    listed: frozenset[str] = NO_NAMES
    misses: frozenset[str] = NO_NAMES
    """Tables of which something was left out."""
    drop: Mapping[Place, None] = _NO_PLACES
    """What is taken out of the storage."""
    sweeps: Sequence[Sweep | Extension] = ()
    joins: Sequence[EditList] = ()
    """What concerns collections of a table that need not be in memory."""
    release: Sequence[str] = ()
    is_reset = False
    is_told = False
    """Whether the storage was told of a reset, and took or refused it."""
    stale: StaleSet | None = None
    """What it made stale, if anything."""
    event: Event | None = None
    partial: Mapping[str, Mapping[str, Whole]] = EMPTY
    """The responses that last brought records whole, where that is not this one."""
    request: Request | None = None
    """What was asked for, if it is an answer."""
    nodes: Mapping[str, Mapping[str, EntitySchema]] = EMPTY
    """By table and primary key the class that wrote a record; made when it is first asked for."""
    written_keys: frozenset[str] = NO_NAMES
    """Keys of results that it wrote, once they are let go of."""
    captured: list[Any] | None = None
    """What was handed over and is still to be worked out, as one list."""
    results: Mapping[str, Result] = _NO_RESULTS
    order = 0
    """How many were taken before it."""
    rows = 0

    def __init__(self, times: Meta) -> None:
        self.times = times
        """The action's."""

    @classmethod
    def of(cls, captured: list[Any]) -> PendingWrite:
        """An action that handed this over, which is still to be worked out."""
        rows, times = captured[:2]
        made = cls(times)
        made.captured, made.rows = captured, rows
        return made

    def take_header(self, header: ActionHeader) -> None:
        """Takes over what it says of itself."""
        self.request, self.brought, self.metas = header.request, header.brought, header.metas
        self.listed, self.partial = header.listed, header.partial
        self.stale, self.event = header.stale, header.event

    @property
    def label(self) -> str:
        """What is said of it in the log."""
        return "a change" if self.request is None else self.request.label

    def times_of(self, table: str, pk: str) -> Meta:
        """The times of a cell in memory."""
        found: Meta = self.metas.get(table, EMPTY).get(pk, self.times)
        return found

    def whole_of(self, table: str, pk: str) -> Whole:
        """The response that last brought a record whole that it wrote, or a list."""
        found: Whole | None = self.partial.get(table, EMPTY).get(pk)
        if found is not None:
            return found
        times, stored = self.times_of(table, pk), self.cells[table][pk]
        fields = frozenset[str]() if stored is INVALID or isinstance(stored, list) else record_of(stored).keys()
        return Whole(times.fetched_at, times.expires_at, fields, times.fetched_at)

    def writes(self, cell: EntityPath) -> bool:
        """Whether it wrote a cell in memory."""
        return cell[1] in self.cells.get(cell[0], EMPTY)

    def is_same(self, cell: EntityPath) -> bool:
        """Whether it wrote what was there before, as far as that is known."""
        known = self.differing.get(cell[0])
        return known is not None and cell[1] not in known

    def concerns(self, cell: EntityPath) -> bool:
        """Whether it has anything to say of a cell, be it in memory or not."""
        return self.writes(cell) or any(
            join.table == cell[0] and join.accepts(cell[1]) for join in self.joins if join.pk in (None, cell[1])
        )

    def node_of(self, table: str, pk: str) -> EntitySchema | None:
        """The class that wrote a record last."""
        if self.brought is not None and not self.nodes:
            nodes: dict[str, dict[str, EntitySchema]] = {}
            for node, pks in self.brought.classes.items():
                schema: Any = node
                of_table = nodes.setdefault(node.table_key, {})
                for one in pks:
                    of_table[one] = schema
            self.nodes = nodes
        return self.nodes.get(table, EMPTY).get(pk)

    def nodes_of(self, table: str, pk: str) -> Iterator[EntitySchema]:
        """All classes that wrote a record."""
        if self.brought is not None:
            for node, pks in self.brought.classes.items():
                if node.table_key == table and pk in pks:
                    schema: Any = node
                    yield schema

    def pieces(self, table: str, pk: str) -> Iterable[Operation]:
        """What it does to one cell, in order."""
        brought = self.brought
        stored = self.cells.get(table, EMPTY).get(pk, UNDEFINED)
        if brought is None:
            return [DeleteRecord()] if stored is INVALID else [] if stored is UNDEFINED else [Expire()]
        came = brought.records.get(table, EMPTY).get(pk, UNDEFINED)
        if came is INVALID:
            return [DeleteRecord()]
        node = self.node_of(table, pk)
        if node is not None:
            record = record_of(stored) if came is UNDEFINED else came
            cell = table, pk
            if cell in brought.replaced:
                return [ReplaceRecord(node, record)]
            rules = None if self.request is None else self.request.rules
            return [MergeRecord(node, record, rules, cell in brought.recreated, brought.keeps_whole)]
        pieces: list[Operation] = [
            piece
            for piece in brought.collections
            if piece.table == table and (piece.pk == pk or (piece.pk is None and piece.accepts(pk)))
        ]
        if not pieces and stored is not UNDEFINED:
            return [DeleteRecord()] if stored is INVALID else [Expire()]
        return pieces

    def take_tables(self, captured: CapturedAction) -> None:
        """Takes over what was written into the tables of memory."""
        self.cells = {table: written for table, written, _ in captured.tables}
        differing: dict[str, frozenset[str]] = {}
        for table, written, before in captured.tables:
            known = captured.header.differing.get(table)
            if known is None and before is not None:
                known = [pk for (pk, stored), was in zip(written.items(), before, strict=True) if stored is not was]
            if known is not None and len(known) < len(written):
                differing[table] = frozenset(known)
        if differing:
            self.differing = differing
        if captured.header.indexes:
            self.index = {
                (table, name, text): pk
                for (table, name), entries in captured.header.indexes.items()
                for text, pk in entries.items()
            }
        if self.brought is not None and self.brought.collections:
            self.joins = [piece for piece in self.brought.collections if isinstance(piece, EditList)]

    def all_cells(self) -> list[EntityPath]:
        """What it wrote in memory."""
        return [(table, pk) for table, written in self.cells.items() for pk in written]

    def keep_invalidations(self) -> None:
        """Only what it invalidated stays."""
        results = {key: result for key, result in self.results.items() if result.is_invalidated}
        self.forget_values()
        self.results = results

    def forget_values(self) -> None:
        """What it wrote and brought is let go of; changes of all results stay."""
        self.written_keys |= frozenset(self.results)
        self.cells, self.metas, self.results, self.index = EMPTY, EMPTY, _NO_RESULTS, _NO_INDEX
        self.brought, self.joins, self.nodes, self.rows = None, (), EMPTY, 0
        self.listed, self.differing = NO_NAMES, EMPTY

    def leave_out(self) -> None:
        """It is not stored, nor is anything older shown in its place."""
        places: dict[Place, None] = dict.fromkeys(self.all_cells())
        places.update(dict.fromkeys(self.results))
        self.misses |= frozenset(self.cells)
        self.drop = {**self.drop, **places}
        self.forget_values()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit."""
        header = (self.cells, self.results, self.index, self.listed, self.drop, self.sweeps, self.joins, self.misses)
        if self.stale is not None:
            return False
        return not (any(header) or self.release or self.is_reset)
