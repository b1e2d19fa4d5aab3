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


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A client of either kind before a server of notes."""
    with small(SPEC, Notes(), World(asynchronous=request.param)) as made:
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
