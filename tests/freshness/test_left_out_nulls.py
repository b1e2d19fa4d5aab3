"""Servers that leave out what is null, which `needs: required` declares: an optional field that is left out is null."""

from __future__ import annotations

from typing import Any, Final

import pytest
from tests.freshness.programs import World
from tests.freshness.small import small

SPEC: Final = """
options: {needs: required}
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, title: string, text: string?, tag: {type: string, default: none}}}
"""


class Notes:
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


WORLDS: Final = {"memory": World(), "asyncio": World(asynchronous=True), "sqlite": World(sqlite=True)}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
@pytest.mark.parametrize("count", [3, 100])
def test_field_that_became_null_is_none_after_the_next_response(world: World, count: int) -> None:
    """What is left out by `get` or a list does not keep its old value."""
    server = Notes(count)
    with small(SPEC, server, world) as session:
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
    server = Notes()
    with small(SPEC, server) as session:
        assert session.call("notes.get", id=1).text == "t1"
        session.call("notes.partial_update", id=1, body={"text": None})
        assert session.requests("notes.get", id=1) == []
        assert session.call("notes.get", id=1).text is None


def test_response_to_a_change_that_leaves_out_what_was_sent_says_nothing_of_it() -> None:
    """It is no null: the next read asks."""
    with small(SPEC, Notes()) as session:
        session.call("notes.get", id=1)
        session.call("notes.partial_update", id=1, body={"title": "silent", "text": "new"})
        assert session.bound("notes.get").cached(id=1).text == "new"
        assert session.requests("notes.get", id=1) == ["GET /notes/1"]


def test_response_without_a_required_field_says_nothing_of_others() -> None:
    """Such a record is a part; what is known of the others is stale, and shown by views."""
    with small(SPEC, Notes()) as session:
        session.call("notes.get", id=1)
        session.call("notes.partial_update", id=1, body={"title": "short"})
        assert session.bound("notes.get").cached(id=1).text == "t1"
        assert session.requests("notes.get", id=1) == ["GET /notes/1"]


def test_field_that_is_left_out_keeps_its_value_where_all_fields_are_needed() -> None:
    """Without `needs: required` nobody can tell null from a summary: the value stays."""
    server = Notes()
    with small(SPEC.replace("options: {needs: required}", ""), server) as session:
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
