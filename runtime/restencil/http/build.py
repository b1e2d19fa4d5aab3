"""Builds the request of the HTTP library from an outgoing one, with the `build_request` of the client.

The library merges URL, headers, body and timeouts. Four rules are added: query parameters of a call override those of
the client; the client's `Accept` overrides an implied one; the `User-Agent` contains the package; and content codings
that cannot be decompressed within bounds are not requested.
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
from .secrets import remove_credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .bodies import EncodedBody
    from .library import AnyClient, RawRequest, Url
    from .outgoing import OutgoingRequest

_CHOICES: Final = {"redirect": (None, "follow", "error", "manual"), "credentials": (None, *CREDENTIALS)}
"""The members of `request_init` with a fixed set of values; None means not set."""

_CONDITIONAL: Final = ("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range")


def build_request(client: AnyClient, outgoing: OutgoingRequest) -> RawRequest:
    """Build the first request of the HTTP library for an outgoing one. Raises ValueError if it cannot be sent."""
    init, library = outgoing.init, outgoing.transport.library
    for name, choices in _CHOICES.items():
        if init.get(name) not in choices:
            raise _unknown_choice(name, init[name], choices)
    try:
        url = library.parsed_url(outgoing.url)
    except library.InvalidURL as error:
        raise ValueError(f"invalid URL {outgoing.public!r}: {error}") from error
    content = init.get("body")
    body = NO_BODY if content is None else encode_body(content, asynchronous=isinstance(client, library.AsyncClient))
    headers = _headers(client, outgoing)
    if body.start is not None and body.start.length is not None:
        headers.setdefault("Content-Length", str(body.start.length))
    # The library does not process headers that are set afterwards, which is faster ("direct call").
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
    """Set the default content type of a body, and make it repeatable."""
    if body.content_type is not None:
        request.headers.setdefault("Content-Type", body.content_type)
    if body.start is not None:
        make_repeatable(outgoing.transport.library, client, request, body.start)


def _add_condition(request: RawRequest, outgoing: OutgoingRequest, name: str, value: str) -> None:
    """Add the conditional header of the cache, unless the user set a condition or `no-cache`."""
    headers = request.headers
    if not headers.keys().isdisjoint(_CONDITIONAL) or "no-cache" in headers.get("cache-control", "").lower():
        return
    headers[name] = value
    outgoing.is_conditional = name != "If-Match"


def _unknown_choice(name: str, value: object, choices: tuple[str | None, ...]) -> ValueError:
    _, *first, last = map(repr, choices)
    return ValueError(f"request_init[{name!r}] is {value!r}; expected {', '.join(first)} or {last}")


def _headers(client: AnyClient, outgoing: OutgoingRequest) -> dict[str, Any]:
    """Return the headers that override those of the client. Raises ValueError for one that cannot be sent."""
    own, transport = outgoing.headers, outgoing.transport
    # The raw headers of the client, because each look-up by name iterates over all of them ("direct call").
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


def _limits(client: AnyClient, timeout: float | Timeout) -> Mapping[str, object]:
    """Return the extensions of a request with its own timeout, which is in milliseconds."""
    usual = client.timeout.as_dict() if isinstance(timeout, Timeout) else {}
    return {"timeout": seconds_by_step(timeout, usual)}


def _with_client_params(client: AnyClient, url: Url) -> Url:
    """Add the query parameters of the client to a URL, except those that the URL already has."""
    given = url.params
    added = [(name, value) for name, value in client.params.multi_items() if name not in given]
    if not added:
        return url
    query = url.query.decode("ascii")
    return url.copy_with(query=f"{query}&{urlencode(added)}".lstrip("&").encode("ascii"))
