"""What was brought, laid over what a storage has: the same whoever was first.

Memory merges what comes in the order in which it comes. A commit may come late, when others have written the row: then
what the actions brought is laid over their row, and what arrived first counts as first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.values import INVALID, Meta, is_dict, same_json
from ..cache.normalize import extended
from ..cache.write_set import Items, Joins
from ..schema.collection import append, overlay
from ..schema.stored import PartialEntries, PartialKeys, is_partial
from .pending_write import Deleted, PendingWrite, Record

if TYPE_CHECKING:
    from ..cache.tables import Cell
    from .pending_write import Piece


class Held(NamedTuple):
    """What lies in a cell, in the form and time of memory."""

    stored: Any
    """A record, an instance that is one, a collection, or INVALID."""
    times: Meta


def folded(
    cell: Cell,
    held: Held | None,
    pending: Iterable[PendingWrite],
    moves: Callable[[PendingWrite, Joins], Joins] | None = None,
) -> Held | None:
    """What a cell holds once these actions, in their order, are laid over it; None for nothing.

    `moves` tells what becomes of lists by records as they are stored, where memory knew other ones.
    """
    for action in pending:
        for piece in action.pieces(*cell):
            if moves is not None and isinstance(piece, Joins) and piece.moved:
                piece = moves(action, piece)
            held = _laid_over(cell[1], held, piece, action.times)
        if held is not None and cell in action.doubtful:
            held = stale(held)
    return held


def _laid_over(pk: str, held: Held | None, piece: Piece, times: Meta) -> Held | None:
    if isinstance(piece, Record):
        return _record(held, piece, times)
    if isinstance(piece, Deleted):
        return _deleted(held, times)
    if isinstance(piece, Joins):
        return joined(pk, held, piece, times)
    if isinstance(piece, Items):
        return _page(held, piece.items, times) if piece.is_page else _whole(held, piece.items, times)
    if held is None or held.stored is INVALID:
        return held
    return stale(held)


def stale(held: Held) -> Held:
    """What lies there, stale from now on."""
    return Held(held.stored, held.times._replace(expires_at=min(held.times.expires_at, 1)))


def _record(held: Held | None, piece: Record, times: Meta) -> Held:
    node, record = piece.node, {**piece.record}
    if piece.reborn:
        after = _deleted(held, times)
        held = None if after.stored is INVALID and after.times == times else after
    if held is None or isinstance(held.stored, list):
        return Held(node.to_store(record), times)
    if piece.replaces:
        return Held(*node.replaced(held.stored, held.times, record, times))
    return Held(*node.merged(held.stored, held.times, record, times))


def _deleted(held: Held | None, times: Meta) -> Held:
    if held is None:
        return Held(INVALID, times)
    if held.stored is INVALID:
        return held if held.times.date > times.date else Held(INVALID, times)
    stays = held.times.date > times.date and held.times.fetched_at >= times.fetched_at
    return held if stays else Held(INVALID, times)


def _whole(held: Held | None, items: Any, times: Meta) -> Held:
    if held is None or held.stored is INVALID:
        return Held(items, times)
    before, were = held
    is_older = times.fetched_at < were.fetched_at
    if is_partial(before):
        # Only pages of it are known; those that overtook the list extend it.
        return Held(extended(items, before), were) if is_older else Held(items, times)
    if is_older:
        return held
    return Held(before if same_json(before, items) else items, times)


def _page(held: Held | None, items: Any, times: Meta) -> Held:
    if held is None or held.stored is INVALID:
        return Held(PartialEntries(items) if is_dict(items) else PartialKeys(items), times)
    if held.times.fetched_at > times.date:
        return held  # the list was asked for after the page was answered
    stored = held.stored
    return Held(overlay(stored, items) if is_dict(stored) else append(stored, items), _later(held.times, times))


def joined(pk: str, held: Held | None, piece: Joins, times: Meta) -> Held | None:
    """A collection once something joined it, or was taken out; the same where nothing becomes of that."""
    if held is None or held.stored is INVALID or held.times.fetched_at > times.date:
        return held  # the list was asked for after these were answered, so it has them
    changed = piece.change(pk, held.stored)
    if changed is held.stored and not piece.refreshes:
        return held
    return Held(changed, _later(held.times, times))


def _later(were: Meta, times: Meta) -> Meta:
    return were if times.fetched_at < were.fetched_at else times
