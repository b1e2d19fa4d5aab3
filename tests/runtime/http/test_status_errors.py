"""Errors by status: their classes, members and messages, whoever raises and keeps them."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE
from tests.runtime.clients import Asked, as_json, as_text
from tests.runtime.servers import Reply, Server
from tests.runtime.worlds import controller_of, running

import restencil
from restencil import ConnectionFailedError, NetworkError, RestEndpoint, Retries, StatusError, TimeoutExceededError
from restencil.base.errors import EndlessRedirectError

pytestmark = pytest.mark.network


CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    412: "PreconditionFailedError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
    **dict.fromkeys(range(500, 600), "ServerError"),
}


class User(restencil.Entity, key="User"):
    id: str = ""


def refusal(response: Any, asynchronous: bool = False, /, **options: Any) -> Any:
    """The error of a call that is answered so."""
    asked = Asked(response)
    client: Any = asked.of(asynchronous)
    endpoint: Any = RestEndpoint(**{"path": "/a", "name": "a", "client": client, **options})
    with pytest.raises(NetworkError) as caught:
        asyncio.run(endpoint()) if asynchronous else endpoint()
    return caught.value


def fetched(controller: Any, endpoint: Any, **kwargs: Any) -> Any:
    """The error of a fetch, through a controller of either kind."""
    with pytest.raises(NetworkError) as caught, running(controller) as run:
        run(controller.fetch(endpoint, **kwargs))
    return caught.value


def asking(asynchronous: bool, respond: Any, **options: Any) -> Any:
    """A controller whose requests are answered so."""
    asked = Asked(respond)
    return controller_of(asynchronous, client=asked.of(asynchronous), **options)


# -- classes ---------------------------------------------------------------------------------------------------------


def test_status_errors_each_status_has_its_class(asynchronous: bool) -> None:
    """Those that programs ask for have one of their own; all others are a StatusError."""
    for status in range(300, 600):
        error = refusal(httpx.Response(status, content=b"no"), asynchronous)
        assert type(error) is getattr(restencil, CLASSES.get(status, "StatusError"))
        assert isinstance(error, StatusError) and isinstance(error, NetworkError)
        assert (error.status, error.has_response) == (status, True)
        assert error.response is not None and error.response.status_code == status
        phrase = httpx.codes.get_reason_phrase(status)
        assert str(error) == f"GET http://case.test/a: {f'{status} {phrase}'.rstrip()}: no"


def test_status_errors_what_is_no_refusal_is_no_status_error() -> None:
    """No connection, no answer in time, and answers that cannot be used."""
    for kind in (ConnectionFailedError, TimeoutExceededError, restencil.ParseError, restencil.UnexpectedContentError):
        assert issubclass(kind, NetworkError) and not issubclass(kind, StatusError)
    assert type(refusal(as_text("{", "application/json"))) is restencil.ParseError
    assert str(refusal(as_text("", "application/json"))).endswith(": the response is empty; expected JSON")
    assert type(refusal(as_text("x"), schema=[User])) is restencil.UnexpectedContentError


@pytest.mark.parametrize(
    ("location", "options", "said"),
    [
        ("/b", {"request_init": {"redirect": "error"}}, "redirected, which request_init['redirect'] = 'error' forbids"),
        ("/b", {"method": "POST"}, "redirected to http://case.test/b, which would turn POST into GET"),
        ("mailto:b", {}, "redirected, but its Location is 'mailto:b', which is not a valid URL"),
        ("http://h:port/", {}, "redirected, but its Location is 'http://h:port/', which is not a valid URL"),
    ],
)
def test_status_errors_redirect_that_is_rejected_is_a_status_error(location: str, options: Any, said: str) -> None:
    """It has the status of the redirect, and its answer."""
    error = refusal(lambda request: httpx.Response(302, headers={"Location": location}), **options)
    assert type(error) is StatusError
    assert (error.status, error.has_response, error.url) == (302, True, "http://case.test/a")
    assert str(error).startswith(f"{error.method} http://case.test/a: 302 Found: {said}")


def test_status_errors_what_was_not_made_is_not_there() -> None:
    """A timeout is no OSError, which code that deals with files would swallow; no answer is to be raised by hand."""
    assert not issubclass(TimeoutExceededError, (TimeoutError, OSError))
    assert not hasattr(refusal(as_json({}, 404)), "raise_for_status")
    assert not hasattr(NetworkError, "code")


# -- messages --------------------------------------------------------------------------------------------------------

PIECES: dict[str, tuple[Any, str]] = {
    "detail": ({"title": "t", "detail": "d", "message": "m"}, "d"),
    "title": ({"message": "m", "title": "t"}, "t"),
    "message": ({"error_description": "e", "message": "m"}, "m"),
    "error_description": ({"error": "invalid_grant", "error_description": "expired"}, "expired"),
    "error.message": ({"error": {"message": "m", "code": 1}, "errors": [{"message": "n"}]}, "m"),
    "error": ({"error": "e", "errors": [{"message": "n"}]}, "e"),
    "errors": ({"errors": [{"message": "n"}, {"message": "o"}]}, "n"),
    "the first that is a text": ({"detail": [{"loc": ["body"]}], "title": " ", "message": "m"}, "m"),
    "none of them": ({"code": 5}, '{"code":5}'),
    "a list": ([{"message": "m"}], '[{"message":"m"}]'),
}


@pytest.mark.parametrize("case", PIECES)
def test_status_errors_message_has_the_first_telling_text_of_an_object(case: str) -> None:
    """Else the first line of the body."""
    body, piece = PIECES[case]
    assert str(refusal(as_json(body, 404))) == f"GET http://case.test/a: 404 Not Found: {piece}"
    named = httpx.Response(404, content=json.dumps(body, separators=(",", ":")).encode())
    assert str(refusal(named)).endswith(f": {piece}")


LATIN_1 = {"Content-Type": "text/plain; charset=latin-1"}


@pytest.mark.parametrize(
    ("response", "piece"),
    [
        (as_text("<html><head><title>\n No\tsuch\n page</title><body>x", "text/html", 404), ": No such page"),
        (as_text("<html><body>x", "text/html", 404), ""),
        (as_text("<html><title>R&amp;D is gone</title>", "text/html", 404), ": R&D is gone"),
        (httpx.Response(404, content="grüße".encode("latin-1"), headers=LATIN_1), ": grüße"),
        (httpx.Response(404, content="grüße".encode(), headers={"Content-Type": "text/plain; charset=x"}), ": grüße"),
        (httpx.Response(404, content=b"x" * 9, headers={"Content-Type": "text/plain; charset=hex"}), ": " + "x" * 9),
        (as_text("\n ---\n  first  line \nsecond", status=404), ": first line"),
        (as_text("a\x1b[31mb\x00", status=404), ""),
        (as_text("a\x1b[31mb\u202ec", status=404), ": a[31mbc"),
        (as_json({"detail": "two\nlines\x07"}, 404), ": two lines"),
        (as_json({"detail": "x" * 500}, 404), ": " + "x" * 200),
        (httpx.Response(404), ""),
        (as_text("{no json", "application/json", 404), ": {no json"),
    ],
)
def test_status_errors_message_has_one_line_of_what_the_server_says(response: httpx.Response, piece: str) -> None:
    """Without control characters, at most 200 of them; of a page its title."""
    assert str(refusal(response)) == f"GET http://case.test/a: 404 Not Found{piece}"


def test_status_errors_message_ends_with_request_id_and_attempts() -> None:
    """Attempts where there were several."""
    endpoint = RestEndpoint(path="/a", method="PUT")
    once = httpx.Response(503, json={"detail": "down"}, headers={"X-Request-Id": "r-1"})
    said = "PUT http://case.test/a: 503 Service Unavailable: down"
    assert str(fetched(asking(False, once), endpoint)) == f"{said} (request id r-1)"
    retries = Retries(2, base_delay=0)
    error = fetched(asking(False, once, retries=retries), endpoint)
    assert str(error) == f"{said} (request id r-1, 3 attempts)" and error.attempts == 3
    assert repr(error) == f"ServerError({said!r})"
    error = fetched(asking(False, as_json({"detail": "down"}, 503), retries=retries), endpoint)
    assert str(error) == f"{said} (3 attempts)"


def test_status_errors_without_a_response_a_message_says_why(asynchronous: bool) -> None:
    """No connection, with the reason; no answer, with the time that there was and the step that took it."""
    with socket.socket() as deaf:  # holds the port, so that nobody else comes to listen there
        deaf.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        kind: Any = restencil.AsyncController if asynchronous else restencil.Controller
        error = fetched(kind(base_url=url, retries=Retries(1, base_delay=0)), RestEndpoint(path="/a"))
    assert type(error) is ConnectionFailedError
    assert str(error).startswith(f"GET {url}/a: connection failed: ") and str(error).endswith(" (2 attempts)")
    members = (error.status, error.response, error.has_response, error.url, error.method, error.body, error.data)
    assert members == (500, None, False, f"{url}/a", "GET", b"", None)
    assert error.elapsed > 0 and error.retry_after is None and error.request_id is None
    with Server(lambda request: Reply(held=True)) as server:
        endpoint = RestEndpoint(path="/a", url_prefix=server.url)
        limits = httpx.Timeout(PATIENCE, read=0.2)
        client = httpx.AsyncClient(timeout=limits) if asynchronous else httpx.Client(timeout=limits)
        error = fetched(kind(client=client), endpoint)
        assert type(error) is TimeoutExceededError and error.elapsed >= 150
        assert str(error) == f"GET {server.url}/a: no response within 200 ms (read)"


# -- members ---------------------------------------------------------------------------------------------------------


def test_status_errors_error_has_what_the_response_reports() -> None:
    """Address, method, time, request id, when to come again, body and data."""
    headers = {"X-Request-Id": "r-1", "Retry-After": "3"}
    error = refusal(httpx.Response(429, json={"a": [1]}, headers=headers), method="DELETE")
    assert (error.url, error.method, error.attempts) == ("http://case.test/a", "DELETE", 1)
    assert (error.request_id, error.retry_after) == ("r-1", 3000)
    assert (error.body, error.data) == (b'{"a":[1]}', {"a": [1]})
    assert isinstance(error.elapsed, float) and 0 < error.elapsed < PATIENCE * 1_000
    as_dict = error.to_dict()
    assert (
        json.loads(json.dumps(as_dict))
        == as_dict
        == {
            "name": "RateLimitError",
            "message": "DELETE http://case.test/a: 429 Too Many Requests (request id r-1)".replace(
                " (", ': {"a":[1]} ('
            ),
            "status": 429,
            "has_response": True,
            "method": "DELETE",
            "url": "http://case.test/a",
            "attempts": 1,
            "elapsed": error.elapsed,
            "request_id": "r-1",
            "retry_after": 3000,
        }
    )


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"X-GitHub-Request-Id": "g", "X-Amzn-RequestId": "a"}, "a"),
        ({"X-Correlation-Id": "c", "Request-Id": "r"}, "r"),
        ({"Request-Id": "r", "X-Request-Id": "x"}, "x"),
        ({"X-Request-Id": " "}, None),
        ({"X-Request-Id": "r" * 500}, "r" * 200),
        ({"X-Mine": "m"}, None),
    ],
)
def test_status_errors_request_id_is_found_in_the_usual_headers(headers: dict[str, str], expected: str | None) -> None:
    """The first of them counts."""
    assert refusal(httpx.Response(404, headers=headers)).request_id == expected


def test_status_errors_date_in_retry_after_is_milliseconds_from_now() -> None:
    """What has passed is 0, what cannot be read None."""
    later = refusal(httpx.Response(503, headers={"Retry-After": formatdate(time.time() + 60, usegmt=True)}))
    assert 0 < later.retry_after <= 60_000
    for text, expected in (("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("soon", None), ("-1", None)):
        assert refusal(httpx.Response(503, headers={"Retry-After": text})).retry_after == expected


def test_status_errors_large_body_is_kept_in_part() -> None:
    """64 KiB of it; data of up to 1 MB."""
    value = {"detail": "d", "more": "x" * 500_000}
    error = refusal(as_json(value, 404))
    assert len(error.body) == 64 * 1024 and error.data == value
    error = refusal(as_json({"detail": "d", "more": "x" * 2_000_000}, 404))
    assert len(error.body) == 64 * 1024 and error.data is None


def test_status_errors_data_of_a_body_that_is_no_json_is_none() -> None:
    """Also of one that says it is."""
    for response in (as_text("5", status=404), as_text("{", "application/json", 404), httpx.Response(404)):
        assert refusal(response).data is None
    assert refusal(as_text('{"a": 1}', "application/problem+json", 404)).data == {"a": 1}
    assert refusal(as_text("5", "application/json", 404)).data == 5
    assert refusal(as_text('[{"a": 1}', "application/json")).body == b'[{"a": 1}'
    assert refusal(as_text('{"a": 1}'), schema=[User]).data == {"a": 1}


# -- copies ----------------------------------------------------------------------------------------------------------


def test_status_errors_secret_that_the_body_repeats_is_redacted(asynchronous: bool) -> None:
    """In message, body and data, however the server writes it; other values that were sent stay in the data."""

    def respond(request: httpx.Request) -> httpx.Response:
        told = f"{request.headers['authorization']} of {request.headers['x-tenant']}"
        return httpx.Response(403, json={"detail": f"Bearer of {told}", "tenant": "acme-corp", "more": [told]})

    headers = {"Authorization": 'Bearer abc/def"ghi', "X-Tenant": "acme-corp"}
    error = refusal(respond, asynchronous, request_init={"headers": headers})
    assert "ghi" not in f"{error!s} {error!r} {error.body!r} {error.data!r}"
    assert str(error) == "GET http://case.test/a: 403 Forbidden: Bearer of [redacted] of [redacted]"
    assert error.data["tenant"] == "acme-corp" and error.data["more"] == ["[redacted] of acme-corp"]
    told = {"X-Request-Id": "of abc-def-ghi"}
    keyed = refusal(httpx.Response(403, headers=told), request_init={"headers": {"X-Api-Key": "abc-def-ghi"}})
    assert keyed.request_id == "of [redacted]"
    basic = refusal(as_json({"detail": "password-1 is wrong"}, 401), url_prefix="http://user:password-1@h.t")
    assert str(basic) == "GET http://h.t/a: 401 Unauthorized: [redacted] is wrong"


# -- retries ---------------------------------------------------------------------------------------------------------


class Failing:
    """A `fetch` of the user's own, which fails as often as it is called."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.calls = 0

    def fetch(self, *args: Any) -> Any:
        self.calls += 1
        raise self.error


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (restencil.ServerError("down", status=503), 3),
        (StatusError("wait", status=408), 3),
        (StatusError("no", status=501), 1),
        (restencil.NotFoundError("no", status=404), 1),
        (ConnectionFailedError("down"), 3),
        (TimeoutExceededError("late"), 3),
        (EndlessRedirectError("round and round"), 1),
        (restencil.ParseError("no JSON", status=503), 1),
        (NetworkError("too large"), 1),
        (NetworkError("mine", status=503), 1),
    ],
    ids=lambda value: f"{type(value).__name__}-{value.status}" if isinstance(value, NetworkError) else str(value),
)
def test_status_errors_retries_go_by_the_class(error: NetworkError, calls: int) -> None:
    """A refusal by its status, no connection always, everything else never."""
    failing = Failing(error)
    controller = restencil.Controller(retries=Retries(2, base_delay=0))
    raised = fetched(controller, RestEndpoint(path="/a", fetch=failing.fetch))
    assert (failing.calls, raised.attempts) == (calls, calls)


