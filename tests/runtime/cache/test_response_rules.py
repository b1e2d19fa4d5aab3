"""What the server may answer: what counts as a primary key, what fits a schema, and what a mutation's answer means."""

from __future__ import annotations

import datetime
import json
import logging
import uuid
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.worlds import answered_by, running

from restencil import Controller, Entity, ProcessingError, RestEndpoint, Store, create_resource, schema


class Seat(Entity, pk=("row", "number")):
    row: str = ""
    number: int = 0


seats: Any = RestEndpoint(path="/seats", schema=[Seat])


# -- primary keys ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pk", [True, 1.5, [1], {"a": 1}, b"a", {1}, iter([1])])
def test_response_rules_part_of_a_key_is_text_or_a_whole_number(pk: object) -> None:
    """A key of several fields takes nothing else, either."""
    with Controller() as controller, pytest.raises(ProcessingError, match="no usable primary key"):
        controller.set_response(seats, [{"row": "a", "number": pk}])
    with Controller() as controller, pytest.raises(ProcessingError, match="no usable primary key"):
        controller.set(Note, {"id": pk}, {"id": pk})


# -- mutations through a client --------------------------------------------------------------------------------------


class Note(Entity):
    id: int = 0
    title: str = ""
    slug: str = ""
    made: str = ""


Notes: Any = create_resource(path="/notes/:id", schema=Note, url_prefix="http://notes.example", strict=True)
Lax: Any = create_resource(path="/notes/:id", schema=Note, url_prefix="http://notes.example")
BySlug: Any = create_resource(path="/notes/:slug", schema=Note, url_prefix="http://notes.example", strict=True)

FIRST: dict[str, Any] = {"id": 1, "title": "a", "slug": "one", "made": "server"}
SECOND: dict[str, Any] = {"id": 2, "title": "b", "slug": "two", "made": "server"}


Life = Callable[..., AbstractContextManager[tuple[Any, Callable[..., Any]]]]


@pytest.fixture
def life(asynchronous: bool) -> Life:
    """Gives a controller of either world, whose requests get these responses in turn, and what calls an endpoint."""

    @contextmanager
    def answered(*responses: httpx.Response) -> Generator[tuple[Any, Callable[..., Any]]]:
        left = iter(responses)

        def answer(request: httpx.Request) -> httpx.Response:
            told = next(left)
            return httpx.Response(told.status_code, content=told.content, headers=told.headers)

        controller = answered_by(answer, Store(), asynchronous)
        with running(controller) as run:
            yield controller, lambda endpoint, **arguments: run(controller.fetch(endpoint, **arguments))

    return answered


def both() -> httpx.Response:
    return httpx.Response(200, json=[FIRST, SECOND])


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(204),
        httpx.Response(205),
        httpx.Response(200),
        httpx.Response(200, headers={"content-type": "application/json"}),
        httpx.Response(200, json={"ok": True}),
        httpx.Response(200, json=[]),
        httpx.Response(200, json=[{"gone": 1}]),
        httpx.Response(200, json="deleted"),
        httpx.Response(200, json=True),
        httpx.Response(200, json=None),
        httpx.Response(200, text="deleted"),
        httpx.Response(200, html="<p>deleted</p>"),
        httpx.Response(200, text="OK", headers={"content-type": "application/json"}),
        httpx.Response(200, json={"id": 1}),
        httpx.Response(200, json=1),
    ],
)
@pytest.mark.parametrize("resource", [Notes, Lax])
def test_response_rules_delete_succeeded_whatever_its_body(life: Life, resource: Any, answer: httpx.Response) -> None:
    """The entity goes, and the value is the entity as it was known."""

    with life(both(), answer) as (controller, call):
        call(resource.get_list)
        value = call(resource.delete, id=1)
        assert value == Note(**FIRST)
        assert [note.id for note in controller.cached(resource.get_list)] == [2]
        assert controller.cached(resource.get, id=1) is None


def test_response_rules_delete_of_what_is_not_known(life: Life) -> None:
    """The value is None, and none that is made of defaults; an answer that tells the whole entity is shown."""

    with life(httpx.Response(204), httpx.Response(200, json={"id": 1}), httpx.Response(200, json=FIRST)) as (_, call):
        assert call(Notes.delete, id=1) is None
        assert call(Notes.delete, id=1) is None
        assert call(Notes.delete, id=1) == Note(**FIRST)


def test_response_rules_delete_finds_the_entity_by_the_fields_of_its_url(life: Life) -> None:
    """Where the path has no primary key, the only entity with these values goes."""

    with life(both(), httpx.Response(204)) as (controller, call):
        call(BySlug.get_list)
        assert call(BySlug.delete, slug="two") == Note(**SECOND)
        assert [note.id for note in controller.cached(BySlug.get_list)] == [1]


