"""What the server may answer: what counts as a primary key, what fits a schema, and what a mutation's answer means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from restencil import Controller, Entity, ProcessingError, RestEndpoint, schema
from restencil.base.values import INVALID


class Task(Entity):
    id: int = 0
    title: str = ""


class Seat(Entity, pk=("row", "number")):
    row: str = ""
    number: int = 0


tasks: Any = RestEndpoint(path="/tasks", schema=[Task])
seats: Any = RestEndpoint(path="/seats", schema=[Seat])


def pks_of(controller: Controller, table: str) -> list[str]:
    return list(controller.store.state["entities"].get(table, {}))


# -- primary keys ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pk", [True, False, 1.5, float("inf"), [], [1], {}, {"a": 1}, "\ud800"])
@pytest.mark.parametrize("times", [1, 100])
def test_what_is_no_text_and_no_whole_number_is_no_primary_key(pk: object, times: int) -> None:
    """A response with such a key is refused, by both forms of normalization, and nothing of it is written."""
    with Controller() as controller:
        for place in range(times):
            controller.set_response(tasks, [{"id": place}])
        before = pks_of(controller, "Task")
        with pytest.raises(ProcessingError, match="a primary key is text or a whole number"):
            controller.set_response(tasks, [{"id": 1000}, {"id": pk}])
        assert pks_of(controller, "Task") == before


@pytest.mark.parametrize("pk", [True, 1.5, [1], {"a": 1}])
def test_nor_is_it_a_part_of_one(pk: object) -> None:
    """A key of several fields takes text and whole numbers as well."""
    with Controller() as controller, pytest.raises(ProcessingError, match="no usable primary key"):
        controller.set_response(seats, [{"row": "a", "number": pk}])


def test_numbers_that_are_alike_name_one_record() -> None:
    """An integral number is the integer: 1.0 is 1, 1e2 is 100, alone and in a key of several fields."""
    with Controller() as controller:
        controller.set_response(tasks, [{"id": 1}, {"id": 1.0}, {"id": "1"}, {"id": 1e2}])
        controller.set_response(seats, [{"row": "a", "number": 1}, {"row": "a", "number": 1.0}])
        assert pks_of(controller, "Task") == ["1", "100"]
        assert pks_of(controller, "Seat") == ['["a","1"]']


def test_invalidate_answered_by_a_number() -> None:
    """It is the primary key; one with a fraction is none."""
    purge: Any = RestEndpoint(path="/purge", method="POST", schema=schema.Invalidate(Task))
    with Controller() as controller:
        controller.set_response(tasks, [{"id": 5}, {"id": 6}])
        controller.set_response(purge, 5)
        assert [task.id for task in controller.cached(tasks) or ()] == [6]
        with pytest.raises(ProcessingError, match=r"6\.5 is no primary key of Task"):
            controller.set_response(purge, 6.5)


# -- what fits a schema ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "value"),
    [
        (Task, {"title": "without its key"}),
        (Task, 5),
        (Task, "x"),
        ([Task], 5),
        (schema.Collection([Task]), "x"),
        ({"at": schema.Collection([Task])}, None),
    ],
)
def test_set_of_what_cannot_be_normalized(target: Any, value: Any) -> None:
    """It raises ProcessingError, and nothing is written."""
    with Controller() as controller:
        with pytest.raises(ProcessingError):
            controller.set(target, value)
        assert controller.store.state["entities"] == {}


def test_set_where_a_hook_fails() -> None:
    """What a hook raises for a value is a ProcessingError as well."""

    class Odd(Entity):
        id: int = 0

        @classmethod
        def process(cls, input: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any]:
            raise KeyError("id")

    with Controller() as controller, pytest.raises(ProcessingError, match="does not fit its schema: KeyError"):
        controller.set(Odd, {"id": 1})


def test_should_update_is_asked_of_a_deleted_entity() -> None:
    """It sees the marker, and where it refuses the entity stays deleted."""
    seen: list[Any] = []

    class Log(Entity):
        id: int = 0
        version: int = 0

        @classmethod
        def should_update(cls, existing_meta: Any, incoming_meta: Any, existing: Any, incoming: Any) -> bool:
            seen.append(existing)
            return bool(incoming["version"] > 1)

    logs: Any = RestEndpoint(path="/logs", schema=[Log])
    with Controller() as controller:
        controller.set_response(logs, [{"id": 1, "version": 1}])
        controller.set(schema.Invalidate(Log), {"id": 1})
        controller.set_response(logs, [{"id": 1, "version": 1}])
        assert controller.cached(logs) == []
        controller.set_response(logs, [{"id": 1, "version": 2}])
        assert [log.version for log in controller.cached(logs) or ()] == [2]
    assert seen == [INVALID, INVALID]


@pytest.mark.parametrize("value", [5, 0, True, False, 1.5])
def test_a_number_where_a_collection_stands_is_missing(value: object) -> None:
    """It is no list, and names none."""
    page: Any = RestEndpoint(path="/page", schema={"items": schema.Collection([Task]), "of": None})
    with Controller() as controller:
        for place in range(100):
            controller.set_response(page, {"items": value, "of": place})
            assert controller.cached(page) == {"items": None, "of": place}


@pytest.mark.parametrize("value", [5, True, "x", [{"id": 1}]])
def test_what_is_no_map_is_kept_where_values_stand(value: object) -> None:
    """The shape is not checked by hand, and nothing of it is written into tables."""
    board: Any = RestEndpoint(path="/board", schema={"by_name": schema.Values(Task), "first": {"task": Task}})
    with Controller() as controller:
        for _ in range(100):
            controller.set_response(board, {"by_name": value, "first": value})
        assert controller.cached(board) == {"by_name": value, "first": value}
        assert controller.store.state["entities"] == {}
