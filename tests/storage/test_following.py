"""Lists follow their members in all processes: also those of which the one that changes a member knows nothing."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from tests.storage.here import one
from tests.storages import PatientStore

from restencil import Controller, ControllerType, Entity, MemoryStorage, Resource, create_resource, field, rest, schema
from restencil.testing import FakeClock


class Nurse(Entity):
    id: int = 0
    beds: Any = field(
        default=[],
        schema=schema.Collection(
            [schema.Lazy(lambda: Bed)], nest_key=lambda parent, key: {"nurse": parent.get("id")}, follow=True
        ),
    )


class Bed(Entity):
    id: int = 0
    state: str = ""
    nurse: Nurse | None = field(default=None, schema=Nurse)


Beds: Any = create_resource(path="/beds/:id", schema=Bed, strict=True)
Nurses: Any = create_resource(path="/nurses/:id", schema=Nurse, strict=True)

ONE = {"id": 1, "state": "free", "nurse": 5}
TWO = {"id": 2, "state": "used", "nurse": None}
LISTS: dict[str, Any] = {"all": {}, "free": {"state": "free"}, "used": {"state": "used"}, "other": {"q": "x"}}


@contextmanager
def processes(clock: FakeClock) -> Generator[list[Controller]]:
    """One that was answered lists, one that knows nothing of them, and one that begins when all is done."""
    storage = MemoryStorage(write_behind=0)
    with ExitStack() as stack:
        found: list[Controller] = []
        for place in (storage, storage.another(), storage.another()):
            store = stack.enter_context(PatientStore(clock=clock, scheduler=clock, storage=place))
            found.append(stack.enter_context(Controller(store)))
        first = found[0]
        for name, args in LISTS.items():
            items = [bed for bed in (ONE, TWO) if name in ("all", "other", bed["state"])]
            first.set_response(Beds.get_list, items, args)
        first.set_response(Nurses.get, {"id": 5, "name": "N", "beds": [ONE]}, {"id": 5})
        first.set_response(Nurses.get, {"id": 6, "name": "M", "beds": []}, {"id": 6})
        clock.advance(500)
        yield found


def shown(controller: Controller) -> dict[str, list[int]]:
    """The beds of each list, and of each nurse."""
    lists = {name: controller.cached(Beds.get_list, args) for name, args in LISTS.items() if name != "other"}
    nurses = {str(pk): one(controller.cached(Nurses.get, {"id": pk})).beds for pk in (5, 6)}
    return {name: [bed.id for bed in one(beds)] for name, beds in {**lists, **nurses}.items()}


@pytest.mark.parametrize("knows", [False, True])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"state": "used"}, {"free": [], "used": [2, 1]}),
        ({"nurse": 6}, {"5": [], "6": [1]}),
        ({"state": "used", "nurse": None}, {"free": [], "used": [2, 1], "5": []}),
    ],
)
def test_following_lists_that_are_not_known_here_follow(
    clock: FakeClock, change: dict[str, Any], expected: dict[str, list[int]], knows: bool
) -> None:
    """Whether or not the process that changes the entity knew what it was before; and nested lists do as well."""
    with processes(clock) as (first, second, third):
        before = shown(first)
        if knows:
            assert second.cached(Beds.get, {"id": 1}) is not None
        second.set_response(Beds.partial_update, {**ONE, **change}, {"id": 1}, change)
        clock.advance(500)
        for controller in (first, second, third):
            assert shown(controller) == {**before, **expected}


def test_following_what_is_created_joins_where_it_matches_and_nowhere_else(clock: FakeClock) -> None:
    """What the server made of it decides, and not what was asked for."""
    with processes(clock) as (first, second, third):
        made = {"id": 3, "state": "used", "nurse": 6}
        second.set_response(Beds.get_list.push, made, {"state": "free"}, {"nurse": 6})
        clock.advance(500)
        for controller in (first, second, third):
            found = {"all": [1, 2, 3], "free": [1], "used": [2, 3], "5": [1], "6": [3]}
            assert shown(controller) == found


def test_following_what_a_change_leaves_stale_is_so_for_all(clock: FakeClock) -> None:
    """`expires: [self]`, through a process that never read the entity: no other takes its record for an answer."""

    class Wards(Resource[ControllerType], path="/beds/:id", schema=Bed):
        @rest()
        def get(self, *, id: int) -> Bed:
            raise NotImplementedError

        @rest(method="POST", path="/beds/:id/clean", schema=None, expires=("self",), body=None)
        def clean(self, *, id: int) -> Any:
            raise NotImplementedError

    with processes(clock) as (first, second, third):
        second.set_response(Wards.clean, None, id=1)
        clock.advance(500)
        for controller in (first, second, third):
            assert controller.explain(Wards.get, id=1).needs_fetch
            assert not controller.explain(Wards.get, id=2).needs_fetch
