"""Which record a path, a search parameter or a body names."""

from __future__ import annotations

from typing import Any, Final

import pytest
from tests.freshness.driver import Session
from tests.freshness.programs import Step, World
from tests.freshness.server import NOTHING
from tests.freshness.small import small

import restencil

# 4.1


EXPORTS = """
resources:
  exports:
    path: /projects/:id/exports/:export_pk
    schema: {entity: Export, fields: {id: integer, state: string}}
PARAMS
"""

MAPPED = "    params: {export_pk: {field: id}}"


def exports() -> Any:
    """A server of the exports of one project."""
    states = {1: "one", 2: "two", 7: "seven"}

    def answer(method: str, target: str, body: Any) -> Any:
        pk = int(target.rpartition("/")[2]) if not target.endswith("exports") else 0
        if pk and pk not in states:
            return None
        if method == "DELETE":
            del states[pk]
            return NOTHING
        if method == "PATCH":
            states[pk] = body["state"]
            return NOTHING
        return {"id": pk, "state": states[pk]} if pk else [{"id": one, "state": states[one]} for one in states]

    return answer


@pytest.mark.parametrize("params", ["", MAPPED], ids=["unmapped", "mapped"])
def test_outer_parameter_is_never_taken_for_the_primary_key(params: str) -> None:
    """`get(id=1, export_pk=2)` gives export 2, although the parameter of the project is called `id`."""
    with small(EXPORTS.replace("PARAMS", params), exports()) as session:
        assert session.call("exports.get", id=1, export_pk=1).state == "one"
        assert session.call("exports.get", id=1, export_pk=2).state == "two"
        assert session.call("exports.get", id=2, export_pk=1).state == "one"
        session.call("exports.delete", id=1, export_pk=7)
        if params:  # else the delete names no record that is known, and all may ask
            assert session.requests("exports.get", id=1, export_pk=1) == []
        assert session.call("exports.get", id=1, export_pk=1).state == "one"


@pytest.mark.parametrize("params", ["", MAPPED], ids=["unmapped", "mapped"])
def test_delete_removes_what_its_url_was_answered_with(params: str) -> None:
    """`delete(id=1, export_pk=7)` removes export 7, and not export 1."""
    with small(EXPORTS.replace("PARAMS", params), exports()) as session:
        session.call("exports.get_list", id=1)
        session.call("exports.get", id=1, export_pk=7)
        session.call("exports.delete", id=1, export_pk=7)
        assert sorted(one.id for one in session.call("exports.get_list", id=1)) == [1, 2]
        with pytest.raises(restencil.NotFoundError):
            session.call("exports.get", id=1, export_pk=7)


ALIASES = """
resources:
  users:
    path: /users/:login
    schema: {entity: User, pk: login, fields: {login: string, name: string}}
    endpoints: {act: {method: POST, path: /users/:login/act, body: null, schema: null}}
"""


def users() -> Any:
    """A server of two users, of which one is also `me`, and whose names have any case."""
    names = {"ada": "x", "bo": "y"}

    def answer(method: str, target: str, body: Any) -> Any:
        said = target.partition("/users")[2].strip("/").partition("/")[0].lower()
        login = "ada" if said == "me" else said
        if not login:
            return [{"login": one, "name": name} for one, name in names.items()]
        if login not in names:
            return None
        if method == "DELETE":
            del names[login]
        elif method != "GET":
            names[login] = body["name"] if method == "PATCH" else "acted"
        return {"login": login, "name": names[login]} if method == "GET" else NOTHING

    return answer


@pytest.mark.parametrize("change", ["act", "partial_update", "delete"])
@pytest.mark.parametrize("login", ["me", "ADA"])
def test_change_concerns_the_record_that_its_url_was_answered_with(login: str, change: str) -> None:
    """`get(login="me")` returned `ada`, so a change at `/users/me`, or below it, concerns `ada`."""
    with small(ALIASES, users()) as session:
        session.call("users.get_list")
        assert session.call("users.get", login=login).login == "ada"
        body = {"body": {"name": "new"}} if change == "partial_update" else {}
        session.call(f"users.{change}", login=login, **body)
        left = {"act": [("ada", "acted")], "partial_update": [("ada", "new")], "delete": []}[change]
        assert [(one.login, one.name) for one in session.call("users.get_list")] == [*left, ("bo", "y")]
        for asked in (login, "ada"):
            if left:
                assert session.call("users.get", login=asked).name == left[0][1]
            else:
                with pytest.raises(restencil.NotFoundError):
                    session.call("users.get", login=asked)


