"""Recorded errors, results below a changed path, and look-ups by a name, as they were found on Prefect."""

from __future__ import annotations

import asyncio
import itertools
import textwrap
from typing import Any

import pytest
from tests.freshness.driver import Session
from tests.freshness.server import NOTHING, Response
from tests.freshness.small import client_before, package_of, small
from tests.freshness.spec import client_class
from tests.libraries import httpx
from tests.patience import PATIENCE

import restencil

SPEC = """
resources:
  runs:
    path: /runs/:id
    schema: {entity: Run, fields: {id: integer, name: string}}
    endpoints:
      put_input: {method: POST, path: /runs/:id/input, body: any, schema: any}
      get_input: {path: "/runs/:id/input/:key", params: {key: string}, schema: any}
  names: {path: /runs/name/:name, schema: Run, members: [get]}
"""


class Runs:
    """A server with one run."""

    def __init__(self) -> None:
        self.run: dict[str, Any] = {"id": 1, "name": "a"}
        self.input: dict[str, Any] = {}

    def __call__(self, method: str, target: str, body: Any) -> Any:
        path = target.partition("?")[0].removeprefix("http://server.test")
        if method == "PATCH":
            self.run |= body
            return NOTHING
        if method == "POST":
            self.input |= body
            return NOTHING
        if "/input/" in path:
            return self.input.get(path.rpartition("/")[2])
        is_named = "/name/" in path
        return dict(self.run) if not is_named or path.endswith(f"/{self.run['name']}") else None


def is_missing(session: Session, name: str, /, **arguments: Any) -> bool:
    """Whether a read is answered by 404."""
    try:
        session.call(name, **arguments)
    except Exception as error:  # every operation raises its own NetworkError
        return getattr(error, "status", None) == 404
    return False


def test_lookup_by_a_field_asks_after_its_value_has_changed() -> None:
    """A path parameter that is called like a field is that field, whether the spec says so or not."""
    with small(SPEC, Runs()) as session:
        session.call("names.get", name="a")
        session.call("runs.partial_update", id=1, body={"name": "b"})
        session.call("runs.get", id=1)
        assert is_missing(session, "names.get", name="a")


def test_recorded_404_ends_with_a_change_of_the_entity() -> None:
    """What was not there may be there by now."""
    with small(SPEC, Runs()) as session:
        assert is_missing(session, "names.get", name="b")
        session.call("runs.partial_update", id=1, body={"name": "b"})
        assert session.call("names.get", name="b").name == "b"


@pytest.mark.parametrize(("change", "arguments"), [("create", {}), ("update", {"id": 1})])
@pytest.mark.parametrize("read", ["log", "tags", "stats", "owner"])
def test_recorded_404_below_a_record_ends_with_a_change_of_its_resource(
    read: str, change: str, arguments: dict[str, Any]
) -> None:
    """A job that was created by now has a log, whatever the log contains."""
    spec = """
entities: {User: {fields: {id: integer}}}
resources:
  jobs:
    path: /jobs/:id
    schema: {entity: Job, fields: {id: integer}}
    body: any
    endpoints:
      log: {path: /jobs/:id/log, method: GET, schema: string}
      tags: {path: /jobs/:id/tags, method: GET, schema: [string]}
      stats: {path: /jobs/:id/stats, method: GET, schema: {count: integer}}
      owner: {path: /jobs/:id/owner, method: GET, schema: User}
"""
    found: dict[str, Any] = {}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return found.get(target.rpartition("/")[2])
        found.update(log="started", tags=["new"], stats={"count": 1}, owner={"id": 7})
        return {"id": 1}

    with small(spec, answer) as session:
        assert is_missing(session, f"jobs.{read}", id=1)
        session.call(f"jobs.{change}", **arguments, body={})
        assert session.call(f"jobs.{read}", id=1) is not None


@pytest.mark.parametrize(
    ("change", "arguments", "outcome"),
    [
        ("create", {"body": {"id": 1}}, {"id": 1, "name": "p"}),
        ("create", {"body": {"id": 1}}, {"id": 1}),
        ("update", {"id": 1, "body": {"name": "p"}}, {"id": 1, "name": "p"}),
    ],
)
def test_results_below_a_record_are_stale_after_its_creation(
    change: str, arguments: dict[str, Any], outcome: Any
) -> None:
    """Lists of another resource below its path too: a recorded 404, and an empty list."""
    spec = """
resources:
  posts: {path: /posts/:id, schema: {entity: Post, fields: {id: integer, name: string}}, body: any}
  comments: {path: /posts/:post/comments/:id, schema: {entity: Comment, fields: {id: integer}}}
  likes: {path: /posts/:post/likes/:id, schema: {entity: Like, fields: {id: integer}}}
"""
    created: list[str] = []

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return [{"id": 1}] if created else [] if target.endswith("likes") else None
        created.append(target)
        return outcome

    with small(spec, answer) as session:
        assert is_missing(session, "comments.get_list", post=1)
        assert session.call("likes.get_list", post=1) == []
        session.call(f"posts.{change}", **arguments)
        assert [comment.id for comment in session.call("comments.get_list", post=1)] == [1]
        assert [like.id for like in session.call("likes.get_list", post=1)] == [1]


