"""What is skipped goes unnoticed: the client's own ways, overridden hooks and managers always count."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked, as_json

from restencil import (
    AsyncController,
    Controller,
    Entity,
    HookScopeError,
    Manager,
    NetworkManager,
    RestEndpoint,
    SubscriptionManager,
    create_resource,
    hook_scope,
    hookify_resource,
)
from restencil.base.json_text import decode_json
from restencil.cache.actions import Fetch, SetResponse

pytestmark = pytest.mark.network

Call = Callable[..., Any]


class User(Entity, key="User"):
    id: str = ""
    name: str = ""


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


def test_fast_paths_client_s_headers_params_cookies_and_auth_are_sent(call: Call) -> None:
    asked = Asked(
        as_json(ANN),
        headers={"X-Team": "blue", "User-Agent": "mine"},
        params={"version": "2"},
        cookies={"sid": "7"},
        auth=("ann", "pw"),
        base_url="http://case.test/api",
    )
    call(asked, user, id="1")
    assert str(asked.last.url) == "http://case.test/api/users/1?version=2"
    headers = asked.last.headers
    assert (headers["x-team"], headers["user-agent"], headers["cookie"]) == ("blue", "mine", "sid=7")
    assert headers["authorization"].startswith("Basic ") and headers["host"] == "case.test"
    assert headers["accept"] == "application/json" and "content-type" not in headers


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


def test_fast_paths_what_changes_in_an_endpoint_s_request_init_is_seen(call: Call) -> None:
    init: dict[str, Any] = {}
    asked = Asked(as_json(ANN))
    get = user.extend(request_init=init)
    call(asked, get, id="1")
    init["headers"] = {"X-Team": "blue"}
    call(asked, get, id="1")
    assert [request.headers.get("x-team") for request in asked.requests] == [None, "blue"]


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


def test_fast_paths_user_and_password_of_a_url_are_sent_as_such(call: Call) -> None:
    asked = Asked(as_json(ANN))
    call(asked, user.extend(url_prefix="http://ann:pw@case.test"), id="1")
    assert asked.last.headers["authorization"].startswith("Basic ")


def test_fast_paths_auth_that_answers_a_challenge_is_gone_through(call: Call) -> None:
    class Challenged(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Any:
            response = yield request
            if response.status_code == 401:
                request.headers["X-Proof"] = "yes"
                yield request

    asked = Asked(lambda request: as_json(ANN, 200 if "x-proof" in request.headers else 401), auth=Challenged())
    call(asked, user, id="1")
    assert len(asked.requests) == 2


def test_fast_paths_client_of_the_user_s_own_kind_is_requested_its_auth() -> None:
    """A subclass may fill in its own where a request brings none."""
    given: list[Any] = []

    class Client(httpx.Client):
        def send(self, request: httpx.Request, *, auth: Any = httpx.USE_CLIENT_DEFAULT, **options: Any) -> Any:
            given.append(auth)
            return super().send(request, auth=auth, **options)

    with Client(transport=httpx.MockTransport(lambda request: as_json(ANN)), base_url="http://case.test") as client:
        user.extend(client=client)(id="1")
    assert given == [httpx.USE_CLIENT_DEFAULT]


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


@pytest.mark.parametrize("name", ["get_request_init", "get_headers", "fetch_response", "parse_response", "process"])
def test_fast_paths_hook_may_be_a_coroutine_function(name: str) -> None:
    async def hook(*args: Any) -> Any:
        await asyncio.sleep(0)
        return HOOKS[name](*args)

    endpoint = user.extend(**{name: hook})
    assert _direct_async(Asked(as_json(ANN)), endpoint, id="1") == ANN
    assert _fetch_async(Asked(as_json(ANN)), endpoint, id="1").name == "Ann"


def test_fast_paths_request_is_known_by_the_endpoint_s_own_key() -> None:
    controller = Controller(client=Asked(as_json(ANN)).sync)
    own = user.extend(key=lambda params: f"user {params['id']}")
    controller.fetch(own, id="1")
    assert list(controller.store.state["endpoints"]) == ["user 1"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_fast_paths_no_scope_is_open_while_a_hook_runs_that_the_store_calls(asynchronous: bool) -> None:
    """As for those of the request: `update` is a hook, too."""
    hooked: Any = hookify_resource(create_resource(path="/users/:id", schema=User), dict)
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


# managers


class Watching(Manager):
    def __init__(self) -> None:
        self.seen: list[type] = []

    def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
        self.seen.append(type(action))
        return next(action)


class WatchingSubscriptions(SubscriptionManager):
    seen: list[type]

    def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
        self.seen.append(type(action))
        return super().handle(action, next)


class WatchingNetwork(NetworkManager):
    seen: list[type]

    def handle(self, action: Any, next: Callable[[Any], Any], /) -> Any:
        self.seen.append(type(action))
        return super().handle(action, next)


@pytest.mark.parametrize("kind", [Watching, WatchingSubscriptions, WatchingNetwork])
def test_fast_paths_manager_of_the_user_s_own_sees_fetches_and_responses(kind: type) -> None:
    watching = kind()
    watching.seen = []
    managers = [watching] if kind is WatchingNetwork else [NetworkManager(), watching]
    controller = Controller(client=Asked(as_json(ANN)).sync, managers=managers)
    assert controller.fetch(user, id="1").name == "Ann"
    assert SetResponse in watching.seen and (kind is not WatchingNetwork or Fetch in watching.seen)


def test_fast_paths_manager_in_front_sees_the_fetch_too() -> None:
    kind: type = Watching  # a protocol, to type checkers
    watching = kind()
    controller = Controller(client=Asked(as_json(ANN)).sync, managers=[watching, NetworkManager()])
    controller.fetch(user, id="1")
    assert watching.seen == [Fetch, SetResponse]


def test_fast_paths_controller_that_overrides_dispatch_sees_what_its_managers_send() -> None:
    seen: list[type] = []

    class Own(Controller):
        def dispatch(self, action: Any) -> Any:
            seen.append(type(action))
            return super().dispatch(action)

    Own(client=Asked(as_json(ANN)).sync).fetch(user, id="1")
    assert seen == [SetResponse]


# requests that are joined before they begin


def test_fast_paths_identical_fetches_of_one_datetime_are_one_request() -> None:
    async def main() -> None:
        asked = Asked(as_json(ANN))
        async with AsyncController(client=asked.asynchronous) as controller:
            users = await asyncio.gather(*(controller.fetch(user, id="1") for _ in range(50)))
        assert len(asked.requests) == 1 and len({id(found) for found in users}) == 1

    asyncio.run(main())


def test_fast_paths_fetches_one_after_the_other_are_sent_each() -> None:
    async def main() -> None:
        asked = Asked(as_json(ANN))
        async with AsyncController(client=asked.asynchronous) as controller:
            for _ in range(3):
                await controller.fetch(user, id="1")
        assert len(asked.requests) == 3

    asyncio.run(main())


def test_fast_paths_request_is_sent_though_the_first_who_asked_has_left_before_it_began() -> None:
    """The others are not harmed, and it is sent once."""

    async def main() -> None:
        asked = Asked(as_json(ANN))
        async with AsyncController(client=asked.asynchronous) as controller:
            first, second, third = (asyncio.ensure_future(controller.fetch(user, id="1")) for _ in range(3))
            await asyncio.sleep(0)
            assert asked.requests == []
            first.cancel()
            assert (await second).name == (await third).name == "Ann"
            assert first.cancelled() and len(asked.requests) == 1
            assert controller.store.in_flight.by_id == {} == controller.store.in_flight.joinable

    asyncio.run(main())


def test_fast_paths_nothing_is_sent_where_all_have_left_before_it_began() -> None:
    async def main() -> None:
        asked = Asked(as_json(ANN))
        async with AsyncController(client=asked.asynchronous) as controller:
            calls = [asyncio.ensure_future(controller.fetch(user, id="1")) for _ in range(3)]
            await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            await asyncio.sleep(0)
            assert all(call.cancelled() for call in calls)
            assert controller.store.in_flight.by_id == {} == controller.store.in_flight.joinable
            assert controller.get_error(user, id="1") is None

    asyncio.run(main())


def test_fast_paths_response_by_hand_before_the_request_began_is_the_caller_s() -> None:
    """It completes the waiting fetch; the network's own answer still reaches the store."""

    async def main() -> None:
        asked = Asked(as_json(ANN))
        async with AsyncController(client=asked.asynchronous) as controller:
            call = asyncio.ensure_future(controller.fetch(user, id="1"))
            await asyncio.sleep(0)
            controller.set_response(user, {"id": "1", "name": "by hand"}, id="1")
            assert (await call).name == "by hand"
            await controller.all_settled()
            assert len(asked.requests) == 1

    asyncio.run(main())


def test_fast_paths_hook_that_fetches_the_same_does_not_wait_for_itself() -> None:
    """The first step of a request already runs as the task that it belongs to."""

    async def main() -> None:
        asked = Asked(as_json(ANN))
        async with AsyncController(client=asked.asynchronous) as controller:
            inner: list[Any] = []

            async def process(value: Any, *args: Any) -> Any:
                if not inner:
                    inner.append(None)
                    inner.append(await controller.fetch(nosy, id="1"))
                return value

            nosy = user.extend(process=process)
            assert (await controller.fetch(nosy, id="1")).name == "Ann"
            assert inner[1].name == "Ann" and len(asked.requests) == 2

    asyncio.run(main())


# numbers


@pytest.mark.parametrize("before", range(8))
def test_fast_paths_long_number_keeps_its_digits_wherever_it_stands(before: int) -> None:
    number = 1234567890123456789012345
    assert decode_json(b" " * before + b'{"n": %d, "short": 12}' % number) == {"n": number, "short": 12}
    assert decode_json(b" " * before + b"%d" % 9223372036854775808123) == 9223372036854775808123
