"""Bodies of calls: instances of other libraries' classes, entities that are sent as their keys, moments."""

from __future__ import annotations

import dataclasses
import datetime
import io
import json
import re
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import msgspec
import pydantic
import pytest
from tests.libraries import httpx
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import client_of, controller_of, running

import restencil
from restencil import Controller, Entity, MissingFieldError, Record, RestEndpoint, field, foreign_key, rest, schema
from restencil.endpoint.bodies import is_wire_form
from restencil.endpoint.typing import ControllerType

NAIVE = datetime.datetime(2026, 11, 22, 7, 30)  # noqa: DTZ001 - what is tested
MORNING = NAIVE.replace(tzinfo=datetime.UTC)


class User(Entity):
    id: int = 0
    name: str = ""


class Tag(Entity, pk="slug"):
    slug: str = ""


class Token(Entity):
    id: uuid.UUID = uuid.UUID(int=0)


class Line(Record):
    user: User | None = field(default=None, send="pk")
    count: int = 0


class Article(Entity):
    id: int = 0
    title: str = ""
    created_at: datetime.datetime | None = field(default=None, wire="createdAt")
    author: User | None = field(default=None, schema=User, send="pk")
    editor: User | None = field(default=None, schema=User)
    readers: list[User] = field(default=[], schema=[User], send="pk")
    shares: dict[str, User] = field(default={}, schema=schema.Values(User), send="pk")
    topic: Any = field(default=None, schema=schema.Union({"user": User, "tag": Tag}, "type"), send="pk")
    token: Token | None = field(default=None, schema=Token, wire="tokenRef")
    lines: list[Line] = []


def sent(body: Any, *, strict: bool = False, **options: Any) -> Any:
    """What arrives at a server for a body, in both worlds."""
    arrived: list[bytes] = []

    def answer(request: Arrived) -> Reply:
        arrived.append(request.body)
        return Reply(body=b'{"id": 1}')

    with Server(answer) as server:
        create: Any = RestEndpoint(
            path="/articles",
            method="POST",
            url_prefix=server.url,
            schema=options.pop("schema", Article),
            strict=strict,
            name="articles.create",
            **options,
        )
        for asynchronous in (False, True):
            controller = controller_of(asynchronous)
            with running(controller) as run:
                run(controller.fetch(create, body=body))
    assert arrived[0] == arrived[1] or b"boundary" in arrived[0] or arrived[0].startswith(b"--")
    return arrived[0]


def sent_json(body: Any, **options: Any) -> Any:
    return json.loads(sent(body, **options))


# -- other libraries' instances --------------------------------------------------------------------------------------


@dataclasses.dataclass
class DataDraft:
    title: str
    created_at: datetime.datetime


@attrs.define
class AttrsDraft:
    title: str
    created_at: datetime.datetime


class PydanticDraft(pydantic.BaseModel):
    title: str
    created_at: datetime.datetime = pydantic.Field(alias="createdAt")
    body: str = "unset"


class StructDraft(msgspec.Struct, rename="camel"):
    title: str
    created_at: datetime.datetime
    body: str | msgspec.UnsetType = msgspec.UNSET


DRAFTS: dict[str, Callable[[], Any]] = {
    "dataclass": lambda: DataDraft("T", MORNING),
    "attrs": lambda: AttrsDraft("T", MORNING),
    "pydantic": lambda: PydanticDraft(title="T", createdAt=MORNING),
    "msgspec": lambda: StructDraft("T", MORNING),
}


@pytest.mark.parametrize("kind", DRAFTS)
def test_foreign_bodies_body_may_be_an_instance_of_another_library(kind: str) -> None:
    """It has JSON names and values on the wire: pydantic's by alias, what is unset is left out."""
    assert sent_json(DRAFTS[kind]()) == {"title": "T", "createdAt": "2026-11-22T07:30:00Z"}


@pytest.mark.parametrize("kind", DRAFTS)
def test_foreign_bodies_body_may_hold_such_instances(kind: str) -> None:
    """In a list and in a member, also where no schema says what they are."""
    draft = DRAFTS[kind]()
    assert sent_json([draft]) == [{"title": "T", "createdAt": "2026-11-22T07:30:00Z"}]
    found = sent_json({"draft": draft, "all": [draft]}, schema=None)
    assert (found["draft"]["title"], found["all"][0]["title"]) == ("T", "T")


