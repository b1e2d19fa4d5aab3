"""Functions that specs of tests name as `python:` references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STATS = "GET http://server.test/stats"


def one_more(created: Any, *args: Any) -> dict[str, Callable[[Any], Any]]:
    """The `update` hook of a creation that a count includes."""
    return {STATS: lambda stats: {"count": (stats or {"count": 0})["count"] + 1}}


def as_it_is(items: Any, *args: Any) -> Any:
    """The `process` hook of a query that changes nothing."""
    return items


def newest(joined: Any, *args: Any) -> dict[str, Callable[[Any], Any]]:
    """The `update` hook of an action whose response, here the key of the record in it, is what another read gives."""
    return {"GET http://server.test/users/newest": lambda before: joined}
