"""Data that lives as long as its server says: each row of the table, by a clock of the test."""

from __future__ import annotations

from itertools import count
from typing import Any

import httpx
import pytest
from tests.runtime.worlds import answered_by

from restencil import Controller, Entity, Manager, NetworkManager, RestEndpoint, Store, SubscriptionManager
from restencil.base.freshness import lifetime_of
from restencil.cache.policy import ExpiryStatus
from restencil.testing import FakeClock

DATE = "Mon, 05 Jan 2026 10:00:00 GMT"
LATER = "Mon, 05 Jan 2026 10:00:30 GMT"
EARLIER = "Mon, 05 Jan 2026 09:00:00 GMT"
SERVER = "server"


class Rate(Entity, key="Rate"):
    id: str = ""
    value: int = 0


class Origin:
    """Answers with the headers that it was told, and a value that grows; it may fail, and takes its time."""

    def __init__(self, clock: FakeClock, headers: dict[str, str], delay: float = 0) -> None:
        self.clock = clock
        self.headers = headers
        self.delay = delay
        self.asked = 0
        self.fails: int | Exception | None = None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if self.delay:
            self.clock.sleep(self.delay)
        if isinstance(self.fails, Exception):
            raise self.fails
        if self.fails:
            return httpx.Response(self.fails)
        return httpx.Response(200, json={"id": "1", "value": self.asked}, headers=self.headers)


def opened(
    clock: FakeClock, headers: dict[str, str], *managers: Manager, delay: float = 0, **options: Any
) -> tuple[Origin, Controller, Any]:
    """A server that answers so, a controller, and an endpoint whose data lives by it."""
    origin = Origin(clock, headers, delay)
    http = httpx.Client(transport=httpx.MockTransport(origin))
    controller = Controller(clock.store(), client=http, managers=[*managers, NetworkManager(), SubscriptionManager()])
    rate: Any = RestEndpoint(
        **{"url_prefix": "http://mock", "path": "/rates/:id", "schema": Rate, "freshness": SERVER, **options}
    )
    return origin, controller, rate


ONE: dict[str, Any] = {"id": "1"}

ROWS: list[tuple[dict[str, str], float | None]] = [
    # the answer has                                       fresh for so many seconds from its request on
    ({"Cache-Control": "max-age=30"}, 30),
    ({"Cache-Control": "max-age=30", "Age": "10"}, 20),
    ({"Cache-Control": "max-age=30", "Age": "40"}, 0),
    ({"Cache-Control": "max-age=30", "Age": "old"}, 30),
    ({"Cache-Control": "max-age=30, max-age=60"}, 30),
    ({"Cache-Control": 'MAX-AGE="30"'}, 30),
    ({"Cache-Control": "max-age=soon"}, 0),
    ({"Cache-Control": "max-age=-1"}, 0),
    ({"Cache-Control": "max-age=1.5"}, 0),
    ({"Cache-Control": "max-age"}, 0),
    ({"Cache-Control": "max-age=30", "Expires": EARLIER, "Date": DATE}, 30),
    ({"Expires": LATER, "Date": DATE}, 30),
    ({"Expires": "Mon Jan  5 10:00:30 2026", "Date": DATE}, 30),
    ({"Expires": EARLIER, "Date": DATE}, 0),
    ({"Expires": "0", "Date": DATE}, 0),
    ({"Expires": LATER}, 0),
    ({"Last-Modified": EARLIER, "Date": DATE}, None),
    ({}, None),
    ({"Cache-Control": "public"}, None),
    ({"Cache-Control": "no-store, max-age=30"}, 0),
    ({"Cache-Control": "no-cache, max-age=30"}, 0),
    ({"Cache-Control": "max-age=30", "Vary": "*"}, 0),
    ({"Pragma": "no-cache"}, 0),
    ({"Pragma": "no-cache", "Cache-Control": "max-age=30"}, 30),
    ({"Cache-Control": "immutable, s-maxage=5, private, max-age=30"}, 30),
]


