"""Lists that are read by POST, with positions in their bodies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from tests.freshness.driver import Session
from tests.freshness.programs import Step, World
from tests.freshness.server import NOTHING, Response
from tests.freshness.small import small

SPEC = """
entities: {Flow: {fields: {id: integer, name: string}}}
resources:
  flows:
    path: /flows/:id
    schema: Flow
    members: [get, partial_update, delete]
    endpoints:
      search:
        method: POST
        path: /flows/filter
        side_effect: false
        request: {in_key: true, optional: true}
        body: {name: string?, limit: integer?, offset: integer?, last: integer?}
        schema: {collection: [Flow]}
        pagination_field: offset
        pagination: {style: offset, in: body}
        members: [get_page]
        options: {retries: 2}
      create: {method: POST, path: /flows, body: {name: string}, schema: Flow}
"""
SIZE = 2


class Flows:
    """A server with five flows, named `a` and `b` in turn; each list request is noted with its body."""

    def __init__(self) -> None:
        self.rows = {pk: {"id": pk, "name": "ab"[pk % 2]} for pk in range(1, 6)}
        self.bodies: list[Any] = []
        self.fails: list[int] = []

    def answer(self, method: str, target: str, body: Any) -> Any:
        if target == "/flows/filter":
            self.bodies.append(body)
            if self.fails:
                return Response(self.fails.pop(0), {"error": "no"})
            given = cast("dict[str, Any]", body or {})
            rows = [row for row in self.rows.values() if given.get("name") in (None, row["name"])]
            start = given.get("offset") or 0
            return rows[start : start + (given.get("limit") or SIZE)]
        if target == "/flows":
            pk = max(self.rows) + 1
            self.rows[pk] = {"id": pk, **body}
            return self.rows[pk]
        pk = int(target.rpartition("/")[2])
        if method == "DELETE":
            del self.rows[pk]
            return NOTHING
        self.rows[pk].update(body or {})
        return self.rows.get(pk)


@pytest.fixture
def server() -> Flows:
    """The server."""
    return Flows()


@pytest.fixture
def session(server: Flows, asynchronous: bool) -> Iterator[Session]:
    """A client of either kind."""
    with small(SPEC, server.answer, World(asynchronous=asynchronous)) as session:
        yield session


def ids(found: Any) -> list[int]:
    return [flow.id for flow in found]


def test_iterate_sends_positions_in_the_body(server: Flows, session: Session) -> None:
    """Filters are sent with each page, and a run without a body begins without one."""
    assert ids(session.call("flows.search.iterate", body={"name": "b"})) == [1, 3, 5]
    assert server.bodies == [{"name": "b"}, {"name": "b", "offset": 2}, {"name": "b", "offset": 3}]
    server.bodies.clear()
    assert ids(session.call("flows.search.iterate")) == [1, 2, 3, 4, 5]
    assert server.bodies[1:] == [{"offset": 2}, {"offset": 4}, {"offset": 5}]


def test_a_position_is_no_part_of_the_list(session: Session) -> None:
    """A page is added to the list with the same filters, and to no other."""
    session.call("flows.search", body={"name": "b"})
    session.call("flows.search", body={"name": "a"})
    assert ids(session.call("flows.search.get_page", body={"name": "b", "offset": 2})) == [5]
    cached = session.bound("flows.search").cached
    assert ids(cached(body={"name": "b"})) == [1, 3, 5]
    assert ids(cached(body={"name": "a"})) == [2, 4]


def test_a_call_with_a_position_is_the_page(server: Flows, session: Session) -> None:
    """The list itself gives the page that its body names, and does not take it for the list."""
    assert ids(session.call("flows.search", body={"offset": 2})) == [3, 4]
    assert session.bound("flows.search").cached() is None
    assert ids(session.call("flows.search")) == [1, 2]
    assert len(server.bodies) == 2


def test_the_first_position_is_the_list(server: Flows, session: Session) -> None:
    """Position 0, no position, and an empty body are one list, requested once."""
    assert ids(session.call("flows.search", body={"offset": 0, "name": "b"})) == [1, 3]
    assert ids(session.call("flows.search", body={"name": "b"})) == [1, 3]
    assert ids(session.call("flows.search", body={})) == ids(session.call("flows.search")) == [1, 2]
    assert server.bodies == [{"offset": 0, "name": "b"}, {}]


def test_another_size_is_another_list(session: Session) -> None:
    """A list of three items does not answer a call for one."""
    assert ids(session.call("flows.search", body={"limit": 3})) == [1, 2, 3]
    assert ids(session.call("flows.search", body={"limit": 1})) == [1]
    assert ids(session.call("flows.search", body={"limit": 3})) == [1, 2, 3]


def test_pages_under_way_are_not_taken_for_each_other(server: Flows, session: Session) -> None:
    """Two pages have one URL, and are two requests."""
    first = session.begin(Step("start", 1, "flows.search.get_page", {"body": {"offset": 2}}))
    second = session.begin(Step("start", 2, "flows.search.get_page", {"body": {"offset": 4}}))
    same = session.begin(Step("start", 3, "flows.search.get_page", {"body": {"offset": 4}}))
    for number in (2, 1, 3):
        for _ in range(3):
            session.step_held(number, deliver=True)
    assert (ids(first.task.result()), ids(second.task.result()), ids(same.task.result())) == ([3, 4], [5], [5])
    assert sorted(body["offset"] for body in server.bodies) == [2, 4]


def test_what_is_created_makes_the_list_ask(server: Flows, session: Session) -> None:
    """The filters are the server's, so a created record joins no list, and the next read requests each."""
    session.call("flows.search", body={"limit": 10})
    session.call("flows.search", body={"name": "b", "limit": 10})
    created = session.call("flows.create", body={"name": "b"})
    server.bodies.clear()
    assert ids(session.call("flows.search", body={"limit": 10})) == [1, 2, 3, 4, 5, created.id]
    assert ids(session.call("flows.search", body={"name": "b", "limit": 10})) == [1, 3, 5, created.id]
    assert len(server.bodies) == 2
    assert ids(session.call("flows.search.iterate")) == [1, 2, 3, 4, 5, created.id]
    another = session.call("flows.create", body={"name": "a"})
    assert ids(session.call("flows.search")) == [1, 2]
    assert ids(session.call("flows.search.iterate"))[-2:] == [created.id, another.id]


