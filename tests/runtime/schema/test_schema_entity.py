"""Entities as schemas: from a response into tables and back, by arguments, and several classes on one table."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, ProcessingError, RestEndpoint, schema
from restencil.cache.reading import ExpiryStatus


class User(Entity):
    id: str = ""
    name: str = ""


class Article(Entity, schema={"author": User, "editor": User}, indexes=("slug",)):
    id: str = ""
    title: str = ""
    slug: str = ""
    author: User = User()
    editor: User | None = None


get: Any = RestEndpoint(path="/articles/:id", schema=Article)
get_list: Any = RestEndpoint(path="/articles", schema=[Article])
users: Any = RestEndpoint(path="/users", schema=[User])
purge: Any = RestEndpoint(path="/users/:id", method="DELETE", schema=schema.Invalidate(User))


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
def test_entity_unusable_response_is_a_processing_error(response: Any, text: str) -> None:
    """The error has status 400 and names entity and value, for a list its first three items, and the key."""
    desk = Desk()
    with pytest.raises(ProcessingError) as caught:
        desk.answer(get, response, {"id": "1"})
    message = str(caught.value)
    assert text in message
    assert "4th" not in message
    assert message.startswith("GET /articles/1: the response does not fit its schema")
    assert caught.value.status == 400
    assert caught.value.response == response
    assert desk.table("Article") == {}


def test_entity_process_makes_the_record() -> None:
    """What `process` returns is stored; it gets input, parent, key and the endpoint's arguments."""
    seen: list[tuple[Any, str | None, tuple[Any, ...]]] = []

    class Item(Entity):
        id: str = ""
        owner: str = ""

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
            seen.append((parent, key, args))
            return {**input, "owner": args[0]["owner"]}

    class Box(Entity, schema={"items": [Item]}):
        id: str = ""
        items: list[Item] = []

    endpoint: Any = RestEndpoint(path="/:owner/boxes", schema={"boxes": [Box]})
    top: Any = RestEndpoint(path="/:owner/item", schema=Item)
    desk = Desk()
    args = {"owner": "ann"}
    response = {"boxes": [{"id": "b", "items": [{"id": "i"}]}]}
    value = desk.answer(endpoint, response, args)
    desk.answer(top, {"id": "j"}, args)
    assert desk.table("Item")["i"] == {"id": "i", "owner": "ann"}
    assert value["boxes"][0].items[0].owner == "ann"
    parent, key, got = seen[0]
    assert (parent["id"], key, got) == ("b", "items", (args,))
    assert seen[1] == ({"id": "j"}, None, (args,))


def test_entity_process_may_make_nested_records() -> None:
    """Records that `process` makes are told apart from each other, though they live only as long as the response."""

    class Flat(Entity, schema={"owner": User}):
        id: str = ""
        owner: User | None = None

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
            return {"id": input["id"], "owner": {"id": "u", input["part"]: input["value"]}}

    endpoint: Any = RestEndpoint(path="/flat", schema=[Flat])
    desk = Desk()
    desk.answer(endpoint, [{"id": n, "part": f"part{n}", "value": n} for n in range(20)])
    assert desk.table("User")["u"] == {"id": "u", **{f"part{n}": n for n in range(20)}}


def test_entity_process_may_invalidate() -> None:
    """`None` from `process` invalidates the entity of that primary key, which is the result."""

    class Doc(Entity):
        id: str = ""

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
            return None if input.get("deleted") else {**input}

    docs: Any = RestEndpoint(path="/docs", schema=[Doc])
    desk = Desk()
    desk.answer(docs, [{"id": "1"}, {"id": "2"}])
    desk.answer(docs, [{"id": "1", "deleted": True}, {"id": "2"}])
    assert [doc.id for doc in desk.data(docs)] == ["2"]
    assert desk.result(docs) == ["1", "2"]


def test_entity_validate_rejects_a_response_as_a_whole() -> None:
    """A text from `validate` fails the response: nothing of it is written."""

    class Strict(Entity, schema={"owner": User}):
        id: str = ""
        name: str = ""
        owner: User | None = None

        @classmethod
        def validate(cls, record: Mapping[str, Any]) -> str | None:
            return None if record.get("name") else "a name is needed"

    endpoint: Any = RestEndpoint(path="/strict", schema=[Strict])
    desk = Desk()
    with pytest.raises(ProcessingError, match=r"Strict '2' is not valid: a name is needed$"):
        desk.answer(endpoint, [{"id": "1", "name": "x", "owner": {"id": "u"}}, {"id": "2"}])
    assert desk.store.state["entities"] == {}


def test_entity_object_that_is_met_again_is_not_followed_again() -> None:
    """A response whose objects form a ring ends, and each entity is stored."""

    class Person(Entity, schema={"friend": schema.Lazy(lambda: Person)}):
        id: str = ""
        friend: Person | None = None

    endpoint: Any = RestEndpoint(path="/people/:id", schema=Person)
    one: dict[str, Any] = {"id": "1"}
    two = {"id": "2", "friend": one}
    one["friend"] = two
    desk = Desk()
    value = desk.answer(endpoint, one, {"id": "1"})
    assert desk.table("Person") == {"2": {"id": "2", "friend": "1"}, "1": {"id": "1", "friend": "2"}}
    assert value.friend.friend is value


def test_entity_nothing_is_stored_as_an_abstract_entity() -> None:
    """A response for a schema that was declared abstract is refused with the way out."""

    class Base(Entity, abstract=True):
        id: str = ""

    with pytest.raises(ProcessingError, match=r"Base is abstract, so no record can be stored as Base; use a"):
        Desk().answer(RestEndpoint(path="/base", schema=[Base]), [{"id": "1"}])


