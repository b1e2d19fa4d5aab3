"""Search arguments of a read of one record, such as a language, may select another representation of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.freshness.driver import Session
from tests.freshness.programs import World
from tests.freshness.small import client_before, package_of, small
from tests.libraries import httpx
from tests.storages import PatientStore

import restencil

SPEC = """
entities:
  Author: {fields: {id: integer, name: string}}
  File: {fields: {id: integer, path: string, content: string?, owner: Author}}
resources:
  authors: {path: /authors/:id, schema: Author}
  files:
    path: /files/:id
    schema: File
    endpoints:
      get: {search_params: {content: integer?, ref: string?}}
      find: {path: /files/find, search_params: {path: string}, schema: File}
"""


def server() -> Any:
    """Files, whose content `?content=0` leaves out as null, and `?ref=…` gives as it was there."""
    contents = {1: "now", 2: "two"}
    names = {1: "Ada"}

    def file(pk: int, query: str) -> dict[str, Any]:
        content = None if "content=0" in query else f"at {query[4:]}" if query.startswith("ref=") else contents[pk]
        return {"id": pk, "path": f"{pk}.txt", "content": content, "owner": {"id": 1, "name": names[1]}}

    def answer(method: str, target: str, body: Any) -> Any:
        path, _, query = target.partition("?")
        last = path.rpartition("/")[2]
        if path.startswith("/authors"):
            return {"id": 1, "name": names[1]}
        if last == "find":
            return file(int(query[5:6]), "")
        if last == "files":
            return [file(pk, query) for pk in contents]
        if method == "PATCH":
            contents[int(last)] = body["content"]
        return file(int(last), query)

    return answer


@pytest.fixture
def session() -> Iterator[Session]:
    """A client before a server of files."""
    with small(SPEC, server()) as session:
        yield session


def test_record_is_requested_again_after_another_representation_of_it(session: Session) -> None:
    """`get(id=1, content=0)` brings no content, and leaves neither `get(id=1)` nor a list without it as fresh."""
    session.call("files.get_list")
    assert session.call("files.get", id=1).content == "now"
    assert session.call("files.get", id=1, content=0).content is None
    assert session.call("files.get", id=1).content == "now"
    assert session.requests("files.get", id=1) == []
    assert session.call("files.get_list")[0].content == "now"
    assert session.call("files.find", path="1.txt").content == "now"


def test_representation_is_requested_again_after_another_one(session: Session) -> None:
    """Of several representations, the one that was requested last is fresh."""
    assert session.call("files.get", id=1, ref="a").content == "at a"
    assert session.requests("files.get", id=1, ref="a") == []
    assert session.call("files.get", id=1, ref="b").content == "at b"
    assert session.call("files.get", id=1, ref="a").content == "at a"
    assert session.call("files.get", id=1).content == "now"
    assert session.call("files.get", id=1, ref="a").content == "at a"


def test_representation_is_requested_again_after_a_change(session: Session) -> None:
    """The response to a change says nothing about other representations."""
    session.call("files.get", id=1, content=0)
    session.call("files.partial_update", id=1, body={"content": "new"})
    assert session.requests("files.get", id=1) == []
    assert session.requests("files.get", id=1, content=0) == ["GET /files/1?content=0"]


def test_records_in_a_representation_are_requested_for_themselves(session: Session) -> None:
    """Search arguments may also select how the records in a record are shown."""
    session.call("files.get", id=1, ref="a")
    assert session.requests("authors.get", id=1) == ["GET /authors/1"]
    assert session.requests("authors.get", id=1) == []


def test_search_argument_that_is_null_selects_nothing(session: Session) -> None:
    """`get(id=1, ref=None)` is `get(id=1)`."""
    session.call("files.get_list")
    assert session.requests("files.get", id=1, ref=None) == []


@pytest.mark.parametrize("params", ["{}", "{post_id: {field: post}}"], ids=["unmapped", "mapped"])
def test_parameter_of_the_path_or_of_a_field_selects_no_representation(params: str) -> None:
    """What a path names identifies a record, whatever the field is called, and its responses are stored."""
    spec = f"""
entities: {{Comment: {{fields: {{id: integer, post: integer, text: string}}}}}}
resources:
  comments:
    path: /posts/:post_id/comments/:id
    schema: Comment
    params: {params}
    endpoints: {{named: {{path: "/comments/named/:name", params: {{name: {{field: text}}}}, schema: Comment}}}}
