"""The freshness of results: docs/reference/semantics.md, "Freshness".

A result is fresh until it expires, or until a mark on one of its parts is as high as the number of its request. A
record is also fresh by the latest response that contained it completely, and so is a result that was never requested,
but assembled from records and lists of other responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..base.values import INVALID, UNDEFINED
from ..schema.collection import identity_of_text
from ..schema.entity import as_entity
from ..schema.stored import is_partial, known_record
from .policy import INFINITE, STALE, Freshness
from .reach import tables_of
from .staleness import ANY_RESOURCE, EVERY_RECORD, EVICTED, NEVER, NO_MARK, REPRESENTED, UNCHANGED, Mark, paths_above
from .tables import EMPTY, WHOLE_TABLE, Contents

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Mapping

    from ..schema.entity import EntityModel
    from .request import Request
    from .staleness import EntityPath
    from .tables import ChangeSet, ResultMeta, Shown, Tables

    Received: TypeAlias = Mapping[str, Container[str]]
    """The records and lists of a response, as primary keys by table."""

_GONE: Final = frozenset({404, 410})


class _Part(NamedTuple):
    """The freshness of one record or list within a result."""

    expires_at: float
    mark: Mark = NO_MARK
    request: Request | None = None
    """The request that would make a stale record fresh; None: the request of the result itself."""
    requested: float = NEVER
    """The number of the last such request that was sent before the event."""


_FRESH: Final = _Part(INFINITE)


def own_freshness(base: Tables, request: Request, meta: ResultMeta) -> Freshness | None:
    """Return the freshness of a result or error by its own response alone; None if the parts of a result decide.

    An error is fresh until an event may have removed its cause.
    """
    if meta.error is None:
        return Freshness(meta.expires_at) if unmarked(base, request, meta) else None
    mark = max(_result_mark(base, request, meta.number, has_lists=False), _error_mark(base, request))
    return Freshness(meta.expires_at) if mark.number < meta.number else Freshness(STALE, mark)


def _error_mark(base: Tables, request: Request) -> Mark:
    """Return the mark of recorded errors of a request."""
    return base.marks.of_values(lambda: _error_places(request))


def unmarked(base: Tables, request: Request, meta: ResultMeta) -> bool:
    """Return whether a result is certainly unchanged since its own response, without checking its parts."""
    rules, number = request.rules, meta.number
    reach = rules.reach
    if reach is None or not meta.is_complete:
        return False
    for table in reach.tables:
        if base.latest.get(table, 0) > meta.fetched_at:
            return False
    return base.marks.newest_of(reach.tables) < number and _result_mark(base, request, number).number < number


def unmarked_since(base: Tables, request: Request, number: float) -> bool:
    """Return whether nothing that the response of a request may contain was marked since it was sent."""
    reach = request.rules.reach
    if not request.rules.strict:
        return True  # endpoints written by hand set no marks
    newest = base.marks.newest() if reach is None else base.marks.newest_of(reach.tables)
    return newest < number and _result_mark(base, request, number).number < number


def freshness_of(
    base: Tables,
    request: Request,
    meta: ResultMeta | None,
    stored: object,
    cells: Shown,
    now: float,
    root: EntityPath | None = None,
) -> Freshness:
    """Return the freshness of a result that shows these cells; `stored` is its stored form, `meta` that of its key.

    `root` is the record that the arguments identify, if the caller has found it by them.
    """
    found = _Judge(base, request, cells, now, stored).freshness(meta, root)
    if found.mark.event not in UNCHANGED:
        return found
    return found._replace(changed=evicted(base, request, cells).changed)


def evicted(base: Tables, request: Request, cells: Shown) -> Freshness:
    """Return the freshness of a partly evicted result: stale, and fetched again after each event."""
    reach, marks = request.rules.reach, base.marks
    collections: Mapping[str, tuple[str, ...]] = {} if reach is None else reach.collections
    events = [_result_mark(base, request), _error_mark(base, request)]
    for cell in cells:
        entities = collections.get(cell[0])
        events.append(marks.of_record(cell) if entities is None else marks.of_list(cell, entities))
    return Freshness(STALE, Mark(NEVER, EVICTED), changed=max(events).number)


def not_loaded(base: Tables, request: Request) -> Freshness:
    """Return the freshness of an evicted result that its storage does not load: stale, and fetched after each event."""
    reach = request.rules.reach
    newest = base.marks.newest() if reach is None else base.marks.newest_of(reach.tables)
    return Freshness(STALE, Mark(NEVER, EVICTED), changed=max(newest, _result_mark(base, request).number))


def stale_references(base: Tables, request: Request, cells: Shown, change: ChangeSet, now: float) -> set[EntityPath]:
    """Return the stale records among these cells that were not in the response that this change writes."""
    reach, number = request.rules.reach, change.times.fetched_at
    judge = _Judge(base, request, cells, now)
    return {
        cell
        for cell in cells
        if reach is not None
        and cell[0] in reach.models
        and cell[1] != WHOLE_TABLE
        and cell[1] not in change.entities.get(cell[0], EMPTY)
        and judge.joined_record(cell, number, change.entities).expires_at == STALE
    }


def _root(request: Request, stored: object) -> EntityPath | None:
    """Return the record or list that is the whole result, if the arguments identify it; else None."""
    if request.selects_representation:
        return None
    schema, args = request.rules.schema, request.rules.entity_args(request.args)
    entity = as_entity(schema)
    table = None if schema is None or entity is not None else schema.own_table
    if table is not None:  # a collection
        return (table, stored) if type(stored) is str else None
    if not request.rules.params.names_entity:
        return None  # its path is below that of a record
    params: Any = args[0] if args else None
    if entity is not None:
        if type(stored) is not str or (not entity.model.single and entity.lenient_pk(params, args) != stored):
            return None
        return entity.table_key, stored
    found = None if schema is None else schema.referred(stored)
    return None if found is None else (found[0].table_key, found[1])


def _result_mark(base: Tables, request: Request, since: float = NEVER, *, has_lists: bool = True) -> Mark:
    """Return the mark of a result without its parts; lower ones than `since` may be left out."""
    rules, marks = request.rules, base.marks
    reach = rules.reach
    plain = reach.plain_lists if reach is not None and has_lists else frozenset[str]()
    mark = marks.of_result(
        request.key, rules.resource, plain, lambda: request.path, lambda: read_places(request), since
    )
    if rules.siblings is None or not rules.has_values:
        return mark
    return max(mark, marks.of_values(lambda: value_places(request)))


def read_places(request: Request) -> Iterable[tuple[str, str]]:
    """Return the places of `StaleSet.reads` that a request belongs to."""
    siblings, path = request.rules.siblings, request.path
    return () if siblings is None or path is None else siblings.read_places(path)


def _error_places(request: Request) -> Iterable[tuple[str | None, str | None]]:
    """Return the places of `StaleSet.values` that a recorded error belongs to, also those of the paths above it."""
    reach, path = request.rules.reach, request.path
    names = (request.rules.resource, *(() if reach is None else reach.tables))
    above = () if path is None else paths_above(path)
    return *((name, None) for name in names), *((ANY_RESOURCE, one) for one in above)


def value_places(request: Request) -> Iterable[tuple[str | None, str | None]]:
    """Return the places of `StaleSet.values` that a request belongs to."""
    siblings, path, resource = request.rules.siblings, request.path, request.rules.resource
    above = None if siblings is None or path is None else next(filter(siblings.is_item, paths_above(path)), None)
    tables = request.rules.item_tables if above is None else ()  # other resources may change its entity
    return (resource, above), (resource, EVERY_RECORD), (ANY_RESOURCE, path), *((table, None) for table in tables)


def _is_in(cell: EntityPath, received: Received | None) -> bool:
    """Return whether a record or list was in a response that contained this; None: everything."""
    return received is None or cell[1] in received.get(cell[0], ())


class _Judge:
    def __init__(self, base: Tables, request: Request, cells: Shown, now: float, stored: object = None) -> None:
        self._base, self._request, self._cells, self._now, self._stored = base, request, cells, now, stored
        self._parts: Collection[EntityPath] = cells
        """The parts of the result, of all that it shows."""
        self._rules = request.rules
        reach = request.rules.reach
        self._collections: Mapping[str, tuple[str, ...]] = {} if reach is None else reach.collections
        self._models: Mapping[str, tuple[EntityModel, ...]] = {} if reach is None else reach.models

    def freshness(self, meta: ResultMeta | None, root: EntityPath | None) -> Freshness:
        """Return the freshness of a result with this metadata, by its own response or by others."""
        own: Freshness | None = None
        strict = self._rules.strict
        if meta is not None and meta.expires_at:
            own = self._judge(meta.number, meta.expires_at, meta.contents, fetched_at=meta.fetched_at)
            if own.expires_at >= self._now or not strict:
                return own
        root = root or _root(self._request, self._stored)
        is_only_written = own is None and root is None and self._base.result(self._request.key) is not UNDEFINED
        if is_only_written and strict:
            return Freshness(STALE, Mark(NEVER, "no response contained it, but an 'update' hook wrote it"))
        if own is not None and root is None:
            return own
        composed = self.composed(root)
        return composed if own is None or composed.expires_at > own.expires_at else own

    def _judge(
        self,
        number: float,
        expires_at: float,
        contents: Contents | None,
        fetched_at: float | None = None,
    ) -> Freshness:
        """Return the freshness of the result of a request with this number.

        `contents` is the content of its response; None if all cells were in it. `fetched_at` is when it was sent (ms);
        None if the result was never requested: it is the record or list in `contents`, with everything that it shows.
        """
        mark = _result_mark(self._base, self._request, number)
        if mark.number >= number:
            return Freshness(STALE, mark)
        if self._rules.named_fields and not (contents is not None and contents.names_another) and self._is_another():
            return Freshness(STALE, Mark(NEVER, "its record has another value in a field that the URL names"))
        if fetched_at is not None and self._is_overwritten(contents, fetched_at):
            return Freshness(STALE, Mark(NEVER, REPRESENTED))
        own_expiry = expires_at
        stale: dict[EntityPath, _Part] = {}
        received = None if contents is None else contents.received
        self._parts = self._cells
        if contents is not None and fetched_at is not None:
            self._parts = self._parts_of(contents, fetched_at, is_loaded=number != fetched_at)
        for cell in self._parts:
            if cell[1] == WHOLE_TABLE:
                continue
            part = self._part(cell, number, received)
            if part.expires_at == STALE:
                if part.request is None and part.mark.event not in UNCHANGED:
                    return Freshness(STALE, part.mark)
                stale[cell] = part
            expires_at = min(expires_at, part.expires_at)
        if not stale:
            return Freshness(min(expires_at, own_expiry))
        references = {part.request.key: part.request for part in stale.values() if part.request is not None}
        # Changes take precedence over evictions, which do not justify a second request.
        mark = max((part.mark for part in stale.values()), key=_is_change, default=NO_MARK)
        if mark.event in UNCHANGED and any(part.request is None for part in stale.values()):
            return Freshness(STALE, mark)
        if references and own_expiry >= self._now:
            latest = max(part.requested for part in stale.values() if part.request is not None)
            return Freshness(STALE, mark, tuple(references.values()), latest)
        return Freshness(min(expires_at, own_expiry))

    def _is_overwritten(self, contents: Contents | None, fetched_at: float) -> bool:
        """Return whether a record of a representation was in another response since this time (ms)."""
        if not self._request.selects_representation:
            return False
        received = None if contents is None else contents.received
        cells = [cell for cell in self._cells if cell[0] in self._models and _is_in(cell, received)]
        found = (self._base.meta(*cell) for cell in cells)
        return any(times is not None and times.fetched_at != fetched_at for times in found)

    def _is_another(self) -> bool:
        """Return whether the result is a record that has another value now in a field that the URL names."""
        rules = self._rules
        found = None if rules.schema is None else rules.schema.referred(self._stored)
        if found is None:
            return False
        cell = found[0].table_key, found[1]
        record = self._record(cell)
        return record is not None and rules.names_another(self._request.args, cell[0], record)

    def composed(self, root: EntityPath | None) -> Freshness:
        """Return the freshness of a result that was never requested, or whose own response is stale."""
        if root is None or not self._rules.strict:
            return self._assembled()
        table, pk = root
        marks = self._base.marks
        if table in self._collections:
            meta = self._base.meta(table, pk)
            if meta is None or is_partial(self._base.get(table, pk)):
                return Freshness(STALE)
            number, expires_at = self._base.number(root, meta), meta.expires_at
            removal = max((marks.of_argument(str(one)) for one in identity_of_text(pk).values()), default=NO_MARK)
        else:
            number, expires_at = self._whole(root)
            if number == NEVER:
                return Freshness(STALE)
            removal = marks.of_removal(root)
        # After its deletion, lists may still contain a record, marked as deleted: only the own response decides.
        own = self._base.key_meta(self._request.key)
        own_number = NEVER if own is None or own.error is not None else own.number
        if removal.number >= own_number:
            return Freshness(STALE, removal)
        return self._judge(number, expires_at, Contents({table: {pk}}, EMPTY))

    def _assembled(self) -> Freshness:
        """Return the freshness of a result that is assembled from records and lists: that of the least fresh one."""
        expires_at = INFINITE
        mark = _result_mark(self._base, self._request) if self._rules.strict else NO_MARK
        for cell in self._cells:
            if cell[1] == WHOLE_TABLE:
                continue
            part = self._part(cell, NEVER, EMPTY)
            if part.expires_at == STALE:
                return Freshness(STALE, part.mark)
            if mark is not NO_MARK and mark.number >= self._number(cell):
                return Freshness(STALE, mark)
            expires_at = min(expires_at, part.expires_at)
        return Freshness(expires_at)

    def _number(self, cell: EntityPath) -> float:
        """Return the number of the latest request that brought this list, or this record completely."""
        if cell[0] not in self._collections:
            return self._whole(cell)[0]
        meta = self._base.meta(*cell)
        return NEVER if meta is None else self._base.number(cell, meta)

    def _parts_of(self, contents: Contents, fetched_at: float, *, is_loaded: bool) -> Collection[EntityPath]:
        """Return the parts of a result: the records and lists of its response, and later additions to its lists.

        Nested lists that the response did not contain are not part of it. Neither are records that appear only there,
        or only in fields of a record that the response omitted, unless a later response contained one of these fields.
        Of a result that was loaded from a storage this is not known: its times are of another clock.
        """
        received, referred, _ = contents
        cells, collections = self._cells, self._collections
        if not [cell for cell in cells if cell[1] not in received.get(cell[0], ())]:
            return cells
        held: dict[EntityPath | None, list[EntityPath]] = {}
        for cell, places in cells.items():
            for place in places:
                held.setdefault(place, []).append(cell)
        found: set[EntityPath] = set()
        waiting: list[EntityPath | None] = [None]
        while waiting:
            place = waiting.pop()
            is_received = place is None or place[1] in received.get(place[0], ())
            for cell in held.get(place, ()):
                table, pk = cell
                if pk not in received.get(table, ()):
                    is_omitted = is_received and not is_loaded and pk not in referred.get(table, ())
                    if table in collections or (is_omitted and self._omits(place, table, fetched_at)):
                        continue
                if cell not in found:
                    found.add(cell)
                    waiting.append(cell)
        return found

    def _omits(self, place: EntityPath | None, table: str, fetched_at: float) -> bool:
        """Whether no response since this time (ms) contained a field of a record that may refer to this table."""
        if place is None or place[0] in self._collections:
            return False
        times, whole = self._base.meta(*place), self._base.whole(*place)
        if times is None or whole is None:
            return False
        if times.fetched_at == fetched_at:
            return True
        if whole.number != whole.fetched_at:
            return False  # another process has written it: its times are of another clock
        relations = (relation for model in self._models.get(place[0], ()) for relation in model.relations)
        names = [relation.in_json for relation in relations if table in tables_of(relation.node)]
        return all(whole.later.get(name, whole.fetched_at) <= fetched_at for name in names)

    # -- parts ---------------------------------------------------------------------------------------------------------

    def _part(self, cell: EntityPath, number: float, received: Received | None) -> _Part:
        """Return the freshness of a record or list in a result whose own request has this number.

        `received` is what the response to this request contained; None: everything.
        """
        is_own = _is_in(cell, received)
        if cell[0] in self._collections:
            return self._list(cell, number, is_own=is_own)
        if received is not None and not is_own:
            return self.joined_record(cell, number, received)
        marks = self._base.marks
        event = marks.of_record(cell)
        mark = marks.or_unchanged(event, cell, number)
        deletion = marks.of_deletion(cell)
        if deletion.number >= number:  # the server may have used its key again
            return _Part(STALE, deletion)
        if mark.number >= number:  # a later response may have contained all of the record
            number = max(number, self._whole(cell)[0])
            mark = marks.or_unchanged(event, cell, number)
        return _Part(STALE, mark) if mark.number >= number else _FRESH

    def _list(self, cell: EntityPath, number: float, *, is_own: bool) -> _Part:
        """Return the freshness of a list from the result's own request, or from another one.

        A list of another response that memory has forgotten counts as from the request with this number; with NEVER,
        it is not part of the result.
        """
        expires_at = INFINITE
        if not is_own:
            meta = self._base.meta(*cell)
            if meta is not None:
                number, expires_at = self._base.number(cell, meta), meta.expires_at
            elif number == NEVER:
                return _FRESH
        marks = self._base.marks
        mark = marks.or_unchanged(marks.of_list(cell, self._collections[cell[0]]), cell, number)
        return _Part(STALE, mark) if mark.number >= number else _Part(expires_at)

    def joined_record(self, cell: EntityPath, number: float, received: Received) -> _Part:
        """Return the freshness of a record that was not in the result's response, or only as a primary key."""
        stored = self._base.get(*cell)
        marks = self._base.marks
        event = marks.of_record(cell)
        if not self._rules.strict:
            meta = self._base.meta(*cell)
            if meta is None:
                return _FRESH
            since = self._base.number(cell, meta)
            mark = marks.or_unchanged(event, cell, since)
            return _Part(STALE, mark) if mark.number >= since else _Part(meta.expires_at)
        mark = marks.or_unchanged(event, cell, number)
        if stored is UNDEFINED or stored is INVALID:
            return _Part(STALE, mark) if mark.number >= number else _FRESH
        gone = self._gone(cell, number, marks.of_deletion(cell).number, mark, received)
        if gone is not _FRESH:
            return gone
        whole, expires_at = self._whole(cell)
        latest = marks.or_unchanged(event, cell, INFINITE)
        if latest.number < whole and expires_at >= self._now:
            return _Part(expires_at)
        get = self._get(cell)
        if get is None:  # there is no request for this record alone
            return _Part(STALE, mark) if mark.number >= number else _FRESH
        requested = self._base.key_meta(get.key)
        known = self._base.meta(*cell)
        is_newest = requested is not None and (known is None or known.fetched_at < requested.fetched_at)
        if requested is not None and is_newest and getattr(requested.error, "status", None) in _GONE:
            return self._gone(cell, number, max(requested.number, event.number), mark, received)
        if (
            requested is not None
            and requested.error is None
            and requested.number > latest.number
            and requested.expires_at >= self._now
        ):
            return _Part(requested.expires_at)
        mark = marks.or_unchanged(event, cell, whole)
        if mark is NO_MARK:
            mark = Mark(NEVER, f"no response contained all of {cell[0]} {cell[1]}, to which it refers")
        return self._by_request(get, mark)

    def _gone(self, cell: EntityPath, number: float, gone: float, mark: Mark, received: Received) -> _Part:
        """Return the freshness of a record that does not exist according to its own request.

        It is fresh for results that refer to it and were requested after `gone`: that request and the last event of the
        record, which may have deleted it between the two responses. Otherwise a new response is needed, of the
        result or of the record that refers to it.
        """
        for place in self._cells[cell]:
            if place is not None and place not in self._parts:
                continue  # what a record that is gone shows may lead back to it
            if place is None or place[0] in self._collections or place[1] in received.get(place[0], ()):
                if number <= gone:
                    return _Part(STALE, mark)
            elif self._whole(place)[0] <= gone and (get := self._get(place)) is not None:
                return self._by_request(get, mark)
        return _FRESH

    def _by_request(self, get: Request, mark: Mark) -> _Part:
        """Return a stale part that this request of a record would make fresh."""
        requested = self._base.key_meta(get.key)
        return _Part(STALE, mark, get, NEVER if requested is None else min(requested.number, mark.number))

    def _get(self, cell: EntityPath) -> Request | None:
        """Return the `get` request for a record; None if there is none, or if it needs unknown fields or a body."""
        siblings = self._rules.siblings
        get = None if siblings is None else next(siblings.get_requests(*cell, self._record(cell)), None)
        return None if get is None or get.rules.mutation.has_body else get

    def _record(self, cell: EntityPath) -> Mapping[str, object] | None:
        return known_record(self._base.get(*cell))

    def _whole(self, cell: EntityPath) -> tuple[float, float]:
        """Return the number and expiry (ms) of the latest request whose response contained the complete record."""
        whole = self._base.whole(*cell)
        if whole is None:
            return NEVER, STALE
        models = self._models.get(cell[0], ())
        for model in models:
            if self._rules.required_fields(model) <= whole.fields:
                return whole.number, whole.expires_at
        return (NEVER, STALE) if models else (whole.number, whole.expires_at)


def _is_change(mark: Mark) -> tuple[bool, Mark]:
    return mark.event not in UNCHANGED, mark