def test_status_errors_endless_redirects_are_never_retried(asynchronous: bool) -> None:
    """They are no connection, and would be none again."""
    count = iter(range(1000))

    def respond(request: httpx.Request) -> httpx.Response:
        next(count)
        return httpx.Response(302, headers={"Location": "/a"})

    error = fetched(asking(asynchronous, respond, retries=Retries(3, base_delay=0)), RestEndpoint(path="/a"))
    assert isinstance(error, ConnectionFailedError) and not error.has_response and next(count) == 21
    assert str(error) == "GET http://case.test/a: redirected more than 20 times"


def test_status_errors_body_over_the_limit_is_not_requested_again() -> None:
    """The server would answer with it a second time."""
    asked = Asked(as_json([1, 2, 3]))
    controller = restencil.Controller(client=asked.sync, max_response_bytes=2, retries=Retries(3, base_delay=0))
    assert fetched(controller, RestEndpoint(path="/a")).attempts == 1 and len(asked.requests) == 1


def test_status_errors_error_of_your_own_may_say_when_to_come_again() -> None:
    """Its `retry_after` counts as that of an answer."""
    retries = Retries(1, base_delay=0, budget=None)
    assert retries.delay(0, restencil.ServerError("down", status=503, retry_after=700.0), 0) == 700


