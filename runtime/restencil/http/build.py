"""Builds the request of the HTTP library from an outgoing one, with the client's own `build_request`.

The library merges URL, headers, body and timeouts. Four rules are added to its own: search parameters of a call
override those of the client; an implied `Accept` gives way to the client's; the `User-Agent` names the package; and no
content coding is requested that cannot be unpacked within bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from ..base.calls import flaw_in
from ..base.durations import Timeout, seconds_by_step
from ..base.transport import ImpliedHeader
from .bodies import NO_BODY, encode_body, make_repeatable
from .cookies import CREDENTIALS, add_cookies, has_cookies
from .limits import accepted
from .origins import remove_credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .bodies import EncodedBody
    from .library import AnyClient, RawRequest, Url
    from .outgoing import OutgoingRequest

_CHOICES: Final = {"redirect": (None, "follow", "error", "manual"), "credentials": (None, *CREDENTIALS)}
"""The members of `request_init` that have one of several values, or none."""

_CONDITIONAL: Final = ("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range")


def build_request(client: AnyClient, outgoing: OutgoingRequest) -> RawRequest:
    """The first request of the HTTP library for an outgoing one. Raises ValueError for what cannot be sent."""
    init, library = outgoing.init, outgoing.transport.library
    for name, choices in _CHOICES.items():
        if init.get(name) not in choices:
            raise _unknown_choice(name, init[name], choices)
    try:
        url = library.parsed_url(outgoing.url)
    except library.InvalidURL as error:
        raise ValueError(f"not a URL that can be requested: {outgoing.public!r} ({error})") from error
    content = init.get("body")
    body = NO_BODY if content is None else encode_body(content, asynchronous=isinstance(client, library.AsyncClient))
    headers = _headers(client, outgoing)
    if body.start is not None and body.start.length is not None:
        headers.setdefault("Content-Length", str(body.start.length))
    # The library makes nothing of those that are set afterwards, which is faster ("direct call").
    are_set = not body.arguments and bytes not in map(type, headers.values())
    request = client.build_request(
        outgoing.method,
        url,
        headers=None if are_set else headers,
        extensions={} if outgoing.timeout is None else _limits(client, outgoing.timeout),
        **body.arguments,
    )
    if are_set:
        for name, value in headers.items():
            request.headers[name] = value
    outgoing.request = request
    if client.params:
        request.url = url if outgoing.is_bare else _with_client_params(client, url)
    if body is not NO_BODY:
        _describe_body(client, outgoing, request, body)
    if outgoing.is_bare:
        remove_credentials(library, request)
        request.headers.update(outgoing.headers)
    elif has_cookies(client, outgoing):
        add_cookies(client, outgoing, request, at_home=True)
    call = outgoing.call
    if call is not None and call.condition is not None:
        _add_condition(request, outgoing, *call.condition)
    return request


def _describe_body(client: AnyClient, outgoing: OutgoingRequest, request: RawRequest, body: EncodedBody) -> None:
    """Gives a body its usual content type, and lets it be sent again."""
    if body.content_type is not None:
        request.headers.setdefault("Content-Type", body.content_type)
    if body.start is not None:
        make_repeatable(outgoing.transport.library, client, request, body.start)


def _add_condition(request: RawRequest, outgoing: OutgoingRequest, name: str, value: str) -> None:
    """Adds the condition under which the cache needs a response, unless the user set one or forbids a cached one."""
    headers = request.headers
    if not headers.keys().isdisjoint(_CONDITIONAL) or "no-cache" in headers.get("cache-control", "").lower():
        return
    headers[name] = value
    outgoing.is_conditional = name != "If-Match"


def _unknown_choice(name: str, value: object, choices: tuple[str | None, ...]) -> ValueError:
    _, *first, last = map(repr, choices)
    return ValueError(f"{name} is {', '.join(first)} or {last}, not {value!r}")


def _headers(client: AnyClient, outgoing: OutgoingRequest) -> dict[str, Any]:
    """The headers of a request that override those of its client. Raises ValueError for one that cannot be sent."""
    own, transport = outgoing.headers, outgoing.transport
    # The raw headers of the client, as each look-up by name goes through all of them ("direct call").
    defaults = {name.lower(): value for name, value in client.headers.raw}
    headers: dict[str, Any] = {}
    names: set[str] = set()
    for name, value in own.items():
        flaw = flaw_in(value)
        if flaw is not None:  # the HTTP library would show the value
            raise ValueError(f"the header {name!r} cannot be sent: its value, not shown here, has {flaw}; remove it")
        lower = name.lower()
        if lower == "accept" and isinstance(value, ImpliedHeader) and defaults.get(b"accept", b"*/*") != b"*/*":
            continue
        names.add(lower)
        headers[name] = value if value.isascii() else value.encode("latin-1")
    if "user-agent" not in names:
        default = defaults.get(b"user-agent")
        agent = transport.agent.replacement(None if default is None else default.decode("latin-1"), transport.library)
        if agent is not None:
            headers["User-Agent"] = agent
    codings = defaults.get(b"accept-encoding")
    if codings is not None and "accept-encoding" not in names:
        given = codings.decode("latin-1")
        wanted = accepted(given)
        if wanted != given:
            headers["Accept-Encoding"] = wanted
    return headers


def _limits(client: AnyClient, timeout: float | Timeout) -> Mapping[str, Any]:
    """The extensions of a request that has a timeout of its own, in milliseconds."""
    usual = client.timeout.as_dict() if isinstance(timeout, Timeout) else {}
    return {"timeout": seconds_by_step(timeout, usual)}


def _with_client_params(client: AnyClient, url: Url) -> Url:
    """The URL with those search parameters of the client that it has not itself."""
    given = url.params
    added = [(name, value) for name, value in client.params.multi_items() if name not in given]
    if not added:
        return url
    query = url.query.decode("ascii")
    return url.copy_with(query=f"{query}&{urlencode(added)}".lstrip("&").encode("ascii"))
