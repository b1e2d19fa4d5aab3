"""Every change of a store is one of these actions; managers see them on their way to the store."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..base.struct import Struct
from ..base.values import Meta as Meta

if TYPE_CHECKING:
    from .request import Request
    from .validators import Terms, Validators


WHAT_IS_FRESH: Final = inf
"""As the `within` of a fetch: whatever a read gives without asking will do."""


class _OfRequest(Struct):
    """An action that is about one request; its members are those of the request, for managers."""

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


class Fetch(_OfRequest):
    """A fetch starts; the store queues it when it has an optimistic response."""

    request: Request
    fetch_id: int
    meta: Meta
    resets: int | None = None
    within: float | None = None
    """How old an answer of another process may be that will do, in ms; None: the server is asked."""


class SetResponse(_OfRequest):
    """A response arrived, from the network or by hand.

    `resets` is the store's count when its fetch started; `error_expires_at` (ms) is when the error expires that is
    recorded where the response does not fit its schema. The value of a response by hand that is not `wanted` is made
    only where a fetch may wait for it, or where making it may fail. `mark` tells it from other answers under its key.
    `validators` is what it says of itself, `terms` how long it is good where the server is asked for that. It is
    `assumed` where it had no content: `response` is what was sent, as the record is assumed to be like that now.
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

    @property
    def stored(self) -> bool:
        """False for an answer that is never written to a storage: the server said `no-store`."""
        return self.validators is None or self.validators.stored


class SetError(_OfRequest):
    """A fetch failed or was aborted; `resets` is the store's count when it started.

    `was_sent`: the server may have carried it out.
    """

    request: Request
    error: BaseException
    meta: Meta
    fetch_id: int | None = None
    resets: int | None = None
    was_sent: bool = False


class Freshen(_OfRequest):
    """A fetch was answered as before, and the store has everything of it still: only its times are newer.

    `mark` identifies the response, whose body came again or which the server confirmed by a 304; `validators` and
    `terms` are those of this response. Returns the value of the fetch, or `UNDEFINED` if something did change.
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
        """False for an answer that is never written to a storage: the server said `no-store`."""
        return self.validators is None or self.validators.stored


class Set(Struct):
    """A value is written through a schema, without an endpoint."""

    schema: Any
    args: tuple[Any, ...]
    value: Any
    meta: Meta


class Invalidate(Struct):
    """The next read of this key fetches and waits."""

    key: str


class InvalidateAll(Struct):
    """The next read of every key with a result that the test accepts fetches and waits."""

    test: Callable[[str], bool]


class ExpireAll(Struct):
    """Every key that the test accepts turns stale; its data stays visible."""

    test: Callable[[str], bool]


class Reset(Struct):
    """The store starts over; what was under way before is ignored."""


class Subscribe(_OfRequest):
    """Someone wants this key kept up to date."""

    request: Request


class Unsubscribe(_OfRequest):
    """Someone no longer wants this key kept up to date."""

    request: Request


class PeerMutated(Struct):
    """A change was sent through another store of the same client: what it did there is stale here, or gone."""

    answer: SetResponse | SetError


class Collect(Struct):
    """Entities and keys that no one holds are deleted in place, without notification."""

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
