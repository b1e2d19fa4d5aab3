"""What the cache does for requests of an endpoint: decided once, when the endpoint is made, and read by every stage."""

from __future__ import annotations

from typing import Final, NamedTuple


class FreshnessPolicy(NamedTuple):
    """Where the rule of freshness is generous with requests, and where it is sparing: docs/reference/semantics.md."""

    marks_changes: bool
    """Whether a change makes stale all that it may have changed, and not only what `expires` names."""
    notes_overlaps: bool
    """Whether what a change and an overlapping request both touched is stale."""
    counts_whole: bool
    """Whether a record is as fresh as the response that contained it whole, and not as the last one that had a part."""
    gives_own_response: bool
    """Whether a call returns what its own response contains, whatever later or expected changes the store has."""
    follows_exactly: bool
    """Whether lists follow a change by exact arguments alone, and are stale otherwise."""
    joins_refresh: bool
    """Whether what joins a list, as an item or a page, makes the list as fresh as itself."""
    invalidation_removes: bool
    """Whether a successful response to an `Invalidate` removes the record of the request, whatever it contains."""
    members_need_response: bool
    """Whether an object with members beside its lists is known by its own response alone."""
    refetches_expired: bool
    """Whether an open live read requests again what expires."""


GENERATED: Final = FreshnessPolicy(
    marks_changes=True,
    notes_overlaps=True,
    counts_whole=True,
    gives_own_response=True,
    follows_exactly=True,
    joins_refresh=False,
    invalidation_removes=True,
    members_need_response=True,
    refetches_expired=True,
)
"""That of generated packages: what is not certain is requested again."""

BY_HAND: Final = FreshnessPolicy(
    marks_changes=False,
    notes_overlaps=False,
    counts_whole=False,
    gives_own_response=False,
    follows_exactly=False,
    joins_refresh=True,
    invalidation_removes=False,
    members_need_response=False,
    refetches_expired=False,
)
"""That of endpoints that are written by hand: a change says by `expires` what it makes stale."""