@pytest.mark.parametrize("change", ["star", "delete"])
@pytest.mark.parametrize(("kind", "pk"), [("integer", "2"), ("uuid", "3f0c5c0e-6f1c-4d53-9d2b-6a4b8d0e5f11")])
def test_change_at_another_name_of_a_record_makes_all_records_stale(kind: str, pk: str, change: str) -> None:
    """`/projects/g%2Fp` is no project whose key is an integer or a UUID, so it may be any of them."""
    spec = f"""
resources:
  projects:
    path: /projects/:id
    params: {{id: string}}
    schema: {{entity: Project, fields: {{id: {kind}, stars: integer}}}}
    endpoints: {{star: {{method: POST, path: /projects/:id/star, body: null, schema: null}}}}
"""
    key = int(pk) if kind == "integer" else pk
    stars: dict[int | str, int] = {key: 0}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "DELETE":
            stars.clear()
            return NOTHING
        if method == "POST":
            stars[key] += 1
            return NOTHING
        projects = [{"id": key, "stars": count} for key, count in stars.items()]
        return projects if target == "/projects" else next(iter(projects), None)

    with small(spec, answer) as session:
        session.call("projects.get", id=pk)
        session.call("projects.get_list")
        session.call(f"projects.{change}", id="g/p")
        assert [one.stars for one in session.call("projects.get_list")] == list(stars.values())
        assert stars or not session.is_fresh("projects.get", {"id": pk})


@pytest.mark.parametrize("params", ["", MAPPED], ids=["unmapped", "mapped"])
def test_get_after_a_list_asks_only_if_nobody_can_tell_which_record_it_is(params: str) -> None:
    """With `export_pk: {field: id}` it finds the record in the list, and else its URL is requested, once."""
    with small(EXPORTS.replace("PARAMS", params), exports()) as session:
        session.call("exports.get_list", id=1)
        asked = [] if params else ["GET /projects/1/exports/2"]
        assert session.requests("exports.get", id=1, export_pk=2) == asked
        assert session.requests("exports.get", id=1, export_pk=2) == []
        assert session.call("exports.get", id=1, export_pk=2).state == "two"


def test_change_under_an_unmapped_parameter_makes_its_record_stale() -> None:
    """A PATCH without a body makes stale what its URL was answered with, and the lists under that path."""
    with small(EXPORTS.replace("PARAMS", ""), exports()) as session:
        session.call("exports.get", id=1, export_pk=2)
        session.call("exports.get_list", id=1)
        session.call("exports.partial_update", id=1, export_pk=2, body={"state": "new"})
        assert session.call("exports.get", id=1, export_pk=2).state == "new"
        assert [one.state for one in session.call("exports.get_list", id=1) if one.id == 2] == ["new"]


COMPOUND = """
entities: {Issue: {pk: [owner, number], fields: {owner: string, number: integer, title: string}}}
resources:
  issues:
    path: /repos/:owner/issues/:number
    schema: Issue
PARAMS
"""

MAPPED_COMPOUND = "    params: {owner: {field: owner}, number: {field: number}}"


@pytest.mark.parametrize("params", ["", MAPPED_COMPOUND], ids=["unmapped", "mapped"])
def test_compound_key_is_found_by_all_of_its_fields(params: str) -> None:
    """Where all fields of a compound key are mapped, `get` finds the record of a list; a delete removes it."""
    rows = [{"owner": "a", "number": 1, "title": "x"}, {"owner": "a", "number": 2, "title": "y"}]

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "DELETE":
            return NOTHING
        return rows if target.endswith("issues") else rows[int(target[-1]) - 1]

    with small(COMPOUND.replace("PARAMS", params), answer) as session:
        session.call("issues.get_list", owner="a")
        asked = session.requests("issues.get", owner="a", number=2)
        assert asked == [] if params else asked in ([], ["GET /repos/a/issues/2"])
        assert session.call("issues.get", owner="a", number=2).title == "y"
        session.call("issues.delete", owner="a", number=2)
        rows.pop()
        assert [one.number for one in session.call("issues.get_list", owner="a")] == [1]


