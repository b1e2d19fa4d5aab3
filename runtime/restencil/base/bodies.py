"""Forms of request bodies that users write and that an endpoint hands on as they are."""

from __future__ import annotations

from typing import Any


class Form(dict[str, Any]):
    """A body sent as `application/x-www-form-urlencoded`; a list gives its field several times, None none."""


class Multipart(dict[str, Any]):
    """A body sent as `multipart/form-data`.

    A value that is bytes, an open file or a tuple `(file name, content[, content type])` is a file; others are text.
    A list gives its field several times, None none.
    """


def is_file(value: Any) -> bool:
    """True for what a multipart body sends as a file: bytes, an open file, a tuple of name, content and type."""
    return isinstance(value, bytes | tuple) or hasattr(value, "read")