@pytest.mark.parametrize(("headers", "seconds"), ROWS)
def test_server_freshness_data_lives_as_long_as_the_response_says(
    headers: dict[str, str], seconds: float | None, clock: FakeClock
) -> None:
    """Counted from the start of the request, whatever the time of the answer; where nothing is said, as configured."""
    _, controller, rate = opened(clock, headers, delay=200)
    begun = clock()
    controller.fetch(rate, ONE)
    expected = begun + 200 + 60_000 if seconds is None else begun + seconds * 1000
    assert controller.get_response(rate, ONE).expires_at == expected
    meta = controller.store.entity_meta("Rate", "1")
    assert meta is not None and meta.expires_at == expected


@pytest.mark.parametrize(
    ("headers", "bounds", "seconds"),
    [
        ({"Cache-Control": "max-age=1"}, {"at_least": "5s"}, 5),
        ({"Cache-Control": "max-age=90"}, {"at_most": 60_000}, 60),
        ({"Cache-Control": "max-age=30"}, {"at_least": "5s", "at_most": "1h"}, 30),
        ({"Cache-Control": "no-cache"}, {"at_least": "5s"}, 5),
        ({}, {"at_most": "10s"}, 10),
        ({}, {}, 60),
    ],
)
def test_server_freshness_bounds_hold_for_all_that_is_said(
    headers: dict[str, str], bounds: dict[str, Any], seconds: float, clock: FakeClock
) -> None:
    """Data lives for `at_least` and `at_most` so long, whatever the answer says or does not say."""
    _, controller, rate = opened(clock, headers, freshness={"server": bounds})
    controller.fetch(rate, ONE)
    assert controller.get_response(rate, ONE).expires_at == clock() + seconds * 1000


@pytest.mark.parametrize(
    "headers",
    [
        {"Cache-Control": "no-cache"},
        {"Cache-Control": "no-store"},
        {"Cache-Control": 'no-cache="Set-Cookie"'},
        {"Cache-Control": "max-age=60", "Vary": "Accept, *"},
        {"Pragma": "no-cache"},
    ],
)
def test_server_freshness_what_may_not_be_shown_is_waited_for(
    headers: dict[str, str], asynchronous: bool, clock: FakeClock
) -> None:
    """Stale at once, and the next read waits for a new answer."""
    origin = Origin(clock, headers)
    rate: Any = RestEndpoint(url_prefix="http://mock", path="/rates/:id", schema=Rate, freshness=SERVER)
    controller = answered_by(origin, clock.store(), asynchronous)
    for expected in (1, 2, 3):
        clock.advance(1)
        assert clock.run(lambda: controller.read(rate, ONE)).value == expected
    assert controller.get_response(rate, ONE).expiry_status is ExpiryStatus.InvalidIfStale
    assert controller.cached(rate, ONE).value == 3


def test_server_freshness_after_must_revalidate_a_read_waits_and_a_failure_is_raised(clock: FakeClock) -> None:
    """Once stale it is never shown by a read, whatever the policy for errors says."""
    origin, controller, rate = opened(
        clock,
        {"Cache-Control": "max-age=10, must-revalidate, stale-while-revalidate=60, stale-if-error=60"},
        error_policy=lambda error: "soft",
    )
    controller.read(rate, ONE)
    clock.advance(10_001)
    origin.fails = 503
    with pytest.raises(Exception, match="503"):
        controller.read(rate, ONE)
    clock.advance(2_000)
    origin.fails = httpx.ConnectError("refused")
    with pytest.raises(Exception, match="refused"):
        controller.read(rate, ONE)
    clock.advance(2_000)
    origin.fails = None
    assert controller.read(rate, ONE).value == origin.asked


def test_server_freshness_stale_while_revalidate_of_no_number_shows_nothing(clock: FakeClock) -> None:
    """What cannot be read allows nothing."""
    _, controller, rate = opened(clock, {"Cache-Control": "max-age=10, stale-while-revalidate=long"})
    controller.read(rate, ONE)
    clock.advance(10_001)
    assert controller.read(rate, ONE).value == 2


