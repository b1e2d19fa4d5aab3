"""The stage of lists: known lists follow a mutation of their members.

Each list declares by its arguments what belongs into it. Arguments that are fields of the entity, or parameters of the
mutation itself, decide; a list with any other argument is left as it is, and expires. Lists that an entity joins or
leaves update their totals, and their pages turn stale, as their items may have moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.values import is_dict
from ...schema.collection import Adder
from ...schema.containers import List, Object
from ...schema.derived import Invalidate
from ..tables import Tables
from .list_update import ExactListUpdate, LenientListUpdate, Subject, entries_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...schema.protocol import Schema
    from ..tables import EntityPath
    from ..transaction import Transaction


def update_lists(tx: Transaction) -> None:
    """Updates the lists that follow their members, by the response of a mutation.

    In generated packages a list follows exactly, by the response alone, or turns stale; an expected response, and
    endpoints that are written by hand, are lenient.
    """
    followed: set[EntityPath] = set()
    undecided: set[EntityPath] = set()
    is_exact = tx.request.rules.lists.follows_exactly and type(tx.underlying) is Tables
    renamed = [Subject(schema, pk, False) for schema, pk in tx.renamed]
    for subject in [*renamed, *_subjects(tx.request.rules.schema, tx.result)]:
        update = (ExactListUpdate if is_exact else LenientListUpdate)(tx, subject)
        update.run()
        followed |= update.followed
        undecided |= update.undecided
    tx.followed = followed - undecided


def _subjects(schema: Schema | None, result: Any, *, is_new: bool = False, apart: str = "") -> Iterator[Subject]:
    """The entities that a response is about, not those that are nested in them."""
    if isinstance(schema, Invalidate):
        schema = schema.item
    found = None if schema is None else schema.referred(result)
    if found is not None:
        yield Subject(*found, is_new, apart)
    elif isinstance(schema, Adder):
        collection = schema.collection
        for entry in entries_of(result):
            yield from _subjects(collection.item, entry, is_new=True, apart=collection.apart)
    elif isinstance(schema, List):
        for entry in entries_of(result):
            yield from _subjects(schema.item, entry)
    elif isinstance(schema, Object) and is_dict(result):
        for name, member in schema.members.items():
            yield from _subjects(member, result.get(name))