def test_response_rules_delete_that_finds_nothing_leaves_the_lists_stale(
    life: Life, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing, or two that it could be: the lists are shown still, and fetched by the next read."""
    caplog.set_level(logging.INFO)

    with life(both(), httpx.Response(204)) as (controller, call):
        call(BySlug.get_list)
        assert call(BySlug.delete, slug="other") is None
        assert len(controller.cached(BySlug.get_list)) == 2
        assert controller.explain(BySlug.get_list).needs_fetch
    assert "the deleted entity is unknown" in caplog.text


@pytest.mark.parametrize("prefix", ["http://notes.example/v1", "http://notes.example/v1/"])
def test_response_rules_record_is_found_below_a_prefix_without_a_slash_in_its_path(life: Life, prefix: str) -> None:
    """A change of a part makes the record stale, whose path is joined to the prefix with one slash."""
    notes: Any = create_resource(path="notes/:id", schema=Note, url_prefix=prefix, strict=True)
    pin = notes.update.extend(path="notes/:id/pin", method="POST", body=None, schema=None)
    with life(httpx.Response(200, json=FIRST), httpx.Response(204)) as (controller, call):
        call(notes.get, id=1)
        assert controller.explain(notes.get, id=1).expires_in > 0
        call(pin, id=1)
        assert controller.explain(notes.get, id=1).expires_in <= 0


@pytest.mark.parametrize("location", ["/notes/7", "http://notes.example/notes/7", "/notes/7/", "notes/7"])
def test_response_rules_creation_without_a_body_has_its_key_in_the_location(life: Life, location: str) -> None:
    """The value is what was sent, with a key of the right type; it joins no list, and all of them are stale (5.1)."""

    with life(both(), httpx.Response(201, headers={"location": location})) as (controller, call):
        call(Notes.get_list)
        value = call(Notes.create, body={"title": "new"})
        assert (value.id, value.title) == (7, "new")
        assert [note.id for note in controller.cached(Notes.get_list)] == [1, 2]
        assert controller.explain(Notes.get_list).needs_fetch
        assert controller.explain(Notes.get, id=7).needs_fetch


@pytest.mark.parametrize("headers", [{}, {"location": "/other/7"}, {"location": "/notes"}])
def test_response_rules_creation_that_says_nothing_makes_every_list_stale(life: Life, headers: dict[str, str]) -> None:
    """It has succeeded, its value is None, and every list of its entity asks, whatever was sent (3.3)."""

    with life(both(), httpx.Response(200, json=[]), httpx.Response(201, headers=headers)) as (controller, call):
        call(Notes.get_list)
        call(Notes.get_list, slug="elsewhere")
        assert call(Notes.create, body={"title": "new", "slug": "here"}) is None
        assert [note.id for note in controller.cached(Notes.get_list)] == [1, 2]
        assert controller.explain(Notes.get_list).needs_fetch
        assert controller.explain(Notes.get_list, slug="elsewhere").needs_fetch


@pytest.mark.parametrize(
    ("target", "value", "expected"),
    [
        (
            {"items": [Note], "total": None},
            {"items": {"error": "x"}},
            r'expected a list of Note, found an object: {"err',
        ),
        ({"items": [Note], "total": None}, {"items": "x"}, 'expected a list of Note, found a string: "x"'),
        ({"items": [Note]}, [1], r"expected an object of Note, found a list: \[1\]"),
        ({"by": schema.Values(Note)}, {"by": [FIRST]}, "expected an object of Note, found a list"),
        ({"by": schema.Values(Note)}, {"by": 5}, "expected an object of Note, found a number"),
        ({"one": schema.Collection([Note])}, {"one": 5}, "expected a list of Note, found a number"),
        (schema.Collection(schema.Values(Note)), [FIRST], "expected an object of Note, found a list"),
        (schema.All(Note), {"error": 1}, "expected a list of Note, found an object"),
        (schema.Union({"n": Note}, "kind"), [FIRST], "expected an object of Note, found a list"),
    ],
)
def test_response_rules_shapes_are_checked_at_every_depth(target: Any, value: object, expected: str) -> None:
    """By both forms of normalization; without the option nothing of it is an error."""
    odd: Any = RestEndpoint(path="/odd", schema=target, strict_shape=True)
    with Controller() as controller:
        for _ in range(50):
            with pytest.raises(ProcessingError, match=expected):
                controller.set_response(odd, value)
        even: Any = RestEndpoint(path="/even", schema=target)
        controller.set_response(even, value)


# -- what a value is decoded to --------------------------------------------------------------------------------------

TOKEN = "6f1f7b0e-8f0e-4a52-9f2c-3a1a3f6d6a11"


@pytest.mark.parametrize(
    ("returns", "answer", "expected"),
    [
        (schema.codec(uuid.UUID), TOKEN, uuid.UUID(TOKEN)),
        ([schema.codec(uuid.UUID)], [TOKEN], [uuid.UUID(TOKEN)]),
        (schema.Values(schema.codec(datetime.date)), {"a": "2030-01-31"}, {"a": datetime.date(2030, 1, 31)}),
        (
            schema.Object({"made_on": schema.codec(datetime.date), "n": None}, wire={"made_on": "madeOn"}),
            {"madeOn": "2030-01-31", "n": 1},
            {"made_on": datetime.date(2030, 1, 31), "n": 1},
        ),
        (schema.codec(uuid.UUID), None, None),
    ],
)
def test_response_rules_returns_decodes_as_a_schema_does(
    life: Life, returns: Any, answer: object, expected: object
) -> None:
    """In fetches and reads, without a table that takes part in it."""
    token: Any = RestEndpoint(path="/token", url_prefix="http://notes.example", returns=returns, content="json")

    with life(httpx.Response(200, content=json.dumps(answer))) as (controller, call):
        assert call(token) == expected
        assert controller.cached(token) == expected
