"""Servers that answer a change with null in place of a value that was sent, because they do not echo it."""

from __future__ import annotations

from typing import Any, Final

import pytest
from tests.freshness.programs import World
from tests.freshness.server import NOTHING
from tests.freshness.small import small

SPEC: Final = """
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


WORLDS: Final = {"memory": World(), "sqlite": World(sqlite=True)}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
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
    with small(SPEC, Files("content"), world) as session:
        session.call("files.get", id=1)
        session.call(change, **arguments)
        assert session.requests("files.get", id=1) == ["GET /files/1"]
        assert session.call("files.get", id=1).content == "new"
        if world.sqlite:
            session.sync()
            assert session.call("files.get", "whole", "other", id=1).content == "new"


def test_record_that_was_created_is_stale_after_a_response_with_null_for_what_was_sent() -> None:
    """It joins no list as if it was known."""
    with small(SPEC, Files("kind")) as session:
        session.call("files.get_list", kind="b")
        session.call("files.create", body={"kind": "b"})
        assert session.requests("files.get", id=3) == ["GET /files/3"]
        assert session.requests("files.get_list", kind="b") == ["GET /files?kind=b"]


@pytest.mark.parametrize(
    "body",
    [
        {"about": {"text": "new"}},
        {"about": {"parts": [{"text": "new"}]}},
        {"page": {"id": 1, "title": "t", "text": "new"}},
    ],
)
def test_record_is_stale_after_a_response_with_null_for_a_value_within_what_was_sent(body: Any) -> None:
    """Objects, lists and nested records are compared too."""
    with small(SPEC, Files("text")) as session:
        session.call("files.get", id=1)
        session.call("files.partial_update", id=1, body=body)
        assert session.requests("files.get", id=1) == ["GET /files/1"]


def test_nested_record_is_stale_after_a_response_with_null_for_what_was_sent() -> None:
    """A response that does not confirm what was sent confirms no record in it."""
    with small(SPEC, Files("name")) as session:
        assert session.call("authors.get", id=1).name == "ann"
        session.call("files.partial_update", id=1, body={"author": {"id": 1, "name": "bea"}})
        assert session.call("authors.get", id=1).name == "bea"


@pytest.mark.parametrize(
    ("hidden", "body"),
    [("content", {"kind": "b"}), ("content", {"content": None}), ("page", {"page": None, "content": "x"})],
)
def test_record_is_fresh_after_a_response_with_null_for_nothing_that_was_sent(hidden: str, body: Any) -> None:
    """A null that was sent, or that stands for what was not, is the value of the server."""
    with small(SPEC, Files(hidden)) as session:
        session.call("files.get", id=1)
        session.call("files.partial_update", id=1, body=body)
        assert session.requests("files.get", id=1) == []


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

    with small(SPEC, answer, World(sqlite=True)) as session:
        arguments = {} if change == "create" else {"id": 1}
        if arguments:
            session.call("files.get", **arguments)
        session.call(f"files.{change}", body={"kind": "a", "content": "sent"}, **arguments)
        session.call("files.get_list")
        assert session.call("files.get", id=1).content is None
        assert session.requests("files.get", id=1) == []
        session.sync()
        assert session.call("files.get", "whole", "other", id=1).content is None
