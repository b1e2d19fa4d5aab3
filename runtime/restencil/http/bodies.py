"""From the body that an endpoint hands over to the bytes of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlencode

from ..base.bodies import Form, Multipart, is_file
from ..base.json_text import encode_json
from ..base.values import described, is_list, is_mapping, is_sequence, scalar_text, text_of
from .adapter import complete_request, multipart_request, streaming_request

if TYPE_CHECKING:
    from .library import AnyClient, Library, RawHeaders, RawRequest, Url

_WITH_LENGTH: Final = ("POST", "PUT", "PATCH")
"""Methods whose requests tell their length even where it is none."""


def request_with(
    library: Library,
    client: AnyClient,
    method: str,
    url: Url,
    headers: RawHeaders,
    body: Any,
    extensions: dict[str, Any],
) -> RawRequest:
    """A request with this body; headers that describe the body are added where they are not given.

    Raises TypeError for a form with a field that has no text.
    """
    kind: str | None = None
    content = b""
    if body is None or body == "":
        pass
    elif isinstance(body, bytes | bytearray | memoryview):
        content = bytes(cast("bytes | bytearray", body))
    elif isinstance(body, Form):
        content = urlencode(_form_fields(body)).encode("ascii")
        kind = "application/x-www-form-urlencoded"
    elif isinstance(body, str):
        content = body.encode()
        kind = "text/plain; charset=utf-8"
    elif isinstance(body, Multipart):
        return multipart_request(library, client, method, url, headers, *_parts(body), extensions)
    else:
        return streaming_request(library, client, method, url, headers, body, extensions)
    if kind is not None:
        headers.setdefault("Content-Type", kind)
    if content or method in _WITH_LENGTH:
        headers.setdefault("Content-Length", str(len(content)))
    return complete_request(library, method, url, headers, content, extensions)


def _form_fields(form: Form) -> list[tuple[str, str]]:
    fields: list[tuple[str, str]] = []
    for name, value in form.items():
        for item in value if is_sequence(value) else (value,):
            text = scalar_text(item)
            if text is None:
                raise TypeError(f"form field {name!r} is {described(item)}, which has no text in a form")
            fields.append((name, text))
    return fields


def _json_part(name: str, value: Any) -> bytes:
    """What is an object, as a part of JSON."""
    try:
        return encode_json(value, text_of).encode()
    except (TypeError, ValueError) as error:
        raise type(error)(f"multipart field {name!r} cannot be sent as JSON: {error}") from error


def _parts(body: Multipart) -> tuple[dict[str, list[str]], list[tuple[str, Any]]]:
    """The text fields and the files. Raises TypeError for a value that is neither."""
    fields: dict[str, list[str]] = {}
    files: list[tuple[str, Any]] = []
    for name, value in body.items():
        for item in value if is_list(value) else (value,):
            if is_file(item):
                files.append((name, item))
            elif is_mapping(item):
                files.append((name, (None, _json_part(name, item), "application/json")))
            else:
                text = scalar_text(item)
                if text is None:
                    raise TypeError(f"multipart field {name!r} is {described(item)}; expected text or a file")
                fields.setdefault(name, []).append(text)
    return fields, files
