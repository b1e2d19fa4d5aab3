"""Partitions: what other headers or tokens may change is kept in a store of its own."""

from __future__ import annotations

import gc
import importlib
import logging
import os
from collections.abc import Sequence
from contextlib import closing
from typing import Any
from weakref import WeakSet

import pytest
from tests.patience import eventually
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import article, as_json, echoing, opened

import restencil
from blog import Article, Blog
from restencil import Api, Auth, GCPolicy, LogoutManager, Manager, NetworkError, NetworkManager, Store
from restencil.testing import FakeClock, MockServer

GERMAN: dict[str, Any] = {"headers": {"Accept-Language": "de"}}


# -- what is kept apart -----------------------------------------------------------------------------------------------


def test_partitions_english_title_stays_english(asynchronous: bool) -> None:
    """What a German view fetches shows in German views alone; each asks the server once."""
    with Server(echoing) as server, opened(asynchronous, server.url) as (news, run):
        german = news.with_options(**GERMAN)
        english = run(news.articles.get(id=1))
        assert english.title == "en"
        assert run(german.articles.get(id=1)).title == "de"
        assert run(german.with_options(timeout=5_000).articles.get(id=1)).title == "de"
        assert run(news.articles.get(id=1)) is english and news.get(Article, id=1) is english
        assert german.get(Article, id=1).title == "de"
        assert len(server.arrived) == 2
        assert german.store is not news.store
        assert german.store is german.with_options(timeout=5_000, query={"q": "1"}).store
        assert german.articles.get.key(id=1) == news.articles.get.key(id=1)


def by_token(request: Arrived) -> Reply:
    """Answers with what is known of who asks: token and cookie; the first answer to each token sets one."""
    token, cookie = request.headers.get("access-token", ""), request.headers.get("cookie", "")
    headers = {} if cookie else {"Set-Cookie": f"sid=of-{token}; Path=/"}
    return as_json(article(1, title=f"{token} {cookie}".strip()), headers=headers)


@pytest.mark.network
@pytest.mark.parametrize("given", [False, True], ids=["own", "given"])
def test_partitions_of_two_tokens_share_nothing(asynchronous: bool, given: bool) -> None:
    """Each token has a store and cookies of its own, whatever else its views are told and whose HTTP client it is."""
    library: Any = importlib.import_module(os.environ.get("RESTENCIL_HTTP", "httpx"))
    client = (library.AsyncClient() if asynchronous else library.Client()) if given else None
    with Server(by_token) as server, opened(asynchronous, server.url, client=client) as (news, run):
        ann, bob = news.with_options(token="ann"), news.with_options(token=lambda: "bob")
        for _ in range(2):
            for view in (news, ann, bob, ann.with_options(**GERMAN), news.with_options(**GERMAN)):
                run(view.articles.get.fetch(id=1))
        titles = [run(view.articles.get(id=1)).title for view in (news, ann, bob)]
        assert titles == ["secret sid=of-secret", "ann sid=of-ann", "bob sid=of-bob"]
        sent = [(request.headers["access-token"], request.headers.get("cookie")) for request in server.arrived]
        assert sent == [
            ("secret", None),
            ("ann", None),
            ("bob", None),
            ("ann", "sid=of-ann"),
            ("secret", "sid=of-secret"),
            ("secret", "sid=of-secret"),
            ("ann", "sid=of-ann"),
            ("bob", "sid=of-bob"),
            ("ann", "sid=of-ann"),
            ("secret", "sid=of-secret"),
        ]
        assert len({id(view.store) for view in (news, ann, bob, ann.with_options(**GERMAN))}) == 4
        keys = {*ann.store.state["endpoints"], *bob.store.state["endpoints"]}
        assert keys == {"GET https://api.blog.example/v1/articles/1"}
        if client is not None:
            assert dict(client.cookies) == {}
            run(client.aclose()) if asynchronous else client.close()


def test_partitions_token_with_vary_false_is_the_same_principal(asynchronous: bool) -> None:
    """The call carries it; data and cookies are those of the client."""
    with Server(by_token) as server, opened(asynchronous, server.url) as (news, run):
        renewed = news.with_options(token="renewed", vary=False)
        run(news.articles.get(id=1))
        assert renewed.store is news.store
        run(renewed.articles.get.fetch(id=1))
        sent = [(request.headers["access-token"], request.headers.get("cookie")) for request in server.arrived]
        assert sent == [("secret", None), ("renewed", "sid=of-secret")]
        assert news.articles.get.cached(id=1).title == "renewed sid=of-secret"


class _Inert(Blog):
    _api = Api(url_prefix="https://api.blog.example/v1", auth=Auth.bearer(), inert_headers=("X-Audit-Reason",))


