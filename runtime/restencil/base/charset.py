"""The charset of text responses, and the error for a body that cannot be decoded."""

from __future__ import annotations

from typing import Any

from .errors import ParseError
from .response_details import error_members, reported


def charset_of(response: Any) -> str:
    """Return the charset of a response if Python knows it, else UTF-8."""
    charset: str = response.charset_encoding or "utf-8"
    try:
        b"a".decode(charset, "replace")
    except UnicodeError:
        return charset  # a known charset; decoding the body raises the error
    except (LookupError, ValueError):
        return "utf-8"
    return charset


def undecodable(response: object, error: UnicodeError, outcome: str = "") -> ParseError:
    """Return the error for a response whose body cannot be decoded in its charset; its message ends with `outcome`."""
    return ParseError(
        f"{reported(response)}: the response declares the charset {charset_of(response)!r}, but its body cannot be "
        f"decoded ({error}); fix the charset on the server, or set content='bytes'{outcome}",
        status=400,
        **error_members(response),
    )
