"""Answers are checked against the declared kinds where that is asked for."""

from __future__ import annotations

import datetime
import decimal
import logging
import uuid
from collections.abc import Mapping
from typing import Any, Literal

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, ProcessingError, Record, RestEndpoint, Store, field, schema


class Size(Record):
    width: int = 0


class Maker(Entity):
    id: int = 0
    name: str = ""


class Item(Entity):
    id: int = 0
    name: str = ""
    done: bool = False
    ratio: float = 0.0
    kind: Literal["item"] = "item"
    made_at: datetime.datetime | None = field(default=None, wire="madeAt")
    day: datetime.date | None = None
    price: decimal.Decimal = decimal.Decimal(0)
    uid: uuid.UUID | None = None
    tags: list[str] = []
    votes: Mapping[str, int] = field(default={})
    size: Size | None = None
    maker: Maker | None = field(default=None, schema=Maker)
    makers: list[Maker] = field(default=[], schema=[Maker])
    other: str | int = 0
    free: Any = None
    owner: Maker = field(default=Maker(), schema=Maker)
    flag: Literal[1] = 1
    odd: int = field(default=0, decode=len)


WHOLE = {
    "id": 1,
    "name": "a",
    "done": True,
    "ratio": 1,
    "kind": "item",
    "madeAt": "2026-11-21T10:00:00Z",
    "day": "2026-11-21",
    "price": "1.50",
    "uid": "12345678-1234-5678-1234-567812345678",
    "tags": ["x"],
    "votes": {"up": 1},
    "size": {"width": 1},
    "maker": {"id": 1, "name": "m"},
    "makers": [{"id": 2, "name": "n"}, 3],
    "other": "x",
    "free": [1],
    "owner": 4,
    "flag": 1,
    "odd": "abc",
    "undeclared": [],
}
MISFITS = [
    ({"id": "1"}, '$.id is "1", expected an integer'),
    ({"id": True}, "$.id is true, expected an integer"),
    ({"name": None}, "$.name is null, expected a string"),
    ({"owner": None}, "$.owner is null, expected an object or the primary key of a Maker"),
    ({"makers": None}, "$.makers is null, expected a list"),
    ({"makers": [1, None]}, "$.makers[1] is null, expected an object or the primary key of a Maker"),
    ({"flag": True}, "$.flag is true, expected 1"),
    ({"done": "no"}, '$.done is "no", expected true or false'),
    ({"ratio": "1"}, '$.ratio is "1", expected a number'),
    ({"kind": "thing"}, "$.kind is \"thing\", expected 'item'"),
    ({"madeAt": 5}, "$.madeAt is 5, expected a date with a time"),
    ({"day": ""}, '$.day is "", expected a date'),
    ({"price": "much"}, '$.price is "much", expected a decimal number'),
    ({"price": None}, "$.price is null, expected a decimal number"),
    ({"uid": "x"}, '$.uid is "x", expected a UUID'),
    ({"tags": "x"}, '$.tags is "x", expected a list'),
    ({"tags": ["x", 1]}, "$.tags[1] is 1, expected a string"),
    ({"votes": [1]}, "$.votes is [1], expected an object"),
    ({"votes": {"up": "1"}}, '$.votes.up is "1", expected an integer'),
    ({"size": []}, "$.size is [], expected an object"),
    ({"size": {"width": "1"}}, '$.size.width is "1", expected an integer'),
    ({"maker": []}, "$.maker is [], expected an object or the primary key of a Maker"),
    ({"maker": {"id": 1, "name": 5}}, "$.maker.name is 5, expected a string"),
    ({"makers": 5}, "$.makers is 5, expected a list"),
    ({"makers": [{"id": 2, "name": 5}]}, "$.makers[0].name is 5, expected a string"),
    ({"other": []}, "$.other is [], expected a string or an integer"),
]


def endpoint(of: Any, **options: Any) -> Any:
    """A reading endpoint with this schema."""
    return RestEndpoint(path="/items/:id?", schema=of, **options)


@pytest.mark.parametrize(("part", "text"), MISFITS, ids=lambda value: str(value)[:30])
def test_validation_misfit_is_an_error_and_nothing_is_written(part: dict[str, Any], text: str, desk: Desk) -> None:
    """It names the JSON path, what was found and what is declared; without the option the answer is taken."""
    with pytest.raises(ProcessingError) as caught:
        desk.answer(endpoint(Item, validate="strict"), {**WHOLE, **part}, {"id": 1})
    assert f"{text}; give the field the type that the server sends" in str(caught.value)
    assert desk.store.state["entities"] == {}


@pytest.mark.parametrize(
    ("of", "wrap", "path"),
    [
        ([Item], lambda item: [WHOLE, item], "$[1].name"),
        (schema.Collection([Item]), lambda item: [item], "$[0].name"),
        (schema.Collection([Item]).push, lambda item: item, "$.name"),
        (schema.Values(Item), lambda item: {"a": item}, "$.a.name"),
        ({"results": [Item], "total": None}, lambda item: {"results": [item]}, "$.results[0].name"),
        (schema.Union({"item": Item}, "kind"), lambda item: item, "$.name"),
        ([schema.Union({"item": Item}, "kind")], lambda item: [item], "$[0].name"),
        (schema.All(Item), lambda item: [item], "$[0].name"),
        (schema.Query(schema.All(Item), lambda items: items), lambda item: [item], "$[0].name"),
    ],
)
def test_validation_misfits_are_found_wherever_entities_stand(of: Any, wrap: Any, path: str, desk: Desk) -> None:
    """In lists, maps, objects, unions, and what is added to a list."""
    asking = endpoint(of, validate="strict")
    desk.answer(asking, wrap(WHOLE))
    with pytest.raises(ProcessingError, match=r"is 5, expected a string") as caught:
        desk.answer(asking, wrap({**WHOLE, "name": 5}))
    assert f"{path} is 5" in str(caught.value)


def test_validation_warn_logs_each_kind_once(caplog: pytest.LogCaptureFixture, desk: Desk) -> None:
    """The answer is taken; another kind of misfit is another line."""

    class Warned(Entity):
        id: int = 0
        name: str = ""
        note: str = ""

    asking = endpoint([Warned], validate="warn")
    with caplog.at_level(logging.WARNING):
        found = desk.answer(asking, [{"id": 1, "name": 5}, {"id": 2, "name": 6}])
        desk.answer(asking, [{"id": 3, "name": 7, "note": 1}])
    assert [item.name for item in found] == [5, 6]
    assert [record.getMessage() for record in caplog.records] == [
        "GET /items: the response does not fit its schema: $[0].name is 5, expected a string",
        "GET /items: the response does not fit its schema: $[0].note is 1, expected a string",
    ]


def test_validation_store_says_it_for_endpoints_that_do_not() -> None:
    """An endpoint's own word goes before; words that mean nothing are refused."""
    desk = Desk(validate="strict")
    with pytest.raises(ProcessingError, match="expected a string"):
        desk.answer(endpoint(Item), {"id": 1, "name": 5}, {"id": 1})
    assert desk.answer(endpoint(Item, validate="off"), {"id": 1, "name": 5}, {"id": 1}).name == 5
    with pytest.raises(ValueError, match="validate is 'on'; expected one of strict, warn, off"):
        Store(validate="on")
    with pytest.raises(
        ValueError, match="validate of endpoint GET '/items/:id.' is 'on'; expected one of strict, warn, off"
    ):
        endpoint(Item, validate="on")
