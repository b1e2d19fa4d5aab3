"""Lists and maps that endpoints add to: `Collection`."""

from __future__ import annotations

import datetime
import enum
import json
import logging
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.runtime.doubles import AnyEndpoint, Desk

from restencil import Entity, ProcessingError, RestEndpoint, schema


class Shade(enum.Enum):
    DARK = "dark"


class Todo(Entity):
    id: str = ""
    title: str = ""
    group: str = ""
    done: bool = False


class Link(Entity):
    id: str = ""
    type: str = "link"


class Post(Entity):
    id: str = ""
    type: str = "post"


TODOS = schema.Collection([Todo])
MAP = schema.Collection(schema.Values(Todo))
FEED = schema.Collection([schema.Union({"link": Link, "post": Post}, "type")])


def listed(collection: Any = TODOS, path: str = "/todos") -> AnyEndpoint:
    """The list endpoint of a collection."""
    return RestEndpoint(path=path, schema=collection)


def adding(adder: Any, path: str = "/todos") -> AnyEndpoint:
    """An endpoint that adds."""
    return RestEndpoint(path=path, method="POST", schema=adder)


get_list = listed()


# -- identity --------------------------------------------------------------------------------------------------------


def test_collection_table_is_named_after_what_is_collected() -> None:
    """`[Key]` for lists, `{Key}` for maps, several types joined in mapping order."""
    mixed_map = schema.Collection(schema.Values({"post": Post, "link": Link}, "type"))
    mixed = schema.Collection(schema.Array({"link": Link, "post": Post}, "type"))
    tables = [collection.table_key for collection in (TODOS, MAP, FEED, mixed, mixed_map)]
    assert tables == ["[Todo]", "{Todo}", "[Link;Post]", "[Link;Post]", "{Post;Link}"]


def test_nested_collections_that_fall_together_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Without `nest_key` the second nested list of a response is the first one's record."""

    class Group(Entity, schema={"todos": TODOS}):
        id: str = ""

    with caplog.at_level(logging.WARNING, "restencil"):
        Desk().answer(
            RestEndpoint(path="/groups", schema=[Group]), [{"id": 1, "todos": []}, {"id": 2, "todos": []}, {"id": 3}]
        )
    assert len(caplog.messages) == 1
    assert "the collection [Todo] {} is nested in several entities of one response and has no nest_key" in caplog.text


def test_collection_only_lists_and_maps_are_collected() -> None:
    """Anything else is refused at once; what has no primary key when it is used."""
    for wrong in (Todo, {"a": Todo}, None, "x"):
        with pytest.raises(TypeError, match=r"write Collection\(\[S\]\)"):
            schema.Collection(wrong)
    with pytest.raises(ProcessingError, match="contains Todo, which is not an entity") as caught:
        Desk().answer(listed(schema.Collection([{"todo": Todo}])), [])
    assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize("answer", ["x", 5])
def test_collection_what_is_no_list_stays_what_it_is(answer: Any, desk: Desk) -> None:
    """Inside of an object that is answered; without `strict_shape` it is no error."""
    wrapped = listed({"todos": TODOS})
    desk.answer(wrapped, {"todos": answer})
    assert desk.result(wrapped) == {"todos": answer}


# -- adders ----------------------------------------------------------------------------------------------------------


def test_collection_item_of_an_unknown_kind_is_compared_by_its_value(desk: Desk) -> None:
    """It is not added twice, either."""
    desk.answer(listed(FEED, "/feed"), [{"type": "zz", "n": [1]}])
    for number in (1, 2):
        desk.answer(adding(FEED.push, "/feed"), {"type": "zz", "n": [number]}, {})
    assert desk.table("[Link;Post]")["{}"] == [{"type": "zz", "n": [1]}, {"type": "zz", "n": [2]}]


def test_collection_adders_that_do_not_fit_are_rejected() -> None:
    """`assign` of a list, `push` and `unshift` of a map raise ValueError and name what fits."""
    for collection, word, fits in (
        (TODOS, "assign", "push or unshift"),
        (MAP, "push", "assign"),
        (MAP, "unshift", "assign"),
    ):
        with pytest.raises(ValueError, match=f"{word}: this Collection is a .*; use {fits}"):
            getattr(collection, word)


# -- filter ----------------------------------------------------------------------------------------------------------


STORED: list[tuple[dict[str, Any], list[Any]]] = [
    ({"group": "x"}, [{"id": 1}]),
    ({"author": "bob", "group": "x"}, [{"id": 1}]),
    ({"group": "x", "orderBy": "title"}, [{"id": 1}]),
    ({"group": "y"}, [{"id": 2}]),
    ({"done": True, "group": "x"}, []),
]


def _stored(desk: Desk) -> dict[str, list[str]]:
    for args, answer in STORED:
        desk.answer(get_list, answer, args)
    return desk.table("[Todo]")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Shade.DARK, "dark"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        ((1, None, True), "1,,true"),
        ({"a": (1, Shade.DARK)}, {"a": [1, "dark"]}),
    ],
)
def test_collection_values_of_other_types_match_by_what_they_are_in_json(value: Any, text: Any, desk: Desk) -> None:
    """The identity and the filter convert alike, so an addition reaches the list that has its argument."""
    lists: Any = RestEndpoint(path="/l", schema=schema.Collection([Todo]), search_to_string=lambda params: "x")
    desk.answer(lists, [{"id": 1}], {"s": value})
    assert list(desk.table("[Todo]")) == [json.dumps({"s": text}, separators=(",", ":"))]
    desk.answer(lists.push, {"id": 2}, {"s": value}, {})
    desk.answer(lists.push, {"id": 3}, {"s": text}, {})
    assert len(desk.data(lists, {"s": text})) == 3


