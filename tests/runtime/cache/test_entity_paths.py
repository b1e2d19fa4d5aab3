"""Which entity a path means: by a field inside of an object."""

from __future__ import annotations

from typing import Any

from tests.libraries import httpx
from tests.runtime.worlds import client_of, controller_of, running

from restencil import Entity, Record, create_resource, field


class Meta(Record):
    uid: str = ""
    name: str = field(default="", wire="Name")


class Pod(Entity, pk="metadata.name"):
    metadata: Meta | None = None
    phase: str = ""


Pods: Any = create_resource(path="/pods/:pod", schema=Pod, path_params={"pod": "metadata.name"}, strict=True)
PODS = [{"metadata": {"uid": f"u{name}", "Name": name}, "phase": "up"} for name in ("a", "b")]


def test_entity_paths_parameter_may_be_a_field_inside_of_an_object(asynchronous: bool) -> None:
    """`get` finds what a list brought, and a delete without content removes it, by the field that is the parameter."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.path}")
        return httpx.Response(204) if request.method == "DELETE" else httpx.Response(200, json=PODS)

    client = client_of(asynchronous, transport=httpx.MockTransport(answer), base_url="https://api.example")
    controller = controller_of(asynchronous, client=client)
    with running(controller) as run:
        pods = Pods(controller)
        listed = run(pods.get_list())
        assert run(pods.get(pod="b")) is listed[1]
        assert run(pods.delete(pod="b")) == listed[1]
        assert [pod.metadata.name for pod in run(pods.get_list())] == ["a"]
    assert asked == ["GET /pods", "DELETE /pods/b"]
