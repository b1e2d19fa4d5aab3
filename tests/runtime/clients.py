"""httpx clients that answer from memory and keep what was asked."""

from __future__ import annotations

import json
from typing import Any

from tests.libraries import httpx


def as_json(value: Any, status: int = 200) -> httpx.Response:
    """A JSON answer."""
    content = json.dumps(value, separators=(",", ":")).encode()
    return httpx.Response(status, content=content, headers={"Content-Type": "application/json"})


def as_text(text: str, kind: str | None = "text/plain", status: int = 200) -> httpx.Response:
    """An answer with this content type, or none."""
    return httpx.Response(status, content=text.encode(), headers={"Content-Type": kind} if kind else {})


class Asked:
    """`asked.sync` and `asked.asynchronous` are clients with one answer for all; `asked.requests` is what they sent.

    The answer is a response or its JSON, or a function of the request that gives either.
    """

    def __init__(self, respond: Any = None, **options: Any) -> None:
        self.requests: list[httpx.Request] = []
        self._respond: Any = {} if respond is None else respond
        options.setdefault("base_url", "http://case.test")
        self.sync = httpx.Client(transport=httpx.MockTransport(self._handle), **options)
        self.asynchronous = httpx.AsyncClient(transport=httpx.MockTransport(self._handle), **options)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if callable(self._respond):
            found = self._respond(request)
            return found if isinstance(found, httpx.Response) else as_json(found)
        given = self._respond  # a response may be of the other library, as it was made before the test began
        if not hasattr(given, "status_code"):
            return as_json(given)
        return httpx.Response(given.status_code, content=given.content, headers=given.headers.raw)

    def of(self, asynchronous: bool) -> Any:
        """The client of one of the worlds."""
        return self.asynchronous if asynchronous else self.sync

    @property
    def last(self) -> httpx.Request:
        """The last request."""
        return self.requests[-1]

    def sent(self, name: str) -> list[str | None]:
        """The header of this name of each request."""
        return [request.headers.get(name) for request in self.requests]
