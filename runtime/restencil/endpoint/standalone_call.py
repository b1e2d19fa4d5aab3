"""Transports of calls of an endpoint by itself, without a controller."""

from __future__ import annotations

from typing import Final

from ..base.lazy_imports import find
from ..base.steps import current_transport
from ..base.transport import AwaitingTransport, BlockingTransport

_TRANSPORT_FOR: Final = "restencil.http.transport:transport_for"
"""What opens transports: it is looked up by its name at the first call, as this layer does not know that one."""


def transport_for(client: object) -> BlockingTransport | AwaitingTransport:
    """The transport of a direct call through this client; without one, a transport that serves this call alone.

    Raises TypeError for something that is no client.
    """
    opened: BlockingTransport | AwaitingTransport = find(_TRANSPORT_FOR)(client)
    return opened


def transport_of_call(owner: str, hook: str) -> BlockingTransport | AwaitingTransport:
    """The transport of the call that is under way. Raises RuntimeError where `hook` was called outside of one."""
    transport = current_transport()
    if transport is None:
        raise RuntimeError(f"{hook} of endpoint {owner!r} was called outside of a call; call the endpoint itself")
    return transport
