"""What happened to the items of a list, which runs over its pages ask: they may have another position now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.values import Meta
from .addressed import cell_of, entities_of_url
from .change_effects import tables_changed
from .normalize import Normalization

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..schema.protocol import Subject
    from .request import Request
    from .staleness import EntityPath
    from .store_state import StoreState


class EntityEvents(NamedTuple):
    """What is stored of an entity, without optimistic updates, and the last events that concern it."""

    stored: Any
    changed: float
    """The number of the last event that made its record stale."""
    removed: float
    """The number of the last event that may have deleted it."""
    in_flight: Sequence[int]
    """The fetch ids of the mutations in flight that may change, rename or delete it."""


class _Mutation(NamedTuple):
    fetch_id: int
    tables: tuple[str, ...]
    named: frozenset[EntityPath]


def events_of(store_state: StoreState, cells: Iterable[EntityPath]) -> dict[EntityPath, EntityEvents]:
    """Return what is stored of each of these entities, and what happened to it."""
    base, marks = store_state.base, store_state.base.marks
    mutations = [*_mutations_in_flight(store_state)]

    def of(cell: EntityPath) -> EntityEvents:
        in_flight = [one.fetch_id for one in mutations if (cell in one.named if one.named else cell[0] in one.tables)]
        return EntityEvents(base.get(*cell), marks.of_record(cell).number, marks.of_removal(cell).number, in_flight)

    return {cell: of(cell) for cell in cells}


def addressed_now(store_state: StoreState, request: Request) -> list[Subject]:
    """Return the entities that a request addresses before it has a response, from the stored data."""
    now = store_state.clock()
    with store_state.hooks:
        return entities_of_url(
            request.rules.item, request, Normalization(store_state.base, request.args, Meta(now, now, now))
        )


def _mutations_in_flight(store_state: StoreState) -> Iterator[_Mutation]:
    for fetch_id in store_state.in_flight.mutations:
        request: Request = store_state.in_flight.by_id[fetch_id].request
        schema = request.rules.schema
        if request.rules.mutation.marks_changes and not (schema is not None and schema.is_creation):
            named = frozenset(map(cell_of, addressed_now(store_state, request)))
            yield _Mutation(fetch_id, tables_changed(request.rules), named)
