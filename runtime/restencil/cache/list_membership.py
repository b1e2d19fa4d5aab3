"""Lists follow their members: what a mutation means for the lists that are known of an entity.

Each list says by its arguments what belongs into it. Arguments that are fields of the entity, or parameters of the
mutation itself, decide; a list with any other argument cannot be decided for: it is left as it is, and expired. Lists
that an entity joins or leaves update their totals, and their pages turn stale, as their items may have moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.values import INVALID, UNDEFINED, is_dict, is_list, is_mapping, same_json
from ..schema.collection import (
    Adder,
    Collection,
    PagedCollection,
    append,
    find_collection,
    identity_of_text,
    without,
)
from ..schema.containers import List, Object
from ..schema.derived import Invalidate
from ..schema.entity import EntitySchema
from .tables import ChangeSet, EntityPath, ListBinding, State, Tables

if TYPE_CHECKING:
    from ..schema.protocol import Schema
    from .normalize import Normalization
    from .request import Request


class Subject(NamedTuple):
    """An entity that a mutation created, changed or deleted; `apart` is that of the lists that it was created into."""

    schema: EntitySchema
    pk: str
    is_new: bool
    apart: str = ""


def note_lists(writer: Normalization, request: Request) -> None:
    """Notes under which key a response put lists, so that what becomes of them can be told to the key."""
    change = writer.change
    rules = request.rules
    change.list_bindings += (binding_of(cell, collection, request) for cell, collection in change.full_lists.items())
    for cell, collection in change.pages.items():
        if isinstance(collection, PagedCollection):
            change.list_bindings.append(
                ListBinding(cell, collection, request.key, rules.total, True, rules.exact_filters)
            )


def binding_of(cell: EntityPath, collection: Any, request: Request) -> ListBinding:
    """The key of a request as the place of a list that is in its result."""
    rules = request.rules
    is_own = collection is find_collection(rules.schema)
    exact = rules.exact_filters if is_own else None
    is_page, has_more = is_own and rules.pages, is_own and _has_more(rules.schema, rules.total)
    return ListBinding(cell, collection, request.key, rules.total, is_page, exact, has_more)


def follow(writer: Normalization, request: Request, schema: Schema | None, result: Any) -> set[EntityPath]:
    """Lets the lists that follow their members follow what this response of a mutation says.

    Returns the lists that have certainly followed.
    """
    followed: set[EntityPath] = set()
    undecided: set[EntityPath] = set()
    renamed = [Subject(gone, pk, False) for gone, pk in writer.renamed]
    for subject in [*renamed, *_subjects(schema, result)]:
        following = _Following(writer, request, subject)
        is_known = following.now is None or writer.is_whole_in_response(subject.schema.table_key, subject.pk)
        if following.is_exact and not is_known:
            continue
        following.carry_out()
        followed |= following.followed
        undecided |= following.undecided
    return followed - undecided


def _subjects(schema: Schema | None, result: Any, *, is_new: bool = False, apart: str = "") -> Iterator[Subject]:
    """The entities that a response is about, not those that are nested in them."""
    if isinstance(schema, Invalidate):
        schema = schema.item
    found = None if schema is None else schema.referred(result)
    if found is not None:
        yield Subject(*found, is_new, apart)
    elif isinstance(schema, Adder):
        collection = schema.collection
        for entry in _entries(result):
            yield from _subjects(collection.item, entry, is_new=True, apart=collection.apart)
    elif isinstance(schema, List):
        for entry in _entries(result):
            yield from _subjects(schema.item, entry)
    elif isinstance(schema, Object) and is_dict(result):
        for name, member in schema.members.items():
            yield from _subjects(member, result.get(name))


def _entries(stored: Any) -> Iterable[Any]:
    """What a stored list or map holds."""
    return stored.values() if is_dict(stored) else stored if is_list(stored) else ()


def _always(pk: str) -> bool:
    return True


class _Following:
    """What one entity's change means for the lists of its kind."""

    def __init__(self, writer: Normalization, request: Request, subject: Subject) -> None:
        self.writer = writer
        self.change: ChangeSet = writer.change
        self.underlying: State = writer.underlying
        self.args = request.args
        self.siblings = request.rules.siblings
        self.subject = subject
        table, pk = subject.schema.table_key, subject.pk
        self.was = writer.record_before(table, pk)
        self.now = writer.stored_record(table, pk)
        self.followed: set[EntityPath] = set()
        self.undecided: set[EntityPath] = set()

    def carry_out(self) -> None:
        """Asks each list that follows whether the entity belongs into it."""
        if self.now is None and self.was is None and self.underlying.get(self._table, self.subject.pk) is INVALID:
            return
        is_exact = self.is_exact
        if not is_exact and self.was is not None and self.now is not None and same_json(self.was, self.now):
            return
        by_cell: dict[Any, list[ListBinding]] = {}
        for listing in self.underlying.listings(self._table):
            by_cell.setdefault(listing.cell, []).append(listing)
        for cell, listings in by_cell.items():
            if listings[0].collection.follows:
                (self._ask_exactly if is_exact else self._ask)(cell, listings)
        if self.now is not None and self.writer.write_set is not None and self.siblings is not None:
            self._note_elsewhere(find_collection(self.siblings.list_schema))

    def _note_elsewhere(self, collection: Collection | None) -> None:
        """Notes what becomes of lists that the storage has and memory does not know; as `_ask` has it."""
        entry = None if collection is None or not collection.follows else self._entry(collection)
        if collection is None or entry is None or self._table not in ListBinding(("", ""), collection, "", ()).entities:
            return

        def accepts(pk: str) -> bool:
            now = self._fits(collection, pk, self.now)
            return now is not None and (self.was is None or now is not self._fits(collection, pk, self.was))

        def change(pk: str, items: Any) -> Any:
            if not self._fits(collection, pk, self.now):
                return without(items, [entry])
            return items if collection.is_map else append(items, [entry])

        self.writer.note_joins(collection.table_key, None, accepts, change)

    @property
    def _in_response(self) -> Mapping[str, Any] | None:
        """The record by the values of the response alone: what it leaves out may have changed."""
        return None if self.now is None else self.writer.record_in_response(self._table, self.subject.pk)

    @property
    def _table(self) -> str:
        return self.subject.schema.table_key

    @property
    def is_exact(self) -> bool:
        """Whether lists follow exactly or not at all: where the response is no expectation, in generated packages."""
        rules = self.writer.rules
        return rules is not None and rules.policy.follows_exactly and type(self.underlying) is Tables

    def _ask_exactly(self, cell: EntityPath, listings: list[ListBinding]) -> None:
        """The list follows by the values of the response, if all its arguments decide exactly."""
        writer, first = self.writer, listings[0]
        existing = writer.stored_collection(*cell)
        if existing is None:
            return
        collection, entry = first.collection, self._entry(first.collection)
        held, holds = entry in _entries(self.underlying.get(*cell)), entry in _entries(existing)
        is_sorted, fits = self._fits_exactly(first, cell[1], self._in_response)
        is_page = any(listing.is_page for listing in listings)
        # An unknown entity may be on another page; one that did not fit before comes from elsewhere.
        is_there = is_page and not self.subject.is_new and self._fits_exactly(first, cell[1], self.was)[1] is not False
        if self.now is None:
            if holds:
                self._take_out(cell, existing, entry)
                holds = False
        elif fits is None or entry is None or (collection.is_map and fits and not holds):
            self.undecided.add(cell)
        elif fits and not holds and not is_there:
            writer.change_collection(*cell, append(existing, [entry]))
            writer.note_joins(*cell, _always, lambda pk, items: append(items, [entry]))
            holds = True
        elif holds and not fits:
            self._take_out(cell, existing, entry)
            holds = False
        (self.undecided if is_sorted or is_page else self.followed).add(cell)
        if holds is not held:
            writer.outdated.update(listing.key for listing in listings if listing.has_more)
        self._tell(listings, int(holds) - int(held), expires=False)

    def _take_out(self, cell: EntityPath, existing: Any, entry: Any) -> None:
        self.writer.change_collection(*cell, without(existing, [entry]))
        self.writer.note_joins(*cell, _always, lambda pk, items: without(items, [entry]))

    def _fits_exactly(
        self, listing: ListBinding, pk: str, record: Mapping[str, Any] | None
    ) -> tuple[bool, bool | None]:
        """Whether a list has arguments that sort it, and whether a record belongs into it; None: nobody can tell."""
        collection = listing.collection
        if record is None and self.now is not None:
            return False, None
        params: Any = self.args[0] if self.args and is_mapping(self.args[0]) else {}
        is_sorted, fits = False, True
        for name, value in identity_of_text(pk).items():
            if collection.non_filter_argument_keys(name):
                is_sorted = True
                continue
            if listing.exact is not None and name not in listing.exact:
                return is_sorted, None
            one = collection.decides(self.subject.schema, name, value, record, params)
            if one is None:
                return is_sorted, None
            fits = fits and one
        return is_sorted, fits and record is not None

    def _ask(self, cell: tuple[str, str], listings: list[ListBinding]) -> None:
        writer = self.writer
        existing = writer.stored_collection(*cell)
        if existing is None:
            return
        collection = listings[0].collection
        was, now = self._fits(collection, cell[1], self.was), self._fits(collection, cell[1], self.now)
        entry = self._entry(collection)
        held, holds = entry in _entries(self.underlying.get(*cell)), entry in _entries(existing)
        joins = self.now is not None and now and not was and not holds
        if now is None or was is None or (joins and (collection.is_map or entry is None)):
            # Nobody here knows whether it belongs there, or where it stands.
            moved = int(holds and self.now is not None) - int(held and self.was is not None)
            self._tell(listings, moved, expires=True)
            return
        if joins:
            writer.change_collection(*cell, append(existing, [entry]))
            writer.note_joins(*cell, _always, lambda pk, items: append(items, [entry]))
        elif self.now is not None and holds and not now:
            writer.change_collection(*cell, without(existing, [entry]))
            writer.note_joins(*cell, _always, lambda pk, items: without(items, [entry]))
        if self.was is None and not self.subject.is_new:
            # It was not known before: whether it stood on the list of the server, only the server knows.
            self._tell(listings, -1 if held and not now else 0, expires=(now and not held) or self.now is None)
            return
        if now is not was:
            self._tell(listings, int(now) - int(was), expires=False)

    def _entry(self, collection: Collection) -> Any:
        """The entity as an item of a list: of several kinds of entities, an item says which one it is."""
        item = collection.item
        return None if item is None else item.reference(self.subject.schema, self.subject.pk)

    def _fits(self, collection: Collection, pk: str, record: Mapping[str, Any] | None) -> bool | None:
        """Whether a record belongs into a list; None where the list has an argument that does not decide."""
        if collection.apart != self.subject.apart:
            return None  # its endpoint has a say that its arguments do not tell
        params: Any = self.args[0] if self.args and is_mapping(self.args[0]) else {}
        fits: bool | None = True
        for name, value in identity_of_text(pk).items():
            if collection.non_filter_argument_keys(name):
                return None
            one = collection.decides(self.subject.schema, name, value, record, params)
            if one is None:
                return None
            fits = fits and one
        return fits and record is not None

    def _tell(self, listings: list[ListBinding], moved: int, *, expires: bool) -> None:
        """Lets totals follow; pages are stale from now on, with `expires` the lists are as well."""
        change = self.change
        for listing in listings:
            key = listing.key
            meta = change.key_meta(key)
            if meta is None or meta.invalidated:
                continue
            if moved and listing.total:
                result = change.result(key)
                if result is not UNDEFINED:
                    change.results[key] = _counted(result, listing.total, moved)
            is_page = isinstance(listing.collection, PagedCollection)
            if (expires or is_page) and not self.is_exact and type(self.underlying) is Tables and meta.expires_at > 1:
                change.key_metas[key] = meta.with_expiry(1)


def _has_more(schema: Schema | None, total: tuple[str, ...]) -> bool:
    """Whether an object has members beside its lists, other than the total."""
    return isinstance(schema, Object) and any((name,) != total for name in schema.plain_members)


def _counted(result: Any, path: tuple[str, ...], moved: int) -> Any:
    """A result in which the number at a path is another by so much."""
    if not path:
        return max(0, result + moved) if type(result) is int else result
    if not is_dict(result) or path[0] not in result:
        return result
    return {**result, path[0]: _counted(result[path[0]], path[1:], moved)}
