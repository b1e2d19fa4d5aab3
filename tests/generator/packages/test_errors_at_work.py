"""Error classes of a generated package at work, against the mock server: what is raised, and what its `data` is."""

from __future__ import annotations

import copy
import decimal
import pickle
from typing import Any

import httpx
import pytest

import market
import restencil
from restencil_generator.spec.error_classes import BASE, CLASSES


def failing(client: market.Market, status: int) -> market.Market:
    """The client, whose calls the mock server answers by this status."""
    return client.with_options(headers={"Prefer": f"status={status}"})


def answering(status: int, body: Any) -> market.Market:
    """A client of a server that answers every request in this way."""
    transport = httpx.MockTransport(lambda request: httpx.Response(status, json=body))
    return market.Market(client=httpx.Client(transport=transport))


def test_errors_at_work_table_of_classes_is_that_of_the_runtime() -> None:
    """Every class for errors by status has one of its name in the package, and is its base."""

    def below(kind: type[Any]) -> set[str]:
        return {kind.__name__}.union(*(below(child) for child in kind.__subclasses__() if child.__module__ == home))

    home = restencil.StatusError.__module__
    assert below(restencil.StatusError) == {BASE, *CLASSES}
    for name in (BASE, *CLASSES):
        assert issubclass(getattr(market, name), getattr(restencil, name))
        assert issubclass(getattr(market, name), market.StatusError)


def test_errors_at_work_call_raises_the_class_of_the_package_with_its_data(address: str) -> None:
    """A record that is not there: the body is the declared object, and the message tells its first text."""
    with market.Market(url_prefix=address) as client, pytest.raises(market.NotFoundError) as caught:
        client.offers.get(id=4711)
    error = caught.value
    assert isinstance(error.data, market.Missing) and error.data.what
    assert isinstance(error, restencil.NotFoundError)
    assert error.status == 404
    for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(copied) is market.NotFoundError
        assert copied.data == error.data


def test_errors_at_work_nearest_level_gives_the_shape(address: str) -> None:
    """What a resource says of a status comes before what the spec says; any JSON is as it came."""
    with market.Market(url_prefix=address) as client:
        with pytest.raises(market.NotFoundError) as missing:
            failing(client, 404).sellers.get(id=1)
        assert isinstance(missing.value.data, market.Missing)
        with pytest.raises(market.ServerError) as down:
            failing(client, 503).sellers.get_list()
        assert (down.value.status, down.value.data["error"]) == (503, "service_unavailable")
        with pytest.raises(market.ConflictError) as conflict:
            failing(client, 409).offers.buy(id=1, body={"quantity": 1, "price": decimal.Decimal("1.50")})
        assert isinstance(conflict.value.data, market.OutOfStock)
        with pytest.raises(market.StatusError) as other:
            failing(client, 418).offers.delete(id=1)
        assert type(other.value) is market.StatusError
        assert isinstance(other.value.data, market.Problem)


def test_errors_at_work_call_that_no_endpoint_describes_raises_them_too(address: str) -> None:
    """What the spec says for all holds for it."""
    with market.Market(url_prefix=address) as client:
        with pytest.raises(market.NotFoundError) as missing:
            client.request("GET", "/reviews/4711")
        assert isinstance(missing.value.data, market.Problem)
        with pytest.raises(market.StatusError) as other:
            failing(client, 418).request("DELETE", "/offers/1")
        assert isinstance(other.value.data, market.Problem)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"kind": "price_changed", "title": "dearer", "price": "2.50"}, "PriceChanged"),
        ({"kind": "out_of_stock", "title": "gone", "left": 0}, "OutOfStock"),
        ({"kind": "out_of_stock"}, "OutOfStock"),
        ({"title": "gone", "left": 0}, None),
        ({"kind": "stolen", "title": "gone", "left": 0}, None),
    ],
)
def test_errors_at_work_one_of_several_objects_is_reported_by_what_is_in_it(body: Any, kind: str | None) -> None:
    """By its constants, else by the fields that it must have; what fits none of them gives None and the same class."""
    with answering(409, body) as client, pytest.raises(market.ConflictError) as caught:
        client.offers.buy(id=1, body={"quantity": 1, "price": decimal.Decimal(1)})
    assert (None if caught.value.data is None else type(caught.value.data).__name__) == kind


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"message": "no such route", "code": 7}, None),
        ({}, None),
        ({"what": "offer"}, market.Missing(what="offer")),
        ({"what": "offer", "id": 1}, market.Missing(what="offer", id=1)),
    ],
)
def test_errors_at_work_body_with_nothing_of_the_declared_object_is_none(body: Any, expected: Any) -> None:
    """A proxy may have answered: an object of defaults alone would say what nobody said. A field may be absent."""
    with answering(404, body) as client, pytest.raises(market.NotFoundError) as caught:
        client.offers.get(id=1)
    assert caught.value.data == expected and type(caught.value.data) is type(expected)
