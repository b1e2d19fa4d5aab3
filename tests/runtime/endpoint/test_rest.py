"""Endpoints: construction, arguments, the lifecycle and its hooks, what `extend` derives."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import enum
import io
import math
import re
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked, as_json, as_text

import restencil
from restencil import Endpoint, Entity, Form, Multipart, RestEndpoint, field, lazy_function, schema


class Article(Entity):
    id: int = 0
    title: str = ""
    written_at: datetime.datetime | None = field(default=None, wire="writtenAt")


LIST = schema.Collection([Article])

loose: Any = RestEndpoint
"""For uses that type checkers refuse, and for options that become attributes."""


# -- construction ----------------------------------------------------------------------------------------------------


def test_rest_path_is_required() -> None:
    """An endpoint without a path says so."""
    with pytest.raises(TypeError, match="RestEndpoint needs a path, such as path='/articles/:id'"):
        RestEndpoint()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data_expiry_length": -1}, "data_expiry_length of endpoint '/a' is negative: -1 ms"),
        ({"error_expiry_length": -0.5}, "error_expiry_length of endpoint '/a' is negative: -0.5 ms"),
        ({"data_expiry_length": math.nan}, "data_expiry_length of endpoint '/a' is nan ms; expected a positive number"),
        ({"poll_frequency": 0}, "poll_frequency of endpoint '/a' is 0 ms; expected a positive number, or None"),
        ({"poll_frequency": -5}, "poll_frequency of endpoint '/a' is negative: -5 ms"),
        ({"content": "xml"}, "content of endpoint GET '/a' is 'xml'; expected one of json, text, bytes, stream"),
        (
            {"content": "text", "schema": LIST},
            "has a schema and content='text', but a schema needs JSON; set schema=None",
        ),
        (
            {"body_format": "xml"},
            "body_format of endpoint GET '/a' is 'xml'; expected one of json, form, multipart, bytes, text",
        ),
    ],
)
def test_rest_options_that_cannot_be_are_rejected_when_the_endpoint_is_built(
    options: dict[str, Any], message: str
) -> None:
    """Negative lifetimes, an unknown `content`, and one that contradicts a schema."""
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        RestEndpoint(path="/a", **options)


@pytest.mark.parametrize("length", ["5", True, "5 days"])
def test_rest_lifetimes_are_numbers(length: Any) -> None:
    """In milliseconds."""
    with pytest.raises(
        TypeError, match="error_expiry_length of endpoint '/a' is a.*; expected a number of milliseconds"
    ):
        RestEndpoint(path="/a", error_expiry_length=length)


def test_rest_unknown_options_are_attributes() -> None:
    """So that `extend(access_token=…)` works; what is not there is named."""
    endpoint = loose(path="/a", name="a", access_token="t")
    assert endpoint.extend(path="/b").access_token == "t"
    with pytest.raises(AttributeError, match=r"endpoint 'a' \(RestEndpoint\) has no option or member 'tokn'"):
        _ = endpoint.tokn


def test_rest_repr_shows_no_secret() -> None:
    """Options are not shown: any of them may be a secret."""
    endpoint = RestEndpoint(path="/a", name="a", access_token="s3cret", request_init={"headers": {"X": "s3cret"}})
    assert repr(endpoint) == "<RestEndpoint a: GET /a>"


# -- Endpoint --------------------------------------------------------------------------------------------------------


def test_rest_plain_endpoint_runs_its_function() -> None:
    """The key is the name, a space and the arguments as JSON; a call gives the function's value."""

    def double(value: int) -> int:
        return 2 * value

    endpoint = Endpoint(double)
    assert endpoint(4) == 8
    assert endpoint.key(4) == "double [4]"
    assert endpoint.test_key("double [5]")
    assert not endpoint.test_key("triple [5]")
    assert endpoint.extend(name="other").key({"a": 1}, None) == 'other [{"a":1},null]'
    assert (endpoint.side_effect, endpoint.error_policy, endpoint.has_body) == (False, None, False)


def test_rest_lambda_needs_a_name_or_a_key() -> None:
    """There is nothing to derive a key from."""
    with pytest.raises(TypeError, match="an endpoint with a lambda needs a name"):
        Endpoint(lambda: 1)
    assert Endpoint(lambda: 1, name="one").key() == "one []"
    assert Endpoint(lambda: 1, key=lambda *args: "k").key() == "k"


