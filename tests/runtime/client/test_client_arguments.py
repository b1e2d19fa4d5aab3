"""Arguments of clients: headers and search parameters of all requests, and the server that they go to."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked, as_json

import restencil
from restencil import Api, ClientParam, Controller, Entity, HeaderParam, NetworkError, RestEndpoint, Server, Store

URL = "https://api.shop.test/v1"


class Order(Entity):
    id: int = 0


GET = RestEndpoint(path="/orders/:id", url_prefix=URL, schema=Order)

API = Api(
    url_prefix=URL,
    params={
        "tenant": ClientParam.header("X-Tenant-Id", env="SHOP_TENANT", required=True),
        "session": ClientParam.header("X-Session", secret=True),
        "version": ClientParam.query("api-version", default="2024-06"),
        "tags": ClientParam.query("tags", style="repeat"),
    },
    servers={
        "production": Server(URL),
        "region": Server(
            "https://{region}.shop.test/{path}",
            variables={
                "region": ClientParam.variable(default="eu", env="SHOP_REGION"),
                "path": ClientParam.variable(default="v1"),
            },
        ),
    },
)


class Shop(Controller):
    _api = API


class AsyncShop(restencil.AsyncController):
    _api = API


ASYNC_SHOP: Any = AsyncShop
"""Its arguments are those of the API, which generated clients tell type checkers."""


class Recorder(Asked):
    """Answers every request, and keeps it."""

    def __init__(self, status: int = 200, **answer: Any) -> None:
        super().__init__(as_json({"id": 1, **answer}, status), base_url="")

    def shop(self, **options: Any) -> Any:
        """A client that asks here."""
        return Shop(client=self.sync, **options)


@pytest.fixture
def server() -> Recorder:
    """A server that keeps what it was asked."""
    return Recorder()


def test_client_arguments_all_requests_of_a_client_send_its_arguments(server: Recorder) -> None:
    """Headers and search parameters, defaults and styles included; no key knows of them."""
    shop = server.shop(tenant=uuid.UUID(int=1), tags=["a", "b"])
    shop.fetch(GET, id=1)
    [request] = server.requests
    assert str(request.url) == f"{URL}/orders/1?api-version=2024-06&tags=a&tags=b"
    assert request.headers["x-tenant-id"] == str(uuid.UUID(int=1))
    assert "x-session" not in request.headers
    assert GET.key(id=1) == f"GET {URL}/orders/1"
    assert shop.request("GET", "/free").status == 200
    assert server.requests[-1].headers["x-tenant-id"] == str(uuid.UUID(int=1))


def test_client_arguments_other_origins_get_none_of_them(server: Recorder) -> None:
    """They are the API's own."""
    elsewhere = RestEndpoint(path="/x", url_prefix="https://other.test")
    server.shop(tenant="a").fetch(elsewhere)
    assert str(server.requests[0].url) == "https://other.test/x"
    assert "x-tenant-id" not in server.requests[0].headers


def test_client_arguments_endpoint_that_has_the_same_replaces_them(server: Recorder) -> None:
    """By a header or search parameter of its own, declared or written, or by taking them back."""
    shop = server.shop(tenant="a")
    shop.fetch(GET.extend(request_init={"headers": {"x-tenant-id": "own"}}), id=1)
    shop.fetch(GET.extend(header_params={"scope": HeaderParam("X-Tenant-Id", partition=False)}), id=2)
    shop.fetch(GET.extend(without=("X-Tenant-Id", "api-version")), id=3)
    shop.fetch(GET, {"id": 4, "api-version": "1"})
    assert server.sent("x-tenant-id") == ["own", None, None, "a"]
    assert [request.url.query for request in server.requests] == [b"api-version=2024-06"] * 2 + [b"", b"api-version=1"]


