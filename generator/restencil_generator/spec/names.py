"""Conversion of names in a spec to names in Python and JSON.

The tables are constants rather than taken from the running interpreter or the installed runtime, so that the same spec
has the same names everywhere; tests compare them with both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from restencil_generator.spec.model import WireNames

Use: TypeAlias = Literal["field", "member", "parameter", "resource", "endpoint"]

KEYWORDS: Final = frozenset(
    (
        "False",
        "None",
        "True",
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "except",
        "finally",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "is",
        "lambda",
        "nonlocal",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "try",
        "while",
        "with",
        "yield",
    )
)
"""The keywords of every Python from 3.11 on. Soft keywords (`match`, `type`, …) are ordinary names."""

ENTITY_MEMBERS: Final = frozenset(
    (
        "from_dict",
        "from_js",
        "from_json",
        "merge",
        "merge_with_store",
        "process",
        "replace",
        "should_reorder",
        "should_update",
        "to_dict",
        "to_json",
        "validate",
    )
)
"""The public members of `restencil.Entity` other than `key schema indexes pk`."""

CLIENT_MEMBERS: Final = frozenset(
    (
        "aclose",
        "add_listener",
        "all_settled",
        "bind",
        "cached",
        "close",
        "dispatch",
        "expire",
        "expire_all",
        "explain",
        "fetch",
        "fetch_if_stale",
        "fetch_response",
        "get",
        "get_error",
        "get_response",
        "invalidate",
        "invalidate_all",
        "iterate",
        "live",
        "managers",
        "open",
        "opened",
        "read",
        "request",
        "reset_entire_store",
        "resolve",
        "retries",
        "revalidate",
        "set",
        "set_error",
        "set_response",
        "snapshot",
        "state",
        "store",
        "subscribe",
        "unsubscribe",
        "with_options",
    )
)
"""The public names of a generated client (`Controller` and `AsyncController`), which no resource may have."""

CLIENT_ARGUMENTS: Final = frozenset(
    (
        "base_url",
        "client",
        "http",
        "managers",
        "max_response_bytes",
        "retries",
        "self",
        "server",
        "share",
        "store",
        "streams",
        "timeout",
        "token",
        "url_prefix",
        "url_prefixes",
        "user_agent",
    )
)
"""The arguments of every generated client, which no declared argument of the client may have."""

RESOURCE_MEMBERS: Final = frozenset(("controller",))
"""The public names of a bound resource other than `extend`, which no endpoint may have."""

_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def python_name(name: str, use: Use) -> str:
    """Return the name in Python: the same, or with a trailing underscore if it is reserved by Python or the runtime.

    An underscore is added to keywords, to a field with the name of a public member of `Entity`, to a parameter `body`
    and to an endpoint `extend`; no other name is changed.
    """
    taken = (
        name in KEYWORDS
        or (use == "field" and name in ENTITY_MEMBERS)
        or (use == "parameter" and name == "body")
        or (use == "endpoint" and name == "extend")
    )
    return name + "_" if taken else name


def wire_name(name: str, style: WireNames) -> str:
    """Return the name in JSON under a `wire_names` style.

    A name is split at its underscores; for `snake_case` and `kebab-case` also before capitals (`userId` → `user_id`).
    `camelCase` and `PascalCase` keep capitals inside a word (`userID` stays).
    """
    match style:
        case "as_is":
            return name
        case "snake_case":
            return "_".join(_words(name))
        case "kebab-case":
            return "-".join(_words(name))
        case "PascalCase":
            return pascal_case(name)
        case "camelCase":
            first, *rest = _parts(name)
            lowered = first.lower() if first.isupper() else first[:1].lower() + first[1:]
            return lowered + "".join(_capital(part) for part in rest)


def header_name(name: str) -> str:
    """Return the name of a header: `accept_language` → `Accept-Language`."""
    return "-".join(_capital(part) for part in _parts(name))


def pascal_case(name: str) -> str:
    """Return the name of a class: `blog_posts` → `BlogPosts`, `apiKeys` → `ApiKeys`."""
    return "".join(_capital(part) for part in _parts(name))


def constant_name(enum: str, member: str) -> str:
    """Return the name of the constant of an enum member: `Diet`, `herbivore` → `DIET_HERBIVORE`."""
    return "_".join((*_words(enum), *_parts(member))).upper()


def is_identifier(name: str) -> bool:
    """Return whether a name can be used unchanged in Python code.

    Letters of all scripts are allowed if Python keeps them unchanged: it folds compatible forms (`ﬁ`, full-width
    letters), so two different names of a spec could become the same name.
    """
    if name.isascii():
        return name.isidentifier()
    import unicodedata

    return name.isidentifier() and unicodedata.is_normalized("NFKC", name)


def suggested_identifier(name: str) -> str | None:
    """Return a valid Python name similar to an invalid one: `foo-bar` → `foo_bar`; None if nothing is left of it."""
    candidate = re.sub(r"[^0-9A-Za-z]+", "_", name[:200]).strip("_")
    if candidate[:1].isdigit():
        candidate = "n" + candidate
    return candidate or None


def _parts(name: str) -> list[str]:
    return [part for part in name.split("_") if part] or [name]


def _words(name: str) -> list[str]:
    return [word.lower() for part in _parts(name) for word in _BOUNDARY.split(part)]


def _capital(part: str) -> str:
    return part[:1].upper() + part[1:]
