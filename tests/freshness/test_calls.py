"""Calls wait, views show: semantics of reads through a generated package."""

from __future__ import annotations

from typing import Any

import pytest
from tests.freshness.driver import Session
from tests.freshness.programs import Step, World
from tests.freshness.server import Response
from tests.freshness.small import small

import restencil

TICKS = """\
resources:
  ticks:
    path: /ticks/:id
    schema: {entity: Tick, fields: {id: integer, reads: integer}}
"""


def clocked(options: str, asynchronous: bool = False, headers: dict[str, str] | None = None) -> Session:
    """A client of an API whose one record counts how often it was read; `options` of its `get` in YAML."""
    reads = iter(range(1, 100))

    def answer(method: str, target: str, body: Any) -> Any:
        return Response(200, {"id": 1, "reads": next(reads)}, headers or {})

    spec = TICKS + f"    options: {options}\n"
    return small(spec, answer, World(asynchronous=asynchronous))


# 1.1


@pytest.mark.parametrize(
    ("read", "arguments"),
    [
        ("items.get", {"id": 1}),
        ("items.get_list", {}),
        ("items.get_list", {"kind": "a"}),
        ("items.latest", {}),
        ("items.visits", {"id": 1}),
        ("items.by_page", {}),
        ("notes.get_list", {"item_id": 1}),
    ],
)
def test_call_waits_for_fresh_data_after_expiry(session: Session, read: str, arguments: dict[str, Any]) -> None:
    """A call that finds data older than `data_expiry_length` asks and gives the new response."""
    session.call(read, **arguments)
    assert session.requests(read, **arguments) == []
    server = session.server
    server.version += 1
    server.items[1]["title"] = "changed elsewhere"
    server.visits[1] = 7
    server.notes[1]["text"] = "changed elsewhere"
    session.clock.advance("61s")
    before = len(session.network.exchanges)
    value = session.call(read, **arguments)
    assert len(session.asked(before)) == 1
    assert session.wrong(read, arguments, value) is None


def test_call_gives_data_that_is_younger_than_its_expiry_without_asking(session: Session) -> None:
    """Within `data_expiry_length` a call sends nothing."""
    session.call("items.get", id=1)
    session.clock.advance("59s")
    assert session.requests("items.get", id=1) == []


# 1.2


def test_invalid_if_stale_false_gives_old_data_while_it_is_fetched() -> None:
    """`options: {invalid_if_stale: false}` is stale-while-revalidate."""
    with clocked("{invalid_if_stale: false}") as session:
        assert session.call("ticks.get", id=1).reads == 1
        session.clock.advance("61s")
        assert session.call("ticks.get", id=1).reads == 1
        session.clock.settle()
        assert session.call("ticks.get", id=1).reads == 2


@pytest.mark.parametrize(
    ("options", "headers"),
    [("{data_expiry_length: 10s}", {}), ("{freshness: server}", {"Cache-Control": "max-age=10"})],
    ids=["freshness of the spec", "freshness of the server"],
)
def test_call_waits_where_nothing_allows_stale_data(options: str, headers: dict[str, str]) -> None:
    """Without `invalid_if_stale: false`, and without `stale-while-revalidate` of the server, a call waits."""
    with clocked(options, headers=headers) as session:
        session.call("ticks.get", id=1)
        session.clock.advance("11s")
        assert session.call("ticks.get", id=1).reads == 2


def test_invalid_if_stale_of_an_endpoint_goes_before_that_of_its_resource() -> None:
    """The nearest level counts: one endpoint may show old data, and the others wait."""
    reads = iter(range(1, 100))

    def answer(method: str, target: str, body: Any) -> Any:
        record = {"id": 1, "reads": next(reads)}
        return record if target == "/ticks/1" else [record]

    spec = TICKS + "    endpoints: {get_list: {options: {invalid_if_stale: false}}}\n"
    with small(spec, answer) as session:
        session.call("ticks.get_list")
        session.clock.advance("61s")
        assert [tick.reads for tick in session.call("ticks.get_list")] == [1]
        session.clock.advance("61s")
        assert session.call("ticks.get", id=1).reads == 3


