"""Styles, header parameters, client arguments and servers of a generated package, against the mock server."""

from __future__ import annotations

import datetime
import uuid
import warnings
from typing import Any

import httpx
import pytest
from tests.freshness.spec import generated
from tests.runtime.worlds import BOTH, client_of, running

import market


class Seen:
    """Hands requests on to a server, and keeps them."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []

    def note(self, request: httpx.Request) -> None:
        self.requests.append(request)

    async def note_async(self, request: httpx.Request) -> None:
        self.requests.append(request)

    @property
    def last(self) -> httpx.Request:
        """The latest request."""
        return self.requests[-1]


@BOTH
def test_parameters_at_work_calls_arrive_as_declared(address: str, asynchronous: bool) -> None:
    """The mock server reads every style and header."""
    seen = Seen()
    client = client_of(asynchronous, event_hooks={"request": [seen.note_async if asynchronous else seen.note]})
    kind: Any = market.AsyncMarket if asynchronous else market.Market
    shop = kind(url_prefix=address, shop="north", token="t", client=client)
    with running(client, shop) as run:
        offers = shop.offers
        listed = run(offers.get_list(ids=[1, 2], scope="all"))
        assert {1, 2} <= {offer.id for offer in listed}
        assert seen.last.url.query == b"ids=1%2C2&api-version=2024-06-01"
        assert (seen.last.headers["x-scope"], seen.last.headers["x-shop"]) == ("all", "north")
        run(offers.get_list(regions=["eu", "us"], period={"first": datetime.date(2024, 1, 2)}, prices={"least": 5}))
        pairs = sorted(seen.last.url.params.multi_items())
        assert pairs == [
            *(("api-version", "2024-06-01"), ("least", "5"), ("period[first]", "2024-01-02")),
            *(("regions", "eu"), ("regions", "us")),
        ]
        run(offers.get_list(rank="best", seller=[1, 2]))
        assert sorted(seen.last.url.params.get_list("seller")) == ["1", "2"]
        assert seen.last.headers["x-rank"] == "best"
        assert {offer.seller.id for offer in run(offers.get_list(rank=3, seller=1))} == {1}
        assert (seen.last.headers["x-rank"], seen.last.url.params["seller"]) == ("3", "1")
        german = run(offers.get(id=1, language="de"))
        assert (seen.last.headers["accept-language"], german.id) == ("de", 1)
        count = len(seen.requests)
        run(offers.get(id=1, language="de"))
        assert len(seen.requests) == count
        assert offers.get.cached(id=1, language="fr") is None
        run(offers.create(body={"name": "Lamp", "price": "5", "seller": 1}))
        assert uuid.UUID(seen.last.headers["idempotency-key"]).version == 4
        run(offers.several(ids=[1, 2]))
        assert seen.last.url.path == "/offers/several/1,2"
        with pytest.warns(DeprecationWarning, match="the parameter 'file' of .* is deprecated: ask for a size"):
            run(offers.picture.fetch(id=1, file="front/small"))
        assert seen.last.url.path == "/offers/1/pictures/front/small_large"
        assert "x-shop" not in seen.last.headers


def test_parameters_at_work_arguments_of_a_client_may_be_one_of_several(address: str) -> None:
    """What they are is what is sent, in headers, search strings and the URL of a server."""
    seen = Seen()
    with httpx.Client(event_hooks={"request": [seen.note]}) as client:
        market.Market(url_prefix=address, client=client, units="metric", limit_to=[4, 5]).offers.get(id=1)
        assert seen.last.headers["x-units"] == "metric"
        assert seen.last.url.query == b"api-version=2024-06-01&limit=4&limit=5"
        market.Market(url_prefix=address, client=client, limit_to="open").offers.get(id=1)
        assert (seen.last.url.params["limit"], "x-units" in seen.last.headers) == ("open", False)
    server = pytest.warns(DeprecationWarning, match="the server 'region' of Market is deprecated")
    with server, pytest.warns(DeprecationWarning, match="edition of Market is deprecated"):
        shop = market.Market(server="region", edition="beta")
    assert shop.offers.get.url(id=1) == "https://eu.market.example/beta/offers/1"


def test_parameters_at_work_server_is_an_argument_of_the_client() -> None:
    """Keys hold the URL of the first one; who is to be used no longer warns."""
    with pytest.warns(DeprecationWarning, match="the server 'region' of Market is deprecated: production is near"):
        shop = market.Market(server="region", region="us")
    assert shop.offers.get.url(id=1) == "https://us.market.example/api/offers/1"
    assert shop.offers.get.key(id=1) == "GET https://market.example/api/offers/1"
    with pytest.raises(ValueError, match=r"create a separate Store for Market\(shop='south'\)"):
        market.Market(store=market.Market(shop="north").store, shop="south")


def test_parameters_at_work_agent_is_that_of_the_spec(address: str) -> None:
    """What the client says wins."""
    seen = Seen()
    with httpx.Client(event_hooks={"request": [seen.note]}) as client:
        for given, told in ((None, "market-client/2"), ("mine/1", "mine/1")):
            market.Market(url_prefix=address, token="t", client=client, user_agent=given).offers.get_list.fetch()
            assert seen.last.headers["user-agent"] == told


OLD_ARGUMENT = """
restencil: 1
package: old_argument
url_prefix: https://old.example
resources:
  items:
    path: /items/:id
    schema: {entity: OldItem, fields: {id: integer}}
    search_params: {q: {type: string, optional: true, deprecated: use search}, limit: integer?}
"""


def test_parameters_at_work_deprecated_search_parameter_warns_where_it_is_given() -> None:
    """As a path or header parameter does."""
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, json=[{"id": 1}])))
    with client, generated(OLD_ARGUMENT, "old_argument").OldArgument(client=client) as items:
        with warnings.catch_warnings(action="error"):
            items.items.get_list(limit=3)
        with pytest.warns(DeprecationWarning, match="the parameter 'q' of .* is deprecated: use search"):
            items.items.get_list(q="x")
