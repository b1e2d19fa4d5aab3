"""What a change makes stale, and what it leaves fresh."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from tests.freshness.driver import Session
from tests.freshness.programs import Step, World, parse
from tests.freshness.server import NOTHING, Response
from tests.freshness.small import client_before, package_of, small
from tests.libraries import httpx

import restencil

JSON: Final = {"content-type": "application/json"}


def attempt(session: Session, name: str, outcome: str = "whole", **arguments: Any) -> BaseException | None:
    """Makes a change; its error, which the test may expect."""
    return session.begin(Step("do", 0, name, arguments, outcome)).task.error


def answered_by(session: Session, response: Response, name: str, **arguments: Any) -> BaseException | None:
    """Makes a change that the server answers by this alone; its error."""
    answer, session.server.answer = session.server.answer, lambda *_: response
    error = attempt(session, name, **arguments)
    session.server.answer = answer
    return error


Read = tuple[str, dict[str, Any]]


def reads_of(*texts: str) -> list[Read]:
    """The names and arguments of reads that are written as in a program."""
    return [(step.name, step.arguments) for step in parse("\n".join(texts)).steps]


def call_all(session: Session, reads: list[Read]) -> None:
    """Calls all of these reads."""
    for read, arguments in reads:
        session.call(read, **arguments)


def check_all_ask_once(session: Session, reads: list[Read]) -> None:
    """Each read is stale, gives what the server has, and is fresh then."""
    for read, arguments in reads:
        assert not session.is_fresh(read, arguments), (read, arguments)
        assert session.wrong(read, arguments, session.call(read, **arguments)) is None
        assert session.requests(read, **arguments) == []


def fresh(session: Session, name: str, **arguments: Any) -> bool:
    """Whether this read would send no request."""
    return session.is_fresh(name, arguments)


# 3.1 same address


@pytest.mark.parametrize(
    ("change", "arguments", "is_stale"),
    [
        ("items.partial_update", {"id": 1, "body": {"title": "new"}}, (True, True, False)),
        ("items.create", {"body": {"title": "new"}}, (True, False, False)),
        ("items.change_many", {"body": {"kind": "a", "change": {"rank": 5}}}, (True, True, True)),
        ("users.partial_update", {"id": 1, "body": {"name": "cy"}}, (False, False, False)),
        ("teams.adopt", {"id": 1, "body": {"kind": "a"}}, (True, True, False)),  # 1 may be the key of an item
    ],
)
def test_result_without_entities_is_stale_after_a_change_of_its_resource(
    session: Session, change: str, arguments: dict[str, Any], is_stale: tuple[bool, bool, bool]
) -> None:
    """It stays fresh only if it is below the path of one record, and the change is of another.

    Another resource (`POST /teams/1/adopt`) may change its entity too.
    """
    reads = reads_of("items.titles()", "items.visits(id=1)", "items.visits(id=2)")
    call_all(session, reads)
    session.call(change, "whole", **arguments)
    assert tuple(not session.is_fresh(*read) for read in reads) == is_stale


@pytest.mark.parametrize("through", ["", "other"])
@pytest.mark.parametrize(
    ("change", "arguments"), [("create", {"body": {}}), ("delete", {"id": 1}), ("drain", {"id": 1})]
)
def test_result_without_entities_is_stale_after_a_change_below_its_path(
    change: str, arguments: dict[str, Any], through: str
) -> None:
    """Also if it is of another resource; one at the path of another cluster is left fresh."""

    def answer(method: str, target: str, body: Any) -> Any:
        return {"count": 1, "id": 1} if method == "GET" else NOTHING if body is None else {"id": 2, **body}

    with small(CLUSTERS, answer, World(sqlite=True)) as session:
        for name in "ab":
            session.call("clusters.get", name=name)
        session.call_and_sync(f"nodes.{change}", cluster="a", **arguments)
        since = len(session.asked(0))
        for name in "ab":
            session.call("clusters.get", "whole", through, name=name)
        assert session.asked(since) == ["GET /clusters/a"]


CLUSTERS = """
resources:
  clusters: {endpoints: {get: {path: "/clusters/:name", method: GET, schema: {count: integer}}}}
  nodes:
    path: /clusters/:cluster/nodes/:id
    schema: {entity: Node, fields: {id: integer}}
    endpoints: {drain: {path: "/clusters/:cluster/nodes/:id/drain", method: POST, body: null, schema: null}}
"""


SUMMARIES = """
entities:
  Note: {fields: {id: integer, title: string, text: string}}
  Summary: {fields: {id: integer, title: string}}
resources:
  notes:
    path: /notes/:id
    schema: Note
    endpoints: {get_list: {schema: [Summary]}, parts: {path: "/notes/:id/parts", schema: [Summary]}}
"""


@pytest.mark.parametrize("through", ["", "other"])
@pytest.mark.parametrize("change", ["partial_update", "delete"])
def test_result_with_other_entities_is_stale_after_a_change_of_its_resource(change: str, through: str) -> None:
    """A list of summaries that have a table of their own; one below the path of another record is left fresh."""
    summary = {"id": 1, "title": "a"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return [summary]
        return NOTHING if body is None else {**summary, "text": "b"}

    reads = reads_of("notes.get_list()", "notes.parts(id=1)", "notes.parts(id=2)")
    with small(SUMMARIES, answer, World(sqlite=True)) as session:
        call_all(session, reads)
        session.call_and_sync(f"notes.{change}", id=1, **({} if change == "delete" else {"body": {"title": "c"}}))
        since = len(session.asked(0))
        for read, given in reads:
            session.call(read, "whole", through, **given)
        assert session.asked(since) == ["GET /notes", "GET /notes/1/parts"]


ENVELOPES = """
entities: {Note: {fields: {id: integer, title: string}}}
resources:
  notes:
    path: /notes/:id
    schema: Note
    endpoints:
      get: {schema: {data: Note, readers: [string]}}
      partial_update: {body: any, schema: {data: Note, readers: [string]}}
      create: {method: POST, path: /notes, body: any, schema: Note}
"""


@pytest.mark.parametrize("through", ["", "other"])
@pytest.mark.parametrize(("change", "arguments"), [("partial_update", {"id": 1}), ("create", {})])
def test_value_beside_a_record_is_stale_after_each_change_of_its_resource(
    change: str, arguments: dict[str, int], through: str
) -> None:
    """A change that brings the record whole does not tell about it, and may be a `create` of what is there already."""
    readers = ["ann"]

    def answer(method: str, target: str, body: Any) -> Any:
        readers.extend(() if body is None else ["ben"])
        note = {"id": 1, "title": "a"}
        return note if target == "/notes" else {"data": note, "readers": [*readers]}

    with small(ENVELOPES, answer, World(sqlite=True)) as session:
        session.call("notes.get", id=1)
        session.call_and_sync(f"notes.{change}", **arguments, body={})
        assert session.call("notes.get", "whole", through, id=1)["readers"] == ["ann", "ben"]
        since = len(session.asked(0))
        session.call("notes.get", "whole", through, id=1)
        assert session.asked(since) == []


def test_change_below_a_record_makes_the_record_stale(session: Session) -> None:
    """`DELETE /items/1/visits` makes item 1 stale: its path is a prefix of that of the change."""
    session.call("items.get", id=1)
    session.call("items.get", id=2)
    session.call("items.clear_visits", "204", id=1)
    assert not fresh(session, "items.get", id=1)
    assert fresh(session, "items.get", id=2)


ELSEWHERE = """
entities: {Example: {fields: {id: integer, comment_count: integer}}}
resources:
  docs: {path: "/docs/:id", schema: Example}
  examples: {path: "/examples/:id", schema: Example}
  comments: {path: "/examples/:example_id/comments/:id", schema: {entity: Comment, fields: {id: integer}}}
  others: {path: "/others/:id", schema: {entity: Other, fields: {id: integer}}}
