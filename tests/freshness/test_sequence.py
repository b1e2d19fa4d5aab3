"""Freshness by sequence: which results are fresh, which events make them stale, and what a read then requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.freshness.cases import CASES
from tests.freshness.driver import Session, run
from tests.freshness.programs import Step, World, parse
from tests.freshness.server import NOTHING, Response
from tests.freshness.small import small

import restencil


@pytest.mark.parametrize("embeds_owner", [False, True], ids=["keys", "objects"])
@pytest.mark.parametrize("name", CASES)
def test_case_fresh_values_are_what_the_server_says(name: str, embeds_owner: bool, asynchronous: bool) -> None:
    """A program that once failed: after each step what is fresh is right, and no read asks twice for one event."""
    program = parse(CASES[name])
    world = replace(program.world, embeds_owner=embeds_owner, asynchronous=asynchronous)
    assert run(program._replace(world=world), check_all=True).differences == []


# 2.1


def test_result_is_stale_when_its_key_is_expired(session: Session) -> None:
    """`expire()` of one key makes that key stale, and no other."""
    session.call("items.latest")
    session.call("items.visits", id=1)
    session.call("items.visits", id=2)
    session.call("items.visits.expire", id=1)
    assert session.requests("items.visits", id=2) == []
    assert session.requests("items.visits", id=1) == ["GET /items/1/visits"]
    assert session.requests("items.visits", id=1) == []


# 2.3


def test_list_is_fresh_again_when_the_marked_record_is_brought_whole(session: Session) -> None:
    """`get` of the changed record is enough for a list without filters: its record is whole since."""
    session.call("items.get_list")
    session.call("items.mute", "204", id=1, body={"body": "new"})
    session.call("items.get", id=1)
    assert session.requests("items.get_list") == []
    assert [item.body for item in session.call("items.get_list") if item.id == 1] == ["new"]


BEST = """
entities: {Item: {fields: {id: integer, title: string}}}
resources:
  items: {path: /items/:id, schema: Item}
  best: {endpoints: {get: {path: /best, schema: {item: Item}}}}
