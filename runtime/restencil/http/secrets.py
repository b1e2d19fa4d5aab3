"""Secrets of a request, and their removal: from strings, and from requests that are redirected to another origin.

Servers repeat secrets in their responses. The HTTP libraries remove only `Authorization` at another origin, so a key in
`X-Api-Key` would be sent there; and they restore all headers if a second redirect returns to the first origin.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus, unquote_plus

from ..base.calls import ArgumentText
from ..base.transport import origin_of

if TYPE_CHECKING:
    from .library import Library, RawRequest

CONNECTION_HEADERS: Final = ("host", "transfer-encoding", "accept-encoding", "connection")
"""Headers that describe the connection."""

SHOWN_HEADERS: Final = frozenset(
    (
        *CONNECTION_HEADERS,
        "accept",
        "accept-language",
        "content-length",
        "content-type",
        "idempotency-key",
        "user-agent",
    )
)
"""Headers whose values contain no secret."""

_SECRET_LENGTH: Final = 6
"""The minimum length of a string that is treated as a secret."""

_CREDENTIAL: Final = re.compile("auth|cookie|token|secret|key|passw|session|signature", re.IGNORECASE).search
"""Finds words in names of headers that contain credentials."""


def query_secrets(url: str, public: str) -> set[str]:
    """Return the values in the query string that are missing in `public`, both encoded and decoded."""
    sent = {part.partition("=")[2] for part in url.partition("?")[2].split("&")}
    given = {part.partition("=")[2] for part in public.partition("?")[2].split("&")}
    return {form for secret in sent - given for form in (secret, unquote_plus(secret))}


def header_secrets(headers: Mapping[str, str]) -> set[str]:
    """Return the values of sent headers that may be secret: of all except `SHOWN_HEADERS`."""
    secrets: set[str] = set()
    for name, value in headers.items():
        if name.lower() not in SHOWN_HEADERS:
            secrets.update((value, *_parts(name.lower(), value)))
    return secrets


def credentials(sent: Mapping[str, str], prepared: Mapping[str, str], given: Mapping[str, str]) -> set[str]:
    """Return the credentials in sent headers: those with the name of one, and those that `prepared` added."""
    before = {name.lower(): value for name, value in given.items()}
    named = {name: value for name, value in sent.items() if _CREDENTIAL(name)}
    added = {
        name: value
        for name, value in prepared.items()
        if before.get(name.lower()) != value and not (isinstance(value, ArgumentText) and not value.secret)
    }
    declared = {str(value) for value in prepared.values() if isinstance(value, ArgumentText) and value.secret}
    return header_secrets({**named, **added}) | declared


def _parts(name: str, value: str) -> Iterator[str]:
    if "cookie" in name:
        yield from (crumb.partition("=")[2].strip() for crumb in value.split(";"))
        return
    scheme, _, rest = value.partition(" ")
    if "authorization" not in name or not rest:
        yield from value.replace("=", " ").replace(";", " ").split()
        return
    yield rest
    if scheme.lower() == "basic":
        try:
            user = base64.b64decode(rest).decode("utf-8", "replace")
        except ValueError:
            return
        yield from (user, user.partition(":")[2])


def hider_of(secrets: Iterable[str]) -> Callable[[str], str]:
    """Return a function that replaces secrets in a string by `[redacted]`, also in escaped forms."""
    found = {form for secret in secrets if len(secret) >= _SECRET_LENGTH for form in _forms(secret)}
    forms = sorted(found, key=len, reverse=True)

    def hide(text: str) -> str:
        for form in forms:
            text = text.replace(form, "[redacted]")
        return text

    return hide


def _forms(secret: str) -> Iterator[str]:
    import html  # imported here, as only errors need it

    escaped = json.dumps(secret)[1:-1]
    plain = json.dumps(secret, ensure_ascii=False)[1:-1]
    yield from (secret, quote(secret, safe=""), quote_plus(secret), html.escape(secret))
    yield from (escaped, plain, escaped.replace("/", "\\/"), plain.replace("/", "\\/"))


# --- other origins ---------------------------------------------------------------------------------------------------


def sends_body_elsewhere(request: RawRequest, following: RawRequest) -> bool:
    """Return whether a redirected request sends a body to another origin than the one that redirected it."""
    headers = following.headers
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    return has_body and origin_of(str(following.url)) != origin_of(str(request.url))


def remove_credentials(library: Library, request: RawRequest) -> None:
    """Remove all headers of a request except those that describe its content and connection."""
    headers = request.headers
    for name in list(headers):
        if not name.startswith("content-") and name not in CONNECTION_HEADERS:
            del headers[name]
    headers["accept"] = "*/*"
    headers["user-agent"] = library.user_agent