"""


def test_change_below_a_record_reaches_it_by_a_resource_that_nobody_has_used() -> None:
    """`DELETE /examples/1/comments/5` makes example 1 stale, which a list of `docs` brought; `others` stays unused."""
    example = {"id": 1, "comment_count": 1}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "DELETE":
            example["comment_count"] = 0
            return NOTHING
        return [dict(example)]

    with small(ELSEWHERE, answer) as session:
        session.call("docs.get_list")
        session.call("comments.delete", example_id=1, id=5)
        assert session.call("docs.get_list")[0].comment_count == 0
        assert f"{session.package.__name__}.others" not in sys.modules


def test_change_same_address_counts_across_resources_and_parameter_names() -> None:
    """What the parameters are called, and which resource declares the path, does not matter."""
    annotations = [{"id": 1, "task": 1}]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            annotations.append({"id": 2, "task": 1})
            return annotations[-1]
        return annotations

    spec = """
resources:
  annotations:
    path: /tasks/:task/annotations/:id
    schema: {entity: Annotation, fields: {id: integer, task: integer}}
  tasks:
    endpoints: {annotate: {method: POST, path: /tasks/:task_pk/annotations, body: {text: string}, schema: null}}
"""
    with small(spec, answer) as session:
        assert len(session.call("annotations.get_list", task=1)) == 1
        session.call("tasks.annotate", task_pk=1, body={"text": "x"})
        assert len(session.call("annotations.get_list", task=1)) == 2


def test_change_that_nests_a_new_record_makes_lists_of_its_entity_stale() -> None:
    """`POST /runs/1/set_state` brings a state that nobody knew: lists of states may have it."""
    states = [{"id": "1"}]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST" and body["name"] == "new":
            states.append({"id": str(len(states) + 1)})
        return {"id": "1", "state": states[-1]} if method == "POST" else states

    spec = """
resources:
  runs:
    path: /runs/:id
    schema: {entity: Run, fields: {id: string, state: State}}
    members: [get]
    endpoints: {set_state: {method: POST, path: /runs/:id/set_state, body: {name: string}, schema: Run}}
  states:
    path: /states/:id
    schema: {entity: State, fields: {id: string}}
    members: [get, get_list]
    search_params: {run: string}
"""
    with small(spec, answer) as session:
        assert len(session.call("states.get_list", run="1")) == 1
        session.call("runs.set_state", id="1", body={"name": "same"})
        assert fresh(session, "states.get_list", run="1")
        session.call("runs.set_state", id="1", body={"name": "new"})
        assert len(session.call("states.get_list", run="1")) == 2


# 3.2 what the response brings


def test_create_brought_whole_joins_lists_without_a_request(session: Session) -> None:
    """`create` joins `get_list()` and lists with exact filters; they stay as fresh as they were."""
    call_all(session, reads_of("items.get_list()", "items.get_list(kind='a')", "items.get_list(kind='b')"))
    new = session.call("items.create", "whole", body={"kind": "a", "title": "new"})
    before = len(session.network.exchanges)
    assert [item.id for item in session.call("items.get_list")] == [1, 2, 3, new.id]
    assert [item.id for item in session.call("items.get_list", kind="a")] == [2, new.id]
    assert [item.id for item in session.call("items.get_list", kind="b")] == [1, 3]
    assert session.call("items.get", id=new.id) is new
    assert session.asked(before) == []


def test_create_leaves_a_list_as_old_as_it_was(session: Session) -> None:
    """What joins a list does not make it younger."""
    session.call("items.get_list")
    session.clock.advance("40s")
    session.call("items.create", "whole", body={"kind": "a"})
    assert fresh(session, "items.get_list")
    session.clock.advance("30s")
    assert not fresh(session, "items.get_list")


def test_patch_brought_whole_moves_between_exact_lists(session: Session) -> None:
    """The record leaves lists that it no longer fits and joins those that it fits, without a request."""
    call_all(session, reads_of("items.get_list(kind='a')", "items.get_list(kind='b')", "items.get_list(rank=1)"))
    session.call("items.partial_update", "whole", id=1, body={"kind": "a", "rank": 0})
    before = len(session.network.exchanges)
    assert [item.id for item in session.call("items.get_list", kind="a")] == [2, 1]
    assert [item.id for item in session.call("items.get_list", kind="b")] == [3]
    assert [item.id for item in session.call("items.get_list", rank=1)] == [3]
    assert session.asked(before) == []


@pytest.mark.parametrize("change", ["items.partial_update", "items.update", "items.visit"])
def test_change_brought_whole_counts_as_a_response_of_get(session: Session, change: str) -> None:
    """After PATCH, PUT or an action that answers the record, `get` asks nothing and shows it."""
    body = {"title": "new", "kind": "a", "state": "s", "rank": 3, "body": "b"}
    session.call(change, "whole", id=1, body=body)
    before = len(session.network.exchanges)
    assert session.call("items.get", id=1).title == "new"
    assert session.asked(before) == []


@pytest.mark.parametrize("read", ["items.latest", "items.by_page", "items.by_link", "items.by_offset"])
@pytest.mark.parametrize("change", ["items.create", "items.partial_update"])
def test_change_brought_whole_makes_plain_and_paged_lists_stale(session: Session, change: str, read: str) -> None:
    """Lists that do not follow are stale: plain lists and pages."""
    session.call(read)
    arguments: dict[str, Any] = {} if change.endswith("create") else {"id": 1}
    session.call(change, "whole", **arguments, body={"title": "new"})
    assert not fresh(session, read)
    session.call(read)
    assert session.requests(read) == []


def test_create_stands_at_the_end_of_a_sorted_list_that_is_stale(session: Session) -> None:
    """A list with a sort argument takes the new entity at its end, and asks."""
    session.call("items.get_list", order="id")
    new = session.call("items.create", "whole", body={"title": "new"})
    assert [item.id for item in session.bound("items.get_list").cached(order="id")] == [1, 2, 3, new.id]
    assert not fresh(session, "items.get_list", order="id")


# 3.3 what it does not bring whole


@pytest.mark.parametrize("outcome", ["204", "part", "id"])
@pytest.mark.parametrize("change", ["items.partial_update", "items.update", "items.visit"])
def test_change_not_brought_whole_makes_record_and_lists_stale(session: Session, change: str, outcome: str) -> None:
    """The named record and the lists that it may have left or joined ask, and show what the server has."""
    reads = reads_of("items.get(id=1)", "items.get_list(kind='a')", "items.get_list(title='new')", "items.latest()")
    call_all(session, reads)
    body = {"title": "new", "kind": "a", "state": "s", "rank": 3, "body": "b"}
    assert attempt(session, change, outcome, id=1, body=body) is None
    check_all_ask_once(session, reads)


@pytest.mark.parametrize("outcome", ["204", "id", "lost", "500"])
def test_create_not_brought_whole_makes_every_list_of_its_entity_stale(session: Session, outcome: str) -> None:
    """A created entity that nobody saw may be in any list, that of a parent included."""
    reads = reads_of("items.get_list()", "items.get_list(kind='a')", "items.get_list(order='id')")
    reads += reads_of("items.latest()", "items.by_page()", "users.get(id=1)")
    call_all(session, reads)
    error = attempt(session, "items.create", outcome, body={"kind": "a", "owner": 1})
    assert (error is None) is (outcome in ("204", "id"))
    check_all_ask_once(session, reads)


@pytest.mark.parametrize("outcome", ["204", "ok", "lost", "500"])
@pytest.mark.parametrize("change", ["items.change_many", "items.delete_many"])
def test_change_that_names_no_record_makes_all_of_its_entity_stale(session: Session, change: str, outcome: str) -> None:
    """`POST /items/bulk_delete` touches every record and list of items, wherever they are known from."""
    reads = reads_of("items.get(id=3)", "items.get_list()", "items.get_list(kind='b')")
    reads += reads_of("items.latest()", "items.visits(id=3)", "users.get(id=2)")
    call_all(session, reads)
    session.call("teams.get", id=1)
    body = {"ids": [1]} if change.endswith("delete_many") else {"kind": "b", "change": {"body": "K"}}
    attempt(session, change, outcome, body=body)
    check_all_ask_once(session, reads)
    assert session.requests("teams.get", id=1) == []


MOVING = """
resources:
  cards:
    path: /cards/:id
    schema: {entity: Card, fields: {id: integer, column: integer}}
    search_params: {column: integer?}
    members: [get, get_list, push, move, remove]