# 4.2


def test_search_parameter_with_field_finds_the_record() -> None:
    """`runs.get(run_id="r")` finds `info.run_id` of a record that a search brought."""
    runs = {"r": {"info": {"run_id": "r", "state": "on"}}, "s": {"info": {"run_id": "s", "state": "off"}}}

    def answer(method: str, target: str, body: Any) -> Any:
        if target.startswith("/runs/search"):
            return {"runs": [*runs.values()]}
        if method == "POST":
            runs[body["run_id"]]["info"]["state"] = body["state"]
            return NOTHING
        return {"run": runs[target[-1]]}

    spec = """
objects: {Info: {run_id: string, state: string}}
entities: {Run: {pk: info.run_id, fields: {info: Info}}}
resources:
  runs:
    endpoints:
      get:
        method: GET
        path: /runs/get
        search_params: {run_id: {type: string, field: info.run_id}}
        schema: Run
        response: {envelope: run}
      search: {path: /runs/search, schema: {runs: [Run]}}
      update:
        method: POST
        path: /runs/update
        body: {run_id: {type: string, field: info.run_id}, state: string}
        schema: Run
"""
    with small(spec, answer) as session:
        session.call("runs.search")
        assert session.requests("runs.get", run_id="s") == []
        assert session.call("runs.get", run_id="s").info.state == "off"
        session.call("runs.update", body={"run_id": "s", "state": "new"})
        assert session.call("runs.get", run_id="s").info.state == "new"
        assert session.requests("runs.get", run_id="r") == []


# 4.3


def test_rpc_delete_removes_the_record_that_its_body_names(session: Session) -> None:
    """`delete(body={"name": "m"})` removes m from what is known."""
    session.call("models.get", name="m")
    session.call("models.get", name="n")
    session.call("models.search")
    session.call("models.delete", "204", body={"name": "m"})
    with pytest.raises(restencil.NotFoundError):
        session.call("models.get", name="m")
    assert [one.name for one in session.call("models.search")["models"]] == ["n"]
    assert session.requests("models.get", name="n") == []


@pytest.mark.parametrize("outcome", ["204", "id", "part", "whole", "lost"])
def test_rpc_change_makes_stale_the_record_that_its_body_names(session: Session, outcome: str) -> None:
    """A change that names its record in the body leaves no old value of it, and no other record stale."""
    session.call("models.get", name="m")
    session.call("models.get", name="n")
    session.call("models.search")
    session.begin(Step("do", 0, "models.stage", {"body": {"name": "m", "stage": "live"}}, outcome))
    assert session.call("models.get", name="m").stage == "live"
    assert {one.name: one.stage for one in session.call("models.search")["models"]}["m"] == "live"
    assert session.requests("models.get", name="n") == []


POSTS = """
entities:
  Note: {fields: {id: integer, post: integer, text: string}}
  Link: {fields: {id: integer, kind: {const: link}, title: string}}
  Post: {fields: {id: integer, kind: {const: post}, title: string, notes: {collection: [Note], nest: {post: id}}}}
resources:
  posts: {path: /posts/:id, schema: Post, optimistic: true}
  things: {path: /things/:id, schema: {union: {link: Link, post: Post}, attribute: kind}, optimistic: true}
"""


