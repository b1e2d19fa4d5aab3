"""Names of namespaces, and entries of the log as JSON."""

from __future__ import annotations

import pytest

from restencil.storage.entries import entry_from_json
from restencil.storage.naming import check_principal, namespace_hash


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
