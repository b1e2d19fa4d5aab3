"""httpx clients that answer from memory and keep what was asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.libraries import httpx

Respond = Callable[[httpx.Request], httpx.Response]


def as_json(value: Any, status: int = 200) -> httpx.Response:
    """A JSON answer."""
    content = json.dumps(value, separators=(",", ":")).encode()
    return httpx.Response(status, content=content, headers={"Content-Type": "application/json"})


def as_text(text: str, kind: str | None = "text/plain", status: int = 200) -> httpx.Response:
    """An answer with this content type, or none."""
    return httpx.Response(status, content=text.encode(), headers={"Content-Type": kind} if kind else {})


class Asked:
    """`asked.sync` and `asked.asynchronous` are clients with one answer for all; `asked.requests` is what they sent."""

    def __init__(self, respond: Respond | httpx.Response | None = None, **options: Any) -> None:
        self.requests: list[httpx.Request] = []
        self._respond = respond if respond is not None else as_json({})
        options.setdefault("base_url", "http://case.test")
        self.sync = httpx.Client(transport=httpx.MockTransport(self._handle), **options)
        self.asynchronous = httpx.AsyncClient(transport=httpx.MockTransport(self._handle), **options)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if callable(self._respond):
            return self._respond(request)
        given = self._respond
        return httpx.Response(given.status_code, content=given.content, headers=given.headers.raw)

    @property
    def last(self) -> httpx.Request:
        """The last request."""
        return self.requests[-1]