"""
    comment = {"id": 1, "post": 2, "text": "x"}

    def answer(method: str, target: str, body: Any) -> Any:
        return [comment] if target.endswith("/comments") else comment

    with small(spec, answer, World(sqlite=True)) as session:
        session.call("comments.get_list", post_id=2)
        session.call("comments.named", name="x")
        session.call("comments.get.fetch", post_id=2, id=1)
        session.again(from_dump=False)
        assert session.requests("comments.get_list", post_id=2) == []
        assert session.requests("comments.get", post_id=2, id=1) == []
        assert session.requests("comments.named", name="x") == []


def test_live_reads_request_each_representation_once(asynchronous: bool) -> None:
    """The request of another representation is no reason to request one again; a change is."""
    with small(SPEC, server(), World(asynchronous=asynchronous)) as session:
        seen: list[Any] = []
        session.watch("files.get", {"id": 1}, seen)
        session.watch("files.get", {"id": 1, "ref": "a"}, seen)
        session.watch("files.get", {"id": 1, "ref": "b"}, seen)
        for _ in range(4):
            session.settle()
        since = len(session.asked(0))
        for _ in range(4):
            session.settle()
        assert len(session.asked(0)) == since == 3
        session.call("files.partial_update", id=1, body={"content": "new"})
        for _ in range(4):
            session.settle()
        asked = session.asked(since)
        assert {"GET /files/1?ref=a", "GET /files/1?ref=b"} <= {*asked}
        assert len(asked) == len({*asked})


@pytest.mark.parametrize("from_dump", [False, True], ids=["sqlite", "dump"])
def test_representation_is_never_stored(from_dump: bool) -> None:
    """After reopening, the record is as its own response had it, or is requested."""
    with small(SPEC, server(), World(sqlite=not from_dump)) as session:
        session.call("files.get", id=1)
        session.call("files.get", id=1, ref="a")
        session.again(from_dump=from_dump)
        assert session.call("files.get", id=1).content == "now"
        assert session.call("files.get", id=1, ref="a").content == "at a"


LANGUAGES = """
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, title: string}}
    search_params: {lang: string?, title: string?}
    endpoints: {get: {search_params: {lang: string?}}}
    pagination_field: page
    pagination: {style: page}
"""


def notes(method: str, target: str, body: Any) -> Any:
    """One note with a German title; its list has one page."""
    path, _, query = target.partition("?")
    note = {"id": 1, "title": "Hallo" if "lang=de" in query else "Hello"}
    if path != "/notes":
        return note
    return [] if "page=2" in query else [note]


def test_argument_that_get_has_too_selects_a_representation_in_lists(asynchronous: bool) -> None:
    """`get_list(lang="de")` answers no `get(id=1)`, and shows no English titles."""
    with small(LANGUAGES, notes, World(asynchronous=asynchronous)) as session:
        assert session.call("notes.get_list", lang="de")[0].title == "Hallo"
        assert session.requests("notes.get_list", lang="de") == []
        assert session.call("notes.get", id=1).title == "Hello"
        assert session.requests("notes.get", id=1) == []
        assert session.call("notes.get_list", lang="de")[0].title == "Hallo"
        assert session.call("notes.get_list")[0].title == "Hello"
        assert session.requests("notes.get", id=1) == []
        assert session.call("notes.get", id=1, lang="de").title == "Hallo"
        assert session.call("notes.get_list")[0].title == "Hello"
        assert session.call("notes.get_list.get_page", lang="de", page=1)[0].title == "Hallo"
        assert session.call("notes.get", id=1).title == "Hello"


def test_argument_that_get_does_not_have_selects_items_of_a_list() -> None:
    """After `get_list(title="Hello")` no `get(id=1)` is requested."""
    with small(LANGUAGES, notes) as session:
        session.call("notes.get_list", title="Hello", lang=None)
        assert session.requests("notes.get", id=1) == []


def test_live_reads_of_lists_request_each_representation_once() -> None:
    """Neither of them makes the others request theirs again."""
    with small(LANGUAGES, notes) as session:
        seen: list[Any] = []
        for name, arguments in (("notes.get", {"id": 1}), ("notes.get_list", {"lang": "de"}), ("notes.get_list", {})):
            session.watch(name, arguments, seen)
        for _ in range(8):
            session.settle()
        assert len(session.asked(0)) == 3


def test_record_is_as_another_process_validated_it_after_another_representation() -> None:
    """A 304 to another process confirms what is stored, not the values of a representation, which never are."""
    spec = """
resources:
  files:
    path: /files/:id
    schema: {entity: File, fields: {id: integer, content: string?}}
    endpoints: {get: {search_params: {content: integer?}}}
"""

    def answer(request: httpx.Request) -> httpx.Response:
        tag = '"part"' if request.url.query else '"whole"'
        if request.headers.get("If-None-Match") == tag:
            return httpx.Response(304, headers={"ETag": tag})
        return httpx.Response(
            200, json={"id": 1, "content": None if request.url.query else "now"}, headers={"ETag": tag}
        )

    storage = restencil.MemoryStorage()
    with PatientStore(storage=storage) as one, PatientStore(storage=storage.another()) as other:
        reader, validator = (client_before(package_of(spec), answer, store=store) for store in (one, other))
        reader.files.get(id=1)
        reader.files.get(id=1, content=0)
        one.flush()
        validator.files.get.expire(id=1)
        assert validator.files.get(id=1).content == "now"
        other.flush()
        assert reader.files.get(id=1).content == "now"
