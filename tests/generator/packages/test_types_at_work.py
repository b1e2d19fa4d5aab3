"""Unions, formats, marks of fields and identities of a generated package at work, against the mock server."""

from __future__ import annotations

import asyncio
import datetime
import decimal

import market

NOON = datetime.datetime(2024, 1, 31, 12, tzinfo=datetime.UTC)


def test_types_at_work_payment_is_of_the_types_that_it_says(address: str) -> None:
    """Alternatives, enums in place and formats come as declared; what is sent comes back; a secret does not."""
    with market.Market(url_prefix=address) as client:
        listed = client.payments.get_list()
        assert {type(payment.source) for payment in listed} == {market.Card}
        assert {type(payment.payer) for payment in listed} == {market.Buyer}
        assert listed[0].state in ("open", "settled")
        assert listed[0].paid_at.tzinfo is not None
        paid = client.payments.create(
            body={
                "amount": decimal.Decimal("9.50"),
                "source": market.Bank(iban="DE00"),
                "due": NOON,
                "pin": "0000",
            }
        )
        assert isinstance(paid.source, market.Bank)
        assert (paid.source.kind, paid.source.iban, paid.due) == ("bank", "DE00", NOON)
        assert "pin" not in paid.to_dict()
        assert client.payments.get(id=paid.id) is paid
        changed = client.payments.partial_update(id=paid.id, body={"source": "cash"})
        assert changed.source == "cash"
        changed = client.payments.partial_update(id=paid.id, body={"source": {"kind": "card", "last_digits": "42"}})
        assert isinstance(changed.source, market.Card)
        assert changed.source.last_digits == "42"
        settled = client.payments.settle(id=paid.id, body={"kind": "card", "last_digits": "7"})
        assert settled.id == paid.id
        assert client.payments.report()["payments"][0] is client.payments.get(id=listed[0].id)


def test_types_at_work_so_it_is_for_asyncio(address: str) -> None:
    """The same in the other world."""

    async def run() -> None:
        async with market.AsyncMarket(url_prefix=address) as client:
            paid = await client.payments.create(body={"amount": decimal.Decimal(1), "source": "cash", "pin": "1"})
            assert paid.source == "cash"
            assert isinstance(paid.payer, market.Buyer)
            await client.payments.delete(id=paid.id)  # other tests look at what the server begins with
            shelf = (await client.shelves.get_list(hall=77))[:1]
            assert shelf == []
            made = await client.shelves.create(hall=77, body={"label": "Tea", "place": {"number": 4}})
            assert (made.place.hall, made.place.number) == (77, 4)
            assert await client.shelves.get(hall=77, shelf=4) is made
            assert [one.label for one in await client.shelves.get_list(hall=77)] == ["Tea"]
            await client.shelves.delete(hall=77, shelf=4)
            assert list(await client.shelves.get_list(hall=77)) == []

    asyncio.run(run())


def test_types_at_work_datetimes_of_calls_have_their_format(address: str) -> None:
    """A search parameter in milliseconds since 1970 stands so in the URL, and so in the key."""
    key = market.Payments.get_list.key(since=NOON, state="open")
    assert key == "GET https://market.example/api/payments?since=1706702400000&state=open"
    assert market.Payments.report.key(as_of=NOON).endswith("/payments/report x-as-of=1706702400")
    with market.Market(url_prefix=address) as client:
        assert {payment.state for payment in client.payments.get_list(state="settled")} <= {"settled"}
        assert client.payments.report(as_of=NOON)["payments"]


def test_types_at_work_numbers_that_count_per_offer_are_distinguished_by_the_path(address: str) -> None:
    """A question of one offer is not that of another; a summary is no answer."""
    with market.Market(url_prefix=address) as client:
        first = client.questions.create(offer=1, body={"title": "How big?"})
        second = client.questions.create(offer=2, body={"title": "How small?"})
        assert (first.offer, second.offer) == (1, 2)
        assert first is not second
        assert client.questions.get(offer=2, number=second.number) is second
        assert [one.title for one in client.questions.get_list(offer=2)][-1] == "How small?"


def test_types_at_work_there_is_one_record_of_an_empty_key(address: str) -> None:
    """Whatever was asked, it is the same."""
    with market.Market(url_prefix=address) as client:
        term = client.terms.get(language="en")
        assert term.text
        assert client.store.state["entities"]["Term"].keys() == {"[]"}


def test_types_at_work_lines_without_a_key_stay_where_they_stand(address: str) -> None:
    """They are instances, whether a table knows them or not."""
    with market.Market(url_prefix=address) as client:
        receipt = client.receipts.get_list()[0]
        assert all(isinstance(line, market.Line) for line in receipt.lines)
