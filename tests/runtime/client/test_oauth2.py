"""Tokens that the client asks for: when, how often, with what, and where secrets go."""

from __future__ import annotations

import asyncio
import base64
import datetime
import json
import logging
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE
from tests.runtime.clients import Asked, as_json
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import client_of, running

import restencil
from restencil import Auth, OAuth2, Schemes

MANY = 200


class Tokens:
    """A token server and the API behind it, on one loopback address; each token is a new one.

    `answer` may be replaced; the API takes the latest token alone, unless `takes_all`.
    """

    def __init__(self) -> None:
        self.asked: list[Arrived] = []
        self.sent: list[str] = []
        self.others: list[Arrived] = []
        self.answer: Callable[[int, Arrived], Reply] = lambda count, request: granted(count)
        self.takes_all = False
        self.lock = threading.Lock()
        self.redirects_to = ""

    def __call__(self, request: Arrived) -> Reply:
        path = request.target.partition("?")[0]
        if path == "/token":
            with self.lock:
                self.asked.append(request)
                count = len(self.asked)
            return self.answer(count, request)
        if not path.startswith("/things"):
            self.others.append(request)
            return Reply(404)
        if self.redirects_to:
            return Reply(307, headers={"Location": self.redirects_to + request.target})
        token = request.headers.get("authorization", "")
        with self.lock:
            self.sent.append(token)
            latest = f"Bearer t{len(self.asked)}"
        if not self.takes_all and token != latest:
            return Reply(401, b'{"message": "who are you?"}')
        return Reply(body=json.dumps({"id": 1, "token": token, "body": request.body.decode()}).encode())

    @property
    def forms(self) -> list[dict[str, str]]:
        """What the token server was asked with."""
        return [dict(parse_qsl(request.body.decode())) for request in self.asked]


def granted(count: int, **more: Any) -> Reply:
    """The token of this number."""
    return Reply(body=json.dumps({"access_token": f"t{count}", "token_type": "bearer", **more}).encode())


@pytest.fixture
def tokens() -> Tokens:
    """A token server with its API."""
    return Tokens()


@pytest.fixture
def server(tokens: Tokens) -> Iterator[Server]:
    """Where it listens."""
    with Server(tokens) as server:
        yield server


CLIENT: dict[str, Any] = {"client_id": "shop", "client_secret": "s3cret"}


def clients(server: Server, **options: Any) -> tuple[Any, Any]:
    """The classes of clients whose API has the scheme `machine`, in both worlds."""
    options.setdefault("env", {"client_id": "SHOP_ID", "client_secret": "SHOP_SECRET", "refresh_token": "SHOP_REFRESH"})
    schemes = Schemes(
        {"machine": Auth.oauth2(f"{server.url}/token", **options), "key": Auth.header("X-Key")},
        use=(("machine",), ("key",)),
    )
    api = restencil.Api(url_prefix=server.url, auth=schemes)
    return type("Shop", (restencil.Controller,), {"_api": api}), type(
        "Shop", (restencil.AsyncController,), {"_api": api}
    )


def thing(server: Server, **options: Any) -> Any:
    """What the API has."""
    return restencil.RestEndpoint(url_prefix=server.url, path="/things/:id", name="things.get", **options)


@contextmanager
def shop(asynchronous: bool, kinds: tuple[Any, Any], given: OAuth2, **options: Any) -> Generator[Callable[..., Any]]:
    """A client that asks for its token with this; gives what fetches a thing by its id, or another endpoint."""
    client = kinds[asynchronous](machine=given, **options)
    with running(client) as run:
        yield lambda endpoint, *args, **kwargs: run(client.fetch(endpoint, *args, **kwargs))


# --------------------------------------------------------------------------------------------------------- what is sent


def test_oauth2_token_is_requested_when_none_is_there(asynchronous: bool, server: Server, tokens: Tokens) -> None:
    """Once; the requests that follow are sent with it as well."""
    kinds = clients(server, scopes=("read", "write"), params={"audience": "shop"})
    with shop(asynchronous, kinds, OAuth2(**CLIENT)) as fetch:
        assert fetch(thing(server), id=1)["token"] == "Bearer t1"
        assert fetch(thing(server), id=2)["token"] == "Bearer t1"
    assert tokens.forms == [{"grant_type": "client_credentials", "audience": "shop", "scope": "read write"}]
    (asked,) = tokens.asked
    assert asked.method == "POST"
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert asked.headers["accept"] == "application/json"
    assert asked.headers["authorization"] == "Basic " + base64.b64encode(b"shop:s3cret").decode()


