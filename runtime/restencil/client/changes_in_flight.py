"""The changes of an entity that are under way, which iterations over its lists wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.bodies import streams_in
from ..base.steps import current_call
from ..cache.change_effects import entities_changed
from .in_flight import InFlight
from .timers import wait_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ..base.abort import AbortSignal
    from ..base.steps import StepsOf
    from .core import Core


def wait_for_changes(core: Core, tables: Collection[str], signal: AbortSignal | None) -> StepsOf[None]:
    """Steps: wait until the changes of records of these tables that are under way now have ended.

    Those that begin meanwhile are not waited for, as there may always be one.
    """
    for change in list(_changes_in_flight(core, tables)):
        while not change.done:
            yield from wait_for(change, None, signal)


def _changes_in_flight(core: Core, tables: Collection[str]) -> Iterator[InFlight]:
    """Yield the sent changes of these tables, also through other views, except those that may wait for this call.

    These are the change that this call is part of, those that this thread sends, and those that read a stream while
    they are sent, which an iteration may feed.
    """
    member, outer = core.store.member, current_call.get()
    peers = [] if member is None else [peer.store for peer in member.of_same_credential()]
    for store in (core.store, *peers):
        with store.lock:
            changes = [store.in_flight.by_id.get(fetch_id) for fetch_id in store.in_flight.mutations]
        for change in changes:
            if not isinstance(change, InFlight) or not change.is_sent:
                continue
            if entities_changed(change.request.rules).isdisjoint(tables):
                continue
            is_own = change.owned_here and (core.is_blocking or change.loop is None)
            if not is_own and (outer is None or outer.owner is not change) and not _sends_a_stream(change):
                yield change


def _sends_a_stream(change: InFlight) -> bool:
    request = change.request
    return request.rules.mutation.has_body and any(streams_in(request.args[-1]))
