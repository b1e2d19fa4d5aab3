"""The jobs of the calls table: httpx alone, and restencil over the same client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import repeat
from time import perf_counter
from typing import Any

import httpx
from answering import transport
from serve import Run, serve, timed
from shapes import input_file

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


def _answers() -> Any:
    return transport(repeat(input_file("user.json").read_bytes()))


def _endpoint(**options: Any) -> RestEndpoint[..., Any]:
    return RestEndpoint(url_prefix=MEMORY, path="/users/:login", schema=User, name="get", **options)


def plain() -> Run:
    client = httpx.Client(transport=_answers())
    return timed(lambda: client.get(f"{MEMORY}/users/octos").json())


def direct() -> Run:
    get = _endpoint(client=httpx.Client(transport=_answers()))
    return timed(lambda: get(login="octos"))


def fetch() -> Run:
    controller = Controller(client=httpx.Client(transport=_answers()))
    get = _endpoint()
    assert controller.fetch(get, login="octos").login == json.loads(input_file("user.json").read_bytes())["login"]
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


async def _get(client: httpx.AsyncClient, url: str) -> Any:
    return (await client.get(url)).json()


def plain_async() -> Run:
    client = httpx.AsyncClient(transport=_answers())
    return _awaited(lambda: _get(client, f"{MEMORY}/users/octos"))


def fetch_async() -> Run:
    controller = AsyncController(client=httpx.AsyncClient(transport=_answers()))
    get = _endpoint()
    return _awaited(lambda: controller.fetch(get, login="octos"))


if __name__ == "__main__":
    serve(plain, direct, fetch, plain_async, fetch_async)
