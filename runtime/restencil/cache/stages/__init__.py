"""The stages that process a response before it is committed, chosen once when its endpoint is created."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .list_membership import extend_list
from .mutation import complete_response, follow_change, withdraw_values
from .normalization import normalize_response, validate_response
from .other_results import run_update
from .races import note_freshness

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..transaction import Transaction

Stage: TypeAlias = "Callable[[Transaction], None]"


def stages_of(*, side_effect: bool, is_page: bool, has_update: bool, strict: bool) -> tuple[Stage, ...]:
    """Return the stages of an endpoint's responses, in order."""
    stages = (
        (validate_response, True),
        (complete_response, side_effect),
        (withdraw_values, strict and not side_effect),
        (normalize_response, True),
        (follow_change, side_effect),
        (extend_list, is_page),
        (run_update, has_update),
        (note_freshness, side_effect or strict),
    )
    return tuple(stage for stage, applies in stages if applies)
