"""Requests that cannot be sent: each is an error of the caller, which names what was found and what to pass."""

from __future__ import annotations

import datetime
import io
import types
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from tests.runtime.servers import Server
from tests.runtime.worlds import BOTH, controller_of, running

from restencil import Controller, Form, Multipart, Resource, RestEndpoint, create_resource, rest

pytestmark = pytest.mark.network


def posted(body: Any, asynchronous: bool) -> list[bytes]:
    """The bodies that a server got from one request with this body."""
    with Server() as server:
        post: Any = RestEndpoint(path="/a", method="POST", url_prefix=server.url, name="a.post")
        controller = controller_of(asynchronous)
        with running(controller) as run:
            run(controller.fetch(post, {}, body))
        return [request.body for request in server.arrived]


@BOTH
@pytest.mark.parametrize("body", ["a\ud800", Form({"a": "\ud800"}), Form({"\ud800": 1}), Multipart({"a": "\ud800"})])
def test_unfit_requests_lone_surrogate_is_a_value_error(body: Any, asynchronous: bool) -> None:
    """It is no failure of the network; JSON can represent it."""
    with pytest.raises(ValueError, match=r"body of the request contains the lone surrogate '\\ud800'.*or send JSON"):
        posted(body, asynchronous)
    assert posted({"a": "\ud800"}, asynchronous) == [b'{"a":"\\ud800"}']


def numbers() -> Iterator[Any]:
    yield from (1, 2)


async def later(items: Iterator[Any]) -> AsyncIterator[Any]:
    for item in items:
        yield item


@BOTH
@pytest.mark.parametrize(
    ("body", "found"),
    [(numbers, "an int"), (lambda: map(str, (1, 2)), "a str"), (lambda: io.StringIO("text"), "a str")],
)
def test_unfit_requests_stream_yields_bytes_alone(body: Callable[[], Any], found: str, asynchronous: bool) -> None:
    """Anything else is reported in words of restencil, and not by an assertion of the HTTP library."""
    sent = later(body()) if asynchronous and not hasattr(body(), "read") else body()
    with pytest.raises(TypeError, match=rf"read in chunks, and one is {found}; expected bytes: encode strings, open"):
        posted(sent, asynchronous)


@BOTH
@pytest.mark.parametrize("value", [(1, 2), ("a.txt",), ("a.txt", 1), ("a.txt", b"a", 1), ("a", b"b", "c/d", {})])
def test_unfit_requests_tuple_of_a_multipart_body_is_a_file(value: Any, asynchronous: bool) -> None:
    """With its name, its content and, if given, its type."""
    with pytest.raises(
        TypeError, match="multipart field 'a' is a tuple that is not a file; expected .file name, content"
    ):
        posted(Multipart({"a": value}), asynchronous)
    assert b"text" in posted(Multipart({"a": ("a.txt", io.BytesIO(b"text"), "text/plain")}), asynchronous)[0]


@BOTH
@pytest.mark.parametrize("hook", [False, True], ids=["request_init", "get_headers"])
@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({"X-Page": 1}, "the header 'X-Page' of endpoint 'a.get' cannot be sent: it is an int; expected a string"),
        ({"X-Page": None}, "the header 'X-Page' of endpoint 'a.get' cannot be sent: it is None; expected a string"),
        ({"X-Page": b"1"}, "the header 'X-Page' of endpoint 'a.get' cannot be sent: it is a bytes; expected a string"),
        ({1: "X-Page"}, "the header 1 of endpoint 'a.get' cannot be sent: its name is an int; expected a string"),
    ],
)
def test_unfit_requests_header_is_a_string(headers: Any, message: str, hook: bool, asynchronous: bool) -> None:
    """In `request_init`, and as a hook returns it."""
    given: Any = {"get_headers": lambda sent: {**sent, **headers}} if hook else {"request_init": {"headers": headers}}
    get: Any = RestEndpoint(path="/a", url_prefix="http://127.0.0.1:9", name="a.get", **given)
    controller = controller_of(asynchronous)
    with running(controller) as run, pytest.raises(TypeError, match=message):
        run(controller.fetch(get))


