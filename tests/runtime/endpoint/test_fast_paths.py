"""What is skipped goes unnoticed: the client's own ways, overridden hooks and managers always count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked, as_json
from tests.runtime.users import User

import restencil
from restencil import AsyncController, Controller, HookScopeError, RestEndpoint, create_resource, hook_scope

pytestmark = pytest.mark.network

Call = Callable[..., Any]


def _direct(asked: Asked, endpoint: Any, **params: Any) -> Any:
    return endpoint.extend(client=asked.sync)(**params)


def _direct_async(asked: Asked, endpoint: Any, **params: Any) -> Any:
    async def call() -> Any:
        return await endpoint.extend(client=asked.asynchronous)(**params)

    return asyncio.run(call())


def _fetch(asked: Asked, endpoint: Any, **params: Any) -> Any:
    return Controller(client=asked.sync).fetch(endpoint, **params)


def _fetch_async(asked: Asked, endpoint: Any, **params: Any) -> Any:
    async def call() -> Any:
        async with AsyncController(client=asked.asynchronous) as controller:
            return await controller.fetch(endpoint, **params)

    return asyncio.run(call())


@pytest.fixture(params=[_direct, _direct_async, _fetch, _fetch_async])
def call(request: pytest.FixtureRequest) -> Call:
    """The four ways of sending a request."""
    way: Call = request.param
    return way


user = RestEndpoint(path="/users/:id", schema=User)
ANN = {"id": "1", "name": "Ann"}


# the client's own ways


def test_fast_paths_what_changes_on_a_client_between_two_calls_is_seen() -> None:
    asked = Asked(as_json(ANN))
    get = user.extend(client=asked.sync)
    get(id="1")
    asked.sync.headers["X-Team"] = "red"
    asked.sync.cookies.set("sid", "8")
    asked.sync.params = asked.sync.params.set("page", "3")
    asked.sync.auth = ("ann", "pw")
    asked.sync.timeout = 3
    get(id="1")
    first, second = asked.requests
    assert "x-team" not in first.headers and "cookie" not in first.headers and "authorization" not in first.headers
    assert (second.headers["x-team"], second.headers["cookie"], second.url.query) == ("red", "sid=8", b"page=3")
    assert "authorization" in second.headers and second.extensions["timeout"]["read"] == 3


def test_fast_paths_event_hooks_see_a_whole_request_and_may_change_it(call: Call) -> None:
    """Its headers, its text and its content are what they are, also after a change."""
    seen: list[Any] = []

    def on_request(request: httpx.Request) -> None:
        seen.append((request.method, str(request.url), request.content, request.headers.get("host")))
        request.headers["X-Trace"] = "1"
        del request.headers["User-Agent"]
        request.headers.update({"Accept": "text/plain"})
        seen.append(dict(request.headers))

    async def on_request_async(request: httpx.Request) -> None:
        on_request(request)

    asked = Asked(as_json(ANN))
    asked.sync.event_hooks = {"request": [on_request]}
    asked.asynchronous.event_hooks = {"request": [on_request_async]}
    for _ in range(2):
        call(asked, user, id="1")
    assert seen[0] == seen[2] == ("GET", "http://case.test/users/1", b"", "case.test")
    for request, headers in zip(asked.requests, seen[1::2], strict=True):
        assert headers == dict(request.headers.multi_items())
        assert (request.headers["x-trace"], request.headers["accept"]) == ("1", "text/plain")
        assert "user-agent" not in request.headers


# hooks


def _note(name: str, noted: list[str], result: Callable[..., Any]) -> Callable[..., Any]:
    def hook(*args: Any) -> Any:
        noted.append(name)
        return result(*args)

    return hook


HOOKS: dict[str, Callable[..., Any]] = {
    "fetch": lambda *args: dict(ANN),
    "fetch_response": lambda url, init: as_json(ANN),
    "get_headers": lambda headers: {**headers, "X-Mine": "1"},
    "get_request_init": lambda body=None: {"method": "GET", "headers": {"X-Mine": "1"}, "body": None, "signal": None},
    "parse_response": lambda response: dict(ANN),
    "process": lambda value, *args: value,
    "search_to_string": lambda params: "mine=1",
    "url": lambda params: "http://case.test/users/mine",
}


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("subclassed", [False, True], ids=["option", "subclass"])
def test_fast_paths_every_overridden_hook_is_called(call: Call, name: str, subclassed: bool) -> None:
    noted: list[str] = []
    hook = _note(name, noted, HOOKS[name])
    endpoint: RestEndpoint[..., Any]
    if subclassed:
        kind = type("Own", (RestEndpoint,), {name: lambda self, *args: hook(*args)})
        endpoint = kind(path="/users/:id", schema=User)
    else:
        endpoint = user.extend(**{name: hook})
    asked = Asked(as_json(ANN))
    value = call(asked, endpoint, id="1", page=2)
    assert noted and set(noted) == {name}
    assert value == ANN or value.name == "Ann"


def test_fast_paths_no_scope_is_open_while_a_hook_runs_that_the_store_calls(asynchronous: bool) -> None:
    """As for those of the request: `update` is a hook, too."""
    hooked: Any = restencil.hookify_resource(create_resource(path="/users/:id", schema=User), dict)
    errors: list[BaseException] = []

    def update(result: Any, *args: Any) -> dict[str, Any]:
        try:
            hooked.use_get()
        except HookScopeError as error:
            errors.append(error)
        return {}

    with hook_scope():
        hooked.use_get()
        (_fetch_async if asynchronous else _fetch)(Asked(as_json(ANN)), user.extend(update=update), id="1")
        hooked.use_get()
    assert len(errors) == 1
