"""Answers that no server should give: what comes of them is an error of this library, never one of another."""

from __future__ import annotations

import gzip
import random
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.users import User
from tests.runtime.worlds import client_of, controller_of, running

import restencil
from restencil import Entity, NetworkError, ParseError, ProcessingError, RestEndpoint, Retries, UnexpectedContentError


class Thing(Entity, key="Thing"):
    id: int = 0


def called(endpoint: RestEndpoint[..., Any], asynchronous: bool, *, lines: bool = False) -> Any:
    """The value of a direct call; of a stream, its lines."""
    client = client_of(asynchronous, timeout=PATIENCE)
    with running(client) as run:
        value = run(endpoint.extend(client=client)())
        return run(lines_of(value, asynchronous)) if lines else value


def lines_of(stream: Any, asynchronous: bool) -> Any:
    """The lines of a stream of one of the worlds."""

    async def read() -> list[str]:
        async with stream:
            return [line async for line in stream.aiter_lines()]

    if asynchronous:
        return read()
    with stream:
        return list(stream.iter_lines())


NOWHERE = ["js:", "js:1", "mailto:x", "data:,x", "file:///etc/passwd", "http://a:b/", "\x01", "x" * 70_000]


@pytest.mark.network
@pytest.mark.parametrize("location", NOWHERE, ids=lambda location: repr(location[:20]))
def test_malformed_responses_redirect_to_no_url_has_the_status_of_the_redirect(
    location: str, asynchronous: bool
) -> None:
    """Whatever the HTTP library makes of such a Location, it is a NetworkError that says so."""
    with Server(lambda request: Reply(307, headers={"Location": location})) as server:
        with pytest.raises(NetworkError, match="is not a valid URL") as caught:
            called(RestEndpoint(path="/from", url_prefix=server.url), asynchronous)
    assert caught.value.status == 307
    assert caught.value.response is not None
    assert caught.value.response.headers["location"] == location


# -- redirects to nowhere ---------------------------------------------------------------------------------------------


@pytest.mark.network
def test_malformed_responses_redirect_to_a_host_of_no_name_reaches_no_one(asynchronous: bool) -> None:
    """httpx cannot read it as a URL, httpx2 asks for its address in vain; both are a NetworkError."""
    with Server(lambda request: Reply(307, headers={"Location": "http://xn--/"})) as server:
        with pytest.raises(NetworkError, match=r"is not a valid URL|connection failed"):
            called(RestEndpoint(path="/from", url_prefix=server.url), asynchronous)


@pytest.mark.network
@pytest.mark.parametrize("host", ["a..b", ".test", "a" * 300 + ".test"])
def test_malformed_responses_host_that_can_have_no_name_is_a_failure_on_the_way(host: str, asynchronous: bool) -> None:
    """Asked in the first place, or where a redirect leads there."""
    with Server(lambda request: Reply(302, headers={"Location": f"http://{host}/"})) as server:
        for prefix in (server.url, f"http://{host}"):
            with pytest.raises(NetworkError):
                called(RestEndpoint(path="/from", url_prefix=prefix), asynchronous)