@pytest.mark.parametrize("resource", ["posts", "things"], ids=["an entity", "a union"])
def test_partial_update_of_a_record_with_a_nested_list_shows_optimistically(resource: str) -> None:
    """The record with the changes in the body shows at once, and its nested list, of which its class tells, stays."""
    post = {"id": 1, "kind": "post", "title": "a", "notes": [{"id": 1, "post": 1, "text": "n"}]}
    with small(POSTS, lambda method, target, body: {**post, **(body or {})}) as session:
        session.call(f"{resource}.get", id=1)
        session.begin(Step("start", 1, f"{resource}.partial_update", {"id": 1, "body": {"title": "b"}}))
        shown = session.bound(f"{resource}.get").cached(id=1)
        assert (shown.title, [note.text for note in shown.notes]) == ("b", ["n"])
        session.step_held(1, deliver=True)


RPC = """
entities: {Model: {pk: name, fields: {name: string, stage: string}}}
resources:
  models:
    path: /models/:name
    schema: Model
    members: [get, get_list, partial_update, delete]
    optimistic: true
    endpoints:
      partial_update: {method: PATCH, path: /stage, body: {name: string, stage: string}, schema: Model}
      delete: {method: POST, path: /delete, body: {name: string}}
      touch: {method: POST, path: /touch, body: {name: string}, schema: null, expires: [self]}
"""


def test_rpc_change_shows_optimistically_and_expires_self() -> None:
    """A change that takes the key from its body shows at once, and `expires: [self]` names that record."""
    models = {"m": {"name": "m", "stage": "none"}}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            models["m"] = dict(body)
        return models["m"] if method != "POST" else NOTHING

    with small(RPC, answer) as session:
        session.call("models.get", name="m")
        session.begin(Step("start", 1, "models.partial_update", {"body": {"name": "m", "stage": "live"}}))
        assert session.bound("models.get").cached(name="m").stage == "live"
        session.step_held(1, deliver=True)
        assert session.requests("models.get", name="m") == []
        session.call("models.touch", body={"name": "m"})
        assert session.requests("models.get", name="m") == ["GET /models/m"]
        session.begin(Step("start", 2, "models.delete", {"body": {"name": "m"}}))
        assert session.bound("models.get").cached(name="m") is None


# 4.4


@pytest.mark.parametrize("outcome", ["whole", "part", "id"])
def test_response_with_another_key_removes_the_old_record(session: Session, outcome: str) -> None:
    """After a PATCH that changes the primary key the old key asks, and no list shows it."""
    session.call("items.get", id=1)
    session.call("items.get_list")
    session.call("items.get_list", kind="b")
    session.call("items.latest")
    session.call("items.rename", outcome, id=1, body={"id": 5})
    for read, arguments in (("items.get_list", {}), ("items.get_list", {"kind": "b"}), ("items.latest", {})):
        assert session.wrong(read, arguments, session.call(read, **arguments)) is None
    assert session.call("items.get", id=5).title == "t1"
    with pytest.raises(restencil.NotFoundError):
        session.call("items.get", id=1)


# 4.6


@pytest.mark.parametrize("outcome", ["whole", "204"])
def test_lookup_by_another_field_shows_changes_by_key(session: Session, outcome: str) -> None:
    """After a PATCH by key the lookup by name shows the change, or asks."""
    session.call("users.by_name", name="ada")
    session.call("users.partial_update", outcome, id=1, body={"name": "zoe"})
    with pytest.raises(restencil.NotFoundError):
        session.call("users.by_name", name="ada")
    assert session.call("users.by_name", name="zoe").id == 1


def test_lookup_by_another_field_ends_with_the_record(session: Session) -> None:
    """After a delete by key the lookup by name asks."""
    session.call("users.by_name", name="ada")
    session.call("users.delete", "204", id=1)
    with pytest.raises(restencil.NotFoundError):
        session.call("users.by_name", name="ada")


def test_lookup_by_a_field_of_the_spec_finds_a_known_record(session: Session) -> None:
    """Where the spec says `field: name`, a user that came whole by its key is found by its name without a request."""
    session.call("users.get", id=1)
    assert session.requests("users.by_name", name="ada") == []
    assert session.call("users.by_name", name="ada").id == 1


BOXES = """
entities: {Part: {pk: [box, number], fields: {box: string, number: integer}}}
resources:
  boxes:
    path: /boxes/:code
    schema: {entity: Box, pk: code, fields: {code: string, parts: {collection: [Part], nest: {box: code}}}}
  parts: {path: /boxes/:box/parts/:number, schema: Part}
"""


