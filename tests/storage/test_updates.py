"""Functions of an endpoint's `update`, on results that memory does not know and the storage may have."""

from __future__ import annotations

from typing import Any

import pytest
from tests.storage.here import FIRST, SECOND, Article, Here, titles

from restencil import RestEndpoint
from restencil.testing import FakeClock

WORDS: RestEndpoint[..., Any] = RestEndpoint(path="/words", url_prefix="http://api.test")
ADD: RestEndpoint[..., Any] = RestEndpoint(
    path="/words",
    method="POST",
    url_prefix="http://api.test",
    update=lambda new, *args: {WORDS.key(): lambda words: [*(words or ()), new]},
)
LISTED: RestEndpoint[..., Any] = RestEndpoint(path="/articles", schema=[Article])
RELIST: RestEndpoint[..., Any] = RestEndpoint(
    path="/relist",
    method="POST",
    update=lambda new, *args: {LISTED.key(): lambda pks: [*reversed(pks or ())]},
)


def _add(here: Here, word: str) -> None:
    here.clock.advance(10)
    here.controller.set_response(ADD, word, {})


def _settle(here: Here) -> None:
    assert here.store.flush()


def test_updates_function_runs_on_what_memory_has(clock: FakeClock) -> None:
    """What was loaded before the function runs shows to a third process as changed."""
    here = Here(clock)
    here.other.answered(WORDS, ["a"])
    assert here.controller.cached(WORDS) == ["a"]
    _add(here, "b")
    assert here.controller.cached(WORDS) == ["a", "b"]
    here.begin()
    assert here.controller.cached(WORDS) == ["a", "b"]


def test_updates_list_that_was_changed_is_never_shorter(clock: FakeClock) -> None:
    """A row that the storage has lost is a hole in what the function made, too."""
    here = Here(clock)
    here.other.answered(LISTED, [FIRST, SECOND])
    clock.advance(10)
    assert titles(here.controller.cached(LISTED)) == ["A", "B"]
    here.controller.set_response(RELIST, None)
    assert titles(here.controller.cached(LISTED)) == ["B", "A"]
    here.begin()
    here.other.drop("Article", "2")
    clock.advance(10)
    assert here.controller.cached(LISTED) is None
    here.controller.set_response(RELIST, None)
    assert here.controller.cached(LISTED) is None


def test_updates_result_of_another_shape_is_not_shown(clock: FakeClock) -> None:
    """What was changed for an endpoint that stored it keeps that one's shape, and another one asks the network."""
    here = Here(clock)
    here.other.answered(WORDS, ["a"])
    assert here.controller.cached(WORDS) == ["a"]
    _add(here, "b")
    here.begin()
    other: RestEndpoint[..., Any] = RestEndpoint(path="/words", url_prefix="http://api.test", schema=[Article])
    assert here.controller.cached(other) is None


@pytest.mark.parametrize("inline", [True, False])
def test_updates_what_memory_does_not_know_is_requested_again(clock: FakeClock, inline: bool) -> None:
    """A function does not run on a result that memory does not know: the next read asks the network."""
    here = Here(clock, inline=inline)
    here.other.answered(WORDS, ["a"])
    _add(here, "b")
    assert here.controller.cached(WORDS) is None
    _settle(here)
    here.begin()
    here.answers["/words"] = ["a", "b"]
    assert here.controller.read(WORDS) == ["a", "b"] and here.asked == 1
    _add(here, "c")
    assert here.controller.cached(WORDS) == ["a", "b", "c"]