def test_unfit_requests_options_are_reported_where_they_are_given() -> None:
    """Headers that are no mapping, and timeouts beyond those of the operating system."""
    init: Any
    timeout: Any
    for init in ([], {"headers": [("X-Page", "1")]}):
        with pytest.raises(TypeError, match="request_init of endpoint '/a' is .*; expected a dict such as"):
            RestEndpoint(path="/a", request_init=init)
    for timeout in (10**30, 1e300, "9999999999999h"):
        with pytest.raises(
            ValueError, match="timeout of endpoint '/a' is .*; expected a positive number of milliseconds"
        ):
            RestEndpoint(path="/a", timeout=timeout)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": ["/a"]}, "the path of an endpoint is a list; expected a string such as"),
        ({"path": b"/a/:id"}, "the path of an endpoint is a bytes; expected a string such as"),
        ({"url_prefix": b"http://a.test"}, "url_prefix of endpoint '/a/:id' is a bytes; expected a string"),
        ({"url_prefix": 1}, "url_prefix of endpoint '/a/:id' is an int; expected a string"),
        ({"method": 1}, "method of endpoint '/a/:id' is 1; expected an HTTP method such as 'GET'"),
        ({"method": "get it"}, "method of endpoint '/a/:id' is 'get it'; expected an HTTP method such as 'GET'"),
        ({"method": "P\u00d6ST"}, "method of endpoint '/a/:id' is 'P\u00d6ST'; expected an HTTP method such as 'GET'"),
    ],
)
def test_unfit_requests_address_of_an_endpoint_is_checked_where_it_is_given(options: Any, message: str) -> None:
    """By an endpoint, a resource class, and a member of one."""
    made: Any = create_resource
    given: Any = {"path": "/a/:id", **options}
    for declare in (
        lambda: RestEndpoint(**given),
        lambda: RestEndpoint(path="/a/:id").extend(**options),
        lambda: made(schema=None, **given),
        lambda: types.new_class("Items", (Resource,), given),
        lambda: rest(**given)(lambda self: None),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            declare()


def test_unfit_requests_query_of_a_request_has_the_values_of_endpoints() -> None:
    """A datetime is in RFC 3339, whether an endpoint is declared or not; names are strings."""
    at, names = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), ["a", uuid.UUID(int=1)]
    with Server() as server, Controller() as controller:
        get: Any = RestEndpoint(path="/a", url_prefix=server.url)
        controller.fetch(get, at=at, names=names)
        controller.request("GET", f"{server.url}/a", query={"at": at, "names": names})
        first, second = (request.target for request in server.arrived)
    assert first == second == "/a?at=2026-01-02T00%3A00%3A00Z&names=a%2C00000000-0000-0000-0000-000000000001"


def test_unfit_requests_names_of_parameters_are_strings() -> None:
    """Also if only some are."""
    get: Any = RestEndpoint(path="/a", name="get")
    for params in ({1: 2}, {"a": 1, None: 2}, {("a",): 1}):
        with pytest.raises(TypeError, match="parameters of endpoint 'get' have the names .*; expected strings"):
            get.url(params)


@BOTH
@pytest.mark.parametrize("returned", [None, [("X-Page", "1")], "X-Page: 1"])
@pytest.mark.parametrize("is_coroutine", [False, True])
def test_unfit_requests_get_headers_returns_headers(returned: Any, is_coroutine: bool, asynchronous: bool) -> None:
    """A hook that forgets to return them would send a request without a content type and a token."""

    async def awaited(headers: Any) -> Any:
        return returned

    hook: Any = awaited if is_coroutine and asynchronous else lambda headers: returned
    get: Any = RestEndpoint(path="/a", url_prefix="http://127.0.0.1:9", name="a.get", get_headers=hook)
    controller = controller_of(asynchronous)
    with (
        running(controller) as run,
        pytest.raises(TypeError, match="get_headers of endpoint 'a.get' returned .*; expect"),
    ):
        run(controller.fetch(get))


@BOTH
@pytest.mark.parametrize("returned", [None, [], "init"])
def test_unfit_requests_get_request_init_returns_a_dict(returned: Any, asynchronous: bool) -> None:
    """The error names the hook and what it returned."""
    get: Any = RestEndpoint(path="/a", url_prefix="http://127.0.0.1:9", get_request_init=lambda body: returned)
    controller = controller_of(asynchronous)
    with (
        running(controller) as run,
        pytest.raises(TypeError, match="get_request_init of endpoint .* returned .*; expected"),
    ):
        run(controller.fetch(get))


@pytest.mark.parametrize(
    "option", ["process", "update", "error_policy", "get_optimistic_response", "key", "get_headers"]
)
def test_unfit_requests_option_that_is_a_function_is_checked_where_it_is_given(option: str) -> None:
    """`error_policy="soft"` would be ignored until a request fails."""
    with pytest.raises(TypeError, match=f"the option {option} of an endpoint is a str; expected a function"):
        RestEndpoint(path="/a", **{option: "soft"})


@pytest.mark.parametrize("controller", [None, 5, Controller, io.BytesIO()])
def test_unfit_requests_resource_needs_a_controller(controller: Any) -> None:
    """It is reported where the resource is bound, and not at the first call."""
    notes: Any = create_resource(path="/a/:id", schema=None)
    with pytest.raises(TypeError, match="NoneTypeResource got .*; expected a controller"):
        notes(controller)