"""


@pytest.mark.parametrize("member", ["move", "remove"])
def test_move_and_remove_make_the_record_and_all_lists_stale(member: str) -> None:
    """`move` and `remove` without a body make the record and all lists of its entity stale."""
    cards = {1: {"id": 1, "column": 1}, 2: {"id": 2, "column": 2}}

    def answer(method: str, target: str, body: Any) -> Any:
        if method != "GET":
            cards[1]["column"] = 3
            return NOTHING
        if target.startswith("/cards/"):
            return cards[int(target.removeprefix("/cards/"))]
        column = target.partition("column=")[2]
        return [card for card in cards.values() if not column or str(card["column"]) == column]

    with small(MOVING, answer) as session:
        session.call("cards.get", id=1)
        session.call("cards.get_list")
        session.call("cards.get_list", column=1)
        session.call("cards.get_list", column=3)
        session.call(f"cards.get_list.{member}", id=1, body={"column": 3})
        assert session.call("cards.get", id=1).column == 3
        assert [card.id for card in session.call("cards.get_list", column=1)] == []
        assert [card.id for card in session.call("cards.get_list", column=3)] == [1]
        assert [card.id for card in session.call("cards.get_list")] == [1, 2]


@pytest.mark.parametrize("content", [NOTHING, {}, {"ok": True}, {"id": 3}], ids=repr)
@pytest.mark.parametrize("schema", ["null", "any", "Card"])
def test_change_answered_by_201_makes_every_list_of_its_entity_stale(schema: str, content: Any) -> None:
    """`POST /cards/1/copy` with a 201 has created a card, whatever its response contains."""
    spec = f"""
resources:
  cards:
    path: /cards/:id
    schema: {{entity: Card, fields: {{id: integer, title: string}}}}
    endpoints: {{copy: {{path: /cards/:id/copy, method: POST, body: null, schema: {schema}}}}}
"""
    cards = {1: {"id": 1, "title": "a"}}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            cards[3] = {"id": 3, "title": "a"}
            return Response(201, content)
        return [*cards.values()] if target == "/cards" else cards[int(target.rpartition("/")[2])]

    with small(spec, answer) as session:
        session.call("cards.get_list")
        attempt(session, "cards.copy", id=1)  # a response without the fields of a card is an error of the call
        session.call("cards.get", id=1)
        assert [card.id for card in session.call("cards.get_list")] == [1, 3]


@pytest.mark.parametrize("outcome", [NOTHING, Response(500, {})])
@pytest.mark.parametrize("body", [{"name": "red", "color": "b"}, [{"name": "blue"}, {"name": "red", "color": "b"}]])
def test_creation_makes_the_record_stale_whose_key_it_sends(outcome: Any, body: Any) -> None:
    """It may exist already, and be replaced."""

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            return outcome
        return {"name": target.rpartition("/")[2], "color": "r"}

    with small(TAGS, answer) as session:
        session.call("tags.get", name="red")
        attempt(session, "tags.create" if isinstance(body, dict) else "tags.create_many", body=body)
        assert session.requests("tags.get", name="red") == ["GET /tags/red"]


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ("tags.update", NOTHING),
        ("tags.update", {"name": "green"}),
        ("tags.update", Response(500, {})),
        ("tags.upload", NOTHING),
        ("tags.save", {"id": 1}),
    ],
)
def test_put_of_a_record_that_was_not_known_makes_lists_stale(change: str, outcome: Any) -> None:
    """It may have created the record, whatever its response contains of others."""

    def answer(method: str, target: str, body: Any) -> Any:
        return outcome if method == "PUT" else [{"name": "red", "color": "r"}]

    with small(TAGS, answer) as session:
        session.call("tags.get_list")
        session.begin(Step("do", 0, change, {"name": "green", "body": {"color": "g"}}))
        assert session.requests("tags.get_list") == ["GET /tags"]


TAGS = """
entities: {Job: {fields: {id: integer}}}
resources:
  tags:
    path: /tags/:name
    schema: {entity: Tag, pk: name, fields: {name: string, color: string}}
    endpoints:
      create_many: {extends: create, body: any}
      upload: {method: PUT, path: "/tags/:name", body: any, schema: null}
      save: {method: PUT, path: "/tags/:name", body: any, schema: Job}
"""


# 3.4 expires


EXPIRES = """
resources:
  items:
    path: /items/:id
    schema: {entity: Item, fields: {id: integer, title: string}}
    endpoints: {ping: {method: POST, path: /items/:id/ping, body: null, schema: null, expires: EXPIRES}}
  teams: {path: /teams/:id, schema: {entity: Team, fields: {id: integer, name: string}}}
"""


@pytest.mark.parametrize("change", ["change_many", "delete_many"])
def test_change_of_very_many_records_makes_no_other_entity_stale(change: str) -> None:
    """1,500 records become stale or are deleted at once, more than a store keeps marks of; tags stay fresh."""

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            return [{"id": number} for number in range(1_500)]
        if target == "/tags":
            return []
        return {"id": int(target.rpartition("/")[2]), "name": "A"}

    with small(NOTES_AND_TAGS, answer) as session:
        for number in (0, 1_499):
            session.call("notes.get", id=number)
        session.call("tags.get", id=1)
        session.call("tags.get_list")
        session.call(f"notes.{change}", body={})
        assert session.requests("tags.get", id=1) == []
        assert session.requests("tags.get_list") == []
        for number in (0, 1_499):
            assert session.requests("notes.get", id=number) == [f"GET /notes/{number}"]


NOTES_AND_TAGS = """
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, name: string}}
    endpoints:
      change_many: {method: POST, path: /notes/bulk, body: any, schema: [Note]}
      delete_many: {method: POST, path: /notes/bulk_delete, body: any, schema: [{invalidate: Note}]}
  tags: {path: /tags/:id, schema: {entity: Tag, fields: {id: integer, name: string}}}
"""


def item_or_team(method: str, target: str, body: Any) -> Any:
    """One item and one team, whatever is asked."""
    if method == "POST":
        return NOTHING
    record = {"id": 1, "title": "t", "name": "n"}
    return [record] if target in ("/items", "/teams") else record


@pytest.mark.parametrize("known_by", ["create", "search"])
def test_expires_makes_a_read_stale_that_was_never_requested(known_by: str) -> None:
    """`{job: Job}` is assembled from the record that another response brought, until `expires` names its read."""
    spec = """
entities: {Job: {pk: job_id, fields: {job_id: string, state: string}}}
resources:
  jobs:
    endpoints:
      get: {path: /jobs/get, search_params: {job_id: {type: string, field: job_id}}, schema: {job: Job}}
      search: {path: /jobs/search, schema: {jobs: [Job]}}
      create: {method: POST, path: /jobs/create, body: {state: string}, schema: {job: Job}}
  queues:
    endpoints: {close: {method: POST, path: /queues/close, body: {queue: string}, schema: null, expires: [jobs.get]}}
"""
    job = {"job_id": "j", "state": "open"}

    def answer(method: str, target: str, body: Any) -> Any:
        if target == "/queues/close":
            job["state"] = "closed"
            return NOTHING
        return {"jobs": [job]} if target == "/jobs/search" else {"job": job}

    with small(spec, answer) as session:
        session.call(f"jobs.{known_by}", **({"body": {"state": "open"}} if known_by == "create" else {}))
        assert session.call("jobs.get", job_id="j")["job"].state == "open"
        assert session.requests("jobs.get", job_id="j") == []
        session.call("queues.close", body={"queue": "q"})
        assert session.call("jobs.get", job_id="j")["job"].state == "closed"
        assert session.requests("jobs.get", job_id="j") == []


OWNED = """
entities:
  User: {fields: {id: integer, items: {collection: [Item], nest: {owner: id}}}}
  Item: {fields: {id: integer, owner: integer}}
