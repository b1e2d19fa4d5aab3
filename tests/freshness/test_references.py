"""References to records that another response returned: who asks for them, and what is no part of a result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.freshness.driver import Session, run
from tests.freshness.programs import World, parse
from tests.freshness.server import NOTHING, Response
from tests.freshness.shapes import SHAPES
from tests.freshness.small import small

import restencil

SPEC = """
options: {data_expiry_length: 60s}
entities:
  User: {fields: {id: integer, name: string, best: Comment?}}
  Label: {fields: {id: integer, color: string}}
resources:
  comments:
    path: /posts/:post/comments/:id
    schema: {entity: Comment, fields: {id: integer, post: integer, text: string, label: Label?}}
  users: {path: /users/:id, schema: User}
  labels: {path: /labels/:id, schema: Label}
  teams:
    path: /teams/:id
    schema: {entity: Team, fields: {id: integer, lead: User?}}
    endpoints: {names: {path: /teams/names, search_params: {}, schema: [Team]}}
"""


class Api:
    """Team 1 is led by user 1, whose best comment is comment 1 of post 1, which has label 1."""

    def __init__(self) -> None:
        self.comments: dict[int, dict[str, Any]] = {1: {"id": 1, "post": 1, "text": "c", "label": 1}}
        self.label: dict[str, Any] | None = {"id": 1, "color": "red"}
        self.name = "ada"

    def __call__(self, method: str, target: str, body: Any) -> Any:
        match method, target.strip("/").split("/"):
            case "GET", ["posts", post, "comments"]:
                return [one for one in self.comments.values() if one["post"] == int(post)]
            case _, ["posts", post, "comments", pk] if self.comments.get(int(pk), {}).get("post") == int(post):
                if method == "GET":
                    return self.comments[int(pk)]
                self.comments[int(pk)].update(body)
                return Response(500, {})
            case "GET", ["users", "1"]:
                return {"id": 1, "name": self.name, "best": 1}
            case "PATCH", ["users", "1"]:
                self.name = body["name"]
                return Response(500, {})
            case "GET", ["labels", "1"]:
                return self.label
            case "DELETE", ["labels", "1"]:
                self.label, self.comments[1]["label"] = None, None
                return Response(500, {})
            case "GET", ["teams", "1"]:
                return {"id": 1, "lead": 1}
            case "GET", ["teams", "names"]:
                return [{"id": 1}]
            case _:
                return None


@pytest.fixture
def session(asynchronous: bool) -> Iterator[Session]:
    """A client of either kind before the server."""
    with small(SPEC, Api(), World(asynchronous=asynchronous)) as made:
        yield made


def test_reference_below_a_parent_is_requested_with_the_fields_of_its_record(session: Session) -> None:
    """`get` of a comment needs its post, which its record tells."""
    session.call("comments.get", post=1, id=1)
    session.call("users.get", id=1)
    with pytest.raises(restencil.ServerError):
        session.call("comments.partial_update", post=1, id=1, body={"text": "d"})
    before = len(session.network.exchanges)
    assert session.call("users.get", id=1).best.text == "d"
    assert session.asked(before) == ["GET /posts/1/comments/1"]
    assert session.requests("users.get", id=1) == []


def test_reference_that_is_gone_is_asked_of_the_record_that_refers_to_it(session: Session) -> None:
    """A new response of the result itself says nothing of a record two references away."""
    session.call("labels.get", id=1)
    session.call("comments.get", post=1, id=1)
    session.call("users.get", id=1)
    session.call("teams.get", id=1)
    with pytest.raises(restencil.ServerError):
        session.call("labels.delete", id=1)
    assert session.call("teams.get", id=1).lead.best.label is None
    assert session.requests("teams.get", id=1) == []


def test_record_of_another_parent_is_not_what_a_path_names(session: Session) -> None:
    """Comment 1 belongs to post 1, so the path of comment 1 of post 2 has to be requested."""
    session.call("comments.get_list", post=1)
    assert session.requests("comments.get", post=1, id=1) == []
    before = len(session.network.exchanges)
    with pytest.raises(restencil.NotFoundError):
        session.call("comments.get", post=2, id=1)
    assert session.asked(before) == ["GET /posts/2/comments/1"]


def test_field_that_a_response_left_out_is_no_part_of_its_result(session: Session) -> None:
    """The leads of teams show in a list that has only their keys, and do not make it stale."""
    session.call("users.get", id=1)
    session.call("teams.get", id=1)
    session.call("teams.names")
    with pytest.raises(restencil.ServerError):
        session.call("users.partial_update", id=1, body={"name": "bo"})
    assert session.requests("teams.names") == []
    assert session.requests("teams.get", id=1) == ["GET /users/1"]


MOVES = """
entities: {Issue: {indexes: [team], fields: {id: integer, team: integer, title: string}}}
resources:
  team_issues: {path: /teams/:team/issues/:id, schema: Issue}
  issues: {path: /issues/:id, schema: Issue}