@pytest.mark.network
def test_malformed_responses_errors_of_the_users_own_hooks_stay_what_they_are() -> None:
    """Only what the HTTP library makes of an answer is taken for a failure on the way."""

    class Broken(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Any:
            yield request
            raise LookupError("of the user")

    with Server() as server, httpx.Client(auth=Broken()) as client, pytest.raises(LookupError, match="of the user"):
        RestEndpoint(path="/a", url_prefix=server.url, client=client)()


# -- charsets ---------------------------------------------------------------------------------------------------------


@pytest.mark.network
@pytest.mark.parametrize("charset", ["undefined", "idna", "IDNA; a=b"])
def test_malformed_responses_charset_in_which_nothing_can_be_read_counts_as_utf_8(
    charset: str, asynchronous: bool
) -> None:
    """Read whole and line by line."""
    body = b"abc\xff\\x"
    reply = Reply(200, body, {"Content-Type": f"text/plain; charset={charset}"})
    with Server(lambda request: reply) as server:
        for content in (None, "text"):
            assert (
                called(RestEndpoint(path="/a", url_prefix=server.url, content=content), asynchronous) == "abc\ufffd\\x"
            )
        stream = RestEndpoint(path="/a", url_prefix=server.url, content="stream")
        assert called(stream, asynchronous, lines=True) == ["abc\ufffd\\x"]
        assert called(RestEndpoint(path="/a", url_prefix=server.url, content="bytes"), asynchronous) == body


# -- odd bytes at random ----------------------------------------------------------------------------------------------

STARTS = [
    "HTTP/1.1 200 OK", "HTTP/1.1 200", "HTTP/1.1 99 Low", "HTTP/1.1 600 High", "HTTP/1.1 1000 Long", "HTTP/1.1 -1 No",
    "HTTP/1.1 204 None", "HTTP/1.1 205 Reset", "HTTP/1.1 206 Part", "HTTP/1.1 300 Many", "HTTP/1.1 304 Same",
    "HTTP/1.1 301 Moved", "HTTP/1.1 302 Found", "HTTP/1.1 303 See", "HTTP/1.1 307 There", "HTTP/1.1 308 For ever",
    "HTTP/1.1 100 Continue", "HTTP/1.1 101 Switch", "HTTP/1.1 401 Who", "HTTP/1.1 429 Slow", "HTTP/1.1 503 Busy",
    "HTTP/1.0 200 OK", "HTTP/9.9 200 OK", "HTTP/1.1 200 \xff\xfe", "HTTP/1.1 2\xb20 OK", "ICY 200 OK", "", " ",
]  # fmt: skip
NAMES = [
    "Content-Type", "Content-Encoding", "Content-Length", "Transfer-Encoding", "Location", "Set-Cookie", "Retry-After",
    "Date", "Expires", "Cache-Control", "Age", "ETag", "Link", "Vary", "WWW-Authenticate", "Connection", "X-\xff", "",
]  # fmt: skip
VALUES = [
    "", " ", ",", ";", "=", "\"", "'", "a=b", "a; b; c=", "0", "-1", "1e9", "99999999999999999999", "\xb2", "\xff",
    "gzip", "gzip, gzip", "gzip,gzip,gzip", "deflate", "br", "zstd", "identity", "chunked", "chunked, chunked", "close",
    "application/json", "application/json; charset=idna", "text/plain; charset=undefined", "text/plain; charset*=a'b'%",
    "application/json;;;", "multipart/x; boundary=\"", "js:1", "//", "http://[", "http://a..b/", "http://xn--/", "/to",
    "?q", "mailto:x", "sid=1; Path=/", "sid=1; Expires=never", "=;=;=", "sid=\xff; Domain=.", "max-age=-1", "max-age=x",
    "Thu, 99 Foo 9999 99:99:99 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999 08:49:37", "1,2", "W/\"",
    "<x>; rel=\"", "Digest", "Basic realm=\"", "\t", "a\x00b", "a\x0bb", "a" * 9000,
]  # fmt: skip
BODIES = [
    b"",
    b"{",
    b"{}",
    b"[]",
    b"null",
    b'{"id":1}',
    b"\xff\xfe",
    b"\x1f\x8b",
    b"2\r\n{}\r\n0\r\n\r\n",
    b"zz\r\n",
    b"x" * 9000,
]


ONCE_MORE = Retries(1, base_delay=0, max_retry_after=0)


def odd_answer(seed: int) -> bytes:
    """An answer put together at random, from parts that are odd one by one."""
    pick = random.Random(seed)
    lines = [pick.choice(STARTS)]
    for _ in range(pick.randrange(5)):
        lines.append(f"{pick.choice(NAMES)}{pick.choice([': ', ':', ' : '])}{pick.choice(VALUES)}")
    body = pick.choice(BODIES)
    if pick.random() < 0.6:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def test_malformed_responses_what_odd_answers_raise_is_an_error_of_this_library(asynchronous: bool) -> None:
    """Answers at random, with and without a schema, retries and a stream."""
    odd: dict[int, str] = {}
    answers: list[bytes] = []

    def handler(request: Arrived) -> Reply:
        if request.target.startswith("/a"):
            return Reply(raw=answers[-1])
        return Reply(body=b'{"id":1}')

    with Server(handler) as server:
        kinds: list[dict[str, Any]] = [
            {},
            {"schema": Thing},
            {"content": "text"},
            {"content": "stream"},
            {"retries": ONCE_MORE},
        ]
        endpoints: list[Any] = [
            RestEndpoint(path="/a", url_prefix=server.url, timeout=PATIENCE * 1000, **kind) for kind in kinds
        ]

        controller = controller_of(asynchronous)
        with running(controller) as run:
            for seed in range(150):
                answers.append(odd_answer(seed))
                try:
                    value = run(controller.fetch(endpoints[seed % len(endpoints)]))
                    if hasattr(value, "iter_lines"):
                        run(lines_of(value, asynchronous))
                except restencil.RestencilError:
                    pass
                except Exception as error:
                    odd[seed] = f"{type(error).__name__}: {error}"
    assert odd == {}


# -- faults


HELD = RestEndpoint(path="/held", schema=User)
JSON = "Content-Type: application/json\r\n"
PACKED = gzip.compress(b'{"id": "1", "name": "' + b"a" * 50_000_000 + b'"}')


def head(length: int, headers: str = JSON) -> bytes:
    """The head of a response that announces a body of this length."""
    return f"HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n".encode()


def whole(body: bytes, headers: str = JSON) -> bytes:
    """A whole response."""
    return head(len(body), headers) + body


def asked(url: str, asynchronous: bool) -> None:
    """Fetches a user from there; whatever is raised, the store has what it had, and nothing is in flight."""
    user: Any = RestEndpoint(url_prefix=url, path="/users/1", schema=User)

    controller = controller_of(asynchronous, max_response_bytes=100_000)
    with running(controller) as run:
        controller.set_response(HELD, {"id": "1", "name": "held"})
        try:
            run(controller.fetch(user))
        finally:
            assert controller.cached(HELD).name == "held"
            assert controller.store.in_flight.by_id == {} and controller.store.in_flight.joinable == {}


LOST = (restencil.ConnectionFailedError, 500, "connection failed")
CHUNK = f'HTTP/1.1 200 OK\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n20\r\n{{"id": "1"'.encode()
GZIP = f"{JSON}Content-Encoding: gzip\r\n"

FAULTS: dict[str, tuple[bytes, type[NetworkError] | type[ProcessingError], int, str]] = {
    "nothing": (b"", *LOST),
    "garbage": (b"\x00\x01 no HTTP\r\n\r\n", *LOST),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Ty", *LOST),
    "half a body": (head(100) + b'{"id": "1", ', *LOST),
    "half a chunk": (CHUNK, *LOST),
    "no gzip": (whole(b"no gzip", GZIP), NetworkError, 500, ""),
    "unfolds beyond the limit": (whole(PACKED, GZIP), NetworkError, 500, "max_response_bytes, which is 100000"),
    "half of JSON": (whole(b'{"id": "1", '), ParseError, 400, "JSON"),
    "no JSON": (whole(b""), ParseError, 400, "JSON"),
    "page": (whole(b"<html>Welcome", "Content-Type: text/html\r\n"), UnexpectedContentError, 404, "<html>Welcome"),
    "text": (whole(b"hello", "Content-Type: text/plain\r\n"), UnexpectedContentError, 404, "set schema=None to get"),
    "nothing of no type": (whole(b"", ""), UnexpectedContentError, 404, "the response is empty"),
    "no content type": (whole(b'{"id": "1"}', ""), UnexpectedContentError, 404, "JSON with the content type 'missing'"),
    "image": (whole(b"\x89PNG", "Content-Type: image/png\r\n"), UnexpectedContentError, 404, "image/png"),
    "no primary key": (whole(b'{"name": "x"}'), ProcessingError, 400, "no usable primary key"),
    "scalar": (whole(b"17"), ProcessingError, 400, "found 17"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_broken_response_is_its_documented_error(fault: str, asynchronous: bool) -> None:
    """The class, the status and the reason say what came; the error names the address."""
    raw, error, status, text = FAULTS[fault]
    with Server(lambda request: Reply(raw=raw)) as server, pytest.raises(error) as caught:
        asked(server.url, asynchronous)
    raised: Any = caught.value
    assert type(raised) is error and raised.status == status
    assert f"{server.url}/users/1: " in str(raised) and text in str(raised)
