"""What a call of a change gives, and what it sends."""

from __future__ import annotations

from typing import Any, Final

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
    ada = {"id": 1, "name": "ada", "seen": 3, "items": [{"id": 1, "owner": 1}]}
    with small(NESTED, lambda *_: ada) as session:
        session.call("users.update", id=1, body=session.call("users.get", id=1))
        assert session.network.exchanges[-1].body == {"name": "ada"}


REFERENCES = """
entities:
  User:
    fields: {id: {type: integer, read_only: true}, name: string, seen: {type: integer, read_only: true}, chief: User?}
  Post: {fields: {id: integer, author: User, readers: [User]}}
resources:
  users: {path: /users/:id, schema: User}
  posts: {path: /posts/:id, schema: Post}
  notes: {endpoints: {send: {method: POST, path: /notes, body: {to: User, text: string}, schema: null}}}
"""


def test_body_holds_entities_in_entities_as_objects_with_their_keys() -> None:
    """An entity within a body keeps its primary key, which tells which one it is; keys of the store are not sent."""
    ada, bo = {"id": 1, "name": "ada", "seen": 3}, {"id": 2, "name": "bo", "seen": 4}
    post = {"id": 5, "author": ada, "readers": [bo]}
    with small(REFERENCES, lambda method, target, body: ada if "users" in target else post) as session:
        user = session.call("users.get", id=1)
        session.call("posts.update", id=5, body=session.call("posts.get", id=5))
        session.call("notes.send", body={"to": user, "text": "t"})
        assert [exchange.body for exchange in session.network.exchanges if exchange.is_change] == [
            {"id": 5, "author": {"id": 1, "name": "ada"}, "readers": [{"id": 2, "name": "bo"}]},
            {"to": {"id": 1, "name": "ada"}, "text": "t"},
        ]


@pytest.mark.parametrize(
    ("chief", "sent"),
    [({"id": 2, "name": "bo", "seen": 4, "chief": 1}, {"id": 2, "name": "bo", "chief": 1}), (7, 7)],
    ids=["leads back to the body", "is not known"],
)
def test_body_with_an_entity_refers_by_its_key_to_what_it_cannot_hold(chief: Any, sent: Any) -> None:
    """What it is part of itself, and what no response brought, is sent as its primary key, a number where it is one."""
    ada = {"id": 1, "name": "ada", "seen": 3, "chief": chief}
    with small(REFERENCES, lambda *_: ada) as session:
        session.call("users.update", id=1, body=session.call("users.get", id=1))
        assert session.network.exchanges[-1].body == {"name": "ada", "chief": sent}


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


# -- values not echoed


NOT_ECHOED: Final = """
entities:
  Page: {fields: {id: integer, title: string, text: string?}}
  Author: {fields: {id: integer, name: string?}}
  File: {fields: {id: integer, kind: string?, content: string?, about: any, page: Page?, author: Author?}}
resources:
  files:
    path: /files/:id
    schema: File
    search_params: {kind: {type: string?, filter: equals}}
    endpoints:
      save: {method: POST, path: /files/:id/save, body: any, schema: File}
      save_many: {method: POST, path: /files/save, body: any, schema: [File]}
  authors: {path: /authors/:id, schema: Author}
"""


