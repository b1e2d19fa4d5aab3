"""Streamed responses, whose body the user reads in chunks."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..base.response import charset_of
from ..base.transport import AwaitingTransport, BlockingTransport, Transport
from .abort import SIGNAL_EXTENSION, ends_when_aborted

if TYPE_CHECKING:
    from typing import Self

    from ..base.abort import AbortSignal
    from ..base.transport import HttpResponse
    from .library import RawResponse


class StreamedResponse:
    """A response whose body has not been read yet.

        with endpoint(...) as response:
            for chunk in response.iter_bytes(): ...

    The body can be read once, through one of the iterators; leaving the context, or `close()`/`aclose()`, releases the
    connection. An iterator raises NetworkError beyond `max_response_bytes`. After the signal of the request is aborted,
    the next chunk raises AbortError; the async iterators do not wait for that chunk. `owner` is a transport that serves
    only this call and is closed with the response.
    """

    def __init__(self, response: RawResponse, owner: Transport | None = None) -> None:
        #: The response of the HTTP library.
        self.response: HttpResponse = response
        self._raw = response
        self._owner = owner
        if owner is not None:
            owner.closed_by_stream = True
        self._signal: AbortSignal | None = response.extensions.get(SIGNAL_EXTENSION)

    @property
    def status(self) -> int:
        """The HTTP status code."""
        return self._raw.status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the response, with case-insensitive names."""
        return self._raw.headers

    def iter_bytes(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """Iterate over the decompressed body in chunks.

        Raises NetworkError if the connection breaks or the body exceeds the limit.
        """
        with _as_network_errors(self._raw), contextlib.closing(self._raw):
            for chunk in self._raw.iter_bytes(chunk_size):
                if self._signal is not None:
                    self._signal.raise_if_aborted()
                yield chunk

    def iter_lines(self) -> Iterator[str]:
        """Iterate over the decoded lines of the body, without their ends (LF, CR LF or CR)."""
        return _lines(self._raw, self.iter_bytes())

    def read(self) -> bytes:
        """Return the whole body."""
        return b"".join(self.iter_bytes())

    async def aiter_bytes(self, chunk_size: int | None = None) -> AsyncIterator[bytes]:
        """Iterate over the decompressed body of a response of the async client in chunks.

        Raises NetworkError if the connection breaks or the body exceeds the limit.
        """
        with _as_network_errors(self._raw):
            try:
                chunks = aiter(self._raw.aiter_bytes(chunk_size))
                while True:
                    with ends_when_aborted(self._signal):
                        chunk = await anext(chunks, None)
                    if chunk is None:
                        return
                    yield chunk
            finally:
                await self._raw.aclose()

    async def aiter_lines(self) -> AsyncIterator[str]:
        """Iterate over the decoded lines of the body of a response of the async client, without their ends."""
        splitter = _LineSplitter(self._raw)
        async for chunk in self.aiter_bytes():
            for line in splitter.feed(chunk):
                yield line
        for line in splitter.end():
            yield line

    async def aread(self) -> bytes:
        """Return the whole body of a response of the async client."""
        return b"".join([chunk async for chunk in self.aiter_bytes()])

    def close(self) -> None:
        """Release the connection without reading the rest of the body."""
        self._raw.close()
        if isinstance(self._owner, BlockingTransport):
            self._owner.close()

    async def aclose(self) -> None:
        """Release the connection of the async client without reading the rest of the body."""
        await self._raw.aclose()
        if isinstance(self._owner, AwaitingTransport):
            await self._owner.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<StreamedResponse {self.status}>"


class _LineSplitter:
    def __init__(self, response: object) -> None:
        import codecs

        self._decoder = codecs.getincrementaldecoder(charset_of(response))("replace")
        self._rest = ""

    def feed(self, chunk: bytes) -> list[str]:
        text = self._rest + self._decoder.decode(chunk)
        # A "\r" at the end may be the first half of "\r\n".
        half = "\r" if text.endswith("\r") else ""
        lines = _split(text.removesuffix("\r"))
        self._rest = lines.pop() + half
        return lines

    def end(self) -> list[str]:
        lines = _split(self._rest + self._decoder.decode(b"", final=True))
        return lines if lines[-1] else lines[:-1]


def _split(text: str) -> list[str]:
    """Split a string into lines; `str.splitlines` would also split at characters that JSON strings may contain."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _lines(response: object, chunks: Iterable[bytes]) -> Iterator[str]:
    splitter = _LineSplitter(response)
    for chunk in chunks:
        yield from splitter.feed(chunk)
    yield from splitter.end()


@contextlib.contextmanager
def _as_network_errors(response: object) -> Generator[None]:
    from .library import library_of

    try:
        yield
    except library_of(response).RequestError as error:
        from .failures import stream_failure

        raise stream_failure(response, error) from error


def unread_content(response: Any, error: RuntimeError) -> bytes | Awaitable[bytes]:
    """Read the body of a response whose `content` raised `error` because it was not read yet. Raises other errors."""
    from .library import library_behind

    library = library_behind(error)
    if library is None or not isinstance(error, library.ResponseNotRead):
        raise error
    if isinstance(response.stream, library.SyncByteStream):
        content: bytes = response.read()
        return content
    awaitable: Awaitable[bytes] = response.aread()
    return awaitable
