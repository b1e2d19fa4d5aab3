"""What came with another response answers a call only where that is all that the call would bring."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, RestEndpoint, create_resource, field
from restencil.cache.explanation import explain


class Note(Entity, indexes=("slug",)):
    id: int = 0
    slug: str = ""
    title: str = ""
    body_text: str = field(default="", wire="bodyText")


listed: Any = RestEndpoint(path="/notes", schema=[Note])
get: Any = RestEndpoint(path="/notes/:id", schema=Note, needs=("title", "body_text"))
plain: Any = RestEndpoint(path="/notes/:id", schema=Note)
WHOLE = {"id": 1, "slug": "a", "title": "A", "bodyText": "…"}
SUMMARY = {"id": 2, "slug": "b", "title": "B"}


def test_complete_records_record_that_misses_what_is_needed_does_not_answer() -> None:
    """A whole record of a list answers `get`; a summary is shown in the list, and `get` asks once."""
    desk = Desk()
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


def test_complete_records_what_is_needed_may_come_from_several_responses_and_null_is_there() -> None:
    """What counts is the record as it stands."""
    desk = Desk()
    desk.answer(listed, [SUMMARY])
    assert desk.read(get, {"id": 2}).suspends
    desk.answer(listed, [{"id": 2, "bodyText": None}])
    assert desk.data(get, {"id": 2}).title == "B"


def test_complete_records_explain_says_why_it_asks() -> None:
    """The fields that are lacking, and the search parameters."""
    desk = Desk()
    desk.answer(listed, [SUMMARY])
    reasons = explain(desk.store, get.request(({"id": 2},))).reasons
    assert reasons[0] == ("it was never fetched, and the Note from other responses lacks required fields: bodyText")
    reasons = explain(desk.store, plain.request(({"id": 2, "embed": "x", "as": "y"},))).reasons
    assert reasons[0] == "it was never fetched, and the call has additional query parameters: as, embed"
    reasons = explain(desk.store, plain.request(({"id": 9, "embed": "x"},))).reasons
    assert reasons[0] == "it was never fetched, and the store has nothing usable to assemble it from"


def test_complete_records_needs_is_an_option_of_every_member() -> None:
    """It is inherited and taken back like any other; what is no list of names is a TypeError."""
    notes: Any = create_resource(path="/notes/:id", schema=Note, needs=("title",))
    assert notes.get.needs == ("title",) and notes.get.extend(needs=()).needs == ()
    with pytest.raises(TypeError, match="needs of endpoint GET '/x/:id' is 'title'; expected a list or tuple of names"):
        RestEndpoint(path="/x/:id", schema=Note, needs="title")