def test_results_below_a_record_are_stale_whose_key_only_its_path_has() -> None:
    """`param` names the parameter that fills a field, also where the path of the record is made of its fields."""
    spec = """
entities:
  Board:
    pk: [team, id]
    fields: {team: {type: integer, param: team}, id: {type: integer, param: board}, name: string}
resources:
  boards: {path: /teams/:team/boards/:board, schema: Board}
  cards: {path: /teams/:team/boards/:board/cards/:id, schema: {entity: Card, fields: {id: integer}}}
"""
    boards: list[str] = []

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return [] if boards else None
        boards.append(target)
        return {"name": "new"}

    with small(spec, answer) as session:
        assert is_missing(session, "cards.get_list", team=1, board=2)
        session.call("boards.update", team=1, board=2, body={"name": "new"})
        assert session.call("cards.get_list", team=1, board=2) == []


def test_results_below_a_known_record_are_stale_after_its_creation() -> None:
    """It was deleted with its parent, which the client does not know; the status 201 of PUT says that it is new."""
    spec = """
resources:
  posts: {path: /posts/:id, schema: {entity: Post, fields: {id: integer}}, body: any}
  comments: {path: /posts/:post/comments/:id, schema: {entity: Comment, fields: {id: integer}}}
"""
    there = [True]

    def answer(method: str, target: str, body: Any) -> Any:
        there.append(method == "PUT" or there[-1])
        if target == "/posts/1":
            return Response(201 if method == "PUT" else 200, {"id": 1})
        return [{"id": 2}] if there[-1] else None

    with small(spec, answer) as session:
        session.call("posts.get", id=1)
        there.append(False)
        assert is_missing(session, "comments.get_list", post=1)
        session.call("posts.update", id=1, body={})
        assert [comment.id for comment in session.call("comments.get_list", post=1)] == [2]


@pytest.mark.parametrize("change", ["posts.create", "posts.ensure", "users.start", "drafts.create"])
@pytest.mark.parametrize("read", ["posts.count", "comments.get_list"])
def test_results_below_a_known_record_are_stale_after_a_change_that_does_not_name_it(read: str, change: str) -> None:
    """`POST /posts` may create a record, or change the one that it responds with, also through another resource."""
    spec = """
entities: {Post: {fields: {id: integer, name: string}}}
resources:
  posts:
    path: /posts/:id
    schema: Post
    endpoints:
      count: {path: "/posts/:id/count", schema: integer}
      ensure: {method: POST, path: /posts/ensure, body: {name: string}, schema: Post}
  users:
    path: /users/:id
    schema: {entity: User, fields: {id: integer}}
    endpoints: {start: {method: POST, path: /start, body: {name: string}, schema: Post}}
  drafts: {path: /drafts/:id, schema: Post}
  comments: {path: /posts/:post/comments/:id, schema: {entity: Comment, fields: {id: integer}}}
"""
    comments: list[dict[str, int]] = []

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            comments.append({"id": 1})
        if target.endswith("count"):
            return len(comments)
        return comments if target.endswith("comments") else {"id": 1, "name": "p"}

    with small(spec, answer) as session:
        session.call("posts.get", id=1)
        arguments = {"id": 1} if read == "posts.count" else {"post": 1}
        assert session.call(read, **arguments) in (0, [])
        session.call(change, body={"name": "p"})
        found = session.call(read, **arguments)
        assert found == 1 if read == "posts.count" else [comment.id for comment in found] == [1]


@pytest.mark.parametrize(("key", "place"), [("flow", ""), ("id", "name/")], ids=["one path", "a lookup by name"])
@pytest.mark.parametrize("outcome", [{"id": "7", "name": "new"}, {"id": "7"}, NOTHING], ids=["whole", "key", "204"])
@pytest.mark.parametrize("change", ["create", "partial_update"])
def test_results_below_another_name_of_a_record_are_stale_after_it_gets_it(
    change: str, outcome: Any, key: str, place: str
) -> None:
    """Only the server knows that the new record, or the renamed one, is what `/flows/new` names."""
    spec = f"""
entities: {{Flow: {{fields: {{id: string, name: string}}}}}}
resources:
  flows:
    path: /flows/:{key}
    schema: Flow
    endpoints: {{by_name: {{path: /flows/name/:name, schema: Flow, params: {{name: {{field: name}}}}}}}}
  runs: {{path: "/flows/{place}:flow/runs/:id", schema: {{entity: Run, fields: {{id: integer}}}}}}
"""
    runs: list[dict[str, int]] = []

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return [*runs] if target.endswith("runs") else {"id": "7", "name": "old"}
        runs.append({"id": 1})
        return outcome

    with small(spec, answer) as session:
        addressed = {key: "7"} if change == "partial_update" else {}
        if addressed:
            session.call("flows.get", **addressed)
        assert session.call("runs.get_list", flow="new") == []
        session.call(f"flows.{change}", **addressed, body={"name": "new"})
        assert [run.id for run in session.call("runs.get_list", flow="new")] == [1]


