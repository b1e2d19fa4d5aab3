"""Names of namespaces, and entries of the log as JSON."""

from __future__ import annotations

import time

import pytest

from restencil.base.values import Meta
from restencil.storage import Entry
from restencil.storage.entries import committed_at, entry_from_json, entry_to_json
from restencil.storage.naming import check_principal, namespace_hash

ENTRY = Entry(
    7,
    "w",
    Meta(1.0, 2.0, float(3)),
    {"Article": ["1", "ü"]},
    {"User": ["a"]},
    {"Tag": ["x"]},
    ["GET /articles"],
    False,
)


def test_entries_entry_comes_back_as_it_went() -> None:
    """What the log says of a commit is read as it was written; number and writer stand beside it."""
    assert entry_from_json(7, "w", entry_to_json(ENTRY)) == ENTRY
    empty = Entry(1, "w", None, {}, {}, {}, [], False)
    assert entry_from_json(1, "w", entry_to_json(empty)) == entry_from_json(1, "w", b"{}") == empty
    assert abs((committed_at(entry_to_json(empty)) or 0) - time.time() * 1000) < 10_000
    assert committed_at(b"{}") is committed_at(b"nonsense") is None


def test_entries_times_without_an_end_have_a_place_in_an_entry() -> None:
    """An entry may say of what never turns stale."""
    endless = ENTRY._replace(times=Meta(1.0, 2.0, float("inf")))
    assert entry_from_json(7, "w", entry_to_json(endless)) == endless


def test_entries_entry_that_is_too_long_says_everything() -> None:
    """What takes more than 256 KiB of JSON is not listed."""
    long = ENTRY._replace(keys=[f"GET /articles/{n:01000}" for n in range(300)])
    assert entry_from_json(7, "w", entry_to_json(long)) == Entry(7, "w", None, {}, {}, {}, [], True)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"nonsense", b'{"changed":[1]}', b'{"keys":[1]}', b'{"changed":{"A":"1"}}', b'{"times":[1]}']
)
def test_entries_what_is_no_entry_says_everything(text: bytes) -> None:
    """Where a log holds nonsense, all is in doubt, and nothing raises."""
    assert entry_from_json(3, "w", text).everything


def test_entries_namespaces_differ_by_each_of_their_parts() -> None:
    """Another principal, place or namespace has data of its own; none of them can be read in the name."""
    names = {namespace_hash(*parts) for parts in [("", None, ""), ("", "a", ""), ("", "", "a"), ("a", None, "")]}
    assert len(names) == 4
    assert all(len(name) == 32 and set(name) <= set("0123456789abcdef") for name in names)


@pytest.mark.parametrize("principal", ["", 7, b"id"])
def test_entries_principal_is_a_string_or_no_one(principal: object) -> None:
    """An empty id, as of a variable that is not set, would show one account's data to all."""
    with pytest.raises(ValueError, match="expected a string that is not empty"):
        check_principal(principal)
