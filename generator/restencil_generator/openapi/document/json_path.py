"""JSONPath (RFC 9535); only this module imports the package for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from jsonpath_rfc9535 import JSONPathError, JSONPathRecursionError, compile

Path: TypeAlias = tuple[str | int, ...]
"""The keys and indices from the root to a node; empty for the root."""


class BadPath(Exception):
    """An invalid JSONPath, or one that cannot be evaluated; the message gives the reason."""


def query(text: str) -> Callable[[Any], list[Path]]:
    """Return a function that finds the distinct nodes of a JSONPath, in their order. Raises `BadPath`."""
    try:
        compiled = compile(text)
    except (JSONPathError, RecursionError) as error:
        raise BadPath(str(error)) from error

    def select(tree: Any) -> list[Path]:
        try:
            return list(dict.fromkeys(tuple(node.location) for node in compiled.find(tree)))
        except (JSONPathRecursionError, RecursionError) as error:
            raise BadPath("the document is nested too deep for it") from error

    return select