def test_creation_of_many_records_leaves_other_data_fresh() -> None:
    """Results below the new records are stale, by fewer marks than there are records."""
    spec = """
resources:
  posts:
    path: /posts/:id
    schema: {entity: Post, fields: {id: integer}}
    endpoints: {import_all: {method: POST, path: /import, body: null, schema: [Post]}}
  comments: {path: /posts/:post/comments/:id, schema: {entity: Comment, fields: {id: integer}}}
  users: {path: /users/:id, schema: {entity: User, fields: {id: integer}}}
"""

    def answer(method: str, target: str, body: Any) -> Any:
        return [] if method == "GET" else [{"id": pk} for pk in range(2_000)]

    with small(spec, answer) as session:
        session.call("comments.get_list", post=1)
        session.call("users.get_list")
        session.call("posts.import_all")
        assert session.requests("comments.get_list", post=1) == ["GET /posts/1/comments"]
        assert session.requests("users.get_list") == []


@pytest.mark.parametrize("status", [304, 412])
def test_response_to_the_condition_of_a_call_is_not_recorded_for_other_calls(status: int) -> None:
    """It says nothing of what a call without the condition returns."""
    spec = """
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, title: string}}
    endpoints: {get: {header_params: {if_match: {type: string, optional: true, in_key: false}}}}
"""

    def answer(request: httpx.Request) -> httpx.Response:
        if "if-match" in request.headers:
            return httpx.Response(status)
        return httpx.Response(200, json={"id": 1, "title": "t"})

    with client_before(package_of(spec), answer) as client:
        with pytest.raises(restencil.NetworkError):
            client.notes.get(id=1, if_match='"1"')
        assert client.notes.get.state(id=1).error is None
        assert client.notes.get(id=1).title == "t"


@pytest.mark.parametrize("before", [{}, {"x": 1}])
def test_change_whose_answer_brings_nothing_makes_stale_what_lies_below(before: dict[str, Any]) -> None:
    """Of `POST /runs/1/input` nothing tells which results below that path it changed."""
    server = Runs()
    server.input |= before
    with small(SPEC, server) as session:
        assert is_missing(session, "runs.get_input", id=1, key="x") == (not before)
        session.call("runs.put_input", id=1, body={"x": 2})
        assert session.call("runs.get_input", id=1, key="x") == 2


@pytest.mark.parametrize("parameter", ["id", "name"])
def test_record_that_is_gone_is_requested_once_though_its_404_makes_lists_stale(parameter: str) -> None:
    """A 404 makes lists of the entity stale, and results that the server chooses, and is fresh by its own event."""
    found = [{"id": 1, "related": []}]
    spec = f"""
    resources:
      items: {{path: "/items/:{parameter}", schema: {{entity: Item, fields: {{id: integer, related: [Item]}}}}}}
    """
    with small(textwrap.dedent(spec), lambda method, target, body: found[0] if found else None) as session:
        seen: list[Any] = []
        session.watch("items.get", {parameter: 1}, seen)
        found.clear()
        session.call("items.get.expire", **{parameter: 1})
        session.advance(100)
        assert session.asked(0) == ["GET /items/1"] * 2
        for _ in range(2):
            with pytest.raises(restencil.NotFoundError):
                session.call("items.get", **{parameter: 1})
        assert session.asked(0) == ["GET /items/1"] * 2


async def test_live_read_raises_an_error_that_expires_at_once() -> None:
    """With `error_expiry_length: 0s` it is stale when the read looks at it, and no reason to show old data."""
    spec = "options: {error_expiry_length: 0s}\n" + SPEC
    responses = iter([httpx.Response(200, json={"id": 1, "name": "a"}), httpx.Response(404)])
    times = itertools.count(1_000_000)  # time passes between all events
    store = restencil.Store(clock=lambda: next(times) / 100)
    transport = httpx.MockTransport(lambda request: next(responses))
    kind = client_class(package_of(spec), asynchronous=True)
    async with kind(store=store, client=httpx.AsyncClient(transport=transport)) as client:
        async with client.runs.get.live(id=1) as live:
            assert (await anext(live)).name == "a"
            client.runs.get.expire(id=1)
            with pytest.raises(restencil.NotFoundError):
                await asyncio.wait_for(anext(live), PATIENCE)
