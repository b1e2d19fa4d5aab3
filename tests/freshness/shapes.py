"""An API of many shapes: its spec, its server, what is read and what is changed.

Unions of entities, records below a parent, references that refer on, compound keys, maps, a singleton and objects that
hold entities: the shapes that the API of `server` does not have.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.freshness.driver import Session
from tests.freshness.programs import Api, Arguments, Reads, Step
from tests.freshness.server import NOTHING, Response
from tests.freshness.spec import generated

import restencil

_SPEC: Final = """\
restencil: 1
package: PACKAGE
url_prefix: http://server.test
options: {data_expiry_length: 60s}
entities:
  User: {fields: {id: integer, name: string, best: Comment?}}
  Text: {fields: {id: integer, type: {const: text}, title: string, author: User?}}
  Video: {fields: {id: integer, type: {const: video}, title: string}}
  Label: {pk: name, fields: {name: string, color: string}}
  Member: {pk: [team, user], fields: {team: integer, user: integer, role: string, who: User?}}
  Comment:
    fields:
      id: integer
      post: integer
      text: string
      open: boolean
      parent: Comment?
      target: {type: {one_of: [User, Label], attribute: kind, values: {u: User, l: Label}}, optional: true}
      replies: {collection: [Comment], nest: {parent: id}}
resources:
  posts:
    path: /posts/:id
    schema: {union: {text: Text, video: Video}, attribute: type}
    search_params: {type: string?}
    optimistic: OPTIMISTIC
    endpoints:
      feed: {path: /feed, search_params: {}, schema: [{union: {text: Text, video: Video}, attribute: type}]}
      top: {path: /posts/top, search_params: {}, schema: {union: {text: Text, video: Video}, attribute: type}}
  comments:
    path: /posts/:post/comments/:id
    schema: Comment
    search_params: {open: boolean?}
    optimistic: OPTIMISTIC
    endpoints:
      close: {method: POST, path: /posts/:post/comments/:id/close, body: null, schema: Comment}
      count: {path: /posts/:post/comments/count, search_params: {}, schema: {count: integer}}
  members:
    path: /teams/:team/members/:user
    schema: Member
    search_params: {role: {type: string?, filter: equals}}
    optimistic: OPTIMISTIC
  labels:
    path: /labels/:name
    schema: Label
    endpoints:
      get_list: {schema: {values: Label}}
      create: {method: POST, path: /labels, body: any, schema: Label}
      colors: {path: /labels/colors, search_params: {}, schema: {values: string}}
  me: {path: /me, singleton: true, schema: User, optimistic: OPTIMISTIC}
  users: {path: /users/:id, schema: User, search_params: {name: {type: string?, filter: equals}}}
  overview:
    endpoints:
      get:
        path: /overview
        method: GET
        schema: {first: {one_of: [Text, Video]}, best: Comment, labels: {values: Label}, members: [Member]}
      deep: {path: /deep, method: GET, schema: [{object: {user: User, comments: [Comment]}}]}
