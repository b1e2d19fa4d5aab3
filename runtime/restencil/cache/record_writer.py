"""Writes the records of one response over a state, merged with stored records of the same entities.

Schemas write one record at a time. Compiled functions collect primary keys and records in the order of the response;
`settle` writes these by table, because most checks are faster for many records at once: whether one of them appears
twice, is stored already, or differs from the stored one.
"""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from ..base.logs import logger
from ..base.values import INVALID, UNDEFINED, Meta, holds_containers, kind_of, same_json
from ..schema.record import new_instance, set_members
from ..schema.stored import known_record, record_of
from .merge import StoredEntry, apply, note_part, note_whole
from .tables import EMPTY, ChangeSet, State, Tables
from .write_set import MergeRecord, ReplaceRecord, WriteSet

if TYPE_CHECKING:
    from ..schema.entity import EntityModel, EntitySchema
    from .request import Rules

Records: TypeAlias = "list[dict[str, Any]]"

_BY_VALUE: Final = 2
"""The version of the marshal format whose output depends on values only, not on object identity."""

_copy: Final[Callable[[dict[str, Any]], dict[str, Any]]] = dict[str, Any].copy


class RecordWriter:
    """Writes the records of one response into a `ChangeSet` over the underlying state.

    With `owns_response`, the objects of the response may become records without a copy. With `replaces`, the entities
    of the response itself, but not nested ones, replace stored records.
    """

    many: ClassVar[int] = 24
    """The number of records of a table from which on they are checked together, which has a fixed cost.

    Benchmarks: normalize the parsed response into an empty store, and merging into a full one.
    """

    _collected: dict[EntityModel, tuple[list[str], Records]] | None = None
    _shared = False
    """Whether two classes of one table were collected, so that records are written after each visit."""

    def __init__(
        self,
        underlying: State,
        meta: Meta,
        *,
        owns_response: bool,
        replaces: bool,
        rules: Rules | None,
        null_rules: Rules | None,
    ) -> None:
        self.underlying = underlying
        self.meta = meta
        self.rules = rules
        """The rules of the endpoint; None for a value that was set."""
        self.null_rules = null_rules
        """The rules that define which omitted fields of complete records are null; None if unknown."""
        self.owns_response = owns_response
        self.replaces = replaces
        self.change = ChangeSet(underlying, meta)
        self.is_certain = True
        """Whether the records are those of the server; False if the request body replaces omitted response fields."""
        self.enclosing: tuple[Mapping[str, Any], str] | None = None
        """The processed record of the entity that is being normalized, and the field."""
        self.write_set: WriteSet | None = None
        """The operations of the response, recorded if the store has a storage."""
        self._passed: dict[str, dict[str, Any]] = {}
        self._reborn: set[tuple[str, str]] = set()

    def notes(self) -> None:
        """Start recording operations, for a store with a storage."""
        self.write_set = WriteSet(self._passed)

    # -- stored records --------------------------------------------------------------------------------------------

    def record_before(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """Return the record as it was before this pass; None if there was none."""
        return known_record(self.underlying.get(table, pk))

    def stored_record(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """Return the record at this point of the pass; None if there is none."""
        self.settle()
        return known_record(self.change.get(table, pk))

    def is_stored(self, table: str, pk: str) -> bool:
        """Return whether the table has an entry, including INVALID, at this point of the pass."""
        self.settle()
        return self.change.get(table, pk) is not UNDEFINED

    def passed(self, table: str) -> dict[str, Any]:
        """Return the records of a table as this response contained them, before merging."""
        found = self._passed.get(table)
        if found is None:
            found = self._passed[table] = {}
        return found

    def record_in_response(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """Return a record as this response contained it, or else the stored one; None if there is none."""
        found = self._passed.get(table, {}).get(pk, UNDEFINED)
        return self.stored_record(table, pk) if found is UNDEFINED or found is INVALID else found

    def is_whole_in_response(self, table: str, pk: str) -> bool:
        """Return whether this response contained a record with all fields that its endpoint requires."""
        rules = self.rules
        if rules is None or rules.reach is None or not self.is_certain:
            return False
        record = self.record_in_response(table, pk)
        if record is None:
            return False
        for model in rules.reach.models.get(table, ()):
            if rules.required_fields(model) <= record.keys():
                return True
        return False

    # -- one record ------------------------------------------------------------------------------------------------

    def write_entity(self, schema: EntitySchema, pk: str, record: dict[str, Any]) -> None:
        """Write a record, merged with the stored and earlier records of its entity."""
        self.settle()
        if self.null_rules is not None and self.is_certain:
            record = self.null_rules.with_nulls(schema.wire_model, record)
        if self.write_set is not None:
            self.write_set.written += schema, (pk,)
        self._put(schema, pk, record)

    def _put(self, schema: EntitySchema, pk: str, record: dict[str, Any]) -> None:
        table, change, meta = schema.table_key, self.change, self.meta
        before, passed = self.underlying.get(table, pk), self.passed(table)
        earlier = passed.get(pk)
        if earlier is None:
            written = change.entities.get(table, EMPTY).get(pk)
            if written is not None:
                earlier = record_of(written)  # compiled code wrote it: it is new, or equal to the stored record
        if earlier is not None:
            # Records that appear twice in one response are merged with each other first, so that the second one in an
            # old response cannot overwrite newer data.
            if earlier is INVALID:
                self._reborn.add((table, pk))
                if self.write_set is not None:
                    self.write_set.recreated.add((table, pk))
            else:
                record = schema.joined(earlier, record)
            if (table, pk) in self._reborn:
                before = UNDEFINED  # this response invalidated it and wrote it again: a new record
        passed[pk] = record
        indexes = schema.model.indexes
        former = change.get(table, pk) if indexes else UNDEFINED
        if before is UNDEFINED:
            stored = schema.to_store(record if earlier is None else {**record})
        elif self.replaces and self.enclosing is None:
            held = StoredEntry(before, self.underlying.meta(table, pk) or meta)
            replaced = apply(ReplaceRecord(schema, record), pk, held, meta)
            assert replaced is not None
            stored, meta, _ = replaced
            if self.write_set is not None:
                self.write_set.replaced.add((table, pk))
        else:
            stored, meta = self._merged(schema, pk, before, record)
        change.write(table, pk, stored, meta)
        if indexes and stored is not INVALID:
            for name in change.write_index(table, indexes, pk, former, stored):
                logger.warning("%s %s lacks the indexed field %r, so a lookup by it finds nothing", table, pk, name)

    def _merged(self, schema: EntitySchema, pk: str, before: Any, record: dict[str, Any]) -> tuple[Any, Meta]:
        """Merge a record with the stored one; return the result and its times."""
        table, underlying, own = schema.table_key, self.underlying, self.meta
        whole = underlying.whole(table, pk) if type(underlying) is Tables else None
        held = StoredEntry(before, underlying.meta(table, pk) or own, whole)
        merged = apply(MergeRecord(schema, record, self.rules), pk, held, own)
        assert merged is not None
        if merged.whole is not None and whole is not None:
            note_whole(self.change, table, pk, merged.whole, merged.stored)
        return merged.stored, merged.times

    def write_invalid(self, table: str, pk: str) -> None:
        """Mark an entity as deleted or unusable, regardless of the stored record."""
        self.settle()
        self.passed(table)[pk] = INVALID
        self._reborn.discard((table, pk))
        self.change.write(table, pk, INVALID, self.meta)

    # -- records collected by compiled functions -------------------------------------------------------------------

    def collect(self, model: EntityModel) -> tuple[list[str], Records]:
        """Return lists for the primary keys and records of an entity, which a compiled function appends to."""
        collected = self._collected
        if collected is None:
            collected = self._collected = {}
        found = collected.get(model)
        if found is None:
            for other in collected:
                if other.key == model.key:
                    self._shared = True
            found = collected[model] = [], []
        if self._shared:
            self.settle()
        return found

    def arrived(self, model: EntityModel, pk: str, record: dict[str, Any]) -> None:
        """Collect one record; it is written at once if no others are collected."""
        if self._collected is None:
            self._write(model, [pk], [record])
        else:
            pks, records = self.collect(model)
            pks.append(pk)
            records.append(record)

    def settle(self) -> None:
        """Write the collected records; everything that reads or writes the change calls this first."""
        collected = self._collected
        if collected is not None:
            for model, (pks, records) in collected.items():
                if pks:
                    self._write(model, pks, records)
                    pks.clear()
                    records.clear()

    def _write(self, model: EntityModel, pks: list[str], records: Records) -> None:
        """Write records of one entity."""
        if self.null_rules is not None and self.is_certain:
            records = [self.null_rules.with_nulls(model, record) for record in records]
        if self.write_set is not None:
            self.write_set.written += model.node, (*pks,)
        if type(self.underlying) is Tables:
            self._write_over(self.underlying, model, pks, records)
        else:
            for pk, record in zip(pks, records, strict=True):
                self._put(model.node, pk, record if model.relations else {**record})

    def _write_over(self, underlying: Tables, model: EntityModel, pks: list[str], records: Records) -> None:
        """Write records of one entity over the tables, which are read without a call for each record."""
        table, change = model.key, self.change
        written = change.entities.get(table)
        if written is None:
            written = change.entities[table] = {}
        elif change.differing:
            change.differing.pop(table, None)
        stored = underlying.entities.get(table, EMPTY)
        if len(pks) >= self.many:
            pks, records = self._write_many(model, pks, records, written, stored)
        fetched_at = self.meta.fetched_at
        times = underlying.metas[table] if underlying.latest.get(table, 0) > fetched_at else EMPTY
        cls, hidden, copied, ready, merges = model.cls, model.members, bool(model.relations), model.direct, model.merges
        owns_response = copied or self.owns_response
        for place, pk in enumerate(pks):
            record = records[place]
            again = pk in written
            before: Any = stored.get(pk, UNDEFINED)
            if before is UNDEFINED and not again:
                if not ready:
                    written[pk] = record if owns_response else {**record}
                elif holds_containers(record) or not hidden.isdisjoint(record):
                    written[pk] = model.stored({**record})
                else:
                    written[pk] = made = new_instance(cls)
                    set_members(made, record if owns_response else {**record})
            elif again or merges or before is INVALID or (times and fetched_at < times[pk].fetched_at):
                self._put(model.node, pk, record if copied else {**record})
            else:
                existing: dict[str, Any] = before if kind_of(before) is dict else before.__dict__
                if same_json(existing, record):
                    written[pk] = before
                else:
                    self._lay_over(model, pk, record, before, written)

    def _lay_over(
        self, model: EntityModel, pk: str, record: dict[str, Any], before: Any, written: dict[str, Any]
    ) -> None:
        """Write a record that differs from the previous one."""
        existing: dict[str, Any] = before if kind_of(before) is dict else before.__dict__
        merged = {**existing, **record}
        unchanged = len(merged) != len(record) and same_json(existing, merged)
        written[pk] = before if unchanged else model.stored(merged)
        if len(merged) != len(record):
            note_part(self.change, self.rules, model.node, pk, record, merged)
        self.passed(model.key)[pk] = record if self.owns_response or model.relations else {**record}

    def _write_many(
        self,
        model: EntityModel,
        pks: list[str],
        records: Records,
        written: dict[str, Any],
        stored: Mapping[str, object],
    ) -> tuple[list[str], Records]:
        """Write records together if all are new or all are stored; return those that are left to be written."""
        arrived: dict[str, Any]
        if not (written or stored):
            arrived = dict(zip(pks, self._kept(model, records), strict=True))
            if len(arrived) == len(pks):
                self.change.entities[model.key] = arrived
                return [], []
        arrived = dict(zip(pks, records, strict=True))
        if len(arrived) != len(pks):
            if model.merges or not _agree(arrived, pks, records):
                return pks, records
            pks, records = list(arrived), list(arrived.values())
        # No record appears twice, so they need not be merged with each other.
        if written and not written.keys().isdisjoint(arrived):
            return pks, records
        if not stored or stored.keys().isdisjoint(arrived):
            written.update(zip(pks, self._kept(model, records), strict=True))
            return [], []
        return pks, records

    def _kept(self, model: EntityModel, records: Records) -> Iterable[Any]:
        """Return the stored forms of new records."""
        if model.relations:
            return records
        own = records if self.owns_response else map(_copy, records)
        if not model.direct:
            return own
        names: set[str] = set()
        if any(map(holds_containers, records)) or not model.members.isdisjoint(names.union(*records)):
            return [model.stored({**record}) for record in records]
        made = list(map(new_instance, repeat(model.cls, len(records))))
        deque(map(set_members, made, own), 0)
        return made


def _agree(arrived: Mapping[str, object], pks: list[str], records: Records) -> bool:
    """Return whether all records of entities that appear several times are equal.

    Equal records nearly always have equal marshalled forms. (Benchmark: fetch of a page of 50.)
    """
    try:
        if marshal.dumps([*map(arrived.__getitem__, pks)], _BY_VALUE) == marshal.dumps(records, _BY_VALUE):
            return True
    except ValueError:  # a value is not JSON
        pass
    return all(map(same_json, map(arrived.__getitem__, pks), records))
