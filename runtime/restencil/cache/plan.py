"""What the cache does for requests of an endpoint: decided once, when the endpoint is made.

There is a plan for each part of the cache, which `endpoint/` fills in. The defaults are those of an endpoint that is
written by hand; in generated packages, what is not certain is requested again: docs/reference/semantics.md. Lengths
are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from .validators import Concurrency

Hook: TypeAlias = "Callable[..., Any]"
"""A function of users', called with the arguments of a call."""


class ReadPolicy(NamedTuple):
    """When what is stored answers a read, and for how long."""

    invalid_if_stale: bool = False
    """Whether a reader waits rather than sees stale data."""
    data_expiry_length: float | None = None
    """How long data is fresh; None: as the client says."""
    error_expiry_length: float | None = None
    """How long a recorded error is shown; None: as the client says."""
    error_policy: Callable[[BaseException], Any] | None = None
    """Says whether an error is `"hard"`, so that reads raise it, or `"soft"`."""
    needs: str | tuple[str, ...] = ()
    """The fields that an entity from other responses must have: `"all"`, `"required"`, or these."""
    exact_key_match: bool = False
    """Whether the endpoint's test is true of the key of each of its requests."""
    is_stored: bool = True
    """Whether results are stored, found and shared; a stream that is read once is not."""
    conditional: bool = False
    """Whether requests are conditional (If-None-Match, If-Modified-Since) when validators are known."""
    server_lifetime: tuple[float, float] | None = None
    """If data lives as long as the server says: for how long at least, and at most; None: as the client says."""
    counts_whole: bool = False
    """Whether a record is as fresh as the response that contained it whole, and not as the last one that had a part."""
    members_need_response: bool = False
    """Whether an object with members beside its lists is known by its own response alone."""
    refetches_expired: bool = False
    """Whether an open live read requests again what expires."""


class ResponsePlan(NamedTuple):
    """How a response is stored, and what its call returns."""

    stages: tuple[Callable[[Any], None], ...]
    """The stages of a response; each takes a `Transaction`, which this module cannot import."""
    owns_response: bool = False
    """Whether a response was decoded for its call alone, so that its objects may become records as they are."""
    validate: str | None = None
    """What happens to responses that do not fit what is declared; None: as the store says."""
    strict_shape: bool = False
    """Whether an object with other members than declared is an error."""
    replace: bool = False
    """Whether a response replaces records, and is not merged with them."""
    empty: str | None = None
    """What a response without content means: `"merge"`, `"none"`; None: an error."""
    has_process_hook: bool = False
    """Whether a function of the user's makes of a response what fits the schema."""
    update: Hook | None = None
    """Changes the results of other keys."""
    notes_overlaps: bool = False
    """Whether what a change and an overlapping request both touched is stale."""
    gives_own_response: bool = False
    """Whether a call returns what its own response contains, whatever later or expected changes the store has."""


class MutationPlan(NamedTuple):
    """What a request sends, and what its success changes besides its response."""

    method: str = ""
    """The HTTP method, also for messages."""
    has_body: bool = False
    """Whether the last argument is a body."""
    body_fields: Mapping[str, str] | None = None
    """By member of the body: the field, dotted if it is nested in an object."""
    get_optimistic_response: Hook | None = None
    """Makes the response that is expected."""
    expires: tuple[str, ...] = ()
    """What turns stale after success, by name."""
    concurrency: Concurrency | None = None
    """How mutations say which version they were made for, if they do."""
    marks_changes: bool = False
    """Whether a change makes stale all that it may have changed, and not only what `expires` names."""
    invalidation_removes: bool = False
    """Whether a successful response to an `Invalidate` removes the record of the request, whatever it contains."""


class ListPlan(NamedTuple):
    """How the lists of an endpoint are paged, and how they follow their members."""

    list_key: Callable[..., str] | None = None
    """Of an endpoint whose responses are pages of a list: the key of the list, from a page's arguments."""
    total: tuple[str, ...] = ()
    """Where a response says how many items its list has in all, if it does: names in JSON."""
    pages: bool = False
    """Whether its lists are pages of longer ones."""
    exact_filters: frozenset[str] | None = None
    """The arguments of a list that decide exactly what is in it; None: those that are fields of the entity."""
    follows_exactly: bool = False
    """Whether lists follow a change by exact arguments alone, and are stale otherwise."""
    joins_refresh: bool = True
    """Whether what joins a list, as an item or a page, makes the list as fresh as itself."""


class PersistencePolicy(NamedTuple):
    """Whether a storage keeps what an endpoint returns."""

    persist: int = 1
    """0 or 1; from 1 on the number is part of its schema fingerprint."""