# -- out of tables ---------------------------------------------------------------------------------------------------


def _article(desk: Desk, **members: Any) -> Any:
    desk.answer(get, {"id": "1", "slug": "s", **members}, {"id": "1"})
    return desk.data(get, {"id": "1"})


def test_entity_missing_relation_is_none_and_the_entity_usable() -> None:
    """Whatever the default, a reference to an entity that is not there is None."""
    value = _article(Desk(), author="nobody", editor="nobody")
    assert (value.author, value.editor) == (None, None)


def test_entity_invalid_relation_counts_by_its_default() -> None:
    """Behind an optional default it is None; behind a required one the containing entity is invalid."""
    desk = Desk()
    desk.answer(users, [{"id": "u1"}, {"id": "u2"}])
    _article(desk, author="u1", editor="u2")
    desk.answer(purge, {"id": "u2"}, {"id": "u2"})
    assert desk.data(get, {"id": "1"}).editor is None
    desk.answer(purge, {"id": "u1"}, {"id": "u1"})
    reading = desk.read(get, {"id": "1"})
    assert not reading.found
    assert reading.expiry_status is ExpiryStatus.Invalid


@pytest.mark.parametrize(
    ("default", "needed"),
    [(None, False), (False, False), (0, False), (0.0, False), ("", False), ([], True), ({}, True), (User(), True)],
)
def test_entity_which_defaults_make_a_relation_required(default: Any, needed: bool) -> None:
    """Everything except None, False, 0 and "": an empty list or dict counts as required; no default as optional."""
    kind: Any = type(Entity)
    holder = kind(
        "Holder",
        (Entity,),
        {
            "__module__": __name__,
            "__annotations__": {"id": str, "it": Any},
            "id": "",
            "it": default,
            "schema": {"it": User},
        },
    )
    endpoint: Any = RestEndpoint(path="/holders/:id", schema=holder)
    desk = Desk()
    desk.answer(endpoint, {"id": "1", "it": {"id": "u"}}, {"id": "1"})
    desk.answer(purge, {"id": "u"}, {"id": "u"})
    assert desk.read(endpoint, {"id": "1"}).found is not needed


def test_entity_conversions_are_not_called_on_defaults_or_null() -> None:
    """A conversion in the schema of an entity sees what the server sent, nothing else."""
    called: list[Any] = []

    class Timed(Entity, schema={"at": lambda value: called.append(value) or len(value)}):
        id: str = ""
        at: Any = ""

    endpoint: Any = RestEndpoint(path="/timed/:id", schema=Timed)
    desk = Desk()
    assert desk.answer(endpoint, {"id": "1"}, {"id": "1"}).at == ""
    assert desk.answer(endpoint, {"id": "1", "at": None}, {"id": "1"}).at is None
    assert desk.answer(endpoint, {"id": "1", "at": "abc"}, {"id": "1"}).at == 3
    assert called == ["abc"]
    assert desk.table("Timed")["1"]["at"] == "abc"


def test_entity_validate_hides_what_is_stored_and_unusable() -> None:
    """A record that another class of the table wrote is invalid for a class whose `validate` rejects it."""

    class Item(Entity, key="Picky"):
        id: str = ""
        name: str = ""

    class Picky(Item, key="Picky"):
        @classmethod
        def validate(cls, record: Mapping[str, Any]) -> str | None:
            return "hidden" if record.get("name") == "hidden" else None

    writer: Any = RestEndpoint(path="/any/:id", schema=Item)
    endpoint: Any = RestEndpoint(path="/picky/:id", schema=Picky)
    desk = Desk()
    desk.answer(writer, {"id": "1", "name": "x"}, {"id": "1"})
    assert desk.data(endpoint, {"id": "1"}).name == "x"
    desk.answer(writer, {"id": "1", "name": "hidden"}, {"id": "1"})
    assert desk.read(endpoint, {"id": "1"}).expiry_status is not ExpiryStatus.Valid


# -- by arguments ----------------------------------------------------------------------------------------------------


def test_entity_pk_that_needs_no_member_answers_an_empty_mapping() -> None:
    """A single entity of its kind is found by `{}`, not by nothing."""

    class Me(Entity):
        name: str = ""

        def pk(self) -> str:
            return "me"

    endpoint: Any = RestEndpoint(path="/me", schema=Me)
    desk = Desk()
    value = desk.answer(endpoint, {"name": "Ann"})
    assert desk.get(Me, {}) is value
    assert desk.get(Me) is None


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


# -- partial entities on one table -----------------------------------------------------------------------------------


def test_entity_each_class_of_a_table_has_instances_of_its_own() -> None:
    """Records that could be handed out as they lie are built anew for the other class, and follow each change."""

    class Left(Entity, key="Both"):
        id: str = ""
        n: int = 0

    class Right(Entity, key="Both"):
        id: str = ""
        n: int = 0

    left: Any = RestEndpoint(path="/left/:id", schema=Left)
    right: Any = RestEndpoint(path="/right/:id", schema=Right)
    desk = Desk()
    first = desk.answer(left, {"id": "1", "n": 1}, {"id": "1"})
    other = desk.data(right, {"id": "1"})
    assert (type(first), type(other), other.n) == (Left, Right, 1)
    assert desk.data(right, {"id": "1"}) is other
    desk.answer(right, {"id": "1", "n": 2}, {"id": "1"})
    assert (desk.data(left, {"id": "1"}).n, desk.data(right, {"id": "1"}).n) == (2, 2)
    assert (type(desk.data(left, {"id": "1"})), type(desk.data(right, {"id": "1"}))) == (Left, Right)
    assert (first.n, other.n) == (1, 1)


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