class Unpaged(schema.Collection):
    """Ordering does count here, the page does not."""

    def non_filter_argument_keys(self, name: str) -> bool:
        return name == "page"


@pytest.mark.parametrize(
    "collection",
    [
        Unpaged([Todo]),
        schema.Collection([Todo], non_filter_argument_keys=lambda name: name == "page"),
        schema.Collection([Todo], non_filter_argument_keys=["page"]),
        schema.Collection([Todo], non_filter_argument_keys=re.compile("^page$")),
        schema.Collection(
            [Todo], non_filter_argument_keys=["page"], create_collection_filter=lambda *args: lambda identity: False
        ),
    ],
)
def test_collection_which_arguments_do_not_filter(collection: Any, desk: Desk) -> None:
    """By a subclass, a function, names or an expression; it goes before a filter that is given as well."""
    for args in ({"page": 1}, {"orderBy": "x"}):
        desk.answer(listed(collection), [], args)
    desk.answer(adding(collection.push), {"id": 1}, {})
    assert desk.table("[Todo]") == {'{"page":"1"}': ["1"], '{"orderBy":"x"}': []}


@pytest.mark.parametrize("on_adder", [True, False])
def test_collection_filter_of_your_own_decides_alone(on_adder: bool, desk: Desk) -> None:
    """It is made from the arguments and gets the identity of each stored collection."""

    def make(*args: Any) -> Callable[[Mapping[str, Any]], bool]:
        return lambda identity: identity.get("group") == args[0]["to"]

    collection = schema.Collection([Todo]) if on_adder else schema.Collection([Todo], create_collection_filter=make)
    adder = collection.add_with(lambda existing, new: existing + new, make) if on_adder else collection.push
    _stored(desk)
    desk.answer(adding(adder), {"id": "9"}, {"to": "y"}, {"group": "x"})
    assert [pk for pk, items in desk.table("[Todo]").items() if "9" in items] == ['{"group":"y"}']


# -- remove, move ----------------------------------------------------------------------------------------------------


def test_collection_remove_takes_items_out_of_matching_collections(desk: Desk) -> None:
    """The entity stays; maps lose the entries that refer to it; polymorphic items are compared by value."""
    desk.answer(get_list, [{"id": 1}, {"id": 2}], {"group": "x"})
    desk.answer(get_list, [{"id": 1}], {"group": "y"})
    remove: Any = RestEndpoint(path="/todos", method="PATCH", schema=TODOS.remove)
    value = desk.answer(remove, {"id": 1}, {"group": "x"}, {})
    assert desk.table("[Todo]") == {'{"group":"x"}': ["2"], '{"group":"y"}': ["1"]}
    assert value is desk.get(Todo, "1")
    desk.answer(listed(MAP, "/map"), {"a": {"id": 1}, "b": {"id": 2}})
    desk.answer(RestEndpoint(path="/map", method="PATCH", schema=MAP.remove), {"x": {"id": 1}}, {})
    assert desk.table("{Todo}") == {"{}": {"b": "2"}}
    desk.answer(listed(FEED, "/feed"), [{"id": 1, "type": "link"}, {"id": 1, "type": "post"}])
    desk.answer(RestEndpoint(path="/feed", method="PATCH", schema=FEED.remove), {"id": 1, "type": "post"}, {})
    assert desk.table("[Link;Post]") == {"{}": [{"id": "1", "schema": "link"}]}


def test_collection_move_compares_before_and_after(desk: Desk) -> None:
    """The item leaves lists that matched only before and joins those that match only after."""
    move: Any = RestEndpoint(path="/todos/:id", method="PATCH", schema=TODOS.move)
    for group in ("x", "y", "z"):
        desk.answer(get_list, [{"id": group, "group": group}], {"group": group})
    desk.answer(get_list, [{"id": "x"}], {})
    desk.answer(move, {"id": "x", "group": "y"}, {"id": "x"}, {"group": "y"})
    assert desk.table("[Todo]") == {
        '{"group":"x"}': [],
        '{"group":"y"}': ["y", "x"],
        '{"group":"z"}': ["z"],
        "{}": ["x"],
    }


def test_collection_move_of_polymorphic_items_and_with_a_merge_of_your_own(desk: Desk) -> None:
    """The kind of the item tells which record is compared; `move_with` says where it goes."""
    feed = listed(FEED, "/feed")
    move: Any = RestEndpoint(
        path="/feed/:id", method="PATCH", schema=FEED.move_with(lambda existing, new: [*new, *existing])
    )
    desk.answer(feed, [{"id": 1, "type": "link", "box": "a"}], {"box": "a"})
    desk.answer(feed, [{"id": 1, "type": "post", "box": "b"}], {"box": "b"})
    desk.answer(move, {"id": 1, "type": "link", "box": "b"}, {"id": 1}, {"box": "b"})
    assert desk.table("[Link;Post]") == {
        '{"box":"a"}': [],
        '{"box":"b"}': [{"id": "1", "schema": "link"}, {"id": "1", "schema": "post"}],
    }


# -- pages -----------------------------------------------------------------------------------------------------------


wrapped = listed({"results": TODOS, "next": ""})
page = wrapped.paginated("cursor")