def test_list_of_parents_is_stale_after_a_nested_record_moved(asynchronous: bool) -> None:
    """One parent read again does not make the nested list of another parent fresh."""
    parts = [{"box": "a", "number": 1}, {"box": "b", "number": 2}]

    def box(code: str) -> dict[str, Any]:
        return {"code": code, "parts": [part for part in parts if part["box"] == code]}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            parts[0].update(body)
            return NOTHING
        return [box("a"), box("b")] if target == "/boxes" else box(target[-1])

    with small(BOXES, answer, World(asynchronous=asynchronous)) as session:
        session.call("boxes.get_list")
        session.call("parts.partial_update", box="a", number=1, body={"box": "b"})
        session.call("boxes.get", code="a")
        assert [len(one.parts) for one in session.call("boxes.get_list")] == [0, 2]
        assert session.requests("boxes.get_list") == []


# two lists of one entity


@pytest.mark.parametrize("kind", ["a response", "a record"])
def test_two_lists_of_an_entity_in_one_place_are_two_lists(kind: str) -> None:
    """`open` and `closed` have the same arguments, and each shows its own items; a change makes both stale."""
    spec = """
entities:
  Card: {fields: {id: integer, done: boolean}}
  Board:
    fields:
      id: integer
      open: {collection: [Card], nest: {board: id}}
      closed: {collection: [Card], nest: {board: id}}
resources:
  cards:
    path: /cards/:id
    schema: Card
    endpoints:
      board: {path: /cards/board, method: GET, schema: {open: {collection: [Card]}, closed: {collection: [Card]}}}
  boards: {path: /boards/:id, schema: Board}
"""
    cards = {1: False, 2: True, 3: True}

    def answer(method: str, target: str, body: Any) -> Any:
        if method == "PATCH":
            cards[1] = True
            return {"id": 1, "done": True}
        rows = [{"id": pk, "done": done} for pk, done in cards.items()]
        return {
            "id": 1,
            "open": [row for row in rows if not row["done"]],
            "closed": [row for row in rows if row["done"]],
        }

    def shown(session: Session) -> list[list[int]]:
        value = session.call("cards.board") if kind == "a response" else session.call("boards.get", id=1)
        lists = (value["open"], value["closed"]) if kind == "a response" else (value.open, value.closed)
        return [[card.id for card in one] for one in lists]

    with small(spec, answer) as session:
        assert shown(session) == [[1], [2, 3]]
        session.call("cards.partial_update", id=1, body={"done": True})
        assert shown(session) == [[], [1, 2, 3]]


ARTICLES = """
entities:
  Summary: {key: Article, fields: {id: integer, title: string}}
  Article: {extends: Summary, fields: {body: string}}
resources:
  articles:
    path: /articles/:id
    schema: Article
    search_params: {}
    endpoints: {write: {method: POST, path: /articles/:id/write, body: {body: string}, schema: Summary}}
"""


def test_change_that_returns_a_summary_makes_the_other_fields_stale() -> None:
    """The response of `write` has all fields of a summary, and not the body, which has changed."""
    article = {"id": 1, "title": "a", "body": "old"}

    def answer(method: str, target: str, body: Any) -> Any:
        article.update(body or {})
        found = {name: value for name, value in article.items() if method == "GET" or name != "body"}
        return [found] if target.endswith("articles") else found

    with small(ARTICLES, answer) as session:
        session.call("articles.get_list")
        session.call("articles.write", id=1, body={"body": "new"})
        assert session.call("articles.get", id=1).body == "new"
        assert session.call("articles.get_list")[0].body == "new"


def test_summary_says_nothing_of_fields_that_it_does_not_declare() -> None:
    """A server that has null for what it leaves out of lists takes nothing from `get`."""
    spec = ARTICLES.replace("endpoints: {", "endpoints: {get_list: {schema: [Summary]}, ")

    def answer(method: str, target: str, body: Any) -> Any:
        summary = {"id": 1, "title": "a", "body": None}
        return [summary] if target == "/articles" else {**summary, "body": "b"}

    with small(spec, answer) as session:
        session.call("articles.get_list")
        assert session.call("articles.get", id=1).body == "b"
        session.call("articles.get_list.fetch")
        assert session.call("articles.get", id=1).body == "b"
        assert session.requests("articles.get", id=1) == []


