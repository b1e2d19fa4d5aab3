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
push = adding(TODOS.push)
gone: Any = RestEndpoint(path="/todos/:id", method="DELETE", schema=schema.Invalidate(Todo))


def ids(found: Any) -> list[Any]:
    return [item.id for item in found]


# -- identity --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "pk"),
    [
        ((), "{}"),
        (({},), "{}"),
        ((None,), "{}"),
        (({"group": "x", "done": True, "n": 1},), '{"done":"true","group":"x","n":"1"}'),
        (({"b": 1.0, "a": 1.5, "c": False},), '{"a":"1.5","b":"1","c":"false"}'),
        (({"a": None, "b": "x"},), '{"b":"x"}'),
        (({"a": [1, 2]},), '{"a":"1,2"}'),
        (({"a": [1, [2, True]], "b": []},), '{"a":"1,2,true","b":""}'),
        (({"a": {"b": 1}},), '{"a":{"b":1}}'),
        (({"a": "ä"},), '{"a":"ä"}'),
    ],
)
def test_collection_primary_key_is_the_json_of_the_arguments(args: tuple[Any, ...], pk: str) -> None:
    """Compact, keys sorted, scalars as texts, lists as they stand in a search, null dropped, other values kept."""
    endpoint: Any = RestEndpoint(path="/todos", schema=TODOS, key=lambda *args: "todos")
    desk = Desk()
    desk.answer(endpoint, [], *args)
    assert desk.pks("[Todo]") == [pk]


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
            RestEndpoint(path="/groups", schema=[Group]),
            [{"id": 1, "todos": []}, {"id": 2, "todos": []}, {"id": 3}],
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


# -- plain operations ------------------------------------------------------------------------------------------------


def test_collection_refetch_replaces_the_list() -> None:
    """What was appended before is gone; meta is that of the answer."""
    desk = Desk()
    desk.answer(get_list, [{"id": 1}, {"id": 2}])
    desk.now = 2_000
    desk.answer(get_list, [{"id": 3}])
    assert desk.table("[Todo]") == {"{}": ["3"]}
    assert desk.store.entity_meta("[Todo]", "{}") == (2_000, 2_000, 62_000)


def test_collection_older_list_does_not_replace_a_newer_one() -> None:
    """The list whose request started later stays, with its times; the older response's entities are merged."""
    desk = Desk()
    desk.now = 2_000
    desk.answer(get_list, [{"id": 1}])
    desk.answer(get_list, [{"id": 2}], started=1_500)
    assert desk.table("[Todo]") == {"{}": ["1"]}
    assert desk.pks("Todo") == ["1", "2"]
    assert desk.store.entity_meta("[Todo]", "{}") == (2_000, 2_000, 62_000)


@pytest.mark.parametrize("answer", ["x", 5])
def test_collection_what_is_no_list_is_an_error(answer: Any) -> None:
    """A wrapper that holds something else than a list where a Collection stands stays what it is."""
    wrapped = listed({"todos": TODOS})
    desk = Desk()
    desk.answer(wrapped, {"todos": answer})
    assert desk.result(wrapped) == {"todos": answer}


# -- adders ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adder", "after"),
    [
        (TODOS.push, ["1", "2", "9"]),
        (TODOS.unshift, ["9", "1", "2"]),
        (TODOS.add_with(lambda existing, new: [*new, *existing[:1]]), ["9", "1"]),
    ],
)
def test_collection_where_a_new_item_goes(adder: Any, after: list[str]) -> None:
    """At the end, at the start, or as one's own function says; the result is the list of new primary keys."""
    endpoint = adding(adder)
    desk = Desk()
    desk.answer(get_list, [{"id": 1}, {"id": 2}])
    value = desk.answer(endpoint, {"id": 9}, {"title": "n"})
    assert desk.table("[Todo]") == {"{}": after}
    assert desk.result(endpoint, {"title": "n"}) == ["9"]
    assert value is desk.get(Todo, "9")


def test_collection_item_that_is_there_is_not_added_twice() -> None:
    """By push and unshift alike; polymorphic items are compared by value, unknown ones too."""
    desk = Desk()
    desk.answer(get_list, [{"id": 1}, {"id": 2}])
    first = desk.data(get_list)
    desk.answer(push, {"id": 1}, {})
    desk.answer(adding(TODOS.unshift), {"id": 2}, {})
    assert desk.data(get_list) is first
    feed = listed(FEED, "/feed")
    desk.answer(feed, [{"id": 1, "type": "link"}, {"type": "zz", "n": [1]}])
    for item in (
        {"id": 1, "type": "link"},
        {"type": "zz", "n": [1]},
        {"id": 1, "type": "post"},
        {"type": "zz", "n": [2]},
    ):
        desk.answer(adding(FEED.push, "/feed"), item, {})
    assert desk.table("[Link;Post]")["{}"] == [
        {"id": "1", "schema": "link"},
        {"type": "zz", "n": [1]},
        {"id": "1", "schema": "post"},
        {"type": "zz", "n": [2]},
    ]


