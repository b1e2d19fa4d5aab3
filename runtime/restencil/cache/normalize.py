"""Normalization of responses into records in tables and results of primary keys.

Schemas write to a `Normalization`. For frequent schemas, compiled functions of `normalize_compiled` replace theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ..base.logs import logger
from ..base.values import INVALID, SCALARS, TUPLE, UNDEFINED, Meta, kind_of
from ..schema.protocol import Schema
from ..schema.record import class_record, is_instance, to_wire
from ..schema.stored import is_partial
from .merge import StoredEntry, apply
from .normalize_compiled import normalizer
from .record_writer import RecordWriter
from .tables import EMPTY, State, Tables
from .write_set import EditList, PutList

if TYPE_CHECKING:
    from .request import Rules

T = TypeVar("T")


class Normalization(RecordWriter):
    """One pass over one response, which writes a `ChangeSet` over the underlying state.

    `args` are the endpoint's arguments, `meta` the action's times, `placeholder_id` the number in placeholder keys of
    optimistically created entities, `where` a phrase for errors that identifies the response. With `owns_response`, the
    objects of the response may become records without a copy. With `strict`, lists and objects are not converted into
    each other; with `replaces`, the entities of the response itself, but not nested ones, replace stored records.
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
        takes_nulls = rules is not None and rules.read.needs == "required" and placeholder_id is None
        super().__init__(
            underlying,
            meta,
            owns_response=owns_response,
            replaces=replaces,
            rules=rules,
            null_rules=rules if takes_nulls else None,
        )
        self.args = args
        self.where = where
        self.strict = strict
        self.referred: dict[str, set[str]] = {}
        """By table, the entities that the response refers to by primary key only."""
        self.result: Any = UNDEFINED
        """The normalized result of the whole response."""
        self.written: dict[tuple[int, str], str] = {}
        """The primary keys of objects of the response, by the object's identity and table."""
        self.processed: dict[tuple[int, str], Mapping[str, Any]] = {}
        """The results of overridden `process` methods, by the object's identity and table."""
        self.chosen: dict[tuple[int, int], Schema] = {}
        """The schemas that a function chose for polymorphic objects of the response, by both identities."""
        self._alive: list[Any] = []
        self._creating = 0
        self._placeholder_id = placeholder_id
        self._placeholders = 0
        self._nested: set[tuple[str, str]] = set()

    def write(self, schema: Schema, response: object) -> object:
        """Normalize a whole response; return the result to store, or `UNDEFINED` for none.

        Raises ProcessingError if the response does not match the schema.
        """
        self.result = self.visit(schema, response, response, None)
        self.settle()
        return self.result

    # -- the recursion ---------------------------------------------------------------------------------------------

    def visit(self, schema: Schema | None, value: Any, parent: Any, key: str | None) -> Any:
        """Normalize one value; return its stored form."""
        if schema is None or value is None:
            return value
        kind = kind_of(value)
        if kind is dict or kind is list:
            if self.replaces:  # which entities are nested in others is known one by one
                return schema.normalize(value, parent, key, self)
            stored = (schema.normalizer or normalizer(schema, value))(value, parent, key, self)
            if self._shared:
                self.settle()
            return stored
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

    def created(self, normalize: Callable[..., T], *args: object) -> T:
        """Normalize the response of a creation: a record without a primary key gets a placeholder."""
        self._creating += 1
        try:
            return normalize(*args)
        finally:
            self._creating -= 1

    def placeholder(self) -> str | None:
        """Return a placeholder key, the same in every pass of one action; None outside of creations."""
        if not self._creating or self._placeholder_id is None:
            return None
        self._placeholders += 1
        return f"MISS-{self._placeholder_id}-{self._placeholders - 1}"

    def visited(self, value: object, table: str, pk: str) -> bool:
        """Return whether this object was already visited as this entity; record it otherwise."""
        place = (id(value), table)
        if self.written.get(place) == pk:
            return True
        self.written[place] = pk
        return False

    def keep(self, value: Mapping[str, object], processed: Mapping[str, object], table: str) -> None:
        """Record the result of `process` for an object of the response.

        Objects are identified by their ids, so objects that a hook creates must live as long as the pass.
        """
        self._alive.append(processed)
        self.processed[id(value), table] = processed

    def note_nested_collection(self, table: str, pk: str) -> None:
        """Warn if several entities share one nested list, because its key contains nothing of the entity."""
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

    def open_table(self, table: str) -> None:
        """Create a table, even if it is empty, because the response was the complete list of its entities."""
        self.change.open_table(table)

    def stored_collection(self, table: str, pk: str) -> object:
        """Return the list or dict of a collection at this point of the pass; None if there is none."""
        found = self.change.get(table, pk)
        return None if found is UNDEFINED or found is INVALID else found

    def write_collection(self, table: str, pk: str, items: object, schema: Schema | None = None) -> None:
        """Replace a collection, unless the stored one was fetched later."""
        self.change.collections.add(table)
        if self.write_set is not None and not is_partial(items):
            self.write_set.collections.append(PutList(table, pk, items, is_page=False))
        before, times = self.underlying.get(table, pk), self.underlying.meta(table, pk)
        held = None if before is UNDEFINED or times is None else StoredEntry(before, times)
        put = apply(PutList(table, pk, items, is_page=False), pk, held, self.meta)
        assert put is not None
        stored, meta, _ = put
        if stored is not before or meta is self.meta:
            (self.change.pages if is_partial(items) else self.change.full_lists)[table, pk] = schema
        self.change.write(table, pk, stored, meta)
        self._keep_number(table, pk)

    def note_page(self, table: str, pk: str, schema: Schema, items: object) -> None:
        """Record that the response contained a page of a collection."""
        self.change.pages[table, pk] = schema
        if self.write_set is not None:
            self.write_set.collections.append(PutList(table, pk, items, is_page=True, keeps_times=self._keeps_times))

    def note_joins(self, edit: EditList) -> None:
        """Record an edit of all matching collections of a table, or of one."""
        if self.write_set is not None:
            self.write_set.collections.append(edit._replace(keeps_times=self._keeps_times))

    def edit_collections(
        self,
        table: str,
        accepts: Callable[[str], bool],
        change: Callable[[str, Any], Any],
        *,
        refreshes: bool = False,
        moved: Mapping[tuple[str, str], Any] | None = None,
        change_of: Callable[[Mapping[tuple[str, str], Any]], Callable[[str, Any], Any]] | None = None,
    ) -> None:
        """Edit all matching collections of a table, and record the edit for those that are only in the storage."""
        self.note_joins(EditList(table, None, accepts, change, refreshes, moved or {}, change_of))
        for pk in [pk for pk in self.change.pks(table) if accepts(pk)]:
            existing = self.stored_collection(table, pk)
            changed = None if existing is None else change(pk, existing)
            if existing is not None and (refreshes or changed is not existing):
                self.change_collection(table, pk, changed)

    def change_collection(self, table: str, pk: str, changed: object) -> None:
        """Write a collection after items were added or removed; it may get the times of this action."""
        self.change.collections.add(table)
        self.change.write(table, pk, changed, self._times_of_collection(table, pk))
        self._keep_number(table, pk)

    def _keep_number(self, table: str, pk: str) -> None:
        """Keep the request number of a list whose times are unchanged."""
        underlying, times = self.underlying, self.change.times_of(table, pk)
        if type(underlying) is Tables and times is underlying.meta(table, pk):
            before = underlying.partial.get(table, EMPTY).get(pk)
            if before is not None:
                self.change.partial.setdefault(table, {})[pk] = before

    @property
    def _keeps_times(self) -> bool:
        return self.rules is not None and self.rules.strict

    def _times_of_collection(self, table: str, pk: str) -> Meta:
        old_meta = self.change.meta(table, pk)
        if old_meta is not None and self._keeps_times:
            return old_meta  # added items do not refresh a list
        return old_meta if old_meta is not None and self.meta.fetched_at < old_meta.fetched_at else self.meta
