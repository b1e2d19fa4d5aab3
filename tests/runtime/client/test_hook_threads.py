"""Which functions of the user run one at a time, and which at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.libraries import httpx
from tests.patience import PATIENCE

from restencil import Controller, Entity, RestEndpoint

THREADS = 8


def respond(request: httpx.Request) -> httpx.Response:
    """A record with the key at the end of the path."""
    return httpx.Response(200, json={"id": request.url.path.rpartition("/")[2]})


def test_hooks_of_the_store_never_run_two_at_a_time() -> None:
    """`validate` of an entity, and `update` of an endpoint, in threads that fetch at the same time."""
    running = threading.Lock()
    overlaps: list[str] = []

    def alone(name: str) -> None:
        if running.acquire(blocking=False):
            time.sleep(0.001)  # lets the other threads run
            running.release()
        else:
            overlaps.append(name)

    class Checked(Entity):
        id: str = ""

        @classmethod
        def validate(cls, record: Mapping[str, Any]) -> str | None:
            alone("validate")
            return None

    def updated(*args: object) -> dict[str, Any]:
        alone("update")
        return {}

    get: Any = RestEndpoint(url_prefix="http://x", path="/checked/:id", schema=Checked, update=updated)
    with httpx.Client(transport=httpx.MockTransport(respond)) as client, Controller(client=client) as controller:
        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(lambda number: controller.fetch(get, id=str(number)), range(4 * THREADS)))
    assert [one.id for one in found] == [str(number) for number in range(4 * THREADS)]
    assert overlaps == []


def test_process_of_an_endpoint_runs_for_several_responses_at_once() -> None:
    """Each call waits in `process` until the others are there too; and it may use the client."""
    together = threading.Barrier(THREADS)

    def process(value: Any, *args: object) -> Any:
        together.wait(PATIENCE)
        return {**value, "size": controller.fetch(size, id="1")["id"]}

    size: Any = RestEndpoint(url_prefix="http://x", path="/size/:id")
    get: Any = RestEndpoint(url_prefix="http://x", path="/waiting/:id", process=process)
    with httpx.Client(transport=httpx.MockTransport(respond)) as client, Controller(client=client) as controller:
        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(lambda number: controller.fetch(get, id=str(number)), range(THREADS)))
    assert found == [{"id": str(number), "size": "1"} for number in range(THREADS)]