def test_foreign_bodies_pydantic_model_writes_its_own_types() -> None:
    """What JSON does not know goes by the model's serializer."""

    class Link(pydantic.BaseModel):
        url: pydantic.HttpUrl
        took: datetime.timedelta

    body = Link(url=pydantic.HttpUrl("https://a.example/"), took=datetime.timedelta(seconds=90))
    assert sent_json(body, schema=None) == {"url": "https://a.example/", "took": "PT1M30S"}


def test_foreign_bodies_forms_and_files_come_from_such_instances_too() -> None:
    """A file in a pydantic model stays bytes."""

    class Upload(pydantic.BaseModel):
        name: str
        file: bytes

    assert sent(DataDraft("T", MORNING), body_format="form") == b"title=T&createdAt=2026-11-22T07%3A30%3A00Z"
    assert b'filename="' in sent(Upload(name="n", file=b"\x00\xff"), schema=None, body_format="multipart")
    assert isinstance(restencil.Form({}), dict) is isinstance(restencil.Multipart({}), dict)


def test_foreign_bodies_stream_that_is_such_an_instance_is_sent_as_it_is() -> None:
    """Some libraries write their streams with attrs; a field that is called `read` makes no stream."""

    @attrs.define
    class Stream:
        left: list[bytes]

        def __iter__(self) -> Stream:
            return self

        def __next__(self) -> bytes:
            if not self.left:
                raise StopIteration
            return self.left.pop(0)

    @dataclasses.dataclass
    class Mark:
        read: bool = True

    assert is_wire_form(Stream([b"a"]))
    assert sent_json(Mark(), schema=None) == {"read": True}


# -- entities as keys ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [User(id=3, name="a"), {"id": 3, "name": "a"}, 3], ids=["entity", "record", "key"])
def test_foreign_bodies_entity_is_sent_as_its_key_where_the_field_is_reported(given: Any) -> None:
    """In the type that it has in JSON; in lists, maps and plain objects too."""
    body = {"author": given, "readers": [given], "shares": {"a": given}, "lines": [{"user": given, "count": 1}]}
    assert sent_json(body) == {"author": 3, "readers": [3], "shares": {"a": 3}, "lines": [{"user": 3, "count": 1}]}


def test_foreign_bodies_stored_entity_as_body_sends_keys_in_their_type(controller: Controller) -> None:
    """The store knows keys as text, the server meant numbers."""
    controller.set(Article, {"id": 1, "author": {"id": 3}, "readers": [{"id": 4}, 5]}, id=1)
    found = controller.get(Article, id=1)
    assert found is not None
    assert sent_json(found) == {"id": 1, "author": 3, "readers": [4, 5]}
    assert sent_json(found.replace(author=User(id=9)))["author"] == 9


def test_foreign_bodies_entity_of_several_kinds_is_sent_as_its_key() -> None:
    """Whatever kind it is of."""
    assert sent_json({"topic": Tag(slug="py")}) == {"topic": "py"}
    assert sent_json({"topic": {"type": "user", "id": 3}}) == {"topic": 3}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"author": User(name="new")}, "is sent as a primary key, but this User has no primary key: 'id' is"),
        ({"author": {"name": "new"}}, "has no primary key: 'id' is None: pass the key itself, or an entity that has"),
        ({"readers": [1, {"name": "new"}]}, "field 'readers' of Article is sent as a primary key"),
        ({"lines": [{"user": object()}]}, "field 'user' of Line is sent as a primary key, but <object .* has none"),
    ],
)
def test_foreign_bodies_entity_without_a_key_cannot_be_sent_as_one(body: Any, message: str) -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match=message):
        sent(body)


def test_foreign_bodies_key_of_several_fields_is_no_single_value() -> None:
    """So it cannot be sent in one field."""

    class Seat(Entity, pk=["row", "place"]):
        row: int = 0
        place: int = 0

    class Ticket(Entity):
        id: int = 0
        seat: Seat | None = field(default=None, schema=Seat, send="pk")

    with pytest.raises(ValueError, match="sent as a primary key, but the primary key of a Seat is not a single value"):
        sent({"seat": Seat(row=1, place=2)}, schema=Ticket)


def test_foreign_bodies_field_can_be_sent_in_no_other_form() -> None:
    """The word is checked where the field is declared."""
    with pytest.raises(ValueError, match="send='id' of a field: expected 'pk' or None"):
        field(default=None, send="id")  # type: ignore[call-overload]  # what is tested


