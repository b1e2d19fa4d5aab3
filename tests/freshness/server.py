"""An honest server in memory: items, users, teams, notes and models, in all the ways that APIs have of answering.

`answer` carries a request out; `outcome` says in which form a change is answered once it was made. `read` says what a
GET would be answered now. Nothing here waits: who delivers responses decides when, and in which order.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

Json = Any
Row = dict[str, Json]

OUTCOMES: Final = ("whole", "part", "id", "204", "ok", "null", "empty", "wrapped", "500", "lost", "refused")
"""How a change is answered.

The record whole; some members of it; its key alone; no body; `{"ok": true}`; null; no body with status 200; the record
in an object that the spec does not have; a 500 after the change was made; no response after the change was made; a 500
before anything was changed.
"""

_EMPTY: Final[dict[str, Any]] = {"ok": {"ok": True}, "null": None, "empty": ..., "wrapped": {"data": {"id": 0}}}
"""Bodies that have nothing of a record."""

SIZE: Final = 2
"""The items of a page."""

OPTIONAL: Final = ("note", "owner", "team")


@dataclass(frozen=True)
class Manners:
    """How this server writes records: owners (or else teams) as objects or as keys, null members, validators."""

    embeds_owner: bool = False
    leaves_out_null: bool = False
    has_etags: bool = False
    has_envelope: bool = False
    needs: str = "all"
    has_max_age: bool = False
    newest_first: bool = False
    items: int = 3
    reuses_keys: bool = False
    upserts: bool = False
    soft: str = ""
    """Where a deleted item still shows: `listed` in the list of every item, `readable` in its `get` as well."""
    cascades: bool = False
    """Whether the items of a team are deleted with it."""


@dataclass
class Response:
    """Status, JSON (`NOTHING` for no body) and headers of a response; status 0 for a connection that broke."""

    status: int
    body: Json
    headers: dict[str, str] = field(default_factory=dict[str, str])


NOTHING: Final[Any] = ...
"""The body of a response that has none."""

_NOT_FOUND: Final = Response(404, {"error": "not found"})


class Server:
    """The tables, and how they are read and changed. `version` rises with each request that may change something."""

    def __init__(self, manners: Manners = Manners()) -> None:
        self.manners = manners
        self.version = 0
        self.items: dict[int, Row] = {
            pk: {
                "title": f"t{pk}",
                "kind": "ab"[pk % 2],
                "state": ("open", "closed")[pk % 2],
                "rank": pk % 2,
                "body": f"b{pk}",
                "note": f"n{pk}",
                "owner": 1 + pk % 2,
                "team": 1 + pk % 2,
                "revision": 1,
            }
            for pk in range(1, manners.items + 1)
        }
        self.gone: dict[int, Row] = {}
        """Items that were deleted and still show somewhere."""
        self.users: dict[int, Row] = {1: {"name": "ada"}, 2: {"name": "bo"}}
        self.teams: dict[int, Row] = {1: {"name": "red", "motto": "go"}, 2: {"name": "blue", "motto": None}}
        self.notes: dict[int, Row] = {1: {"item_id": 1, "text": "x"}, 2: {"item_id": 1, "text": "y"}}
        self.models: dict[str, Row] = {name: {"text": f"the {name}", "stage": "none"} for name in ("m", "n")}
        self.docs: dict[str, Row] = {"d1": {"slug": "one", "text": "x"}}
        self.parts: dict[int, Row] = {1: {"doc": "d1", "text": "p"}}
        self.visits: Counter[int] = Counter()
        self.colors: dict[int, str] = {}
        self.next = {"items": manners.items + 1, "users": 3, "teams": 3, "notes": 3}
        self._read: dict[tuple[int, str], Json] = {}

    # reading

    def read(self, target: str) -> Json:
        """What a GET of this URL would be answered now; None for 404."""
        kept = (self.version, target)
        if kept not in self._read:
            self._read[kept] = self._get(target)[0]
        return self._read[kept]

    def _get(self, target: str) -> tuple[Json, dict[str, str]]:
        url = urlsplit(target)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        query = dict(parse_qsl(url.query))
        match parts:
            case ["items"]:
                rows = [self.item(pk) for pk in self.matching(query)]
                return ({"items": rows, "total": len(rows)} if self.manners.has_envelope else rows), {}
            case ["items", "every"]:
                return [self.item(pk) for pk in sorted({*self.items, *self.gone})], {}
            case ["items", "latest"]:
                return [{"id": pk, "title": row["title"]} for pk, row in sorted(self.items.items())], {}
            case ["items", "titles"]:
                return [row["title"] for _, row in sorted(self.items.items())], {}
            case ["items", "archived"]:
                return [self.item(pk) for pk in self.matching({"state": "closed"})], {}
            case ["items", "board"]:
                return {kind: [self.item(pk) for pk in self.matching({"kind": kind})] for kind in "ab"}, {}
            case ["stats"]:
                return {"count": len(self.users)}, {}
            case ["items", str(style)] if style.startswith("by_"):
                return self._page(style, query, url.path)
            case ["items", pk, "card"]:
                return ({"item": self.item(int(pk))} if int(pk) in self.items else None), {}
            case ["items", pk, "visits"]:
                return ({"count": self.visits[int(pk)]} if int(pk) in self.items else None), {}
            case ["items", pk, "settings"]:
                return (self.settings(int(pk)) if int(pk) in self.items else None), {}
            case ["items", pk, "notes"]:
                rows = [self.note(note) for note, row in sorted(self.notes.items()) if row["item_id"] == int(pk)]
                return (rows if int(pk) in self.items else None), {}
            case ["items", pk, "notes", note]:
                row = self.notes.get(int(note))
                return (self.note(int(note)) if row and row["item_id"] == int(pk) else None), {}
            case ["items", pk]:
                is_there = int(pk) in self.items or (int(pk) in self.gone and self.manners.soft == "readable")
                return (self.item(int(pk)) if is_there else None), {}
            case ["users"]:
                if self.manners.has_envelope:
                    return {"users": [self.user(pk) for pk in sorted(self.users)], "total": len(self.users)}, {}
                return [{"id": pk, "name": row["name"]} for pk, row in sorted(self.users.items())], {}
            case ["users", "newest"]:
                return (self.user(max(self.users)) if self.users else None), {}
            case ["users", "name", name]:
                named = [user for user, row in sorted(self.users.items()) if row["name"] == name]
                return (self.user(named[0]) if named else None), {}
            case ["users", pk]:
                return (self.user(int(pk)) if int(pk) in self.users else None), {}
            case ["teams"]:
                return [self.team(pk) for pk in sorted(self.teams)], {}
            case ["teams", pk]:
                return (self.team(int(pk)) if int(pk) in self.teams else None), {}
            case ["docs"]:
                return [{"id": pk, **row} for pk, row in sorted(self.docs.items())], {}
            case ["docs", "slug", name] | ["docs", name]:
                doc = self._doc(name, is_slug=len(parts) == 3)
                return ({"id": doc, **self.docs[doc]} if doc else None), {}
            case ["docs", "slug", name, "parts"] | ["docs", name, "parts"]:
                doc = self._doc(name, is_slug=len(parts) == 4)
                return [{"id": pk, **row} for pk, row in sorted(self.parts.items()) if row["doc"] == doc], {}
            case ["models", "get"]:
                name = query["name"]
                return (self.model(name) if name in self.models else None), {}
            case ["models", "search"]:
                return {"models": [self.model(name) for name in sorted(self.models)]}, {}
            case _:
                return None, {}

    def matching(self, query: dict[str, str]) -> list[int]:
        """The keys of the items that a list with these arguments has: title contains, all else equals."""
        return [
            pk
            for pk, row in sorted(self.items.items())
            if all(
                value in row["title"] if name == "title" else str(row.get(name)) == value
                for name, value in query.items()
                if name != "order"
            )
        ]

    def _doc(self, name: str, *, is_slug: bool = False) -> str | None:
        """The key of the document with this key or slug."""
        return next((pk for pk, row in self.docs.items() if name == row["slug"] or (name == pk and not is_slug)), None)

    def in_pages(self) -> list[int]:
        """The keys of all items in the order of the paged lists."""
        return sorted(self.items, reverse=self.manners.newest_first)

    def _page(self, style: str, query: dict[str, str], path: str) -> tuple[Json, dict[str, str]]:
        keys = self.in_pages()
        if style in ("by_page", "by_link", "by_url"):
            start = (int(query.get("page", "1")) - 1) * SIZE
        elif style == "by_offset":
            start = int(query.get("offset", "0"))
        else:
            after, sign = query.get("cursor") or query.get("after"), -1 if self.manners.newest_first else 1
            start = sum(1 for pk in keys if after and sign * pk <= sign * int(after))
        shown = keys[start : start + SIZE]
        more = start + SIZE < len(keys)
        if style == "by_page" and start >= max(len(keys), 1):
            return None, {}
        rows = [self.item(pk) for pk in shown]
        following = f"{path}?{urlencode({'page': start // SIZE + 2})}"
        match style:
            case "by_offset":
                return {"items": rows, "total": len(keys)}, {}
            case "by_cursor":
                return {"items": rows, "meta": {"next": str(shown[-1]) if more else None}}, {}
            case "by_header":
                return rows, ({"X-Next": str(shown[-1])} if more else {})
            case "by_last":
                return {"items": rows, "more": more}, {}
            case "by_link":
                return rows, ({"Link": f'<http://server.test{following}>; rel="next"'} if more else {})
            case "by_url":
                return {"items": rows, "next": f"http://server.test{following}" if more else None}, {}
            case _:
                return rows, {}

    # records as they are written

    def item(self, pk: int) -> Row:
        """An item as responses have it."""
        row = {"id": pk, **(self.items.get(pk) or self.gone[pk])}
        row["notes"] = sum(note["item_id"] == pk for note in self.notes.values())
        embedded = "owner" if self.manners.embeds_owner else "team"
        table = self.users if embedded == "owner" else self.teams
        if row[embedded] is not None:
            row[embedded] = {"id": row[embedded], **table[row[embedded]]}
        return self._shown(row)

    def _shown(self, row: Row) -> Row:
        if not self.manners.leaves_out_null:
            return row
        return {name: value for name, value in row.items() if value is not None}

    def user(self, pk: int) -> Row:
        """A user with the items that are owned by it."""
        owned = [self.item(item) for item, row in sorted(self.items.items()) if row["owner"] == pk]
        return {"id": pk, **self.users[pk], "items": owned}

    def team(self, pk: int) -> Row:
        """A team."""
        return self._shown({"id": pk, **self.teams[pk]})

    def note(self, pk: int) -> Row:
        """A note to an item."""
        return {"id": pk, **self.notes[pk]}

    def settings(self, item: int) -> Row:
        """The settings of an item."""
        return {"item_id": item, "color": self.colors.get(item, "red"), "plain": item not in self.colors}

    def model(self, name: str) -> Row:
        """A model."""
        return {"name": name, **self.models[name]}

    # answering

    def answer(self, method: str, target: str, headers: dict[str, str], body: Json, outcome: str) -> Response:
        """Carries a request out; the response, which may arrive much later."""
        response = self._answer(method, target, headers, body, outcome)
        if self.manners.has_max_age:
            response = replace(response, headers={**response.headers, "Cache-Control": "max-age=30"})
        return response

    def _answer(self, method: str, target: str, headers: dict[str, str], body: Json, outcome: str) -> Response:
        if method == "GET":
            found, more = self._get(target)
            found = copy.deepcopy(found)
            if found is None:
                return _NOT_FOUND
            if self.manners.has_etags:
                tag = f'"{hashlib.sha256(json.dumps([found, more]).encode()).hexdigest()[:12]}"'
                more = {**more, "ETag": tag}
                if headers.get("if-none-match") == tag:
                    return Response(304, NOTHING, more)
            return Response(200, found, more)
        if outcome == "refused":
            return Response(500, {"error": "not now"})
        self.version += 1
        parts = urlsplit(target).path.strip("/").split("/")
        response = copy.deepcopy(self._change(method, parts, body, outcome))
        if response.status < 400 and outcome == "500":
            return Response(500, {"error": "late"})
        if response.status < 400 and outcome == "lost":
            return Response(0, NOTHING)
        return response

    def _change(self, method: str, parts: list[str], body: Json, outcome: str) -> Response:
        match method, parts:
            case "POST", ["items"]:
                return self._create("items", body, outcome)
            case "POST", ["items", "bulk"]:
                hit = [pk for pk, row in self.items.items() if row["kind"] == body["kind"]]
                for pk in hit:
                    self._update(pk, body["change"])
                if outcome == "whole":
                    return Response(200, [self.item(pk) for pk in hit])
                if outcome in ("part", "id"):
                    return Response(200, [self._part(self.item(pk), outcome) for pk in hit])
                return self._empty(outcome)
            case "POST", ["teams", pk, "rally"] if int(pk) in self.teams:
                for row in self.items.values():
                    if row["team"] == int(pk):
                        row["rank"] = 1
                return self._empty(outcome)
            case "POST", ["items", "bulk_delete"]:
                for pk in body["ids"]:
                    self._delete("items", pk)
                return self._empty(outcome)
            case "POST", ["items", pk, "visits"] if int(pk) in self.items:
                self.visits[int(pk)] += 1
                self._update(int(pk), body)
                return self._said(self.item(int(pk)), outcome, body)
            case "POST", ["items", pk, "assign"] if int(pk) in self.items and body["owner"] in self.users:
                self._update(int(pk), body)
                return self._said(self.user(body["owner"]), outcome, {})
            case "POST", ["items", pk, "pin"] if int(pk) in self.items:
                self._update(int(pk), body)
                said = self._said(self.item(int(pk)), outcome, body)
                return (
                    said
                    if said.body is NOTHING or outcome in _EMPTY
                    else Response(200, {"item": said.body, "ok": True})
                )
            case "POST", ["teams", pk, "adopt"] if int(pk) in self.teams:
                return self._create("items", {**body, "team": int(pk)}, outcome)
            case "POST", ["items", pk, "mute"] if int(pk) in self.items:
                self._update(int(pk), body)
                return self._empty(outcome)
            case "DELETE", ["items", pk, "visits"] if int(pk) in self.items:
                self.visits[int(pk)] = 0
                return self._empty(outcome)
            case _, ["items", pk, "settings"] if int(pk) in self.items:
                self.colors[int(pk)] = body["color"]
                return self._said(self.settings(int(pk)), outcome, body)
            case "POST", ["items", pk, "notes"] if int(pk) in self.items:
                return self._create("notes", {**body, "item_id": int(pk)}, outcome)
            case _, ["items", pk, "notes", note] if self.notes.get(int(note), {}).get("item_id") == int(pk):
                return self._one(method, "notes", int(note), body, outcome)
            case "POST", [("users" | "teams") as table] | [("users") as table, "join"]:
                return self._create(table, body, outcome, upserts=self.manners.upserts and len(parts) == 1)
            case _, [("items" | "users" | "teams") as table, pk] if pk.isdigit():
                return self._one(method, table, int(pk), body, outcome)
            case _, ["docs", *rest]:
                doc = self._doc(rest[0]) if rest else f"d{len(self.docs) + 1}"
                if doc is None or any(
                    row["slug"] == (body or {}).get("slug") and pk != doc for pk, row in self.docs.items()
                ):
                    return _NOT_FOUND if doc is None else Response(409, {"error": "taken"})
                if len(rest) == 2:
                    pk = max(self.parts, default=0) + 1
                    self.parts[pk] = {"doc": doc, "text": body["text"]}
                    return self._said({"id": pk, **self.parts[pk]}, outcome, body)
                if method == "DELETE":
                    del self.docs[doc]
                    self.parts = {pk: row for pk, row in self.parts.items() if row["doc"] != doc}
                    return self._empty(outcome)
                self.docs.setdefault(doc, {"slug": "", "text": ""}).update(body)
                return self._said({"id": doc, **self.docs[doc]}, outcome, body)
            case "POST", ["models", "create"]:
                if body["name"] in self.models and not self.manners.upserts:
                    return Response(409, {"error": "exists"})
                self.models.setdefault(body["name"], {"stage": "none"})["text"] = body.get("text", "")
                return self._said(self.model(body["name"]), outcome, body)
            case _, ["models", ("update" | "stage" | "delete") as what]:
                name = body["name"]
                if name not in self.models:
                    return _NOT_FOUND
                if what == "delete":
                    del self.models[name]
                    return self._empty(outcome)
                self.models[name].update({key: value for key, value in body.items() if key != "name"})
                return self._said(self.model(name), outcome, body)
            case _:
                return _NOT_FOUND

    def _rows(self, table: str) -> dict[int, Row]:
        rows: dict[int, Row] = getattr(self, table)
        return rows

    def _written(self, table: str, pk: int) -> Row:
        return {"items": self.item, "users": self.user, "teams": self.team, "notes": self.note}[table](pk)

    def _is_taken(self, table: str, body: Row, pk: int = 0) -> bool:
        """Whether another user has this name already: names of users are unique."""
        return table == "users" and any(
            row["name"] == body.get("name") and other != pk for other, row in self.users.items()
        )

    def _create(self, table: str, body: Row, outcome: str, *, upserts: bool = False) -> Response:
        """Create a record; `upserts`: if there is one with this name, the response has that."""
        if self._is_taken(table, body):
            if not upserts:
                return Response(409, {"error": "taken"})
            pk = next(pk for pk, row in self.users.items() if row["name"] == body["name"])
            return self._said(self.user(pk), outcome, body)
        pk = (
            max([0, *self._rows(table), *(self.gone if table == "items" else ())]) + 1
            if self.manners.reuses_keys
            else self.next[table]
        )
        self.next[table] = max(self.next[table], pk + 1)
        self._rows(table)[pk] = {**_new(table), **{name: value for name, value in body.items() if name != "id"}}
        self._let_go()
        said = self._said(self._written(table, pk), outcome, body)
        return Response(201 if said.status == 200 else said.status, said.body)

    def _one(self, method: str, table: str, pk: int, body: Row, outcome: str) -> Response:
        rows = self._rows(table)
        if pk not in rows:
            return _NOT_FOUND
        if method == "DELETE":
            before = self._written(table, pk)
            self._delete(table, pk)
            if outcome == "whole":
                return Response(200, before)
            return self._empty(outcome)
        new = body.get("id", pk)
        if (new != pk and (new in rows or new in self.gone)) or self._is_taken(table, body, pk):
            return Response(409, {"error": "taken"})
        change = {name: value for name, value in body.items() if name not in ("id", "items")}
        if table == "notes":
            change["item_id"] = rows[pk]["item_id"]
        if table == "items":
            change["revision"] = rows[pk]["revision"] + 1
        rows[pk] = {**(_new(table) if method == "PUT" else rows[pk]), **change}
        if new != pk:
            rows[new] = rows.pop(pk)
            self.next[table] = max(self.next[table], new + 1)
            self._let_go()
        self._let_go()
        return self._said(self._written(table, new), outcome, body)

    def _update(self, pk: int, change: Row) -> None:
        self.items[pk].update(change, revision=self.items[pk]["revision"] + 1)
        self._let_go()

    def _delete(self, table: str, pk: int) -> None:
        row = self._rows(table).pop(pk, None)
        if row is not None and table == "items" and self.manners.soft:
            self.gone[pk] = row
        if table == "teams" and self.manners.cascades:
            for item in [item for item, row in self.items.items() if row["team"] == pk]:
                self._delete("items", item)
        self._let_go()

    def _let_go(self) -> None:
        """What refers to nothing refers to null."""
        for row in (*self.items.values(), *self.gone.values()):
            if row["owner"] not in self.users:
                row["owner"] = None
            if row["team"] not in self.teams:
                row["team"] = None
        for of_item in (self.visits, self.colors):
            for pk in [pk for pk in of_item if pk not in self.items]:
                del of_item[pk]
        for pk in [pk for pk, row in self.notes.items() if row["item_id"] not in self.items]:
            del self.notes[pk]

    def _said(self, record: Row, outcome: str, body: Row) -> Response:
        if outcome in ("part", "id"):
            return Response(200, self._part(record, outcome, body))
        if outcome == "wrapped":
            return Response(200, {"data": record})
        return self._empty(outcome) if outcome in ("204", *_EMPTY) else Response(200, record)

    def _part(self, record: Row, outcome: str, body: Row | None = None) -> Row:
        key = next(name for name in ("id", "item_id", "name") if name in record)
        kept = {key} if outcome == "id" else {key, "name", "title", "kind", *(body or {})}
        if self.manners.needs == "required":  # then what has all required members says by omission what is null
            kept -= {"state", "stage", "text", "name"} - {key}
        return {name: value for name, value in record.items() if name in kept}

    def _empty(self, outcome: str) -> Response:
        return Response(200, _EMPTY[outcome]) if outcome in _EMPTY else Response(204, NOTHING)


_NEW: Final[dict[str, Row]] = {
    "items": {
        "title": "t",
        "kind": "a",
        "state": "open",
        "rank": 0,
        "body": "-",
        "note": None,
        "owner": None,
        "team": None,
        "revision": 1,
    },
    "users": {"name": "u"},
    "teams": {"name": "t", "motto": None},
    "notes": {"text": "", "item_id": 1},
}
"""What a record has where a body says nothing."""


def _new(table: str) -> Row:
    return dict(_NEW[table])
