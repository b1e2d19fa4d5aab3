"""Dumps: the content of a store as one JSON object, and a storage that is filled from one.

    {"restencil": "dump/1", "marked": true, absent if there were no stale marks,
     "times": [[fetched_at, date, expires_at], …],
     "tables": {TABLE: {"incomplete": false, "rows": {PK: [SHAPE, index in times, RECORD or LIST, null: deleted]}}},
     "index": {TABLE: {FIELD: {TEXT: PK}}},
     "results": {KEY: [SHAPE, index in times, invalidated, RESULT, absent if there is none]}}

Times are in ms, null for a time that never comes. Tables, fields and keys are sorted, and rows are in order of arrival,
so that equal states have equal dumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import floor, inf, isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..base.errors import StorageError, StorageOff
from ..base.json_text import decode_json, encode_exactly
from ..base.values import Meta, described, is_dict, is_list, kind_of
from ..cache.staleness import NEVER
from ..cache.tables import EMPTY, ResultMeta
from ..schema.entity import Entity, EntityModel
from ..schema.record import class_record, declared_classes, is_instance
from ..schema.stored import is_collection
from ..storage.memory import MemoryStorage
from ..storage.protocol import StoredResult, StoredRow, TableInfo
from .pending_write import Result
from .row_codec import WHOLE, Unstorable, encoded_whole
from .schema_fingerprint import ANY_SHAPE, SchemaRegistry, fingerprint_of, fingerprint_of_endpoint, shape_of
from .stale_marks import ANYTHING
from .stored_forms import cell_json, result_json

if TYPE_CHECKING:
    from ..cache.store_state import StoreState
    from ..cache.tables import EntityPath, Tables
    from ..storage.memory import Namespace
    from ..storage.protocol import Cell, IndexEntry, Loaded, Mark, Opened
    from .storage_persistence import StoragePersistence

FORMAT: Final = "dump/1"
TIMES: Final = ("kept", "now", "stale")
"""The options of `Store.load` for the times of a dump."""

_STALE: Final = 1.0
"""The expiry of stale entries: a marker for stale, though usable."""

_BEFORE, _LATEST = 0, 1
"""The commits of what was requested before the last mark of a dump, and of that mark and what was requested since."""


# -- writing -----------------------------------------------------------------------------------------------------------


def dump(store_state: StoreState, persistence: StoragePersistence | None) -> bytes:
    """Return the base state in memory as JSON (locked), without values that are never stored."""
    if persistence is not None and isinstance(persistence.connection.storage, DumpStorage):
        persistence.connection.opened()
        return persistence.connection.storage.dump()
    with MemoryStorage().filling("") as space:
        _Dumping(store_state, persistence, space).fill()
        return _text_of(space)


def _text_of(space: Namespace) -> bytes:
    """Return the dump of the content of a storage.

    A dump does not contain marks, but tells whether there were any. What was requested before the last commit that
    marked anything is dumped as stale.
    """
    times: dict[Meta, int] = {}
    marked = space.marks.get(ANYTHING, 0)

    def item(shape: str, at: Meta, since: int, *members: Any) -> list[Any]:
        if marked > max(since, 0):
            at = at._replace(expires_at=min(at.expires_at, _STALE))
        return [shape, times.setdefault(at, len(times)), *members]

    tables = {
        table: {
            "incomplete": info.incomplete,
            "rows": {
                row.pk: item(row.shape, row.times, row.whole_rev, None if row.value is None else decode_json(row.value))
                for row in space.tables.get(table, {}).values()
            },
        }
        for table, info in _sorted(space.infos)
    }
    results = {
        key: item(
            found.shape,
            found.times,
            found.requested_rev,
            found.invalidated,
            *([] if found.value is None else [decode_json(found.value)]),
        )
        for key, found in _sorted(space.results)
    }
    index: dict[str, dict[str, dict[str, str]]] = {}
    for (table, field, text), pk in sorted(space.index.items()):
        index.setdefault(table, {}).setdefault(field, {})[text] = pk
    document: dict[str, Any] = {
        "restencil": FORMAT,
        **({"marked": True} if marked else {}),
        "times": [[_number(time) for time in at] for at in times],
        "tables": tables,
        **({"index": index} if index else {}),
        "results": results,
    }
    return encode_exactly(document, portable=True)


def _sorted(members: Mapping[str, object]) -> list[tuple[str, Any]]:
    return sorted(members.items(), key=lambda member: member[0])


def _number(time: float) -> float | None:
    if time == inf:
        return None
    return int(time) if time == int(time) else time


class _Dumping:
    """Fills a storage with the values in memory."""

    def __init__(self, store_state: StoreState, persistence: StoragePersistence | None, space: Namespace) -> None:
        self._store_state = store_state
        self._tier = persistence
        self._base: Tables = store_state.base
        self._space = space
        self._registry = registry = SchemaRegistry(store_state.secrets)
        self._marked = self._base.marks.newest()
        if persistence is not None:
            persistence.connection.drain_capture()
        for meta in self._base.key_metas.values():
            if meta.rules is not None:
                registry.register(meta.rules.schema)
        for node in self._base.set_as:
            registry.register(node)
        self._unstored: set[EntityPath | str] = self._base.unstored | (
            set() if persistence is None else persistence.connection.known.only_here
        )

    def fill(self) -> None:
        """Write all tables and results to the storage."""
        base = self._base
        if self._marked > NEVER or self._tier is not None:  # memory does not have all marks of a storage
            self._space.marks[ANYTHING] = _LATEST
        for table in sorted(base.entities):
            if is_collection(table):
                self._rows(table, "")
            else:
                self._records(table)
        for key in sorted({**base.results, **base.key_metas}):
            meta = base.key_meta(key)
            if meta is not None and key not in self._unstored:
                self._result(key, meta)

    def _records(self, table: str) -> None:
        registry = self._registry
        for stored in self._base.entities[table].values():
            model: Any = class_record(kind_of(stored)) if is_instance(stored) else None
            if model is not None:
                registry.register_class(model)
        if not registry.met(table):
            for model in _every_class(table):
                registry.register_class(model)
        rules = registry.rules(table)
        if not rules.kept:
            return
        shape = shape_of(map(fingerprint_of, registry.met(table)))
        self._rows(table, shape)
        for field, entries in self._base.indexes.get(table, {}).items():
            for text, pk in entries.items() if rules.keeps(field) else ():
                if self._space.row((table, pk)) is not None:
                    self._space.index[table, field, text] = pk

    def _rows(self, table: str, shape: str) -> None:
        base = self._base
        incomplete = self._is_incomplete(table)
        for pk, stored in base.entities[table].items():
            cell = table, pk
            if cell in self._unstored or not self._registry.keeps(cell):
                incomplete = True
                continue
            times = _outward(base.metas[table][pk])
            partial = base.partial.get(table, EMPTY).get(pk)
            try:
                whole = None if partial is None else encoded_whole(partial, times.date)
                value = cell_json(self._registry, table, stored, whole=whole)
            except Unstorable:
                incomplete = True
                continue
            known_shape = "" if value is None else self._shape(cell, shape)
            since = self._since(base.whole_number(cell, base.metas[table][pk]))
            self._space.put(StoredRow(table, pk, 0, 0, times, known_shape, value, since), 0)
        self._space.infos[table] = TableInfo(1, incomplete)

    def _since(self, number: float) -> int:
        """Return the commit of a request of this number, which is before that of the marks if any mark is newer."""
        return _BEFORE if self._marked >= number else _LATEST

    def _is_incomplete(self, table: str) -> bool:
        if self._tier is not None and not is_collection(table):
            hydrator = self._tier.read_through.hydrator
            return table not in hydrator.whole and table not in hydrator.listed
        return any(evicted == table for evicted, _ in self._store_state.retention.evicted)

    def _shape(self, cell: EntityPath, usual: str) -> str:
        known = "" if self._tier is None else self._tier.connection.known.shape(*cell)
        return known or usual

    def _result(self, key: str, meta: ResultMeta) -> None:
        base, rules, registry = self._base, meta.rules, self._registry
        is_kept = registry.keeps_key(key) if rules is None else registry.keeps_result(key, rules)
        if not is_kept or (meta.error is not None and key not in base.results):
            return
        expires_at = meta.expires_at if meta.error is None else min(meta.expires_at, _STALE)
        times = _outward(meta.times._replace(expires_at=expires_at))
        written = ResultMeta(times, invalidated=meta.invalidated, terms=meta.terms, contents=meta.contents)
        try:
            value = result_json(self._registry, Result(base.result(key), written, rules))
        except Unstorable:
            return
        shape, since = self._shape_of(key, meta), self._since(meta.number)
        self._space.results[key] = StoredResult(key, 0, times, shape, meta.invalidated, value, since)

    def _shape_of(self, key: str, meta: ResultMeta) -> str:
        if meta.rules is not None:
            return fingerprint_of_endpoint(meta.rules)
        known = None if self._tier is None else self._tier.read_through.hydrator.key_shapes.get(key)
        return known or ANY_SHAPE


def _outward(times: Meta) -> Meta:
    """Round down `fetched_at`, whose fraction orders requests of one ms, so that later requests count as later."""
    fetched_at = times.fetched_at
    return times._replace(fetched_at=float(floor(fetched_at))) if isfinite(fetched_at) else times


def _every_class(table: str) -> Iterable[EntityModel]:
    """Yield the entity classes of this process that share a table."""
    waiting: list[type[Any]] = [Entity]
    for cls in waiting:
        waiting += type.__subclasses__(cls)
    models: list[Any] = [class_record(cls) for cls in waiting[1:]]
    for found in (*models, *declared_classes.values()):
        if isinstance(found, EntityModel) and found.key == table:
            yield found


# -- reading -----------------------------------------------------------------------------------------------------------

_Rows: TypeAlias = dict[str, list[StoredRow]]


class DumpStorage(MemoryStorage):
    """A storage filled from a dump, for clients of any origin."""

    has_places = False

    def __init__(self, data: bytes | str, times: str) -> None:
        super().__init__(max_age=inf, lease_wait=0)
        self._moves = times == "now"
        loaded = _Loading(data, is_stale=times == "stale")
        self._is_marked = loaded.is_marked
        with self.filling("") as space:
            if self._is_marked:
                space.marks[ANYTHING] = _LATEST
            for table, info in loaded.tables.items():
                for row in loaded.rows[table]:
                    space.put(row, 0)
                space.infos[table] = info
            for result in loaded.results:
                space.results[result.key] = result._replace(rev=space.number)
                space.used[result.key] = 0
            space.index.update(loaded.index)

    def open(self, place: str, now: Callable[[], float], /) -> Opened:
        """Open the one namespace for all origins; the first call moves times to now if `times` is "now"."""
        if self._moves:
            self._moves = False
            moment = now()
            with self.filling("") as space:
                for rows in space.tables.values():
                    rows.update({pk: row._replace(times=_moved(row.times, moment)) for pk, row in rows.items()})
                for key, result in space.results.items():
                    space.results[key] = result._replace(times=_moved(result.times, moment))
        return super().open("", now)

    def load(
        self,
        cells: Sequence[Cell],
        keys: Sequence[str] = (),
        index: Sequence[IndexEntry] = (),
        tables: Sequence[str] = (),
        marks: Sequence[Mark] = (),
        /,
    ) -> Loaded:
        """Load as of one moment; where the dump had marks, each primary key may be that of a deleted record."""
        loaded = super().load(cells, keys, index, tables, marks)
        if not self._is_marked:
            return loaded
        removed = {mark: _LATEST for mark in marks if mark[0] == "argument"}
        return loaded._replace(marks={**removed, **loaded.marks})

    def dump(self) -> bytes:
        """Return the dump of its content."""
        with self.filling("", changes=False) as space:
            return _text_of(space)


def _moved(times: Meta, now: float) -> Meta:
    """Return times as if an entry was received now, with its lifetime; stale markers stay."""
    fetched_at, date, expires_at = times
    return Meta(now - max(1, date - fetched_at), now, expires_at if expires_at <= 1 else now + (expires_at - date))


class _Loading:
    """Parses a dump; errors contain the path of the invalid value."""

    def __init__(self, data: bytes | str, *, is_stale: bool) -> None:
        document = self._decoded(data)
        self._is_stale = is_stale
        self.is_marked = self._truth("marked", document.get("marked", False))
        self._times = [
            self._meta(f"times[{place}]", times) for place, times in enumerate(self._list("times", document["times"]))
        ]
        self.tables: dict[str, TableInfo] = {}
        self.rows: _Rows = {}
        for table, found in self._dict("tables", document["tables"]).items():
            self._table(f"tables[{table!r}]", table, found)
        self.results = [
            self._result(f"results[{key!r}]", key, found)
            for key, found in self._dict("results", document["results"]).items()
        ]
        self.index: dict[IndexEntry, str] = {}
        for table, fields in self._dict("index", document.get("index", {})).items():
            for field, entries in self._dict(f"index[{table!r}]", fields).items():
                where = f"index[{table!r}][{field!r}]"
                for text, pk in self._dict(where, entries).items():
                    self.index[table, field, text] = self._text(f"{where}[{text!r}]", pk)

    def _decoded(self, data: object) -> dict[str, Any]:
        if not isinstance(data, bytes | bytearray | str):
            raise StorageError(f"invalid dump: it is {described(data)}; pass the result of dump() to Store.load")
        try:
            document = decode_json(data.encode() if isinstance(data, str) else bytes(data))
        except ValueError as error:
            raise StorageError(
                f"invalid dump: it is not JSON: {error}; pass the result of dump() to Store.load"
            ) from None
        known = document.get("restencil") if is_dict(document) else None
        if not is_dict(document) or not isinstance(known, str) or not known.startswith("dump/"):
            raise StorageError(
                f'invalid dump: it begins with {str(data[:40])!s}; expected {{"restencil":"{FORMAT}"; '
                "pass the result of dump() to Store.load"
            )
        if known != FORMAT:
            raise StorageOff(
                f"the dump has the format {known!r}, but this version of restencil reads {FORMAT!r}: use the newer "
                "version of restencil that wrote it, or create the dump again with this one"
            )
        for name in ("times", "tables", "results"):
            if name not in document:
                raise StorageError(f"invalid dump: it lacks {name!r}")
        return document

    def _table(self, where: str, table: str, value: object) -> None:
        found = self._dict(where, value)
        incomplete = self._truth(f"{where}['incomplete']", found.get("incomplete"))
        rows = self._dict(f"{where}['rows']", found.get("rows"))
        self.rows[table] = [self._row(f"{where}['rows'][{pk!r}]", table, pk, row) for pk, row in rows.items()]
        self.tables[table] = TableInfo(max(1, len(rows)), incomplete)

    def _row(self, where: str, table: str, pk: str, value: object) -> StoredRow:
        found = self._list(where, value)
        if len(found) != 3:
            raise _misfit(where, "a list of shape, time and value", found)
        shape, times, stored = found
        wanted = "a list or an object" if is_collection(table) else "an object"
        if stored is not None and not is_dict(stored) and not (is_collection(table) and is_list(stored)):
            raise _misfit(f"{where}[2]", f"{wanted}, or null for a deleted row", stored)
        at = self._at(f"{where}[1]", times)
        if is_dict(stored) and at.expires_at <= _STALE:
            stored.pop(WHOLE, None)  # no member of a stale record is fresh by an older response
        data = None if stored is None else encode_exactly(stored)
        return StoredRow(table, pk, 0, 0, at, self._text(f"{where}[0]", shape), data, _since(at))

    def _result(self, where: str, key: str, value: object) -> StoredResult:
        found = self._list(where, value)
        if len(found) not in (3, 4):
            raise _misfit(where, "a list of shape, time, whether it is invalidated, and value", found)
        invalidated = self._truth(f"{where}[2]", found[2])
        data = encode_exactly(found[3]) if len(found) == 4 else None
        shape, times = self._text(f"{where}[0]", found[0]), self._at(f"{where}[1]", found[1])
        return StoredResult(key, 0, times, shape, invalidated, data, _since(times))

    def _at(self, where: str, place: object) -> Meta:
        if type(place) is not int or not 0 <= place < len(self._times):
            raise _misfit(where, f"the index of one of {len(self._times)} times", place)
        times = self._times[place]
        return times._replace(expires_at=min(times.expires_at, _STALE)) if self._is_stale else times

    def _meta(self, where: str, value: object) -> Meta:
        times = self._list(where, value)
        if len(times) != 3 or not all(time is None or type(time) in (int, float) for time in times):
            raise _misfit(where, "three times in ms, or null for infinity", times)
        return Meta(*(inf if time is None else float(time) for time in times))

    def _list(self, where: str, value: object) -> list[Any]:
        if not is_list(value):
            raise _misfit(where, "a list", value)
        return value

    def _dict(self, where: str, value: object) -> dict[str, Any]:
        if not is_dict(value):
            raise _misfit(where, "an object", value)
        return value

    def _truth(self, where: str, value: object) -> bool:
        if not isinstance(value, bool):
            raise _misfit(where, "true or false", value)
        return value

    def _text(self, where: str, value: object) -> str:
        if not isinstance(value, str):
            raise _misfit(where, "a string", value)
        return value


def _since(times: Meta) -> int:
    return _BEFORE if times.expires_at <= _STALE else _LATEST


def _misfit(where: str, expected: str, found: object) -> StorageError:
    return StorageError(f"invalid dump: {where} is {described(found)}, {found!r:.80}; expected {expected}")


def storage_of(data: bytes | str, times: str) -> DumpStorage:
    """Return a storage that is filled from a dump.

    Raises StorageError for an invalid dump, and ValueError for an unknown option `times`.
    """
    if times not in TIMES:
        raise ValueError(f"times is {times!r}; expected one of {', '.join(TIMES)}")
    return DumpStorage(data, times)