def test_oauth2_id_and_secret_are_encoded_before_they_are_joined(server: Server, tokens: Tokens) -> None:
    """As RFC 6749 says: a colon in one of them is no border."""
    with shop(False, clients(server), OAuth2(client_id="a:b c", client_secret="é&")) as fetch:
        fetch(thing(server), id=1)
    pair = base64.b64decode(tokens.asked[0].headers["authorization"].partition(" ")[2]).decode()
    assert pair == "a%3Ab+c:%C3%A9%26"


def test_oauth2_nothing_of_the_users_client_goes_to_the_token_server(server: Server, tokens: Tokens) -> None:
    """Neither its headers, cookies, parameters nor its auth; and the token server's cookies do not come back."""
    tokens.takes_all = True  # the auth of one's own client stands over that of the API
    tokens.answer = lambda count, request: Reply(
        body=b'{"access_token": "t1"}', headers={"Set-Cookie": "of=server; Path=/"}
    )
    own = httpx.Client(
        headers={"X-Own": "mine"}, cookies={"sid": "mine"}, params={"own": "mine"}, auth=("user", "password")
    )
    with own, clients(server)[0](client=own, machine=OAuth2(**CLIENT)) as client:
        client.fetch(thing(server), id=1)
        assert "of" not in own.cookies
    (asked,) = tokens.asked
    assert asked.target == "/token"
    assert not {"x-own", "cookie"} & set(asked.headers)
    assert asked.headers["authorization"] == "Basic " + base64.b64encode(b"shop:s3cret").decode()


