"""Changes whose responses say little, among optimistic ones, in any order: in the end a call gives what the server has.

Notes have a number as primary key and are addressed by a word. An update and a deletion are answered by nothing, what
publishes says only that it was done, and all may be under way at the same time as optimistic changes and reads.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from restencil.testing import Answer, FakeClock, MockServer
from restencil_generator.api import generate

SPEC = """
restencil: 1
package: left_stale
url_prefix: http://mock
resources:
  notes:
    path: /notes/:slug
    schema: {entity: Note, fields: {id: {type: integer, read_only: true}, slug: string, text: string, seen: integer}}
    optimistic: true
    endpoints:
      update: {response: {empty: merge}}
      publish:
        method: POST
        path: /notes/:slug/publish
        response: {ignore: true}
        schema: null
        expires: [self, get_list]
"""
SLUGS = ("a", "b", "c")
CHANGES = ("update", "partial_update", "publish", "delete", "push", "get", "get_list")
DELAYS = (0, 10, 30, 70)
PROGRAMS = st.lists(
    st.tuples(
        st.sampled_from(CHANGES), st.sampled_from(SLUGS), st.sampled_from(DELAYS), st.sampled_from((0, 5, 20, 100))
    ),
    max_size=9,
)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package of the spec above."""
    folder = tmp_path_factory.mktemp("left_stale")
    spec = folder / "left_stale.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    for name, text in generate(spec).items():
        file = folder / "src" / "left_stale" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder / "src"))
    try:
        yield importlib.import_module("left_stale")
    finally:
        sys.path.remove(str(folder / "src"))


class Desk:
    """The server: it does what is asked when the request comes, and answers later."""

    def __init__(self, clock: FakeClock) -> None:
        self.notes: dict[str, dict[str, Any]] = {
            slug: {"id": number, "slug": slug, "text": slug, "seen": 0} for number, slug in enumerate(SLUGS, 1)
        }
        self.delay = 0
        self.server = MockServer(clock, respond=self._answer)

    def _answer(self, request: Any) -> Answer:
        path = request.url.partition("/notes")[2].strip("/")
        slug, _, word = path.partition("/")
        status, found = self._done(request.method, slug, word, json.loads(request.content or b"null"))
        return Answer(status, json=found, delay=self.delay) if found is not None else Answer(status, delay=self.delay)

    def _done(self, method: str, slug: str, word: str, body: Any) -> tuple[int, Any]:
        if not slug:
            if method == "GET":
                return 200, [dict(note) for note in self.notes.values()]
            made: dict[str, Any] = {"seen": 0, "text": "", **body, "id": 10 + len(self.notes) + int(body["slug"][3:])}
            self.notes[made["slug"]] = made
            return 201, dict(made)
        note = self.notes.get(slug)
        if note is None:
            return 404, {"error": "gone"}
        if method == "DELETE":
            del self.notes[slug]
            return 204, None
        if word == "publish":
            note["seen"] += 100
            return 200, {"ok": True}
        if method in ("PUT", "PATCH"):
            note.update(body)
            note["seen"] += 1
        return (204, None) if method == "PUT" else (200, dict(note))


def call(client: Any, step: str, slug: str, number: int) -> Any:
    """The call of one step: an awaitable of its value in code for asyncio."""
    notes = client.notes
    if step == "push":
        return notes.get_list.push(body={"slug": f"new{number}", "text": "new"})
    if step == "get_list":
        return notes.get_list()
    if step in ("update", "partial_update"):
        return getattr(notes, step)(slug=slug, body={"slug": slug, "text": f"text {number}"})
    return getattr(notes, step)(slug=slug)


@pytest.mark.parametrize("world", ["sync", "async"])
def test_left_stale_call_gives_what_the_server_has_after_changes_that_say_little(package: Any, world: str) -> None:
    """Each note and the list, read once when nothing is under way, are those of the server (rules 1.1 and 3.3)."""

    @settings(deadline=None)
    @given(PROGRAMS)
    def check(program: list[tuple[str, str, int, int]]) -> None:
        clock = FakeClock()
        desk = Desk(clock)
        store = clock.store()
        with closing(clock):
            if world == "sync":
                client = package.LeftStale(store=store, client=desk.server.client())
            else:
                client = package.AsyncLeftStale(store=store, client=desk.server.async_client())
            clock.run(lambda: client.notes.get_list())
            running = []
            for number, (step, slug, delay, pause) in enumerate(program):
                if step not in ("push", "get_list") and slug not in desk.notes:
                    continue
                desk.delay = delay
                running.append(clock.start(partial(call, client, step, slug, number)))
                clock.advance(pause)
            desk.delay = 0
            clock.advance(1_000)
            for task in running:
                assert task.done
            # A call waits for fresh data, so each is read once.
            listed = clock.run(lambda: client.notes.get_list())
            shown = {slug: clock.run(partial(client.notes.get, slug=slug)) for slug in desk.notes}
            # Of two that were added at the same time no one knows here which the server did first.
            assert {note.slug: note.to_dict() for note in listed} == desk.notes, program
            assert {slug: note.to_dict() for slug, note in shown.items()} == desk.notes, program

    check()