def test_partitions_inert_headers_make_no_partition() -> None:
    """Those that never change an answer, and those that the spec names; `vary=False` says so of a call."""
    news = _Inert(token="t")
    inert = [
        *("traceparent", "tracestate", "baggage", "X-Request-Id", "x-correlation-id", "Idempotency-Key", "User-Agent"),
        *("If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "Cache-Control", "Pragma", "Prefer"),
        "x-audit-reason",
    ]
    for name in inert:
        assert news.with_options(headers={name: "1"}).store is news.store
    assert news.with_options(headers={"X-Tenant": "1"}, vary=False).store is news.store
    assert news.with_options(headers={"X-Tenant": "1"}).store is not news.store
    assert Blog().with_options(headers={"X-Audit-Reason": "1"}).store is not Blog().store


def test_partitions_thousands_of_trace_ids_make_one_store_and_no_growth() -> None:
    """A view for each request costs what it is used for, and nothing of it stays."""

    def stores() -> int:
        gc.collect()
        return sum(isinstance(found, Store) for found in gc.get_objects())

    with Server(echoing) as server, Blog(token="x", url_prefix=server.url) as news:
        news.articles.get(id=1)
        before, grown = stores(), []
        for count in range(2_000):
            assert news.with_options(headers={"X-Request-Id": f"{count:032x}"}).articles.get(id=1).id == 1
            if count in (999, 1_999):
                gc.collect()
                grown.append(len(gc.get_objects()))
        assert stores() == before
        assert grown[1] - grown[0] < 500
        assert len(server.arrived) == 1


def test_partition_has_clock_scheduler_and_limits_of_the_client() -> None:
    """Its store is of the same kind, and empty."""
    with closing(FakeClock()) as clock:
        store = clock.store(max_entities=2, gc=GCPolicy(interval=1_000), validate="strict")
        with Blog(store, client=MockServer(clock).client(), token="x") as news:
            other = news.with_options(**GERMAN).store
            assert other is not store and other.scheduler is store.scheduler and other.now() == store.now()
            assert type(other.gc) is GCPolicy and other.gc is not store.gc and other.gc.interval == 1_000
            clock.advance(5_000)
            assert other.now() == store.now()
            for number in (1, 2, 3):
                news.with_options(**GERMAN).articles.get.set_response(article(number), id=number)
            assert len(other.state["entities"]["Article"]) <= 2
            with pytest.raises(Exception, match="title"):
                news.with_options(**GERMAN).articles.get.set_response(article(4, title=5), id=4)


# -- what others hear -------------------------------------------------------------------------------------------------


def test_partitions_change_through_a_partition_that_read_nothing_is_hinted_at_once_per_header(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its header probably changes nothing, and then wants `vary=False`."""
    with Server(echoing) as server, Blog(token="x", url_prefix=server.url) as news:
        news.with_options(headers={"X-Why": "unheard"}).articles.partial_update(id=2, body={"title": "C"})
        assert caplog.records == []  # nothing was stored anywhere that could be stale
        news.articles.get(id=1)
        for value in ("one", "two"):
            news.with_options(headers={"X-Why": value}).articles.partial_update(id=1, body={"title": "C"})
        german = news.with_options(**GERMAN)
        german.articles.get(id=1)
        german.articles.partial_update(id=1, body={"title": "D"})
    assert [record.getMessage() for record in caplog.records if record.name == "restencil"] == [
        "a change was sent with the header 'X-Why', which may change responses, so the data that it changed is now "
        "stale in other stores of the client. If the header does not change responses, pass it with vary=False, or "
        "add it to inert_headers in the spec"
    ]
    assert "one" not in caplog.text and caplog.records[0].levelno == logging.WARNING


# -- reset and close --------------------------------------------------------------------------------------------------


def known(views: Sequence[Any]) -> list[bool]:
    """Which of them have the article."""
    return [view.get(Article, id=1) is not None for view in views]


def test_partitions_reset_of_the_client_resets_all_partitions(asynchronous: bool) -> None:
    """That of a view its own store; also those that the client keeps no more, if someone has them."""
    with Server(echoing) as server, opened(asynchronous, server.url) as (news, run):
        german, other = news.with_options(**GERMAN), news.with_options(token="other")
        views = (news, german, other)
        for view in views:
            run(view.articles.get(id=1))
        german.reset_entire_store()
        eventually(lambda: known(views) == [True, False, True])  # who asked is told first
        run(german.articles.get(id=1))
        for count in range(40):
            news.with_options(headers={"X-Tenant": str(count)})
        news.reset_entire_store()
        assert known(views) == [False, False, False]


def test_partitions_logout_is_of_its_partition_or_of_all() -> None:
    """A 401 for one token resets the store of that one; for the client's own, the client and all its partitions."""
    refused: set[str] = set()

    def answer(request: Arrived) -> Reply:
        return as_json({}, status=401) if request.headers["access-token"] in refused else by_token(request)

    def managers() -> list[Manager]:
        return [LogoutManager(), NetworkManager(), restencil.SubscriptionManager()]

    with Server(answer) as server, Blog(token="own", url_prefix=server.url, managers=managers) as news:
        ann, bob = news.with_options(token="ann"), news.with_options(token="bob")
        views = (news, ann, bob)
        for view in views:
            view.articles.get(id=1)
        refused.add("ann")
        with pytest.raises(NetworkError):
            ann.articles.get.fetch(id=1)
        eventually(lambda: known(views) == [True, False, True])  # who asked is told first
        refused.add("own")
        with pytest.raises(NetworkError):
            news.articles.get.fetch(id=1)
        eventually(lambda: known(views) == [False, False, False])


def test_partitions_closing_the_client_closes_all(asynchronous: bool) -> None:
    """What is subscribed in a partition ends; an open client opens all again."""
    with Server(echoing) as server, opened(asynchronous, server.url) as (news, run):
        german = news.with_options(**GERMAN)
        run(german.articles.get(id=1))
        live = german.articles.get.live(id=1)
        if not asynchronous:
            live.__enter__()
        run(news.aclose()) if asynchronous else news.close()
        assert not german.opened
        with pytest.raises(RuntimeError, match="closed"):
            run(german.articles.get.fetch(id=1))
        assert news.with_options(headers={"Accept-Language": "fr"}).opened is False
        news.open()
        assert german.opened and run(german.articles.get.fetch(id=1)).title == "de"
        assert run(news.with_options(headers={"Accept-Language": "fr"}).articles.get(id=1)).title == "fr"


# -- 32 of them -------------------------------------------------------------------------------------------------------


def stores() -> list[Store]:
    """All stores of this process."""
    return [found for found in gc.get_objects() if isinstance(found, Store)]


def test_partitions_client_keeps_its_32_latest_partitions(caplog: pytest.LogCaptureFixture) -> None:
    """What someone holds goes on working, and is found again; that one goes is told once per header."""
    caplog.set_level(logging.DEBUG, "restencil.store")
    before = WeakSet(stores())  # what other tests left is none of this one
    with Server(echoing) as server, Blog(token="x", url_prefix=server.url) as news:
        held = news.with_options(headers={"X-Tenant": "held"})
        bound = news.with_options(headers={"X-Tenant": "bound"}).articles.get
        held.articles.get(id=1)
        for count in range(40):
            news.with_options(headers={"X-Tenant": str(count)}).articles.get(id=1)
        gc.collect()
        assert len({*stores()} - {*before}) < 32 + 10
        asked = len(server.arrived)
        assert held.articles.get(id=1).id == 1 and len(server.arrived) == asked
        assert news.with_options(headers={"x-tenant": "held"}).store is held.store
        assert news.with_options(headers={"x-tenant": "bound"}).articles.get is bound
        assert bound(id=1).id == 1
    told = [record.getMessage() for record in caplog.records if record.name == "restencil"]
    assert told == [
        "there are more than 32 partitions, so the least recently used is dropped: each new value of 'X-Tenant' has a "
        "separate store. If it does not change responses, pass it with vary=False, or add it to inert_headers in "
        "the spec"
    ]
    made = [record.getMessage() for record in caplog.records if record.name == "restencil.store"]
    assert made.count("partition made for X-Tenant") >= 42 and "partition dropped: X-Tenant" in made
    assert "held" not in caplog.text


class _Thread(Manager):
    """A manager that would go on by itself if no one stopped it."""

    running: set[int] = set()

    def init(self, controller: Any, /) -> None:
        self.running.add(id(self))

    def cleanup(self) -> None:
        self.running.discard(id(self))


def test_partitions_managers_of_partitions_that_no_one_has_are_stopped() -> None:
    """They would go on for ever: those of a partition that someone has go on."""
    with Blog(managers=lambda: [_Thread(), NetworkManager()]) as news:
        held = news.with_options(headers={"X-Tenant": "held"})
        for count in range(200):
            news.with_options(headers={"X-Tenant": str(count)})
        gc.collect()
        news.with_options(headers={"X-Tenant": "one more"})
        news.with_options(headers={"X-Tenant": "and one"})
        assert len(_Thread.running) < 64 + 10
        assert held.opened
    assert _Thread.running == set()
