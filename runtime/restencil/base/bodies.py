"""Request bodies in forms that endpoints pass on unchanged: forms, multipart, files; and how they are sent again."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator
from typing import IO, Any, TypeAlias

from .errors import NetworkError
from .values import TUPLE, described, is_mapping, is_sequence

File: TypeAlias = (
    bytes | IO[bytes] | tuple[str | None, bytes | IO[bytes]] | tuple[str | None, bytes | IO[bytes], str | None]
)
"""A file of a multipart body: bytes, an open file, or a tuple of file name, content and content type."""

Content: TypeAlias = bytes | bytearray | memoryview | IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]
"""A binary request body: bytes, an open file, or an iterable of chunks, which is read while it is sent."""


class Form(dict[str, Any]):
    """A body sent as `application/x-www-form-urlencoded`; a list repeats its field.

    None raises ValueError, as a form has no null; leave the field out.
    """


class Multipart(dict[str, Any]):
    """A body sent as `multipart/form-data`.

    Bytes, an open file or a tuple `(file name, content[, content type])` is sent as a file, an object as JSON, and any
    other value as text. A list repeats its field. None raises ValueError, as multipart has no null; leave the field
    out.
    """


def is_file(value: object) -> bool:
    """Whether a multipart body sends a value as a file: bytes, an open file, a tuple of name, content and type."""
    return isinstance(value, bytes | tuple) or hasattr(value, "read")


class BodyStart:
    """The positions of the files in a body before it is sent, so that they can be rewound for a repetition.

    `length` is the number of remaining bytes if the body is one file that is not at its beginning; else None.
    """

    __slots__ = ("_obstacle", "_places", "length")

    def __init__(self, body: object) -> None:
        self._places: list[tuple[Any, int]] = []
        self._obstacle: str | None = None
        for stream in streams_in(body):
            place = _place_of(stream)
            if place is None:
                self._obstacle = described(stream)
            else:
                self._places.append((stream, place))
        self.length = _rest(*self._places[0]) if self._places and self._places[0][0] is body else None

    def rewind(self) -> str | None:
        """Rewind the files to their positions; return a description of one that cannot be rewound, or None."""
        if self._obstacle is None:
            for file, place in self._places:
                try:
                    file.seek(place)
                except (OSError, ValueError):
                    self._obstacle = f"{described(file)} that was closed" if file.closed else described(file)
                    break
        return self._obstacle


def not_repeated(obstacle: str) -> str:
    """Return the message for a request that was not repeated because its body cannot be read a second time."""
    return (
        f"the request was not repeated: its body is or contains {obstacle}, which cannot be read a second time; "
        "pass bytes or a seekable file"
    )


def say_not_repeated(error: NetworkError, obstacle: str) -> None:
    """Add to the message of an error why the request was not repeated."""
    error.args = (f"{error.args[0]}; {not_repeated(obstacle)}", *error.args[1:])


def streams_in(body: object) -> Iterator[object]:
    """Yield the parts of a body that are read while it is sent: the body itself, or the files of a multipart body."""
    if _is_stream(body):
        yield body
    elif is_mapping(body):
        for value in body.values():
            for item in value if is_sequence(value) else (value,):
                for part in item if isinstance(item, TUPLE) else (item,):
                    if _is_stream(part):
                        yield part


def _is_stream(value: object) -> bool:
    return hasattr(value, "read") or hasattr(value, "__next__") or hasattr(value, "__anext__")


def _place_of(stream: Any) -> int | None:
    """Return the position of a file; None for a stream that cannot be rewound."""
    try:
        place = stream.tell() if stream.seekable() else None
    except (AttributeError, OSError, ValueError):
        return None
    return place if isinstance(place, int) else None


def _rest(file: Any, place: int) -> int | None:
    if not place:
        return None
    end: int = file.seek(0, 2)
    file.seek(place)
    return end - place
