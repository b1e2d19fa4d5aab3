"""Error classes of a generated package at work, against the mock server: what is raised, and what its `data` is."""

from __future__ import annotations

import asyncio
import copy
import decimal
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import httpx
import pytest
from tests.mocked import mocked
from tests.patience import PATIENCE

import market
import restencil
from restencil_generator.spec.error_classes import BASE, CLASSES

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the mock server of the market listens."""
    with mocked("specs/market.yaml") as found:
        yield found


def failing(client: market.Market, status: int) -> market.Market:
    """The client, whose calls the mock server answers by this status."""
    return client.with_options(headers={"Prefer": f"status={status}"})


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
    with market.Market(url_prefix=address) as client:
        with pytest.raises(market.NotFoundError) as caught:
            client.offers.get(id=4711)
    error = caught.value
    assert isinstance(error.data, market.Missing)
    assert error.data.what
    assert isinstance(error, restencil.NotFoundError)
    assert error.status == 404
    for copied in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(copied) is market.NotFoundError
        assert copied.data == error.data


def test_errors_at_work_data_of_a_class_has_the_declared_types() -> None:
    """Both checkers find them: the union over all endpoints, and nothing where any of them takes any JSON."""

    def told(
        missing: market.NotFoundError,
        conflict: market.ConflictError,
        limited: market.RateLimitError,
        down: market.ServerError,
    ) -> None:
        assert_type(missing.data, market.Missing | market.Problem | None)
        assert_type(conflict.data, market.OutOfStock | market.PriceChanged | market.Problem | None)
        assert_type(limited.data, market.Problem | None)
        assert_type(down.data, Any)

    assert callable(told)


def test_errors_at_work_coroutine_raises_the_same(address: str) -> None:
    """With asyncio, class and data are the same; `except*` finds them in a group."""
    found: list[object] = []

    async def ask() -> None:
        async with market.AsyncMarket(url_prefix=address) as client:
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(client.offers.get(id=4711))
                    group.create_task(client.offers.get(id=4711))
            except* market.NotFoundError as errors:
                found.extend(error.data for error in errors.exceptions if isinstance(error, market.NotFoundError))

    asyncio.run(ask())
    assert [type(data) for data in found] == [market.Missing, market.Missing]


def test_errors_at_work_nearest_level_gives_the_shape(address: str) -> None:
    """What a resource says of a status comes before what the spec says; any JSON is as it came."""
    with market.Market(url_prefix=address) as client:
        with pytest.raises(market.NotFoundError) as missing:
            failing(client, 404).sellers.get(id=1)
        assert isinstance(missing.value.data, market.Problem)
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
            client.request("GET", "/offers/4711")
        assert isinstance(missing.value.data, market.Missing)
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
        ({"title": "gone"}, None),
        ({"title": "gone", "left": "none"}, None),
        ([], None),
        ("<html>", None),
    ],
)
def test_errors_at_work_one_of_several_objects_is_reported_by_what_is_in_it(body: Any, kind: str | None) -> None:
    """By its constants, else by the fields that it must have; what fits none of them gives None and the same class."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(409, text=body) if isinstance(body, str) else httpx.Response(409, json=body)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http, market.Market(client=http) as client:
        with pytest.raises(market.ConflictError) as caught:
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
    transport = httpx.MockTransport(lambda request: httpx.Response(404, json=body))
    with httpx.Client(transport=transport) as http, market.Market(client=http) as client:
        with pytest.raises(market.NotFoundError) as caught:
            client.offers.get(id=1)
    assert caught.value.data == expected and type(caught.value.data) is type(expected)


def test_errors_at_work_classes_are_imported_at_the_first_error_only(address: str) -> None:
    """A program that meets no error does not load them."""
    program = f"""
import sys, market
with market.Market(url_prefix={address!r}) as client:
    client.offers.get_list()
    assert "market._errors" not in sys.modules
    try:
        client.offers.get(id=4711)
    except market.NotFoundError as error:
        print(type(error.data).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(str(ROOT / folder) for folder in ("runtime", "tests/golden")), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("Missing\n", "")


def test_errors_at_work_entity_is_sent_as_its_key() -> None:
    """Where the spec says `send: pk`, a body holds the key of an entity; also of one that was read."""
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        offer = {"id": 1, "name": "a", "price": "1", "seller": {"id": 7, "name": "ada"}}
        return httpx.Response(200, json=offer)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http, market.Market(client=http) as client:
        offer = client.offers.get(id=1)
        client.offers.partial_update(id=1, body={"seller": offer.seller})
        client.offers.partial_update(id=1, body={"seller": 8})
    assert sent[1:] == [b'{"seller":7}', b'{"seller":8}']