PEOPLE = """
entities: {User: {fields: {id: integer, name: string, team: integer}}}
resources:
  users:
    path: /users/:id
    schema: User
    search_params: {}
    endpoints:
      manager: {path: /users/:id/manager, method: GET, schema: User}
      lead: {path: /teams/:id/lead, method: GET, schema: User}
      wrapped: {path: /users/:id/wrapped, method: GET, schema: {lead: User}}
      both: {path: /members/:id, method: GET, schema: {member: User, lead: User}}
      friends: {path: /users/:id/friends, method: GET, search_params: {}, schema: {collection: [User]}}
      heads: {path: /teams/:team/heads, method: GET, search_params: {}, schema: {collection: [User]}}
      starred:
        path: /users/starred
        method: GET
        search_params: {}
        schema: {query: {collection: [User]}, process: python:tests.freshness.hooks:as_it_is, returns: [User]}
      of_team: {path: /teams/:team/users, method: GET, search_params: {}, schema: {collection: [User]}}
      remove_avatar: {extends: delete, path: /users/:id/avatar}
      sync: {method: PUT, path: /users, body: any, schema: [User]}
      clone: {method: POST, path: /users/:id/clone, body: null, schema: User}
"""


def people() -> Any:
    """A server of two users of one team; the second is the manager, friend, lead and head of all."""
    rows = {1: "ada", 2: "bo"}

    def answer(method: str, target: str, body: Any) -> Any:
        place = target.removeprefix("http://server.test")
        *_, last = place.split("/")
        every = [{"id": pk, "name": name, "team": 7} for pk, name in rows.items()]
        if last == "clone":
            rows[3] = "ada"
            return {"id": 3}
        if method == "PUT":
            rows.clear()
            rows[2] = "bea"
            return [{"id": 2, "name": "bea", "team": 7}]
        if method == "DELETE":
            return NOTHING
        if last in ("manager", "lead"):
            return every[-1]
        if last == "wrapped" or "members" in target:
            return {"member": every[0], "lead": every[-1]}
        if last in ("friends", "heads", "starred"):
            return every[-1:]
        if last == "users":
            return every
        pk = int(last)
        if method == "PATCH":
            rows[pk] = body["name"]
        return {"id": pk, "name": rows[pk], "team": 7} if pk in rows else None

    return answer


@pytest.mark.parametrize("name", ["manager", "lead", "wrapped", "both"])
def test_result_below_a_path_is_not_the_record_of_that_path(name: str) -> None:
    """`/users/1/manager` is some user, and only its own response tells which."""
    with small(PEOPLE, people()) as session:
        session.call("users.get_list")
        session.call("users.get", id=1)
        found = session.call(f"users.{name}", id=1)
        assert (found["lead"] if isinstance(found, dict) else found).id == 2
        assert session.requests(f"users.{name}", id=1) == []


def test_delete_below_a_record_does_not_delete_the_record() -> None:
    """`DELETE /users/1/avatar` makes user 1 stale, and leaves it in its lists."""
    with small(PEOPLE, people()) as session:
        session.call("users.get_list")
        session.call("users.remove_avatar", id=1)
        assert session.requests("users.get", id=1) == ["GET /users/1"]
        assert [user.id for user in session.call("users.get_list")] == [1, 2]


@pytest.mark.parametrize(("name", "arguments"), [("friends", {"id": 1}), ("heads", {"team": 7}), ("starred", {})])
def test_list_below_a_path_of_another_name_follows_no_change(name: str, arguments: dict[str, int]) -> None:
    """User 1 does not join its own friends because it changes, nor the heads of its team."""
    with small(PEOPLE, people()) as session:
        session.call(f"users.{name}", **arguments)
        session.call("users.partial_update", id=1, body={"name": "ann"})
        assert [user.id for user in session.call(f"users.{name}", **arguments)] == [2]