def test_client_arguments_environment_is_read_at_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing found: an error names argument and variable, and nothing is sent."""
    server = Recorder()
    shop = server.shop()
    with pytest.raises(ValueError, match="the argument 'tenant' of Shop has no value: give Shop tenant=…, or set the "):
        shop.fetch(GET, id=1)
    assert server.requests == []
    monkeypatch.setenv("SHOP_TENANT", "of the environment")
    shop.fetch(GET, id=1)
    assert server.requests[0].headers["x-tenant-id"] == "of the environment"


def test_client_arguments_argument_without_environment_is_needed_at_once() -> None:
    """As Python asks for arguments."""

    class Other(Controller):
        _api = Api(url_prefix=URL, params={"tenant": ClientParam.header("X-Tenant", required=True)})

    with pytest.raises(TypeError, match="Other needs the argument 'tenant'"):
        Other()


# ------------------------------------------------------------------------------------------------------------- servers


def test_client_arguments_server_is_chosen_by_its_name(server: Recorder) -> None:
    """Requests go there, and keys hold the URL of the first one."""
    shop = server.shop(tenant="a", server="region", region="us", path="a b/c")
    shop.fetch(GET, id=1)
    assert str(server.requests[0].url) == "https://us.shop.test/a%20b%2Fc/orders/1?api-version=2024-06"
    assert server.requests[0].headers["x-tenant-id"] == "a"
    assert shop.cached(GET, id=1) is not None
    assert shop.bind(GET).key(id=1) == f"GET {URL}/orders/1"
    assert shop.bind(GET).url(id=1) == "https://us.shop.test/a%20b%2Fc/orders/1"


@pytest.mark.parametrize("url", ["http://u:p@127.0.0.1:8000", httpx.URL("http://u:p@127.0.0.1:8000")])
@pytest.mark.parametrize("kind", [Shop, AsyncShop])
def test_client_arguments_base_url_that_nothing_goes_to_is_reported(
    kind: Any, url: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The URLs of an API that are absolute lead elsewhere, which nobody who gives a `base_url` expects."""
    kind(tenant="t", base_url=url)
    kind(tenant="t", base_url="http://127.0.0.1:8000", url_prefix="http://127.0.0.1:8000")
    assert [record.getMessage() for record in caplog.records] == [
        f"{kind.__name__} got base_url='http://127.0.0.1:8000', which applies only to relative URLs, but the URLs "
        "of its API begin with 'https://api.shop.test/v1'; pass url_prefix='http://127.0.0.1:8000' to use another "
        "server"
    ]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"server": "moon"}, ValueError, "server of Shop is 'moon'; expected one of 'production', 'region'"),
        (
            {"server": "region", "region": "a/b"},
            ValueError,
            "region of Shop is 'a/b', which cannot be used in the URL of",
        ),
        ({"server": "region", "region": "ü"}, ValueError, "expected letters, digits, '.' and '-'"),
        ({"server": "region", "path": ".."}, ValueError, "expected a string other than '', '.' and '..'"),
        ({"region": "us"}, TypeError, "region of Shop is a variable of the server 'region', which is not selected"),
        ({"tenant": "a\n"}, ValueError, "tenant of Shop cannot be sent: its value 'a.n' has a line break"),
        (
            {"session": "ge\nheim"},
            ValueError,
            "session of Shop cannot be sent: its value, not shown here, has a line b",
        ),
        ({"tennant": "a"}, TypeError, "Shop has no argument 'tennant'; did you mean 'tenant'?"),
    ],
)
def test_client_arguments_what_cannot_be_is_rejected_when_the_client_is_made(
    given: Any, error: Any, message: str
) -> None:
    """The error names the argument."""
    with pytest.raises(error, match=message):
        Recorder().shop(**given)


# ------------------------------------------------------------------------------------------------------------ one store


def test_clients_before_one_store_agree() -> None:
    """In their arguments, and in server and variables; those of another world too."""
    store, server = Store(), Recorder()
    server.shop(store=store, tenant="a")
    server.shop(store=store, tenant="a", version="2024-06")
    with pytest.raises(ValueError, match=r"^this store already serves Shop\(tenant='a'\); create a separate Store for"):
        server.shop(store=store, tenant="b")
    with pytest.raises(ValueError, match=r"create a separate Store for AsyncShop\(tenant='b'\)"):
        ASYNC_SHOP(store=store, tenant="b")
    with pytest.raises(ValueError, match=r"create a separate Store for Shop\(server='region', tenant='a'\)"):
        server.shop(store=store, tenant="a", server="region")
    with pytest.raises(ValueError, match=r"create a separate Store for Shop\(tenant='a', session=…\)"):
        server.shop(store=store, tenant="a", session="geheim")


CANARY = "canary-7f3a9b"


def test_client_arguments_secret_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    """No error, log or repr has it, though a server may repeat it."""
    caplog.set_level("DEBUG")
    shop = Recorder(400, message=f"bad {CANARY}").shop(tenant="a", session=CANARY)
    with pytest.raises(NetworkError) as caught:
        shop.fetch(GET, id=1)
    shown = [str(caught.value), repr(caught.value), str(caught.value.to_dict()), repr(shop), caplog.text]
    assert [text for text in shown if CANARY in text] == []


def test_client_arguments_what_is_no_secret_stays_in_messages() -> None:
    """A search parameter of the client is shown, and no text of a server is hidden because of it."""
    with pytest.raises(NetworkError, match=r"api-version=2024-06: 400 Bad Request: since 2024-06-01") as caught:
        Recorder(400, message="since 2024-06-01").shop(tenant="a").fetch(GET, id=1)
    assert "[redacted]" not in str(caught.value)