resources:
  users: {path: /users/:id, schema: User}
  items: {path: /items/:id, schema: Item, search_params: {owner: integer?}}
  other: {endpoints: {clear: {method: POST, path: /clear, body: null, schema: null, expires: [items.get_list]}}}
"""


class Owned:
    """A user with items, which a call of another resource removes."""

    def __init__(self) -> None:
        self.items = [{"id": 1, "owner": 1}]

    def __call__(self, method: str, target: str, body: Any) -> Any:
        if method == "POST":
            self.items.clear()
            return NOTHING
        return {"id": 1, "items": self.items} if target.startswith("/users") else self.items


@pytest.mark.parametrize("through", ["", "other"], ids=["one store", "another process"])
def test_expires_makes_a_list_stale_that_a_parent_brought(through: str) -> None:
    """`expires: [items.get_list]` concerns all its results, also those that no request of its own brought."""
    with small(OWNED, Owned(), World(sqlite=bool(through))) as session:
        session.call("users.get", "whole", through, id=1)
        assert len(session.call("items.get_list", "whole", through, owner=1)) == 1
        assert session.is_fresh("items.get_list", {"owner": 1}, through)
        session.call_and_sync("other.clear")
        assert session.call("items.get_list", "whole", through, owner=1) == []


def test_expires_counts_for_a_change_whose_outcome_is_not_known() -> None:
    """After a 5xx, the server may have made the change."""
    owned = Owned()
    with small(OWNED, owned) as session:
        session.call("items.get_list")
        owned.items.clear()
        assert isinstance(answered_by(session, Response(500, {}), "other.clear"), restencil.NetworkError)
        assert session.call("items.get_list") == []


def test_expires_adds_to_what_a_change_makes_stale() -> None:
    """`expires: [teams]` makes teams stale, and the named item is stale nevertheless."""
    with small(EXPIRES.replace("EXPIRES", "[teams]"), item_or_team) as session:
        session.call("items.get", id=1)
        session.call("teams.get", id=1)
        session.call("items.ping", id=1)
        assert not fresh(session, "teams.get", id=1)
        assert not fresh(session, "items.get", id=1)


@pytest.mark.parametrize("path", ["/folders/:id", "/drives/:drive/folders/:id"], ids=["alone", "below another"])
def test_expires_of_the_own_resource_names_all_its_records(path: str) -> None:
    """A folder that is renamed renames what it contains: `expires: [folders]` reaches other keys than its own."""
    spec = f"""
resources:
  folders:
    path: {path}
    schema: {{entity: Folder, fields: {{id: integer, drive: integer, place: string}}}}
    endpoints: {{partial_update: {{expires: [folders]}}, get_list: {{}}}}
"""
    places = {1: "/a", 2: "/a/b"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            places.update({1: body["place"], 2: body["place"] + "/b"})
        records = [{"id": id, "drive": 7, "place": place} for id, place in places.items()]
        key = target.rpartition("/")[2]
        return records if key == "folders" else records[int(key) - 1]

    drive = {"drive": 7} if "drive" in path else {}
    with small(spec, answer) as session:
        session.call("folders.get", id=2, **drive)
        session.call("folders.get_list", **drive)
        session.call("folders.partial_update", id=1, body={"place": "/c"}, **drive)
        assert session.call("folders.get", id=2, **drive).place == "/c/b"
        assert [one.place for one in session.call("folders.get_list", **drive)] == ["/c", "/c/b"]


def test_expires_nothing_leaves_all_fresh() -> None:
    """`expires: nothing` says that the call changes nothing that is read."""
    with small(EXPIRES.replace("EXPIRES", "nothing"), item_or_team) as session:
        session.call("items.get", id=1)
        session.call("items.get_list")
        session.call("items.ping", id=1)
        assert session.requests("items.get", id=1) == []
        assert session.requests("items.get_list") == []


@pytest.mark.parametrize("slug", ["new", "a"], ids=["changed", "same"])
def test_map_is_stale_after_a_change_of_a_record_in_it(slug: str) -> None:
    """The field that its keys come from is not known; a record that is as it was has its key still."""
    spec = """
resources:
  cards:
    path: /cards/:id
    schema: {entity: Card, fields: {id: integer, slug: string}}
    endpoints: {get_list: {schema: {collection: {values: Card}}}}
"""
    slugs = {1: "a", 2: "b"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            slugs[1] = slug
            return {"id": 1, "slug": slug}
        return {text: {"id": pk, "slug": text} for pk, text in slugs.items()}

    with small(spec, answer) as session:
        session.call("cards.get_list")
        session.call("cards.partial_update", id=1, body={"slug": slug})
        assert session.requests("cards.get_list") == (["GET /cards"] if slug == "new" else [])
        assert sorted(session.call("cards.get_list")) == sorted(slugs.values())


# 3.5 exact arguments


EXACT = """
enums: {Kind: [a, b], Other: [a, b]}
entities: {Group: {fields: {id: integer, name: string}}}
resources:
  things:
    path: /things/:id
    schema:
      entity: Thing
      fields: {id: integer, done: boolean, kind: Kind, size: integer, code: uuid, group: Group, title: string,
               price: number, day: date, other: Kind}
    search_params: {PARAMETER}
    endpoints: {change: {method: POST, path: /change/:id, body: any, schema: Thing}}
"""

CODE = "12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("parameter", "value", "exact"),
    [
        ("done: boolean?", True, True),
        ("kind: Kind?", "a", True),
        ("size: integer?", 1, True),
        ("code: uuid?", CODE, True),
        ("group: integer?", 1, True),
        ("title: string?", "t", False),
        ("price: number?", 1.0, False),
        ("day: date?", "2026-01-01", False),
        ("other: Other?", "a", False),
        ("size: string?", "1", False),
        ("min_size: integer?", 1, False),
        ("title: {type: string?, filter: equals}", "t", True),
        ("kind: {type: Kind?, filter: unknown}", "a", False),
    ],
)
def test_filter_argument_is_exact_by_its_name_and_type(parameter: str, value: Any, exact: bool) -> None:
    """Booleans, one enum, integers, UUIDs and references of the field's name decide about membership; others do not."""
    thing = {
        "id": 1,
        "done": True,
        "kind": "a",
        "size": 1,
        "code": CODE,
        "group": {"id": 1, "name": "g"},
        "title": "t",
        "price": 1.0,
        "day": "2026-01-01",
        "other": "a",
    }

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "POST":
            return {**thing, "id": 2}
        return [thing] if target.startswith("/things") else thing

    name = parameter.partition(":")[0]
    with small(EXACT.replace("PARAMETER", parameter), answer) as session:
        session.call("things.get_list", **{name: value})
        session.call("things.create", body={"title": "t"})
        assert fresh(session, "things.get_list", **{name: value}) is exact
        if exact:
            assert [one.id for one in session.bound("things.get_list").cached(**{name: value})] == [1, 2]


def folder(names: dict[int, str]) -> Session:
    """A session with files of these names in one folder, which paths may name as well; no argument selects any."""
    spec = """
entities:
  Folder: {fields: {id: integer, name: string}}
  File: {fields: {id: integer, name: string, size: integer, hidden: boolean, folder: Folder}}
resources:
  files:
    path: /folders/:folder/files/:id
    schema: File
    body: any
    search_params: {size: integer?, hidden: boolean?}
"""

    def answer(method: str, target: str, body: Any) -> Any:
        path = urlsplit(target).path.split("/")
        key = max(names, default=0) + 1 if method == "POST" else int(path[4]) if len(path) > 4 else 0
        if method != "GET":
            names[key] = body["name"]
        files = {
            one: {"id": one, "name": name, "size": 5, "hidden": False, "folder": {"id": 7, "name": "work"}}
            for one, name in names.items()
        }
        return files[key] if key else [*files.values()]

    return small(spec, answer)


