"""The stage of lists: known lists follow a mutation of their members.

Each list declares by its arguments what belongs into it. Arguments that are fields of the entity, or parameters of the
mutation itself, decide; a list with any other argument is left as it is, and expires. Lists that an entity joins or
leaves update their totals, and their pages turn stale, as their items may have moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...schema.protocol import Subject
from ..tables import Tables
from .list_update import ExactListUpdate, LenientListUpdate

if TYPE_CHECKING:
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
    renamed = [Subject(*gone) for gone in tx.renamed]
    schema = tx.request.rules.schema
    for subject in [*renamed, *(() if schema is None else schema.subjects(tx.result))]:
        update = (ExactListUpdate if is_exact else LenientListUpdate)(tx, subject)
        update.run()
        followed |= update.followed
        undecided |= update.undecided
    tx.followed = followed - undecided
