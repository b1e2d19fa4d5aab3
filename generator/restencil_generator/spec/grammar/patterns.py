"""Patterns of strings in specs: header names, URLs, media types and so on, each with its message."""

from __future__ import annotations

import dataclasses
import re
from typing import Final


@dataclasses.dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression for a string, and the message for strings that do not match.

    `regex` uses the common syntax of Python and ECMAScript, and matches the whole string. In the message `{value}` is
    the string, `{key}` and `{label}` name its key, `{owner}` is the owner of the key and `{outer}` the owner of that.
    """

    regex: str
    code: str
    message: str
    hint: str = ""
    after: str = ""
    """A prefix of the string that messages leave out."""


HTTP_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
HEADER_VALUE: Final = r"[\t\x20-\x7e]*"
SECRET_HEADERS: Final = ("authorization", "cookie", "proxy-authorization")
"""Headers that only carry secrets, which are never written in a spec."""

_PARTING: Final = re.compile("accept(-language)?|.*(tenant|account|organi[sz]ation|version).*", re.IGNORECASE)

ERROR_STATUS: Final = "[45][0-9][0-9]|[45]XX|default"
"""A key of `errors`."""

URL: Final = Pattern(r"[^\x00-\x20\x7f]*", "bad-url", "{label} contains a space or a control character")
HEADER: Final = Pattern(HTTP_WORD, "bad-header", "{value} is not a valid header name")
HEADER_WIRE: Final = Pattern(HTTP_WORD, "bad-header", "{label} is {value}, which is not a valid header name")
MEDIA_TYPE: Final = Pattern(
    rf"{HTTP_WORD}/{HTTP_WORD}(?:[ \t]*;[\t\x20-\x7e]*)?",
    "bad-header",
    "{label} is {value}, which is not a content type",
    "write for example 'application/merge-patch+json'",
)
ENVELOPE: Final = Pattern(
    r"[^.\x00-\x20\x7f]+(?:\.[^.\x00-\x20\x7f]+)*",
    "bad-envelope",
    "{key} of {outer} is not a path: names and numbers with dots",
    "write the path of the value, such as 'data' or 'data.items.0'",
)
COOKIE: Final = Pattern(HTTP_WORD, "bad-header", "{value} is not a valid cookie name")
PRODUCT: Final = Pattern(
    HTTP_WORD,
    "bad-header",
    "{label} is {value}, which cannot be in the header User-Agent",
    "write a version such as '1.2.0', without spaces",
)
AGENT: Final = Pattern(
    r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?",
    "bad-header",
    "{label} is {value}, which cannot be in the header User-Agent",
    "write ASCII on one line, such as 'shop-client/2'",
)
VARIABLE: Final = Pattern(
    "[A-Za-z_][A-Za-z0-9_]*", "bad-name", "{value} is not a valid name of an environment variable"
)
PREFIX: Final = Pattern(
    r"(?=.*[\x21-\x7e])[\x20-\x7e]+",
    "bad-header",
    "{label} is {value}, which cannot be in a header",
    "write for example 'Bot '",
)
SCOPE: Final = Pattern(
    r"[\x21\x23-\x5b\x5d-\x7e]+",
    "wrong-type",
    "an item of {label} is {value}, which is not a valid scope",
    "write each scope as a separate item: [read, write]",
)
TOKEN_URL: Final = Pattern(
    r"https://[^\x00-\x20\x7f@/?#]+(?:[/?][^\x00-\x20\x7f#]*)?"
    r"|http://(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]+)?(?:[/?][^\x00-\x20\x7f#]*)?",
    "bad-url",
    "{label} is {value}: secrets are sent to it, so it must begin with https:// or be on this machine",
    "write https://… without user, password and fragment",
)
METHOD: Final = Pattern(
    HTTP_WORD, "bad-method", "{value} of {owner} is not an HTTP method", "write GET, POST, PUT, PATCH, DELETE, …"
)
CURSOR: Final = Pattern(
    rf"header:{HTTP_WORD}|(?!header:)[\s\S]*",
    "bad-header",
    "{value} in {label} is not a valid header name",
    after="header:",
)


def parts_entities(header: str) -> bool:
    """Return whether the values of entities depend on a header of this name, by default."""
    return _PARTING.fullmatch(header) is not None