def test_rest_keyword_values_are_received_to_wire_form() -> None:
    """Args are in wire form: dates are RFC 3339, enums their values; the positional form is not touched."""
    moment = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    endpoint: Any = RestEndpoint(path="/a")
    assert endpoint.bind_args((), {"at": moment, "in": [Colour.RED]}) == (
        {"at": "2026-01-02T00:00:00Z", "in": ["red"]},
    )
    assert endpoint.bind_args(({"at": moment},), {}) == ({"at": moment},)


# -- arguments -------------------------------------------------------------------------------------------------------


def test_rest_defaults_of_a_signature_are_sent_where_a_keyword_is_left_out(asked: Asked) -> None:
    """The keyword form alone, also without any keyword; None leaves the parameter out."""

    def declared(self: Any, *, limit: int = 20, order_by: str = "at", q: str | None = None, body: Any = 1) -> Any: ...

    endpoint: Any = RestEndpoint(path="/a", signature=declared, wire={"order_by": "orderBy"})
    assert endpoint.key() == endpoint.key(limit=20) == "GET /a?limit=20&orderBy=at"
    assert endpoint.key(limit=None, q="x") == "GET /a?orderBy=at&q=x"
    assert endpoint.key({}) == "GET /a"
    assert endpoint.url() == "/a?limit=20&orderBy=at"
    endpoint.extend(client=asked.sync)()
    assert asked.last.url.raw_path == b"/a?limit=20&orderBy=at"


def test_rest_deprecated_endpoint_warns_where_it_is_used() -> None:
    """The warning names the endpoint and the reason, and points at the caller."""
    endpoint: Any = RestEndpoint(path="/a", name="a.get", deprecated="use b", client=Asked().sync)
    with pytest.warns(DeprecationWarning, match="^a.get is deprecated: use b$") as caught:
        endpoint(q=1)
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="^a.get is deprecated$"):
        endpoint.extend(deprecated="")(q=1)


def test_rest_body_where_there_is_none_is_rejected() -> None:
    """A keyword `body` of an endpoint without one would vanish silently."""
    with pytest.raises(TypeError, match="endpoint 'a' has no body, but got the keyword 'body'; pass a parameter"):
        RestEndpoint(path="/a", name="a").key(body={"x": 1})
    assert RestEndpoint(path="/a").url({"body": 1}) == "/a?body=1"


# -- bodies ----------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Draft:
    title: str
    tags: list[str]


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("body", "sent", "content_type"),
    [
        ((1, "é"), '[1,"é"]'.encode(), "application/json"),
        ({"a": "\ud800"}, b'{"a":"\\ud800"}', "application/json"),
        (Draft("t", ["x"]), b'{"title":"t","tags":["x"]}', "application/json"),
        ({"d": Draft("t", [])}, b'{"d":{"title":"t","tags":[]}}', "application/json"),
        (Article(id=1, title="t"), b'{"id":1,"title":"t"}', "application/json"),
        (
            {"at": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)},
            b'{"at":"2026-01-02T00:00:00Z"}',
            "application/json",
        ),
        (
            {"d": decimal.Decimal("1.10"), "c": Colour.RED, "u": uuid.UUID(int=0)},
            b'{"d":"1.10","c":"red","u":"00000000-0000-0000-0000-000000000000"}',
            "application/json",
        ),
        ("plain words", b"plain words", "text/plain; charset=utf-8"),
        (b"\x00\x01", b"\x00\x01", None),
        (bytearray(b"x"), b"x", None),
        (Form({"a": [1, True], "b": "", "c": "ä b"}), b"a=1&a=true&b=&c=%C3%A4+b", "application/x-www-form-urlencoded"),
        (0, b"0", "application/json"),
    ],
)
def test_rest_body_goes_out_as_its_type_says(body: Any, sent: bytes, content_type: str | None, asked: Asked) -> None:
    """The table of bodies and their default content types."""
    RestEndpoint(path="/a", method="POST", client=asked.sync)({}, body)
    assert asked.last.content == sent
    assert asked.last.headers.get("content-type") == content_type
    assert asked.last.headers["content-length"] == str(len(sent))


@pytest.mark.parametrize(
    ("body", "sent", "content_type"),
    [
        ("plain words", b'"plain words"', "application/json"),
        ("", b'""', "application/json"),
        ({"a": "b"}, b'{"a":"b"}', "application/json"),
        (7, b"7", "application/json"),
        (b"\x00\x01", b"\x00\x01", None),
        (Form({"a": 1}), b"a=1", "application/x-www-form-urlencoded"),
    ],
)
def test_rest_string_in_json_format_is_json(body: Any, sent: bytes, content_type: str | None, asked: Asked) -> None:
    """Also an empty one. Bytes and forms are sent as they are."""
    RestEndpoint(path="/a", method="POST", body_format="json", client=asked.sync)({}, body)
    assert asked.last.content == sent
    assert asked.last.headers.get("content-type") == content_type