"""


def test_result_that_is_no_list_is_fresh_again_when_the_marked_record_is_brought_whole() -> None:
    """`{item: Item}` has nothing but the record, so its `get` is enough."""
    titles = ["a"]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            titles.append(body["title"])
            return NOTHING
        item = {"id": 1, "title": titles[-1]}
        return {"item": item} if target == "/best" else item

    with small(BEST, answer) as session:
        session.call("best.get")
        session.call("items.partial_update", id=1, body={"title": "b"})
        assert not session.is_fresh("best.get", {})
        session.call("items.get", id=1)
        assert session.requests("best.get") == []
        assert session.call("best.get")["item"].title == "b"


def test_list_stays_stale_when_the_marked_record_is_brought_in_part(session: Session) -> None:
    """A summary of the changed record does not make the list fresh that shows more of it."""
    session.call("items.get_list")
    session.call("items.mute", "204", id=1, body={"body": "new"})
    session.call("items.latest")
    assert not session.is_fresh("items.get_list", {})
    assert not session.is_fresh("items.get", {"id": 1})


def test_filtered_list_stays_stale_when_the_marked_record_is_brought_whole(session: Session) -> None:
    """A list with a filter argument may have lost or gained the record, so `get` of it is not enough."""
    session.call("items.get_list", title="t")
    session.call("items.mute", "204", id=1, body={"title": "x"})
    session.call("items.get", id=1)
    assert session.requests("items.get_list", title="t") == ["GET /items?title=t"]


def test_summary_list_is_as_fresh_as_what_it_brought(session: Session) -> None:
    """Fields that show beyond what a list brought are no part of it, and `get` asks for them."""
    session.call("items.latest")
    assert session.requests("items.latest") == []
    assert session.requests("items.get", id=1) == ["GET /items/1"]


# 2.4


def test_stale_reference_is_requested_by_its_own_get(session: Session) -> None:
    """Where only a reference is stale, a read requests that record and not its own key."""
    session.call("users.get", id=1)
    session.call("items.get", id=2)
    session.call("users.partial_update", "204", id=1, body={"name": "zoe"})
    before = len(session.network.exchanges)
    item = session.call("items.get", id=2)
    assert session.asked(before) == ["GET /users/1"]
    assert item.owner.name == "zoe"


def test_stale_reference_that_is_gone_makes_a_read_request_nothing_else() -> None:
    """What a record that is gone refers to is no part of the result, so nobody has to know whether it is there."""
    with Session(World(items=8)) as session:
        session.call("users.get", id=1)
        session.call("items.by_offset")
        session.call("users.partial_update", "204", id=1, body={"name": "zoe"})
        del session.server.users[1]
        session.server.version += 1
        assert session.requests("items.by_offset") == ["GET /users/1", "GET /items/by_offset"]
        assert session.requests("items.by_offset") == []


def test_reference_that_has_expired_is_requested(session: Session) -> None:
    """A reference that another response brought keeps its own age."""
    session.call("users.get", id=1)
    session.clock.advance("45s")
    session.call("items.get.fetch", id=2)
    session.clock.advance("20s")
    assert session.requests("items.get", id=2) == ["GET /users/1"]
    assert session.requests("items.get", id=2) == []


def test_reference_to_an_unknown_record_shows_as_its_key(session: Session) -> None:
    """What nobody fetched is no reason to ask: the reference is the key."""
    item = session.call("items.get", id=2)
    assert item.owner is None and restencil.foreign_key(item, "owner") == 1
    assert session.requests("items.get", id=2) == []


# composed reads


def test_get_after_a_list_expires_with_the_list(session: Session) -> None:
    """The record's own expiry stands for that of a request."""
    session.call("items.get_list")
    session.clock.advance("61s")
    assert session.requests("items.get", id=1) == ["GET /items/1"]


def test_get_that_was_asked_before_is_fresh_by_a_later_list(session: Session) -> None:
    """A list that brings the record whole later makes an expired `get` fresh."""
    session.call("items.get", id=1)
    session.clock.advance("61s")
    session.call("items.get_list")
    assert session.requests("items.get", id=1) == []


def test_list_known_from_a_parent_ages_with_the_response_that_brought_it(session: Session) -> None:
    """The membership of a nested list has the age of the parent's response."""
    session.call("users.get", id=1)
    session.clock.advance("40s")
    session.call("items.get.fetch", id=2)
    session.clock.advance("21s")
    assert not session.is_fresh("items.get_list", {"owner": 1})


def test_record_that_left_a_list_is_no_part_of_it(session: Session) -> None:
    """What happens to a record that left a list does not make that list stale."""
    session.call("items.get_list", kind="b")
    session.call("items.partial_update", "whole", id=1, body={"kind": "a"})
    session.call("items.get.expire", id=1)
    assert session.requests("items.get_list", kind="b") == []


# overlaps


def test_record_is_stale_when_two_changes_of_it_overlapped(session: Session) -> None:
    """Which of two overlapping changes the server made last nobody knows."""
    session.call("items.get", id=1)
    session.begin(Step("start", 1, "items.partial_update", {"id": 1, "body": {"rank": 5}}, "whole"))
    session.begin(Step("start", 2, "items.partial_update", {"id": 1, "body": {"rank": 6}}, "whole"))
    for number in (1, 2):
        session.step_held(number, deliver=True)
    assert session.requests("items.get", id=1) == ["GET /items/1"]
    assert session.requests("items.get", id=1) == []


def test_record_is_stale_when_a_read_and_a_change_of_it_overlapped(session: Session) -> None:
    """A read that began before the change was answered may be older than it."""
    session.begin(Step("start", 1, "items.get", {"id": 1}))
    session.begin(Step("start", 2, "items.partial_update", {"id": 1, "body": {"rank": 6}}, "whole"))
    session.step_held(2, deliver=True)
    session.step_held(1, deliver=True)
    assert not session.is_fresh("items.get", {"id": 1})
    session.call("items.get", id=1)
    assert session.requests("items.get", id=1) == []


