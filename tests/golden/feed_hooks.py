"""What a user of the feed writes by hand: the `python:` references of specs/feed.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def complete_account(record: Mapping[str, Any]) -> str | None:
    """An account of a list lacks what only its own page tells, and is fetched when that is read."""
    return None if "followers" in record else "not loaded completely"


def kind_of(value: Mapping[str, Any], parent: Any, key: str | None) -> str:
    """Items with a question are polls."""
    return "poll" if "question" in value else "post"