@pytest.mark.parametrize(("change", "arguments"), [("create", {}), ("partial_update", {"id": 1})])
@pytest.mark.parametrize(
    "selection",
    [
        pytest.param({"folder": "7", "size": 50}, id="the number of items in a response"),
        pytest.param({"folder": "7", "hidden": True}, id="hidden ones, too"),
        pytest.param({"folder": "work"}, id="the name of the folder in place of its key"),
    ],
)
def test_argument_is_not_exact_if_a_record_of_the_list_has_another_value(
    selection: dict[str, Any], change: str, arguments: dict[str, Any]
) -> None:
    """Such a list is stale after each change of a record, though its argument has the name and type of a field."""
    names = {1: "a", 2: "b"}
    with folder(names) as session:
        session.call("files.get_list", **selection)
        session.call(f"files.{change}", folder=selection["folder"], **arguments, body={"name": "new"})
        assert {one.id: one.name for one in session.call("files.get_list", **selection)} == names


def test_argument_is_not_exact_if_a_record_has_another_value_than_its_own_change() -> None:
    """A file that is created in folder `work` has `folder: 7`: the empty list of `work` is requested again."""
    names: dict[int, str] = {}
    with folder(names) as session:
        session.call("files.get_list", folder="work")
        session.call("files.create", folder="work", body={"name": "new"})
        assert {one.id: one.name for one in session.call("files.get_list", folder="work")} == names


# 3.6 4xx


@pytest.mark.parametrize("status", [404, 409, 410, 412])
def test_change_that_the_record_was_not_in_the_state_for_makes_it_stale(session: Session, status: int) -> None:
    """404, 409, 410 and 412 say that the record is not what this client holds."""
    stale = reads_of("items.get(id=1)", "items.get_list()", "items.get_list(kind='b')")
    call_all(session, [*stale, ("items.get", {"id": 2})])
    error = answered_by(session, Response(status, {}), "items.partial_update", id=1, body={"rank": 1})
    assert isinstance(error, restencil.StatusError)
    assert [session.is_fresh(*read) for read in stale] == [False, False, False]
    assert session.requests("items.get", id=2) == []


def test_creation_that_conflicts_makes_every_list_of_its_entity_stale(session: Session) -> None:
    """A 409 to a creation shows that there is a record that lists here may lack; of several, some may be created."""
    lists = reads_of("items.get_list()", "items.get_list(kind='b')")
    call_all(session, [*lists, ("items.get", {"id": 1})])
    error = answered_by(session, Response(409, {}), "items.create", body={"title": "x"})
    assert isinstance(error, restencil.StatusError)
    assert [session.is_fresh(*read) for read in lists] == [False, False]
    assert session.requests("items.get", id=1) == []


STOCK = """
entities: {Variant: {fields: {id: integer, stock: integer}}}
resources:
  variants:
    path: /variants/:id
    schema: Variant
    endpoints:
      adjust: {method: POST, path: /variants/:id/adjust, body: {by: integer}, schema: {stock: integer}}
      copy: {method: POST, path: /variants/:id/copy, body: null, schema: {copied: Variant, job: string}}
"""


@pytest.mark.parametrize("status", [200, 404, 409, 410, 412])
@pytest.mark.parametrize(("name", "given"), [("variants.adjust", {"body": {"by": 2}}), ("variants.copy", {})])
def test_change_with_an_object_as_response_makes_the_record_stale_that_its_path_names(
    name: str, given: dict[str, Any], status: int
) -> None:
    """`{stock: 7}` is no variant, but the path says which one was adjusted, or could not be; others stay fresh."""

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return {"id": int(target.rpartition("/")[2]), "stock": 5}
        return Response(status, {"stock": 7, "copied": {"id": 3, "stock": 5}, "job": "j"})

    with small(STOCK, answer) as session:
        session.call("variants.get", id=1)
        session.call("variants.get", id=2)
        attempt(session, name, id=1, **given)
        assert session.requests("variants.get", id=1) == ["GET /variants/1"]
        assert session.requests("variants.get", id=2) == []


def test_404_of_a_record_leaves_lists_with_its_key_as_an_argument_fresh(session: Session) -> None:
    """A record that is not there makes itself, its memberships and what is below its path stale, and nothing else."""
    call_all(session, reads_of("items.get_list(owner=2)", "items.visits(id=2)", "notes.get_list(item_id=2)"))
    error = answered_by(session, Response(404, {}), "notes.partial_update", item_id=1, id=2, body={"text": "w"})
    assert isinstance(error, restencil.StatusError)
    assert session.requests("items.get_list", owner=2) == []
    assert session.requests("items.visits", id=2) == []
    assert session.requests("notes.get_list", item_id=2) == ["GET /items/2/notes"]


@pytest.mark.parametrize("status", [400, 401, 403, 422, 429])
def test_change_that_was_rejected_makes_nothing_stale(session: Session, status: int) -> None:
    """Any other 4xx changes nothing."""
    session.call("items.get", id=1)
    session.call("items.get_list", kind="b")
    error = answered_by(session, Response(status, {}), "items.partial_update", id=1, body={"rank": 1})
    assert isinstance(error, restencil.StatusError)
    if status != 401:  # which a manager may take for a logout
        assert session.requests("items.get", id=1) == []
        assert session.requests("items.get_list", kind="b") == []


# 3.7 a change that was accepted


@pytest.mark.parametrize("change", ["create", "update"])
@pytest.mark.parametrize(
    "body",
    [{"lines": [{"text": "n"}]}, {"first": {"text": "n"}}, {"all": [{"text": "n"}]}, {"meta": {"line": {"text": "n"}}}],
)
@pytest.mark.parametrize("response", [NOTHING, {"id": 1}])
def test_change_that_creates_nested_records_never_raises_for_their_missing_keys(
    response: Any, body: Any, change: str
) -> None:
    """The server chooses the keys of nested records that are sent without; the next read shows them."""

    def answer(method: str, target: str, body: Any) -> Any:
        return {"id": 1, "first": None, "all": [], "lines": [], "meta": {}} if method == "GET" else response

    with small(ORDERS_WITH_LINES, answer) as session:
        arguments = {} if change == "create" else {"id": 1}
        if arguments:
            session.call("orders.get", **arguments)
        session.call(f"orders.{change}", body=body, **arguments)
        assert session.requests("orders.get", id=1) == ["GET /orders/1"]


ORDERS_WITH_LINES = """
entities:
  Line: {fields: {id: integer, order: integer, text: string}}
  Order:
    fields:
      id: integer
      first: Line?
      all: [Line]
      lines: {collection: [Line], nest: {order: id}}
      meta: {object: {line: Line?}}
resources: {orders: {path: "/orders/:id", schema: Order, optimistic: true}}
"""


def test_change_whose_body_misfits_raises_and_says_that_it_was_made(session: Session) -> None:
    """A 2xx with another shape raises ProcessingError, which says that the change was made; the record is stale."""
    session.call("items.get", id=1)
    session.call("items.get_list", kind="a")
    error = answered_by(session, Response(200, ["what?"]), "items.partial_update", id=1, body={"kind": "a"})
    assert isinstance(error, restencil.ProcessingError)
    assert "change was made" in str(error)
    assert not fresh(session, "items.get", id=1)
    assert not fresh(session, "items.get_list", kind="a")


def test_change_whose_value_does_not_decode_says_that_it_was_made() -> None:
    """Whoever would send it again must know, also if only a date of the response is written in another way."""
    spec = "resources: {notes: {path: /notes/:id, schema: {entity: Note, fields: {id: integer, at: datetime?}}}}"
    with small(spec, lambda method, target, body: {"id": 1, "at": "Thu, 02 Jan 2020"}) as session:
        error = attempt(session, "notes.create", body={})
        assert isinstance(error, restencil.ProcessingError)
        assert "does not decode" in str(error)
        assert str(error).endswith("; the change was made")
        read = attempt(session, "notes.get", id=2)
        assert read is not None
        assert "change was made" not in str(read)


