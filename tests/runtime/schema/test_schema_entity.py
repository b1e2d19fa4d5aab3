"""Entities as schemas: from a response into tables and back, by arguments, and several classes on one table."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from tests.runtime.doubles import Desk
from tests.runtime.users import User

from restencil import Entity, ProcessingError, RestEndpoint
from restencil.cache.policy import ExpiryStatus


class Article(Entity, schema={"author": User, "editor": User}, indexes=("slug",)):
    id: str = ""
    title: str = ""
    slug: str = ""
    author: User = User()
    editor: User | None = None


get: Any = RestEndpoint(path="/articles/:id", schema=Article)
get_list: Any = RestEndpoint(path="/articles", schema=[Article])


# -- into tables -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ({"title": "x"}, "an Article in the response has no usable primary key: 'id' is None"),
        ({"id": ""}, "has no usable primary key: 'id' is ''"),
        ({"id": "undefined"}, "has no usable primary key: 'id' is 'undefined'"),
        ([{"id": "1"}, {}, {}, {"id": "4th"}], "expected one object for Article, found a list that begins with"),
    ],
)
def test_entity_unusable_response_is_a_processing_error(response: Any, text: str, desk: Desk) -> None:
    """The error has status 400 and names entity and value, for a list its first three items, and the key."""
    with pytest.raises(ProcessingError) as caught:
        desk.answer(get, response, {"id": "1"})
    message = str(caught.value)
    assert text in message
    assert "4th" not in message
    assert message.startswith("GET /articles/1: the response does not fit its schema")
    assert caught.value.status == 400
    assert caught.value.response == response
    assert desk.table("Article") == {}


def test_entity_process_may_make_nested_records(desk: Desk) -> None:
    """Records that `process` makes are told apart from each other, though they live only as long as the response."""

    class Flat(Entity, schema={"owner": User}):
        id: str = ""
        owner: User | None = None

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
            return {"id": input["id"], "owner": {"id": "u", input["part"]: input["value"]}}

    endpoint: Any = RestEndpoint(path="/flat", schema=[Flat])
    desk.answer(endpoint, [{"id": n, "part": f"part{n}", "value": n} for n in range(20)])
    assert desk.table("User")["u"] == {"id": "u", **{f"part{n}": n for n in range(20)}}


def test_entity_process_may_invalidate(desk: Desk) -> None:
    """`None` from `process` invalidates the entity of that primary key, which is the result."""

    class Doc(Entity):
        id: str = ""

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
            return None if input.get("deleted") else {**input}

    docs: Any = RestEndpoint(path="/docs", schema=[Doc])
    desk.answer(docs, [{"id": "1"}, {"id": "2"}])
    desk.answer(docs, [{"id": "1", "deleted": True}, {"id": "2"}])
    assert [doc.id for doc in desk.data(docs)] == ["2"]
    assert desk.result(docs) == ["1", "2"]


def test_entity_nothing_is_stored_as_an_abstract_entity() -> None:
    """A response for a schema that was declared abstract is refused with the way out."""

    class Base(Entity, abstract=True):
        id: str = ""

    with pytest.raises(ProcessingError, match=r"Base is abstract, so no record can be stored as Base; use a"):
        Desk().answer(RestEndpoint(path="/base", schema=[Base]), [{"id": "1"}])


# -- by arguments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [AttributeError, KeyError, TypeError])
def test_entity_pk_that_raises_finds_nothing(error: type[Exception]) -> None:
    """Attribute, key and type errors of `pk` count as no primary key where arguments are looked at."""

    class Odd(Entity):
        id: str = ""

        def pk(self) -> str:
            if not self.id:
                raise error("no")
            return self.id

    endpoint: Any = RestEndpoint(path="/odd/:name", schema=Odd)
    reading = Desk().read(endpoint, {"name": "x"})
    assert (reading.data, reading.expiry_status) == (None, ExpiryStatus.InvalidIfStale)


# -- indexes ---------------------------------------------------------------------------------------------------------


def _index(desk: Desk) -> dict[str, str]:
    found: dict[str, str] = desk.store.state["indexes"]["Article"]["slug"]
    return found


def test_entity_indexed_field_that_is_absent_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Such a record gets no entry."""
    with caplog.at_level(logging.WARNING, "restencil"):
        desk = Desk()
        desk.answer(get_list, [{"id": 1}])
    assert caplog.messages == ["Article 1 lacks the indexed field 'slug', so a lookup by it finds nothing"]
    assert _index(desk) == {}