# -- streams ---------------------------------------------------------------------------------------------------------


def test_status_errors_stream_that_breaks_off_is_no_connection() -> None:
    """With address and method; the answer had begun, and is not at hand."""
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"
    with Server(lambda request: Reply(raw=half)) as server:
        with RestEndpoint(path="/a", url_prefix=server.url, content="stream")() as answer:
            with pytest.raises(ConnectionFailedError) as caught:
                answer.read()
    assert str(caught.value).startswith(f"GET {server.url}/a: connection failed: ")
    assert (caught.value.method, caught.value.has_response) == ("GET", False)


def test_status_errors_stream_of_a_hook_s_own_that_breaks_off_is_reported_alike() -> None:
    """Though the library did not ask."""

    class Breaking(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield b"a"
            raise httpx.ReadError("gone")

    def fetch_response(url: str, init: Any) -> httpx.Response:
        return httpx.Response(200, stream=Breaking(), request=httpx.Request("GET", url))

    endpoint = RestEndpoint(
        path="/a", url_prefix="http://h.t", content="stream", client=Asked().sync, fetch_response=fetch_response
    )
    with (
        endpoint() as answer,
        pytest.raises(ConnectionFailedError, match="^GET http://h.t/a: connection failed: gone$"),
    ):
        answer.read()
