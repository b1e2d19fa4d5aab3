"""What a call was answered with, and requests that no endpoint describes."""

from __future__ import annotations

import asyncio
import copy
import gc
import json
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE, eventually
from tests.runtime.clients import Asked, as_json
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import running

import restencil
from restencil import Api, Auth, Controller, Endpoint, Entity, NetworkError, RestEndpoint, Retries, schema

pytestmark = pytest.mark.network


class User(Entity, key="User"):
    id: int = 0
    name: str = ""


def answer(request: Arrived) -> Reply:
    path, _, query = request.target.partition("?")
    headers = {"X-Request-Id": "r-1", "X-Left": "41", "Set-Cookie": "sid=of-the-server"}
    if path.startswith("/old"):
        return Reply(302, headers={"Location": f"/users/1?{query}"})
    if path == "/users" and request.method == "GET":
        return Reply(200, b'[{"id": 1, "name": "Ann"}]', headers)
    if path == "/users":
        return Reply(201, b'{"id": 2, "name": "Bob"}', headers)
    if path == "/none":
        return Reply(404, b'{"detail": "none"}', headers)
    if path == "/echo":
        told = {"method": request.method, "query": query, "body": request.body.decode(), "headers": request.headers}
        return Reply(200, json.dumps(told).encode(), headers)
    if path == "/text":
        return Reply(200, b"hi", {"Content-Type": "text/plain"})
    return Reply(200, b'{"id": 1, "name": "Ann"}', headers)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answer) as served:
        yield served


def resource(url: str) -> Any:
    return restencil.create_resource(
        url_prefix=url, path="/users/:id", schema=User, pagination_field="page", Collection=schema.Collection
    )


class World:
    """A controller of one kind, whose calls give their values in both."""

    def __init__(self, asynchronous: bool, **options: Any) -> None:
        self._kind: Any = restencil.AsyncController if asynchronous else Controller
        self._asynchronous = asynchronous
        self._options = options

    def of(self, api: Api) -> World:
        self._kind = type("Client", (self._kind,), {"_api": api})
        return self

    def run(self, *calls: Callable[[Any], Any]) -> Any:
        """What the last call gives; each gets the controller."""
        controller = self._kind(**self._options)
        with running(controller) as run:
            return [run(call(controller)) for call in calls][-1]


