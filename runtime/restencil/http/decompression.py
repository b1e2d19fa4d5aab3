"""Content codings: compressed bodies are unpacked in pieces of a bounded size, however much they unfold into."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Final

PIECE: Final = 65_536
"""Bytes that one step of unpacking gives at most."""

_FEED: Final = 4_096
"""Bytes that are unpacked at once: what is left over of them after a step is copied."""

_MOST: Final = 2
"""Codings that one body may have. Each of them may unfold a thousandfold."""

_GZIP: Final = zlib.MAX_WBITS | 16
_UNPACKED: Final = ("gzip", "x-gzip", "deflate")
_REFUSED: Final = ("br", "zstd", "compress", "x-compress")
"""Codings that cannot be unpacked within bounds here; no request asks for them unless it says so itself."""


class Coding:
    """Unpacks one coding of a body that arrives in chunks. Raises zlib.error for what is not packed so."""

    def __init__(self, name: str) -> None:
        self._wbits = _GZIP if name != "deflate" else 0
        self._start = b""
        self._unpacker = zlib.decompressobj(_GZIP) if self._wbits else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes unfold into, in pieces of a bounded size."""
        unpacker = self._unpacker
        if unpacker is None:
            # What is called deflate comes with the header of zlib, and without: the first two bytes tell.
            self._start = data = self._start + data
            if len(data) < 2:
                return
            has_header = data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
            unpacker = self._unpacker = zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
        for start in range(0, len(data), _FEED):
            piece, rest = b"", data[start : start + _FEED]
            while not unpacker.eof:  # what follows the end of a packed body is none of it, and is not kept
                piece = unpacker.decompress(rest, PIECE)
                rest = unpacker.unconsumed_tail
                if piece:
                    yield piece
                if len(piece) < PIECE:
                    break


def codings_of(header: str) -> list[str]:
    """The codings that a `Content-Encoding` names, in the order in which they were applied.

    What is no coding of HTTP (`utf-8`, `identity`, and whatever else servers write) says nothing of the body. Raises
    ValueError, with the reason, for a body that cannot be unpacked within bounds.
    """
    if not header:
        return []
    named = [name.strip().lower() for name in header.split(",")]
    for name in named:
        if name in _REFUSED:
            raise ValueError(f"its body is compressed as {name!r}, which is not unpacked here; ask for gzip or deflate")
    found = [name for name in named if name in _UNPACKED]
    if len(found) > _MOST:
        raise ValueError(f"its body is compressed {len(found)} times over ({', '.join(found)}), which is refused")
    return found


def unpacked(chunk: bytes, codings: Sequence[Coding]) -> Iterator[bytes]:
    """What a chunk unfolds into through these codings, of which the last one was applied last."""
    if not codings:
        yield chunk
        return
    for piece in codings[-1].feed(chunk):
        yield from unpacked(piece, codings[:-1])


def accepted(asked: str) -> str:
    """An `Accept-Encoding` of the HTTP library without the codings that are refused here."""
    names = [name.strip() for name in asked.split(",")]
    return ", ".join(name for name in names if name.partition(";")[0].rstrip().lower() not in _REFUSED)
