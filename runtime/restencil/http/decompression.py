"""Bounded decompression: bodies are unpacked in pieces of a bounded size, however large they become.

The HTTP libraries unpack each chunk at once, so that a few kilobytes can fill the memory before anyone sees a size.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

PIECE: Final = 65_536
"""The most bytes that one step of unpacking yields."""

_FEED: Final = 4_096
"""The bytes that are unpacked at once: the rest of them is copied after each step."""

_MAX_CODINGS: Final = 2
"""The most codings of one body. Each of them may enlarge it a thousandfold."""

_GZIP: Final = zlib.MAX_WBITS | 16
_UNPACKED: Final = ("gzip", "x-gzip", "deflate")
_UNSUPPORTED: Final = ("br", "zstd", "compress", "x-compress")
"""Codings that cannot be unpacked within bounds here, and are requested only where a call names them itself."""


class Coding:
    """Unpacks one coding of a body that arrives in chunks. Raises zlib.error for data that is not in that coding."""

    def __init__(self, name: str) -> None:
        self._wbits = _GZIP if name != "deflate" else 0
        self._start = b""
        self._unpacker = zlib.decompressobj(_GZIP) if self._wbits else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Unpacks the next bytes, in pieces of a bounded size."""
        unpacker = self._unpacker
        if unpacker is None:
            # Servers send "deflate" with the header of zlib and without it; the first two bytes show which.
            self._start = data = self._start + data
            if len(data) < 2:
                return
            has_header = data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
            unpacker = self._unpacker = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
        for start in range(0, len(data), _FEED):
            piece, rest = b"", data[start : start + _FEED]
            while not unpacker.eof:  # data behind the end of the packed body is dropped
                piece = unpacker.decompress(rest, PIECE)
                rest = unpacker.unconsumed_tail
                if piece:
                    yield piece
                if len(piece) < PIECE:
                    break


def codings_of(header: str) -> list[str]:
    """The codings in a `Content-Encoding`, in the order in which they were applied.

    Words that are no coding of HTTP (`utf-8`, `identity`) are ignored. Raises ValueError, with the reason, for a body
    that cannot be unpacked within bounds.
    """
    if not header:
        return []
    named = [name.strip().lower() for name in header.split(",")]
    for name in named:
        if name in _UNSUPPORTED:
            raise ValueError(f"its body is compressed as {name!r}, which is not unpacked here; ask for gzip or deflate")
    found = [name for name in named if name in _UNPACKED]
    if len(found) > _MAX_CODINGS:
        raise ValueError(f"its body is compressed {len(found)} times over ({', '.join(found)}), which is refused")
    return found


def unpacked(chunk: bytes, codings: Sequence[Coding]) -> Iterator[bytes]:
    """Unpacks a chunk through these codings, the last of them first."""
    if not codings:
        yield chunk
        return
    for piece in codings[-1].feed(chunk):
        yield from unpacked(piece, codings[:-1])


@lru_cache(maxsize=16)
def accepted(requested: str) -> str:
    """An `Accept-Encoding` without the codings that are not unpacked here; computed once ("direct call")."""
    names = [name.strip() for name in requested.split(",")]
    return ", ".join(name for name in names if name.partition(";")[0].rstrip().lower() not in _UNSUPPORTED)
