"""Clients in both worlds, used alike: what is to be awaited is handed to `run`, or to a clock."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Generator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from typing import Any, TypeVar

import pytest
from tests.libraries import httpx
from tests.runtime.servers import Arrived, Reply

from blog import AsyncBlog, Blog
from restencil import AsyncController, Controller, Manager, Store
from restencil.testing import FakeClock, MockServer, Task

BOTH = pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])

Run = Callable[[Any], Any]


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value


@contextmanager
def running(*clients: Any) -> Generator[Run]:
    """Opens clients or controllers, all of one world; gives what takes the value of a call of them."""
    if not hasattr(clients[0], "__aenter__"):
        with ExitStack() as stack:
            for client in clients:
                stack.enter_context(client)
            yield lambda value: value
        return
    with asyncio.Runner() as runner:
        closing = AsyncExitStack()
        try:
            for client in clients:
                runner.run(closing.enter_async_context(client))
            yield lambda value: runner.run(_awaited(value))
        finally:
            runner.run(closing.aclose())


def listed(items: Any) -> Any:
    """What an iterator of either world gives, as a list for `run`."""

    async def collected() -> list[Any]:
        return [item async for item in items]

    return collected() if hasattr(items, "__aiter__") else list(items)


def client_of(asynchronous: bool, **options: Any) -> Any:
    """An HTTP client of one of the worlds."""
    return httpx.AsyncClient(**options) if asynchronous else httpx.Client(**options)


def controller_of(asynchronous: bool, **options: Any) -> Any:
    """A controller of one of the worlds."""
    return AsyncController(**options) if asynchronous else Controller(**options)


@contextmanager
def opened(asynchronous: bool, url: str, kind: Any = None, **options: Any) -> Generator[tuple[Any, Run]]:
    """A client of the blog at this URL, and what gives the value of a call of it."""
    given: dict[str, Any] = {"token": "secret", "url_prefix": url, **options}
    client = (kind or (AsyncBlog if asynchronous else Blog))(**given)
    with running(client) as run:
        yield client, run


def answered_by(answer: Callable[[httpx.Request], httpx.Response], store: Store, asynchronous: bool) -> Any:
    """A controller of one of the worlds over this store, whose requests a function answers."""
    client = client_of(asynchronous, transport=httpx.MockTransport(answer))
    return controller_of(asynchronous, store=store, client=client)


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


class World:
    """A controller of either kind in virtual time, over a server that a test answers for."""

    def __init__(
        self, asynchronous: bool = False, *, managers: Sequence[Manager] | None = None, **options: Any
    ) -> None:
        self.asynchronous = asynchronous
        self.clock = FakeClock()
        self.store = self.clock.store(**options)
        self.server = MockServer(self.clock)
        self.controller: Any
        if asynchronous:
            client = self.server.async_client()
            self.controller = AsyncController(self.store, client=client, base_url="http://mock", managers=managers)
        else:
            self.controller = Controller(
                self.store, client=self.server.client(), base_url="http://mock", managers=managers
            )

    def begin(self, operation: str, *args: Any, **kwargs: Any) -> Task[Any]:
        """Starts an operation that may wait, and does all that is due now."""
        task: Task[Any] = self.clock.start(lambda: getattr(self.controller, operation)(*args, **kwargs))
        self.clock.settle()
        return task

    def do(self, operation: str, *args: Any, **kwargs: Any) -> Any:
        """Does an operation that may wait to its end."""
        return self.clock.run(lambda: getattr(self.controller, operation)(*args, **kwargs))

    def urls(self) -> list[str]:
        """What was requested, in order."""
        return [request.url.removeprefix("http://mock") for request in self.server.requests]

    def close(self) -> None:
        """Closes the controller and the clock."""
        self.do("aclose" if self.asynchronous else "close")
        self.clock.close()


AnyWorld = TypeVar("AnyWorld", bound=World)


@contextmanager
def worlds(make: Callable[..., AnyWorld]) -> Generator[Callable[..., AnyWorld]]:
    """Gives what makes worlds as `make` does, which are closed in the end."""
    with ExitStack() as stack:

        def made(**options: Any) -> AnyWorld:
            world = make(**options)
            stack.callback(world.close)
            return world

        yield made
