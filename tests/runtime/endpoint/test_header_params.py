"""Header parameters: what a call sends as headers, and what of it is in keys, identities and stores."""

from __future__ import annotations

import datetime
import logging
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked, as_json

from restencil import Controller, Entity, HeaderParam, NetworkError, RestEndpoint, Retries, create_resource


class Order(Entity):
    id: int = 0
    title: str = ""


Orders: Any = create_resource(
    path="/orders/:id",
    schema=Order,
    url_prefix="http://shop.test",
    pagination_field="page",
    header_params={
        "scope": HeaderParam("X-Scope"),
        "trace": HeaderParam("X-Request-Id", in_key=False),
        "session": HeaderParam("X-Session", secret=True),
        "accept_language": HeaderParam("Accept-Language"),
    },
).extend("get_list", push_options={"header_params": {"key": HeaderParam("Idempotency-Key", in_key=False, auto="uuid")}})


class Server(Asked):
    """Answers with what it was told, and keeps the requests."""

    def __init__(self) -> None:
        super().__init__(self.answer, base_url="")
        self.failing = 0

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.failing:
            self.failing -= 1
            return httpx.Response(503)
        title = "-".join(request.headers.get(name, "") for name in ("x-scope", "accept-language"))
        if request.method == "POST":
            return as_json({"id": 7, "title": title}, 201)
        if request.url.path != "/orders":
            return as_json({"id": int(request.url.path.rpartition("/")[2]), "title": title})
        page = int(request.url.params.get("page", "1"))
        return as_json([] if page > 2 else [{"id": page, "title": title}])


@pytest.fixture
def server() -> Server:
    """A server that was asked nothing yet."""
    return Server()


@pytest.fixture
def orders(server: Server) -> Iterator[Any]:
    """The resource of a client."""
    with Controller(client=server.sync) as controller:
        yield Orders(controller)


# ---------------------------------------------------------------------------------------------------------------- sent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (5, "5"),
        (True, "true"),
        (1.0, "1"),
        (["a", 2, False], "a, 2, false"),
        (datetime.date(2024, 1, 2), "2024-01-02"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("", ""),
        ("é\xff", "é\xff"),
    ],
)
def test_header_params_value_is_sent_as_its_text(server: Server, orders: Any, value: Any, text: str) -> None:
    """Lists are joined with commas; Latin-1 is what a header can hold."""
    orders.get(id=1, scope=value)
    raw = dict(server.requests[0].headers.raw)
    assert raw[b"X-Scope"] == text.encode("latin-1")


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        ("a\r\nX-Evil: 1", "a line break or another control character"),
        ("a\tb", "a line break or another control character"),
        ("5 €", "a character outside Latin-1"),
        (" a", "space at its beginning or end"),
    ],
)
def test_header_params_what_no_header_can_hold_is_rejected_before_any_request(
    server: Server, orders: Any, value: str, flaw: str
) -> None:
    """The error names the parameter; a secret value is not shown."""
    with pytest.raises(ValueError, match=f"the header parameter 'scope' of endpoint 'Order.get' cannot be .*{flaw}"):
        orders.get(id=1, scope=value)
    with pytest.raises(ValueError, match="its value, not shown here, has") as caught:
        orders.get(id=1, session=value)
    assert repr(value) not in str(caught.value)
    with pytest.raises(TypeError, match="the header parameter 'scope' of endpoint 'Order.get' is a dict"):
        orders.get(id=1, scope={})
    assert server.requests == []


def test_headers_have_their_order(server: Server) -> None:
    """`headers` are weaker than header parameters, which are weaker than what `get_headers` says."""
    endpoint = RestEndpoint(
        path="/1",
        url_prefix="http://shop.test",
        request_init={"headers": {"x-a": "static", "x-b": "static"}},
        header_params={"a": HeaderParam("X-A"), "b": HeaderParam("X-B")},
        get_headers=lambda headers: {**headers, "X-B": "hook"},
        client=server.sync,
    )
    endpoint(a="given", b="given")
    assert (server.sent("x-a"), server.sent("x-b")) == (["given"], ["hook"])


# ----------------------------------------------------------------------------------------------------------------- keys


