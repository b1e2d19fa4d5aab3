"""Bodies that are text: the charset that a response names, and what comes of one in which nothing can be read."""

from __future__ import annotations

from typing import Any

from .errors import ParseError
from .response_details import error_members, reported


def charset_of(response: Any) -> str:
    """The charset in which a body is text: the one that the response names where Python knows it, else UTF-8."""
    charset: str = response.charset_encoding or "utf-8"
    try:
        b"a".decode(charset, "replace")
    except UnicodeError:
        return charset  # known, but not for these bytes; whoever decodes the body tells
    except (LookupError, ValueError):
        return "utf-8"
    return charset


def undecodable(response: Any, error: UnicodeError) -> ParseError:
    """What a response raises whose body is no text in the charset that it names."""
    return ParseError(
        f"{reported(response)}: the answer says that its charset is {charset_of(response)!r}, in which its body "
        f"cannot be read ({error}); let the server name another one, or give content='bytes'",
        status=400,
        **error_members(response),
    )
