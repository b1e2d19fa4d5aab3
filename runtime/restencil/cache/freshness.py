"""When a result is fresh: docs/reference/semantics.md, "Freshness".

A result is fresh as long as it has not expired and no mark on what it is made of is as high as the number of the
request that brought it. A record counts with the latest response that brought it whole, too. So does a result that was
never requested: it is made of records and lists that other responses brought.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..base.values import DICT, INVALID, LIST, UNDEFINED, is_mapping, text_of
from ..schema.entity import as_entity, value_at
from ..schema.stored import record_of
from .reach import tables_of
from .reading import INFINITE, STALE, Freshness
from .staleness import EVICTED, NEVER, NO_MARK, Mark, paths_above
from .tables import EMPTY, WHOLE_TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from ..schema.entity import EntityModel
    from .request import Request
    from .staleness import EntityPath
    from .tables import ChangeSet, ResultMeta, Shown, Tables

_GONE: Final = frozenset({404, 410})


class _Part(NamedTuple):
    """How fresh one record or list is for a result."""

    expires_at: float
    mark: Mark = NO_MARK
    is_reference: bool = False
    requested: float = NEVER
    """Of a reference: the number of its own request, if that was sent before the event."""


_FRESH: Final = _Part(INFINITE)


def is_error_fresh(base: Tables, request: Request, meta: ResultMeta) -> bool:
    """Whether nothing was changed since a request failed that may be why it failed."""
    reach = request.rules.reach
    tables = () if reach is None else reach.tables
    return max(_result_mark(base, request), base.marks.of_errors(tables)).number < meta.number


def unmarked(base: Tables, request: Request, meta: ResultMeta) -> bool:
    """Whether a result is certainly as its own response brought it, without a look at what it is made of."""
    rules, number = request.rules, meta.number
    reach = rules.reach
    if reach is None or not meta.is_complete:
        return False
    for table in reach.tables:
        if base.latest.get(table, 0) > meta.fetched_at:
            return False
    return base.marks.newest_of(reach.tables) < number and _result_mark(base, request).number < number


def freshness_of(
    base: Tables, request: Request, meta: ResultMeta | None, stored: Any, cells: Shown, now: float
) -> Freshness:
    """How fresh a result is that shows these cells; `stored` is its stored form, `meta` what is known of its key."""
    found = _judged(base, request, meta, stored, cells, now)
    if found.mark.event != EVICTED:
        return found
    return found._replace(changed=evicted(base, request, cells).changed)


def _judged(
    base: Tables, request: Request, meta: ResultMeta | None, stored: Any, cells: Shown, now: float
) -> Freshness:
    judge = _Judge(base, request, cells, now)
    own: Freshness | None = None
    if meta is not None and meta.expires_at:
        own = judge.judge(meta.number, meta.expires_at, meta.received)
        if own.expires_at >= now or not request.rules.read.counts_whole:
            return own
    root = _root(base, request, stored)
    if own is not None and root is None:
        return own
    composed = judge.composed(root)
    return composed if own is None or composed.expires_at > own.expires_at else own


def since_failure(base: Tables, request: Request, stored: Any, cells: Shown, now: float) -> Freshness:
    """How fresh the record of a request that failed is by other responses; stale where the arguments name none."""
    root = _root(base, request, stored)
    return Freshness(STALE) if root is None else _Judge(base, request, cells, now).composed(root)


def evicted(base: Tables, request: Request, cells: Shown) -> Freshness:
    """The freshness of a result that was evicted in part: stale, and worth another request after each event."""
    reach = request.rules.reach
    tables = () if reach is None else reach.tables
    collections: Mapping[str, tuple[str, ...]] = {} if reach is None else reach.collections
    marks = base.marks
    events = [_result_mark(base, request), marks.of_errors(tables)]
    for cell in cells:
        entities = collections.get(cell[0])
        events.append(marks.of_record(cell) if entities is None else marks.of_list(cell, entities))
    return Freshness(STALE, Mark(NEVER, EVICTED), changed=max(events).number)


def stale_references(base: Tables, request: Request, cells: Shown, change: ChangeSet, now: float) -> set[EntityPath]:
    """The records among these that are stale, and that the response that was written by this change did not bring."""
    reach, number = request.rules.reach, change.times.fetched_at
    judge = _Judge(base, request, cells, now)
    return {
        cell
        for cell in cells
        if reach is not None
        and cell[0] in reach.models
        and cell[1] != WHOLE_TABLE
        and cell[1] not in change.entities.get(cell[0], EMPTY)
        and judge.joined_record(cell, number).expires_at == STALE
    }


def _root(base: Tables, request: Request, stored: Any) -> EntityPath | None:
    """The record or list that a result is as a whole, where the arguments name it."""
    schema, args = request.rules.schema, request.rules.entity_args(request.args)
    entity = as_entity(schema)
    table = None if schema is None or entity is not None else schema.own_table
    if table is not None:  # a collection
        return (table, stored) if type(stored) is str else None
    params: Any = args[0] if args else None
    known = request.rules.known_params
    if (
        known is not None
        and is_mapping(params)
        and not params.keys() <= known
        and any(value is not None and name not in known for name, value in params.items())
    ):
        return None  # a search parameter of its own may ask for something else
    if entity is not None:
        if type(stored) is not str or (not entity.model.single and entity.lenient_pk(params, args) != stored):
            return None
        return entity.table_key, stored
    found = None if schema is None else schema.referred(stored)
    return None if found is None else (found[0].table_key, found[1])


def _result_mark(base: Tables, request: Request) -> Mark:
    rules, marks = request.rules, base.marks
    reach = rules.reach
    plain = frozenset[str]() if reach is None else reach.plain_lists
    mark = marks.of_result(request.key, rules.resource, plain, lambda: request.path)
    if reach is None or reach.models or rules.siblings is None:
        return mark
    return max(mark, marks.of_values(rules.resource, lambda: record_path_of(request, is_nested=True)))


def record_path_of(request: Request, *, is_nested: bool) -> str | None:
    """The path of the record of its resource that a request is at or below, or only below; None where there is none."""
    siblings, path = request.rules.siblings, request.path
    if siblings is None or path is None:
        return None
    return next((one for one in (*(() if is_nested else (path,)), *paths_above(path)) if siblings.is_item(one)), None)


class _Judge:
    def __init__(self, base: Tables, request: Request, cells: Shown, now: float) -> None:
        self._base, self._request, self._cells, self._now = base, request, cells, now
        self._rules = request.rules
        reach = request.rules.reach
        self._collections: Mapping[str, tuple[str, ...]] = {} if reach is None else reach.collections
        self._models: Mapping[str, tuple[EntityModel, ...]] = {} if reach is None else reach.models

    def judge(
        self,
        number: float,
        expires_at: float,
        received: Mapping[str, AbstractSet[str]] | None,
        root: EntityPath | None = None,
    ) -> Freshness:
        """How fresh what a request of this number brought is; `received`: None for everything that shows."""
        mark = _result_mark(self._base, self._request)
        if mark.number >= number:
            return Freshness(STALE, mark)
        if self._is_another():
            return Freshness(
                STALE, Mark(NEVER, "its record has another value by now in the field that it was found by")
            )
        own_expiry = expires_at
        stale: dict[EntityPath, _Part] = {}
        beyond = self._beyond(received) if root is None else ()  # what nobody requested is all that it shows
        for cell in self._cells:
            table, pk = cell
            if pk == WHOLE_TABLE or cell in beyond:
                continue
            is_own = cell == root or received is None or pk in received.get(table, ())
            if not is_own and self._is_left_out(cell, number, set()):
                continue
            if table in self._collections:
                part = self._list(cell, number if is_own else NEVER)
            else:
                part = self._own_record(cell, number) if is_own else self.joined_record(cell, number)
            if part.expires_at == STALE:
                if not part.is_reference and part.mark.event != EVICTED:
                    return Freshness(STALE, part.mark)
                stale[cell] = part
            expires_at = min(expires_at, part.expires_at)
        references = tuple(cell for cell, part in stale.items() if part.is_reference)
        # What has changed comes before what was let go of, which is no reason to ask a second time.
        mark = max((part.mark for part in stale.values()), key=_is_change, default=NO_MARK)
        if mark.event == EVICTED and len(references) < len(stale):
            return Freshness(STALE, mark)
        if references and own_expiry >= self._now:
            return Freshness(STALE, mark, references, max(stale[cell].requested for cell in references))
        return Freshness(min(expires_at, own_expiry))

    def _is_another(self) -> bool:
        """Whether a lookup by another field than the primary key shows a record that has another value there by now."""
        fields, entity, args = self._rules.lookup_fields, as_entity(self._rules.schema), self._request.args
        params: Any = args[0] if args else None
        if not fields or entity is None or not is_mapping(params):
            return False
        roots = [cell for cell, places in self._cells.items() if None in places and cell[0] == entity.table_key]
        for cell in roots:
            stored = self._base.get(*cell)
            if stored is UNDEFINED or stored is INVALID:
                continue
            for name, dotted in fields.items():
                value = value_at(record_of(stored), entity.model.wire_path(dotted))
                if params.get(name) is not None and value is not None and text_of(params[name]) != text_of(value):
                    return True
        return False

    def composed(self, root: EntityPath | None) -> Freshness:
        """How fresh a result is that was never requested, or whose own response is stale."""
        if root is None or not self._rules.read.counts_whole:
            return self._assembled()
        table, pk = root
        if table in self._collections:
            meta = self._base.meta(table, pk)
            if meta is None:
                return Freshness(STALE)
            return self.judge(self._base.number(root, meta), meta.expires_at, EMPTY, root)
        number, expires_at = self._whole(root)
        if number == NEVER:
            return Freshness(STALE)
        return self.judge(number, expires_at, EMPTY, root)

    def _assembled(self) -> Freshness:
        """How fresh a result is that is made of several records and lists: as the least fresh of them."""
        expires_at = INFINITE
        for cell in self._cells:
            table, pk = cell
            if pk == WHOLE_TABLE:
                continue
            if table in self._collections:
                part = self._list(cell, NEVER)
            else:
                part = self.joined_record(cell, NEVER)
            if part.expires_at == STALE:
                return Freshness(STALE, part.mark)
            expires_at = min(expires_at, part.expires_at)
        return Freshness(expires_at)

    def _beyond(self, received: Mapping[str, AbstractSet[str]] | None) -> AbstractSet[EntityPath]:
        """Nested lists that the result's own response did not bring, and what shows in them: no part of it."""
        if received is None:
            return frozenset()
        cells, collections = self._cells, self._collections
        outside = [cell for cell in cells if cell[0] in collections and cell[1] not in received.get(cell[0], ())]
        if not outside:
            return frozenset()
        held: dict[EntityPath | None, list[EntityPath]] = {}
        for cell, places in cells.items():
            for place in places:
                held.setdefault(place, []).append(cell)
        lists, waiting = set(outside), [*held.get(None, ())]
        found: set[EntityPath] = set()
        while waiting:
            cell = waiting.pop()
            if cell not in found and cell not in lists:
                found.add(cell)
                waiting += held.get(cell, ())
        return cells.keys() - found

    def _is_left_out(self, cell: EntityPath, number: float, seen: set[EntityPath]) -> bool:
        """Whether a record shows only in fields that the response of this request left out: no part of it."""
        seen.add(cell)
        for place in self._cells[cell]:
            if place is None or place[0] in self._collections or place == cell:
                return False
            if place in seen:
                continue
            stored, whole = self._base.get(*place), self._base.whole(*place)
            if whole is None or stored is UNDEFINED or stored is INVALID:
                return False
            if max(whole.number, *whole.later.values(), NEVER) < number:
                return False  # another store has written it since, so what this response left out is not known
            record = record_of(stored)
            for name in self._names_of(place[0], cell[0]):
                since = whole.later.get(name, whole.number if name in whole.fields else NEVER)
                if since >= number and _refers(record.get(name), cell[1]):
                    return False
            if not any(_refers(record.get(name), cell[1]) for name in self._names_of(place[0], cell[0])):
                return False
        return True

    def _names_of(self, table: str, item: str) -> set[str]:
        """The fields of the records of a table that refer to records of another one."""
        relations = (relation for model in self._models.get(table, ()) for relation in model.relations)
        return {relation.in_json for relation in relations if item in tables_of(relation.node)}

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _list(self, cell: EntityPath, number: float) -> _Part:
        """A list that the result's own request brought, or (NEVER) another one."""
        expires_at = INFINITE
        if number == NEVER:
            meta = self._base.meta(*cell)
            if meta is None:
                return _FRESH
            number, expires_at = self._base.number(cell, meta), meta.expires_at
        mark = self._since(number, cell, self._base.marks.of_list(cell, self._collections[cell[0]]))
        return _Part(STALE, mark) if mark.number >= number else _Part(expires_at)

    def _own_record(self, cell: EntityPath, number: float) -> _Part:
        number = max(number, self._whole(cell)[0])
        mark = self._since(number, cell, self._base.marks.of_record(cell))
        return _Part(STALE, mark) if mark.number >= number else _FRESH

    def _since(self, number: float, cell: EntityPath, mark: Mark) -> Mark:
        """The mark of a record or list as far as it is this high; else that of its eviction, if that is later."""
        return mark if mark.number >= number else max(mark, self._base.marks.of_eviction(cell))

    def joined_record(self, cell: EntityPath, number: float) -> _Part:
        """A record that the result's own response did not bring: it joined, or the response has its key alone."""
        stored = self._base.get(*cell)
        event = self._base.marks.of_record(cell)
        if not self._rules.read.counts_whole:
            meta = self._base.meta(*cell)
            if meta is None:
                return _FRESH
            since = self._base.number(cell, meta)
            mark = self._since(since, cell, event)
            return _Part(STALE, mark) if mark.number >= since else _Part(meta.expires_at)
        mark = self._since(number, cell, event)
        if stored is UNDEFINED or stored is INVALID:
            return _Part(STALE, mark) if mark.number >= number else _FRESH
        whole, expires_at = self._whole(cell)
        latest = max(event, self._base.marks.of_eviction(cell))
        if latest.number < whole and expires_at >= self._now:
            return _Part(expires_at)
        get = None if self._rules.siblings is None else self._rules.siblings.get_request(*cell)
        if get is None:  # nobody can ask for it by itself
            return _Part(STALE, mark) if mark.number >= number else _FRESH
        requested = self._base.key_meta(get.key)
        known = self._base.meta(*cell)
        is_newest = requested is not None and (known is None or known.fetched_at < requested.fetched_at)
        if requested is not None and is_newest and getattr(requested.error, "status", None) in _GONE:
            # Requested first, what the result's own response says stands; else only that can tell what it refers to.
            return _FRESH if requested.number < number else _Part(STALE, mark)
        if (
            requested is not None
            and requested.error is None
            and requested.number > latest.number
            and requested.expires_at >= self._now
        ):
            return _Part(requested.expires_at)
        mark = self._since(whole, cell, event)
        if mark is NO_MARK:
            mark = Mark(NEVER, f"no response has brought all of {cell[0]} {cell[1]}, to which it refers")
        number = NEVER if requested is None else min(requested.number, mark.number)
        return _Part(STALE, mark, is_reference=True, requested=number)

    def _whole(self, cell: EntityPath) -> tuple[float, float]:
        """The number of the latest request whose response brought a record whole, and when that expires (ms)."""
        whole = self._base.whole(*cell)
        if whole is None:
            return NEVER, STALE
        models = self._models.get(cell[0], ())
        if models and not any(self._rules.required_fields(model)[0] <= whole.fields for model in models):
            return NEVER, STALE
        return whole.number, whole.expires_at


def _is_change(mark: Mark) -> tuple[bool, Mark]:
    return mark.event != EVICTED, mark


def _refers(stored: Any, pk: str) -> bool:
    """Whether the stored value of a field refers to a primary key."""
    if isinstance(stored, LIST):
        return any(_refers(entry, pk) for entry in stored)
    return stored == pk or (isinstance(stored, DICT) and stored.get("id") == pk)