def test_membership_is_stale_when_its_read_overlapped_a_change_of_the_entity(session: Session) -> None:
    """A list that was read while an item was created may lack it."""
    operation = session.begin(Step("start", 1, "items.get_list", {"kind": "a"}))
    session.step_held(1, deliver=False)
    session.call("items.create", "whole", body={"kind": "a"})
    session.step_held(1, deliver=True)
    assert operation.task.done
    assert not session.is_fresh("items.get_list", {"kind": "a"})


def test_overlap_with_a_change_of_another_record_leaves_a_record_fresh(session: Session) -> None:
    """Only what both requests touch is stale."""
    session.begin(Step("start", 1, "items.get", {"id": 1}))
    session.begin(Step("start", 2, "items.partial_update", {"id": 2, "body": {"rank": 6}}, "whole"))
    session.step_held(2, deliver=True)
    session.step_held(1, deliver=True)
    assert session.is_fresh("items.get", {"id": 1})


def test_overlapping_reads_leave_their_results_fresh(session: Session) -> None:
    """Two reads at the same time say nothing against each other."""
    session.begin(Step("start", 1, "items.get_list", {}))
    session.begin(Step("start", 2, "items.get", {"id": 1}))
    for number in (2, 1):
        session.step_held(number, deliver=True)
    assert session.requests("items.get_list") == []
    assert session.requests("items.get", id=1) == []


# changes under way


def test_read_gives_the_state_before_a_change_that_is_under_way(session: Session) -> None:
    """Until a change is answered it is not made: what was fresh stays so."""
    session.call("items.get", id=1)
    session.begin(Step("start", 1, "items.partial_update", {"id": 1, "body": {"title": "new"}}, "whole"))
    assert session.requests("items.get", id=1) == []
    assert session.call("items.get", id=1).title == "t1"
    session.step_held(1, deliver=True)
    assert session.call("items.get", id=1).title == "new"


def test_call_that_overlapped_a_change_returns_its_own_response(session: Session) -> None:
    """A call does not ask again because something overlapped; it gives what it has, and that is stale."""
    reading = session.begin(Step("start", 1, "items.get", {"id": 1}))
    session.step_held(1, deliver=False)
    session.call("items.partial_update", "204", id=1, body={"title": "new"})
    before = len(session.network.exchanges)
    session.step_held(1, deliver=True)
    assert reading.task.result().title in ("t1", "new")  # where later requests win, it may show the change already
    assert session.asked(before) == []
    assert not session.is_fresh("items.get", {"id": 1})
    assert session.call("items.get", id=1).title == "new"


# partitions


@pytest.mark.parametrize("outcome", ["whole", "part", "204", "lost"])
def test_change_through_a_partition_makes_stale_what_it_touches(session: Session, outcome: str) -> None:
    """The other stores of a client take a change as one that brought nothing."""
    session.call("items.get", id=1)
    session.call("items.get_list", kind="b")
    session.begin(Step("do", 0, "items.partial_update", {"id": 1, "body": {"kind": "a"}}, outcome, "view"))
    assert not session.is_fresh("items.get", {"id": 1})
    assert not session.is_fresh("items.get_list", {"kind": "b"})
    assert session.call("items.get", id=1).kind == "a"


def test_change_through_the_client_makes_its_partitions_stale(session: Session) -> None:
    """It holds the other way round."""
    session.call("items.get", "", "view", id=1)
    session.call("items.partial_update", "whole", id=1, body={"kind": "a"})
    assert not session.is_fresh("items.get", {"id": 1}, "view")


ORDERS = """
entities:
  Line: {fields: {id: integer, order: integer, quantity: integer}}
  Order: {fields: {id: integer, lines: {collection: [Line], nest: {order: id}}}}
resources:
  orders: {path: "/orders/:id", schema: Order}
  lines: {path: "/lines/:id", schema: Line, search_params: {order: integer?}}
"""


