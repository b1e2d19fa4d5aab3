"""What becomes of a stored record or list when an operation comes to it, at the limits of the times that decide it.

In one process responses arrive in the order of their dates; where another one wrote the row meanwhile, they need not.
"""

from __future__ import annotations

from typing import Any, cast

import pytest

from restencil import Entity
from restencil.base.values import INVALID, Meta
from restencil.cache.merge import StoredEntry, apply
from restencil.cache.write_set import DeleteRecord, EditList, MergeRecord, Operation, PutList
from restencil.schema import schema_of
from restencil.schema.entity import EntitySchema
from restencil.schema.stored import record_of


class Note(Entity):
    id: str = ""
    title: str = ""


NOTE = cast("EntitySchema", schema_of(Note))
RECORD = {"id": "1", "title": "a"}
KEYS = ["1", "2"]
GONE = DeleteRecord()
COMES = MergeRecord(NOTE, RECORD)


def _plain(stored: Any) -> Any:
    return {**record_of(stored)} if isinstance(stored, Note) else stored


def _at(fetched_at: float, date: float = 9_000) -> Meta:
    return Meta(fetched_at, date, 60_000)


def _list(*keys: str) -> PutList:
    return PutList("[Note]", "{}", [*keys], is_page=False)


def _page(*keys: str) -> PutList:
    return PutList("[Note]", "{}", [*keys], is_page=True)


def _push(key: str) -> EditList:
    return EditList("[Note]", "{}", lambda pk: True, lambda pk, items: [*items, key], False, {}, None)


LONGER = ["1", "2", "3"]
OLD_PAGE = _page("3")._replace(keeps_times=True)

CASES: dict[str, tuple[Any, Meta, Operation, Meta, Any, float]] = {
    "a record newer than the deletion stays": (RECORD, _at(20, 30), GONE, _at(10, 25), RECORD, 20),
    "a record answered after the deletion stays": (RECORD, _at(20, 30), GONE, _at(20, 25), RECORD, 20),
    "a record requested before the deletion is gone": (RECORD, _at(20, 30), GONE, _at(21, 25), INVALID, 21),
    "a record answered with the deletion is gone": (RECORD, _at(20, 30), GONE, _at(10, 30), INVALID, 10),
    "of two deletions the one answered last counts": (INVALID, _at(20, 30), GONE, _at(25, 29), INVALID, 20),
    "of two deletions answered at once the last counts": (INVALID, _at(20, 30), GONE, _at(25, 30), INVALID, 25),
    "a record requested before the deletion stays gone": (INVALID, _at(20, 30), COMES, _at(19), INVALID, 20),
    "a record requested with the deletion is back": (INVALID, _at(20, 30), COMES, _at(20), RECORD, 20),
    "a list requested earlier changes nothing": (KEYS, _at(20), _list("3"), _at(19), KEYS, 20),
    "a list requested at once replaces the one before": (KEYS, _at(20), _list("3"), _at(20), ["3"], 20),
    "a page answered before the list was requested changes nothing": (KEYS, _at(20), _page("3"), _at(15, 19), KEYS, 20),
    "a page answered as the list was requested extends it": (KEYS, _at(20), _page("3"), _at(15, 20), LONGER, 20),
    "a page requested later leaves a list as old as it is": (KEYS, _at(20), OLD_PAGE, _at(21), LONGER, 20),
    "what joined before the list was requested is in it already": (KEYS, _at(20), _push("3"), _at(15, 19), KEYS, 20),
    "what joined as the list was requested leaves its times": (KEYS, _at(20), _push("3"), _at(15, 20), LONGER, 20),
    "what joined later makes the list as late": (KEYS, _at(20), _push("3"), _at(21), LONGER, 21),
}
"""What is held and its times; the operation and its own; what is held then, and when that was requested."""


@pytest.mark.parametrize(("held", "were", "operation", "times", "stored", "since"), CASES.values(), ids=CASES)
def test_merge_which_of_two_counts(
    held: Any, were: Meta, operation: Operation, times: Meta, stored: Any, since: float
) -> None:
    """Requests decide by when they started, and of equal ones the later arrival; deletions by their answers too."""
    found = apply(operation, "1" if held in (RECORD, INVALID) else "{}", StoredEntry(held, were), times)
    assert found is not None
    assert (_plain(found.stored), found.times.fetched_at) == (stored, since)


@pytest.mark.parametrize("operation", [_push("3"), _page("3")], ids=["what joins it", "a page"])
def test_merge_list_has_the_times_of_what_was_requested_with_it(operation: Operation) -> None:
    """Of equal requests the later arrival counts, for when a list expires too."""
    found = apply(operation, "{}", StoredEntry(KEYS, _at(20)), Meta(20, 9_500, 70_000))
    assert found is not None and found.times == (20, 9_500, 70_000)


@pytest.mark.parametrize(("started", "title"), [(9, "a"), (10, "again")])
def test_merge_fields_of_an_earlier_request_count_where_nothing_later_brought_them(started: float, title: str) -> None:
    """Next to a later field, each other one is of the request that started last; of equal ones, the later arrival."""
    first = apply(MergeRecord(NOTE, {**RECORD, "n": 1}), "1", None, _at(10))
    second = apply(MergeRecord(NOTE, {"id": "1", "n": 2}), "1", first, _at(20))
    third = apply(MergeRecord(NOTE, {"id": "1", "title": "again", "n": 3}), "1", second, _at(started))
    assert third is not None and _plain(third.stored) == {"id": "1", "title": title, "n": 2}
