"""The event hooks that restencil adds to an HTTP client, for its own requests.

An HTTP client may send several requests for one call: its `auth` answers challenges. It hands over the last response
alone, and of a redirect to no URL not even that. The hooks see every request and response before the `auth` does. For
requests that the user sends through the same client they do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..base.response_details import ORDER
from .bodies import rewind
from .cookies import keep_cookies
from .limits import BodyLimit
from .outgoing import OutgoingRequest, current_request

if TYPE_CHECKING:
    from .library import AnyClient, RawRequest, RawResponse


class BodyNotRepeatableError(Exception):
    """The HTTP client wants to send a request again whose body cannot be read a second time."""

    def __init__(self, obstacle: str, response: RawResponse) -> None:
        super().__init__(obstacle)
        self.obstacle = obstacle
        self.response = response


def receive(outgoing: OutgoingRequest, response: RawResponse) -> None:
    """Limits the body of a response and keeps its cookies; a second call does nothing."""
    if response.extensions.get(ORDER) is outgoing:
        return
    response.extensions[ORDER] = outgoing
    outgoing.last_response = response
    if not outgoing.is_bare:
        keep_cookies(outgoing, response)
    BodyLimit(outgoing.transport.library, response, outgoing.transport.limit, outgoing.deadline)


def _before(request: RawRequest) -> None:
    outgoing = current_request.get()
    if outgoing is None:
        return
    obstacle = rewind(request)
    if obstacle is not None and outgoing.last_response is not None:
        raise BodyNotRepeatableError(obstacle, outgoing.last_response)
    outgoing.last_response = None


def _after(response: RawResponse) -> None:
    outgoing = current_request.get()
    if outgoing is not None:
        receive(outgoing, response)


async def _before_async(request: RawRequest) -> None:
    _before(request)


async def _after_async(response: RawResponse) -> None:
    _after(response)


Hooks: TypeAlias = tuple[tuple[str, Any], tuple[str, Any]]
"""The hooks of a client, each with the event that it is called at; the HTTP library leaves their types open."""

BLOCKING_HOOKS: Final[Hooks] = (("request", _before), ("response", _after))
"""Those of a client for blocking code."""

AWAITED_HOOKS: Final[Hooks] = (("request", _before_async), ("response", _after_async))
"""Those of a client for asyncio."""


def add_hooks(client: AnyClient, hooks: Hooks) -> None:
    """Adds the hooks to a client, behind those of the user, unless it has them."""
    present = client.event_hooks
    for event, hook in hooks:
        if hook not in present[event]:
            present[event].append(hook)