def test_oauth2_secrets_may_be_in_the_environment(
    server: Server, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the client is given none; an alternative without them does not count."""
    kind = clients(server)[0]
    with kind(key="k") as client:
        with pytest.raises(restencil.AuthenticationError):
            client.fetch(thing(server), id=1)
        assert tokens.sent == [""]
        monkeypatch.setenv("SHOP_ID", "shop")
        monkeypatch.setenv("SHOP_SECRET", "of the environment")
        client.fetch(thing(server), id=1)
    assert base64.b64decode(tokens.asked[0].headers["authorization"][6:]) == b"shop:of+the+environment"


def test_oauth2_secrets_may_be_functions(asynchronous: bool, server: Server, tokens: Tokens) -> None:
    """They are called when a token is asked for, awaited in asyncio; None is no secret."""
    given: dict[str, Any] = {"client_id": lambda: "shop", "client_secret": lambda: "made"}
    if asynchronous:

        async def made() -> str:
            return "made"

        given["client_secret"] = made
    kinds = clients(server, client_auth="body")
    with shop(asynchronous, kinds, OAuth2(**given)) as fetch:
        fetch(thing(server), id=1)
    assert tokens.forms[0]["client_secret"] == "made"
    given["client_secret"] = lambda: None
    with shop(asynchronous, kinds, OAuth2(**given)) as fetch:
        with pytest.raises(restencil.AuthenticationError, match="pass machine=… to the client"):
            fetch(thing(server), id=1)


# -------------------------------------------------------------------------------------------------------------- renewal


def test_oauth2_token_is_renewed_before_it_ends(asynchronous: bool, server: Server, tokens: Tokens) -> None:
    """30 seconds before `expires_in` is over, by the store's clock; one that holds for less, at half its time."""
    now = [1_000_000.0]
    tokens.takes_all = True
    tokens.answer = lambda count, request: granted(count, expires_in=100 if count == 1 else "20")
    store = restencil.Store(clock=lambda: now[0])
    with shop(asynchronous, clients(server), OAuth2(**CLIENT), store=store) as fetch:
        for moment, count in ((0, 1), (69_999, 1), (70_000, 2), (79_999, 2), (80_000, 3)):
            now[0] = 1_000_000 + moment
            assert fetch(thing(server), id=1)["token"] == f"Bearer t{count}", moment
    assert len(tokens.asked) == 3


def test_oauth2_rejected_token_is_renewed_once(asynchronous: bool, server: Server, tokens: Tokens) -> None:
    """After a 401 the request is sent once more, body and all; a second 401 is raised, and the next call tries anew."""
    push = restencil.RestEndpoint(url_prefix=server.url, path="/things", method="POST", name="things.create")
    with shop(asynchronous, clients(server), OAuth2(**CLIENT)) as fetch:
        fetch(thing(server), id=1)
        tokens.asked.append(tokens.asked[0])  # the first token counts no more
        assert json.loads(fetch(push, {"a": 1})["body"]) == {"a": 1}
        assert tokens.sent == ["Bearer t1", "Bearer t1", "Bearer t3"]
        tokens.answer = lambda count, request: granted(0)
        tokens.asked.append(tokens.asked[0])
        with pytest.raises(restencil.AuthenticationError, match="401 Status: who are you"):
            fetch(push, {"a": 1})
        assert tokens.sent[3:] == ["Bearer t3", "Bearer t0"]
        tokens.answer = lambda count, request: granted(count)
        fetch(push, {"a": 1})
        assert tokens.sent[5:] == ["Bearer t0", "Bearer t6"]


def test_oauth2_what_cannot_be_read_twice_is_not_sent_twice() -> None:
    """A 401 for a body that is a generator stands, and says so; the next call has a new token."""

    def respond(request: httpx.Request) -> httpx.Response:
        request.read()
        if request.url.path == "/token":
            return as_json({"access_token": f"t{len(asked.requests)}"})
        is_right = request.headers["authorization"] == "Bearer t3"
        return as_json({"body": request.content.decode()}, status=200 if is_right else 401)

    asked = Asked(respond)
    put = restencil.RestEndpoint(
        url_prefix="http://case.test", path="/things/:id", method="PUT", name="put", body_format="bytes"
    )
    auth = Schemes({"machine": Auth.oauth2("https://auth.test/token")})
    kind: Any = type("Shop", (restencil.Controller,), {"_api": restencil.Api(url_prefix="http://case.test", auth=auth)})
    with kind(client=asked.sync, machine=OAuth2(**CLIENT)) as client:
        with pytest.raises(
            restencil.AuthenticationError, match="was not repeated: its body is or contains a generator"
        ):
            client.fetch(put, {"id": 1}, (part for part in (b"a", b"b")))
        assert client.fetch(put, {"id": 1}, b"ab") == {"body": "ab"}
    assert [request.url.path for request in asked.requests] == ["/token", "/things/1", "/token", "/things/1"]


def test_oauth2_refusal_of_another_origin_renews_nothing(asynchronous: bool, server: Server, tokens: Tokens) -> None:
    """A redirect took no token there, so the token is not what it refuses."""
    with Server(lambda request: Reply(401)) as other:
        tokens.redirects_to = other.url
        with shop(asynchronous, clients(server), OAuth2(**CLIENT)) as fetch:
            with pytest.raises(restencil.AuthenticationError):
                fetch(thing(server), id=1)
        assert len(tokens.asked) == 1
        assert [request.headers.get("authorization") for request in other.arrived] == [None]


def test_oauth2_token_to_begin_with_is_sent_until_it_ends(asynchronous: bool, server: Server, tokens: Tokens) -> None:
    """`expires_at` in milliseconds or as a datetime; without anything to renew it with, it is sent on."""
    now = [1_000_000.0]
    ends = datetime.datetime.fromtimestamp(1_100, datetime.UTC)
    tokens.takes_all = True
    for expires_at, renewing, renewed in ((ends, CLIENT, 1), (1_100_000, CLIENT, 1), (ends, {}, 0)):
        tokens.asked.clear()
        now[0] = 1_000_000.0
        given = OAuth2(**renewing, access_token="t0", expires_at=expires_at)
        store = restencil.Store(clock=lambda: now[0])
        with shop(asynchronous, clients(server), given, store=store) as fetch:
            assert fetch(thing(server), id=1)["token"] == "Bearer t0"
            now[0] = 1_080_000.0
            assert fetch(thing(server), id=1)["token"] == f"Bearer t{renewed}"
        assert len(tokens.asked) == renewed
    with shop(asynchronous, clients(server), OAuth2(access_token=lambda: f"t{len(tokens.sent)}")) as fetch:
        assert fetch(thing(server), id=1)["token"] != fetch(thing(server), id=1)["token"]


def test_oauth2_rotated_refresh_token_replaces_the_old_one(asynchronous: bool, server: Server, tokens: Tokens) -> None:
    """One that the server does not rotate stays; `on_renewed` is told what to go on with."""
    kept: list[Any] = []
    tokens.takes_all = True
    tokens.answer = lambda count, request: granted(
        count, expires_in=0, **({"refresh_token": f"r{count}"} if count < 3 else {})
    )
    given: dict[str, Any] = {"on_renewed": kept.append}
    if asynchronous:

        async def keep(renewed: Any) -> None:
            await asyncio.sleep(0)
            kept.append(renewed)

        given["on_renewed"] = keep
    kinds = clients(server, grant="refresh_token")
    with shop(asynchronous, kinds, OAuth2(refresh_token="r0", **given)) as fetch:
        for _ in range(4):
            fetch(thing(server), id=1)
    assert [form["refresh_token"] for form in tokens.forms] == ["r0", "r1", "r2", "r2"]
    assert tokens.forms[0] == {"grant_type": "refresh_token", "refresh_token": "r0"}
    pairs = [(one.access_token, one.refresh_token) for one in kept]
    assert pairs == [("t1", "r1"), ("t2", "r2"), ("t3", "r2"), ("t4", "r2")]
    assert "r1" not in repr(kept[0])


def test_oauth2_who_is_reported_of_new_tokens_may_ask_the_api(server: Server) -> None:
    """What waits goes on before `on_renewed` is called; what it raises is logged, and no token with it."""
    got: list[Any] = []

    def told_of(renewed: Any) -> None:
        got.append(client.fetch(thing(server), id=2)["token"])
        raise RuntimeError("disk full")

    with clients(server)[0](machine=OAuth2(**CLIENT, on_renewed=told_of)) as client:
        assert client.fetch(thing(server), id=1)["token"] == "Bearer t1"
    assert got == ["Bearer t1"]


def test_oauth2_function_that_needs_its_own_token_is_reported_so(asynchronous: bool, server: Server) -> None:
    """It would wait for itself."""
    clients_: list[Any] = []
    given = OAuth2(client_id="a", client_secret=lambda: clients_[0].fetch(thing(server), id=2))
    clients_.append(clients(server)[asynchronous](machine=given))
    with (
        running(clients_[0]) as run,
        pytest.raises(RuntimeError, match="a function of OAuth2 called the API whose token"),
    ):
        run(clients_[0].fetch(thing(server), id=1))


# ------------------------------------------------------------------------------------------------- one for all who wait


class Gate:
    """The token server answers once so many have begun."""

    def __init__(self, tokens: Tokens, count: int) -> None:
        self._left = count
        self._lock = threading.Lock()
        self.opened = threading.Event()
        tokens.answer = self._answer

    def begun(self) -> None:
        """One more has begun."""
        with self._lock:
            self._left -= 1
            if self._left <= 0:
                self.opened.set()

    def _answer(self, count: int, request: Arrived) -> Reply:
        self.opened.wait(PATIENCE)
        return granted(count, expires_in=3600)


def test_oauth2_many_threads_request_one_token(server: Server, tokens: Tokens) -> None:
    """All are then sent with it, and after a 401 one renewal is enough for all."""
    one = thing(server)
    with clients(server)[0](machine=OAuth2(**CLIENT)) as client, ThreadPoolExecutor(MANY) as pool:

        def call(number: int) -> Any:
            gate.begun()
            return client.fetch(one, id=number % 50)["token"]

        for count in (1, 3):
            gate = Gate(tokens, MANY)
            assert set(pool.map(call, range(MANY))) == {f"Bearer t{count}"}
            assert len(tokens.asked) == count
            tokens.asked.append(tokens.asked[0])


def test_oauth2_controllers_of_a_store_request_one_token(server: Server, tokens: Tokens) -> None:
    """Of both worlds, in several threads and loops, where they were given the same secrets."""
    gate = Gate(tokens, 8)
    store, one = restencil.Store(), thing(server)
    kinds = clients(server)

    def blocking(number: int) -> Any:
        with kinds[0](store=store, machine=OAuth2(**CLIENT)) as client:
            gate.begun()
            return client.fetch(one, id=number)["token"]

    def awaiting(number: int) -> Any:
        async def run() -> Any:
            async with kinds[1](store=store, machine=OAuth2(**CLIENT)) as client:
                gate.begun()
                return (await client.fetch(one, id=number))["token"]

        return asyncio.run(run())

    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda number: (blocking if number % 2 else awaiting)(number), range(8)))
    assert got == ["Bearer t1"] * 8
    assert len(tokens.asked) == 1


