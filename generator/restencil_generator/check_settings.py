"""What the spec, a resource and an endpoint settle alike: URL prefix, headers, options, the endpoint class."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Final

from restencil_generator import declaration as d
from restencil_generator.check_types import Types
from restencil_generator.problems import Place, Related, quoted
from restencil_generator.tree import Entry, Node, ScalarNode, is_null

OPTION_KEYS: Final = (
    "data_expiry_length",
    "error_expiry_length",
    "poll_frequency",
    "invalid_if_stale",
    "error_policy",
    "timeout",
    "retries",
)

ERROR_POLICIES: Final = ("soft", "hard", "soft_on_server_error")

TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
"""The name of a header, a cookie or a method."""

SECRET_HEADERS: Final = frozenset(("authorization", "proxy-authorization", "cookie"))
"""Headers that carry nothing but secrets, which never stand in a spec."""

URL_TEXT: Final = re.compile(r"[^\x00-\x20\x7f]*\Z")
"""A URL or a part of one: no spaces, no control characters."""

_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*\Z")


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What the spec, a resource or an endpoint settles alike; `None` where it says nothing."""

    url_prefix: str | None = None
    url_place: Place = d.NOWHERE
    headers: Mapping[str, str] | None = None
    options: Mapping[str, Any] | None = None
    base: d.Reference | None = None


class Settled:
    """Reads what occurs at several levels of a spec."""

    def __init__(self, types: Types) -> None:
        self.types = types

    def settings(self, given: Mapping[str, Entry], what: str) -> Settings:
        """The url_prefix, headers, options and endpoint class that a level writes."""
        types = self.types
        prefix: str | None = None
        place = d.NOWHERE
        if "url_prefix" in given:
            node = given["url_prefix"].value
            prefix, place = types.text(node, f"'url_prefix' of {what}"), node.place
            if prefix is not None and not URL_TEXT.match(prefix):
                types.report("bad-url", f"'url_prefix' of {what} holds a space or a control character", node)
        base: d.Reference | None = None
        if "endpoint" in given:
            base = types.reference(given["endpoint"].value, f"'endpoint' of {what}")
        headers = self.headers(given["headers"].value, what) if "headers" in given else None
        options = self.options(given["options"].value, what) if "options" in given else None
        return Settings(prefix, place, headers, options, base)

    def headers(self, node: Node, what: str) -> dict[str, str]:
        """Static headers. Those that carry secrets are refused."""
        types = self.types
        found: dict[str, str] = {}
        first: dict[str, ScalarNode] = {}
        mapping = types.mapping(node, f"'headers' of {what}", "write {Name: value}")
        for name, entry in mapping or ():
            value = types.text(entry.value, f"the header {quoted(name)} of {what}")
            if not TOKEN.match(name):
                types.report("bad-header", f"{quoted(name)} of {what} is no name of a header", entry.key)
            elif name.lower() in SECRET_HEADERS:
                types.report(
                    "secret-header",
                    f"the header {quoted(name)} of {what} carries a secret, which never stands in a spec",
                    entry.key,
                    "use 'auth:', or a python: endpoint class",
                )
            elif name.lower() in first:
                types.report(
                    "given-twice",
                    f"{what} gives the header {quoted(name)} twice: case does not count",
                    entry.key,
                    "keep one of them",
                    [Related(first[name.lower()].place, "given here first")],
                )
            elif value is not None and not _HEADER_VALUE.match(value):
                types.report(
                    "bad-header",
                    f"the header {quoted(name)} of {what} holds a character that none may hold",
                    entry.value,
                )
            elif value is not None:
                first[name.lower()] = entry.key
                found[name] = value
        return found

    def options(self, node: Node, what: str) -> dict[str, Any]:
        """Endpoint options that a level writes; null takes an inherited one back."""
        types = self.types
        what = f"'options' of {what}"
        mapping = types.mapping(node, what)
        found: dict[str, Any] = {}
        for name, entry in types.keys(mapping, what, OPTION_KEYS).items() if mapping is not None else ():
            value = entry.value
            label = f"'{name}' of {what}"
            if is_null(value):
                found[name] = None
            elif name == "invalid_if_stale":
                found[name] = types.boolean(value, label)
            elif name == "retries":
                found[name] = types.integer(value, label, least=0)
            elif name == "error_policy":
                if isinstance(value, ScalarNode) and str(value.value).startswith("python:"):
                    found[name] = types.reference(value, label)
                else:
                    found[name] = types.word(value, label, ERROR_POLICIES)
            else:
                found[name] = types.duration(value, label, least=1 if name in ("poll_frequency", "timeout") else 0)
        return found


def first_given(*values: str | None) -> str:
    return next((value for value in values if value is not None), "")


def joined_headers(inherited: Mapping[str, str] | None, own: Mapping[str, str] | None) -> dict[str, str]:
    """Headers laid over inherited ones, case aside, sorted by name."""
    named = {name.lower(): (name, value) for name, value in (inherited or {}).items()}
    named |= {name.lower(): (name, value) for name, value in (own or {}).items()}
    return {name: value for _, (name, value) in sorted(named.items())}


def overlaid(inherited: Mapping[str, Any] | None, own: Mapping[str, Any] | None) -> dict[str, Any]:
    return {**(inherited or {}), **(own or {})}
