"""Limits of a response: how large its body may be once it is decompressed, and until when it must have arrived."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ..base.answers import reported, told_by
from ..base.errors import NetworkError
from .adapter import content_coding, guard_body, is_read
from .decompression import Coding, codings_of, unpacked

if TYPE_CHECKING:
    from .library import Library, RawResponse

DEFAULT_LIMIT: Final = 256 * 1024 * 1024
"""Bytes of a body that is read whole, where nobody gave a limit."""


class Guard:
    """Unpacks a body while it arrives, and refuses it as soon as it is larger or later than it may be.

    `limit` counts bytes after decompression; None is `DEFAULT_LIMIT` where the body is read `whole`. `deadline` is a
    time of the monotonic clock, until which a body that is read whole must be there. Raises NetworkError for a body
    that cannot be unpacked within bounds.
    """

    __slots__ = ("_codings", "_deadline", "_library", "_limit", "_response", "_seen", "whole")

    def __init__(
        self, library: Library, response: RawResponse, limit: int | None, deadline: float | None, *, whole: bool
    ) -> None:
        self._library = library
        self._response = response
        self._limit = limit
        self._deadline = deadline
        self._seen = 0
        self.whole = whole
        try:
            self._codings = [Coding(name) for name in codings_of(content_coding(response))]
        except ValueError as error:
            raise self._refused(str(error)) from error
        if is_read(response):
            self._check(len(response.content))
        else:
            guard_body(library, response, self, packed=bool(self._codings))

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk of the body unfolds into, in pieces that are checked one by one."""
        self._check(0)
        try:
            for piece in unpacked(chunk, self._codings):
                self._check(len(piece))
                yield piece
        except zlib.error as error:
            raise self._library.DecodingError(str(error)) from error

    def _check(self, more: int) -> None:
        self._seen += more
        limit = self._limit
        if limit is None and self.whole:
            limit = DEFAULT_LIMIT
        if limit is not None and self._seen > limit:
            default = "" if self._limit is not None else ", as none was given"
            raise self._refused(
                f"the body is larger than max_response_bytes, which is {limit} after decompression{default}"
            )
        if self.whole and self._deadline is not None and time.monotonic() > self._deadline:
            raise self._library.ReadTimeout("the answer did not arrive within the timeout")

    def _refused(self, problem: str) -> NetworkError:
        return NetworkError(f"{reported(self._response)}: {problem}", **told_by(self._response))


class Read:
    """A step: reads the whole body of a guarded response, and gives the response."""

    __slots__ = ("_response",)

    def __init__(self, response: RawResponse) -> None:
        self._response = response

    def take(self, transport: object) -> RawResponse:
        return read(self._response)

    async def take_async(self, transport: object) -> RawResponse:
        return await read_async(self._response)


def read(response: RawResponse) -> RawResponse:
    """The response with its body; a connection whose body cannot be read is given up."""
    try:
        response.read()
    except BaseException:
        response.close()
        raise
    return response


async def read_async(response: RawResponse) -> RawResponse:
    """The response of the asynchronous client with its body; a connection whose body cannot be read is given up."""
    try:
        await response.aread()
    except BaseException:
        await response.aclose()
        raise
    return response
