"""What came with another response answers a call only where that is all that the call would bring."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, RestEndpoint, create_resource, field, schema
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


def test_complete_records_optimistic_record_counts() -> None:
    """Reads see the view, so that what an optimistic response brings or takes counts too."""
    desk = Desk()
    desk.answer(listed, [SUMMARY])
    change: Any = RestEndpoint(
        path="/notes/:id",
        method="PATCH",
        schema=Note,
        get_optimistic_response=lambda snapshot, params, body: {**params, **body},
    )
    number = desk.start(change, {"id": 2}, {"bodyText": "soon"})
    assert desk.data(get, {"id": 2}).body_text == "soon"
    desk.fail(change, ValueError(), {"id": 2}, {"bodyText": "soon"}, fetch=number)
    assert desk.read(get, {"id": 2}).suspends


def test_complete_records_call_with_search_parameters_of_its_own_is_another_response() -> None:
    """`?embed=comments` asks, unless this very key was answered; what says which entity is meant asks nothing more."""
    desk = Desk()
    desk.answer(listed, [WHOLE])
    assert desk.read(plain, {"id": 1}).found
    assert desk.read(plain, {"id": 1, "embed": "comments"}).suspends
    assert desk.read(plain, {"id": 1, "embed": None}).found
    desk.answer(plain, {**WHOLE, "comments": [1]}, {"id": 1, "embed": "comments"})
    assert desk.data(plain, {"id": 1, "embed": "comments"}).comments == [1]
    assert desk.read(plain, {"id": 1, "embed": "author"}).suspends
    by_field: Any = RestEndpoint(path="/note", schema=Note)
    assert desk.data(by_field, {"slug": "a"}).id == 1 and desk.data(by_field, {"id": 1}).id == 1
    assert desk.read(by_field, {"slug": "a", "lang": "de"}).suspends
    renamed: Any = RestEndpoint(path="/n/:note/x", schema=Note)
    assert desk.data(renamed, {"note": "x", "slug": "a"}).id == 1


def test_complete_records_union_needs_what_its_entities_have() -> None:
    """Each entity needs those of the fields that it has; the attribute that tells the kinds is no parameter."""

    class Link(Entity):
        id: int = 0
        type: str = "link"
        url: str = ""

    class Post(Entity):
        id: int = 0
        type: str = "post"
        text: str = ""

    either = schema.Union({"link": Link, "post": Post}, "type")
    feed: Any = RestEndpoint(path="/feed", schema=[either])
    item: Any = RestEndpoint(path="/feed/:id", schema=either, needs=["url", "text"])
    desk = Desk()
    desk.answer(feed, [{"id": 1, "type": "link", "url": "x"}, {"id": 2, "type": "post"}])
    assert desk.data(item, {"id": 1}).url == "x"
    assert desk.data(item, {"id": 1, "type": "link"}).url == "x"
    assert desk.read(item, {"id": 2}).suspends
    assert desk.read(item, {"id": 1, "embed": "x"}).suspends


def test_complete_records_explain_says_why_it_asks() -> None:
    """The fields that are lacking, and the search parameters."""
    desk = Desk()
    desk.answer(listed, [SUMMARY])
    reasons = explain(desk.store, get.request(({"id": 2},))).reasons
    assert reasons[0] == (
        "it was never fetched, and the Note that came with other responses lacks what a call needs: bodyText"
    )
    reasons = explain(desk.store, plain.request(({"id": 2, "embed": "x", "as": "y"},))).reasons
    assert reasons[0] == "it was never fetched, and the call has search parameters of its own: as, embed"
    reasons = explain(desk.store, plain.request(({"id": 9, "embed": "x"},))).reasons
    assert reasons[0] == "it was never fetched, and the store has nothing usable to assemble it from"


def test_complete_records_needs_is_an_option_of_every_member() -> None:
    """It is inherited and taken back like any other; what is no list of names is a TypeError."""
    notes: Any = create_resource(path="/notes/:id", schema=Note, needs=("title",))
    assert notes.get.needs == ("title",) and notes.get.extend(needs=()).needs == ()
    with pytest.raises(TypeError, match="needs of endpoint GET '/x/:id' is 'title'; expected a list or tuple of names"):
        RestEndpoint(path="/x/:id", schema=Note, needs="title")


@pytest.mark.parametrize("policy", [None, "hard"])
def test_complete_records_expired_hard_error_over_data_is_requested_again_while_the_data_shows(
    policy: str | None,
) -> None:
    """While the error is fresh a read raises it; once it is stale, the data is given and fetched."""
    notes: Any = RestEndpoint(path="/notes/:id", schema=Note, error_policy=lambda error: policy)
    desk = Desk()
    desk.answer(notes, WHOLE, {"id": 1})
    desk.fail(notes, ValueError("down"), {"id": 1})
    assert desk.read(notes, {"id": 1}).decision.value == "raise"
    desk.now += 10_000_000
    reading = desk.read(notes, {"id": 1})
    assert (reading.decision.value, reading.data.title) == ("give and refetch", "A")
