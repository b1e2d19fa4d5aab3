"""Which credentials a request carries: alternatives of schemes, of endpoints, of views, and of the environment."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked, as_json
from tests.runtime.worlds import running

import restencil
from restencil import Auth, Schemes

API = "http://case.test"

SCHEMES = Schemes(
    {
        "token": Auth.bearer(env="SHOP_TOKEN"),
        "key": Auth.header("X-Api-Key", env="SHOP_KEY"),
        "app": Auth.header("X-App", prefix="Bot "),
        "sid": Auth.cookie("sid", prefix="v1."),
        "sig": Auth.query("sig"),
        "user": Auth.basic(),
    },
    use=(("token",), ("key", "app"), ("sid", "sig"), ("user",)),
)


API_OF_SHOP = restencil.Api(url_prefix=API, auth=SCHEMES)
Shop: Any = type("Shop", (restencil.Controller,), {"_api": API_OF_SHOP})
AsyncShop: Any = type("AsyncShop", (restencil.AsyncController,), {"_api": API_OF_SHOP})


def client_of(auth: Any, name: str = "Shop") -> Any:
    """The class of a client whose API has this auth."""
    return type(name, (restencil.Controller,), {"_api": restencil.Api(url_prefix=API, auth=auth)})


def endpoint(**options: Any) -> Any:
    """Something to ask for."""
    return restencil.RestEndpoint(url_prefix=API, path="/things/:id", name="things.get", **options)


GET = endpoint()


def fetch_one(one: Any, client: Any) -> Any:
    """What a client fetches of it."""
    return client.fetch(one, id=1)


def asked(asynchronous: bool, work: Callable[[Any], Any], asked: Asked, kind: Any = None, **options: Any) -> Any:
    """What some work with a client of this kind gives."""
    client = kind or (AsyncShop if asynchronous else Shop)
    opened = client(client=asked.of(asynchronous), **options)
    with running(opened) as run:
        return run(work(opened))


def shown(request: httpx.Request) -> dict[str, str]:
    """The credentials of a request."""
    names = ("authorization", "x-api-key", "x-app", "cookie")
    found = {name: request.headers[name] for name in names if name in request.headers}
    return found | dict(request.url.params.items())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"token": "t"}, {"authorization": "Bearer t"}),
        ({"token": "t", "key": "k", "app": "a"}, {"authorization": "Bearer t"}),
        ({"key": "k", "app": "a"}, {"x-api-key": "k", "x-app": "Bot a"}),
        ({"key": "k", "sid": "s", "sig": "g"}, {"cookie": "sid=v1.s", "sig": "g"}),
        ({"token": "", "user": "a:b"}, {"authorization": "Basic YTpi"}),
        ({"token": lambda: None, "user": lambda: "a:b"}, {"authorization": "Basic YTpi"}),
        ({"key": "k"}, {}),
        ({}, {}),
    ],
    ids=["one", "the first one", "together", "the next one", "an empty one is none", "functions", "not all", "none"],
)
def test_auth_schemes_first_alternative_counts_that_has_all_its_credentials(
    given: dict[str, Any], expected: Mapping[str, str], asynchronous: bool
) -> None:
    """An inner tuple has those that go together; without any, the request goes as it is."""
    server = Asked(as_json({"id": 1}))
    asked(asynchronous, lambda client: client.fetch(GET, id=1), server, **given)
    assert shown(server.last) == expected


def test_auth_schemes_credential_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts like one that was given, which goes before it; both are read for each request."""
    server = Asked(as_json({"id": 1}))
    with Shop(client=server.sync, app="a") as client:
        monkeypatch.setenv("SHOP_KEY", "from there")
        client.fetch(GET, id=1)
        assert shown(server.last) == {"x-api-key": "from there", "x-app": "Bot a"}
        monkeypatch.setenv("SHOP_TOKEN", "t")
        client.fetch(GET, id=1)
        assert shown(server.last) == {"authorization": "Bearer t"}
    with Shop(client=server.sync, token="mine") as client:
        client.fetch(GET, id=1)
        assert shown(server.last) == {"authorization": "Bearer mine"}


def test_auth_schemes_endpoint_may_say_what_it_shows(asynchronous: bool) -> None:
    """Its alternatives stand in place of those of the API; `((),)` shows nothing, and asks no function."""
    server = Asked(as_json({"id": 1}))
    calls: list[str] = []

    def token() -> str:
        calls.append("token")
        return "t"

    given: dict[str, Any] = {"token": token, "key": "k"}
    for auth, expected in (
        ((("key",),), {"x-api-key": "k"}),
        ((("key", "app"), ("key",)), {"x-api-key": "k"}),
        (((),), {}),
        ((("app",), ()), {}),
    ):
        asked(asynchronous, partial(fetch_one, endpoint(auth=auth)), server, **given)
        assert shown(server.last) == expected
    assert calls == []


