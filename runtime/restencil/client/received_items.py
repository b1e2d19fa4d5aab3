"""The items that a run over pages has received: which of them may have another position now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..base.bodies import streams_in
from ..base.steps import current_call
from ..base.values import INVALID, UNDEFINED, kind_of, same_json
from ..schema.record import class_record, identity_of
from ..schema.stored import known_record
from .in_flight import InFlight
from .timers import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ..base.abort import AbortSignal
    from ..base.steps import StepsOf
    from ..cache.entity_events import EntityEvents
    from .core import Core


class _ReceivedItem:
    """An item of a run: the cell of its entity, if it is one, and what was stored of it when its page was received."""

    __slots__ = ("_number", "_record", "cell", "counted")

    def __init__(self, cell: tuple[str, str] | None, stored: Any, number: float) -> None:
        self.cell = cell
        self._record = known_record(stored)
        self._number = number
        self.counted: set[str] = set()
        """The kinds of events that were counted, each once for this page."""

    def move(self, seen: EntityEvents) -> Move | None:
        """Return how it may have changed its position or left the list; None if it did neither, or that was counted."""
        is_marked = seen.changed >= self._number
        if seen.stored is INVALID or (seen.stored is UNDEFINED and is_marked):  # a deletion may be evicted as well
            move = Move(self, "deleted", is_deletion=True)
        elif seen.removed >= self._number:
            move = Move(self, "maybe deleted", is_deletion=True)
        elif is_marked or self._differs(known_record(seen.stored)):
            move = Move(self, "changed", is_deletion=False)
        else:
            return None
        return None if move.kind in self.counted else move

    def _differs(self, record: Mapping[str, Any] | None) -> bool:
        if record is None or self._record is None or record is self._record:
            return False
        return any(not same_json(record.get(name), value) for name, value in self._record.items())


class Move(NamedTuple):
    """An item that was, or may have been, deleted or changed after its page was received."""

    item: _ReceivedItem
    kind: str
    """What happened to it."""
    is_deletion: bool
    """Whether it may have left the list."""


class ReceivedItems:
    """The items on all pages of a run, by identity."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._items: dict[Any, _ReceivedItem] = {}

    def __len__(self) -> int:
        return len(self._items)

    def add(self, items: Iterable[Any], in_flight: object) -> None:
        """Add the items of a page, which the response to this request contained; earlier events are older than it."""
        store = self._core.store
        number = in_flight.fetched_at if isinstance(in_flight, InFlight) else store.next_number()
        new = {identity_in_run(item): cell_of(item) for item in items}
        known = store.events_of([cell for cell in new.values() if cell is not None])
        for identity, cell in new.items():
            self._items[identity] = _ReceivedItem(cell, UNDEFINED if cell is None else known[cell].stored, number)

    def moves(self) -> list[Move]:
        """Return the moves of entities that were not counted yet."""
        known = {one.cell: one for one in self._items.values() if one.cell is not None}
        moves = (known[cell].move(seen) for cell, seen in self._core.store.events_of(known).items())
        return [move for move in moves if move is not None]

    def wait_for_changes(self, signal: AbortSignal | None) -> StepsOf[None]:
        """Steps: wait until the changes that may move an item, and are under way now, have ended.

        Those that begin meanwhile are not waited for: there may always be one, and the server has made none of them
        before the pages so far. Neither are those that read a stream while they are sent, which may wait for items of
        the run.
        """
        for change in list(self._changes_in_flight()):
            while not change.done and not _sends_a_stream(change):
                yield from wait_for(change, None, signal)

    def has_changes_in_flight(self) -> bool:
        """Return whether a change is under way that may move an item."""
        return next(self._changes_in_flight(), None) is not None

    def _changes_in_flight(self) -> Iterator[InFlight]:
        """Yield the sent changes in flight that may move an item, except those that would wait for the run.

        Those through other views of the client are among them.
        """
        member, outer = self._core.store.member, current_call.get()
        peers = [] if member is None else [peer.store for peer in member.of_same_credential()]
        cells = [one.cell for one in self._items.values() if one.cell is not None]
        for store in (self._core.store, *peers):
            if not store.in_flight.mutations:
                continue
            for seen in store.events_of(cells).values():
                for fetch_id in seen.in_flight:
                    change = store.in_flight.by_id.get(fetch_id)
                    if not isinstance(change, InFlight) or not change.is_sent:
                        continue
                    waits_for_run = change.owned_here and (self._core.is_blocking or change.loop is None)
                    if not waits_for_run and (outer is None or outer.owner is not change):
                        yield change


def _sends_a_stream(change: InFlight) -> bool:
    request = change.request
    return request.rules.mutation.has_body and any(streams_in(request.args[-1]))


def count_moves(moves: list[Move]) -> None:
    """Count these moves, so that each is considered once."""
    for item, kind, _ in moves:
        item.counted.add(kind)


def cell_of(item: Any) -> tuple[str, str] | None:
    """Return the key of the table and the primary key of an entity; None for other items."""
    pk = identity_of(item)
    return None if pk is None else (cast(Any, class_record(kind_of(item))).key, pk)


def identity_in_run(item: Any) -> Any:
    """Return what identifies an item among those of a run: its type, and its primary key or value."""
    pk = identity_of(item)
    return (type(item), repr(item)) if pk is None else (type(item), pk)
