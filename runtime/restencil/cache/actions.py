"""Every change of a store is one of these actions (§7.3); managers see them on their way to the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ..base.struct import Frozen
from ..base.values import Meta as Meta

if TYPE_CHECKING:
    from ..endpoint.endpoint import Endpoint


class Fetch(Frozen):
    """A fetch starts; the store queues it when it has an optimistic response (§7.3, §10.2)."""

    endpoint: Endpoint[..., Any]
    args: tuple[Any, ...]
    key: str
    fetch_id: int
    meta: Meta
    resets: int | None = None


def is_simulated(endpoint: Endpoint[..., Any]) -> bool:
    """Whether fetches of the endpoint show at once what they are expected to bring (§10.2)."""
    return endpoint.side_effect and endpoint.get_optimistic_response is not None


class SetResponse(Frozen):
    """A response arrived, from the network or by hand (§7.3).

    `resets` is the store's count when its fetch started; `error_expires_at` (ms) is when the error expires that is
    recorded where the response does not fit its schema. The value of a response by hand that is not `wanted` is made
    only where a fetch may wait for it, or where making it may fail.
    """

    endpoint: Endpoint[..., Any]
    args: tuple[Any, ...]
    key: str
    response: Any
    meta: Meta
    fetch_id: int | None = None
    resets: int | None = None
    error_expires_at: float | None = None
    wanted: bool = True

    def __init__(
        self,
        endpoint: Endpoint[..., Any],
        args: tuple[Any, ...],
        key: str,
        response: Any,
        meta: Meta,
        fetch_id: int | None = None,
        resets: int | None = None,
        error_expires_at: float | None = None,
        wanted: bool = True,
    ) -> None:
        # One is made for every answer; named one by one, its members take a third of the time.
        members = self.__dict__
        members["endpoint"] = endpoint
        members["args"] = args
        members["key"] = key
        members["response"] = response
        members["meta"] = meta
        members["fetch_id"] = fetch_id
        members["resets"] = resets
        members["error_expires_at"] = error_expires_at
        members["wanted"] = wanted


class SetError(Frozen):
    """A fetch failed or was aborted; `resets` is the store's count when it started (§7.3, §9.4)."""

    endpoint: Endpoint[..., Any]
    args: tuple[Any, ...]
    key: str
    error: BaseException
    meta: Meta
    fetch_id: int | None = None
    resets: int | None = None


class Set(Frozen):
    """A value is written through a schema, without an endpoint (§7.1)."""

    schema: Any
    args: tuple[Any, ...]
    value: Any
    meta: Meta


class Invalidate(Frozen):
    """The next read of this key fetches and waits (§7.3)."""

    key: str


class InvalidateAll(Frozen):
    """The same for every key with a result that the test accepts (§7.3)."""

    test: Callable[[str], bool]


class ExpireAll(Frozen):
    """Every key that the test accepts turns stale; its data stays visible (§7.3)."""

    test: Callable[[str], bool]


class Reset(Frozen):
    """The store starts over; what was under way before is ignored (§9.5)."""


class Subscribe(Frozen):
    """Someone wants this key kept up to date (§12.1)."""

    endpoint: Endpoint[..., Any]
    args: tuple[Any, ...]
    key: str


class Unsubscribe(Frozen):
    """Someone no longer wants this key kept up to date (§12.1)."""

    endpoint: Endpoint[..., Any]
    args: tuple[Any, ...]
    key: str


class Collect(Frozen):
    """Entities and keys that no one holds are deleted in place, without notification (§14)."""

    entities: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]


Action: TypeAlias = (
    Fetch
    | SetResponse
    | SetError
    | Set
    | Invalidate
    | InvalidateAll
    | ExpireAll
    | Reset
    | Subscribe
    | Unsubscribe
    | Collect
)