"""


class Tracker:
    """Issue 1 of team 1, which may move to another team. If `lenient`, the path of any team finds it."""

    def __init__(self, *, lenient: bool = False) -> None:
        self.issue = {"id": 1, "team": 1, "title": "t"}
        self.lenient = lenient

    def __call__(self, method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            self.issue = {**self.issue, **body}
        match target.strip("/").split("/"):
            case ["teams", team, "issues", "1"] if self.lenient or team == str(self.issue["team"]):
                return self.issue
            case ["issues", "1"]:
                return self.issue
            case ["issues"]:
                return [self.issue]
            case _:
                return None


@pytest.mark.parametrize("sqlite", [False, True], ids=["memory", "sqlite"])
@pytest.mark.parametrize("how", ["issues.partial_update", "issues.get.fetch", "issues.get_list"])
def test_record_that_moved_to_another_parent_is_not_what_its_old_path_names(how: str, sqlite: bool) -> None:
    """Issue 1 was requested as an issue of team 1; since it is one of team 2, that path has to be requested again."""
    server = Tracker()
    with small(MOVES, server, World(sqlite=sqlite)) as session:
        session.call("team_issues.get", team=1, id=1)
        if how == "issues.partial_update":
            session.call(how, id=1, body={"team": 2})
        else:
            server.issue = {**server.issue, "team": 2}
            session.call(how, **({} if how == "issues.get_list" else {"id": 1}))
        if sqlite:
            session.again(from_dump=False)
        assert session.requests("team_issues.get", team=2, id=1) == []
        before = len(session.network.exchanges)
        with pytest.raises(restencil.NotFoundError):
            session.call("team_issues.get", team=1, id=1)
        assert session.asked(before) == ["GET /teams/1/issues/1"]


@pytest.mark.parametrize("sqlite", [False, True], ids=["memory", "sqlite"])
def test_record_whose_own_response_has_another_value_than_the_path_is_what_it_names(sqlite: bool) -> None:
    """A path may name a parent by another value than the field has; other responses with that field change nothing."""
    with small(MOVES, Tracker(lenient=True), World(sqlite=sqlite)) as session:
        session.call("team_issues.get", team=2, id=1)
        session.call("issues.get.fetch", id=1)
        if sqlite:
            session.again(from_dump=False)
        assert session.requests("team_issues.get", team=2, id=1) == []
        assert session.requests("team_issues.get", team=3, id=1) == ["GET /teams/3/issues/1"]


def test_live_reads_of_a_record_by_paths_of_several_parents_do_not_end_each_others_freshness() -> None:
    """The response to one live read is no reason for the next one to request its own again."""
    with small(MOVES, Tracker(lenient=True)) as session:
        for team in (2, 3):
            session.watch("team_issues.get", {"team": team, "id": 1}, [])
        session.advance(1000)
        assert session.asked(0) == ["GET /teams/2/issues/1", "GET /teams/3/issues/1"]


UNION = """
entities:
  Thing: {abstract: true, SHARED fields: {id: integer, kind: string}}
  Link: {extends: Thing, fields: {kind: {const: link}}}
  Post: {extends: Thing, fields: {kind: {const: post}, notes: {collection: [Note], nest: {post: id}}}}
  Note: {fields: {id: integer, post: integer}}
  Mark: {fields: {id: integer, target: {one_of: [Link, Post], attribute: kind, values: {link: Link, post: Post}}}}
resources:
  marks: {path: /marks/:id, schema: Mark}
  links: {path: /links/:id, schema: Link}
  things:
    path: /things/:id
    schema: {union: {link: Link, post: Post}, attribute: kind}
    endpoints: {convert: {method: POST, path: /things/:id/convert, body: {kind: string}}}