TASKS = """
entities: {Task: {fields: {id: integer, state: string}}}
resources:
  tasks:
    path: /tasks/:id
    schema: Task
    endpoints:
      create: {follow_see_other: true}
      update: {follow_see_other: true}
      partial_update: {follow_see_other: true}
      close: {method: POST, path: /tasks/:id/close, body: null, schema: Task, follow_see_other: true}
      note: {method: POST, path: /tasks/:id/notes, body: null, schema: null}
"""


class TaskServer:
    """Tasks whose changes are made, and answered by a function that may raise an error."""

    def __init__(self, answer_change: Callable[[httpx.Request], httpx.Response]) -> None:
        self.tasks = {1: "open", 2: "open"}
        self._answer_change = answer_change

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "POST":
            if path == "/tasks":
                self.tasks[3] = "open"
            else:
                self.tasks[1] = "closed"
            return self._answer_change(request)
        if path == "/results/3":
            return httpx.Response(404, json={"error": "not ready"})
        found = [{"id": pk, "state": state} for pk, state in self.tasks.items()]
        return httpx.Response(200, json=found if path == "/tasks" else found[int(path.rpartition("/")[2]) - 1])

    def client(self) -> Any:
        return client_before(package_of(TASKS), self.answer)


def _see_other(request: httpx.Request) -> httpx.Response:
    return httpx.Response(303, headers={"Location": "/results/3"})


def _crash(request: httpx.Request) -> httpx.Response:
    raise KeyError("in a background task of the app, which runs in this process")


@pytest.mark.parametrize("change", ["create", "close", "note"])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda _: httpx.Response(200, html="<html>ok</html>"), restencil.UnexpectedContentError),
        (lambda _: httpx.Response(200, content=b'{"id": 1, "sta', headers=JSON), restencil.ParseError),
        (lambda _: httpx.Response(200, content=b" ", headers=JSON), restencil.ParseError),
        (lambda _: httpx.Response(200, content=b"ok", headers={"content-type": "text/plain; charset=idna"}), None),
        (_see_other, restencil.StatusError),
        (_crash, KeyError),
    ],
    ids=["HTML", "cut JSON", "white space", "wrong charset", "303 to a 404", "an error of the app"],
)
def test_change_that_the_server_made_makes_stale_whatever_the_call_raises(
    answer: Callable[[httpx.Request], httpx.Response], error: type[Exception] | None, change: str
) -> None:
    """Only a 4xx of the change itself says that it was not made; the error says that it was, if that is certain."""
    server = TaskServer(answer)
    with server.client() as client:
        client.tasks.get_list()
        assert client.tasks.get(id=1).state == "open"
        try:
            getattr(client.tasks, change)(**({"body": {"state": "open"}} if change == "create" else {"id": 1}))
        except (restencil.ParseError, restencil.UnexpectedContentError) as raised:
            assert str(raised).endswith("; the change was made")
        except (restencil.NetworkError, KeyError) as raised:
            assert error is not None and isinstance(raised, error)
        assert [(task.id, task.state) for task in client.tasks.get_list()] == [*server.tasks.items()]
        assert client.tasks.get(id=1).state == server.tasks[1]


def test_change_that_returns_nothing_may_have_an_empty_json_response() -> None:
    """`schema: null`: an empty body is no error, whatever its content type."""
    server = TaskServer(lambda _: httpx.Response(200, content=b"", headers=JSON))
    with server.client() as client:
        assert client.tasks.note(id=1) is None


READ_BY_BODY = """
entities: {Task: {fields: {id: integer, title: string}}}
resources:
  tasks:
    path: /tasks/:id
    schema: Task
    endpoints:
      get: {method: POST, side_effect: false, body: {view: string}}
      close: {method: POST, path: /tasks/:id/close, body: null, schema: null}
      partial_update: {schema: null, body: {title: string}}
      parts: {path: /tasks/:id/parts, method: GET, schema: {count: integer}}
"""


