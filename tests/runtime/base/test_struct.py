"""Values that never change, made without generated code: `Timeout` is one of them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

from restencil import Api, Timeout


def test_struct_members_are_given_by_place_or_by_name_and_defaults_stand_in() -> None:
    """Equal members of one class are equal and hash alike, copied and pickled too; another class is never equal."""
    given = Timeout(5, read=1)
    assert (given.total, given.connect, repr(given)) == (5, None, repr(Timeout(read=1, connect=None, total=5)))
    for other in (Timeout(5, None, 1), copy.copy(given), copy.deepcopy(given), pickle.loads(pickle.dumps(given))):
        assert other == given and hash(other) == hash(given)
    assert given != Timeout(5) and Timeout() != Api()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Timeout(1, total=2), "Timeout got 1 members by position and total by name; its members are: total, "),  # type: ignore[misc]
        (lambda: Timeout(1, 2, 3, 4, 5, 6), "Timeout got 6 members by position and none by name; "),  # type: ignore[call-arg]
    ],
)
def test_struct_wrong_members_are_rejected(make: Callable[[], Timeout], message: str) -> None:
    """The message says what is wrong and what there is."""
    with pytest.raises(TypeError, match=message):
        make()


def test_struct_member_cannot_be_changed() -> None:
    """Setting and deleting raise AttributeError."""
    timeout = Timeout(1)
    with pytest.raises(AttributeError, match="Timeout is immutable; its member 'total' cannot be set"):
        timeout.total = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Timeout is immutable; its member 'total' cannot be deleted"):
        del timeout.total  # pyright: ignore[reportAttributeAccessIssue]