def test_change_through_a_partition_makes_nested_records_and_their_lists_stale() -> None:
    """A response to a change of an order shows that one line was added, one changed, and one left out."""
    lines = {key: {"id": key, "order": 1, "quantity": 1} for key in (1, 2)}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PUT":
            del lines[2]
            lines[1]["quantity"] = 5
            lines[3] = {"id": 3, "order": 1, "quantity": 1}
        if target == "/orders/1":
            return {"id": 1, "lines": [*lines.values()]}
        return [*lines.values()] if "?" in target else lines.get(int(target.rpartition("/")[2]))

    with small(ORDERS, answer) as session:
        assert len(session.call("lines.get_list", order=1)) == 2
        session.call("orders.update", "", "view", id=1, body={})
        assert session.call("lines.get", id=1).quantity == 5
        with pytest.raises(restencil.NotFoundError):
            session.call("lines.get", id=2)
        shown = session.call("lines.get_list", order=1)
        assert {line.id: line.quantity for line in shown} == {1: 5, 3: 1}
        assert len(session.call("orders.get", id=1).lines) == 2


# 304


def test_304_makes_fresh_what_the_response_had_brought() -> None:
    """A 304 counts as the same response brought again."""
    with Session(World(has_etags=True)) as session:
        session.call("items.get_list")
        session.clock.advance("61s")
        session.call("items.get_list")
        assert session.network.exchanges[-1].response is not None
        assert session.network.exchanges[-1].response.status == 304
        assert session.requests("items.get_list") == []
        assert session.requests("items.get", id=1) == []


def test_304_after_overlapping_changes_shows_what_the_server_has() -> None:
    """What two overlapping changes left here is no witness: after a 304 the old values are written anew."""
    with Session(World(has_etags=True)) as session:
        session.call("items.get", id=1)
        for number, kind in ((1, "a"), (2, "b")):
            change = {"id": 1, "body": {"kind": kind}}
            session.begin(Step("start", number, "items.partial_update", change, "204"))
        for number in (2, 1):
            session.step_held(number, deliver=False)
        session.server.items[1]["kind"] = "b"  # as it was at first
        session.server.version += 1
        for number in (1, 2):
            session.step_held(number, deliver=True)
        assert session.call("items.get", id=1).kind == "b"
        assert session.requests("items.get", id=1) == []


# consequences


@pytest.mark.parametrize(
    ("event", "words", "never"),
    [
        ("change", ("change", "patch"), ("overlap",)),
        ("expire()", ("expire",), ("overlap", "patch")),
        ("time", ("stale for", "expired", "older"), ("overlap", "patch", "change")),
        ("overlap", ("overlap", "patch http"), ("expired",)),
    ],
)
def test_explain_names_the_event(session: Session, event: str, words: tuple[str, ...], never: tuple[str, ...]) -> None:
    """`explain` says which event made a read stale, and names none that did not happen."""
    session.call("items.get", id=1)
    if event == "change":
        session.call("items.partial_update", "204", id=1, body={"title": "new"})
    elif event == "expire()":
        session.call("items.get.expire", id=1)
    elif event == "time":
        session.clock.advance("61s")
    else:
        for number in (1, 2):
            change = {"id": 1, "body": {"rank": number}}
            session.begin(Step("start", number, "items.partial_update", change, "whole"))
        for number in (1, 2):
            session.step_held(number, deliver=True)
    said = " ".join(session.bound("items.get").explain(id=1).reasons).lower()
    assert any(word in said for word in words), said
    assert not any(word in said for word in never), said


def test_explain_says_that_stale_data_is_not_shown_only_where_it_is_stale(session: Session) -> None:
    """The option `invalid_if_stale` is named where it decides, and not beside fresh data."""
    session.call("items.get", id=1)
    bound = session.bound("items.get")
    assert "invalid_if_stale" not in str(bound.explain(id=1))
    session.clock.advance("61s")
    assert "invalid_if_stale: stale data is not shown" in str(bound.explain(id=1))