"""

READS: Final[Reads] = (
    *(("posts.get", {"id": pk}) for pk in (1, 2, 3, 4)),
    ("posts.get_list", {}),
    ("posts.get_list", {"type": "text"}),
    ("posts.feed", {}),
    ("posts.top", {}),
    *(("comments.get", {"post": post, "id": pk}) for post, pk in ((1, 1), (1, 2), (2, 3), (1, 4))),
    *(("comments.get_list", {"post": post}) for post in (1, 2)),
    ("comments.get_list", {"post": 1, "open": True}),
    ("comments.count", {"post": 1}),
    *(("members.get", {"team": team, "user": user}) for team, user in ((1, 1), (1, 2), (2, 1))),
    *(("members.get_list", {"team": team}) for team in (1, 2)),
    ("members.get_list", {"team": 1, "role": "dev"}),
    *(("labels.get", {"name": name}) for name in ("red", "blue")),
    ("labels.get_list", {}),
    ("labels.colors", {}),
    ("me.get", {}),
    *(("users.get", {"id": pk}) for pk in (1, 2)),
    ("users.get_list", {}),
    *(("users.get_list", {"name": name}) for name in ("ada", "cy")),
    ("overview.get", {}),
    ("overview.deep", {}),
)
"""What is compared with the server."""

_REFERENCES: Final = ("author", "best", "parent", "who")

Row = dict[str, Any]


@functools.cache
def package(*, optimistic: bool) -> ModuleType:
    """The package of this API."""
    name = "shapes_optimistic" if optimistic else "shapes"
    return generated(_SPEC.replace("PACKAGE", name).replace("OPTIMISTIC", str(optimistic).lower()), name)


class ShapesServer:
    """The tables of this API; `embeds`: references are objects where the response has no other record around them."""

    def __init__(self, *, embeds: bool) -> None:
        self._embeds = embeds
        self._next = 3
        self.users: dict[int, Row] = {1: {"name": "ada", "best": 1}, 2: {"name": "bo", "best": None}}
        self.posts: dict[int, Row] = {
            1: {"type": "text", "title": "t1", "author": 1},
            2: {"type": "video", "title": "v2"},
            3: {"type": "text", "title": "t3", "author": None},
        }
        self.comments: dict[int, Row] = {
            1: {"text": "c1", "open": True, "post": 1, "parent": None, "target": ("u", 1)},
            2: {"text": "c2", "open": False, "post": 1, "parent": 1, "target": ("l", "red")},
            3: {"text": "c3", "open": True, "post": 2, "parent": None, "target": None},
        }
        self.members: dict[tuple[int, int], Row] = {
            (1, 1): {"role": "dev"},
            (1, 2): {"role": "ops"},
            (2, 1): {"role": "dev"},
        }
        self.labels: dict[str, Row] = {"red": {"color": "#f00"}, "blue": {"color": "#00f"}}

    # reading

    def read(self, target: str) -> Any:
        """What a GET of this URL returns now; None for 404."""
        url = urlsplit(target)
        return copy.deepcopy(self._get(_parts(url.path), dict(parse_qsl(url.query))))

    def _get(self, parts: list[str], query: dict[str, str]) -> Any:
        match parts:
            case ["posts"]:
                return [self._post(pk) for pk, row in _in(self.posts) if query.get("type") in (None, row["type"])]
            case ["feed"]:
                return [self._post(pk) for pk, _ in _in(self.posts)]
            case ["posts", "top"]:
                return self._post(min(self.posts)) if self.posts else None
            case ["posts", pk]:
                return self._post(int(pk)) if int(pk) in self.posts else None
            case ["posts", post, "comments"]:
                is_open = query.get("open")
                found = [(pk, row) for pk, row in _in(self.comments) if row["post"] == int(post)]
                return [self._comment(pk) for pk, row in found if is_open in (None, str(row["open"]).lower())]
            case ["posts", post, "comments", "count"]:
                return {"count": sum(row["post"] == int(post) for row in self.comments.values())}
            case ["posts", post, "comments", pk]:
                return self._comment(int(pk)) if self._is_of(pk, post) else None
            case ["teams", team, "members"]:
                found = [(key, row) for key, row in _in(self.members) if key[0] == int(team)]
                return [self._member(key) for key, row in found if query.get("role") in (None, row["role"])]
            case ["teams", team, "members", user]:
                key = int(team), int(user)
                return self._member(key) if key in self.members else None
            case ["labels"]:
                return {name: self._label(name) for name in sorted(self.labels)}
            case ["labels", "colors"]:
                return {name: row["color"] for name, row in _in(self.labels)}
            case ["labels", name]:
                return self._label(name) if name in self.labels else None
            case ["me"]:
                return self._user(1)
            case ["users"]:
                return [self._user(pk) for pk, row in _in(self.users) if query.get("name") in (None, row["name"])]
            case ["users", pk]:
                return self._user(int(pk)) if int(pk) in self.users else None
            case ["overview"] if self.posts and 1 in self.comments:
                labels = {name: self._label(name) for name in sorted(self.labels)}
                members = [self._member(key) for key, _ in _in(self.members)]
                return {
                    "first": self._post(min(self.posts)),
                    "best": self._comment(1),
                    "labels": labels,
                    "members": members,
                }
            case ["deep"]:
                return [{"user": self._user(pk), "comments": self._targeting(pk)} for pk, _ in _in(self.users)]
            case _:
                return None

    def _targeting(self, user: int) -> list[Row]:
        return [self._comment(pk) for pk, row in _in(self.comments) if row["target"] == ("u", user)]

    def _is_of(self, comment: str, post: str) -> bool:
        return self.comments.get(int(comment), {}).get("post") == int(post)

    def _user(self, pk: int, *, inner: bool = False) -> Row:
        best: Any = self.users[pk]["best"]
        if self._embeds and not inner and best is not None:
            best = self._comment(best, inner=True)
        return {"id": pk, "name": self.users[pk]["name"], "best": best}

    def _post(self, pk: int) -> Row:
        row = {"id": pk, **self.posts[pk]}
        if self._embeds and row.get("author") is not None:
            row["author"] = self._user(row["author"], inner=True)
        return row

    def _comment(self, pk: int, *, inner: bool = False) -> Row:
        row: Row = {"id": pk, **self.comments[pk]}
        if row["target"] is not None:
            kind, key = row["target"]
            row["target"] = {"kind": kind, **(self._user(key, inner=True) if kind == "u" else self._label(key))}
        if inner:
            return row
        if self._embeds and row["parent"] is not None:
            row["parent"] = self._comment(row["parent"], inner=True)
        row["replies"] = [self._comment(one, inner=True) for one, other in _in(self.comments) if other["parent"] == pk]
        return row

    def _member(self, key: tuple[int, int]) -> Row:
        who: Any = key[1] if key[1] in self.users else None
        if self._embeds and who is not None:
            who = self._user(who, inner=True)
        return {"team": key[0], "user": key[1], **self.members[key], "who": who}

    def _label(self, name: str) -> Row:
        return {"name": name, **self.labels[name]}

    # answering

    def answer(self, method: str, target: str, headers: dict[str, str], body: Any, outcome: str, /) -> Response:
        """Carry a request out; `outcome` says how a change is answered, as in `server`."""
        if method == "GET":
            found = self.read(target)
            return Response(404, {}) if found is None else Response(200, found)
        if outcome == "refused":
            return Response(500, {})
        parts = _parts(urlsplit(target).path)
        url = self._change(method, ["users", "1"] if parts == ["me"] else parts, body or {})
        if url is None or outcome in ("500", "lost"):
            return Response(404, {}) if url is None else Response(500 if outcome == "500" else 0, NOTHING)
        value = copy.deepcopy(self._get(_parts(url), {})) if url else None
        if value is None or outcome == "204":
            return Response(204, NOTHING)
        if outcome == "id":
            value = {name: value[name] for name in ("id", "type", "team", "user", "color") if name in value}
        return Response(201 if method == "POST" else 200, value)

    def _change(self, method: str, parts: list[str], body: Row) -> str | None:
        """Change a record; the path of what the response shows, empty for nothing, None for 404."""
        match parts:
            case ["posts", pk, "comments", comment, "close"] if self._is_of(comment, pk):
                self.comments[int(comment)]["open"] = False
                return f"/posts/{pk}/comments/{comment}"
            case ["posts", _, "comments", comment] if not self._is_of(comment, parts[1]):
                return None
            case ["posts", post, "comments", *_]:
                new = {"text": "", "open": True, "post": int(post), "parent": None, "target": None}
                return self._write(self.comments, method, parts, body, new)
            case ["posts", *_]:
                new = {"type": "text", "title": "", **({} if body.get("type") == "video" else {"author": None})}
                return self._write(self.posts, method, parts, body, new)
            case ["teams", team, "members"]:
                key = int(team), int(body["user"])
                self.members.setdefault(key, {"role": body["role"]})
                return f"/teams/{team}/members/{key[1]}"
            case ["teams", team, "members", user]:
                return self._written(self.members, (int(team), int(user)), method, "/".join(parts), body)
            case ["labels"]:
                self.labels[body["name"]] = {"color": body["color"]}
                return f"/labels/{body['name']}"
            case ["labels", name]:
                return self._written(self.labels, name, method, "/".join(parts), body)
            case ["users", *_]:
                return self._write(self.users, method, parts, body, {"name": "", "best": None})
            case _:
                return None

    def _write(self, rows: dict[int, Row], method: str, parts: list[str], body: Row, new: Row) -> str | None:
        if method != "POST":
            return self._written(rows, int(parts[-1]), method, "/".join(parts), body)
        pk = self._next = self._next + 1
        rows[pk] = {**new, **{name: value for name, value in body.items() if name in new}}
        self._let_go()
        return f"{'/'.join(parts)}/{pk}"

    def _written(self, rows: dict[Any, Row], key: Any, method: str, path: str, body: Row) -> str | None:
        if key not in rows:
            return None
        if method == "DELETE":
            del rows[key]
        else:
            rows[key].update({name: value for name, value in body.items() if name in rows[key] and value != key})
        self._let_go()
        return "" if method == "DELETE" else path

    def _let_go(self) -> None:
        """Nothing refers to what does not exist."""
        tables = {"author": self.users, "best": self.comments, "parent": self.comments}
        for row in (*self.users.values(), *self.posts.values(), *self.comments.values()):
            row.update({name: None for name, rows in tables.items() if name in row and row[name] not in rows})
            kind, key = row.get("target") or ("", None)
            if kind and key not in (self.users if kind == "u" else self.labels):
                row["target"] = None


def _parts(path: str) -> list[str]:
    return [unquote(part) for part in path.strip("/").split("/")]


def _in(rows: Mapping[Any, Row]) -> list[tuple[Any, Row]]:
    return sorted(rows.items())


# --- programs ---------------------------------------------------------------------------------------------------------


def change(chance: random.Random, outcomes: tuple[str, ...]) -> Step:
    """A change of something, answered in some way."""
    comment: Arguments = dict(zip(("post", "id"), chance.choice(((1, 1), (1, 2), (2, 3))), strict=True))
    member = {"team": chance.choice((1, 2)), "user": chance.choice((1, 2))}
    label, post = chance.choice(("red", "blue", "green")), chance.choice((1, 1, 2, 3, 4))
    role, text = {"role": chance.choice(("dev", "ops"))}, chance.choice("xyz")
    user = chance.choice(({"name": "cy"}, {"name": "ada"}, {"best": 1}, {"best": 2}, {"best": None}))
    edit = chance.choice(({"open": True}, {"open": False}, {"text": text}, {"parent": 1}, {"parent": None}))
    changes: tuple[tuple[str, Arguments], ...] = (
        ("posts.create", {"body": {"type": "text", "title": text, "author": chance.choice((1, 2, None))}}),
        ("posts.create", {"body": {"type": "video", "title": text}}),
        ("posts.partial_update", {"id": post, "body": {"title": text}}),
        ("posts.delete", {"id": post}),
        ("comments.create", {"post": comment["post"], "body": {"text": text, "open": True, "parent": 1}}),
        ("comments.partial_update", {**comment, "body": edit}),
        ("comments.partial_update", {**comment, "body": edit}),
        ("comments.delete", comment),
        ("comments.close", comment),
        ("members.create", {"team": member["team"], "body": {"user": member["user"], **role}}),
        ("members.partial_update", {**member, "body": role}),
        ("members.delete", member),
        ("labels.create", {"body": {"name": label, "color": text}}),
        ("labels.partial_update", {"name": label, "body": {"color": text}}),
        ("labels.delete", {"name": label}),
        ("me.partial_update", {"body": user}),
        ("users.partial_update", {"id": chance.choice((1, 2)), "body": user}),
        ("users.create", {"body": {"name": "cy"}}),
        ("users.delete", {"id": 2}),
    )
    name, arguments = chance.choice(changes)
    outcome = chance.choice(outcomes)
    # A key alone leaves a record below a parent that nobody can request by itself: its other fields show as empty.
    return Step(
        "do", 0, name, arguments, "204" if outcome == "id" and name.startswith(("comments", "labels")) else outcome
    )


def wrong(session: Session, name: str, arguments: Arguments, value: Any) -> str | None:
    """How the value of a read differs from what the server would say; None where it does not."""
    said = session.truth(name, arguments)
    return "the server has none" if said is None else differs(value, said)


def differs(mine: Any, said: Any, place: str = "it") -> str | None:
    """How a value of the client differs from JSON of the server, in members that the JSON has."""
    if isinstance(mine, restencil.Entity):
        if not isinstance(said, dict):
            return None if _key(mine) == str(said) else f"{place} is {mine!r}, the server says {said!r}"
        for name, value in said.items():
            member = None if name == "kind" else getattr(mine, name)
            if member is None and value is not None and name in _REFERENCES:
                key, value = restencil.foreign_key(mine, name), value["id"] if isinstance(value, dict) else value
                found = None if key == value else f"{place}.{name} is {key!r}, the server says {value!r}"
            else:
                found = None if name == "kind" else differs(member, value, f"{place}.{name}")
            if found:
                return found
        return None
    if isinstance(said, list) and isinstance(mine, list | tuple):
        said, mine = _by_key(said), _by_key(mine)
    if isinstance(said, dict) and isinstance(mine, Mapping) and mine.keys() == said.keys():
        members = (differs(mine[name], value, f"{place}.{name}") for name, value in said.items())
        return next(filter(None, members), None)
    return None if mine == said else f"{place} is {mine!r}, the server says {said!r}"


def _key(entity: Any) -> str:
    return str(entity.pk())


def _by_key(items: Any) -> dict[str, Any]:
    """Items by key, as lists promise their members and not their order; by place where they have no key."""
    found: dict[str, Any] = {}
    for at, item in enumerate(items):
        if isinstance(item, restencil.Entity):
            found[_key(item)] = item
        elif isinstance(item, Mapping) and not item.keys().isdisjoint(("id", "team")):
            found[str(item["id"]) if "id" in item else f'["{item["team"]}","{item["user"]}"]'] = item
        else:
            found[str(at)] = item
    return found


SHAPES: Final = Api(
    lambda world: package(optimistic=world.optimistic),
    lambda world: ShapesServer(embeds=world.embeds_owner),
    READS,
    change,
    wrong,
)
