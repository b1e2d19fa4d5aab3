"""A plugin: every store of the tests stands on a storage in memory, so that they say what they say with one as well.

python -m pytest -p tests.over_storage tests/runtime
"""

from __future__ import annotations

from math import inf
from typing import Any, Final

import pytest

from restencil import MemoryStorage, Store

_OTHERWISE: Final = {
    "test_retention.py": "what was let go of is read from the storage",
    "test_gc.py": "what was collected is read from the storage",
    "test_interruption_of_letting_go_leaves_nothing_behind": "as in test_retention",
    "test_store_remembers_where_relative_urls_lead": "a storage rejects another place in other words",
    "test_optimistic_change_computes_again_only_what_it_touches": "collected data comes back, and counts as a change",
}
"""What is not so over a storage, and why."""

_init = Store.__init__


def _over(store: Store, **options: Any) -> None:
    if options.get("storage") is None:
        options["storage"] = MemoryStorage(poll=inf)
    _init(store, **options)


def pytest_configure() -> None:
    """Before any test makes a store."""
    Store.__init__ = _over  # type: ignore[method-assign,assignment]  # that is what it is for


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of what is not so over a storage are skipped, with the reason."""
    for item in items:
        for name, reason in _OTHERWISE.items():
            if name in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=reason))