@pytest.mark.parametrize(
    "change",
    [
        lambda session: session.call("flows.partial_update", id=3, body={"name": "a"}),
        lambda session: session.call("flows.delete", id=3),
    ],
    ids=["changed", "deleted"],
)
def test_what_is_changed_makes_the_list_ask(server: Flows, session: Session, change: Callable[[Session], Any]) -> None:
    """After each change a read gives what the server has."""
    body = {"name": "b", "limit": 10}
    assert ids(session.call("flows.search", body=body)) == [1, 3, 5]
    change(session)
    assert ids(session.call("flows.search", body=body)) == [1, 5]
    assert ids(session.call("flows.search.iterate", body={"name": "b"})) == [1, 5]
    assert server.bodies[0] == body


def test_a_list_by_post_is_retried(server: Flows, session: Session) -> None:
    """It changes nothing, so a page that fails is requested again."""
    session.call("flows.search")
    server.fails = [503, 503]
    page = session.begin(Step("do", 0, "flows.search.get_page", {"body": {"offset": 2}}))
    session.clock.advance(120_000)
    assert ids(page.task.result()) == [3, 4]
    assert len(server.bodies) == 4


def test_pages_are_kept_in_a_storage() -> None:
    """Another store shows a list and its pages without a request, and requests it after a change elsewhere."""
    server, body = Flows(), {"name": "b"}
    with small(SPEC, server.answer, World(sqlite=True)) as session:
        session.call("flows.search", body=body)
        session.call_and_sync("flows.search.get_page", body={**body, "offset": 2})
        server.bodies.clear()
        assert ids(session.call("flows.search", "whole", "other", body=body)) == [1, 3, 5]
        assert server.bodies == []
        session.call_and_sync("flows.create", body={"name": "b"})
        assert ids(session.call("flows.search", "whole", "other", body={**body, "limit": 9})) == [1, 3, 5, 6]
        assert ids(session.call("flows.search.iterate", "whole", "other", body=body)) == [1, 3, 5, 6]
