"""What is handed out is read-only, and equality is JSON's."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from restencil.base.values import INVALID, UNDEFINED, holds_containers, looked_through, read_only, same_json

LIST_CHANGES: list[Callable[[Any], object]] = [
    lambda value: value.append(1),
    lambda value: value.extend([1]),
    lambda value: value.insert(0, 1),
    lambda value: value.remove(1),
    lambda value: value.pop(),
    lambda value: value.clear(),
    lambda value: value.sort(),
    lambda value: value.reverse(),
    lambda value: value.__setitem__(0, 1),
    lambda value: value.__delitem__(0),
    lambda value: value.__iadd__([1]),
    lambda value: value.__imul__(2),
]
DICT_CHANGES: list[Callable[[Any], object]] = [
    lambda value: value.update(a=1),
    lambda value: value.setdefault("b", 1),
    lambda value: value.pop("a"),
    lambda value: value.popitem(),
    lambda value: value.clear(),
    lambda value: value.__setitem__("a", 1),
    lambda value: value.__delitem__("a"),
    lambda value: value.__ior__({"b": 1}),
]


@pytest.mark.parametrize(
    ("given", "change"), [([3, 1], change) for change in LIST_CHANGES] + [({"a": 0}, change) for change in DICT_CHANGES]
)
def test_values_container_that_is_handed_out_rejects_every_change(
    given: list[int] | dict[str, int], change: Callable[[Any], object]
) -> None:
    """Each mutator of a read-only list or dict raises TypeError and says how to get one of one's own."""
    value = read_only(given)
    kind = type(given).__name__
    with pytest.raises(
        TypeError, match=rf"this {kind} is shared by all readers and read-only; copy it first: {kind}\(value\)"
    ):
        change(value)
    assert value == given


def test_values_copy_may_be_changed() -> None:
    """`copy` and `deepcopy` give plain containers, all the way down for the deep one."""
    value = read_only({"a": [[1]]})
    shallow = copy.copy(value)
    shallow["b"] = 1
    deep = copy.deepcopy(value)
    deep["a"][0].append(2)
    assert value == {"a": [[1]]}
    assert deep == {"a": [[1, 2]]}


def test_values_pickling_keeps_them_read_only() -> None:
    """What was read-only is read-only after pickling, empty containers included."""
    for value in (read_only({"a": [1]}), read_only([]), read_only({})):
        again = pickle.loads(pickle.dumps(value))
        assert again == value
        assert type(again) is type(value)


@pytest.mark.parametrize("sentinel", [UNDEFINED, INVALID])
def test_values_sentinels_are_one_of_a_kind(sentinel: Any) -> None:
    """Copying and pickling give the very same sentinel, and it is false."""
    assert copy.copy(sentinel) is sentinel
    assert copy.deepcopy(sentinel) is sentinel
    assert pickle.loads(pickle.dumps(sentinel)) is sentinel
    assert not sentinel


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, True, False),
        (0, False, False),
        (1, 1.0, True),
        (1, "1", False),
        (None, False, False),
        (None, None, True),
        ([1, [True]], [1, [True]], True),
        ([1, [True]], [1, [1]], False),
        ({"a": {"b": 1}}, {"a": {"b": True}}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ({"a": None}, {"b": None}, False),
        ([], {}, False),
        (read_only([{"a": 1}]), [{"a": 1}], True),
    ],
)
def test_values_equality_is_that_of_json(left: Any, right: Any, same: bool) -> None:
    """`True` and `1` differ at any depth, `1` and `1.0` do not, and the order of members has no meaning."""
    assert same_json(left, right) is same
    assert same_json(right, left) is same


def test_value_that_cannot_be_compared_differs() -> None:
    """A foreign object whose comparison fails counts as another value."""

    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("no")

        __hash__ = None  # type: ignore[assignment]  # it cannot be hashed either

    assert not same_json(Odd(), 1)


SCALAR_VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
VALUES = SCALAR_VALUES | st.lists(SCALAR_VALUES, max_size=1) | st.dictionaries(st.text(max_size=1), SCALAR_VALUES)


@given(st.dictionaries(st.text(max_size=3), VALUES))
def test_values_no_list_or_dict_in_a_record_is_overlooked(made: dict[str, Any]) -> None:
    """Both ways of telling see what is in a record, also where it was put in one by one; a look misses nothing else."""
    filled: dict[str, Any] = {}
    for name in made:
        filled.setdefault(name, made[name])
    held = any(isinstance(value, (list, dict)) for value in made.values())
    for record in (made, filled, {**made}, json.loads(json.dumps(made))):
        assert looked_through(record) is held
        assert holds_containers(record) or not held
