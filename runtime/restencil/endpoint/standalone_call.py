"""Calls of an endpoint by itself, without a controller: the transport that they go through is provided from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..base.steps import current_transport
from ..base.transport import AwaitingTransport, BlockingTransport

Provider: TypeAlias = Callable[[object], BlockingTransport | AwaitingTransport]

_provider: Provider | None = None


def provide_transports(provider: Provider) -> None:
    """Direct calls get their transports here from now on: over the client of the endpoint, or for one call alone."""
    global _provider
    _provider = provider


def transport_for(client: object) -> BlockingTransport | AwaitingTransport:
    """The transport of a direct call through this client; without one, a transport that serves this call alone.

    Raises TypeError for something that is no client.
    """
    if _provider is None:
        raise RuntimeError("no transport was provided for direct calls; import endpoints from `restencil` itself")
    return _provider(client)


def transport_of_call(owner: str, hook: str) -> BlockingTransport | AwaitingTransport:
    """The transport of the call that is under way. Raises RuntimeError where `hook` was called outside of one."""
    transport = current_transport()
    if transport is None:
        raise RuntimeError(f"{hook} of endpoint {owner!r} was called outside of a call; call the endpoint itself")
    return transport
