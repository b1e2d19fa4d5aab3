"""Bodies of calls: instances of other libraries' classes, entities that are sent as their keys, moments."""

from __future__ import annotations

import dataclasses
import datetime
import json
import uuid
from collections.abc import Callable
from typing import Any

import attrs
import msgspec
import pydantic
import pytest
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import controller_of, running

from restencil import (
    Controller,
    Entity,
    Form,
    MissingFieldError,
    Multipart,
    Record,
    RestEndpoint,
    field,
    foreign_key,
    schema,
)
from restencil.endpoint.bodies import is_wire_form

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
    assert isinstance(Form({}), dict) is isinstance(Multipart({}), dict)


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
