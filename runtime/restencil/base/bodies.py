"""Forms of request bodies that users write and that an endpoint hands on as they are, and how they are sent again."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator
from typing import IO, Any, TypeAlias

from .errors import NetworkError
from .values import TUPLE, described, is_mapping, is_sequence

File: TypeAlias = (
    bytes | IO[bytes] | tuple[str | None, bytes | IO[bytes]] | tuple[str | None, bytes | IO[bytes], str | None]
)
"""What a multipart body sends as a file: bytes, an open file, or a tuple of file name, content and content type."""

Content: TypeAlias = bytes | bytearray | memoryview | IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]
"""What is sent as a body of bytes: they, an open file, or what gives them piece by piece, read while it is sent."""


class Form(dict[str, Any]):
    """A body sent as `application/x-www-form-urlencoded`; a list repeats its field.

    None is a ValueError, as a form cannot say null; leave the field out.
    """


class Multipart(dict[str, Any]):
    """A body sent as `multipart/form-data`.

    A value that is bytes, an open file or a tuple `(file name, content[, content type])` is a file, an object is a part
    of JSON; others are text. A list repeats its field. None is a ValueError, as a string cannot say null; leave the
    field out.
    """


def is_file(value: Any) -> bool:
    """True for what a multipart body sends as a file: bytes, an open file, a tuple of name, content and type."""
    return isinstance(value, bytes | tuple) or hasattr(value, "read")


class BodyStart:
    """Where the files of a body stood before it was sent: what is read while it is sent is at its end afterwards.

    `length` is what is left of a body that is one file, and does not stand at its beginning; else None.
    """

    __slots__ = ("_obstacle", "_places", "length")

    def __init__(self, body: Any) -> None:
        self._places: list[tuple[Any, int]] = []
        self._obstacle: str | None = None
        for stream in _streams_in(body):
            place = _place_of(stream)
            if place is None:
                self._obstacle = described(stream)
            else:
                self._places.append((stream, place))
        self.length = _rest(*self._places[0]) if self._places and self._places[0][0] is body else None

    def rewind(self) -> str | None:
        """Puts the files back to where they stood; what cannot be read a second time, in words, or None."""
        if self._obstacle is None:
            for file, place in self._places:
                try:
                    file.seek(place)
                except (OSError, ValueError):
                    self._obstacle = f"{described(file)} that was closed" if file.closed else described(file)
                    break
        return self._obstacle


def not_repeated(obstacle: str) -> str:
    """Why a request was not sent again, whose body has something that cannot be read a second time; for messages."""
    return (
        f"the request was not repeated: its body is, or has, {obstacle}, which cannot be read a second time; "
        "give bytes, or a file that can be rewound"
    )


def say_not_repeated(error: NetworkError, obstacle: str) -> None:
    """The error says, from now on, why the request was not repeated."""
    error.args = (f"{error.args[0]}; {not_repeated(obstacle)}", *error.args[1:])


def _streams_in(body: Any) -> Iterator[Any]:
    """What of a body is read while it is sent: the body itself, or the files of a multipart body."""
    if _is_stream(body):
        yield body
    elif is_mapping(body):
        for value in body.values():
            for item in value if is_sequence(value) else (value,):
                for part in item if isinstance(item, TUPLE) else (item,):
                    if _is_stream(part):
                        yield part


def _is_stream(value: Any) -> bool:
    return hasattr(value, "read") or hasattr(value, "__next__") or hasattr(value, "__anext__")


def _place_of(stream: Any) -> int | None:
    """Where a file stands; None for what cannot be put back there."""
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