def test_header_in_the_key_stands_behind_the_url(orders: Any) -> None:
    """In lower case, form-encoded and sorted; without a value the key is that of before."""
    assert orders.get.key(id=1) == "GET http://shop.test/orders/1"
    assert orders.get.key(id=1, scope="a b", trace="t", session="s") == "GET http://shop.test/orders/1 x-scope=a+b"
    two = RestEndpoint(path="/x", header_params={"b": HeaderParam("X-B"), "a": HeaderParam("X-A")})
    assert two.key(q=1, b=["é", 2], a="&") == "GET /x?q=1 x-a=%26&x-b=%C3%A9%2C+2"


def test_header_params_test_of_keys_compares_up_to_the_space() -> None:
    """Whatever headers are in a key, it is the endpoint's."""
    assert Orders.get.test_key("GET http://shop.test/orders/1 x-scope=a+b")
    assert Orders.get_list.test_key("GET http://shop.test/orders?page=1 x-scope=a")
    assert not Orders.get_list.test_key("GET http://shop.test/orders/1 x-scope=a")
    plain = RestEndpoint(path="/orders/:id", url_prefix="http://shop.test")
    assert plain.test_key("GET http://shop.test/orders/1 x-scope=a")


def test_header_params_lists_of_two_headers_are_two_lists(server: Server, orders: Any) -> None:
    """The header is in the identity of the collection, under its Python name."""
    assert orders.get_list(scope="a")[0].title == "a-"
    assert orders.get_list(scope="b")[0].title == "b-"
    assert len(server.requests) == 2
    assert orders.get_list(scope="a", trace="other") == orders.get_list.cached(scope="a")
    assert len(server.requests) == 2
    assert {'{"scope":"a"}', '{"scope":"b"}'} <= set(orders.controller.store.state["entities"]["[Order]"])


def test_header_params_what_is_pushed_joins_lists_that_its_headers_match(orders: Any) -> None:
    """One with `in_key: false` filters nothing; one in the key has to agree."""
    orders.get_list(scope="a")
    orders.get_list()
    orders.get_list.push(body={"id": 7}, key="k")
    assert [order.id for order in orders.get_list.cached()] == [1, 7]
    assert [order.id for order in orders.get_list.cached(scope="a")] == [1]


def test_header_params_what_changes_entities_has_a_store_of_its_own(server: Server, orders: Any) -> None:
    """The German title does not show where no language was given, and is found again."""
    assert orders.get(id=1).title == "-"
    assert orders.get(id=1, accept_language="de").title == "-de"
    assert orders.get_list(accept_language="de")[0].title == "-de"
    assert orders.get.cached(id=1).title == "-"
    assert orders.get.cached(id=1, accept_language="de").title == "-de"
    assert orders.get(id=1, accept_language="de") is orders.get(id=1, accept_language="de")
    assert len(server.requests) == 3
    assert orders.get.key(id=1, accept_language="de") == orders.get.key(id=1)


# ----------------------------------------------------------------------------------------------------------- partitions


def test_header_params_partition_is_that_of_the_view_with_the_header(server: Server, orders: Any) -> None:
    """A call that gives the header and a view that has it share one store."""
    orders.get(id=1, accept_language="de")
    assert orders.get.with_options(headers={"Accept-Language": "de"})(id=1).title == "-de"
    assert len(server.requests) == 1


def test_header_params_unbound_call_through_a_controller_says_where_to_go(orders: Any) -> None:
    """The controller's own operations have one store."""
    with pytest.raises(RuntimeError, match="the parameter 'accept_language' of endpoint 'Order.get' needs a separate"):
        orders.controller.read(Orders.get, id=1, accept_language="de")
    assert orders.controller.read(Orders.get, id=1, scope="a").title == "a-"


@pytest.mark.parametrize(
    ("param", "parts", "keyed"),
    [
        (HeaderParam("X-Scope"), False, True),
        (HeaderParam("Accept"), True, False),
        (HeaderParam("X-Tenant-Id"), True, False),
        (HeaderParam("x-account"), True, False),
        (HeaderParam("X-Organization"), True, False),
        (HeaderParam("Api-Version"), True, False),
        (HeaderParam("Api-Version", partition=False), False, True),
        (HeaderParam("Api-Version", in_key=True), False, True),
        (HeaderParam("Api-Version", in_key=False), True, False),
        (HeaderParam("X-Scope", secret=True), False, False),
        (HeaderParam("X-Scope", partition=True), True, False),
    ],
)
def test_header_params_names_say_what_a_header_changes(param: HeaderParam, parts: bool, keyed: bool) -> None:
    """Some names stand for what changes entities, where nothing else is said."""
    assert (param.parts, param.keyed) == (parts, keyed)


