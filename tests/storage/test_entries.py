"""Entries of the log as JSON."""

from __future__ import annotations

import pytest

from restencil.storage.entries import entry_from_json


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"nonsense", b'{"changed":[1]}', b'{"keys":[1]}', b'{"changed":{"A":"1"}}', b'{"times":[1]}']
)
def test_entries_what_is_no_entry_says_everything(text: bytes) -> None:
    """Where a log holds nonsense, all is in doubt, and nothing raises."""
    assert entry_from_json(3, "w", text).everything
