"""Values that never change, made without generated code."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from restencil.base.values import Struct


class Point(Struct):
    x: int
    y: int = 2


class Other(Struct):
    x: int
    y: int = 2


class Nothing(Struct):
    pass


def test_struct_members_are_given_by_place_or_by_name_and_defaults_stand_in() -> None:
    """A default is a class attribute; `repr` shows every member in its order."""
    assert (Point(1).x, Point(1).y) == (1, 2)
    assert repr(Point(y=3, x=1)) == "Point(x=1, y=3)"
    assert repr(Nothing()) == "Nothing()"


def test_struct_equal_members_of_one_class_are_equal_and_hash_alike() -> None:
    """A default that was given is the default that was left out; another class is never equal."""
    assert Point(1) == Point(1, 2)
    assert hash(Point(1)) == hash(Point(1, 2))
    assert Point(1) != Point(2)
    assert Point(1) != Other(1)
    assert Nothing() == Nothing()


def test_struct_copies_and_pickles_are_equal() -> None:
    """A value survives copying and pickling."""
    assert copy.deepcopy(Point(1, 3)) == copy.copy(Point(1, 3)) == Point(1, 3)
    assert pickle.loads(pickle.dumps(Point(1, 3))) == Point(1, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Point(), "Point lacks x; its members are: x, y"),  # type: ignore[call-arg]
        (lambda: Point(1, z=2), "Point has no z; its members are: x, y"),  # type: ignore[call-arg]
        (lambda: Point(1, x=2), "Point got x twice; its members are: x, y"),  # type: ignore[misc]
        (lambda: Point(1, 2, 3), "Point got 3 positional members; its members are: x, y"),  # type: ignore[call-arg]
        (lambda: Nothing("x"), "Nothing got 1 positional members"),  # pyright: ignore[reportCallIssue]
    ],
)
def test_struct_wrong_members_are_rejected(make: Callable[[], Struct], message: str) -> None:
    """The message says what is wrong and what there is."""
    with pytest.raises(TypeError, match=message):
        make()


def test_struct_member_cannot_be_changed() -> None:
    """Setting and deleting raise AttributeError."""
    point = Point(1)
    with pytest.raises(AttributeError, match="Point is immutable; its member 'x' cannot be set"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Point is immutable; its member 'x' cannot be deleted"):
        del point.x  # pyright: ignore[reportAttributeAccessIssue]
