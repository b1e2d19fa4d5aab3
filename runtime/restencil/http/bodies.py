"""Encoding of request bodies for the HTTP library, and rewinding of bodies before a request is repeated.

The HTTP libraries send a file that was read to its end as an empty body when a redirect or an `auth` repeats the
request. A body that is read while it is sent therefore stores its start position.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast
from urllib.parse import urlencode

from ..base.bodies import BodyStart, Form, Multipart, is_file
from ..base.json_text import encode_json
from ..base.values import TUPLE, described, is_list, is_mapping, is_sequence, scalar_text

if TYPE_CHECKING:
    from .library import AnyClient, Library, RawRequest

_FILE_CHUNK: Final = 65_536


class EncodedBody(NamedTuple):
    """A body for `build_request`: keyword arguments, the default content type, and its start if it is a stream."""

    arguments: dict[str, Any]
    content_type: str | None = None
    start: BodyStart | None = None


NO_BODY: Final = EncodedBody({})


def encode_body(body: object, *, asynchronous: bool) -> EncodedBody:
    """Return the arguments of `build_request` for a body.

    Raises TypeError for a form field that cannot be encoded, and ValueError for a lone surrogate.
    """
    try:
        return _encoded(body, asynchronous)
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the body of the request contains the lone surrogate {error.object[error.start]!r}, which UTF-8 cannot "
            "encode; remove it, or send JSON"
        ) from None


def _encoded(body: object, asynchronous: bool) -> EncodedBody:
    if body is None or body == "":
        return NO_BODY
    if isinstance(body, bytes | bytearray | memoryview):
        return EncodedBody({"content": bytes(cast("bytes | bytearray", body))})
    if isinstance(body, Form):
        content = urlencode(_form_fields(body)).encode("ascii")
        return EncodedBody({"content": content}, "application/x-www-form-urlencoded")
    if isinstance(body, str):
        return EncodedBody({"content": body.encode()}, "text/plain; charset=utf-8")
    if isinstance(body, Multipart):
        fields, files = _parts(body)
        # Without a file a URL-encoded form would be sent: a part without a file name is a string field as well.
        parts = files or [(name, (None, text)) for name, texts in fields.items() for text in texts]
        start = BodyStart({name: [file] for name, file in files})
        return EncodedBody({"data": fields if files else None, "files": parts}, start=start)
    start = BodyStart(body)
    return EncodedBody({"content": _AsyncFile(body) if asynchronous and hasattr(body, "read") else body}, start=start)


def _form_fields(form: Form) -> list[tuple[str, str]]:
    fields: list[tuple[str, str]] = []
    for name, value in form.items():
        for item in value if is_sequence(value) else (value,):
            text = scalar_text(item)
            if text is None:
                raise TypeError(
                    f"form field {name!r} is {described(item)}; expected a string, number or boolean, or a list of them"
                )
            fields.append((name, text))
    return fields


def _text_or_same(value: object) -> object:
    text = scalar_text(value)
    return value if text is None else text


def _json_part(name: str, value: object) -> bytes:
    """Encode an object as the JSON of a multipart part."""
    try:
        return encode_json(value, _text_or_same).encode()
    except (TypeError, ValueError) as error:
        raise type(error)(f"multipart field {name!r} cannot be sent as JSON: {error}") from error


def _parts(body: Multipart) -> tuple[dict[str, list[str]], list[tuple[str, Any]]]:
    """Return the text fields and the files of a body. Raises TypeError for a value that is neither."""
    fields: dict[str, list[str]] = {}
    files: list[tuple[str, Any]] = []
    for name, value in body.items():
        for item in value if is_list(value) else (value,):
            if is_file(item):
                _check_file(name, item)
                files.append((name, item))
            elif is_mapping(item):
                files.append((name, (None, _json_part(name, item), "application/json")))
            else:
                text = scalar_text(item)
                if text is None:
                    raise TypeError(f"multipart field {name!r} is {described(item)}; expected a string or a file")
                text.encode()  # the HTTP library encodes it while the body is sent
                fields.setdefault(name, []).append(text)
    return fields, files


def _check_file(name: str, item: Any) -> None:
    """Raise TypeError for a tuple that is not a file name and a content, with or without a content type."""
    if not isinstance(item, TUPLE):
        return
    file_name, content, *content_type = (*item, None, None)[: max(len(item), 2)]
    is_named = all(one is None or isinstance(one, str) for one in (file_name, *content_type))
    if not (is_named and len(item) in (2, 3) and (isinstance(content, bytes | str) or hasattr(content, "read"))):
        raise TypeError(
            f"multipart field {name!r} is a tuple that is not a file; expected (file name, content) or (file name, "
            "content, content type), or a list to repeat the field"
        )


class _AsyncFile:
    """An open file as an async iterable for the async client; iteration reads it from its current position."""

    def __init__(self, file: Any) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := self._file.read(_FILE_CHUNK):
            yield chunk


# --- repeated --------------------------------------------------------------------------------------------------------


class _Repeatable:
    """A body that is read while it is sent, with its start position; `begun` is true once a part of it was read."""

    def __init__(self, stream: Any, start: BodyStart) -> None:
        self._stream = stream
        self.start = start
        self.begun = False


class _RepeatableBody(_Repeatable):
    def __iter__(self) -> Iterator[bytes]:
        self.begun = True
        for chunk in self._stream:
            yield _checked(chunk)


class _AsyncRepeatableBody(_Repeatable):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.begun = True
        async for chunk in self._stream:
            yield _checked(chunk)


def _checked(chunk: object) -> bytes:
    """Return a chunk of a body. Raises TypeError unless it is bytes."""
    if isinstance(chunk, bytes):
        return chunk
    if isinstance(chunk, bytearray | memoryview):
        return bytes(cast("bytearray", chunk))
    raise TypeError(
        f"the body of the request is read in chunks, and one is {described(chunk)}; expected bytes: encode strings, "
        "open files in binary mode, and pass a list for JSON"
    )


def make_repeatable(library: Library, client: AnyClient, request: RawRequest, start: BodyStart) -> None:
    """Wrap the body of a request, so that it can be rewound before the request is sent again."""
    asynchronous = isinstance(client, library.AsyncClient)
    wanted: Any = library.AsyncByteStream if asynchronous else library.SyncByteStream
    if isinstance(request.stream, wanted):  # else the HTTP library says what is wrong
        form: Any = _AsyncRepeatableBody if asynchronous else _RepeatableBody
        request.stream = library.subclass(form, wanted)(request.stream, start)


def rewind(request: RawRequest) -> str | None:
    """Rewind the body of a request that was sent. Returns a description of the part that cannot be rewound, or None."""
    stream: Any = request.stream
    return stream.start.rewind() if isinstance(stream, _Repeatable) and stream.begun else None
