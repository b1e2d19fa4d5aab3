"""Lists follow their members: what updates, creations and deletions mean for the lists that are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.runtime.worlds import World

from restencil import Entity, Resource, RestEndpoint, rest, rest_list
from restencil.endpoint.typing import ControllerType
from restencil.schema import Collection, Invalidate, Union, Values


class Task(Entity, key="FollowingTask"):
    id: int = 0
    title: str = ""
    done: bool = False
    owner: str | None = None


class Tasks(
    Resource[ControllerType],
    path="/tasks/:id",
    schema=Task,
    optimistic=True,
    pagination_field="page",
    pagination={"style": "page", "total": "total"},
):
    @rest_list(schema={"items": Collection([Task], follow=True, non_filter_argument_keys=("sort",)), "total": None})
    def get_list(self, *, owner: str = "") -> Any: ...

    @rest()
    def update(self, *, id: int, body: Any) -> Any: ...

    @rest()
    def partial_update(self, *, id: int, body: Any) -> Any: ...

    @rest()
    def delete(self, *, id: int) -> Any: ...


LISTED: Any = Tasks.get_list
PATCHED: Any = Tasks.partial_update


class Desk(World):
    """A controller, and lists as they were answered."""

    def answered(self, *ids: int, total: int, **arguments: Any) -> None:
        rows = [{"id": pk, "title": f"t{pk}", "done": False} for pk in ids]
        self.controller.set_response(LISTED, {"items": rows, "total": total}, arguments)

    def shows(self, **arguments: Any) -> tuple[list[int], int]:
        found: Any = self.controller.cached(LISTED, arguments)
        return [task.id for task in found["items"]], found["total"]

    def is_stale(self, **arguments: Any) -> bool:
        return bool(self.controller.explain(LISTED, arguments).needs_fetch)


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    desk.answered(1, 2, 3, total=3)
    yield desk
    desk.close()


class Note(Entity, key="FollowingNote"):
    id: int = 0
    kind: str = "note"
    done: bool = False


class Link(Entity, key="FollowingLink"):
    id: int = 0
    kind: str = "link"
    done: bool = False


ITEM: Any = Union({"note": Note, "link": Link}, "kind")
MIXED: Any = RestEndpoint(path="/items", schema=Collection([ITEM], follow=True))
PATCHED_ITEM: Any = RestEndpoint(path="/items/:id", method="PATCH", schema=ITEM)


@pytest.mark.parametrize("changing", [PATCHED_ITEM, RestEndpoint(path="/links/:id", method="PATCH", schema=Link)])
def test_lists_of_several_kinds_follow_their_members(changing: Any, desk: Desk) -> None:
    """An item leaves and joins whichever kind it is of, changed as one of several kinds or as itself."""
    controller = desk.controller

    def ids(**arguments: Any) -> list[tuple[str, int]]:
        found: Any = controller.cached(MIXED, arguments)
        return [(item.kind, item.id) for item in found]

    controller.set_response(
        MIXED, [{"id": 1, "kind": kind, "done": False} for kind in ("note", "link")], {"done": False}
    )
    controller.set_response(MIXED, [], {"done": True})
    controller.set_response(MIXED, [], {"kind": "note"})
    controller.set_response(changing, {"id": 1, "kind": "link", "done": True}, {"id": 1}, {})
    assert ids(done=False) == [("note", 1)]
    assert ids(done=True) == [("link", 1)]
    assert ids(kind="note") == []
    removed: Any = RestEndpoint(path="/items/:id", method="DELETE", schema=Invalidate(ITEM))
    controller.set_response(removed, {"id": 1, "kind": "link"}, {"id": 1})
    assert ids(done=True) == []


def test_list_membership_maps_follow_their_members_and_are_expired_where_a_name_is_missing(desk: Desk) -> None:
    """An entity leaves a map that it does not match; under which name it would join, only the server knows."""
    controller = desk.controller
    by_name: Any = RestEndpoint(path="/by_name", schema=Collection(Values(Task), follow=True))
    controller.set_response(by_name, {"a": {"id": 1}, "b": {"id": 2}}, {"done": False})
    controller.set_response(by_name, {}, {"done": True})
    controller.set_response(PATCHED, {"id": 1, "title": "t1", "done": True}, {"id": 1}, {})
    named: Any = controller.cached(by_name, {"done": False})
    assert [*named] == ["b"]
    assert not controller.explain(by_name, {"done": False}).needs_fetch
    assert controller.explain(by_name, {"done": True}).needs_fetch