def test_list_below_a_path_of_its_own_name_follows_changes() -> None:
    """`/teams/7/users` are the users whose team is 7."""
    with small(PEOPLE, people()) as session:
        session.call("users.of_team", team=7)
        session.call("users.partial_update", id=1, body={"name": "ann"})
        assert session.requests("users.of_team", team=7) == []
        assert [user.name for user in session.call("users.of_team", team=7)] == ["ann", "bo"]


def test_change_that_returns_several_records_makes_all_others_stale() -> None:
    """A `PUT` of the list removes user 1, of which its response has nothing."""
    with small(PEOPLE, people()) as session:
        session.call("users.get_list")
        session.call("users.sync", body=[])
        assert [user.name for user in session.call("users.get_list")] == ["bea"]
        with pytest.raises(restencil.NotFoundError):
            session.call("users.get", id=1)


def test_action_that_returns_part_of_a_new_record_makes_the_lists_stale() -> None:
    """User 3 is in the list, of which the response had only the key."""
    with small(PEOPLE, people()) as session:
        session.call("users.get_list")
        session.call("users.clone", id=1)
        session.call("users.get", id=1)
        assert [user.id for user in session.call("users.get_list")] == [1, 2, 3]


TRASH = """
resources:
  users:
    path: /users/:id
    schema: {entity: User, fields: {id: integer, name: string}}
    endpoints: {retire: {method: POST, path: "/users/:id/retire", body: null, schema: {invalidate: User}}}
"""


@pytest.mark.parametrize("said", [{"id": 1}, {"id": 1, "name": "ada"}, 1], ids=["key", "record", "scalar"])
def test_invalidate_removes_the_record_that_its_response_names(said: Any) -> None:
    """Also if the response is the arguments of the call again, and the path is one below the record."""

    def answer(method: str, target: str, body: Any) -> Any:
        return said if method == "POST" else [{"id": 1, "name": "ada"}, {"id": 2, "name": "bo"}]

    with small(TRASH, answer) as session:
        session.call("users.get_list")
        assert session.call("users.retire", id=1).name == "ada"
        assert [user.id for user in session.bound("users.get_list").cached()] == [2]


def test_lists_without_follow_keep_changed_entities_and_are_stale() -> None:
    """With `follow: false` only the server says what a list contains."""
    spec = """
resources:
  users:
    path: /users/:id
    schema: {entity: User, fields: {id: integer, active: boolean}}
    search_params: {active: boolean?}
    collection: {follow: false}
"""
    user = {"id": 1, "active": True}

    def answer(method: str, target: str, body: Any) -> Any:
        user.update(body or {})
        return user if method == "PATCH" else [user] if user["active"] else []

    with small(spec, answer) as session:
        assert [one.id for one in session.call("users.get_list", active=True)] == [1]
        session.call("users.partial_update", id=1, body={"active": False})
        assert [one.active for one in session.bound("users.get_list").cached(active=True)] == [False]
        assert session.call("users.get_list", active=True) == []


# -- records without keys


WITHOUT_KEYS: Final = """
entities: {Watch: {pk_optional: true, fields: {id: integer?, title: string, muted: boolean?}}}
resources:
  watches:
    path: /watches/:id
    schema: Watch
    search_params: {muted: boolean?}
    endpoints: {by_key: {path: /watches/by_key, schema: {found: {collection: {values: Watch}}}}}
"""
KEYLESS_WORLDS: Final = {"memory": World(), "sqlite": World(sqlite=True)}


