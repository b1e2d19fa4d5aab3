"""The reducers: there is one for each action, and none of them changes anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest
from tests.runtime.doubles import AnyEndpoint, Desk, same_error

from restencil import Entity, NetworkError, ProcessingError, RestEndpoint
from restencil.cache import actions
from restencil.cache.actions import Meta
from restencil.cache.reduce import REDUCERS
from restencil.cache.transition import Failure, WriteChange


class User(Entity):
    id: str = ""
    name: str = ""


user: AnyEndpoint = RestEndpoint(path="/users/:id", schema=User)
rename: AnyEndpoint = RestEndpoint(
    path="/users/:id", method="PATCH", schema=User, get_optimistic_response=lambda snapshot, *args: {"id": "1"}
)
ONE = {"id": "1"}
META = Meta(2_000, 2_000, 9_000)


def test_reduce_there_is_one_for_each_action() -> None:
    """The table names all actions there are."""
    assert set(REDUCERS) == set(get_args(actions.Action))


MADE: dict[str, Callable[[], Any]] = {
    "fetch": lambda: actions.Fetch(rename.request((ONE, {})), 7, META),
    "response": lambda: actions.SetResponse(user.request((ONE,)), {"id": "1", "name": "Bob"}, META),
    "misfit": lambda: actions.SetResponse(user.request((ONE,)), {"name": "Bob"}, META),
    "error": lambda: actions.SetError(user.request((ONE,)), NetworkError("no", status=503), META),
    "value": lambda: actions.Set(User, (), {"id": "1", "name": "Bob"}, META),
    "function": lambda: actions.Set(User, (ONE,), lambda before: {"id": "1", "name": before.name * 2}, META),
    "invalidate": lambda: actions.Invalidate(user.key(ONE)),
    "invalidate all": lambda: actions.InvalidateAll(user.test_key),
    "invalidate by any test": lambda: actions.InvalidateAll(lambda key: True),
    "expire all": lambda: actions.ExpireAll(user.test_key),
    "expire by any test": lambda: actions.ExpireAll(lambda key: True),
    "reset": actions.Reset,
    "collect": lambda: actions.Collect((("User", "1"),), (user.key(ONE),)),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("pending", [False, True])
def test_reducer_changes_nothing(name: str, pending: bool) -> None:
    """What an action brings about happens when it is committed, not when it is worked out."""
    desk = Desk()
    desk.answer(user, {"id": "1", "name": "Ann"}, ONE)
    if pending:
        desk.start(rename, ONE, {})
    store, action = desk.store, MADE[name]()
    before, found = store.state, store.cached(user.request((ONE,)))
    cache_reader = store._cache_reader  # pyright: ignore[reportPrivateUsage]
    transition = REDUCERS[type(action)](cache_reader, action)
    assert store.state == before and store.cached(user.request((ONE,))) is found
    assert store.resets == 0 and not store._notifications  # pyright: ignore[reportPrivateUsage]
    cache_reader.store_state.commit(transition)
    assert (store.state != before) or store.resets


def test_reduce_misfit_is_raised_once_it_is_recorded() -> None:
    """The transition of a response that does not fit writes the error, and raises it."""
    desk = Desk()
    transition = REDUCERS[actions.SetResponse](
        desk.store._cache_reader, MADE["misfit"]()
    )  # pyright: ignore[reportPrivateUsage]
    assert isinstance(transition, WriteChange) and isinstance(transition.outcome, Failure)
    assert isinstance(transition.outcome.error, ProcessingError)
    assert same_error(transition.change.key_metas[user.key(ONE)].error, transition.outcome.error)
