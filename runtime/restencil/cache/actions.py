"""The actions of a store: each operation that reads from the network or changes the cache is one of them.

A controller passes an action through its managers (`restencil.Manager`) to the store, which applies it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..base.values import Meta as Meta
from ..base.values import Struct

if TYPE_CHECKING:
    from ..base.freshness import Terms, Validators
    from .request import Request

__all__ = [
    "Action",
    "Collect",
    "ExpireAll",
    "Fetch",
    "Freshen",
    "Invalidate",
    "InvalidateAll",
    "PeerMutated",
    "Reset",
    "Set",
    "SetError",
    "SetResponse",
    "Subscribe",
    "Unsubscribe",
]


WHAT_IS_FRESH: Final = inf
"""As the `within` of a `Fetch`: any result that a read would return without a request is accepted."""


class _OfRequest(Struct):
    """An action that belongs to one request."""

    request: Request

    @property
    def endpoint(self) -> Any:
        """The endpoint that was called."""
        return self.request.endpoint

    @property
    def args(self) -> tuple[Any, ...]:
        """The bound arguments of the call."""
        return self.request.args

    @property
    def key(self) -> str:
        """The key under which the result is stored."""
        return self.request.key


def _may_be_stored(request: Request, validators: Validators | None) -> bool:
    """Return whether a response may be stored: not with `no-store`, and not one of several representations."""
    return (validators is None or validators.stored) and not request.selects_representation


class Fetch(_OfRequest):
    """A fetch starts. The store keeps its optimistic response, if it has one, until the fetch ends.

    `resets` is the number of resets of the store when the fetch started.
    """

    request: Request
    fetch_id: int
    meta: Meta
    resets: int | None = None
    within: float | None = None
    """The maximum age (ms) of a response of another process that is used instead of a request; None: always request."""


class SetResponse(_OfRequest):
    """A response arrived from the network, or was set by the program.

    - `fetch_id`: the fetch that it belongs to; None for a response that was set by the program.
    - `resets`: the number of resets of the store when its fetch started. A response from before a reset is dropped.
    - `error_expires_at`: when the error expires (ms) that is stored if the response does not match its schema.
    - `wanted`: False if no caller uses the returned value; it is built only where this may fail.
    - `mark`: a digest of the body, to recognize the same response when it arrives again.
    - `validators`, `terms`: its ETag and dates; how long it is fresh, for endpoints with `freshness: server`.
    - `assumed`: the response had no content, and `response` is the body of the request.
    - `created`: its status, 201, says that something was created.
    """

    request: Request
    response: Any
    meta: Meta
    fetch_id: int | None = None
    resets: int | None = None
    error_expires_at: float | None = None
    wanted: bool = True
    mark: bytes | None = None
    validators: Validators | None = None
    terms: Terms | None = None
    assumed: bool = False
    created: bool = False

    @property
    def stored(self) -> bool:
        """Whether it may be written to a storage."""
        return _may_be_stored(self.request, self.validators)


class SetError(_OfRequest):
    """A fetch failed or was aborted.

    `resets` is the number of resets of the store when it started. `may_be_done`: the server may have processed it.
    """

    request: Request
    error: BaseException
    meta: Meta
    fetch_id: int | None = None
    resets: int | None = None
    may_be_done: bool = False


class Freshen(_OfRequest):
    """The server confirmed the stored response, by a 304 or by the same body: only its times change.

    `mark` identifies the response; `validators` and `terms` are the new ones. The store returns the value of the fetch,
    or `UNDEFINED` if the stored data has changed meanwhile.
    """

    request: Request
    mark: Hashable
    meta: Meta
    fetch_id: int
    resets: int | None = None
    validators: Validators | None = None
    terms: Terms | None = None

    @property
    def stored(self) -> bool:
        """Whether it may be written to a storage."""
        return _may_be_stored(self.request, self.validators)


class Set(Struct):
    """A value is written through a schema, without an endpoint."""

    schema: Any
    args: tuple[Any, ...]
    value: Any
    meta: Meta


class Invalidate(Struct):
    """The result of a key becomes invalid: the next read of it fetches and waits."""

    key: str


class InvalidateAll(Struct):
    """The results of all keys for which `test` is true become invalid."""

    test: Callable[[str], bool]


class ExpireAll(Struct):
    """The results of all keys for which `test` is true become stale; views still show their data."""

    test: Callable[[str], bool]


class Reset(Struct):
    """The store is emptied; responses to requests from before are ignored."""


class Subscribe(_OfRequest):
    """A subscription to a key starts: managers keep it up to date."""

    request: Request


class Unsubscribe(_OfRequest):
    """A subscription to a key ends."""

    request: Request


class PeerMutated(Struct):
    """A change was sent through another store of the same client: here its effects become stale, or are deleted."""

    answer: SetResponse | SetError


class Collect(Struct):
    """Entities and keys that are no longer referenced are deleted, without notification."""

    entities: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]


Action: TypeAlias = (
    Fetch
    | SetResponse
    | Freshen
    | SetError
    | Set
    | Invalidate
    | InvalidateAll
    | ExpireAll
    | Reset
    | Subscribe
    | Unsubscribe
    | PeerMutated
    | Collect
)
"""One of the actions of this module."""
