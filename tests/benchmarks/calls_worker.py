"""The jobs of the calls table: httpx alone, and restencil over the same client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx
from serve import Run, serve, timed

from restencil import AsyncController, Controller, Entity, RestEndpoint

MEMORY = "https://api.test"


class User(Entity, key="User", pk="login"):
    login: str = ""
    id: int = 0
    name: str | None = None
    type: str = ""
    site_admin: bool = False
    public_repos: int = 0
    followers: int = 0
    following: int = 0


class Memory(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers every request with the same bytes."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def _answer(self) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "application/json"}, content=self._content)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._answer()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self._answer()


def _client(file: str) -> httpx.Client:
    return httpx.Client(transport=Memory(Path(file).read_bytes()))


def _endpoint(**options: Any) -> RestEndpoint[..., Any]:
    return RestEndpoint(url_prefix=MEMORY, path="/users/:login", schema=User, name="get", **options)


def plain(file: str) -> Run:
    client = _client(file)
    return timed(lambda: client.get(f"{MEMORY}/users/octos").json())


def direct(file: str) -> Run:
    get = _endpoint(client=_client(file))
    return timed(lambda: get(login="octos"))


def fetch(file: str) -> Run:
    controller = Controller(client=_client(file))
    get = _endpoint()
    assert controller.fetch(get, login="octos").login == json.loads(Path(file).read_bytes())["login"]
    return timed(lambda: controller.fetch(get, login="octos"))


_loop = asyncio.new_event_loop()


def _awaited(turn: Callable[[], Awaitable[object]]) -> Run:
    """A job of the asynchronous world; the loop runs for a whole batch."""

    async def turns(count: int) -> float:
        start = perf_counter()
        for _ in range(count):
            await turn()
        return perf_counter() - start

    return lambda count: _loop.run_until_complete(turns(count))


def _async_client(file: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=Memory(Path(file).read_bytes()))


async def _get(client: httpx.AsyncClient, url: str) -> Any:
    return (await client.get(url)).json()


def plain_async(file: str) -> Run:
    client = _async_client(file)
    return _awaited(lambda: _get(client, f"{MEMORY}/users/octos"))


def fetch_async(file: str) -> Run:
    controller = AsyncController(client=_async_client(file))
    get = _endpoint()
    return _awaited(lambda: controller.fetch(get, login="octos"))


if __name__ == "__main__":
    serve(
        {
            "plain": plain,
            "direct": direct,
            "fetch": fetch,
            "plain async": plain_async,
            "fetch async": fetch_async,
        }
    )