# -- foreign keys ----------------------------------------------------------------------------------------------------


def article(record: dict[str, Any]) -> Article:
    controller = Controller()
    controller.set(Article, {"id": 1, **record}, id=1)
    found = controller.get(Article, id=1)
    assert found is not None
    return found


@pytest.mark.parametrize("author", [{"id": 3, "name": "a"}, 3, "3"], ids=["expanded", "number", "text"])
def test_foreign_key_is_known_whether_its_entity_is_or_not(author: Any) -> None:
    """In the type of the other entity's key."""
    assert foreign_key(article({"author": author}), "author") == 3


def test_foreign_keys_of_lists_maps_and_several_kinds() -> None:
    """They have the form of the field."""
    found = article(
        {
            "readers": [3, {"id": 4}],
            "shares": {"a": {"id": 5}},
            "topic": {"type": "tag", "slug": "py"},
            "tokenRef": "00000000-0000-0000-0000-000000000007",
        }
    )
    assert foreign_key(found, "readers") == [3, 4]
    assert foreign_key(found, "shares") == {"a": 5}
    assert foreign_key(found, "topic") == "py"
    assert foreign_key(found, "token") == uuid.UUID(int=7)


def test_foreign_key_of_null_is_none_and_of_what_is_missing_an_error() -> None:
    """No author is something else than an author that nobody told of."""
    assert foreign_key(article({"author": None}), "author") is None
    with pytest.raises(MissingFieldError, match="for its required field 'author': no response had it so far"):
        foreign_key(article({}), "author")


def test_foreign_keys_of_instances_of_your_own() -> None:
    """Those that were made from keywords, and from JSON."""
    assert foreign_key(Article(id=1, author=User(id=3)), "author") == 3
    assert foreign_key(Article.from_js({"id": 1, "author": {"id": 3}}), "author") == 3
    with pytest.raises(MissingFieldError):
        foreign_key(Article(id=1), "author")


def test_foreign_bodies_field_that_refers_to_nothing_has_no_foreign_key() -> None:
    """The error names those that do."""
    with pytest.raises(
        TypeError, match="'title' of Article does not refer to another entity; its references are 'author'"
    ):
        foreign_key(article({}), "title")
    with pytest.raises(TypeError, match="'id' of User does not refer to another entity; it has no references"):
        foreign_key(User(id=1), "id")
    with pytest.raises(TypeError, match="'id' of dict does not refer to another entity"):
        foreign_key({}, "id")  # type: ignore[arg-type]  # what is tested


# -- moments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{"created_at": NAIVE}, {"other": [NAIVE]}, DataDraft("T", NAIVE)])
def test_foreign_bodies_strict_endpoint_rejects_datetimes_without_a_time_zone(body: Any) -> None:
    """They may be UTC or local time; nothing is sent."""
    with pytest.raises(
        ValueError,
        match="the body of endpoint 'articles.create' contains 2026-11-22T07:30:00, a datetime without a time zone, "
        "which may be UTC or local time: use ",
    ):
        sent(body, strict=True)


def test_foreign_bodies_elsewhere_a_datetime_without_a_time_zone_is_utc() -> None:
    """As it is in answers."""
    assert sent_json({"created_at": NAIVE}) == {"createdAt": "2026-11-22T07:30:00Z"}
    assert sent_json({"created_at": MORNING}, strict=True) == {"createdAt": "2026-11-22T07:30:00Z"}


# -- body shape


class Point(Record):
    x: int = 0


class Task(Entity):
    id: int = 0
    title: str = ""


class Tasks(restencil.Resource[ControllerType], path="/tasks/:id", schema=Task, strict=True, body=Task):
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
    with Controller() as desk, pytest.raises(ValueError, match=r"the query of a request contains itself at 'ids\[1\]'"):
        desk.request("GET", "https://a.example/tasks", query={"ids": ids})


def test_body_shape_body_that_is_too_deep_is_reported_with_its_depth() -> None:
    """Each level is an object of its own."""
    deep: dict[str, Any] = {}
    for _ in range(2_000):
        deep = {"inner": deep}
    post: Any = RestEndpoint(path="/tasks", method="POST", name="tasks.post")
    with pytest.raises(ValueError, match="the body of endpoint 'tasks.post' is nested 2001 levels deep"):
        post({}, deep)