def test_oauth2_clients_that_share_an_object_request_one_token(server: Server, tokens: Tokens) -> None:
    """Also where each has a store of its own, so that a rotated refresh token is known to all."""
    shared = OAuth2(**CLIENT)
    for _ in range(2):
        with clients(server)[0](machine=shared) as client:
            client.fetch(thing(server), id=1)
    assert len(tokens.asked) == 1
    with clients(server)[0](machine=OAuth2(**CLIENT)) as client:
        client.fetch(thing(server), id=1)
    assert len(tokens.asked) == 2


def test_oauth2_view_for_a_language_uses_the_clients_token(server: Server, tokens: Tokens) -> None:
    """Views that differ in headers have a store of their own, and the same principal."""
    with clients(server)[0](machine=OAuth2(**CLIENT)) as client:
        client.fetch(thing(server), id=1)
        german = client.with_options(headers={"Accept-Language": "de"})
        assert german.fetch(thing(server), id=1)["token"] == "Bearer t1"
        other = client.with_options(token={"machine": OAuth2(client_id="other", client_secret="x")})
        assert other.fetch(thing(server), id=1)["token"] == "Bearer t2"
    assert len(tokens.asked) == 2


def test_oauth2_loop_that_ends_leaves_the_next_one_to_ask(server: Server, tokens: Tokens) -> None:
    """A token that was asked for in a loop which has ended is asked for again by those who wait elsewhere."""
    kinds, store, one = clients(server), restencil.Store(), thing(server)
    tokens.answer = lambda count, request: Reply(held=True) if count == 1 else granted(count)

    async def left() -> None:
        client = kinds[1](store=store, machine=OAuth2(**CLIENT))
        task = asyncio.create_task(client.fetch(one, id=1))
        while not tokens.asked:
            await asyncio.sleep(0.001)
        task.cancel()

    asyncio.run(left())
    with kinds[0](store=store, machine=OAuth2(**CLIENT)) as client:
        assert client.fetch(one, id=2)["token"] == "Bearer t2"