class Files:
    """A server of files whose responses to changes have null in place of one member, and of members of that name."""

    def __init__(self, hidden: str = "") -> None:
        self.hidden = hidden
        self.author: dict[str, Any] = {"id": 1, "name": "ann"}
        empty = {"kind": "a", "content": "old", "about": {"text": "old"}, "page": None}
        self.files: dict[int, dict[str, Any]] = {pk: {"id": pk, **empty} for pk in (1, 2)}

    def __call__(self, method: str, target: str, body: Any) -> Any:
        """The response to a request."""
        if target.startswith("/authors"):
            return self.author
        if method == "GET":
            return self.file(int(target[7:])) if target[7:].isdecimal() else [self.file(pk) for pk in self.files]
        if target == "/files/save":
            return [self.without(self.changed(one["id"], one)) for one in body]
        if target == "/files":
            self.files[3] = {**self.files[1], "id": 3}
            return self.without(self.changed(3, body))
        return self.without(self.changed(int(target.split("/")[2]), body))

    def file(self, pk: int) -> Any:
        """A file as the server has it."""
        return {**self.files[pk], "author": self.author}

    def changed(self, pk: int, body: Any) -> Any:
        """A file after what was sent was laid over it."""
        author = body.get("author")
        self.author = {**self.author, **(author or {})}
        self.files[pk].update({name: value for name, value in body.items() if name != "author"})
        return self.file(pk)

    def without(self, value: Any) -> Any:
        """A value with null in place of members that are not echoed."""
        if isinstance(value, list):
            return [self.without(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {name: None if name == self.hidden else self.without(one) for name, one in value.items()}


NOT_ECHOING: Final = {"memory": World(), "sqlite": World(sqlite=True)}


@pytest.mark.parametrize("world", NOT_ECHOING.values(), ids=NOT_ECHOING.keys())
@pytest.mark.parametrize(
    ("change", "arguments"),
    [
        ("files.update", {"id": 1, "body": {"content": "new"}}),
        ("files.partial_update", {"id": 1, "body": {"content": "new"}}),
        ("files.save", {"id": 1, "body": {"content": "new"}}),
        ("files.save", {"id": 1, "body": {"file": {"content": "new"}, "content": "new"}}),
        ("files.save_many", {"body": [{"id": 1, "content": "new"}, {"id": 2, "content": None}]}),
    ],
)
def test_record_is_stale_after_a_response_with_null_for_what_was_sent(
    world: World, change: str, arguments: dict[str, Any]
) -> None:
    """The next read asks, whatever kind of change it was."""
    with small(NOT_ECHOED, Files("content"), world) as session:
        session.call("files.get", id=1)
        session.call(change, **arguments)
        assert session.requests("files.get", id=1) == ["GET /files/1"]
        assert session.call("files.get", id=1).content == "new"
        if world.sqlite:
            session.sync()
            assert session.call("files.get", "whole", "other", id=1).content == "new"


def test_record_that_was_created_is_stale_after_a_response_with_null_for_what_was_sent() -> None:
    """It joins no list as if it was known."""
    with small(NOT_ECHOED, Files("kind")) as session:
        session.call("files.get_list", kind="b")
        session.call("files.create", body={"kind": "b"})
        assert session.requests("files.get", id=3) == ["GET /files/3"]
        assert session.requests("files.get_list", kind="b") == ["GET /files?kind=b"]


def test_nested_record_is_stale_after_a_response_with_null_for_what_was_sent() -> None:
    """A response that does not confirm what was sent confirms no record in it."""
    with small(NOT_ECHOED, Files("name")) as session:
        assert session.call("authors.get", id=1).name == "ann"
        session.call("files.partial_update", id=1, body={"author": {"id": 1, "name": "bea"}})
        assert session.call("authors.get", id=1).name == "bea"


@pytest.mark.parametrize(
    ("hidden", "body", "asked"),
    [
        ("text", {"about": {"text": "new"}}, ["GET /files/1"]),
        ("text", {"about": {"parts": [{"text": "new"}]}}, ["GET /files/1"]),
        ("text", {"page": {"id": 1, "title": "t", "text": "new"}}, ["GET /files/1"]),
        ("content", {"kind": "b"}, []),
        ("content", {"content": None}, []),
        ("page", {"page": None, "content": "x"}, []),
    ],
)
def test_record_is_stale_after_a_response_with_null_within_what_was_sent_only(
    hidden: str, body: Any, asked: list[str]
) -> None:
    """Objects, lists and nested records are compared too; a null that was sent, or for what was not, is a value."""
    with small(NOT_ECHOED, Files(hidden)) as session:
        session.call("files.get", id=1)
        session.call("files.partial_update", id=1, body=body)
        assert session.requests("files.get", id=1) == asked


@pytest.mark.parametrize(
    ("change", "response", "known"),
    [
        ("partial_update", NOTHING, {"content": "old"}),
        ("partial_update", {"id": 1}, {}),
        ("update", {"id": 1, "kind": "a"}, {"content": "old"}),
        ("create", {"id": 1}, {}),
    ],
)
def test_value_that_was_sent_ends_with_a_response_of_get_that_leaves_it_out(
    change: str, response: Any, known: dict[str, Any]
) -> None:
    """A server that leaves out null did not store it; also if a response had another value in that place before."""
    file = {"id": 1, "kind": "a", **known}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "GET":
            return file if target != "/files" else [file]
        file.pop("content", None)
        return response

    with small(NOT_ECHOED, answer, World(sqlite=True)) as session:
        arguments = {} if change == "create" else {"id": 1}
        if arguments:
            session.call("files.get", **arguments)
        session.call(f"files.{change}", body={"kind": "a", "content": "sent"}, **arguments)
        session.call("files.get_list")
        assert session.call("files.get", id=1).content is None
        assert session.requests("files.get", id=1) == []
        session.sync()
        assert session.call("files.get", "whole", "other", id=1).content is None


# -- left out nulls


NULLS: Final = """
options: {needs: required}
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, title: string, text: string?, tag: {type: string, default: none}}}
"""


class NotesWithNulls:
    """A server of notes that leaves out what is null."""

    def __init__(self, count: int = 3) -> None:
        self.texts: dict[int, str | None] = {pk: f"t{pk}" for pk in range(1, count + 1)}

    def note(self, pk: int) -> Any:
        """A note as responses have it."""
        text = self.texts[pk]
        return {"id": pk, "title": f"n{pk}", "tag": "a", **({} if text is None else {"text": text})}

    def __call__(self, method: str, target: str, body: Any) -> Any:
        """The response to a request."""
        if target == "/notes":
            return [self.note(pk) for pk in self.texts]
        pk = int(target.rpartition("/")[2])
        if method == "PATCH" and "text" in body:
            self.texts[pk] = body["text"]
        if method == "PATCH" and body.get("title") == "short":
            return {"id": pk, "title": "short"}  # not all of the required fields: it says nothing of others
        if method == "PATCH" and body.get("title") == "silent":
            return {"id": pk, "title": "silent", "tag": "a"}  # all of the required fields, without what was sent
        return self.note(pk)


LEAVING_OUT: Final = {"memory": World(), "asyncio": World(asynchronous=True), "sqlite": World(sqlite=True)}


@pytest.mark.parametrize("world", LEAVING_OUT.values(), ids=LEAVING_OUT.keys())
@pytest.mark.parametrize("count", [3, 100])
def test_field_that_became_null_is_none_after_the_next_response(world: World, count: int) -> None:
    """What is left out by `get` or a list does not keep its old value."""
    server = NotesWithNulls(count)
    with small(NULLS, server, world) as session:
        assert session.call("notes.get_list")[0].text == "t1"
        server.texts[1] = server.texts[2] = None
        assert session.call("notes.get.fetch", id=1).text is None
        assert session.call("notes.get", id=1).text is None
        assert [note.text for note in session.call("notes.get_list.fetch")][:3] == [None, None, "t3"]
        assert session.call("notes.get", id=2).text is None
        if world.sqlite:
            session.sync()
            assert session.call("notes.get", "whole", "other", id=2).text is None


def test_response_to_a_change_that_leaves_out_a_null_field_removes_its_value() -> None:
    """The response to PATCH is a record like any other."""
    server = NotesWithNulls()
    with small(NULLS, server) as session:
        assert session.call("notes.get", id=1).text == "t1"
        session.call("notes.partial_update", id=1, body={"text": None})
        assert session.requests("notes.get", id=1) == []
        assert session.call("notes.get", id=1).text is None


@pytest.mark.parametrize(
    ("body", "text"),
    [({"title": "silent", "text": "new"}, "new"), ({"title": "short"}, "t1")],
    ids=["what was sent", "a required field"],
)
def test_response_to_a_change_says_nothing_of_what_it_leaves_out(body: Any, text: str) -> None:
    """It is no null, and a record without a required field is a part: views show what is known, the next read asks."""
    with small(NULLS, NotesWithNulls()) as session:
        session.call("notes.get", id=1)
        session.call("notes.partial_update", id=1, body=body)
        assert session.bound("notes.get").cached(id=1).text == text
        assert session.requests("notes.get", id=1) == ["GET /notes/1"]


def test_field_that_is_left_out_keeps_its_value_where_all_fields_are_needed() -> None:
    """Without `needs: required` nobody can tell null from a summary: the value stays."""
    server = NotesWithNulls()
    with small(NULLS.replace("options: {needs: required}", ""), server) as session:
        session.call("notes.get", id=1)
        server.texts[1] = None
        session.call("notes.get_list")
        assert session.bound("notes.get").cached(id=1).text == "t1"


@pytest.mark.parametrize(
    ("type", "requests"),
    [
        ("string", ["GET /notes/1"]),
        ("{type: string, default: none}", ["GET /notes/1"]),
        ("{values: any}", ["GET /notes/1"]),
        ("string?", []),
        ("any", []),
    ],
)
def test_field_that_cannot_be_null_is_required(type: str, requests: list[str]) -> None:
    """A record of a summary is a response to `get` if it has all fields that are never null, and so never left out."""
    spec = f"""
options: {{needs: required}}
entities:
  Summary: {{key: Note, fields: {{id: integer, title: string}}}}
  Note: {{extends: Summary, fields: {{more: {type}}}}}
resources:
  notes: {{path: /notes/:id, schema: Note, endpoints: {{get_list: {{schema: [Summary]}}}}}}
"""

    def server(method: str, target: str, body: Any) -> Any:
        note = {"id": 1, "title": "a"}
        return [note] if target == "/notes" else {**note, "more": "b"}

    with small(spec, server) as session:
        session.call("notes.get_list")
        assert session.requests("notes.get", id=1) == requests
