"""Bodies of another shape than the declared type are rejected before anything is sent."""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Sequence
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.worlds import client_of, controller_of, running

from restencil import Entity, Record, Resource, RestEndpoint, rest, schema
from restencil.endpoint.typing import ControllerType


class Point(Record):
    x: int = 0


class Task(Entity):
    id: int = 0
    title: str = ""


class Tasks(Resource[ControllerType], path="/tasks/:id", schema=Task, strict=True, body=Task):
    @rest(method="PUT", path="/tasks/:id")
    def update(self, *, id: int, body: Any) -> Task:
        raise NotImplementedError

    @rest(method="POST", path="/tasks/move", body=[Point], schema=None)
    def move(self, *, body: Sequence[Any]) -> Any:
        raise NotImplementedError

    @rest(method="POST", path="/tasks/marks", body=schema.Values(Point), schema=None)
    def mark(self, *, body: Any) -> Any:
        raise NotImplementedError

    @rest(method="POST", path="/tasks/free", body=dict, schema=None)
    def free(self, *, body: Any) -> Any:
        raise NotImplementedError


def responding(sent: list[bytes]) -> httpx.MockTransport:
    """A server that notes the bodies it gets."""

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(request.content if isinstance(request.stream, httpx.ByteStream) else b"stream")
        return httpx.Response(200, json={"id": 1, "title": "a"})

    return httpx.MockTransport(respond)


def called(world: str, member: str, sent: list[bytes], **arguments: Any) -> Any:
    """One call of a member of `Tasks`."""
    client = client_of(world == "asyncio", transport=responding(sent))
    desk = controller_of(world == "asyncio", client=client, base_url="https://a.example")
    with running(desk) as run:
        return run(getattr(Tasks(desk), member)(**arguments))


@pytest.mark.parametrize("world", ["sync", "asyncio"])
@pytest.mark.parametrize(
    ("member", "body", "message"),
    [
        ("update", 5, r"the body of endpoint 'Task\.update' is an int; expected an object: pass a dict"),
        ("update", True, "is a bool; expected an object"),
        ("update", "title", "is a str; expected an object"),
        ("update", [{"title": "a"}], "is a list; expected an object"),
        ("mark", 5, "is an int; expected an object"),
        ("move", {"x": 1}, "is a dict; expected a list"),
        ("move", Point(x=1), "is a Point; expected a list"),
        ("move", [{"x": 1}, 5], r"has an int at \[1\]; expected an object: pass a dict"),
    ],
)
def test_body_shape_that_is_not_the_declared_one_is_a_type_error(
    world: str, member: str, body: Any, message: str
) -> None:
    """Nothing is sent, and the message names the endpoint, what was found and what to give."""
    sent: list[bytes] = []
    arguments = {"id": 1, "body": body} if member == "update" else {"body": body}
    with pytest.raises(TypeError, match=message):
        called(world, member, sent, **arguments)
    assert sent == []


@pytest.mark.parametrize("world", ["sync", "asyncio"])
@pytest.mark.parametrize(
    ("member", "body"),
    [
        ("update", {"title": "a"}),
        ("update", Task(id=1, title="a")),
        ("update", b'{"title": "a"}'),
        ("update", io.BytesIO(b'{"title": "a"}')),
        ("move", [{"x": 1}, Point(x=2)]),
        ("move", ({"x": 1},)),
        ("mark", {"a": {"x": 1}}),
        ("free", 5),
        ("free", [1, 2]),
    ],
)
def test_body_shape_that_is_the_declared_one_is_sent(world: str, member: str, body: Any) -> None:
    """So are bytes and files, which no type describes, and whatever is given where every JSON value is declared."""
    sent: list[bytes] = []
    called(world, member, sent, **({"id": 1, "body": body} if member == "update" else {"body": body}))
    assert len(sent) == 1


@dataclasses.dataclass
class Branch:
    """A class of users whose instances may refer to each other in a circle."""

    name: str
    parent: Any = None
    children: list[Any] = dataclasses.field(default_factory=list[Any])


def circles() -> list[tuple[Any, str]]:
    """Bodies that contain themselves, each with the place where they do."""
    member: dict[str, Any] = {"title": "a"}
    member["me"] = member
    inner: list[Any] = [1]
    inner.append(inner)
    child = Branch("child", Branch("parent"))
    child.parent.children.append(child)
    return [(member, "me"), ({"a": {"b": [0, inner]}}, "a.b[1][1]"), (child, "parent.children[0]")]


@pytest.mark.parametrize(("body", "place"), circles())
@pytest.mark.parametrize("form", ["json", "form", "multipart"])
def test_body_shape_body_that_contains_itself_is_reported_with_its_place(body: Any, place: str, form: str) -> None:
    """It is a ValueError before any request, and no RecursionError from inside of the library."""
    post: Any = RestEndpoint(path="/tasks", method="POST", name="tasks.post", body_format=form)
    message = rf"the body of endpoint 'tasks.post' contains itself at '{re.escape(place)}'"
    with pytest.raises(ValueError, match=message):
        post({}, body)


def test_body_shape_query_that_contains_itself_is_reported_with_its_place() -> None:
    """By keyword and in a dict; the same value twice is no circle."""
    search: Any = RestEndpoint(path="/tasks", name="tasks.search")
    ids: list[Any] = [1]
    assert search.url(ids=ids, more=[ids, ids]) == "/tasks?ids=1&more=1%2C1"
    ids.append(ids)
    with pytest.raises(ValueError, match=r"a parameter of endpoint 'tasks.search' contains itself at 'ids\[1\]'"):
        search.url(ids=ids)
    with pytest.raises(ValueError, match=r"the query of endpoint 'tasks.search' contains itself at 'ids\[1\]'"):
        search.url({"ids": ids})


def test_body_shape_body_that_is_too_deep_is_reported_with_its_depth() -> None:
    """Each level is an object of its own."""
    deep: dict[str, Any] = {}
    for _ in range(2_000):
        deep = {"inner": deep}
    post: Any = RestEndpoint(path="/tasks", method="POST", name="tasks.post")
    with pytest.raises(ValueError, match="the body of endpoint 'tasks.post' is nested 2001 levels deep"):
        post({}, deep)