def test_rest_list_in_a_call_may_be_any_sequence() -> None:
    """What `Sequence` means to a type checker is sent as a list: tuples, deques, ranges; a text stays one."""

    class Ticket(Entity):
        id: int = 0
        ids: Sequence[uuid.UUID] = ()
        tags: Sequence[str] = ()

    post = RestEndpoint(path="/a", method="POST", schema=Ticket)
    one = uuid.UUID(int=1)
    assert post.bind_args((), {"body": {"ids": deque([one]), "tags": ("a",)}})[-1] == {"ids": [str(one)], "tags": ["a"]}
    assert post.bind_args((), {"body": range(2)})[-1] == [0, 1]
    assert post.bind_args((), {"body": deque([{"ids": [one]}])})[-1] == [{"ids": [str(one)]}]
    assert post.bind_args((), {"body": "text"})[-1] == "text"
    assert RestEndpoint(path="/a").url({"ids": deque([1, 2]), "tag": "ab"}) == "/a?ids=1%2C2&tag=ab"


def test_rest_body_that_has_no_json_form_is_named() -> None:
    """The error says which endpoint, what was found and what to do."""
    endpoint = RestEndpoint(path="/a", name="a.create", method="POST", client=Asked().sync)
    with pytest.raises(
        TypeError, match=r"the body of endpoint 'a.create' cannot be sent as JSON: a set has no JSON form"
    ):
        endpoint({"x": {1}})
    with pytest.raises(ValueError, match=r"the body of endpoint 'a.create' cannot be sent as JSON"):
        endpoint({"x": float("nan")})


def test_rest_form_field_without_text_is_named(asked: Asked) -> None:
    """A nested dict is written, with brackets or as a part of JSON; a set has no place in a form."""
    endpoint = RestEndpoint(path="/a", method="POST", client=asked.sync)
    endpoint({}, Form({"a": {"b": 1}}))
    assert asked.last.content == b"a%5Bb%5D=1"
    endpoint({}, Multipart({"a": {"b": 1}}))
    assert b'\r\nContent-Type: application/json\r\n\r\n{"b":1}\r\n' in asked.last.content
    with pytest.raises(TypeError, match="form field 'a' is a set; expected a string, number or boolean"):
        endpoint({}, Form({"a": {1}}))
    with pytest.raises(TypeError, match="multipart field 'a' is a set; expected a string or a file"):
        endpoint({}, Multipart({"a": {1}}))


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (Form({"title": "t", "name": None}), "name"),
        (Form({"tags": ["a", None]}), "tags[1]"),
        (Form({"owner": {"name": None}}), "owner.name"),
        (Multipart({"name": None, "file": b"x"}), "name"),
        (Multipart({"tags": ["a", None]}), "tags[1]"),
    ],
)
def test_rest_form_body_null_is_rejected_before_sending(body: Any, place: str, asynchronous: bool) -> None:
    """None in a form is a ValueError with its place, and nothing is sent."""
    asked = Asked()
    client = asked.of(asynchronous)
    endpoint = RestEndpoint(path="/a", name="a.create", method="POST", client=client)
    with pytest.raises(ValueError, match=re.escape(f"body of endpoint 'a.create' has None at {place!r}, but a form")):
        asyncio.run(endpoint({}, body))
    assert not asked.requests


def test_rest_form_body_null_in_json_is_sent(asked: Asked) -> None:
    """A field of a form in the style json, and an object in a multipart body, can say null."""
    styled = RestEndpoint(path="/a", method="POST", body_format="form", form_styles={"a": "json"}, client=asked.sync)
    styled(body={"a": {"b": None, "c": [None]}})
    assert asked.last.content == b"a=%7B%22b%22%3Anull%2C%22c%22%3A%5Bnull%5D%7D"
    styled(body={"a": None})
    assert asked.last.content == b"a=null"
    inner = styled.extend(form_styles={"a": "form", "b": "json"})
    inner(body={"a": {"b": None}})
    assert asked.last.content == b"b=null"
    with pytest.raises(ValueError, match="has None at 'c'"):
        inner(body={"a": {"c": None}})
    RestEndpoint(path="/a", method="POST", client=asked.sync)({}, Multipart({"a": {"b": None}, "c": [{"d": None}]}))
    assert b'{"b":null}' in asked.last.content
    assert b'{"d":null}' in asked.last.content


