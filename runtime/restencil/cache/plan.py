"""The cache settings of an endpoint, computed once when the endpoint is created.

There is a plan for each part of the cache, created in `endpoint/`. The defaults apply to endpoints that are written by
hand; generated packages refetch uncertain data: docs/reference/semantics.md. Durations are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from ..base.freshness import Concurrency

Hook: TypeAlias = "Callable[..., Any]"
"""A user's function that is called with the arguments of a call."""


class ReadPolicy(NamedTuple):
    """When reads may use stored data, and for how long."""

    invalid_if_stale: bool = False
    """Whether a reader waits instead of seeing stale data."""
    data_expiry_length: float | None = None
    """How long data is fresh (ms); None: the client's default."""
    error_expiry_length: float | None = None
    """How long a recorded error is fresh (ms); None: the client's default."""
    error_policy: Callable[[BaseException], Any] | None = None
    """Returns whether an error is `"hard"`, so that reads raise it, or `"soft"`."""
    needs: str | tuple[str, ...] = ()
    """The fields that an entity from other responses must have: `"all"`, `"required"`, or these."""
    is_stored: bool = True
    """Whether results are stored, read from the cache and shared; False for a stream that is read once."""
    representation: tuple[str, ...] = ()
    """The arguments of a list that may select another representation of its records, as they do in reads of one."""
    conditional: bool = False
    """Whether requests are conditional (If-None-Match, If-Modified-Since) when validators are known."""
    server_lifetime: tuple[float, float] | None = None
    """The minimum and maximum (ms) of lifetimes that response headers declare; None: the client's default."""


class ResponsePlan(NamedTuple):
    """How a response is stored, and what its call returns."""

    owns_response: bool = False
    """Whether no one else uses a decoded response, so that its objects may become records without a copy."""
    validate: str | None = None
    """The validation mode of responses that do not match their schema; None: the store's mode."""
    strict_shape: bool = False
    """Whether an object with undeclared members is an error."""
    replace: bool = False
    """Whether a response replaces records instead of being merged with them."""
    empty: str | None = None
    """The meaning of a response without content: `"merge"` or `"none"`; None: it is an error."""
    has_process_hook: bool = False
    """Whether a user's function converts responses to the form of the schema."""
    update: Hook | None = None
    """Changes the results of other keys."""


class MutationPlan(NamedTuple):
    """The body of a mutation, and the effects of its success besides its response."""

    method: str = ""
    """The HTTP method."""
    has_body: bool = False
    """Whether the last argument is a body."""
    body_fields: Mapping[str, str] | None = None
    """The field by member of the body; dotted if it is nested in an object."""
    get_optimistic_response: Hook | None = None
    """Returns the optimistic response."""
    expires: tuple[str, ...] = ()
    """The names of endpoints whose results become stale after success; `self` is the entity of the path."""
    concurrency: Concurrency | None = None
    """How mutations declare the version they are based on (optimistic concurrency), if they do."""
    marks_changes: bool = False
    """Whether a success makes all data stale that it may have changed, not only `expires`."""


class ListPlan(NamedTuple):
    """How the lists of an endpoint are paged, and how they are updated when their members change."""

    list_key: Callable[..., str] | None = None
    """Returns the key of a list from a page's arguments; None unless responses are pages of a list."""
    total: tuple[str, ...] = ()
    """The path, as JSON names, of the total number of items of a list in a response; empty if there is none."""
    pages: bool = False
    """Whether the endpoint's lists are pages of longer lists."""
    exact_filters: frozenset[str] | None = None
    """The arguments that filter a list exactly; None: those that are fields of the entity."""


class PersistencePolicy(NamedTuple):
    """Whether a storage persists the results of an endpoint."""

    persist: int = 1
    """0: no; 1 or more: yes, and the number is part of the schema fingerprint."""
