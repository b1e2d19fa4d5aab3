"""Durations: a number of milliseconds, a text with its unit, a timedelta, wherever a user writes one."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from restencil import Controller, Endpoint, GCPolicy, NetworkManager, RestEndpoint, Retries
from restencil.base import durations
from restencil.http.transport import AsyncTransport, SyncTransport
from restencil.testing import FakeClock

HALF_A_MINUTE: list[Any] = [30_000, "30s", " 30 s ", "0.5m", "30000ms", datetime.timedelta(seconds=30)]


@pytest.mark.parametrize("given", HALF_A_MINUTE)
def test_duration_has_many_forms(given: Any) -> None:
    """Options of endpoints, also those that a class sets; what managers, policies, controllers and clocks take."""

    class Slow(RestEndpoint):
        poll_frequency = given

    names = ("timeout", "data_expiry_length", "error_expiry_length", "poll_frequency")
    for endpoint in (RestEndpoint(path="/a", **dict.fromkeys(names, given)), Slow(path="/a", timeout=given)):
        assert {getattr(endpoint, name) for name in names} - {None} == {30_000}
        assert endpoint.extend(path="/b").timeout == 30_000
    assert Endpoint(print, name="a", data_expiry_length=given).data_expiry_length == 30_000
    manager = NetworkManager(given, given)
    assert (manager.data_expiry_length, manager.error_expiry_length, GCPolicy(given).interval) == (30_000,) * 3
    retries = Retries(base_delay=given, max_delay=given, max_retry_after=given, jitter=0)
    assert (retries.base_delay, retries.max_delay, retries.max_retry_after) == (30_000,) * 3
    assert SyncTransport(timeout=given).timeout == AsyncTransport(timeout=given).timeout == 30_000
    clock = FakeClock(1_000)
    clock.advance(given)
    assert clock() == 31_000


@pytest.mark.parametrize("given", ["5", "5 days", "-1s", "", [], True])
def test_durations_what_is_no_duration_is_reported(given: Any) -> None:
    """What was found, where, and what is expected."""
    with pytest.raises(TypeError, match="timeout is .*; expected a number of milliseconds, a string such as '30s'"):
        Controller(timeout=given)
    with pytest.raises(TypeError, match="data_expiry_length of endpoint '/a' is .*; expected a number of milliseconds"):
        RestEndpoint(path="/a", data_expiry_length=given)


def test_durations_timeout_that_looks_like_seconds_gets_one_hint(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`timeout=30` is 30 milliseconds; a text or timedelta says what it is, and so does a larger number."""
    monkeypatch.setattr(durations, "_hinted", set())
    for quiet in (100, "30ms", datetime.timedelta(milliseconds=30)):
        Controller(timeout=quiet).close()
    assert caplog.text == ""
    RestEndpoint(path="/a", timeout=30)
    Controller(timeout=5).close()
    assert [record.message for record in caplog.records] == [
        "timeout of endpoint '/a' is 30, which is milliseconds; if seconds are meant, write '30s'"
    ]