def fetching(endpoint: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda controller: controller.fetch_response(endpoint, **kwargs)


def asking(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda controller: controller.request(*args, **kwargs)


# -- members ---------------------------------------------------------------------------------------------------------


def test_response_has_the_value_and_what_http_says(server: Server, asynchronous: bool) -> None:
    """Of an endpoint that is bound, and of one that is given."""
    users = resource(server.url)
    for call in (lambda controller: controller.bind(users.get).fetch_response(id=1), fetching(users.get, id=1)):
        found = World(asynchronous).run(call)
        assert type(found) is restencil.Response
        assert isinstance(found.value, User) and found.value.name == "Ann"
        assert (found.status, found.url, found.attempts) == (200, f"{server.url}/users/1", 1)
        assert found.headers["X-LEFT"] == found.headers["x-left"] == "41" and "x-left" in found.headers
        assert found.request_id == "r-1" and 0 < found.elapsed < PATIENCE * 1_000
        assert (
            found.http is not None
            and found.http.json() == {"id": 1, "name": "Ann"}
            and found.http.request.method == "GET"
        )
        assert repr(found) == f"<Response GET {server.url}/users/1: 200 in {found.elapsed:.0f} ms>"


def test_responses_url_is_that_after_redirects_without_credentials(server: Server, asynchronous: bool) -> None:
    """Neither a query token nor a password shows in it, nor in anything else."""
    host = server.url.removeprefix("http://")
    moved: Any = RestEndpoint(url_prefix=f"http://user:secret-1@{host}", path="/old", name="old")
    found = World(asynchronous).run(fetching(moved))
    assert found.url == f"{server.url}/users/1" and "secret-1" not in repr(found)
    api = Api(server.url, Auth.query("key"))
    for path, shown in (("/users/1", "/users/1"), ("/old", "/users/1")):
        get: Any = RestEndpoint(url_prefix=server.url, path=path, name="get")
        found = World(asynchronous, token="secret-2").of(api).run(fetching(get))
        assert (
            found.url == f"{server.url}{shown}"
            and "secret-2" not in f"{found!r} {found.http.request.url} {vars(found)}"
        )
        assert b"secret-2" not in pickle.dumps(found)
    assert "key=secret-2" in server.arrived[-1].target


def test_responses_without_http_there_is_a_value_alone(asynchronous: bool) -> None:
    """Of an endpoint with a `fetch` of its own, which asks no server."""

    def fetch(*args: Any) -> Any:
        return {"id": 5}

    get: Any = Endpoint(fetch, name="own", schema=User)
    found = World(asynchronous).run(fetching(get))
    assert found.value.id == 5 and (found.status, found.url, found.http, found.attempts) == (0, "", None, 1)
    assert dict(found.headers) == {} and found.request_id is None and repr(found) == "<Response without HTTP>"


def test_responses_stream_is_handed_over_unread(server: Server, asynchronous: bool) -> None:
    """The value is the stream, and `http` its answer."""
    export: Any = RestEndpoint(url_prefix=server.url, path="/text", content="stream")

    def read(controller: Any) -> Any:
        if asynchronous:

            async def later() -> Any:
                found = await controller.fetch_response(export)
                async with found.value as stream:
                    return found, await stream.aread()

            return later()
        found = controller.fetch_response(export)
        with found.value as stream:
            return found, stream.read()

    found, content = World(asynchronous).run(read)
    assert isinstance(found.value, restencil.StreamedResponse) and content == b"hi"
    assert found.http is found.value.response and found.status == 200


# -- joining ---------------------------------------------------------------------------------------------------------


def test_responses_threads_that_join_a_request_get_the_same_members() -> None:
    """Also one that joins a plain fetch; each has an answer of its own."""
    go = threading.Event()

    def respond(request: httpx.Request) -> httpx.Response:
        go.wait(PATIENCE)
        return httpx.Response(200, json={"id": 1}, headers={"X-Left": "41"})

    asked = Asked(respond)
    get: Any = RestEndpoint(path="/users/:id", schema=User)
    with Controller(client=asked.sync) as controller, ThreadPoolExecutor(3) as threads:
        calls: list[Any] = [controller.fetch, controller.fetch_response, controller.fetch_response]
        began = [threads.submit(call, get, id=1) for call in calls]
        flights = controller.store.in_flight.by_id
        eventually(lambda: sum(flight.callers for flight in list(flights.values())) == 3)
        go.set()
        _, first, second = (call.result(PATIENCE) for call in began)
    assert len(asked.requests) == 1
    assert first is not second and first != second and vars(first) == vars(second) | {"headers": first.headers}
    assert first.http is second.http and first.value is second.value and first.headers["x-left"] == "41"


def test_responses_nothing_holds_a_response_that_no_one_has(asynchronous: bool) -> None:
    """A plain fetch leaves none behind."""
    seen: list[weakref.ref[Any]] = []

    class Keeping(RestEndpoint):
        def parse_response(self, response: Any) -> Any:
            seen.append(weakref.ref(response))
            return super().parse_response(response)

    asked = Asked(as_json({"id": 1}))
    get: Any = Keeping(path="/users/:id", schema=User)
    world = World(asynchronous, client=asked.of(asynchronous))

    def look(controller: Any) -> Any:
        gc.collect()
        return seen[0]()

    assert world.run(lambda controller: controller.fetch(get, id=1), lambda controller: None, look) is None


# -- as a value ------------------------------------------------------------------------------------------------------


def test_responses_pickled_answer_has_no_response_of_the_library(server: Server) -> None:
    """Nor a cookie that the server has set; all else stays."""
    users = resource(server.url)
    found = World(False).run(fetching(users.get, id=1))
    assert found.headers["Set-Cookie"] == "sid=of-the-server"
    for again in (pickle.loads(pickle.dumps(found)), copy.copy(found)):
        assert again.http is None and "set-cookie" not in again.headers and again.headers["X-Left"] == "41"
        assert (again.status, again.url, again.elapsed, again.request_id) == (200, found.url, found.elapsed, "r-1")
        assert again.value.name == "Ann" and repr(again) == repr(found)
    assert b"of-the-server" not in pickle.dumps(found)


def test_responses_request_goes_behind_the_prefix_with_the_credential(server: Server, asynchronous: bool) -> None:
    """Query, headers and body are its own; the value is what the content type says."""
    api = Api("https://spec.test/v1", Auth.bearer())
    world = World(asynchronous, token="secret-1", url_prefix=server.url).of(api)
    found = world.run(
        asking("post", "/echo", query={"b": [1, 2], "a": None}, headers={"X-A": "1"}, body={"minutes": 5})
    )
    assert (found.status, found.url, found.request_id) == (200, f"{server.url}/echo?b=1%2C2", "r-1")
    assert (found.value["method"], found.value["query"]) == ("POST", "b=1%2C2")
    assert json.loads(found.value["body"]) == {"minutes": 5}
    sent = found.value["headers"]
    assert (sent["authorization"], sent["x-a"], sent["content-type"]) == ("Bearer secret-1", "1", "application/json")
    assert repr(found).startswith(f"<Response POST {server.url}/echo?b=1%2C2: 200 in ")
    text = world.run(asking("GET", "text"))
    assert text.value == "hi"


# -- what no endpoint describes --------------------------------------------------------------------------------------


def test_responses_request_is_neither_stored_nor_shared(server: Server, asynchronous: bool) -> None:
    """The store is as before, and each call asks."""
    users = resource(server.url)

    def both(controller: Any) -> Any:
        if asynchronous:

            async def later() -> Any:
                return await asyncio.gather(*(controller.request("GET", "/users/1") for _ in range(2)))

            return later()
        return [controller.request("GET", "/users/1") for _ in range(2)]

    def look(controller: Any) -> Any:
        return (
            controller.cached(users.get, id=1),
            controller.store.in_flight.by_id,
            controller.store.state == restencil.Store().state,
        )

    assert World(asynchronous, base_url=server.url).run(both, look) == (None, {}, True) and len(server.arrived) == 2


def test_responses_request_fails_as_all_do(server: Server, asynchronous: bool) -> None:
    """With the error of its status; retried where it may be."""
    with pytest.raises(restencil.NotFoundError, match=f"GET {server.url}/none: 404 Status: none") as caught:
        World(asynchronous, base_url=server.url).run(asking("GET", "/none"))
    assert caught.value.data == {"detail": "none"}
    for method, expected in (("PUT", 3), ("POST", 1)):
        asked = Asked(httpx.Response(503))
        client = asked.of(asynchronous)
        world = World(asynchronous, client=client, retries=Retries(2, base_delay=0))
        with pytest.raises(NetworkError) as failed:
            world.run(asking(method, "/a", body={}))
        assert (failed.value.attempts, len(asked.requests)) == (expected, expected)
    asked = Asked(httpx.Response(503))
    client = asked.of(asynchronous)
    world = World(asynchronous, client=client, retries=Retries(1, base_delay=0, mutations=True))
    with pytest.raises(NetworkError):
        world.run(asking("POST", "/a", body={}))
    keys = {request.headers["idempotency-key"] for request in asked.requests}
    assert len(asked.requests) == 2 and len(keys) == 1
    with pytest.raises(NetworkError, match="which would turn POST into GET"):
        World(asynchronous, base_url=server.url).run(asking("POST", "/old"))
    world = World(asynchronous, base_url=server.url, max_response_bytes=3)
    with pytest.raises(NetworkError, match="decompressed body is larger than .*, which is 3; increase it to accept"):
        world.run(asking("GET", "/users"))


def test_responses_request_has_a_timeout_of_its_own(asynchronous: bool) -> None:
    """Over that of its view, whose headers and search parameters it has."""
    with Server(lambda request: Reply(held=True)) as server:
        with pytest.raises(NetworkError, match=r"no response within 150 ms"):
            World(asynchronous, base_url=server.url).run(
                lambda controller: controller.with_options(timeout="1m").request("GET", "/a", timeout=150)
            )
    with Server(answer) as server:
        found = World(asynchronous, base_url=server.url).run(
            lambda controller: controller.with_options(headers={"prefer": "a", "X-B": "b"}, query={"q": 1}).request(
                "GET", "/echo", headers={"Prefer": "c"}, query={"r": 2}
            )
        )
    assert found.value["query"] == "q=1&r=2"
    assert (found.value["headers"]["prefer"], found.value["headers"]["x-b"]) == ("c", "b")


def test_request_to_another_origin_is_rejected(server: Server, asynchronous: bool) -> None:
    """Before any I/O: the credential is not for it. An address of the client's own origin is one of its paths."""
    api = Api("https://spec.test/v1", Auth.bearer())
    world = World(asynchronous, token="secret-1", url_prefix=f"{server.url}/v1").of(api)
    port = server.url.rpartition(":")[2]
    for path in (
        "https://other.test/a",
        "//other.test/a",
        "HTTP://other.test",
        f"https://127.0.0.1:{port}/a",
        "http://127.0.0.1:1/a",
        f"http://user:pw-of-user@other.test:{port}/a",
    ):
        with pytest.raises(
            ValueError, match=f"has the origin .*, but this client sends requests to {server.url}; pass a path of"
        ) as caught:
            world.run(asking("GET", path))
        assert "pw-of-user" not in str(caught.value)
    assert server.arrived == []
    assert world.run(asking("GET", f"{server.url}/users/1#x")).value["name"] == "Ann"
    for path in ("/../@other.test", "@other.test/a", "\\\\other.test\\a", "/users//other.test"):
        world.run(asking("GET", path))
    assert len(server.arrived) == 5


@pytest.mark.parametrize(
    ("args", "options", "kind", "problem"),
    [
        (("G T", "/a"), {}, ValueError, "the method of a request is 'G T'; expected an HTTP method such as 'GET'"),
        ((None, "/a"), {}, ValueError, "the method of a request is None"),
        (("GET", 5), {}, TypeError, "the path of a request is an int; expected a string such as '/articles/1'"),
        (("GET", "/a"), {"query": "a=1"}, TypeError, "the query of a request is a str; expected a mapping"),
        (("GET", "/a"), {"headers": {"X-A": 5}}, TypeError, "'X-A' among the headers of a request is of type int"),
        (("GET", "/a"), {"headers": [("X-A", "secret")]}, TypeError, "headers of a request is a list; expected a dict"),
        (("GET", "/a"), {"headers": {"X\r\n": "a"}}, ValueError, "is not a valid header name"),
        (("GET", "/a"), {"headers": {"Host": "secret"}}, ValueError, "'Host' among the headers of a request: the HTTP"),
        (("PUT", "/a"), {"headers": {"Content-Length": "5"}}, ValueError, "the HTTP client sets this header"),
        (("GET", "/a"), {"headers": {"X-A": "a\nsecret"}}, ValueError, "its value, not shown here, has a line break"),
        (("GET", "/a"), {"timeout": -1}, ValueError, "timeout"),
        (("POST", "/a"), {"body": {"a": object()}}, TypeError, "cannot be sent as JSON"),
    ],
)
def test_responses_request_that_cannot_be_sent_is_reported(
    args: Any, options: Any, kind: type[Exception], problem: str, asked: Asked
) -> None:
    """With what was found and what was expected; a value of a header is never shown."""
    with pytest.raises(kind, match=problem) as caught:
        World(False, client=asked.sync).run(asking(*args, **options))
    assert "secret" not in str(caught.value) and asked.requests == []


@pytest.mark.parametrize(
    ("auth", "options", "named"),
    [
        (Auth.bearer(), {"headers": {"authorization": "secret"}}, "'authorization' among the headers"),
        (Auth.header("X-Key"), {"headers": {"X-KEY": None}}, "'X-KEY' among the headers"),
        (Auth.cookie("sid"), {"headers": {"Cookie": "sid=secret"}}, "'Cookie' among the headers"),
        (Auth.query("key"), {"query": {"key": "secret"}}, "'key' in the query"),
    ],
)
def test_responses_request_has_the_credential_of_its_client_alone(
    auth: Auth, options: dict[str, Any], named: str
) -> None:
    """One that is given along would go beside it, or be lost without a word."""
    world = World(False, token="own", base_url="http://127.0.0.1:1").of(Api("", auth))
    with pytest.raises(ValueError, match=f"{named} of a request is a credential; pass token=… instead") as caught:
        world.run(asking("GET", "/a", **options))
    assert "secret" not in str(caught.value)


def test_responses_type_of_a_body_may_be_reported(asked: Asked) -> None:
    """As where a PATCH has several forms."""
    headers = {"Content-Type": "application/merge-patch+json"}
    World(False, client=asked.sync).run(asking("PATCH", "http://case.test/a", body={"a": 1}, headers=headers))
    assert asked.requests[0].headers["content-type"] == "application/merge-patch+json"
