"""The stages that process a response before it is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .list_membership import extend_list
from .mutation import complete_response, follow_change, withdraw_values
from .normalization import normalize_response, validate_response
from .other_results import run_update
from .races import note_freshness

if TYPE_CHECKING:
    from ..transaction import Transaction


def process(tx: Transaction) -> None:
    """Process a response: it is normalized, and everything that follows from it is added to the transaction."""
    rules = tx.request.rules
    validate_response(tx)
    if rules.side_effect:
        complete_response(tx)
    elif rules.strict:
        withdraw_values(tx)
    normalize_response(tx)
    if rules.side_effect:
        follow_change(tx)
    if rules.lists.list_key is not None:
        extend_list(tx)
    if rules.response.update is not None:
        run_update(tx)
    if rules.side_effect or rules.strict:
        note_freshness(tx)