def test_pages_a_list_is_as_old_as_its_oldest_page(session: Session) -> None:
    """A list made of pages has the smallest expiry of its pages."""
    session.call("items.by_page")
    session.clock.advance("40s")
    session.call("items.by_page.get_page", page=2)
    assert session.is_fresh("items.by_page", {})
    session.clock.advance("30s")
    assert not session.is_fresh("items.by_page", {})


HOOKED = """
resources:
  cards:
    path: /cards/:id
    schema: {entity: Card, fields: {id: integer, title: string}}
    endpoints: {create: {update: "python:tests.freshness.hooks:one_more"}}
  stats: {endpoints: {get: {path: /stats, method: GET, schema: {count: integer}}}}
"""


@pytest.mark.parametrize("late", ["the read", "the change"])
def test_overlap_result_that_an_update_hook_writes_is_stale(late: str) -> None:
    """Whether the read was answered before or after the creation is not known, so the next read asks."""
    cards = [1]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            cards.append(len(cards) + 1)
            return {"id": cards[-1], "title": body["title"]}
        return {"count": len(cards)}

    read = Step("start", 1, "stats.get.fetch")
    change = Step("start", 1, "cards.create", {"body": {"title": "x"}}, "whole")
    with small(HOOKED, answer) as session:
        assert session.call("stats.get")["count"] == 1
        session.begin(read if late == "the read" else change)
        session.step_held(1, deliver=False)
        if late == "the read":
            session.call("cards.create", body={"title": "x"})
        else:
            session.call("stats.get.fetch")
        session.step_held(1, deliver=True)
        assert session.call("stats.get")["count"] == 2
        assert session.requests("stats.get") == []


@pytest.mark.parametrize("outcome", ["whole", "204", "500", "misfit"])
def test_change_that_completes_after_a_reset_makes_stale_what_was_read_since(outcome: str) -> None:
    """Its response is dropped, but the reads may have been answered before the server carried it out."""
    spec = "resources: {items: {path: /items/:id, schema: {entity: Item, fields: {id: integer, title: string}}}}"
    titles = ["old"]

    def answer(method: str, target: str, body: Any) -> Any:
        item = {"id": 1, "title": titles[0]}
        if method == "PATCH":
            titles[0] = "new"
            answers = {"204": NOTHING, "500": Response(500, {}), "misfit": [1]}
            return answers.get(outcome, {"id": 1, "title": "new"})
        return item if target == "/items/1" else [item]

    with small(spec, answer) as session:
        session.begin(Step("start", 1, "items.partial_update", {"id": 1, "body": {"title": "new"}}, "whole", ""))
        session.clients[""].reset_entire_store()
        assert session.call("items.get_list")[0].title == session.call("items.get", id=1).title == "old"
        session.step_held(1, deliver=True)
        assert session.call("items.get_list")[0].title == session.call("items.get", id=1).title == "new"


def test_record_that_is_created_again_after_the_client_deleted_it_is_shown_by_a_view() -> None:
    """The requests of a view and of its client are numbered apart: the deletion is no later than the view's request."""
    labels = {"red": 1}

    def answer(method: str, target: str, body: Any) -> Any:
        name = target.rpartition("/")[2]
        if method == "DELETE":
            del labels[name]
        elif method == "POST":
            labels[body["name"]] = 1
        else:
            return [{"name": one} for one in labels] if name == "labels" else {"name": name}
        return NOTHING

    with small(
        "resources: {labels: {path: /labels/:name, schema: {entity: Label, pk: name, fields: {name: string}}}}", answer
    ) as session:
        for _ in range(6):
            session.call("labels.get.fetch", name="red")
        session.call("labels.get_list", "", "view")
        session.call("labels.delete", name="red")
        session.call("labels.create", body={"name": "red"})
        assert [one.name for one in session.call("labels.get_list", "", "view")] == ["red"]
