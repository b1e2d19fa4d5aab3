"""Limits of a response: the size of its body after decompression, and the time until which it must have arrived.

The HTTP libraries read a body of any size, and unpack each chunk at once: a few kilobytes of gzip become gigabytes. So
bodies are unpacked here, in pieces of a bounded size, and rejected as soon as they are too large or too late. This is
also how the timeout of a whole request is checked on a client of the user's own; see `deadlines`.
"""

from __future__ import annotations

import io
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import NetworkError
from ..base.response_details import error_members, reported
from .decompression import Coding, codings_of, unpacked

if TYPE_CHECKING:
    from .library import Library, RawResponse

DEFAULT_LIMIT: Final = 256 * 1024 * 1024
"""Bytes of a body that is read whole, where nobody gave a limit."""

_LIMIT: Final = "restencil_limit"
"""The extension of a response that holds its `BodyLimit`."""


class BodyLimit:
    """Unpacks the body of a response while it arrives. Raises NetworkError once it is larger than it may be.

    `limit` counts bytes after decompression; None is `DEFAULT_LIMIT` where the body is read `whole`. `deadline` is a
    time of the monotonic clock, until which a body that is read whole must be there. Raises NetworkError for a body
    that cannot be unpacked within bounds.
    """

    __slots__ = ("_codings", "_deadline", "_library", "_limit", "_response", "_size", "whole")

    def __init__(self, library: Library, response: RawResponse, limit: int | None, deadline: float | None) -> None:
        self._library = library
        self._response = response
        self._limit = limit
        self._deadline = deadline
        self._size = 0
        self.whole = True
        """Whether the body is collected before it is handed on, so that it is never in memory twice."""
        is_read = response.is_stream_consumed
        try:
            self._codings = [] if is_read else [Coding(name) for name in codings_of(_content_coding(response))]
        except ValueError as error:
            raise self._error(str(error)) from error
        response.extensions[_LIMIT] = self
        if is_read:
            self._check(len(response.content))
            return
        asynchronous = isinstance(response.stream, library.AsyncByteStream)
        base: Any = library.AsyncByteStream if asynchronous else library.SyncByteStream
        form: Any = _AsyncLimitedBody if asynchronous else _LimitedBody
        response.stream = library.subclass(form, base)(response.stream, self)
        if self._codings:
            del response.headers["content-encoding"]  # nobody else unpacks it

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Yields what a chunk of the body unpacks to, in pieces that are checked one by one."""
        self._check(0)
        try:
            for piece in unpacked(chunk, self._codings):
                self._check(len(piece))
                yield piece
        except zlib.error as error:
            raise self._library.DecodingError(str(error)) from error

    def _check(self, more: int) -> None:
        self._size += more
        limit = self._limit
        if limit is None and self.whole:
            limit = DEFAULT_LIMIT
        if limit is not None and self._size > limit:
            default = "" if self._limit is not None else ", as none was given"
            raise self._error(
                f"the body is larger than max_response_bytes, which is {limit} after decompression{default}"
            )
        if self.whole and self._deadline is not None and time.monotonic() > self._deadline:
            raise self._library.ReadTimeout("the response did not arrive within the timeout")

    def _error(self, problem: str) -> NetworkError:
        return NetworkError(f"{reported(self._response)}: {problem}", **error_members(self._response))


def limit_of_body(response: RawResponse) -> BodyLimit | None:
    """The limit of the body of a response, if it has one."""
    found: BodyLimit | None = response.extensions.get(_LIMIT)
    return found


def _content_coding(response: RawResponse) -> str:
    return ",".join(
        value.decode("latin-1") for name, value in response.headers.raw if name.lower() == b"content-encoding"
    )


class _Limited:
    """The body of a response whose chunks go through a limit."""

    def __init__(self, stream: Any, limit: BodyLimit) -> None:
        self._stream = stream
        self._limit = limit

    @property
    def elapsed(self) -> Any:
        """How long the request took: httpx2 reads it from the stream, httpx sets it on the response."""
        return getattr(self._stream, "elapsed", None)


class _LimitedBody(_Limited):
    def __iter__(self) -> Iterator[bytes]:
        pieces = self._limit.pieces
        if not self._limit.whole:
            for chunk in self._stream:
                yield from pieces(chunk)
            return
        body = io.BytesIO()
        for chunk in self._stream:
            for piece in pieces(chunk):
                body.write(piece)
        yield body.getvalue()

    def close(self) -> None:
        self._stream.close()


class _AsyncLimitedBody(_Limited):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = self._limit.pieces
        if not self._limit.whole:
            async for chunk in self._stream:
                for piece in pieces(chunk):
                    yield piece
            return
        body = io.BytesIO()
        async for chunk in self._stream:
            for piece in pieces(chunk):
                body.write(piece)
        yield body.getvalue()

    async def aclose(self) -> None:
        await self._stream.aclose()


# --- reading ---------------------------------------------------------------------------------------------------------


class Read:
    """A step that reads the whole body of a limited response, and gives the response."""

    __slots__ = ("_response",)

    def __init__(self, response: RawResponse) -> None:
        self._response = response

    def take(self, transport: object) -> RawResponse:
        return read(self._response)

    async def take_async(self, transport: object) -> RawResponse:
        return await read_async(self._response)


def read(response: RawResponse) -> RawResponse:
    """The response with its body; a connection whose body cannot be read is closed."""
    try:
        response.read()
    except BaseException:
        response.close()
        raise
    return response


async def read_async(response: RawResponse) -> RawResponse:
    """The response of the asynchronous client with its body; a connection whose body cannot be read is closed."""
    try:
        await response.aread()
    except BaseException:
        await response.aclose()
        raise
    return response
