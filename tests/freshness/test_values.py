"""What a call of a change gives, and what it sends."""

from __future__ import annotations

from typing import Any

import pytest
from tests.freshness.driver import Session
from tests.freshness.programs import Step, World
from tests.freshness.server import NOTHING, Response
from tests.freshness.small import small

# 5.1


def test_create_answered_with_the_key_alone_gives_what_was_sent(session: Session) -> None:
    """The value of `create` has what was sent under what was answered, and the next read asks."""
    new = session.call("items.create", "id", body={"title": "sent", "kind": "b", "rank": 4})
    assert (new.id, new.title, new.kind, new.rank) == (4, "sent", "b", 4)
    assert session.requests("items.get", id=4) == ["GET /items/4"]
    assert session.requests("items.get", id=4) == []


@pytest.mark.parametrize("change", ["items.partial_update", "items.update"])
def test_change_answered_with_the_key_alone_gives_what_was_sent(session: Session, change: str) -> None:
    """The value of PATCH and PUT has what was sent, and the record is stale."""
    session.call("items.get", id=1)
    changed = session.call(change, "id", id=1, body={"title": "sent", "kind": "a", "rank": 9})
    assert (changed.id, changed.title, changed.rank) == (1, "sent", 9)
    assert not session.is_fresh("items.get", {"id": 1})