class Watches:
    """A server of watches: its lists have no keys in their records."""

    def __init__(self, *, echoes: bool) -> None:
        self.echoes = echoes
        self.watches: dict[int, dict[str, Any]] = {pk: {"title": f"Watch {pk}", "muted": False} for pk in (1, 2)}

    def __call__(self, method: str, target: str, body: Any) -> Any:
        """The response to a request."""
        pk = int(target.rpartition("/")[2]) if target[-1].isdecimal() else 0
        if target == "/watches/by_key":
            return {"found": {str(pk): one for pk, one in self.watches.items()}}
        if method == "GET":
            kept = [one for one in self.watches.values() if "muted" not in target or not one["muted"]]
            return {"id": pk, **self.watches[pk]} if pk else kept
        if method == "DELETE":
            del self.watches[pk]
            return NOTHING
        pk = pk or 3
        self.watches[pk] = {**self.watches.get(pk, {"muted": False}), **body}
        return {"id": pk, **self.watches[pk]} if self.echoes else NOTHING


@pytest.mark.parametrize("world", KEYLESS_WORLDS.values(), ids=KEYLESS_WORLDS.keys())
@pytest.mark.parametrize("echoes", [True, False], ids=["whole", "nothing"])
@pytest.mark.parametrize(
    ("change", "arguments"),
    [
        ("watches.partial_update", {"id": 1, "body": {"title": "New"}}),
        ("watches.update", {"id": 1, "body": {"title": "New", "muted": True}}),
        ("watches.create", {"body": {"title": "New"}}),
        ("watches.delete", {"id": 1}),
    ],
)
@pytest.mark.parametrize(
    ("read", "read_arguments"),
    [("watches.get_list", {}), ("watches.get_list", {"muted": False}), ("watches.by_key", {})],
)
def test_list_of_records_without_keys_is_stale_after_each_change_of_one(
    read: str, read_arguments: dict[str, Any], change: str, arguments: dict[str, Any], echoes: bool, world: World
) -> None:
    with small(WITHOUT_KEYS, Watches(echoes=echoes), world) as session:
        session.call(read, **read_arguments)
        session.call(change, **arguments)
        assert not session.is_fresh(read, read_arguments)
        session.call(read, **read_arguments)
        assert session.is_fresh(read, read_arguments)


@pytest.mark.parametrize("echoes", [True, False], ids=["whole", "nothing"])
@pytest.mark.parametrize(("reader", "writer"), [("", "other"), ("other", "")])
def test_list_of_records_without_keys_is_stale_after_a_change_of_another_process(
    reader: str, writer: str, echoes: bool
) -> None:
    """Whether or not the process that sends the change has loaded the list."""
    with small(WITHOUT_KEYS, Watches(echoes=echoes), World(sqlite=True)) as session:
        session.call_and_sync("watches.get_list", "whole", reader)
        session.call_and_sync("watches.partial_update", "whole", writer, id=1, body={"title": "New"})
        assert not session.is_fresh("watches.get_list", {}, reader)
        assert not session.is_fresh("watches.get_list", {}, writer)


def test_list_of_records_with_keys_follows_a_change_although_the_key_is_optional() -> None:
    def answer(method: str, target: str, body: Any) -> Any:
        del target
        return {"id": 3, "muted": False, **body} if method == "POST" else [{"id": 1, "title": "A", "muted": False}]

    with small(WITHOUT_KEYS, answer) as session:
        session.call("watches.get_list")
        session.call("watches.create", body={"title": "New"})
        assert session.is_fresh("watches.get_list", {})
        assert len(session.call("watches.get_list")) == 2


def test_nested_list_of_records_without_keys_is_replaced_by_the_response_to_a_change() -> None:
    """Nobody knows which of them the change has left out."""
    spec = """
entities:
  Note: {pk_optional: true, fields: {id: integer?, text: string}}
  Page: {fields: {id: integer, title: string, notes: {collection: [Note]}}}
resources: {pages: {path: "/pages/:id", schema: Page}, notes: {path: "/notes/:id", schema: Note}}
"""
    page: dict[str, Any] = {"id": 1, "title": "Old", "notes": [{"text": "a"}, {"text": "b"}]}

    def answer(method: str, target: str, body: Any) -> Any:
        del target
        page.update({"notes": [{"text": "b"}], **body} if method == "PATCH" else {})
        return page

    with small(spec, answer) as session:
        session.call("pages.get", id=1)
        session.call("pages.partial_update", id=1, body={"title": "New"})
        assert [note.text for note in session.call("pages.get", id=1).notes] == ["b"]
