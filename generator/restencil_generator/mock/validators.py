"""Validators of responses: ETags, modification dates, and conditional requests."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Mapping
from email.utils import formatdate, parsedate_to_datetime
from typing import Final

from starlette.responses import Response

_TAGS: Final = re.compile(r'(?:W/)?"[^"]*"|\*')
_MANY: Final = 10_000
"""Maximum number of URLs that are remembered."""


class Validators:
    """The modification date of the response at each URL; initially it is a minute ago."""

    def __init__(self) -> None:
        self._begun = time.time() - 60
        self._known: dict[str, tuple[str, float]] = {}

    def validated(self, address: str, headers: Mapping[str, str], response: Response) -> Response:
        """Add ETag and date to a successful response, or remove its body if the request has the current version."""
        tag = tag_of(bytes(response.body))
        known = self._known.get(address)
        if known is None or known[0] != tag:
            if len(self._known) >= _MANY:
                self._known.clear()
            known = self._known[address] = tag, self._begun if known is None else time.time()
        found = {"ETag": tag, "Last-Modified": formatdate(known[1], usegmt=True)}
        if _has(headers, tag, known[1]):
            return Response(status_code=304, headers=found)
        response.headers.update(found)
        return response


def tag_of(content: bytes) -> str:
    """Return the ETag of a body."""
    return f'"{hashlib.sha256(content).hexdigest()[:16]}"'


def matches(condition: str, tag: str | None) -> bool:
    """Return whether `If-Match` allows a change of a resource with this ETag; None for a missing resource."""
    return tag is not None and any(found in ("*", tag) for found in _TAGS.findall(condition))


def _has(headers: Mapping[str, str], tag: str, modified: float) -> bool:
    """Return whether the client already has the current response."""
    condition = headers.get("if-none-match")
    if condition is not None:
        return any(found.removeprefix("W/") in ("*", tag) for found in _TAGS.findall(condition))
    try:
        since = parsedate_to_datetime(headers.get("if-modified-since", "")).timestamp()
    except (TypeError, ValueError, IndexError):
        return False
    return int(modified) <= since