def test_freshness_server_shows_stale_data_as_long_as_the_server_allows() -> None:
    """`stale-while-revalidate` of the response counts where `freshness: server` stands, and then a call waits."""
    with clocked("{freshness: server}", headers={"Cache-Control": "max-age=10, stale-while-revalidate=20"}) as session:
        assert session.call("ticks.get", id=1).reads == 1
        session.clock.advance("15s")
        assert session.call("ticks.get", id=1).reads == 1
        session.clock.settle()
        session.clock.advance("40s")
        assert session.call("ticks.get", id=1).reads == 3


# 1.3


def test_views_show_data_however_old(session: Session) -> None:
    """`cached` and `state` show what there is, and ask nothing."""
    session.call("items.get", id=1)
    session.clock.advance("1000s")
    before = len(session.network.exchanges)
    assert session.bound("items.get").cached(id=1).title == "t1"
    state = session.bound("items.get").state(id=1)
    assert state.data.title == "t1" and state.expires_at <= session.clock()
    assert session.asked(before) == []


@pytest.mark.parametrize("cause", ["expiry", "expire()", "change"])
def test_live_read_fetches_what_turns_stale_under_it(session: Session, cause: str) -> None:
    """An open live read asks once when its data turns stale, and shows the new value."""
    seen: list[Any] = []
    session.watch("items.get", {"id": 1}, seen)
    session.clock.settle()
    assert [item.title for item in seen] == ["t1"]
    session.server.version += 1
    session.server.items[1]["title"] = "new"
    before = len(session.network.exchanges)
    if cause == "expiry":
        session.clock.advance("61s")
    elif cause == "expire()":
        session.call("items.get.expire", id=1)
    else:
        session.call("items.mute", "204", id=1, body={"rank": 5})
    session.clock.settle()
    session.clock.advance("1s")
    assert session.asked(before).count("GET /items/1") == 1
    assert seen[-1].title == "new"


def test_live_read_that_opens_at_the_moment_of_expiry_fetches(session: Session) -> None:
    """Data is fresh up to and including that moment: the read shows it, and requests it right after."""
    session.call("items.get", id=1)
    session.clock.advance(60_000)
    seen: list[Any] = []
    session.watch("items.get", {"id": 1}, seen)
    session.clock.settle()
    assert [item.title for item in seen] == ["t1"]
    session.server.items[1]["title"] = "new"
    session.clock.advance(2)
    assert seen[-1].title == "new"


def test_live_read_shows_the_old_value_until_the_new_one_comes(session: Session) -> None:
    """While a live read fetches, its value stays."""
    seen: list[Any] = []
    session.watch("items.get", {"id": 1}, seen)
    session.clock.settle()
    session.begin(Step("start", 1, "items.get.expire", {"id": 1}))
    assert [one.target for one in session.network.under_way] == ["/items/1"]
    assert [item.title for item in seen] == ["t1"]
    assert session.bound("items.get").cached(id=1).title == "t1"
    session.step_held(1, deliver=True)
    assert session.is_fresh("items.get", {"id": 1})


# 1.4


def test_failed_request_without_any_data_raises_under_a_soft_policy() -> None:
    """Where there is no data at all, a soft policy raises too."""
    spec = TICKS + "    options: {error_policy: soft}\n"
    with small(spec, lambda method, target, body: Response(500, {})) as session, pytest.raises(restencil.ServerError):
        session.call("ticks.get", id=1)


def test_call_joins_no_request_that_was_sent_before_a_change(asynchronous: bool) -> None:
    """The list was asked for before item 4 was created; a call after that sends a request of its own."""
    with Session(World(asynchronous=asynchronous)) as session:
        session.begin(Step("start", 1, "items.get_list"))
        session.step_held(1, deliver=False)
        session.call("items.create", body={"title": "new"})
        assert len(session.call("items.get_list")) == 4
        session.step_held(1, deliver=True)
        assert len(session.call("items.get_list")) == 4
