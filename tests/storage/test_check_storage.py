"""`check_storage` finds a storage that breaks a rule, and says which one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from restencil import MemoryStorage
from restencil.storage import Batch, Changes, Loaded, Opened, Outcome, Page
from restencil.testing import check_storage


class Wrong(MemoryStorage):
    """A storage of which one method is another; `another()` gives one like it."""

    method = ""
    instead: Callable[..., Any]

    def __getattribute__(self, name: str) -> Any:
        cls: Any = type(self)
        if name != cls.method:
            return super().__getattribute__(name)
        right = super().__getattribute__(name)
        return lambda *args: cls.instead(right, *args)


def _forgets_tables(
    right: Any, cells: Any, keys: Any = (), index: Any = (), tables: Any = (), marks: Any = ()
) -> Loaded:
    found: Loaded = right(cells, keys, index, tables, marks)
    return found._replace(tables={})


def _starts_at_zero(right: Any, place: str, now: Any) -> Opened:
    found: Opened = right(place, now)
    return found._replace(epoch=0)


def _ignores_revs(right: Any, batch: Batch) -> Outcome:
    outcome: Outcome = right(batch)
    if outcome.moved is None:
        return outcome
    revs = {(row.table, row.pk): row.rev for row in outcome.moved.rows}
    rows = [row._replace(rev=revs.get((row.table, row.pk), row.rev)) for row in batch.rows]
    found: Outcome = right(batch._replace(rows=rows, tables={}))
    return found


def _forgets_the_entry(right: Any, after: int, wait: float) -> Changes:
    found: Changes = right(after, wait)
    return found._replace(entries=[entry for entry in found.entries if entry.writer != "you"])


def _scans_by_name(right: Any, table: str | None, after: str | None, limit: int) -> Page:
    found: Page = right(table, after, limit)
    return Page(sorted(found.items), found.next)


def _always_grants(right: Any, name: str, owner: str, length: float) -> bool:
    return True


def _keeps_all(right: Any) -> int:
    return 1


WRONG: Sequence[tuple[str, Callable[..., Any], str]] = [
    ("load", _forgets_tables, "a table with a row has version 0"),
    ("open", _starts_at_zero, "has an epoch from 1 on"),
    ("commit", _ignores_revs, "A row of another rev moves the whole batch"),
    ("changes", _forgets_the_entry, "Each commit is in the log with its entry"),
    ("scan", _scans_by_name, "come page by page by arrival"),
    ("lease", _always_grants, r"A lease has one owner.*But another owner: expected False, found True"),
    ("reset", _keeps_all, "A reset begins a new, empty epoch"),
]


@pytest.mark.parametrize(("method", "instead", "text"), WRONG)
def test_check_storage_broken_rule_is_named(method: str, instead: Callable[..., Any], text: str) -> None:
    """The error has the rule, what was expected and what was found."""
    kind: Any = type("Broken", (Wrong,), {"method": method, "instead": staticmethod(instead)})
    first = kind()

    def make() -> MemoryStorage:
        made: MemoryStorage = kind()
        made.__dict__["_places"] = first.__dict__["_places"]
        return made

    with pytest.raises(AssertionError, match=text):
        check_storage(make)
