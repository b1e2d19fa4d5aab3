"""Clients in both worlds, used alike: what is to be awaited is handed to `run`, or to a clock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.servers import Arrived, Reply

from blog import AsyncBlog, Blog
from restencil import AsyncController, Controller, Store

BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])

Run = Callable[[Any], Any]


async def _awaited(value: Any) -> Any:
    return await value


@contextmanager
def opened(asynchronous: bool, url: str, kind: Any = None, **options: Any) -> Generator[tuple[Any, Run]]:
    """A client of the blog at this URL, and what gives the value of a call of it."""
    given: dict[str, Any] = {"token": "secret", "url_prefix": url, **options}
    if not asynchronous:
        with (kind or Blog)(**given) as client:
            yield client, lambda value: value
        return
    with asyncio.Runner() as runner:
        client = (kind or AsyncBlog)(**given)
        runner.run(client.__aenter__())
        try:
            yield client, lambda value: runner.run(_awaited(value))
        finally:
            runner.run(client.aclose())


def answered_by(answer: Callable[[httpx.Request], httpx.Response], store: Store, asynchronous: bool) -> Any:
    """A controller of one of the worlds over this store, whose requests a function answers."""
    transport = httpx.MockTransport(answer)
    if asynchronous:
        return AsyncController(store, client=httpx.AsyncClient(transport=transport))
    return Controller(store, client=httpx.Client(transport=transport))


def article(number: int = 1, **members: Any) -> dict[str, Any]:
    """An article as the server has it; each has an author of its own."""
    author = {"id": number, "username": "ada", "joinedAt": "1843-07-10T09:00:00Z"}
    return {
        "id": number,
        "title": "A",
        "status": "draft",
        "author": author,
        "tags": [],
        "views": {},
        "comments": [],
        **members,
    }


def as_json(value: Any, **options: Any) -> Reply:
    """A JSON answer."""
    return Reply(body=json.dumps(value).encode(), **options)


def echoing(request: Arrived) -> Reply:
    """Answers with an article whose title is what was asked, or with a list of one."""
    path, _, query = request.target.partition("?")
    number = path.rpartition("/")[2]
    if not number.isdecimal():
        return as_json([article(1, title=query)])
    if request.method == "DELETE":
        return Reply(204)
    return as_json(article(int(number), title=f"{request.headers.get('accept-language', 'en')} {query}".strip()))