@pytest.mark.parametrize("auth", ["token", ["token"], ("token",), (["token"],), ((1,),)])
def test_auth_schemes_option_has_one_form(auth: Any) -> None:
    """Anything but a tuple of tuples of texts is refused where the endpoint is made."""
    with pytest.raises(
        TypeError, match=r"auth of endpoint GET '/things/:id' is .*; expected alternatives, each a tuple"
    ):
        endpoint(auth=auth)


def test_auth_schemes_what_a_request_misses_is_said_once_and_with_its_refusal(caplog: pytest.LogCaptureFixture) -> None:
    """The names of arguments and variables, and no secret; nothing is said where the endpoint needs none."""
    server = Asked(as_json({"error": "no"}, status=401))
    with caplog.at_level(logging.WARNING), Shop(client=server.sync, key="s3cret") as client:
        with pytest.raises(restencil.AuthenticationError) as caught:
            client.fetch(endpoint(auth=((),)), id=1)
        assert str(caught.value) == "GET http://case.test/things/1: 401 Unauthorized: no"
        for _ in range(2):
            with pytest.raises(restencil.AuthenticationError) as caught:
                client.fetch(GET, id=1)
    lacking = (
        "the request was sent without the credential that its API requires (token, or key and app, or sid and sig, or "
        "user): pass token=… to the client, or set the environment variables SHOP_TOKEN, SHOP_KEY"
    )
    assert str(caught.value) == f"GET http://case.test/things/1: 401 Unauthorized: no; {lacking}"
    assert [record.getMessage() for record in caplog.records] == [f"http://case.test/things/1: {lacking} (logged once)"]


# ---------------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokn": "t"}, "Shop has no argument 'tokn'; did you mean 'token'?"),
        (
            {"zzzz": "t"},
            "Shop has no argument 'zzzz'; it takes store, token, url_prefix, url_prefixes, share, http, "
            "user_agent, base_url, managers, retries, timeout, max_response_bytes, client, key, app, sid, sig, user",
        ),
        ({"key": 7}, "key of Shop is of type int; pass a string (for basic auth 'user:password'), or a function"),
        ({"key": restencil.OAuth2()}, "key of Shop is of type OAuth2; pass a string"),
        ({"token": b"t"}, "token of Shop is of type bytes; pass a string"),
    ],
)
def test_auth_schemes_argument_that_no_scheme_takes_is_rejected(options: dict[str, Any], message: str) -> None:
    """Its name is told, and what was meant; a value is never shown."""
    with pytest.raises(TypeError) as caught:
        Shop(**options)
    assert message in str(caught.value)


def test_auth_schemes_token_needs_a_scheme_of_that_name() -> None:
    """Where the API names its schemes, each has an argument of its own."""

    keyed_client = client_of(Schemes({"key": Auth.header("X-Key"), "app": Auth.header("X-App")}), "Keyed")
    with pytest.raises(TypeError, match="Keyed has no argument 'token'; pass its credentials: key=…, app=…"):
        keyed_client(token="t")
    with pytest.raises(TypeError, match="Controller has no argument 'key'"):
        restencil.Controller(key="t")  # type: ignore[call-arg]  # the mistake that this is about


def test_auth_schemes_deprecated_scheme_warns_where_it_is_given() -> None:
    """Whoever gives no credential for it hears nothing."""

    old_client = client_of(
        Schemes({"key": Auth.header("X-Key", deprecated="use token"), "token": Auth.bearer()}), "Old"
    )
    with pytest.warns(DeprecationWarning, match="^key of Old is deprecated: use token$") as warned:
        old_client(key="k")
    assert warned[0].filename == __file__
    old_client(token="t")


@pytest.mark.parametrize("use", [(("tokn",),), (("token", "kye"),)])
def test_auth_schemes_alternatives_name_schemes_that_are_there(use: Any) -> None:
    """A name that is none of the schemes' is refused where the API is described."""
    with pytest.raises(ValueError, match=r"use of Schemes names the scheme '(tokn|kye)'; the API has token, key"):
        Schemes({"token": Auth.bearer(), "key": Auth.header("X-Key")}, use=use)


def test_auth_schemes_without_alternatives_each_scheme_is_one() -> None:
    """In the order in which they stand."""
    assert Schemes({"b": Auth.bearer(), "a": Auth.header("X")}).use == (("b",), ("a",))


@pytest.mark.parametrize(
    "url",
    ["http://auth.example/token", "/token", "ftp://auth.example/token", "https://me:secret@auth.example/token", ""],
)
def test_auth_schemes_secrets_are_sent_to_https_or_to_this_machine(url: str) -> None:
    """Another token_url is refused, and a password in it is not shown."""
    with pytest.raises(ValueError, match="token_url is .*, but receives secrets; expected an https:// URL") as caught:
        Auth.oauth2(url)
    assert "secret@" not in str(caught.value)


