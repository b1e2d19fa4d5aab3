"""Removal: `Invalidate`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, ProcessingError, RestEndpoint, create_resource, schema
from restencil.cache.reading import ExpiryStatus


class Article(Entity):
    id: str = ""
    title: str = ""


class Link(Entity):
    id: str = ""


Articles: Any = create_resource(path="/articles/:id", schema=Article)
purge: Any = RestEndpoint(path="/purge", method="POST", schema=[schema.Invalidate(Article)])
remove: Any = RestEndpoint(path="/remove", method="POST", schema=schema.Invalidate(Article))


@pytest.fixture
def desk() -> Desk:
    """A store with two articles in a list."""
    made = Desk()
    made.answer(Articles.get_list, [{"id": 1}, {"id": 2}])
    return made


def test_invalidate_worked_example(desk: Desk) -> None:
    """The entry becomes INVALID, the list keeps its primary keys, and readers skip the invalid one."""
    desk.answer(Articles.delete, {"id": 1}, {"id": 1})
    assert desk.result(Articles.delete, {"id": 1}) == "1"
    assert desk.table("[Article]") == {"{}": ["1", "2"]}
    assert [article.id for article in desk.data(Articles.get_list)] == [2]
    reading = desk.read(Articles.get, {"id": 1})
    assert (reading.data, reading.expiry_status) == (None, ExpiryStatus.Invalid)


def test_invalidate_time_of_a_removal_is_its_actions(desk: Desk) -> None:
    """The entity's meta is that of the delete."""
    desk.now = 5_000
    desk.answer(Articles.delete, {"id": 1}, {"id": 1}, started=4_000)
    assert desk.store.entity_meta("Article", "1") == (4_000, 5_000, 65_000)


@pytest.mark.parametrize("answer", ["1", 1, {"id": "1", "title": "x"}])
def test_invalidate_string_or_number_is_the_primary_key(desk: Desk, answer: Any) -> None:
    """A server may answer with the primary key itself, or with the object."""
    desk.answer(Articles.delete, answer, {"id": 1})
    assert [article.id for article in desk.data(Articles.get_list)] == [2]
    assert desk.result(Articles.delete, {"id": 1}) == "1"


def test_invalidate_value_of_a_fetch(desk: Desk) -> None:
    """The entity as it was known, whatever the answer; by hand what `Invalidate` got, None for a bare key."""
    value = desk.answer(Articles.delete, {"id": 1, "title": "was"}, {"id": 1})
    assert (type(value), value.id, value.title) == (Article, 1, "")
    assert desk.answer(Articles.delete, "2", {"id": 2}).id == 2
    value = desk.answer(remove, {"id": 1, "title": "was"})
    assert (type(value), value.title) == (Article, "was")
    assert desk.answer(remove, "2") is None


def test_invalidate_unusable_pk_is_an_error(desk: Desk) -> None:
    """An object without the primary key, or a value that is none, is a processing error."""
    with pytest.raises(ProcessingError, match="an Article in the response has no usable primary key"):
        desk.answer(remove, {"title": "x"})
    for answer in ("", None, True):
        with pytest.raises(ProcessingError):
            desk.answer(remove, answer)
    assert len(desk.data(Articles.get_list)) == 2


@pytest.mark.parametrize("answer", [{"title": "x"}, "", None, True, [{"id": 2}], [], "deleted"])
def test_invalidate_delete_needs_no_pk_in_the_response(desk: Desk, answer: Any) -> None:
    """It succeeded, whatever its body: the URL parameters tell which entity is gone."""
    desk.answer(Articles.delete, answer, {"id": 1})
    assert [article.id for article in desk.data(Articles.get_list)] == [2]


def test_invalidate_list_needs_a_list_of_invalidations(desk: Desk) -> None:
    """`Invalidate(S)` refuses a list and names the way; `[Invalidate(S)]` removes several."""
    with pytest.raises(ProcessingError, match=r"for several write \[Invalidate\(Article\)\]"):
        desk.answer(remove, [{"id": 1}])
    desk.answer(purge, [{"id": 1}, "2"])
    assert desk.data(Articles.get_list) == []


