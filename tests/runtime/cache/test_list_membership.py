"""Lists follow their members: what updates, creations and deletions mean for the lists that are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from restencil import Controller, Entity, RestEndpoint, create_resource
from restencil.schema import Collection, Invalidate, Union, Values


class Task(Entity, key="FollowingTask"):
    id: int = 0
    done: bool = False


Tasks: Any = create_resource(path="/tasks/:id", schema=Task)


@pytest.fixture
def controller() -> Iterator[Controller]:
    with Controller() as controller:
        yield controller


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
def test_lists_of_several_kinds_follow_their_members(changing: Any, controller: Controller) -> None:
    """An item leaves and joins whichever kind it is of, changed as one of several kinds or as itself."""

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


def test_list_membership_maps_follow_their_members_and_are_expired_without_a_name(controller: Controller) -> None:
    """An entity leaves a map that it does not match; under which name it would join, only the server knows."""
    by_name: Any = RestEndpoint(path="/by_name", schema=Collection(Values(Task), follow=True))
    controller.set_response(by_name, {"a": {"id": 1, "done": False}, "b": {"id": 2}}, {"done": False})
    controller.set_response(by_name, {}, {"done": True})
    controller.set_response(Tasks.partial_update, {"id": 1, "done": True}, {"id": 1}, {})
    named: Any = controller.cached(by_name, {"done": False})
    assert [*named] == ["b"]
    assert not controller.explain(by_name, {"done": False}).needs_fetch
    assert controller.explain(by_name, {"done": True}).needs_fetch