unshift = adding(TODOS.unshift)


def grown(*more: int) -> Desk:
    """A store whose list was fetched and then added to, so that it knows what it holds."""
    desk = Desk()
    desk.answer(get_list, [{"id": 1}])
    for number in (2, *more):
        desk.answer(push, {"id": number}, {})
    return desk


def test_collection_what_was_read_before_an_addition_stays_as_it_was() -> None:
    """Neither what was handed out changes nor what a snapshot shows, however often something is added."""
    desk = grown()
    desk.answer(listed(schema.Array(Todo), "/others"), [{"id": 3}, {"id": 4}])  # the snapshots know them, too
    first = desk.data(get_list)
    snapshot = desk.snapshot()
    desk.answer(push, {"id": 3}, {})
    desk.answer(unshift, {"id": 0}, {})
    assert ids(first) == [1, 2]
    assert ids(snapshot.get(TODOS)) == [1, 2]
    later = desk.snapshot()
    desk.answer(push, {"id": 4}, {})
    assert ids(later.get(TODOS)) == [0, 1, 2, 3]
    assert ids(desk.data(get_list)) == [0, 1, 2, 3, 4]
    del snapshot, later
    desk.answer(push, [{"id": 4}, {"id": 5}, {"id": 5}], [{}, {}, {}])
    assert ids(desk.data(get_list)) == [0, 1, 2, 3, 4, 5]


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
def test_collection_values_of_other_types_match_by_what_they_are_in_json(value: Any, text: Any) -> None:
    """The identity and the filter convert alike, so an addition reaches the list that has its argument."""
    lists: Any = RestEndpoint(path="/l", schema=schema.Collection([Todo]), search_to_string=lambda params: "x")
    desk = Desk()
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
def test_collection_which_arguments_do_not_filter(collection: Any) -> None:
    """By a subclass, a function, names or an expression; it goes before a filter that is given as well."""
    desk = Desk()
    for args in ({"page": 1}, {"orderBy": "x"}):
        desk.answer(listed(collection), [], args)
    desk.answer(adding(collection.push), {"id": 1}, {})
    assert desk.table("[Todo]") == {'{"page":"1"}': ["1"], '{"orderBy":"x"}': []}


@pytest.mark.parametrize("on_adder", [True, False])
def test_collection_filter_of_your_own_decides_alone(on_adder: bool) -> None:
    """It is made from the arguments and gets the identity of each stored collection."""

    def make(*args: Any) -> Callable[[Mapping[str, Any]], bool]:
        return lambda identity: identity.get("group") == args[0]["to"]

    collection = schema.Collection([Todo]) if on_adder else schema.Collection([Todo], create_collection_filter=make)
    adder = collection.add_with(lambda existing, new: existing + new, make) if on_adder else collection.push
    desk = Desk()
    _stored(desk)
    desk.answer(adding(adder), {"id": "9"}, {"to": "y"}, {"group": "x"})
    assert [pk for pk, items in desk.table("[Todo]").items() if "9" in items] == ['{"group":"y"}']


# -- remove, move ----------------------------------------------------------------------------------------------------


def test_collection_remove_takes_items_out_of_matching_collections() -> None:
    """The entity stays; maps lose the entries that refer to it; polymorphic items are compared by value."""
    desk = Desk()
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


def test_collection_move_compares_before_and_after() -> None:
    """The item leaves lists that matched only before and joins those that match only after."""
    move: Any = RestEndpoint(path="/todos/:id", method="PATCH", schema=TODOS.move)
    desk = Desk()
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


def test_collection_move_of_polymorphic_items_and_with_a_merge_of_your_own() -> None:
    """The kind of the item tells which record is compared; `move_with` says where it goes."""
    feed = listed(FEED, "/feed")
    move: Any = RestEndpoint(
        path="/feed/:id", method="PATCH", schema=FEED.move_with(lambda existing, new: [*new, *existing])
    )
    desk = Desk()
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


def test_collection_pages_go_to_the_end_in_order_of_arrival() -> None:
    """Whatever their times: a page that was overtaken by the next one comes after it."""
    desk = Desk()
    desk.now = 9_000
    desk.answer(wrapped, {"results": [{"id": 1}]}, {})
    desk.answer(page, {"results": [{"id": 3}]}, {"cursor": "p3"}, started=3_000)
    desk.answer(page, {"results": [{"id": 2}]}, {"cursor": "p2"}, started=2_000)
    assert desk.table("[Todo]") == {"{}": ["1", "3", "2"]}


def test_collection_refetch_discards_pages() -> None:
    """The list endpoint's own answer replaces what was appended."""
    desk = Desk()
    desk.answer(wrapped, {"results": [{"id": 1}]}, {})
    desk.answer(page, {"results": [{"id": 2}]}, {"cursor": "p2"})
    desk.now = 2_000
    desk.answer(wrapped, {"results": [{"id": 1}]}, {})
    assert desk.table("[Todo]") == {"{}": ["1"]}