# ------------------------------------------------------------------------------------------------------------- failures


FAILURES: dict[str, tuple[Reply, str, int]] = {
    "refused": (Reply(400, b'{"error": "invalid_grant", "error_description": "s3cret"}'), "400 invalid_grant", 400),
    "odd error": (Reply(401, b'{"error": "a sentence with s3cret"}'), "401 Status", 401),
    "down": (Reply(503, b"<html>"), "503 Status", 503),
    "form": (Reply(200, b"access_token=t1"), "200 Status: the response is not a JSON object", 200),
    "list": (Reply(200, b"[1]"), "200 Status: the response is not a JSON object", 200),
    "no token": (Reply(200, b'{"token": "t1"}'), "200 the response has no access_token", 200),
    "error with 200": (Reply(200, b'{"error": "bad_code"}'), "200 bad_code", 200),
    "odd token": (Reply(200, b'{"access_token": "t\\n1"}'), "200 the response has no access_token", 200),
    "redirect": (
        Reply(307, headers={"Location": "http://127.0.0.1:9/elsewhere"}),
        "307 Status: redirects of token requests are not followed; set the final URL as token_url",
        307,
    ),
    "broken": (Reply(raw=b"nonsense\r\n\r\n"), "connection failed: ", 500),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_oauth2_without_a_token_there_is_an_error(
    failure: str, asynchronous: bool, server: Server, tokens: Tokens
) -> None:
    """It says where and why, and nothing of what was sent or answered; the next call asks again."""
    reply, message, status = FAILURES[failure]
    tokens.answer = lambda count, request: reply if count == 1 else granted(count)
    with shop(asynchronous, clients(server), OAuth2(**CLIENT)) as fetch:
        with pytest.raises(restencil.AuthError) as caught:
            fetch(thing(server), id=1)
        error = caught.value
        assert str(error).startswith(f"no token from {server.url}/token: {message}")
        assert (error.status, error.response, error.data, error.body) == (status, None, None, b"")
        assert (error.method, error.url) == ("POST", f"{server.url}/token")
        assert "s3cret" not in f"{error!r}{error.to_dict()}{error.__cause__!r}{error.__context__!r}"
        assert tokens.sent == []
        assert fetch(thing(server), id=1)["token"] == "Bearer t2"


def test_oauth2_read_after_one_without_a_token_asks_again(asynchronous: bool, server: Server, tokens: Tokens) -> None:
    """What the token server said is shown by the state, and is no answer to anything that is asked later."""
    tokens.answer = lambda count, request: Reply(503) if count < 3 else granted(count)
    client = clients(server)[asynchronous](machine=OAuth2(**CLIENT))
    with running(client) as run:
        for _ in range(2):
            with pytest.raises(restencil.AuthError):
                run(client.read(thing(server), id=1))
        assert isinstance(client.state(thing(server), id=1).error, restencil.AuthError)
        assert run(client.read(thing(server), id=1))["token"] == "Bearer t3"
        assert client.state(thing(server), id=1).error is None


def test_oauth2_token_server_that_does_not_answer_is_waited_for(
    asynchronous: bool, server: Server, tokens: Tokens
) -> None:
    """As long as the HTTP client waits for any other, and no longer."""
    tokens.answer = lambda count, request: Reply(held=True, body=b"{}")
    client = clients(server)[asynchronous](
        machine=OAuth2(**CLIENT), client=client_of(asynchronous, timeout=httpx.Timeout(PATIENCE, read=0.1))
    )
    with running(client) as run:
        with pytest.raises(restencil.AuthError, match=r"/token: no response within 100 ms \(read\)$"):
            run(client.fetch(thing(server), id=1))


# -------------------------------------------------------------------------------------------------------------- secrets


def test_oauth2_no_secret_is_found_in_what_is_shown(
    asynchronous: bool, server: Server, tokens: Tokens, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither those of the client nor tokens, in logs, errors, keys and the repr of anything; failing or not."""
    secrets: dict[str, Any] = {
        name: f"canary-{name}" for name in ("client_id", "client_secret", "refresh_token", "access_token")
    }
    renewed: list[Any] = []
    said: list[str] = []
    with caplog.at_level(logging.DEBUG):
        one = thing(server)
        given = OAuth2(**secrets, on_renewed=renewed.append)
        said += [repr(given), str(given)]
        client = clients(server, grant="refresh_token", client_auth="body")[asynchronous](machine=given)
        with running(client) as run:
            tokens.answer = lambda count, request: granted(
                count, access_token=f"canary-t{count}", refresh_token=f"canary-r{count}"
            )
            with pytest.raises(restencil.AuthenticationError) as refused:
                run(client.fetch(one, id=1))
            tokens.answer = lambda count, request: Reply(400, request.body)
            with pytest.raises(restencil.AuthError) as failed:
                run(client.fetch(one, id=1))
            for error in (refused.value, failed.value):
                said.extend((str(error), repr(error), repr(error.to_dict()), repr(error.__context__)))
                said.extend((repr(error.body), repr(error.data)))
            said.extend((repr(client), repr(client._api), repr(client.managers), str(client.explain(one, id=1))))
            said.extend((repr(client.state(one, id=1)), repr(client.store)))
    said += [repr(renewed), *(record.getMessage() for record in caplog.records)]
    assert [text for text in said if "canary" in text] == []
    assert tokens.others == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"client_id": 7}, "client_id of OAuth2 is of type int; pass a string, or a function that returns one"),
        ({"on_renewed": "print"}, "on_renewed of OAuth2 is a str; pass a function that accepts the tokens"),
        ({"expires_at": "soon"}, "expires_at of OAuth2 is a str; pass a datetime, or milliseconds since 1970"),
    ],
)
def test_oauth2_what_is_no_secret_is_rejected(given: dict[str, Any], message: str) -> None:
    """Its type is told, not its value."""
    with pytest.raises(TypeError) as caught:
        OAuth2(**given)
    assert str(caught.value) == message


def test_oauth2_datetime_has_a_time_zone() -> None:
    """A datetime without one could mean another moment."""
    with pytest.raises(ValueError, match="expires_at of OAuth2 has no time zone"):
        OAuth2(access_token="t", expires_at=datetime.datetime(2030, 1, 1))  # noqa: DTZ001 - the mistake


def test_oauth2_scheme_that_requests_tokens_takes_what_to_ask_with(server: Server) -> None:
    """A text alone would never be renewed."""
    with pytest.raises(TypeError) as caught:
        clients(server)[0](machine="token")
    assert str(caught.value) == (
        "machine of Shop is of type str; pass restencil.OAuth2(client_id=…, client_secret=…), or, for an existing "
        "token, restencil.OAuth2(access_token=…)"
    )