@pytest.mark.parametrize("name", ["X-Api-Key", "x-app", "Authorization", "Cookie"])
def test_auth_schemes_header_of_any_scheme_is_no_header_of_a_call(name: str) -> None:
    """Those of schemes that a request does not use, too."""
    with Shop(client=Asked().sync) as client:
        with pytest.raises(ValueError, match="is a credential; pass token="):
            client.with_options(headers={name: "x"})
        if name != "Cookie":
            with pytest.raises(ValueError, match="is a credential; pass token="):
                client.request("GET", "/x", headers={name: "x"})
        with pytest.raises(ValueError, match="'sig' in the query of with_options is a credential"):
            client.with_options(query={"sig": "x"})


# -------------------------------------------------------------------------------------------------------------- views


def test_auth_schemes_view_is_reported_tokens_by_scheme(asynchronous: bool) -> None:
    """What goes together with one of them is the client's own; no alternative counts that has none of them."""
    server = Asked(as_json({"id": 1}))

    def view(token: dict[str, Any]) -> dict[str, str]:
        asked(
            asynchronous,
            lambda client: client.with_options(token=token).fetch(GET, id=1),
            server,
            token="client's",
            app="a",
        )
        return shown(server.last)

    assert view({"token": "view's"}) == {"authorization": "Bearer view's"}
    assert view({"key": "view's"}) == {"x-api-key": "view's", "x-app": "Bot a"}
    assert view({"user": lambda: "a:b"}) == {"authorization": "Basic YTpi"}
    assert view({"sig": "s"}) == {}


def test_auth_schemes_view_with_another_credential_has_a_store_of_its_own() -> None:
    """Equal credentials are one principal, whatever mapping they stand in; `vary=False` stays in the client's store."""
    server = Asked(lambda request: as_json(shown(request)))
    with Shop(client=server.sync, token="mine") as client:
        given = {"token": "yours"}
        one = client.with_options(token=given)
        assert client.with_options(token={"token": "yours"}) is one
        assert one.store is not client.store
        assert client.with_options(token={"token": "mine"}) is client
        assert client.with_options(token={"token": "other"}, vary=False).store is client.store
        assert client.read(GET, id=1) == {"authorization": "Bearer mine"}
        assert one.read(GET, id=1) == {"authorization": "Bearer yours"}
        given["token"] = "changed later"
        assert client.with_options(token=given) is not one
        one.fetch(GET, id=1)
        assert shown(server.last) == {"authorization": "Bearer yours"}
        assert "yours" not in repr(one)


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("t", "token of with_options is a str; Shop has the auth schemes token, key, app, sid, sig, user: pass a dict"),
        ({}, "token of with_options is a dict; Shop has the auth schemes token"),
        ({"tokn": "t"}, "token of with_options has the unknown scheme 'tokn'; Shop has the auth schemes token"),
        ({"token": None}, "'token' in token of with_options is of type NoneType; pass a string"),
        ({"token": 7}, "'token' in token of with_options is of type int; pass a string"),
    ],
)
def test_auth_schemes_tokens_of_a_view_that_cannot_be_are_rejected(token: Any, message: str) -> None:
    """The names are told, never a value."""
    with Shop(client=Asked().sync) as client, pytest.raises(TypeError) as caught:
        client.with_options(token=token)
    assert message in str(caught.value)


def test_auth_schemes_what_a_view_misses_is_not_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A function that gives none leaves the request without one, and that is said."""
    monkeypatch.setenv("SHOP_TOKEN", "of someone else")
    server = Asked(as_json({"id": 1}))
    with caplog.at_level(logging.WARNING), Shop(client=server.sync) as client:
        client.with_options(token={"token": lambda: None}).fetch(GET, id=1)
    assert shown(server.last) == {}
    assert "the token of with_options has only token; add" in caplog.text


def test_auth_schemes_credential_stays_with_its_origin() -> None:
    """A redirect to another one takes none along: not in headers, and no cookie."""
    seen: list[tuple[str, dict[str, str]]] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append((request.url.host, shown(request)))
        if request.url.host == "case.test":
            return httpx.Response(307, headers={"Location": "http://other.test/things/1"})
        return as_json({"id": 1})

    server = Asked(respond)
    every = Schemes(dict(SCHEMES.schemes), use=(("key", "app", "sid"),))

    all_client = client_of(every, "All")
    with all_client(client=server.sync, key="k", app="a", sid="s") as client:
        client.fetch(GET, id=1)
    assert seen == [("case.test", {"x-api-key": "k", "x-app": "Bot a", "cookie": "sid=v1.s"}), ("other.test", {})]
