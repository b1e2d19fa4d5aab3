"""Limits of a response: how large its body may be once it is decompressed, and until when it must have arrived."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ..base.errors import NetworkError
from ..base.transport import reported, url_of

if TYPE_CHECKING:
    from .adapter import RawResponse


def check_size(response: Any, seen: int, limit: int | None) -> None:
    """Raises NetworkError for a body of which more was seen than the limit allows."""
    if limit is not None and seen > limit:
        url = url_of(response)
        raise NetworkError(
            f"{reported(response)}: the body is larger than max_response_bytes, which is {limit} after decompression",
            response=response,
            url=url,
        )


class ReadWithin:
    """A step: reads a body within a limit of size and time, both checked while it arrives."""

    __slots__ = ("_deadline", "_limit", "_response")

    def __init__(self, response: RawResponse, limit: int | None, deadline: float | None) -> None:
        self._response = response
        self._limit = limit
        self._deadline = deadline

    def take(self, transport: object) -> RawResponse:
        """The response with its body."""
        from .adapter import pieces, with_content

        response = self._response
        chunks: list[bytes] = []
        with closing(response):
            seen = 0
            for chunk in pieces(response):
                seen += len(chunk)
                self._check(seen)
                chunks.append(chunk)
        return with_content(response, b"".join(chunks))

    async def take_async(self, transport: object) -> RawResponse:
        """The response with its body."""
        from .adapter import async_pieces, with_content

        response = self._response
        chunks: list[bytes] = []
        try:
            seen = 0
            async for chunk in async_pieces(response):
                seen += len(chunk)
                self._check(seen)
                chunks.append(chunk)
        finally:
            await response.aclose()
        return with_content(response, b"".join(chunks))

    def _check(self, seen: int) -> None:
        check_size(self._response, seen, self._limit)
        if self._deadline is not None and time.monotonic() > self._deadline:
            from .adapter import overdue

            raise overdue()
