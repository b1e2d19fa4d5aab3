"""Other processes over the same storage, driven by hand: what they were answered, they commit when a test says so."""

from __future__ import annotations

from typing import Any

from restencil import Controller, MemoryStorage, Store
from restencil.base.values import INVALID, UNDEFINED, Meta, is_dict
from restencil.cache.actions import SetResponse
from restencil.persistence.row_codec import encode_collection, encode_result
from restencil.persistence.schema_fingerprint import SchemaRegistry, fingerprint_of, fingerprint_of_endpoint
from restencil.schema.stored import record_of
from restencil.storage import Batch, Entry, StoredResult, StoredRow


class Other:
    """Another process: a store in memory, of which `publish` commits what changed since the last time."""

    def __init__(self, storage: MemoryStorage, clock: Any, place: str = "http://api.test") -> None:
        self.storage = storage.another()
        self.clock = clock
        self.opened = self.storage.open(place, clock)
        self.epoch = self.opened.epoch
        self.store = Store(clock=clock)
        self.controller = Controller(self.store)
        self.registry = SchemaRegistry()
        self.everything = False
        """Whether its commits are too big to be listed."""
        self._rules: dict[str, Any] = {}
        self._classes: dict[str, Any] = {}
        self._rows: dict[tuple[str, str], tuple[Any, Meta]] = {}
        self._results: dict[str, Any] = {}
        self._revs: dict[tuple[str, str], int] = {}
        self._index: dict[tuple[str, str, str], str] = {}

    def answered(self, endpoint: Any, response: Any, /, *args: Any, length: float = 60_000, **kwargs: Any) -> Other:
        """An answer arrives there."""
        bound = endpoint.bind_args(args, kwargs)
        request = endpoint.request(bound)
        self._rules[request.key] = request.rules
        now = self.clock()
        self.store.apply(SetResponse(request, response, Meta(now, now, now + length), self.store.next_id()))
        self.registry.register(request.rules.schema)
        return self

    def publish(
        self, *, listed: tuple[str, ...] = (), drop: tuple[Any, ...] = (), incomplete: tuple[str, ...] = ()
    ) -> int:
        """Commits what changed; the number of the commit."""
        base = self.store._store_state.base
        rows: list[StoredRow] = []
        changed: dict[str, list[str]] = {}
        for table, cells in base.entities.items():
            for pk, stored in cells.items():
                times = base.metas[table][pk]
                if self._rows.get((table, pk)) == (stored, times):
                    continue
                rows.append(self._row(table, pk, stored, times))
                changed.setdefault(table, []).append(pk)
                self._rows[table, pk] = stored, times
        results, keys = self._changed_results()
        index = {
            (table, name, text): pk
            for table, names in base.indexes.items()
            for name, entries in names.items()
            for text, pk in entries.items()
        }
        new = {entry: pk for entry, pk in index.items() if self._index.get(entry) != pk}
        self._index = index
        gone: dict[str, list[str]] = {}
        for place in drop:
            if not isinstance(place, str):
                gone.setdefault(place[0], []).append(place[1])
        keys += [place for place in drop if isinstance(place, str)]
        entry = Entry(0, "other", None, changed, {}, gone, keys, self.everything)
        batch = Batch(self.epoch, rows, results, [*drop], dict(new), {}, [*listed], [*incomplete], [], [], entry)
        outcome = self.storage.commit(batch)
        if outcome.moved is not None:
            for row in outcome.moved.rows:
                self._revs[row.table, row.pk] = row.rev
            revs = self._revs
            batch = batch._replace(rows=[row._replace(rev=revs.get((row.table, row.pk), 0)) for row in batch.rows])
            outcome = self.storage.commit(batch)
        assert outcome.number, outcome
        self._revs.update({(row.table, row.pk): outcome.number for row in rows})
        return outcome.number

    def reset(self) -> None:
        """Begins anew, as by a logout."""
        self.epoch = self.storage.reset()
        self.store = Store(clock=self.clock)
        self.controller = Controller(self.store)
        for kept in (self._rows, self._results, self._revs, self._index):
            kept.clear()

    def _row(self, table: str, pk: str, stored: Any, times: Meta) -> StoredRow:
        rev = self._revs.get((table, pk), 0)
        if stored is INVALID:
            return StoredRow(table, pk, rev, 0, times, self._shape(table), None)
        if table[:1] in ("[", "{"):
            return StoredRow(table, pk, rev, 0, times, "", encode_collection(stored))
        assert is_dict(record_of(stored))
        return StoredRow(table, pk, rev, 0, times, self._shape(table), self.registry.rules(table).encode(stored))

    def _shape(self, table: str) -> str:
        return fingerprint_of(next(iter(self.registry.classes(table))))

    def _changed_results(self) -> tuple[list[StoredResult], list[str]]:
        base = self.store._store_state.base
        found: list[StoredResult] = []
        for key, meta in base.key_metas.items():
            result = base.results.get(key, UNDEFINED)
            now = (result, meta.date, meta.expires_at, meta.invalidated)
            if self._results.get(key) == now or meta.error is not None:
                continue
            self._results[key] = now
            rules = self._rules.get(key)
            shape = "*" if rules is None else fingerprint_of_endpoint(rules)
            times = Meta(meta.fetched_at, meta.date, meta.expires_at)
            value = None if meta.invalidated else encode_result(result, None if rules is None else rules.schema)
            found.append(StoredResult(key, 0, times, shape, meta.invalidated, value))
        return found, [result.key for result in found]
