"""Normalization: a response becomes records in tables and a result of primary keys.

`Normalization` is the interpreter, which says what is written and is given to the schemas as their writer;
`normalize_compiled` collects records with functions that do the same, and writes them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..base.logs import logger
from ..base.values import INVALID, SCALARS, TUPLE, UNDEFINED, Meta, kind_of
from ..schema.protocol import EntityNode, Schema
from ..schema.record import class_record, is_instance, to_wire
from ..schema.stored import is_partial, record_of
from .completeness import note_whole
from .merge import StoredEntry, apply
from .tables import EMPTY, ChangeSet, State, Tables
from .write_set import EditList, MergeRecord, PutList, ReplaceRecord, WriteSet

if TYPE_CHECKING:
    from .request import Rules


class Normalization:
    """One pass over one response: it writes a `ChangeSet` over the state that it sees below.

    `args` are the endpoint's arguments, `meta` the action's times, `placeholder_id` what placeholder keys are made
    from, of entities whose creation is only expected, `where` a phrase for errors that says which response this is.
    With `owns_response` the response was decoded for this pass alone, so its objects may become records as they
    are. With `strict` a list is no object and an object no list; with `replaces` the entities of the response itself,
    not those nested in others, replace what is stored.
    """

    def __init__(
        self,
        underlying: State,
        args: tuple[Any, ...],
        meta: Meta,
        *,
        placeholder_id: int | None = None,
        where: str = "",
        owns_response: bool = False,
        strict: bool = False,
        replaces: bool = False,
        rules: Rules | None = None,
    ) -> None:
        self.underlying = underlying
        self.rules = rules
        """Those of the endpoint that was answered; None for a value that was set."""
        self.is_certain = True
        """Whether the records are as the server has them; False if the sent body fills gaps of the response."""
        self.has_references = False
        """Whether the response refers to an entity by its primary key alone."""
        has_nulls = rules is not None and rules.read.needs == "required" and placeholder_id is None
        self.null_rules = rules if has_nulls else None
        """Those by which fields that complete records leave out are null; None if that is not known."""
        self.args = args
        self.meta = meta
        self.change = ChangeSet(underlying, meta)
        self.where = where
        self.owns_response = owns_response
        self.strict = strict
        self.replaces = replaces
        self.write_set: WriteSet | None = None
        """The operations of the response, recorded if the store has a storage."""
        self.result: Any = UNDEFINED
        """What the response as a whole was stored as."""
        self.written: dict[tuple[int, str], str] = {}
        """Which primary key each object of the response got, by the object's identity and table."""
        self.processed: dict[tuple[int, str], Mapping[str, Any]] = {}
        """What an overridden `process` made of an object of the response, by the object's identity and table."""
        self.chosen: dict[tuple[int, int], Schema] = {}
        """Which schema a function chose for a polymorphic object of the response, by both identities."""
        self.enclosing: tuple[Mapping[str, Any], str] | None = None
        """The processed record of the entity that is being normalized, and the field."""
        self._alive: list[Any] = []
        self._creating = 0
        self._placeholder_id = placeholder_id
        self._placeholders = 0
        self._passed: dict[str, dict[str, Any]] = {}
        self._reborn: set[tuple[str, str]] = set()
        self._nested: set[tuple[str, str]] = set()

    def notes(self) -> None:
        """Records the operations from now on, for a store with a storage."""
        self.write_set = WriteSet(self._passed)

    def write(self, schema: Schema, response: Any) -> Any:
        """Normalizes a whole response; returns the result to store, `UNDEFINED` where nothing is.

        Raises ProcessingError where the response does not fit the schema.
        """
        self.result = self.visit(schema, response, response, None)
        self.settle()
        return self.result

    def settle(self) -> None:
        """Writes what waits to be written; here nothing ever does."""

    # -- the recursion ---------------------------------------------------------------------------------------------

    def visit(self, schema: Schema | None, value: Any, parent: Any, key: str | None) -> Any:
        """The stored form of one value."""
        if schema is None or value is None:
            return value
        kind = kind_of(value)
        if kind is dict or kind is list:
            return schema.normalize(value, parent, key, self)
        if kind in SCALARS:
            return schema.normalize_scalar(value, self)
        if is_instance(value):
            record = to_wire(value)
            self._alive.append((value, record))
            stored = schema.normalize(record, parent, key, self)
            table = getattr(class_record(kind), "key", "")
            pk = self.written.get((id(record), table))
            if pk is not None:
                self.written[id(value), table] = pk
            return stored
        if isinstance(value, TUPLE):
            return schema.normalize(list(value), parent, key, self)
        if isinstance(value, (Mapping, list)):
            return schema.normalize(value, parent, key, self)
        return value

    def created(self, normalize: Callable[..., Any], *args: Any) -> Any:
        """Normalizes what a creation brought: a record without a primary key gets a placeholder."""
        self._creating += 1
        try:
            return normalize(*args)
        finally:
            self._creating -= 1

    def placeholder(self) -> str | None:
        """A placeholder key, the same in every pass of one action; None where nothing is being created."""
        if not self._creating or self._placeholder_id is None:
            return None
        self._placeholders += 1
        return f"MISS-{self._placeholder_id}-{self._placeholders - 1}"

    def visited(self, value: Any, table: str, pk: str) -> bool:
        """Whether this very object was already visited as this entity; notes it otherwise."""
        place = (id(value), table)
        if self.written.get(place) == pk:
            return True
        self.written[place] = pk
        return False

    def keep(self, value: Mapping[str, Any], processed: Mapping[str, Any], table: str) -> None:
        """Remembers what `process` made of an object of the response.

        Objects are identified by their ids, so one that a hook makes must live as long as the pass.
        """
        self._alive.append(processed)
        self.processed[id(value), table] = processed

    def note_nested_collection(self, table: str, pk: str) -> None:
        """Warns where nested lists of several entities are one because nothing of their entities is in their keys."""
        if (table, pk) in self._nested:
            logger.warning(
                "the collection %s %s is nested in several entities of one response and has no nest_key, so they share "
                "one list; give the Collection a nest_key%s",
                table,
                pk,
                self.where,
            )
        self._nested.add((table, pk))

    # -- writing ---------------------------------------------------------------------------------------------------

    def record_before(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """The record as it stood before this pass, None where there was none."""
        found = self.underlying.get(table, pk)
        return None if found is UNDEFINED or found is INVALID else record_of(found)

    def stored_record(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """The record as it stands at this point of the pass, None where there is none."""
        found = self.change.get(table, pk)
        return None if found is UNDEFINED or found is INVALID else record_of(found)

    def is_stored(self, table: str, pk: str) -> bool:
        """Whether the table has an entry at this point of the pass; INVALID counts as one."""
        return self.change.get(table, pk) is not UNDEFINED

    def passed(self, table: str) -> dict[str, Any]:
        """What this response brought of the entities of a table, by itself."""
        found = self._passed.get(table)
        if found is None:
            found = self._passed[table] = {}
        return found

    def write_entity(self, schema: EntityNode, pk: str, record: dict[str, Any]) -> None:
        """Stores a record, merged with those of this entity that are there."""
        table, change, meta = schema.table_key, self.change, self.meta
        if self.null_rules is not None and self.is_certain:
            record = self.null_rules.with_nulls(schema.wire_model, record)
        earlier = self._earlier_in_response(table, pk)
        before = self.underlying.get(table, pk)
        if earlier is not None:
            # A record that comes twice in one response is merged with itself first, so that an old response's second
            # occurrence cannot overwrite newer data.
            if earlier is INVALID:
                self._reborn.add((table, pk))
                if self.write_set is not None:
                    self.write_set.recreates((table, pk))
            else:
                record = schema.joined(earlier, record)
            if (table, pk) in self._reborn:
                before = UNDEFINED  # invalidated by this very response and written again: a new record
        self.passed(table)[pk] = record
        if self.write_set is not None:
            self.write_set.wrote(schema, (pk,))
        former = change.get(table, pk) if schema.indexes else UNDEFINED
        if before is UNDEFINED:
            stored = schema.to_store(record if earlier is None else {**record})
        elif self.replaces and self.enclosing is None:
            held = StoredEntry(before, self.underlying.meta(table, pk) or meta)
            replaced = apply(ReplaceRecord(schema, record), pk, held, meta)
            assert replaced is not None
            stored, meta, _ = replaced
            if self.write_set is not None:
                self.write_set.replaces((table, pk))
        else:
            stored, meta = self._merged(schema, pk, before, record)
        change.write(table, pk, stored, meta)
        if schema.indexes and stored is not INVALID:
            for name in change.write_index(table, schema.indexes, pk, former, stored):
                logger.warning("%s %s lacks the indexed field %r; it cannot be found by it", table, pk, name)

    def _merged(self, schema: EntityNode, pk: str, before: Any, record: dict[str, Any]) -> tuple[Any, Meta]:
        """A record merged with the one that is stored, and its times."""
        table, underlying, own = schema.table_key, self.underlying, self.meta
        whole = underlying.whole(table, pk) if type(underlying) is Tables else None
        held = StoredEntry(before, underlying.meta(table, pk) or own, whole)
        merged = apply(MergeRecord(schema, record, self.rules), pk, held, own)
        assert merged is not None
        if merged.whole is not None and whole is not None:
            note_whole(self.change, table, pk, merged.whole, merged.stored)
        return merged.stored, merged.times

    def record_in_response(self, table: str, pk: str) -> Mapping[str, Any] | None:
        """A record as this response brought it; None where it brought none."""
        found = self._passed.get(table, {}).get(pk, UNDEFINED)
        return self.stored_record(table, pk) if found is UNDEFINED or found is INVALID else found

    def is_whole_in_response(self, table: str, pk: str) -> bool:
        """Whether this response brought a record with all members that its endpoint says it needs."""
        rules = self.rules
        if rules is None or rules.reach is None or not self.is_certain:
            return False
        names = self.record_in_response(table, pk)
        models = rules.reach.models.get(table, ())
        return names is not None and any(rules.required_fields(model)[0] <= names.keys() for model in models)

    def _earlier_in_response(self, table: str, pk: str) -> Any:
        """What this response brought of an entity before, None where it is new in it."""
        earlier = self.passed(table).get(pk)
        if earlier is None:
            written = self.change.entities.get(table, EMPTY).get(pk)
            if written is not None:
                return record_of(written)  # compiled code wrote it: a new record, or one like that stored before
        return earlier

    def write_invalid(self, table: str, pk: str) -> None:
        """Marks an entity as deleted or unusable; that wins over whatever is stored."""
        self.passed(table)[pk] = INVALID
        self._reborn.discard((table, pk))
        self.change.write(table, pk, INVALID, self.meta)

    def open_table(self, table: str) -> None:
        """Makes a table known, whether or not anything is in it: the response was a list of all that it holds."""
        self.change.open_table(table)

    def stored_collection(self, table: str, pk: str) -> Any:
        """The stored list or dict of a collection at this point of the pass, None where there is none."""
        found = self.change.get(table, pk)
        return None if found is UNDEFINED or found is INVALID else found

    def collections(self, table: str) -> list[tuple[str, Any]]:
        """Every stored collection of a table, with its primary key."""
        found = [(pk, self.stored_collection(table, pk)) for pk in self.change.pks(table)]
        return [(pk, stored) for pk, stored in found if stored is not None]

    def write_collection(self, table: str, pk: str, items: Any, schema: Schema | None = None) -> None:
        """Replaces a collection, unless the stored one was fetched later."""
        self.change.collections.add(table)
        if self.write_set is not None and not is_partial(items):
            self.write_set.did(PutList(table, pk, items, is_page=False))
        before, times = self.underlying.get(table, pk), self.underlying.meta(table, pk)
        held = None if before is UNDEFINED or times is None else StoredEntry(before, times)
        put = apply(PutList(table, pk, items, is_page=False), pk, held, self.meta)
        assert put is not None
        stored, meta, _ = put
        if stored is not before or meta is self.meta:
            (self.change.pages if is_partial(items) else self.change.full_lists)[table, pk] = schema
        self.change.write(table, pk, stored, meta)
        self._keep_number(table, pk)

    def note_page(self, table: str, pk: str, schema: Schema, items: Any) -> None:
        """What is added to this collection is a page of it."""
        self.change.pages[table, pk] = schema
        if self.write_set is not None:
            self.write_set.did(PutList(table, pk, items, is_page=True))

    def note_joins(
        self,
        table: str,
        pk: str | None,
        accepts: Callable[[str], bool],
        change: Callable[[str, Any], Any],
        *,
        refreshes: bool = False,
        moved: Mapping[tuple[str, str], Any] | None = None,
        change_of: Callable[[Mapping[tuple[str, str], Any]], Callable[[str, Any], Any]] | None = None,
    ) -> None:
        """Notes what is done to all collections of a table that are accepted, or to one.

        `change_of` makes `change` from the entities' records before and after; `moved` has those that are known.
        """
        if self.write_set is not None:
            self.write_set.did(
                EditList(table, pk, accepts, change, refreshes, moved or {}, change_of, keeps_times=self._keeps_times)
            )

    def change_collection(self, table: str, pk: str, changed: Any) -> None:
        """Stores a collection that something was added to or taken from; its times become this action's."""
        self.change.collections.add(table)
        self.change.write(table, pk, changed, self._times_of_collection(table, pk))
        self._keep_number(table, pk)

    def _keep_number(self, table: str, pk: str) -> None:
        """A list whose times stay was brought by the request that brought it before."""
        underlying, times = self.underlying, self.change.times_of(table, pk)
        if type(underlying) is Tables and times is underlying.meta(table, pk):
            before = underlying.partial.get(table, EMPTY).get(pk)
            if before is not None:
                self.change.partial.setdefault(table, {})[pk] = before

    @property
    def _keeps_times(self) -> bool:
        return self.rules is not None and not self.rules.lists.joins_refresh

    def _times_of_collection(self, table: str, pk: str) -> Meta:
        old_meta = self.change.meta(table, pk)
        if old_meta is not None and self._keeps_times:
            return old_meta  # that something joined it makes no list fresher
        return old_meta if old_meta is not None and self.meta.fetched_at < old_meta.fetched_at else self.meta
