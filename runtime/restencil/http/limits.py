"""Limits of a response: the size of its body after decompression, and the deadline for its arrival.

The HTTP libraries read bodies of any size, and decompress each chunk in one step: a few kilobytes of gzip can become
gigabytes. So bodies are decompressed here, in pieces of a bounded size, and rejected as soon as they are too large or
too late. This also checks the timeout of a whole request with the user's own client; see `deadlines`.
"""

from __future__ import annotations

import io
import time
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ..base.errors import NetworkError
from ..base.response import error_members, reported

if TYPE_CHECKING:
    from .library import Library, RawResponse

# --- bounded decompression -------------------------------------------------------------------------------------------

PIECE: Final = 65_536
"""The maximum size in bytes of a decompressed piece."""

_FEED: Final = 4_096
"""The bytes that are decompressed in one step; it is small, because each step copies the unused rest."""

_MAX_CODINGS: Final = 2
"""The maximum number of codings of a body; each may enlarge it a thousandfold."""

_GZIP: Final = zlib.MAX_WBITS | 16
_UNPACKED: Final = ("gzip", "x-gzip", "deflate")
_UNSUPPORTED: Final = ("br", "zstd", "compress", "x-compress")
"""Codings that cannot be decompressed within bounds here; requested only if a call sets Accept-Encoding itself."""


class Coding:
    """Decompresses one coding of a body that arrives in chunks. Raises zlib.error for data in another coding."""

    def __init__(self, name: str) -> None:
        self._wbits = _GZIP if name != "deflate" else 0
        self._start = b""
        self._unpacker = zlib.decompressobj(_GZIP) if self._wbits else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decompress the next bytes, in pieces of a bounded size."""
        unpacker = self._unpacker
        if unpacker is None:
            # Servers send "deflate" with and without the zlib header; the first two bytes show which.
            self._start = data = self._start + data
            if len(data) < 2:
                return
            has_header = data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
            unpacker = self._unpacker = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
        for start in range(0, len(data), _FEED):
            piece, rest = b"", data[start : start + _FEED]
            while not unpacker.eof:  # data after the end of the compressed body is ignored
                piece = unpacker.decompress(rest, PIECE)
                rest = unpacker.unconsumed_tail
                if piece:
                    yield piece
                if len(piece) < PIECE:
                    break


def codings_of(header: str) -> list[str]:
    """Return the codings in a `Content-Encoding`, in the order in which they were applied.

    Values that are not HTTP codings (`utf-8`, `identity`) are ignored. Raises ValueError, with the reason, for a body
    that cannot be decompressed within bounds.
    """
    if not header:
        return []
    named = [name.strip().lower() for name in header.split(",")]
    for name in named:
        if name in _UNSUPPORTED:
            raise ValueError(f"its body is compressed as {name!r}, which is not supported; request gzip or deflate")
    found = [name for name in named if name in _UNPACKED]
    if len(found) > _MAX_CODINGS:
        raise ValueError(
            f"its body is compressed {len(found)} times ({', '.join(found)}); at most {_MAX_CODINGS} are supported"
        )
    return found


def unpacked(chunk: bytes, codings: Sequence[Coding]) -> Iterator[bytes]:
    """Decompress a chunk through these codings, the last one first."""
    if not codings:
        yield chunk
        return
    for piece in codings[-1].feed(chunk):
        yield from unpacked(piece, codings[:-1])


@lru_cache(maxsize=16)
def accepted(requested: str) -> str:
    """Remove unsupported codings from an `Accept-Encoding`; cached for the benchmark "direct call"."""
    names = [name.strip() for name in requested.split(",")]
    return ", ".join(name for name in names if name.partition(";")[0].rstrip().lower() not in _UNSUPPORTED)


# --- limits ----------------------------------------------------------------------------------------------------------

DEFAULT_LIMIT: Final = 256 * 1024 * 1024
"""The default limit in bytes of a body that is read whole."""

_LIMIT: Final = "restencil_limit"
"""The extension of a response that contains its `BodyLimit`."""


class BodyLimit:
    """Decompresses the body of a response while it arrives. Raises NetworkError once it exceeds the limit.

    `limit` is in bytes after decompression; None is `DEFAULT_LIMIT` if the body is read `whole`. `deadline` is the time
    of the monotonic clock until which a body that is read whole must have arrived. Raises NetworkError for a body that
    cannot be decompressed within bounds.
    """

    __slots__ = ("_codings", "_deadline", "_library", "_limit", "_response", "_size", "whole")

    def __init__(self, library: Library, response: RawResponse, limit: int | None, deadline: float | None) -> None:
        self._library = library
        self._response = response
        self._limit = limit
        self._deadline = deadline
        self._size = 0
        self.whole = True
        """Whether the body is read whole: it is collected here and yielded as one chunk, to avoid a second copy."""
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
            del response.headers["content-encoding"]  # so that the HTTP library does not decompress it again

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Decompress a chunk of the body, and yield its pieces, each checked against the limits."""
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
            default = "" if self._limit is not None else " by default"
            raise self._error(
                f"the decompressed body is larger than max_response_bytes, which is {limit}{default}; increase it to "
                "accept the response"
            )
        if self.whole and self._deadline is not None and time.monotonic() > self._deadline:
            raise self._library.ReadTimeout("the response did not arrive within the timeout")

    def _error(self, problem: str) -> NetworkError:
        return NetworkError(f"{reported(self._response)}: {problem}", **error_members(self._response))


def limit_of_body(response: RawResponse) -> BodyLimit | None:
    """Return the limit of the body of a response; None without one."""
    found: BodyLimit | None = response.extensions.get(_LIMIT)
    return found


def _content_coding(response: RawResponse) -> str:
    return ",".join(
        value.decode("latin-1") for name, value in response.headers.raw if name.lower() == b"content-encoding"
    )


class _Limited:
    """The body of a response with a limit for its chunks."""

    def __init__(self, stream: Any, limit: BodyLimit) -> None:
        self._stream = stream
        self._limit = limit

    @property
    def elapsed(self) -> object:
        """The duration of the request: httpx2 reads it from the stream, httpx sets it on the response."""
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


def read(response: RawResponse) -> RawResponse:
    """Read the body of a response, and return the response; if reading fails, its connection is closed."""
    try:
        response.read()
    except BaseException:
        response.close()
        raise
    return response


async def read_async(response: RawResponse) -> RawResponse:
    """Read the body of a response of the async client, and return it; if reading fails, its connection is closed."""
    try:
        await response.aread()
    except BaseException:
        await response.aclose()
        raise
    return response