# ------------------------------------------------------------------------------------------------------- auto, secret


def test_header_params_made_uuid_is_the_same_in_retries(server: Server) -> None:
    """The call counts as one that may be repeated; another call has another UUID, and a given one is sent."""
    server.failing = 2
    with Controller(client=server.sync, retries=Retries(3, base_delay=1)) as controller:
        orders: Any = Orders(controller)
        orders.get_list.push(body={"id": 7})
        orders.get_list.push(body={"id": 8})
        orders.get_list.push(body={"id": 9}, key="mine")
    first, again, third, fourth, mine = server.sent("idempotency-key")
    assert first == again == third
    assert first is not None
    assert uuid.UUID(first).version == 4
    assert fourth not in (first, None)
    assert mine == "mine"


CANARY = "canary-7f3a9b"


def test_header_params_secret_is_not_shown(server: Server, orders: Any, caplog: pytest.LogCaptureFixture) -> None:
    """No key, log, error, repr or explanation has it, though a server may repeat it."""
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        return httpx.Response(400, json={"message": f"bad session {request.headers['x-session']}"})

    with Controller(client=httpx.Client(transport=httpx.MockTransport(refuse))) as controller:
        with pytest.raises(NetworkError) as caught:
            Orders(controller).get(id=1, session=CANARY)
        shown += [str(caught.value), repr(caught.value), repr(vars(caught.value)), str(caught.value.to_dict())]
        shown.append(repr(caught.value.response.request.headers) if caught.value.response is not None else "")
    orders.get(id=1, session=CANARY)
    bound = Orders.get.bind_args((), {"id": 1, "session": CANARY})
    shown += [repr(bound), repr(Orders.get.request(bound)), repr(Orders.get.request(bound).identity)]
    shown += [orders.get.key(id=1, session=CANARY), orders.get.url(id=1, session=CANARY)]
    shown += [str(orders.get.explain(id=1, session=CANARY)), str(orders.controller.store.state), caplog.text]
    assert [text for text in shown if CANARY in text] == []


def test_header_params_explanation_names_the_headers_of_the_call(orders: Any) -> None:
    """A secret one is shown as `…`."""
    text = str(orders.get.explain(id=1, scope="a", session=CANARY))
    assert "it is sent with X-Scope: a, X-Session: …" in text


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["a"], TypeError, "header_params of endpoint GET '/x' is a list; expected a dict of HeaderParam"),
        ({"a": "X-A"}, TypeError, "'a' in header_params of endpoint GET '/x' is .*; expected restencil.HeaderParam"),
        ({"a": HeaderParam("X A")}, ValueError, "has the name 'X A', which is not a valid header name"),
        ({"a": HeaderParam("cookie")}, ValueError, "is the header 'cookie', a credential; pass a token to"),
        ({"a": HeaderParam("X-A", in_key=True, secret=True)}, ValueError, "is secret, so it cannot be part of a key"),
        ({"a": HeaderParam("X-A", auto="now")}, ValueError, "has auto='now'; expected 'uuid' or None"),
    ],
)
def test_header_params_what_cannot_be_is_rejected_when_the_endpoint_is_made(
    given: Any, error: Any, message: str
) -> None:
    """The error names the parameter and what to give."""
    with pytest.raises(error, match=message):
        RestEndpoint(path="/x", header_params=given)


def test_header_params_deprecated_parameter_warns_only_where_it_is_given() -> None:
    """The warning names parameter, endpoint and reason."""
    endpoint = RestEndpoint(
        path="/x/:id",
        deprecated_params={"id": "use slug"},
        header_params={"scope": HeaderParam("X-Scope", deprecated="")},
    )
    with pytest.warns(DeprecationWarning, match="is deprecated") as caught:
        endpoint.key(id=1, scope="a")
    texts = sorted(str(warning.message) for warning in caught)
    assert texts == [
        f"the parameter 'id' of {endpoint.name} is deprecated: use slug",
        f"the parameter 'scope' of {endpoint.name} is deprecated",
    ]
