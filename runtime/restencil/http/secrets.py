"""Secrets of a request, and texts without them: servers repeat in their responses what was sent to them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, quote_plus, unquote_plus

from ..base.calls import ArgumentText
from .origins import CONNECTION_HEADERS

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
"""Headers whose values hold no secret."""

_SECRET_LENGTH: Final = 6
"""The shortest word that counts as a secret."""

_CREDENTIAL: Final = re.compile("auth|cookie|token|secret|key|passw|session|signature", re.IGNORECASE).search
"""Headers whose names say that they hold a credential."""


def query_secrets(url: str, public: str) -> set[str]:
    """The values in a query that `public` has not, as they were sent and decoded."""
    sent = {part.partition("=")[2] for part in url.partition("?")[2].split("&")}
    given = {part.partition("=")[2] for part in public.partition("?")[2].split("&")}
    return {form for secret in sent - given for form in (secret, unquote_plus(secret))}


def header_secrets(headers: Mapping[str, str]) -> set[str]:
    """The values of sent headers that may be a secret: of all that are not known to hold none."""
    secrets: set[str] = set()
    for name, value in headers.items():
        if name.lower() not in SHOWN_HEADERS:
            secrets.update((value, *_parts(name.lower(), value)))
    return secrets


def credentials(sent: Mapping[str, str], prepared: Mapping[str, str], given: Mapping[str, str]) -> set[str]:
    """The credentials among the sent headers: those with the name of one, and those that `prepared` added."""
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
    """A function that replaces secrets in a string by `[redacted]`, also where they are escaped."""
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
