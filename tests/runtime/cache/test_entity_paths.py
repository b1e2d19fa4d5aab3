"""Which entity a path means: by fields of other names, inside of objects, or by what `get` has answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.worlds import BOTH, client_of, controller_of, running

from restencil import AbortOptimistic, Controller, Entity, Record, create_resource, field


class Meta(Record):
    uid: str = ""
    name: str = field(default="", wire="Name")


class Pod(Entity, pk="metadata.name"):
    metadata: Meta | None = None
    phase: str = ""


class Repo(Entity):
    id: int = 0
    owner: str = ""
    title: str = ""


Pods: Any = create_resource(
    path="/pods/:pod", schema=Pod, path_params={"pod": "metadata.name"}, optimistic=True, strict=True
)
Repos: Any = create_resource(path="/repos/:owner/:slug", schema=Repo, optimistic=True, strict=True)


class Server:
    """Has two pods and two repositories; changes are answered by nothing where `silent`."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.silent = False

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.asked.append(f"{request.method} {path}")
        if request.method == "DELETE" or (self.silent and request.method != "GET"):
            return httpx.Response(204)
        sent = json.loads(request.content) if request.content else {}
        pods = [{"metadata": {"uid": f"u{name}", "Name": name}, "phase": "up"} for name in ("a", "b")]
        if path == "/pods":
            return httpx.Response(200, json=pods)
        if path.startswith("/pods/"):
            found = next(pod for pod in pods if path.endswith(f"/{pod['metadata']['Name']}"))  # type: ignore[index]
            return httpx.Response(200, json={**found, **sent})
        repo = {"id": 7, "owner": "ada", "title": "old"}
        return httpx.Response(200, json={**repo, **sent})


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def controller(server: Server) -> Iterator[Controller]:
    client = httpx.Client(transport=httpx.MockTransport(server.answer), base_url="https://api.example")
    with Controller(client=client) as made:
        yield made


@BOTH
def test_entity_paths_parameter_may_be_a_field_inside_of_an_object(server: Server, asynchronous: bool) -> None:
    """`get` finds what a list brought, and a delete without content removes it, by the field that is the parameter."""
    client = client_of(asynchronous, transport=httpx.MockTransport(server.answer), base_url="https://api.example")
    controller = controller_of(asynchronous, client=client)
    with running(controller) as run:
        pods = Pods(controller)
        listed = run(pods.get_list())
        assert run(pods.get(pod="b")) is listed[1]
        assert run(pods.delete(pod="b")) == listed[1]
        assert [pod.metadata.name for pod in run(pods.get_list())] == ["a"]
    assert server.asked == ["GET /pods", "DELETE /pods/b"]


def test_entity_paths_result_of_get_reports_which_entity_a_path_means(server: Server, controller: Controller) -> None:
    """Where neither path nor answer has the key, it is the one that `get` gave for the same path arguments."""
    repos = Repos(controller)
    repo = repos.get(owner="ada", slug="tool")
    snapshot = controller.store.snapshot()
    patched = Repos.partial_update.get_optimistic_response(snapshot, {"owner": "ada", "slug": "tool"}, {"title": "new"})
    assert patched["id"] == 7
    assert patched["title"] == "new"
    put = Repos.update.get_optimistic_response(snapshot, {"owner": "ada", "slug": "tool"}, {"title": "new"})
    assert put == {"id": 7, "owner": "ada", "slug": "tool", "title": "new"}
    assert repos.delete(owner="ada", slug="tool") == repo
    assert controller.store.state["entities"]["Repo"]["7"] is not repo


@pytest.mark.parametrize("member", ["partial_update", "update", "delete"])
def test_entity_paths_where_get_was_never_asked_nothing_is_shown_before_the_response(
    controller: Controller, member: str
) -> None:
    """An optimistic change of an entity that is not known applies nothing, and is no error."""
    endpoint = getattr(Repos, member)
    args: tuple[Any, ...] = ({"owner": "ada", "slug": "tool"}, *([] if member == "delete" else [{"title": "x"}]))
    with pytest.raises(AbortOptimistic):
        endpoint.get_optimistic_response(controller.store.snapshot(), *args)