@pytest.mark.parametrize("change", ["partial_update", "update", "rename"])
def test_change_answered_with_an_object_without_members_is_like_one_without_content(change: str) -> None:
    """`{}`, the `Empty` of RPC systems, is no record: the value is what was sent, and the record is stale."""
    spec = """
entities: {Run: {fields: {id: string, state: string}}}
resources:
  runs:
    path: /runs/:id
    schema: Run
    endpoints: {rename: {method: POST, path: /runs/rename, body: {id: string, state: string}, response: {empty: merge}}}
"""
    run = {"id": "r", "state": "on"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return run
        run.update(body)
        return {}

    with small(spec, answer) as session:
        assert session.call("runs.get", id="r").state == "on"
        arguments = {"body": {"id": "r", "state": "off"}, **({} if change == "rename" else {"id": "r"})}
        assert session.call(f"runs.{change}", **arguments).state == "off"
        assert session.requests("runs.get", id="r") == ["GET /runs/r"]
        assert session.call("runs.get", id="r").state == "off"


@pytest.mark.parametrize(
    ("header", "freshness"),
    [("no-store", 0), ("max-age=0, private, must-revalidate", 0), ("max-age=600", 600_000), ("", 60_000)],
)
def test_response_to_a_change_is_as_fresh_as_its_headers_say(header: str, freshness: float) -> None:
    """With `freshness: server`, the record that a change returned is no fresher than the server allows."""
    spec = """
options: {freshness: server}
resources: {rates: {path: /rates/:id, schema: {entity: Rate, fields: {id: integer, value: integer}}}}
"""

    def answer(method: str, target: str, body: Any) -> Any:
        return Response(200, {"id": 1, "value": 5}, {"Cache-Control": header} if header else {})

    with small(spec, answer) as session:
        session.call("rates.partial_update", id=1, body={"value": 5})
        session.clock.advance(1)
        assert session.is_fresh("rates.get", {"id": 1}) is bool(freshness)
        if freshness:
            assert session.bound("rates.get").explain(id=1).expires_in == pytest.approx(freshness - 1, abs=1)


# 5.2


NESTED = """
entities:
  User:
    fields:
      id: {type: integer, read_only: true}
      name: string
      seen: {type: integer, read_only: true}
      items: {collection: [Item], nest: {owner: id}}
  Item: {fields: {id: integer, owner: integer}}
resources:
  users: {path: /users/:id, schema: User}
  items: {path: /items/:id, schema: Item, search_params: {owner: integer?}}
"""


def test_body_that_is_an_entity_sends_its_wire_form_alone() -> None:
    """Read-only members and nested collections are left out, and no key of the store is sent."""
    sent: list[Any] = []

    def answer(method: str, target: str, body: Any) -> Any:
        if method != "GET":
            sent.append(body)
        return {"id": 1, "name": "ada", "seen": 3, "items": [{"id": 1, "owner": 1}]}

    with small(NESTED, answer) as session:
        user = session.call("users.get", id=1)
        session.call("users.update", id=1, body=user)
        assert sent == [{"name": "ada"}]


REFERENCES = """
entities:
  User:
    fields:
      id: {type: integer, read_only: true}
      name: string
      seen: {type: integer, read_only: true}
      chief: User?
  Post: {fields: {id: integer, author: User, readers: [User]}}
resources:
  users: {path: /users/:id, schema: User}
  posts: {path: /posts/:id, schema: Post}
  notes: {endpoints: {send: {method: POST, path: /notes, body: {to: User, text: string}, schema: null}}}
"""


def test_body_holds_entities_in_entities_as_objects_with_their_keys() -> None:
    """An entity within a body keeps its primary key, which tells which one it is; keys of the store are not sent."""
    sent: list[Any] = []
    ada, bo = {"id": 1, "name": "ada", "seen": 3}, {"id": 2, "name": "bo", "seen": 4}

    def answer(method: str, target: str, body: Any) -> Any:
        if method != "GET":
            sent.append(body)
        if "users" in target:
            return ada
        return {"id": 5, "author": ada, "readers": [bo]}

    with small(REFERENCES, answer) as session:
        post, user = session.call("posts.get", id=5), session.call("users.get", id=1)
        session.call("posts.update", id=5, body=post)
        session.call("notes.send", body={"to": user, "text": "t"})
    assert sent == [
        {"id": 5, "author": {"id": 1, "name": "ada"}, "readers": [{"id": 2, "name": "bo"}]},
        {"to": {"id": 1, "name": "ada"}, "text": "t"},
    ]


def test_body_with_an_entity_that_leads_back_to_itself_ends_with_its_key() -> None:
    """Where entities refer to each other in a circle, the second mention is the primary key as JSON has it."""
    sent: list[Any] = []

    def answer(method: str, target: str, body: Any) -> Any:
        if method != "GET":
            sent.append(body)
        return {"id": 1, "name": "ada", "seen": 3, "chief": {"id": 2, "name": "bo", "seen": 4, "chief": 1}}

    with small(REFERENCES, answer) as session:
        session.call("users.update", id=1, body=session.call("users.get", id=1))
    assert sent == [{"name": "ada", "chief": {"id": 2, "name": "bo", "chief": 1}}]


def test_body_with_an_entity_refers_to_what_is_not_known_by_its_key() -> None:
    """A reference to a record that no response brought is sent as its primary key, a number where it is one."""
    sent: list[Any] = []

    def answer(method: str, target: str, body: Any) -> Any:
        if method != "GET":
            sent.append(body)
        return {"id": 1, "name": "ada", "seen": 3, "chief": 7}

    with small(REFERENCES, answer) as session:
        session.call("users.update", id=1, body=session.call("users.get", id=1))
    assert sent == [{"name": "ada", "chief": 7}]


# 5.3


LOGINS = """
entities:
  User: {pk: login, fields: {login: string, name: string}}
  Issue: {fields: {id: integer, title: string, assignees: [User]}}
resources:
  issues:
    path: /issues/:id
    schema: Issue
    optimistic: true
    endpoints: {partial_update: {body: {title: string?, assignees: {type: [string], optional: true}}}}
"""


def test_optimistic_member_of_another_shape_leaves_the_field_as_it_was() -> None:
    """Logins in a body, where the response has users, do not show as users."""
    issue = {"id": 1, "title": "a", "assignees": [{"login": "ada", "name": "Ada"}]}

    with small(LOGINS, lambda *_: issue) as session:
        session.call("issues.get", id=1)
        session.begin(Step("start", 1, "issues.partial_update", {"id": 1, "body": {"title": "b", "assignees": ["bo"]}}))
        shown = session.bound("issues.get").cached(id=1)
        assert shown.title == "b"
        assert [user.name for user in shown.assignees] == ["Ada"]
        session.step_held(1, deliver=True)


# 5.4


FORM = """
resources:
  logins:
    endpoints: {create: {method: POST, path: /login, body: {form: {name: string?, word: string}}, schema: null}}
"""


def test_none_in_a_form_is_an_error_before_anything_is_sent(asynchronous: bool) -> None:
    """A form cannot say null: ValueError, and no request."""
    with small(FORM, lambda *_: NOTHING, World(asynchronous=asynchronous)) as session:
        with pytest.raises(ValueError, match="name"):
            session.call("logins.create", body={"name": None, "word": "w"})
        assert session.network.exchanges == []


def test_change_that_was_made_gives_the_record_after_an_empty_response(session: Session) -> None:
    """PATCH answered by 204 gives the record with what was sent."""
    session.call("items.get", id=1)
    changed = session.call("items.partial_update", "204", id=1, body={"title": "sent"})
    assert (changed.id, changed.title, changed.body) == (1, "sent", "b1")


COMMANDS = """
objects: {Rename: {new_name: string?}}
resources:
  boxes:
    path: /boxes/:id
    schema: {entity: Box, fields: {id: integer, name: string, note: string?}}
    endpoints: {update: {body: Rename}}
"""


def test_update_whose_body_has_no_member_of_the_record_replaces_none() -> None:
    """A PUT of `{"new_name": …}` that is answered by `{}` says nothing of the note, which shows until the next read."""
    box: dict[str, Any] = {"id": 1, "name": "one", "note": "n"}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return dict(box)
        box["name"] = body["new_name"]
        return {}

    with small(COMMANDS, answer) as session:
        session.call("boxes.get", id=1)
        assert session.call("boxes.update", id=1, body={"new_name": "two"}).note == "n"
        assert session.bound("boxes.get").cached(id=1).note == "n"
        assert session.requests("boxes.get", id=1) == ["GET /boxes/1"]
        assert session.bound("boxes.get").cached(id=1).name == "two"


@pytest.mark.parametrize(
    ("call", "arguments", "text"),
    [
        (
            "notes.partial_update",
            {"id": 1},
            "endpoint 'Note.partial_update' needs body=…, which the call does not pass",
        ),
        ("notes.search", {}, "endpoint 'Note.search' needs q=…, which the call does not pass"),
        ("notes.mine", {}, "endpoint 'Note.mine' needs user=…, which the call does not pass"),
    ],
)
def test_call_without_a_required_argument_sends_nothing(call: str, arguments: dict[str, Any], text: str) -> None:
    """A body, search parameter or header parameter without a default is part of each call."""
    spec = """
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, text: string}}
    endpoints:
      search: {path: /notes/search, search_params: {q: string}, schema: [Note]}
      mine: {path: /notes/mine, header_params: {user: string}, schema: [Note]}
"""
    with small(spec, lambda method, target, body: []) as session:
        with pytest.raises(TypeError) as raised:
            session.call(call, **arguments)
        assert str(raised.value) == text
        assert session.network.exchanges == []