@pytest.mark.parametrize("change", ["close", "partial_update", "delete"])
def test_change_of_a_record_that_is_read_with_a_body_makes_it_stale(change: str) -> None:
    """`get` is `POST /tasks/1` with a body: a change of task 1 raises nothing, and all that shows it is asked again."""
    titles = {1: "old"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "DELETE":
            del titles[1]
            return NOTHING
        if method == "PATCH" or target.endswith("close"):
            titles[1] = "new"
            return NOTHING
        if target.endswith("parts"):
            return {"count": len(titles) if titles.get(1) == "old" else 7}
        tasks = [{"id": pk, "title": title} for pk, title in titles.items()]
        return tasks if target == "/tasks" else next(iter(tasks), None)

    with small(READ_BY_BODY, answer) as session:
        assert session.call("tasks.get", id=1, body={"view": "all"}).title == "old"
        assert session.call("tasks.parts", id=1)["count"] == 1
        assert [task.title for task in session.call("tasks.get_list")] == ["old"]
        session.call(f"tasks.{change}", id=1, **({"body": {"title": "new"}} if change == "partial_update" else {}))
        assert session.call("tasks.parts", id=1)["count"] == 7
        assert [task.title for task in session.call("tasks.get_list")] == [*titles.values()]
        if change == "delete":
            with pytest.raises(restencil.NotFoundError):
                session.call("tasks.get", id=1, body={"view": "all"})
        else:
            assert session.call("tasks.get", id=1, body={"view": "all"}).title == "new"


@pytest.mark.parametrize("place", ["/tasks/../x", "/tasks/%2E%2E/x"])
def test_change_below_a_path_that_get_cannot_have_never_raises(place: str) -> None:
    """A segment of dots is no key of a record."""
    spec = f"""
resources:
  tasks: {{path: /tasks/:id, schema: {{entity: Task, fields: {{id: integer}}}}}}
  others: {{endpoints: {{change: {{method: POST, path: {place}, schema: null}}}}}}
"""
    with small(spec, lambda method, target, body: NOTHING if method == "POST" else []) as session:
        session.call("tasks.get_list")
        assert session.call("others.change") is None


# 3.8 a record that is removed


@pytest.mark.parametrize("outcome", ["204", "ok", "whole"])
def test_delete_leaves_collections_and_nested_lists_fresh(session: Session, outcome: str) -> None:
    """A deleted record is gone from collections and nested lists, which send nothing."""
    call_all(session, reads_of("items.get_list()", "items.get_list(kind='a')", "items.get_list(title='t')"))
    session.call("users.get", id=1)
    session.call("items.delete", outcome, id=2)
    before = len(session.network.exchanges)
    assert [item.id for item in session.call("items.get_list")] == [1, 3]
    assert [item.id for item in session.call("items.get_list", kind="a")] == []
    assert [item.id for item in session.call("items.get_list", title="t")] == [1, 3]
    assert list(session.call("users.get", id=1).items) == []
    assert session.asked(before) == []


@pytest.mark.parametrize(
    "text", ["items.latest()", "items.by_page()", "items.visits(id=2)", "notes.get_list(item_id=2)", "items.get(id=2)"]
)
def test_delete_makes_stale_what_else_the_record_stood_in(session: Session, text: str) -> None:
    """Plain lists, pages and results under the record's path ask after a delete."""
    ((read, arguments),) = reads_of(text)
    session.call(read, **arguments)
    session.call("items.delete", "204", id=2)
    assert not session.is_fresh(read, arguments)


def test_delete_makes_stale_what_refers_to_the_record(session: Session) -> None:
    """Items of a deleted user, and the list of its items, ask."""
    session.call("items.get", id=2)
    session.call("items.get_list", owner=1)
    session.call("users.delete", "204", id=1)
    assert session.call("items.get", id=2).owner is None
    assert list(session.call("items.get_list", owner=1)) == []


def test_delete_without_a_certain_outcome_makes_results_below_it_stale(session: Session) -> None:
    """Where a record may have been removed, what is below its path asks too."""
    reads = reads_of("items.visits(id=2)", "notes.get_list(item_id=2)", "items.get_list()")
    call_all(session, reads)
    attempt(session, "items.delete", "lost", id=2)
    assert [session.is_fresh(*read) for read in reads] == [False, False, False]


@pytest.mark.parametrize("known_by", ["get", "list"])
@pytest.mark.parametrize("outcome", ["204", "whole", "lost", "bulk"])
def test_deleted_record_that_a_list_contains_again_is_requested(known_by: str, outcome: str) -> None:
    """A list of deleted records brings one whole: `get` asks nevertheless, once, also in a store that opens again."""
    notes: dict[int, dict[str, Any]] = {1: {"id": 1, "is_deleted": False}}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "DELETE" or target.endswith("bulk_delete"):
            notes[1] = {"id": 1, "is_deleted": True}
            return {"204": NOTHING, "bulk": NOTHING, "whole": notes[1], "lost": Response(500, {})}[outcome]
        if method == "POST":
            notes[1] = {"id": 1, "is_deleted": False}
            return Response(201, notes[1])
        existing = [note for note in notes.values() if "all" in target or not note["is_deleted"]]
        return existing if target.startswith("/notes?") else existing[0] if existing else None

    with small(NOTES_WITH_DELETED, answer, World(sqlite=True)) as session:
        session.call("notes.get_list", all=True) if known_by == "list" else session.call("notes.get", id=1)
        if outcome == "bulk":
            session.call("notes.delete_many", body={"ids": [1]})
        else:
            attempt(session, "notes.delete", id=1)
        for reopens in (False, True):
            session.call("notes.get_list.fetch", all=True)
            if reopens:
                session.again(from_dump=False)
            before = len(session.network.exchanges)
            attempt(session, "notes.get", id=1)
            assert session.asked(before) == ["GET /notes/1"]
            session.advance(2_000)
        session.call("notes.create", body={"id": 1})
        session.call("notes.get", id=1)
        assert session.requests("notes.get", id=1) == []


NOTES_WITH_DELETED = """
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, is_deleted: boolean}}
    search_params: {all: boolean?}
    endpoints: {delete_many: {method: POST, path: /notes/bulk_delete, body: any, schema: null}}
"""


def test_rename_removes_the_old_key(session: Session) -> None:
    """The record of the old key leaves collections, which stay fresh; the new one joins them."""
    call_all(session, reads_of("items.get_list()", "items.get_list(kind='b')", "items.get(id=1)", "items.visits(id=1)"))
    session.call("items.rename", "whole", id=1, body={"id": 5})
    before = len(session.network.exchanges)
    assert [item.id for item in session.call("items.get_list")] == [2, 3, 5]
    assert [item.id for item in session.call("items.get_list", kind="b")] == [3, 5]
    assert session.call("items.get", id=5).title == "t1"
    assert session.asked(before) == []
    assert not fresh(session, "items.visits", id=1)
    with pytest.raises(restencil.NotFoundError):
        session.call("items.get", id=1)


# the outcome is not known


@pytest.mark.parametrize("outcome", ["lost", "500", "refused"])
def test_change_without_a_certain_outcome_counts_as_one_that_brought_nothing(session: Session, outcome: str) -> None:
    """After a 5xx, or no response at all, the record and all lists of its entity ask."""
    reads = reads_of("items.get(id=1)", "items.get_list(kind='a')", "items.get_list()", "items.latest()")
    call_all(session, reads)
    session.call("items.get", id=2)
    assert attempt(session, "items.partial_update", outcome, id=1, body={"kind": "a"}) is not None
    check_all_ask_once(session, reads)
    assert session.requests("items.get", id=2) == []


@pytest.mark.parametrize("is_made", [True, False], ids=["made", "not made yet"])
@pytest.mark.parametrize(
    ("change", "arguments"),
    [
        ("items.create", {"body": {"kind": "a"}}),
        ("items.partial_update", {"id": 1, "body": {"kind": "a"}}),
        ("items.delete", {"id": 1}),
        ("items.change_many", {"body": {"kind": "a", "change": {"rank": 5}}}),
    ],
)
def test_change_that_is_cancelled_counts_as_one_that_brought_nothing(
    change: str, arguments: dict[str, Any], is_made: bool
) -> None:
    """A cancelled task, a timeout of asyncio: the request was sent, so the server may have made the change."""
    with Session(World(asynchronous=True)) as session:
        session.call("items.get", id=1)
        session.call("items.get_list")

        async def until_timeout(**given: Any) -> None:
            async with asyncio.timeout(1):
                await session.bound(change)(**given)

        started = session.begin(Step("start", 1, change, arguments, "whole"), until_timeout)
        if is_made:
            session.step_held(1, deliver=False)
        assert fresh(session, "items.get_list")
        session.advance(1000)
        assert isinstance(started.task.error, TimeoutError)
        creates = change == "items.create"
        assert (fresh(session, "items.get", id=1), fresh(session, "items.get_list")) == (creates, False)


RETRIED = """
options: {retries: 1}
resources:
  items:
    path: /items/:id
    schema: {entity: Item, fields: {id: integer, state: string}}
    endpoints: {close: {method: PUT, path: /items/:id/close, body: null, schema: Item}}
"""


def test_change_that_an_attempt_before_a_4xx_may_have_made_makes_stale() -> None:
    """A proxy answers the first attempt with 502, although the item was closed; so the second one is refused."""
    states = ["open"]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PUT":
            states.append("closed")
            return Response(502 if len(states) == 2 else 422, {})
        return {"id": 1, "state": states[-1]}

    with small(RETRIED, answer) as session:
        assert session.call("items.get", id=1).state == "open"
        operation = session.begin(Step("start", 1, "items.close", {"id": 1}))
        for _ in range(2):
            session.step_held(1, deliver=True)
            session.clock.advance(20_000)
        assert operation.task.done
        assert session.call("items.get", id=1).state == "closed"


SLASHES = """
entities: {User: {fields: {id: integer, kids: integer}}, Kid: {fields: {id: integer, user: integer}}}
resources:
  users: {path: /users/:id/, schema: User}
  kids: {path: /users/:user/kids/:id/, schema: Kid}
  group: {endpoints: {touch: {method: POST, path: /users/:id/touch/, body: null, schema: null}}}
"""


@pytest.mark.parametrize("slash", ["/", ""])
@pytest.mark.parametrize("change", ["kids.create", "kids.delete", "group.touch"])
def test_change_below_a_record_reaches_it_whether_or_not_paths_end_with_a_slash(change: str, slash: str) -> None:
    """Django and others have `/users/1/`: user 1 is asked again after `POST /users/1/kids/`."""
    kids = [5]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "DELETE" or "touch" in target:
            kids.append(0)
            return NOTHING
        if method == "POST":
            kids.append(6)
            return {"id": 6, "user": 1}
        return {"id": 1, "kids": len(kids)}

    spec = SLASHES.replace("/,", f"{slash},")
    with small(spec, answer) as session:
        assert session.call("users.get", id=1).kids == 1
        parameters: dict[str, dict[str, Any]] = {
            "kids.create": {"user": 1, "body": {}},
            "kids.delete": {"user": 1, "id": 5},
            "group.touch": {"id": 1},
        }
        session.call(change, **parameters[change])
        assert session.call("users.get", id=1).kids == 2


PROJECTS = """
resources:
  projects:
    path: /projects/:project
    schema: {entity: Project, fields: {id: string, name: string, notes: integer}}
    endpoints:
      count: {path: "/projects/:project/count", schema: {count: integer}}
      clear: {method: POST, path: "/projects/:project/clear", body: null, schema: null}
  notes: {path: "/projects/:project/notes/:id", schema: {entity: Note, fields: {id: integer, text: string}}}
"""


@pytest.mark.parametrize("read", ["projects.get_list", "projects.get"])
@pytest.mark.parametrize("change", ["notes.create", "notes.delete", "notes.partial_update"])
def test_change_below_a_path_that_does_not_say_which_record_it_is_reaches_all(change: str, read: str) -> None:
    """`/projects/blog/notes` may be below the path of any project: only the server knows which one has this name."""
    project: dict[str, Any] = {"id": "p1", "name": "blog", "notes": 0}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return [project] if target == "/projects" else project
        project["notes"] += 1
        return NOTHING if method == "DELETE" else {"id": 1, "text": "x"}

    arguments = {"project": "p1"} if read == "projects.get" else {}
    with small(PROJECTS, answer) as session:
        first = session.call(read, **arguments)
        assert (first if read == "projects.get" else first[0]).notes == 0
        own: dict[str, Any] = {} if change == "notes.create" else {"id": 1}
        sent: dict[str, Any] = {} if change == "notes.delete" else {"body": {"text": "x"}}
        session.call(change, project="blog", **own, **sent)
        then = session.call(read, **arguments)
        assert (then if read == "projects.get" else then[0]).notes == 1


@pytest.mark.parametrize("place", ["/projects/:project", "/:project"])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("read", ["projects.count", "notes.get_list"])
@pytest.mark.parametrize("change", ["projects.clear", "projects.delete", "projects.partial_update"])
def test_change_of_a_record_with_several_paths_reaches_what_is_below_each(
    change: str, read: str, is_known: bool, place: str
) -> None:
    """What was read at `/projects/blog/count` may be of the project that is changed at `/projects/p1`."""
    notes = [{"id": 1, "text": "x"}]

    def answer(method: str, target: str, body: Any) -> Any:
        if method != "GET":
            notes.clear()
            return NOTHING
        if target.endswith("/notes"):
            return notes
        return {"count": len(notes)} if target.endswith("/count") else {"id": "p1", "name": "blog", "notes": len(notes)}

    with small(PROJECTS.replace("/projects/:project", place), answer) as session:
        if is_known:
            session.call("projects.get", project="p1")
        session.call(read, project="blog")
        session.call(change, project="p1", **({"body": {"name": "b"}} if change == "projects.partial_update" else {}))
        value = session.call(read, project="blog")
        assert (value["count"] if read == "projects.count" else len(value)) == 0


def test_change_answered_whole_is_a_response_of_get_at_a_path_with_a_slash() -> None:
    """`PATCH /users/1/` needs no further `GET /users/1/`."""
    with small(SLASHES, lambda method, target, body: {"id": 1, "kids": 0 if method == "GET" else 3}) as session:
        session.call("users.get", id=1)
        session.call("users.partial_update", id=1, body={"kids": 3})
        assert session.call("users.get", id=1).kids == 3
        assert session.asked(0) == ["GET /users/1/", "PATCH /users/1/"]


ORDERS = """
entities:
  Line: {fields: {id: integer, order: integer}}
  Order: {fields: {id: integer, lines: {collection: [Line], nest: {order: id}}}}
resources:
  orders:
    path: /orders/:id
    schema: Order
    endpoints: {merge: {method: POST, path: /orders/:id/merge, body: null, schema: Order}}
  lines: {path: /lines/:id, schema: Line, search_params: {order: integer?}}
"""


class Orders:
    """Order 1 has the lines 1 and 2, and order 2 the line 3; a merge moves line 3 to order 1, and deletes line 2."""

    def __init__(self) -> None:
        self.lines = {1: 1, 2: 1, 3: 2}

    def answer(self, method: str, target: str, body: Any) -> Any:
        lines = [{"id": pk, "order": order} for pk, order in self.lines.items()]
        if method == "POST":
            self.lines = {1: 1, 3: 1}
            return {"id": 1, "lines": [{"id": 1, "order": 1}, {"id": 3, "order": 1}]}
        place, _, query = target.partition("?")
        pk = int(place.rpartition("/")[2]) if place.count("/") > 1 else 0
        if place.startswith("/orders"):
            return {"id": pk, "lines": [line for line in lines if line["order"] == pk]}
        if pk:
            return next((line for line in lines if line["id"] == pk), None)
        return [line for line in lines if query in ("", f"order={line['order']}")]


def test_change_whose_response_moves_a_nested_record_makes_its_old_lists_stale() -> None:
    """Line 3 is in order 1 now: the nested list of order 2, and the lines of order 2, are requested again."""
    with small(ORDERS, Orders().answer) as session:
        assert [line.id for line in session.call("orders.get", id=2).lines] == [3]
        session.call("orders.get", id=1)
        session.call("lines.get_list", order=2)
        session.call("orders.merge", id=1)
        assert session.requests("orders.get", id=1) == []
        assert list(session.call("lines.get_list", order=2)) == []
        assert list(session.call("orders.get", id=2).lines) == []


def test_change_whose_response_leaves_a_nested_record_out_makes_it_stale() -> None:
    """Line 2 is not in order 1 any more: only the server says whether it was moved or deleted."""
    with small(ORDERS, Orders().answer) as session:
        assert len(session.call("orders.get", id=1).lines) == 2
        assert len(session.call("lines.get_list")) == 3
        session.call("orders.merge", id=1)
        assert [line.id for line in session.call("lines.get_list")] == [1, 3]
        with pytest.raises(restencil.NotFoundError):
            session.call("lines.get", id=2)


@pytest.mark.parametrize("change", ["update", "partial_update"])
def test_change_followed_by_the_get_of_another_record_renames_nothing(change: str) -> None:
    """A 303 leads to any record, such as the next one: the changed one stays in lists, and is requested again."""
    states = {1: "open", 2: "open"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method != "GET":
            states[1] = body["state"]
            return Response(303, NOTHING, {"Location": "/tasks/2"})
        found = [{"id": pk, "state": state} for pk, state in states.items()]
        return found if target == "/tasks" else found[int(target.rpartition("/")[2]) - 1]

    with small(TASKS, answer) as session:
        session.call("tasks.get_list")
        assert session.call(f"tasks.{change}", id=1, body={"state": "closed"}).id == 2
        assert [(task.id, task.state) for task in session.call("tasks.get_list")] == [(1, "closed"), (2, "open")]
        assert session.call("tasks.get", id=1).state == "closed"


LINES_OF_ORDERS = """
entities:
  Line: {fields: {id: integer, order_id: integer, ordered: boolean}}
  Order: {fields: {id: integer, lines: {collection: [Line], nest: {order_id: id}}}}
resources:
  orders: {path: /orders/:id, schema: Order}
  lines:
    path: /orders/:order_id/lines/:id
    schema: Line
    search_params: {ordered: boolean?, order_by: string?}
    endpoints: {shown: {path: /orders/:order_id/shown, schema: {items: {collection: [Line]}, total: integer?}}}
"""


def test_argument_that_begins_with_order_filters_if_it_selects() -> None:
    """A parameter of the path does, one that is a field, and that of a nested list; others give the order of items."""

    def answer(method: str, target: str, body: Any) -> Any:
        order = int(target.split("/")[2])
        items = [{"id": order, "order_id": order, "ordered": True}]
        if method == "POST":
            return {"id": 9, "order_id": order, "ordered": False}
        if target == f"/orders/{order}":
            return {"id": order, "lines": items}
        return {"items": items} if "shown" in target else items

    with small(LINES_OF_ORDERS, answer) as session:
        lists: list[dict[str, Any]] = [{"order_id": 5}, {"order_id": 6}, {"order_id": 6, "ordered": True}]
        for arguments in lists:
            session.call("lines.get_list", **arguments)
        session.call("lines.get_list", order_id=6, order_by="id")
        session.call("lines.shown", order_id=5)
        session.call("orders.get", id=7)
        session.call("lines.create", order_id=6, body={})
        known = session.bound("lines.get_list")
        assert [[line.id for line in known.cached(**arguments)] for arguments in lists] == [[5], [6, 9], [6]]
        assert [line.id for line in known.cached(order_id=6, order_by="id")] == [6, 9]
        assert [line.id for line in session.bound("lines.shown").cached(order_id=5)["items"]] == [5]
        assert [line.id for line in session.bound("orders.get").cached(id=7).lines] == [7]
        assert [session.requests("lines.get_list", **arguments) for arguments in lists] == [[], [], []]