def test_invalidate_nothing_wins_over_a_removal(desk: Desk) -> None:
    """It is stored whatever the age of the record, and whatever the same response says before it."""
    both: Any = RestEndpoint(
        path="/both", method="POST", schema={"kept": [Article], "gone": [schema.Invalidate(Article)]}
    )
    desk.now = 9_000
    desk.answer(Articles.get, {"id": 1, "title": "newer"}, {"id": 1})
    desk.answer(Articles.delete, {"id": 1}, {"id": 1}, started=2_000)
    assert desk.read(Articles.get, {"id": 1}).expiry_status is ExpiryStatus.Invalid
    desk.answer(both, {"kept": [{"id": 2, "title": "x"}], "gone": [{"id": 2}]})
    assert desk.data(Articles.get_list) == []


def test_invalidate_removal_is_never_answered_from_tables(desk: Desk) -> None:
    """Reading the endpoint of a removal that was not made finds nothing."""
    assert not desk.read(Articles.delete, {"id": 1}).found


@pytest.mark.parametrize("attribute", ["type", lambda value, parent, key: value.get("type") or "link"])
def test_invalidate_mapping_selects_the_type(attribute: Any) -> None:
    """The entity of the kind that the item names goes; the result carries the kind."""
    shape = schema.Invalidate({"article": Article, "link": Link}, attribute)
    endpoint: Any = RestEndpoint(path="/gone", method="POST", schema=shape)
    desk = Desk()
    desk.answer(RestEndpoint(path="/links", schema=[Link]), [{"id": 1}])
    desk.answer(RestEndpoint(path="/articles", schema=[Article]), [{"id": 1}])
    value = desk.answer(endpoint, {"id": 1, "type": "link"})
    assert isinstance(value, Link)
    assert desk.result(endpoint) == {"id": "1", "schema": "link"}
    assert (desk.get(Link, "1"), desk.get(Article, "1").id) == (None, 1)


def test_invalidate_hook_of_the_entity_is_applied() -> None:
    """`process` runs before the primary key is looked for."""

    class Wrapped(Entity):
        id: str = ""

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Any:
            return {"id": input.get("inner", input)["id"]}

    desk = Desk()
    desk.answer(RestEndpoint(path="/w", schema=[Wrapped]), [{"id": 1}])
    value = desk.answer(
        RestEndpoint(path="/gone", method="POST", schema=schema.Invalidate(Wrapped)), {"inner": {"id": 1}}
    )
    assert desk.get(Wrapped, "1") is None
    assert value.id == 1


@pytest.mark.parametrize("answer", [None, "2", {"id": 2}])
@pytest.mark.parametrize("attribute", ["type", lambda value, parent, key: value["type"].lower()])
def test_invalidate_response_that_does_not_report_the_type_removes_what_is_known(attribute: Any, answer: Any) -> None:
    """A `delete` of a polymorphic resource: the entity with that primary key goes, of whichever type it is."""
    feed: Any = create_resource(path="/feed/:id", schema=schema.Union({"article": Article, "link": Link}, attribute))
    desk = Desk()
    desk.answer(feed.get_list, [{"id": 1, "type": "article"}, {"id": 2, "type": "link"}])
    removed = feed.delete.process(answer, {"id": 2})
    value = desk.answer(feed.delete, removed, {"id": 2})
    assert (type(value), value.id) == (Link, 2)
    assert [item.id for item in desk.data(feed.get_list)] == [1]
    assert desk.result(feed.delete, {"id": 2}) == {"id": "2", "schema": "link"}
    assert not desk.read(feed.get, {"id": 2}).found


def test_invalidate_what_no_table_holds_or_another_type_claims_removes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An unknown primary key, or a type without a mapping entry, leaves the answer as it is; a warning tells."""
    shape = schema.Invalidate({"article": Article, "link": Link}, "type")
    endpoint: Any = RestEndpoint(path="/gone", method="POST", schema=shape)
    desk = Desk()
    desk.answer(RestEndpoint(path="/links", schema=[Link]), [{"id": 1}])
    for answer in ({"id": 9}, {"title": "x"}, {"id": 1, "type": "other"}):
        assert desk.answer(endpoint, answer, {}) == answer
    assert desk.answer(endpoint, "9", {}) is None
    assert desk.table("Link") == {"1": {"id": 1}}
    assert caplog.text.count("Invalidate: no schema for an item whose attribute 'type' is") == 4


def test_invalidate_value_of_several_removals(desk: Desk) -> None:
    """A list has an item for each of the answer: the entity built from an object, None for a bare primary key."""
    value = desk.answer(purge, ["1", {"id": 2, "title": "was"}])
    assert value[0] is None
    assert (type(value[1]), value[1].title) == (Article, "was")