@pytest.mark.parametrize("failure", [503, httpx.ConnectError("refused")])
def test_server_freshness_stale_if_error_excuses_for_so_long(failure: Any, clock: FakeClock) -> None:
    """For n seconds a 5xx or no answer counts as soft, later as hard, whatever the policy for errors says."""
    for policy in (None, lambda error: "soft"):
        origin, controller, rate = opened(
            clock, {"Cache-Control": "max-age=10, stale-while-revalidate=0, stale-if-error=20"}, error_policy=policy
        )
        controller.read(rate, ONE)
        origin.fails = failure
        clock.advance(29_000)
        assert controller.read(rate, ONE).value == 1
        clock.advance(5_000)
        with pytest.raises(Exception, match=r"503|refused"):
            controller.read(rate, ONE)


def test_server_freshness_stale_if_error_says_nothing_of_refusals(clock: FakeClock) -> None:
    """A 404 is what the policy says it is."""
    origin, controller, rate = opened(clock, {"Cache-Control": "max-age=10, no-cache, stale-if-error=60"})
    controller.read(rate, ONE)
    origin.fails = 404
    clock.advance(11_000)
    with pytest.raises(Exception, match="404"):
        controller.read(rate, ONE)


def test_server_freshness_response_without_change_renews_what_the_server_said(clock: FakeClock) -> None:
    """A 304 counts from its own request on, with its own headers over the kept ones, and no old `Age`."""

    def origin(request: httpx.Request) -> httpx.Response:
        if "if-none-match" in request.headers:
            return httpx.Response(304, headers={"ETag": '"a"', "Age": "5"})
        return httpx.Response(
            200, json={"id": "1"}, headers={"ETag": '"a"', "Cache-Control": "max-age=30", "Age": "20"}
        )

    controller = Controller(clock.store(), client=httpx.Client(transport=httpx.MockTransport(origin)))
    rate: Any = RestEndpoint(url_prefix="http://mock", path="/rates/:id", schema=Rate, freshness=SERVER)
    controller.fetch(rate, ONE)
    assert controller.get_response(rate, ONE).expires_at == clock() + 10_000
    clock.advance(1_000)
    controller.fetch(rate, ONE)
    assert controller.get_response(rate, ONE).expires_at == clock() + 25_000


@pytest.mark.parametrize("header", ["max-age=0", "no-cache", "no-store"])
def test_server_freshness_live_read_asks_once_for_what_is_stale_when_it_comes(header: str) -> None:
    """An answer that is stale at once starts no request by itself: there would be no end."""
    ticks = count(1_000)
    origin = Origin(FakeClock(), {"Cache-Control": header})
    store = Store(clock=lambda: next(ticks))  # time passes with each look at it
    controller = Controller(store, client=httpx.Client(transport=httpx.MockTransport(origin)))
    rate: Any = RestEndpoint(url_prefix="http://mock", path="/rates/:id", schema=Rate, freshness=SERVER)
    with controller, controller.live(rate, ONE) as live:
        assert next(live).value == 1
        controller.fetch(rate, ONE)
        assert next(live).value == 2
        controller.expire_all(rate)
        assert next(live).value in (2, 3)
        controller.all_settled()
        controller.set(Rate, {"id": "1", "value": 9})
        assert next(live).value == 9
        controller.all_settled()
        assert origin.asked == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("always", "expected 'client', 'server'"),
        ({"server": {"at_last": "5s"}}, "only members are at_least and at_most"),
        ({"client": {}}, "only members"),
        ({"server": {"at_least": -1}}, "durations"),
        ({"server": {"at_least": "1h", "at_most": "5s"}}, "is more than at_most"),
    ],
)
def test_server_freshness_what_no_freshness_can_be_is_rejected(value: Any, text: str) -> None:
    """A mistake is told when the endpoint is made."""
    with pytest.raises(ValueError, match=text):
        RestEndpoint(path="/rates/:id", freshness=value)


def test_server_freshness_life_has_an_end() -> None:
    """What is fresh for longer than ten years is fresh for ten years, so that no number is too large to count with."""
    assert lifetime_of({"cache-control": "max-age=" + "9" * 400}).fresh == 10 * 365 * 24 * 3600