"""
ONE_TABLE = UNION.replace("SHARED", "key: Thing,")
TWO_TABLES = UNION.replace("SHARED", "")


class Things:
    """Things of two kinds, links with ids of their own, and a mark of the first thing."""

    def __init__(self) -> None:
        self.kinds = {1: "link", 2: "post"}

    def thing(self, pk: int) -> Any:
        notes = {"notes": [{"id": 7, "post": pk}]} if self.kinds[pk] == "post" else {}
        return {"id": pk, "kind": self.kinds[pk], **notes}

    def answer(self, method: str, target: str, body: Any) -> Any:
        if target == "/links":
            return [{"id": pk, "kind": "link"} for pk in (2, 3)]
        if target.startswith("/marks"):
            return [{"id": 1, "target": self.thing(1)}]
        if target == "/things":
            return [self.thing(pk) for pk in self.kinds]
        pk = int(target.split("/")[2])
        if method == "DELETE":
            del self.kinds[pk]
            return NOTHING
        if method != "GET":
            self.kinds[pk] = body["kind"]
        return self.thing(pk) if pk in self.kinds else None


@pytest.mark.parametrize("change", ["convert", "partial_update"])
@pytest.mark.parametrize("spec", [ONE_TABLE, TWO_TABLES], ids=["one table", "two tables"])
def test_union_record_that_was_converted_is_of_its_new_class_wherever_it_is_shown(spec: str, change: str) -> None:
    """Lists and references show the class that the record has now, without a request of the old one."""
    things = Things()
    with small(spec, things.answer) as session:
        session.call("things.get_list")
        session.call("things.get", id=1)
        assert type(session.call("marks.get_list")[0].target).__name__ == "Link"
        session.call(f"things.{change}", id=1, body={"kind": "post"})
        shown = {item.id: item for item in session.call("things.get_list")}
        for found in (shown[1], session.call("things.get", id=1), session.call("marks.get_list")[0].target):
            assert (type(found).__name__, [note.id for note in found.notes]) == ("Post", [7])


def test_union_record_known_from_a_list_is_the_object_of_that_list() -> None:
    """`get` of a union finds the class of the record by its attribute, and needs no request."""
    with small(ONE_TABLE, Things().answer) as session:
        post = session.call("things.get_list")[1]
        assert session.call("things.get", id=2) is post
        assert session.asked(0) == ["GET /things"]


def test_union_of_several_tables_takes_no_record_of_another_resource() -> None:
    """Link 2 of `links` is not thing 2, which is a post; deleting thing 2 leaves it."""
    things = Things()
    with small(TWO_TABLES, things.answer) as session:
        session.call("links.get_list")
        assert type(session.call("things.get", id=2)).__name__ == "Post"
        session.call("things.delete", id=2)
        assert [link.id for link in session.call("links.get_list")] == [2, 3]
        with pytest.raises(restencil.NotFoundError):
            session.call("things.get", id=2)


def test_union_of_several_tables_deletes_no_record_of_an_unknown_kind() -> None:
    """Without a result of `get`, nothing says which record the path names: what may be it is requested again."""
    with small(TWO_TABLES, Things().answer) as session:
        session.call("links.get_list")
        session.call("things.delete", id=2)
        assert [link.id for link in session.call("links.get_list")] == [2, 3]


TITLED = """
entities:
  Thing: {abstract: true, SHARED fields: {id: integer, kind: string, title: string}}
  Link: {extends: Thing, fields: {kind: {const: link}, url: string?}}
  Post: {extends: Thing, fields: {kind: {const: post}, text: string?}}
resources:
  links: {path: /links/:id, schema: Link}
  things: {path: /things/:id, schema: {union: {link: Link, post: Post}, attribute: kind}}
"""
TITLED_ONE_TABLE, TITLED_TWO_TABLES = TITLED.replace("SHARED", "key: Thing,"), TITLED.replace("SHARED", "")


class TitledThings:
    """A post, a link with its id, and changes that are answered by 204."""

    def __init__(self) -> None:
        self.post = {"id": 2, "kind": "post", "title": "a", "text": "t"}

    def answer(self, method: str, target: str, body: Any) -> Any:
        if target == "/links":
            return [{"id": 2, "kind": "link", "title": "l", "url": "u"}]
        if method != "GET":
            return NOTHING
        return [self.post] if target == "/things" else self.post


def described(thing: Any) -> tuple[str, int, str, object]:
    return type(thing).__name__, thing.id, thing.title, getattr(thing, "text", None)


@pytest.mark.parametrize("spec", [TITLED_ONE_TABLE, TITLED_TWO_TABLES], ids=["one table", "two tables"])
def test_change_of_a_union_answered_by_nothing_gives_the_known_record_with_what_was_sent(spec: str) -> None:
    """The class is that of the record; fields that were not sent stay with PATCH, and with PUT they do not."""
    with small(spec, TitledThings().answer) as session:
        session.call("things.get", id=2)
        found = session.call("things.partial_update", id=2, body={"title": "b"})
        assert described(found) == ("Post", 2, "b", "t")
        found = session.call("things.update", id=2, body={"kind": "post", "title": "c"})
        assert described(found) == ("Post", 2, "c", None)


@pytest.mark.parametrize("spec", [TITLED_ONE_TABLE, TITLED_TWO_TABLES], ids=["one table", "two tables"])
@pytest.mark.parametrize(("change", "given"), [("things.update", {"id": 2}), ("things.create", {})])
def test_change_of_an_unknown_union_record_is_of_the_class_that_the_body_names(
    change: str, given: dict[str, Any], spec: str
) -> None:
    body = {"id": 2, "kind": "post", "title": "b", "text": "n"}
    with small(spec, TitledThings().answer) as session:
        assert described(session.call(change, **given, body=body)) == ("Post", 2, "b", "n")


def test_change_of_a_union_record_of_unknown_class_gives_none() -> None:
    """The link of this primary key is one of another resource; the changed record is requested."""
    with small(TITLED_TWO_TABLES, TitledThings().answer) as session:
        session.call("links.get_list")
        assert session.call("things.partial_update", id=2, body={"title": "b"}) is None
        assert described(session.call("things.get", id=2)) == ("Post", 2, "a", "t")


def test_list_is_requested_after_a_deletion_between_it_and_an_earlier_request_of_its_reference() -> None:
    """The 404 was requested before the list, and is newer than it: the list refers to a record that was there then."""
    program = parse("""
        world
        start 6: overview.deep()
        start 19: users.delete(id=2) -> lost
        start 25: users.get(id=2)
        watch members.get_list(team=1)
        """)
    assert run(program, SHAPES).differences == []
