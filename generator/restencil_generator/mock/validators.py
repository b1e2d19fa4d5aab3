"""What tells answers apart: their ETags, since when they are so, and what requests say of both."""

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
"""So many addresses are remembered."""


class Validators:
    """Since when each address answers as it does; the server begins with answers of a minute ago."""

    def __init__(self) -> None:
        self._begun = time.time() - 60
        self._known: dict[str, tuple[str, float]] = {}

    def validated(self, address: str, headers: Mapping[str, str], response: Response) -> Response:
        """A successful answer with ETag and date; without its body where the request has it already."""
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
    """The ETag of a body."""
    return f'"{hashlib.sha256(content).hexdigest()[:16]}"'


def matches(condition: str, tag: str | None) -> bool:
    """Whether `If-Match` allows a change of what has this ETag now; None: of what is not there."""
    return tag is not None and any(found in ("*", tag) for found in _TAGS.findall(condition))


def _has(headers: Mapping[str, str], tag: str, modified: float) -> bool:
    """Whether whoever asks has what would be answered."""
    condition = headers.get("if-none-match")
    if condition is not None:
        return any(found.removeprefix("W/") in ("*", tag) for found in _TAGS.findall(condition))
    try:
        since = parsedate_to_datetime(headers.get("if-modified-since", "")).timestamp()
    except (TypeError, ValueError, IndexError):
        return False
    return int(modified) <= since