def test_rest_multipart_body_sends_strings_and_files(asynchronous: bool, asked: Asked) -> None:
    """Bytes, open files and tuples are files, everything else is text; lists repeat a field."""
    body = {
        "title": "t",
        "tags": ["a", "b"],
        "raw": b"\x00",
        "file": io.BytesIO(b"in a file"),
        "named": ("n.txt", b"named", "text/x"),
    }
    client = asked.of(asynchronous)
    made = RestEndpoint(path="/a", method="POST", body_format="multipart", client=client)(body=body)
    if asynchronous:
        asyncio.run(made)
    kind, content = asked.last.headers["content-type"], asked.last.content
    assert kind.startswith("multipart/form-data; boundary=")
    assert content.count(b'name="tags"') == 2
    for part in (b'name="title"\r\n\r\nt\r\n', b"in a file", b'filename="n.txt"\r\nContent-Type: text/x\r\n\r\nnamed'):
        assert part in content


def test_rest_open_file_is_streamed(asynchronous: bool, asked: Asked) -> None:
    """A file body goes out itself, under both clients."""
    client = asked.of(asynchronous)
    made = RestEndpoint(path="/a", method="PUT", client=client)({}, io.BytesIO(b"x" * 100_000))
    if asynchronous:
        asyncio.run(made)
    assert len(asked.last.content) == 100_000
    assert "content-type" not in asked.last.headers


# -- answers ---------------------------------------------------------------------------------------------------------


def call(response: httpx.Response, **options: Any) -> Any:
    return RestEndpoint(path="/a", name="a.get", client=Asked(response).sync, **options)()


def test_rest_text_is_decoded_by_its_charset() -> None:
    """The charset of the content type counts, UTF-8 otherwise; what does not decode is replaced."""
    latin = httpx.Response(200, content="é".encode("latin-1"), headers={"Content-Type": "text/plain; charset=latin-1"})
    assert call(latin) == "é"
    assert (
        call(httpx.Response(200, content=b"\xff", headers={"Content-Type": "text/plain; charset=nonsense"})) == "\ufffd"
    )


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (
            as_text("\x01", "image/png"),
            "the response is binary content of type 'image/png'; set schema=None to get its bytes",
        ),
        (
            as_text("<!doctype html>" + "x" * 400, "text/html"),
            "the response is HTML; the route may not exist on the server. It begins with: <!doctype html>" + "x" * 285,
        ),
        (
            as_text('{"id":1}', None),
            "the response is JSON with the content type 'missing'; fix the server to send 'application/json', "
            "or set content='json'",
        ),
        (
            as_text("hello"),
            "the response is text of type 'text/plain'; set schema=None to get the text, or convert it in a process",
        ),
    ],
)
def test_rest_text_and_bytes_where_a_schema_is_are_unexpected_content(response: httpx.Response, message: str) -> None:
    """Status 404, the answer attached, a message of its own for each kind."""
    with pytest.raises(restencil.UnexpectedContentError) as caught:
        call(response, schema=Article)
    start = "GET http://case.test/a: 200 OK: endpoint 'a.get' has a schema and expected JSON, but "
    assert str(caught.value) == start + message
    assert caught.value.status == 404
    assert caught.value.response is not None


# -- hooks -----------------------------------------------------------------------------------------------------------


HOOKS: dict[str, tuple[Callable[..., Any], Any]] = {
    "get_headers": (lambda headers: {**headers, "X": "headers"}, {"x": "headers"}),
    "get_request_init": (lambda body=None: {"method": "GET", "headers": {"X": "init"}}, {"x": "init"}),
    "fetch_response": (lambda url, init: as_json({"url": url}), {"url": "/a"}),
    "parse_response": (lambda response: response.status_code, 200),
    "process": (lambda value, *args: {"processed": value["x"]}, {"processed": None}),
    "fetch": (lambda *args: {"fetched": len(args)}, {"fetched": 1}),
}


def _echo(request: httpx.Request) -> httpx.Response:
    return as_json({"x": request.headers.get("x")})


@pytest.mark.parametrize("name", HOOKS)
def test_rest_each_hook_may_be_a_coroutine_function(name: str, asynchronous: bool) -> None:
    """Under the asynchronous client; the synchronous one rejects it."""
    function, expected = HOOKS[name]

    async def later(*args: Any) -> Any:
        await asyncio.sleep(0)
        return function(*args)

    endpoint: Any = RestEndpoint(path="/a", name="a.get", client=Asked(_echo).of(asynchronous), **{name: later})
    if asynchronous:
        assert asyncio.run(endpoint({})) == expected
    else:
        message = f"{name} of endpoint 'a.get' returned an awaitable; the synchronous client cannot await it"
        with pytest.raises(TypeError, match=message):
            endpoint({})


