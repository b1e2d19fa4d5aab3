"""Unions, formats, marks of fields and identities of a generated package at work, against the mock server."""

from __future__ import annotations

import datetime
import decimal

from tests.generator.packages.conftest import Opened

import market

NOON = datetime.datetime(2024, 1, 31, 12, tzinfo=datetime.UTC)


def test_types_at_work_payment_is_of_the_types_that_it_says(opened: Opened) -> None:
    """Alternatives, enums in place and formats come as declared; what is sent comes back; a secret does not."""
    client, run = opened
    listed = run(client.payments.get_list())
    assert {type(payment.source) for payment in listed} == {market.Card}
    assert {type(payment.payer) for payment in listed} == {market.Buyer}
    assert listed[0].state in ("open", "settled")
    assert listed[0].paid_at.tzinfo is not None
    bank = market.Bank(iban="DE00")
    body = {"amount": decimal.Decimal("9.50"), "source": bank, "due": NOON, "pin": "0000"}
    paid = run(client.payments.create(body=body))
    assert isinstance(paid.source, market.Bank)
    assert (paid.source.kind, paid.source.iban, paid.due) == ("bank", "DE00", NOON)
    assert "pin" not in paid.to_dict()
    assert run(client.payments.get(id=paid.id)) is paid
    changed = run(client.payments.partial_update(id=paid.id, body={"source": "cash"}))
    assert changed.source == "cash"
    card = {"kind": "card", "last_digits": "42"}
    changed = run(client.payments.partial_update(id=paid.id, body={"source": card}))
    assert isinstance(changed.source, market.Card)
    assert changed.source.last_digits == "42"
    settled = run(client.payments.settle(id=paid.id, body={"kind": "card", "last_digits": "7"}))
    assert settled.id == paid.id
    report = run(client.payments.report())
    assert report["payments"][0] is run(client.payments.get(id=listed[0].id))
    run(client.payments.delete(id=paid.id))  # other tests look at what the server begins with


def test_types_at_work_list_below_a_field_of_its_records_follows_them(opened: Opened) -> None:
    """The hall of a shelf is in its place, and a shelf is found by the number there."""
    client, run = opened
    assert run(client.shelves.get_list(hall=77)) == []
    made = run(client.shelves.create(hall=77, body={"label": "Tea", "place": {"number": 4}}))
    assert (made.place.hall, made.place.number) == (77, 4)
    assert run(client.shelves.get(hall=77, shelf=4)) is made
    assert [one.label for one in run(client.shelves.get_list(hall=77))] == ["Tea"]
    run(client.shelves.delete(hall=77, shelf=4))
    assert list(run(client.shelves.get_list(hall=77))) == []


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
