"""Writing entities: the merge rules, whatever the order in which answers arrive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest
from tests.runtime.doubles import AnyEndpoint, Desk

from restencil import Entity, ProcessingError, RestEndpoint, create_resource, field, schema
from restencil.base.values import INVALID, Meta
from restencil.cache.explanation import explain
from restencil.cache.merge import StoredEntry, apply
from restencil.cache.normalize_compiled import compile_normalizer
from restencil.cache.write_set import DeleteRecord, EditList, MergeRecord, Operation, PutList
from restencil.schema import schema_of
from restencil.schema.entity import EntitySchema
from restencil.schema.stored import record_of


class Note(Entity):
    id: str = ""
    title: str = ""


def _endpoint(raw: Any, *, compiled: bool = False) -> AnyEndpoint:
    endpoint: AnyEndpoint = RestEndpoint(path="/notes/:id?", schema=raw)
    node = schema_of(endpoint.schema)
    if compiled and node is not None:
        node.normalizer = compile_normalizer(node)
    return endpoint


def test_normalize_merge_sees_stored_form_and_may_decide(desk: Desk) -> None:
    """`merge(existing, incoming)` gets nested entities as primary keys; the older one comes first."""
    seen: list[tuple[dict[str, Any], dict[str, Any]]] = []

    class Counted(Entity, schema={"note": Note}):
        id: str = ""

        @classmethod
        def merge(cls, existing: Mapping[str, Any], incoming: Mapping[str, Any]) -> Mapping[str, Any]:
            seen.append((dict(existing), dict(incoming)))
            return {**existing, **incoming, "count": existing.get("count", 0) + 1}

    endpoint = _endpoint(Counted)
    desk.now = 5_000
    desk.answer(endpoint, {"id": "1", "note": {"id": "n"}}, {"id": 1}, started=3_000)
    desk.answer(endpoint, {"id": "1", "note": {"id": "m"}}, {"id": 1}, started=4_000)
    desk.answer(endpoint, {"id": "1", "late": True}, {"id": 1}, started=2_000)
    assert seen == [
        ({"id": "1", "note": "n"}, {"id": "1", "note": "m"}),
        ({"id": "1", "late": True}, {"id": "1", "note": "m", "count": 1}),
    ]
    assert desk.data(endpoint, {"id": 1}).count == 1


def test_normalize_should_reorder_may_compare_what_the_server_says(desk: Desk) -> None:
    """Its answer decides which side is older, for the fields and for the times."""

    class Dated(Entity):
        id: str = ""
        at: int = 0

        @classmethod
        def should_reorder(
            cls, existing_meta: Meta, incoming_meta: Meta, existing: Mapping[str, Any], incoming: Mapping[str, Any]
        ) -> bool:
            return bool(incoming["at"] < existing["at"])

    endpoint = _endpoint(Dated)
    desk.answer(endpoint, {"id": "1", "at": 5, "x": 5}, {"id": 1})
    desk.now = 2_000
    desk.answer(endpoint, {"id": "1", "at": 4, "x": 4, "y": 4}, {"id": 1})
    assert desk.table("Dated")["1"] == {"id": "1", "at": 5, "x": 5, "y": 4}
    assert desk.store.entity_meta("Dated", "1") == (1_000, 1_000, 61_000)


@pytest.mark.parametrize("compiled", [False, True])
def test_normalize_very_deep_response_is_rejected_and_not_a_crash(compiled: bool) -> None:
    """What is nested beyond all measure is a processing error."""

    class Tree(Entity):
        id: str = ""
        schema = {"child": schema.Lazy(lambda: Tree)}

    deep: dict[str, Any] = {"id": "0"}
    for number in range(100_000):
        deep = {"id": str(number), "child": deep}
    with pytest.raises(ProcessingError):
        Desk().answer(_endpoint(Tree, compiled=compiled), deep)
    while deep:
        deep = deep.pop("child", {})


# -- merge


class Stored(Entity):
    id: str = ""
    title: str = ""


NOTE = cast("EntitySchema", schema_of(Stored))
RECORD = {"id": "1", "title": "a"}
KEYS = ["1", "2"]
GONE = DeleteRecord()
COMES = MergeRecord(NOTE, RECORD)


def _plain(stored: Any) -> Any:
    return {**record_of(stored)} if isinstance(stored, Stored) else stored


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


# -- complete records


class Slugged(Entity, indexes=("slug",)):
    id: int = 0
    slug: str = ""
    title: str = ""
    body_text: str = field(default="", wire="bodyText")


listed: Any = RestEndpoint(path="/notes", schema=[Slugged])
get: Any = RestEndpoint(path="/notes/:id", schema=Slugged, needs=("title", "body_text"))
plain: Any = RestEndpoint(path="/notes/:id", schema=Slugged)
WHOLE = {"id": 1, "slug": "a", "title": "A", "bodyText": "…"}
SUMMARY = {"id": 2, "slug": "b", "title": "B"}


def test_complete_records_record_that_misses_what_is_needed_does_not_answer(desk: Desk) -> None:
    """A whole record of a list answers `get`; a summary is shown in the list, and `get` asks once."""
    desk.answer(listed, [WHOLE, SUMMARY])
    assert desk.data(get, {"id": 1}).body_text == "…"
    assert not desk.read(get, {"id": 1}).needs_fetch
    reading = desk.read(get, {"id": 2})
    assert (reading.found, reading.data, reading.suspends) == (False, None, True)
    assert desk.data(plain.extend(name="other", key=lambda args: f"other {args}"), {"id": 2}).title == "B"
    assert [note.title for note in desk.data(listed)] == ["A", "B"]
    # What was asked for is the answer, even where the server leaves something out; so nobody asks for ever.
    desk.answer(get, {**SUMMARY, "extra": True}, {"id": 2})
    reading = desk.read(get, {"id": 2})
    assert (reading.found, reading.needs_fetch, reading.data.title) == (True, False, "B")


def test_complete_records_what_is_needed_may_come_from_several_responses_and_null_is_there(desk: Desk) -> None:
    """What counts is the record as it stands."""
    desk.answer(listed, [SUMMARY])
    assert desk.read(get, {"id": 2}).suspends
    desk.answer(listed, [{"id": 2, "bodyText": None}])
    assert desk.data(get, {"id": 2}).title == "B"


def test_complete_records_explain_says_why_it_asks(desk: Desk) -> None:
    """The fields that are lacking, and the search parameters."""
    desk.answer(listed, [SUMMARY])
    reasons = explain(desk.store, get.request(({"id": 2},))).reasons
    assert reasons[0] == ("it was never fetched, and the Slugged from other responses lacks required fields: bodyText")
    reasons = explain(desk.store, plain.request(({"id": 2, "embed": "x", "as": "y"},))).reasons
    assert reasons[0] == "it was never fetched, and the call has additional query parameters: as, embed"
    reasons = explain(desk.store, plain.request(({"id": 9, "embed": "x"},))).reasons
    assert reasons[0] == "it was never fetched, and the store has nothing usable to assemble it from"


def test_complete_records_needs_is_an_option_of_every_member() -> None:
    """It is inherited and taken back like any other; what is no list of names is a TypeError."""
    notes: Any = create_resource(path="/notes/:id", schema=Slugged, needs=("title",))
    assert notes.get.needs == ("title",) and notes.get.extend(needs=()).needs == ()
    with pytest.raises(TypeError, match="needs of endpoint GET '/x/:id' is 'title'; expected a list or tuple of names"):
        RestEndpoint(path="/x/:id", schema=Slugged, needs="title")
