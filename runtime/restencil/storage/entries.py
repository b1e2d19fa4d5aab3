"""Encode the log entry of a commit as JSON and decode it; limit how much an entry lists."""

from __future__ import annotations

import time
from math import inf
from typing import Any, Final

from ..base.json_text import decode_json, encode_json
from ..base.values import Meta, is_dict, is_list
from .protocol import Batch, Entry, Mark

MOST_BYTES: Final = 256 * 1024
"""The maximum size of an entry in bytes of JSON; a larger one only reports that everything may have changed."""


def entry_to_json(entry: Entry) -> bytes:
    """Encode an entry without its number and writer, with the current time of this machine."""
    moment = {"at": int(time.time() * 1000)}
    if entry.commit_id:
        moment["id"] = entry.commit_id
    everything = encode_json({**moment, "everything": True}, str).encode()
    if entry.everything:
        return everything
    members: dict[str, Any] = moment
    if entry.times is not None:  # JSON has no infinity: null means that a time never ends
        members["times"] = [None if time == inf else time for time in entry.times]
    for name in ("changed", "same", "gone", "keys"):
        value = getattr(entry, name)
        if value:
            members[name] = value
    if entry.stale:
        members["stale"] = [list(mark) for mark in entry.stale]
    if entry.requested_rev >= 0:
        members["requested"] = entry.requested_rev
    text = encode_json(members, str).encode()
    return text if len(text) <= MOST_BYTES else everything


def entry_from_json(number: int, writer: str, text: bytes) -> Entry:
    """Decode an entry; a damaged one counts as a change of everything."""
    try:
        members = decode_json(text)
        times = members.get("times")
        return Entry(
            number,
            writer,
            None if times is None else Meta(*(inf if time is None else float(time) for time in times)),
            _lists(members.get("changed", {})),
            _lists(members.get("same", {})),
            _lists(members.get("gone", {})),
            _texts(members.get("keys", [])),
            bool(members.get("everything", False)),
            int(members.get("id", 0)),
            tuple(_mark(mark) for mark in members.get("stale", [])),
            int(members.get("requested", -1)),
        )
    except (ValueError, TypeError, AttributeError):
        return Entry(number, writer, None, {}, {}, {}, [], True)


def has_changes(batch: Batch) -> bool:
    """Return whether a batch changes anything in a storage."""
    return any((batch.rows, batch.results, batch.drop, batch.index, batch.listed, batch.incomplete, batch.stale))


def committed_at(text: Any) -> float | None:
    """Return when an entry was written, in ms since 1970; None if the entry has no time."""
    try:
        return float(decode_json(text)["at"])
    except (ValueError, TypeError, AttributeError, KeyError):
        return None


def _mark(value: object) -> Mark:
    kind, name, pk = _texts(value)
    return kind, name, pk


def _lists(value: object) -> dict[str, list[str]]:
    if not is_dict(value):
        raise TypeError
    return {table: _texts(pks) for table, pks in value.items()}


def _texts(value: object) -> list[str]:
    if not is_list(value) or not all(isinstance(text, str) for text in value):
        raise TypeError
    return value
