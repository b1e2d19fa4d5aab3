"""Answers that come once more, byte for byte: what they bring is not taken apart again, and shows as if it were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runtime.notes import WAYS, Notes, Origin, client, take

from restencil import Manager

LONG = "x" * 9_000


class Watching(Manager):
    """A manager of the user's own: it sees every response pass, so each has to be taken apart."""

    def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
        return next(action)


def server() -> Origin:
    """A server of long notes, which says of none whether it changed."""
    return Origin(tells=False, more=LONG)


def test_repeated_responses_same_response_makes_what_is_stored_fresh_and_changes_no_object() -> None:
    """A list that is answered as before is fresh again, and is the identical object, with the identical items."""
    clock, controller = client(server())
    controller.fetch(Notes.get_list)
    before: Any = controller.cached(Notes.get_list)
    clock.advance(1_000_000)
    assert controller.get_response(Notes.get_list).needs_fetch
    value = controller.fetch(Notes.get_list)
    assert value == before and value[0] is before[0]
    assert controller.cached(Notes.get_list) is before
    assert not controller.get_response(Notes.get_list).needs_fetch
    times = controller.store.entity_meta("Note", "1")
    assert times is not None and times.fetched_at == clock()


@pytest.mark.parametrize("others", [(), ("watching",)], ids=["alone", "watched"])
def test_repeated_responses_other_managers_see_each_response(others: tuple[str, ...]) -> None:
    """Where a manager of the user's own is there, every answer passes it as a response."""
    seen: list[str] = []

    class Noting(Manager):
        def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
            seen.append(type(action).__name__)
            return next(action)

    _, controller = client(server(), *([Noting()] if others else []))
    controller.fetch(Notes.get_list)
    controller.fetch(Notes.get_list)
    assert seen.count("SetResponse") == (2 if others else 0)


@given(st.lists(st.tuples(st.sampled_from(WAYS), st.sampled_from("123")), max_size=14))
def test_repeated_responses_store_is_the_same_whether_answers_are_recognized_or_taken_apart(
    steps: list[tuple[str, str]],
) -> None:
    """Whatever happens between two equal answers, the second leaves the store as it would be without any short cut."""
    sides = []
    for managers in ((), (Watching(),)):
        origin = server()
        clock, controller = client(origin, *managers)
        shown = [take(step, name, origin, clock, controller) for step, name in [("list", "1"), *steps, ("list", "1")]]
        sides.append((shown, controller.store.state, controller.cached(Notes.get_list)))
    assert sides[0] == sides[1]
