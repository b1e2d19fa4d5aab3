"""Items whose path names another field than their key: changes of them, what is expected of those, and their ETags."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from restencil import Controller, Entity, Record, create_resource, field, rest
from restencil.testing import Answer, FakeClock, MockServer, Request


class Meta(Record):
    uid: str = ""
    name: str = ""
    labels: dict[str, str] = field(default={})


class Pod(Entity, pk="metadata.uid"):
    metadata: Meta = field(required=True)
    phase: str = ""
    note: str | None = None


BODY: Any = {"phase": "up"}
WEB = {"metadata": {"uid": "u1", "name": "web", "labels": {"tier": "front"}}, "phase": "new", "note": "first"}


Named: Any = create_resource(
    path="/pods/:name",
    schema=Pod,
    url_prefix="http://mock",
    strict=True,
    concurrency="etag",
    optimistic=True,
    path_params={"name": "metadata.name"},
)


class Pods(Named):  # type: ignore[misc]  # Named is made at run time
    @rest(path="/pods/:name/full")
    def full(self, *, name: str) -> Pod:
        raise NotImplementedError

    @rest(method="PUT", path="/pods/:name/scale")
    def scale(self, *, name: str, body: Any) -> Pod:
        raise NotImplementedError


class Cluster:
    """Answers changes as it is told, with an ETag for each path, and notes what it was asked on what condition."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.answer = answer or Answer(204)
        self.asked: list[tuple[str, str, str | None]] = []
        self.seen: list[Any] = []
        self.look: Any = None

    def __call__(self, request: Request) -> Answer:
        path = request.url.removeprefix("http://mock")
        self.asked.append((request.method, path, dict(request.headers).get("if-match")))
        if request.method == "GET":
            return Answer(json=WEB, headers={"ETag": f'"{path}"'})
        if self.look is not None:
            self.seen.append(self.look())
        return self.answer


def wire(pod: Any) -> dict[str, Any]:
    found: dict[str, Any] = pod.to_dict(deep=True, wire=True)
    return found


def controller(cluster: Cluster) -> Controller:
    clock = FakeClock()
    return Controller(clock.store(), client=MockServer(clock, respond=cluster).client())


def test_items_by_name_empty_response_keeps_what_the_path_says_nothing_of() -> None:
    """The path tells a name: the key beside it, and all else of that object, stay as `get` gave them."""
    with closing(controller(Cluster())) as news:
        pods = Pods(news)
        pods.get(name="web")
        changed = pods.partial_update(name="web", body=BODY)
        assert wire(changed) == {**WEB, "phase": "up"}
        assert pods.get.cached(name="web") is changed


def test_items_by_name_object_that_is_put_is_whole_but_for_the_key() -> None:
    """What PUT sends replaces the object, whose key the server gives; what it does not send of others is gone."""
    with closing(controller(Cluster())) as news:
        pods = Pods(news)
        pods.get(name="web")
        put = wire(pods.update(name="web", body={"metadata": {"name": "web"}, "phase": "up"}))
        assert put["metadata"] == {"uid": "u1", "name": "web"} and put["note"] is None
        assert wire(pods.update(name="web", body=BODY))["metadata"]["uid"] == "u1"


def test_items_by_name_change_by_name_shows_at_once() -> None:
    """What is expected of PUT is written over the record that `get` gave for this name, whatever the body lacks."""
    cluster = Cluster()
    with closing(controller(cluster)) as news:
        pods = Pods(news)
        pods.get(name="web")
        cluster.look = lambda: (shown := pods.get.cached(name="web")) and (shown.phase, shown.metadata.uid)
        pods.update(name="web", body=BODY)
        pods.partial_update(name="web", body={"phase": "down"})
    assert cluster.seen == [("up", "u1"), ("down", "u1")]


@pytest.mark.parametrize(
    ("member", "body"), [("update", {"body": BODY}), ("partial_update", {"body": BODY}), ("delete", {})]
)
def test_items_by_name_change_of_what_get_never_gave_shows_nothing_before_its_response(
    member: str, body: dict[str, Any]
) -> None:
    """Nobody knows which record it is, so nothing is expected of the change, and that is no error."""
    cluster = Cluster(Answer(json=WEB))
    with closing(controller(cluster)) as news:
        pods = Pods(news)
        cluster.look = lambda: (news.store.state["optimistic"], news.store.state["entities"].get("Pod", {}))
        getattr(pods, member)(name="web", **body)
    assert [(len(pending), shown) for pending, shown in cluster.seen] == [(1, {})]


FULL: Any = Named.extend("full", path="/pods/:name/full").extend(
    lambda base: {"scale": base.update.extend(path="/pods/:name/scale")}
)


class Widened(Named):  # type: ignore[misc]  # Named is made at run time
    full = Named.get.extend(path="/pods/:name/full")
    scale = Named.update.extend(path="/pods/:name/scale")


@pytest.mark.parametrize("resource", [Pods, FULL, Widened], ids=["declared", "extend", "class"])
@pytest.mark.parametrize("first", [True, False])
def test_items_by_name_etag_of_another_path_is_none_of_the_entity(resource: Any, first: bool) -> None:
    """A full view, or a part that is put, has an ETag of its own; a change of the item is made on that of the item."""
    cluster = Cluster(Answer(json=WEB, headers={"ETag": '"part"'}))
    with closing(controller(cluster)) as news:
        pods = resource(news)
        if not first:
            pods.get(name="web")
        pods.full.fetch(name="web")
        pods.scale(name="web", body={"to": 2})
        pods.partial_update(name="web", body=BODY)
    own = None if first else '"/pods/web"'
    assert cluster.asked[-2:] == [("PUT", "/pods/web/scale", None), ("PATCH", "/pods/web", own)]


def test_items_by_name_endpoint_extended_to_another_path_outside_of_a_resource_has_an_etag_of_its_own() -> None:
    """Also if it was extended once more, without a path."""
    cluster = Cluster(Answer(json=WEB, headers={"ETag": '"part"'}))
    with closing(controller(cluster)) as news:
        news.fetch(Named.get, {"name": "web"})
        news.fetch(Named.get.extend(path="/pods/:name/full").extend(timeout=5_000), {"name": "web"})
        news.fetch(Named.partial_update, {"name": "web"}, BODY)
    assert cluster.asked[-1] == ("PATCH", "/pods/web", '"/pods/web"')


def test_items_by_name_standard_member_at_another_path_is_the_item() -> None:
    """`extend(update={"path": …})` overrides where the item is updated, as the same path in a class does."""
    cluster = Cluster(Answer(json=WEB))
    with closing(controller(cluster)) as news:
        pods = Named.extend(update={"path": "/pods/edit/:name"})(news)
        pods.get(name="web")
        pods.update(name="web", body=BODY)
    assert cluster.asked[-1] == ("PUT", "/pods/edit/web", '"/pods/web"')
