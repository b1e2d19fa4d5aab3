"""One program for both worlds: what is awaited here blocks with the plain client and waits with that of asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from types import ModuleType
from typing import Any, Literal
from urllib.parse import urlsplit

from tests.libraries import httpx
from tests.patience import PATIENCE, eventually, eventually_async

World = Literal["sync", "asyncio"]
Json = Any

#: What never waits, and is therefore called in the same way in both worlds.
PLAIN = frozenset({"cached", "state", "explain", "key", "url", "endpoint", "expire", "invalidate"})


class Call:
    """A bound endpoint, or what hangs on one; calling it is awaited in both worlds."""

    def __init__(self, bound: Any) -> None:
        self._bound = bound

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._bound, name)
        return found if name in PLAIN else Call(found)

    async def __call__(self, **arguments: Any) -> Any:
        outcome = self._bound(**arguments)
        return await outcome if inspect.isawaitable(outcome) else outcome

    async def items(self, **arguments: Any) -> list[Any]:
        """All that an iterator gives, such as `iterate`."""
        return [item async for item in self.one_by_one(**arguments)]

    async def one_by_one(self, **arguments: Any) -> AsyncIterator[Any]:
        """The items of an iterator, such as `iterate`, when they come."""
        found = self._bound(**arguments)
        if hasattr(found, "__aiter__"):
            async for item in found:
                yield item
        else:
            for item in found:
                yield item


class Members:
    """A resource of a client."""

    def __init__(self, resource: Any) -> None:
        self._resource = resource

    def __getattr__(self, name: str) -> Call:
        return Call(getattr(self._resource, name))


class Started:
    """A call that goes on while the program does something else."""

    def __init__(self, world: World, program: Coroutine[Any, Any, Any]) -> None:
        self._outcome: list[Any] = []
        self._error: list[BaseException] = []
        self._task: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None
        if world == "asyncio":
            self._task = asyncio.ensure_future(self._watched(program))
        else:
            self._thread = threading.Thread(target=lambda: at_once(self._watched(program)), daemon=True)
            self._thread.start()

    async def _watched(self, program: Coroutine[Any, Any, Any]) -> None:
        try:
            self._outcome.append(await program)
        except Exception as error:
            self._error.append(error)

    async def result(self) -> Any:
        """What the call gives or raises, waited for."""
        if self._task is not None:
            await asyncio.wait_for(self._task, PATIENCE)
        if self._thread is not None:
            self._thread.join(PATIENCE)
        if self._error:
            raise self._error[0]
        return self._outcome[0]


class Api:
    """A client of a generated package in one of the worlds: `await api.books.get_list()`, `api.client` for the rest.

    `sent` are its requests in order, `answers` the JSON of each URL that was read, as it came last and in the order of
    that, and `changed` the paths of what it created or changed.
    """

    def __init__(self, world: World, package: ModuleType, name: str, url_prefix: str, **options: Any) -> None:
        self.world: World = world
        self.url_prefix = url_prefix
        self.headers: dict[str, str] = dict(options.pop("asking", {}))
        self.sent: list[tuple[str, str]] = []
        self.requests: list[httpx.Request] = []
        self.answers: dict[str, Json] = {}
        self.changed: set[str] = set()
        self.at_most = 1_000
        self._held: set[str] = set()
        self._waiting: list[httpx.Request] = []
        self.http: Any = self._http_client()
        kind = getattr(package, name if world == "sync" else f"Async{name}")
        self.client: Any = kind(url_prefix=url_prefix, client=self.http, **options)

    def _http_client(self) -> Any:
        if self.world == "sync":
            plain: dict[str, Any] = {"request": [self._sending], "response": [self._answered]}
            return httpx.Client(verify=False, timeout=PATIENCE, event_hooks=plain)
        hooks: dict[str, Any] = {"request": [self._sending_async], "response": [self._answered_async]}
        return httpx.AsyncClient(verify=False, timeout=PATIENCE, event_hooks=hooks)

    def __getattr__(self, name: str) -> Members:
        if name.startswith("_"):
            raise AttributeError(name)
        return Members(getattr(self.client, name))

    # what goes out and comes in

    def _note(self, request: httpx.Request) -> None:
        assert len(self.sent) < self.at_most, f"more than {self.at_most} requests: the program goes on for ever"
        self.sent.append((request.method, str(request.url)))
        self.requests.append(request)

    def _sending(self, request: httpx.Request) -> None:
        self._note(request)
        if request.method in self._held and not self._waiting:
            self._waiting.append(request)
            eventually(lambda: request not in self._waiting)

    async def _sending_async(self, request: httpx.Request) -> None:
        self._note(request)
        if request.method in self._held and not self._waiting:
            self._waiting.append(request)
            await eventually_async(lambda: request not in self._waiting)

    def _answered(self, response: httpx.Response) -> None:
        response.read()
        self._keep(response)

    async def _answered_async(self, response: httpx.Response) -> None:
        await response.aread()
        self._keep(response)

    def _keep(self, response: httpx.Response) -> None:
        if not response.is_success:
            return
        if response.request.method != "GET":
            place = urlsplit(response.headers.get("Location") or str(response.request.url)).path.rstrip("/")
            self.changed.add(place)
        with contextlib.suppress(ValueError):
            said = json.loads(response.content)
            if response.request.method == "GET":
                self.answers.pop(str(response.url), None)
                self.answers[str(response.url)] = said
            elif isinstance(said, dict):
                self.changed.add(f"{urlsplit(str(response.request.url)).path.rstrip('/')}/{said.get('id')}")

    @contextlib.contextmanager
    def holding(self, method: str) -> Generator[None]:
        """The first request with this method waits before it goes out, until the block ends; later ones do not."""
        self._held.add(method)
        try:
            yield
        finally:
            self._held.discard(method)
            self._waiting.clear()

    async def held(self) -> None:
        """Waits until a request is held."""
        await self.until(lambda: bool(self._waiting))

    # how a program waits

    async def until(self, test: Callable[[], bool]) -> None:
        """Waits until it is true."""
        if self.world == "asyncio":
            await eventually_async(test)
        else:
            eventually(test)

    def start(self, program: Coroutine[Any, Any, Any]) -> Started:
        """Begins a call, in a thread or in a task."""
        return Started(self.world, program)

    async def together(self, *programs: Coroutine[Any, Any, Any]) -> list[Any]:
        """Runs all of them at once; what each gave, or the error that it raised."""
        started = [self.start(program) for program in programs]
        outcomes: list[Any] = []
        for one in started:
            try:
                outcomes.append(await one.result())
            except Exception as error:
                outcomes.append(error)
        return outcomes

    async def settled(self) -> None:
        """Waits until nothing is under way, reads in the background included."""
        outcome = self.client.all_settled()
        if inspect.isawaitable(outcome):
            await outcome

    async def close(self) -> None:
        """Closes the client, and the HTTP client with it."""
        if self.world == "sync":
            self.client.close()
            self.http.close()
        else:
            await self.client.aclose()
            await self.http.aclose()


def play(world: World, program: Callable[[], Awaitable[Any]]) -> Any:
    """Runs a program in its world: in an event loop, or at once."""
    started: Any = program()
    return asyncio.run(started) if world == "asyncio" else at_once(started)


def at_once(program: Coroutine[Any, Any, Any]) -> Any:
    """The result of a program that never waits for a loop, since all that it calls blocks."""
    try:
        program.send(None)
    except StopIteration as end:
        return end.value
    program.close()
    raise AssertionError("a program for plain code waited for an event loop")