def test_rest_override_may_call_the_hook_of_the_base_class(asynchronous: bool) -> None:
    """The base hook gives an awaitable only where there is something to wait for."""

    class Wrapped(RestEndpoint):
        def get_request_init(self, body: Any = None) -> Any:
            return {**super().get_request_init(body), "credentials": "same-origin"}

        def fetch_response(self, url: str, init: Mapping[str, Any]) -> Any:
            return super().fetch_response(f"{url}?signed=1", init)

        def parse_response(self, response: Any) -> Any:
            return {"parsed": super().parse_response(response)}

        def fetch(self, *args: Any) -> Any:
            return super().fetch(*args)

    asked = Asked(_echo)
    endpoint = Wrapped(path="/a", client=asked.of(asynchronous))
    made = endpoint()
    assert (asyncio.run(made) if asynchronous else made) == {"parsed": {"x": None}}
    assert asked.last.url.raw_path == b"/a?signed=1"


@pytest.mark.parametrize("name", ["url", "key", "search_to_string"])
def test_rest_hooks_that_may_not_wait_reject_a_coroutine(name: str) -> None:
    """These are asked where nothing can be awaited."""

    async def later(*args: Any) -> str:
        return ""

    endpoint = RestEndpoint(path="/a", name="a", **{name: later})
    with pytest.raises(
        TypeError, match=f"{name} of endpoint 'a' returned an awaitable; this hook must be a plain function"
    ):
        endpoint.key({"q": 1})


def test_rest_url_that_is_no_string_is_rejected() -> None:
    """The error names hook, endpoint and what was found."""
    with pytest.raises(TypeError, match="url of endpoint 'a' returned an int; expected a string"):
        RestEndpoint(path="/a", name="a", url=lambda params: 5).url({})


def test_rest_hooks_are_rejected_outside_of_a_call() -> None:
    """fetch and fetch_response need the transport of a call."""
    with pytest.raises(RuntimeError, match="fetch_response of endpoint '/a' was called outside of a call"):
        RestEndpoint(path="/a").fetch_response("http://h.test/a", {})
    with pytest.raises(RuntimeError, match="fetch of endpoint '/a' was called outside of a call"):
        RestEndpoint(path="/a").fetch()


def test_rest_lazy_function_imports_at_the_first_call() -> None:
    """A reference to a function of one's own is looked up when it is needed."""
    process = lazy_function("tests.runtime.clients:as_json")
    assert process({}).status_code == 200
    with pytest.raises(ModuleNotFoundError):
        lazy_function("no.such.module:name")()
    with pytest.raises(ValueError, match=r"the reference is 'nothing'; expected the form 'package.module:name'"):
        lazy_function("nothing")


# -- collections -----------------------------------------------------------------------------------------------------


def test_rest_function_form_of_pages_may_stand_in_pagination() -> None:
    """What a spec calls remove_cursor."""
    listing = RestEndpoint(
        path="/a", schema=LIST, pagination={"style": "page", "remove_cursor": lambda params: [{"g": 1}]}
    )
    assert listing.get_page.key({"g": 1, "page": 2, "size": 5}) == "GET /a?g=1"


@pytest.mark.parametrize(
    ("prefix", "path", "url"),
    [
        ("http://h/", "/a/:id", "http://h/a/1"),
        ("http://h/v1/", "/:id", "http://h/v1/1"),
        ("http://h/v1", "/:id", "http://h/v1/1"),
        ("http://h/", "a/:id", "http://h/a/1"),
        ("http://h", "a/:id", "http://h/a/1"),
        ("http://h/v1", ":id", "http://h/v1/1"),
        ("", "a/:id", "a/1"),
        ("http://h/a", ".:id", "http://h/a.1"),
        ("http://h/", "/a/:id/", "http://h/a/1/"),
    ],
)
def test_rest_one_slash_stands_between_prefix_and_path(prefix: str, path: str, url: str) -> None:
    """In URL, key and `test_key`, by option and by class, the first time and later."""

    class Prefixed(RestEndpoint):
        url_prefix = prefix

    for endpoint in (RestEndpoint(path=path, url_prefix=prefix), Prefixed(path=path)):
        for _ in range(2):
            assert endpoint.url(id=1) == endpoint.request_url(({"id": 1},)) == url
            assert endpoint.key(id=1) == f"GET {url}"
            assert endpoint.key(id=1, q=2) == f"GET {url}?q=2"
        assert endpoint.test_key(endpoint.key(id=1))
        assert not endpoint.test_key(f"{endpoint.key(id=1)}/part")
        assert "//" not in endpoint.name.removeprefix("http://")
