"""Reads whose arguments do not say what they show: the record that the server chose, and lists by a body or header."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.freshness.driver import Session
from tests.freshness.programs import World
from tests.freshness.small import small

SPEC = """
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, state: boolean, body: string}}
    endpoints:
      latest: {path: /notes/latest, schema: "Note?"}
      overview: {path: /notes/overview, schema: {first: Note, total: integer}}
      search: {method: POST, path: /notes/search, side_effect: false, request: {in_key: true},
               body: {word: string}, schema: {collection: [Note]}}
      shown: {path: /notes/shown, header_params: {state: {type: boolean, optional: true, wire: X-State}},
              schema: {collection: [Note]}}
"""


class Notes:
    """A server of notes, the newest one last."""

    def __init__(self) -> None:
        self.notes = [{"id": 1, "state": True, "body": "one"}]

    def __call__(self, method: str, target: str, body: Any) -> Any:
        if target == "/notes" and method == "POST":
            self.notes.append({"id": len(self.notes) + 1, **body})
            return self.notes[-1]
        if target == "/notes/overview":
            return {"first": self.notes[-1], "total": len(self.notes)}
        return self.notes[-1] if target == "/notes/latest" else self.notes


@pytest.fixture
def session(asynchronous: bool) -> Iterator[Session]:
    """A client of either kind before a server of notes."""
    with small(SPEC, Notes(), World(asynchronous=asynchronous)) as made:
        yield made


@pytest.mark.parametrize(
    ("read", "arguments", "shown"),
    [
        ("notes.latest", {}, lambda note: note.id),
        ("notes.overview", {}, lambda value: value["first"].id),
        ("notes.search", {"body": {"word": "o"}}, lambda notes: notes[-1].id),
        ("notes.shown", {"state": True}, lambda notes: notes[-1].id),
    ],
)
def test_choice_of_the_server_is_stale_after_a_create(
    session: Session, read: str, arguments: dict[str, Any], shown: Callable[[Any], int]
) -> None:
    """What was created may be what the server chooses from now on, and only the server knows."""
    assert shown(session.call(read, **arguments)) == 1
    session.call("notes.create", body={"state": False, "body": "two"})
    assert shown(session.call(read, **arguments)) == 2
    assert session.requests(read, **arguments) == []


VERSIONS = """
entities: {Version: {fields: {id: integer, text: string}}}
resources:
  prompts:
    path: /prompts/:name
    schema: {entity: Prompt, pk: name, fields: {name: string}}
    endpoints: {add: {method: POST, path: "/prompts/:name/versions", body: {text: string}, schema: Version}}
  versions: {path: "/versions/:id", schema: Version}
  newest: {path: "/prompts/:prompt/newest", singleton: true, schema: Version, members: [get]}
"""


class Versions:
    """A server of the versions of a prompt."""

    def __init__(self) -> None:
        self.versions = [{"id": 1, "text": "one"}]

    def __call__(self, method: str, target: str, body: Any) -> Any:
        if method == "POST":
            self.versions.append({"id": len(self.versions) + 1, **body})
        return self.versions[-1]


@pytest.mark.parametrize("change", [("prompts.add", {"name": "p"}), ("versions.create", {})])
def test_choice_of_a_singleton_is_stale_after_a_create(change: tuple[str, dict[str, Any]], asynchronous: bool) -> None:
    """A singleton whose path does not contain the primary key of its entity shows the record that the server chose."""
    with small(VERSIONS, Versions(), World(asynchronous=asynchronous)) as session:
        assert session.call("newest.get", prompt="p").id == 1
        name, arguments = change
        session.call(name, **arguments, body={"text": "two"})
        assert session.call("newest.get", prompt="p").id == 2
        assert session.requests("newest.get", prompt="p") == []
