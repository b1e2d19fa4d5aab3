"""Views: what a client is with something told of each of its calls."""

from __future__ import annotations

import datetime
import gc
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import article, as_json, echoing, opened

import restencil
from blog import Articles, AsyncBlog, Blog
from restencil import Api, Controller, Endpoint, Entity, NetworkManager, RestEndpoint, Retries, Timeout, create_resource

OPTIONS: list[dict[str, Any]] = [
    {"headers": {"Accept-Language": "de"}},
    {"headers": {"X-Request-Id": "1", "X-Tenant": None}, "vary": False},
    {"query": {"expand": ["author", "tags"]}},
    {"query": {"expand": True}, "vary": False},
    {"timeout": 500, "retries": 2},
    {"timeout": Timeout(connect="1s"), "retries": 0},
    {"token": "other"},
    {"token": "other", "vary": False},
]


# -- identity ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def news() -> Blog:
    """A client of the blog that asks nobody."""
    return Blog()


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options))
def test_views_bound_endpoint_with_options_is_that_of_the_view(asynchronous: bool, options: dict[str, Any]) -> None:
    """Equal options give the identical view, and so the identical resources, endpoints, lists and what adds to them."""
    kind: Any = AsyncBlog if asynchronous else Blog
    news = kind()
    view = news.with_options(**options)
    assert view is news.with_options(**options) is not news
    assert isinstance(view, kind) and type(view).__name__ == kind.__name__
    assert view.articles is news.with_options(**options).articles is not news.articles
    assert news.articles.get.with_options(**options) is view.articles.get
    assert news.articles.get_list.with_options(**options) is view.articles.get_list
    assert news.articles.get_list.push.with_options(**options) is view.articles.get_list.push
    assert news.articles.get_list.get_page.with_options(**options) is view.articles.get_list.get_page
    assert news.articles.create.with_options(**options) is view.articles.create
    assert type(view.articles.get_list) is type(news.articles.get_list)
    assert view.articles.get.controller is view


def test_views_options_are_equal_however_they_are_written(news: Blog) -> None:
    """Header names without case and in any order, durations by their length, and one step or several."""
    view = news.with_options(headers={"Accept-Language": "de", "X-B": "1"}, timeout=30_000)
    for timeout in ("30s", "0.5m", datetime.timedelta(seconds=30)):
        assert view is news.with_options(headers={"x-b": "1", "ACCEPT-LANGUAGE": "de"}, timeout=timeout)
    stepwise = news.with_options(timeout=1, headers={"Accept-Language": "en"}).with_options(timeout="30s")
    assert view is stepwise.with_options(headers={"x-b": "1", "accept-language": "de"})
    policy = Retries(budget=None)
    assert news.with_options(retries=policy) is news.with_options(retries=Retries(budget=None, random=policy.random))


def test_views_options_that_differ_give_different_views(news: Blog) -> None:
    """Also where Python finds them equal: in a URL, 1 and true are not."""
    queries: list[Any] = [1, True, 1.5, "1", [1], [True], "[1]", "[true]"]
    assert len({id(news.with_options(query={"q": value})) for value in queries}) == len(queries)
    held = [
        news.with_options(headers={"X-A": value}, vary=vary) for value in ("a", "b", None) for vary in (True, False)
    ]
    assert len({id(view) for view in held}) == 6


@pytest.mark.parametrize(
    ("fine", "refused"),
    [({"retries": 1}, {"retries": True}), ({"timeout": 1}, {"timeout": True}), ({"retries": 1}, {"retries": 1.0})],
    ids=["retries", "timeout", "float"],
)
def test_views_what_is_rejected_is_so_whatever_was_requested_before(
    fine: dict[str, Any], refused: dict[str, Any], news: Blog
) -> None:
    """Python finds True, 1.0 and 1 equal; a mistake is told all the same."""
    held = news.with_options(**fine)
    with pytest.raises(TypeError, match=f"{next(iter(refused))} of with_options is a"):
        news.with_options(**refused)
    with pytest.raises(TypeError, match="vary of with_options"):
        news.with_options(vary=1, **fine)  # type: ignore[arg-type]  # the mistake
    assert news.with_options(**fine) is held


def test_views_no_options_are_no_view() -> None:
    """None means "as before"; so does the token that the client has."""
    news = Blog(token="secret")
    assert news.with_options() is news
    assert news.with_options(headers=None, token="secret") is news
    assert news.articles.get.with_options() is news.articles.get
    view = news.with_options(timeout=500)
    assert view.with_options() is view
    assert view.with_options(timeout="500ms", vary=False) is view
    assert news.with_options(query={"a": 1}).with_options(query={"a": None}) is news


def test_views_what_is_made_of_an_endpoint_of_a_view_is_called_as_the_view_says() -> None:
    """Extended or paginated, it has the headers, and the search parameters too."""
    with Server(echoing) as server, Blog(token="x", url_prefix=server.url) as news:
        view = news.with_options(query={"q": "1"}, headers={"X-Request-Id": "7"}, timeout=5_000)
        extended: Any = view.articles.get.endpoint.extend(path="/articles/:id/raw", schema=None)
        assert view.fetch(extended, id=1)[0]["title"] == "q=1"
        assert view.bind(extended).url(id=1).endswith("/articles/1/raw?q=1")
        listed: Any = view.articles.get_list.endpoint.paginated("page")
        view.fetch(listed, {"page": 2})
        assert [request.target for request in server.arrived] == ["/articles/1/raw?q=1", "/articles?page=2&q=1"]
        assert {request.headers["x-request-id"] for request in server.arrived} == {"7"}


def test_views_many_threads_get_the_identical_view(news: Blog) -> None:
    """However many ask for it at the same time, and whatever else is made meanwhile."""
    start = threading.Barrier(8)

    def ask(thread: int) -> list[Any]:
        start.wait(PATIENCE)
        held = []
        for count in range(60):
            held.append(news.with_options(headers={"X-Tenant": str(count % 20)}, timeout=1_000 + count % 3))
            news.with_options(headers={"X-Other": f"{thread} {count}"})
        return held

    with ThreadPoolExecutor(8) as threads:
        kept = [view for held in threads.map(ask, range(8)) for view in held]
    assert len(kept) == 8 * 60 and len({id(view) for view in kept}) == 60
    assert len({id(view.store) for view in kept}) == 20


def test_views_client_keeps_its_64_latest_views(news: Blog) -> None:
    """The identical view is given for as long as it is kept, or someone has it."""
    views = [news.with_options(timeout=1_000 + count) for count in range(65)]
    names = [id(view) for view in views]
    assert [id(news.with_options(timeout=1_000 + count)) for count in range(65)] == names
    held = views[3]
    numbers = [view.__dict__.setdefault("number", count) for count, view in enumerate(views)]
    del views
    for count in range(64):
        news.with_options(timeout=5_000 + count)
    gc.collect()
    assert numbers[3] == 3 and news.with_options(timeout=1_003) is held
    assert not hasattr(news.with_options(timeout=1_004), "number")
    assert news.with_options(timeout=5_063) is news.with_options(timeout=5_063)


class _Note(Entity):
    id: int = 0


Notes = create_resource(path="/notes/:id", schema=_Note, url_prefix="http://mock")


class _Own(Controller):
    """A client written by hand: its resources are attributes, and it has something of its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.notes = Notes(self)
        self.one = self.notes.get
        self.seen: list[str] = []

    def fetch(self, endpoint: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(endpoint.name)
        return super().fetch(endpoint, *args, **kwargs)


def test_view_of_a_client_written_by_hand_has_what_that_has() -> None:
    """Resources and bound endpoints are bound to the view, everything else is the client's; overrides hold."""
    with Server(lambda request: as_json({"id": 7})) as server, _Own(base_url=server.url) as own:
        resource: Any = create_resource(path="/notes/:id", schema=_Note)
        own.notes = resource(own)
        view: Any = own.with_options(headers={"X-Request-Id": "1"})
        assert view.notes.get is own.notes.get.with_options(headers={"x-request-id": "1"})
        assert view.one.controller is view.notes.controller is view
        assert view.seen is own.seen
        assert view.notes.get.fetch(id=7) is own.notes.get(id=7)
        assert own.seen == [resource.get.name]


# -- what is sent -----------------------------------------------------------------------------------------------------


@pytest.mark.network
def test_views_headers_are_sent_over_those_of_endpoint_and_http_client(asynchronous: bool) -> None:
    """Names are compared without case, None takes one of the spec away; hooks see them, the credential comes last."""
    seen: list[dict[str, str]] = []

    class Hooked(RestEndpoint):
        request_init = {"headers": {"X-Static": "spec", "X-Gone": "spec", "Accept": "text/plain"}}

        def get_headers(self, headers: dict[str, str]) -> dict[str, str]:
            seen.append(dict(headers))
            return {**headers, "X-Last": "hook"}

    endpoint: Any = Hooked(path="/a", timeout=5_000)
    with Server() as server, opened(asynchronous, server.url) as (news, run):
        endpoint = endpoint.extend(url_prefix="https://api.blog.example/v1")
        view = news.with_options(headers={"x-static": "view", "x-gone": None, "X-Last": "view", "User-Agent": "me"})
        run(view.fetch(endpoint))
        run(news.fetch(endpoint))
        first, second = (request.headers for request in server.arrived)
    assert {name: value for name, value in seen[0].items() if name != "Content-Type"} == {
        "Accept": "text/plain",
        "x-static": "view",
        "X-Last": "view",
        "User-Agent": "me",
    }
    assert (first["x-static"], first["x-last"], first["accept"], first["user-agent"]) == (
        "view",
        "hook",
        "text/plain",
        "me",
    )
    assert "x-gone" not in first and first["access-token"] == "secret"
    assert (second["x-static"], second["x-gone"]) == ("spec", "spec") and second["user-agent"] != "me"


def test_views_search_parameters_are_part_of_url_key_and_list(asynchronous: bool) -> None:
    """They count as those of the call, which wins over the same name; declared or not."""
    with Server(echoing) as server, opened(asynchronous, server.url) as (news, run):
        view = news.with_options(query={"expand": ["a", "b"], "author": "bob"})
        listed = run(view.articles.get_list())
        assert [request.target for request in server.arrived] == ["/articles?author=bob&expand=a%2Cb"]
        assert view.articles.get_list.cached() is listed
        assert run(view.articles.get_list(author="ann"))[0].title == "author=ann&expand=a%2Cb"
        assert view.articles.get_list.key() == "GET https://api.blog.example/v1/articles?author=bob&expand=a%2Cb"
        assert view.articles.get_list.url(order_by="x").endswith("/articles?author=bob&expand=a%2Cb&orderBy=x")
        assert news.articles.get_list.cached() is None is news.articles.get_list.cached(author="bob")
        assert view.store is news.store
        run(view.articles.get.fetch(id=1))
        assert server.arrived[-1].target == "/articles/1?author=bob&expand=a%2Cb"


def test_views_search_parameters_of_a_view_are_no_fields() -> None:
    """They are in no optimistic payload, and `delete` does not take its record by them."""

    class Thing(Entity):
        id: int = 0
        title: str = ""
        kind: str = ""

    things: Any = create_resource(path="/things/:id", schema=Thing, optimistic=True, strict=True)
    seen: list[Any] = []

    def answer(request: Arrived) -> Reply:
        if request.method == "PATCH":
            seen.append(dict(view.bind(things.get).cached(id=1).to_dict()))
        if request.method == "POST":
            seen.append(dict(view.bind(things.get_list).cached()[-1].to_dict()))
        return Reply(204) if request.method == "DELETE" else as_json({"id": 1, "title": "t", "kind": "k"})

    with Server(answer) as server, Controller(base_url=server.url) as controller:
        view = controller.with_options(query={"kind": "x", "id_of_other": 1})
        view.set_response(things.get, {"id": 1, "title": "t", "kind": "k"}, id=1)
        view.set_response(things.get_list, [{"id": 1, "title": "t", "kind": "k"}])
        view.fetch(things.partial_update, id=1, body={"title": "u"})
        view.fetch(things.get_list.push, body={"title": "v"})
        assert seen[0] == {"id": 1, "title": "u", "kind": "k"}
        assert seen[1]["title"] == "v" and seen[1].get("kind", "") == ""
        by_kind: Any = RestEndpoint(
            path="/things", method="DELETE", schema=things.delete.schema, url_prefix="", name="delete things"
        )
        assert view.fetch(by_kind) is None
        assert view.get(Thing, id=1) is not None


@pytest.mark.network
def test_views_timeout_and_retries_are_those_of_the_view(asynchronous: bool) -> None:
    """Over those of endpoint and client; `retries=0` is none, `timeout=math.inf` no limit."""
    statuses = iter([503, 503, 200, 503, 503])

    def answer(request: Arrived) -> Reply:
        if request.target == "/articles/2":
            return Reply(held=True)
        return as_json(article(1), status=next(statuses))

    with Server(answer) as server, opened(asynchronous, server.url, retries=1, timeout="30s") as (news, run):
        eager = news.with_options(retries=Retries(5, base_delay=1, jitter=0))
        assert run(eager.articles.get.fetch(id=1)).id == 1
        assert len(server.arrived) == 3
        with pytest.raises(restencil.NetworkError, match="503"):
            run(news.with_options(retries=0).articles.get.fetch(id=1))
        assert len(server.arrived) == 4
        quick = news.with_options(timeout=120, retries=0)
        with pytest.raises(restencil.TimeoutExceededError, match="within 120 ms"):
            run(quick.articles.get.fetch(id=2))
        endless = quick.with_options(timeout=math.inf)
        assert endless is not quick and "timeout" in repr(endless)
        statuses = iter([200])
        assert run(endless.articles.get.fetch(id=1)).id == 1


def test_views_answers_and_calls_that_no_endpoint_describes_are_requested_as_the_view_says(asynchronous: bool) -> None:
    """`fetch_response` and `request` have its headers, search parameters and token; a call's own ones win."""
    with Server(echoing) as server, opened(asynchronous, server.url) as (news, run):
        view = news.with_options(headers={"Accept-Language": "de", "X-A": "view"}, token="other")
        view = view.with_options(query={"q": "1"}).with_options(query={"trace": "2"}, vary=False)
        answer = run(view.articles.get.fetch_response(id=1))
        assert answer.value is view.articles.get.cached(id=1) and news.articles.get.cached(id=1) is None
        assert run(view.fetch_response(Articles.get, id=1)).status == 200
        own = run(view.request("GET", "/articles/1", query={"q": "own"}, headers={"x-a": "own"}))
        assert own.value["title"] == "de q=own&trace=2"
        sent = [(request.target, request.headers["access-token"]) for request in server.arrived]
        assert sent == [*[("/articles/1?q=1&trace=2", "other")] * 2, ("/articles/1?q=own&trace=2", "other")]
        assert [request.headers["x-a"] for request in server.arrived] == ["view", "view", "own"]


# -- requests in flight -----------------------------------------------------------------------------------------------


def test_views_calls_share_a_request_where_options_allow_it() -> None:
    """Timeout, retries, conditions and quiet tokens keep requests apart; other inert headers do not."""
    news = Blog(token="a")
    get = news.articles.get

    def mark(**options: Any) -> Any:
        bound = get.with_options(**options)
        return bound.endpoint.request(({"id": 1},)).identity

    plain = get.endpoint.request(({"id": 1},)).identity
    assert plain == mark(headers={"X-Request-Id": "1", "traceparent": "2", "Prefer": "x"})
    assert plain == mark(headers={"X-Audit": "1"}, vary=False) == mark(headers={"Accept-Language": "de"})
    apart = [
        mark(timeout=500),
        mark(timeout=600),
        mark(retries=1),
        mark(retries=0),
        mark(headers={"Cache-Control": "no-cache"}),
        mark(headers={"If-None-Match": '"a"'}),
        mark(headers={"If-None-Match": '"b"'}),
        mark(headers={"Pragma": "no-cache"}),
        mark(token="b", vary=False),
        mark(token="c", vary=False),
        mark(query={"a": "1"}, vary=False),
    ]
    assert len({plain, *apart}) == 1 + len(apart)
    assert mark(timeout=500, headers={"X-Request-Id": "1"}) == mark(timeout="0.5s", headers={"X-Request-Id": "2"})
    assert mark(token="b", vary=False) == mark(token="b", vary=False, headers={"X-Request-Id": "2"})
    assert "'b'" not in repr(apart)


# -- bad input --------------------------------------------------------------------------------------------------------

S3CRET = "s3cret"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"header": {"A": S3CRET}}, TypeError, "unexpected keyword argument 'header'"),
        ({"headers": {"X-A": 1}}, TypeError, "'X-A' among the headers of with_options is of type int"),
        ({"headers": {"X-A": S3CRET.encode()}}, TypeError, "'X-A' among the headers of with_options is of type bytes"),
        ({"headers": {1: S3CRET}}, TypeError, "a name among the headers of with_options is of type int"),
        ({"headers": [("X-A", S3CRET)]}, TypeError, "headers of with_options is"),
        ({"headers": {"X A": S3CRET}}, ValueError, "'X A' among the headers of with_options is not a valid"),
        ({"headers": {"X-A": f"{S3CRET}\r\nB: c"}}, ValueError, "not shown here, has a line break"),
        ({"headers": {"X-A": f"{S3CRET}é"}}, ValueError, "not shown here, has a character outside ASCII"),
        ({"headers": {"access-token": S3CRET}}, ValueError, "'access-token' .* is a credential; pass token="),
        ({"headers": {"Access-Token": None}}, ValueError, "'Access-Token' .* is a credential; pass token="),
        ({"headers": {"Cookie": f"sid={S3CRET}"}}, ValueError, "'Cookie' .* is a credential; pass token="),
        ({"headers": {"Host": S3CRET}}, ValueError, "'Host' among the headers of with_options: the HTTP client sets"),
        ({"headers": {"content-length": "1"}}, ValueError, "the HTTP client sets this header"),
        ({"query": [("a", S3CRET)]}, TypeError, "query of with_options is"),
        ({"query": {1: S3CRET}}, TypeError, "a name in the query of with_options is of type int"),
        ({"timeout": 0}, ValueError, "timeout of with_options is 0; expected a positive number of milliseconds"),
        ({"timeout": math.nan}, ValueError, "timeout of with_options is nan; expected a positive"),
        ({"timeout": "soon"}, TypeError, "timeout of with_options is a str, 'soon'; expected"),
        ({"retries": -1}, ValueError, "retries of with_options is -1; expected 0"),
        ({"retries": 1.5}, TypeError, "retries of with_options is"),
        ({"token": S3CRET.encode()}, TypeError, "token of with_options is of type bytes; pass a string"),
        ({"token": {"key": S3CRET}}, TypeError, "token of with_options is of type dict; pass a string"),
        ({"headers": {"X-A": S3CRET}, "vary": "no"}, TypeError, "vary of with_options is"),
    ],
    ids=lambda value: None if isinstance(value, type) else str(value)[:40],
)
def test_views_what_cannot_be_reported_is_rejected_at_once(
    options: dict[str, Any], error: type[Exception], text: str
) -> None:
    """The error names the option and what is expected, and shows no value of a header or token."""
    for given in (Blog(), AsyncBlog(), Blog().articles.get, Blog().with_options(timeout=5_000)):
        with pytest.raises(error, match=text) as caught:
            given.with_options(**options)
        assert S3CRET not in str(caught.value)


def test_views_attributes_of_a_client_keep_their_names_in_views() -> None:
    """Whatever a user's class calls its own, its views have it too."""

    class Named(Controller):
        def __init__(self) -> None:
            super().__init__()
            self._views = self._options = self._told = self._forms = self._bound = "mine"

        def own(self) -> tuple[str, ...]:
            return self._views, self._options, self._told, self._forms, self._bound

    view = Named().with_options(timeout=500)
    assert view.own() == ("mine",) * 5
    assert view.with_options(timeout=600).own() == ("mine",) * 5


def test_views_query_that_is_a_parameter_of_the_path_is_rejected_by_the_call() -> None:
    """Before anything is sent; endpoints that have no such parameter are called."""
    with Server(echoing) as server, Blog(token="x", url_prefix=server.url) as news:
        for vary in (True, False):
            view = news.with_options(query={"id": 5}, vary=vary)
            for call in (view.articles.get, view.articles.get.fetch, view.articles.get.cached, view.articles.get.key):
                with pytest.raises(
                    ValueError, match="'id', which is a path parameter of endpoint 'Article.get'; pass it"
                ):
                    call(id=1)
            assert server.arrived == []
            assert view.articles.get_list()[0].title == "id=5"
            server.arrived.clear()


def test_views_query_for_what_is_no_http_is_rejected_by_the_call() -> None:
    """A function has no URL that it could stand in."""
    work: Any = Endpoint(lambda: 1, name="work")
    with Controller() as controller:
        with pytest.raises(
            ValueError, match="endpoint 'work' is not an HTTP endpoint, so it cannot send the query of with_opt"
        ):
            controller.with_options(query={"a": 1}).fetch(work)
        assert controller.with_options(headers={"X-Request-Id": "1"}, timeout=500).fetch(work) == 1


def test_views_token_needs_an_api_with_auth() -> None:
    """TypeError where the API declares none, or where there is no API."""

    class Open(Controller):
        _api = Api(url_prefix="http://mock")

    with pytest.raises(TypeError, match="the API of Open declares no auth, so it cannot use a token"):
        Open().with_options(token="a")
    with pytest.raises(
        TypeError, match="Controller has no API, so it cannot use a token; pass it to a generated client"
    ):
        Controller().with_options(token="a")


def test_views_class_that_computes_an_option_cannot_be_reported_another() -> None:
    """What would be lost without a word is an error."""

    class Slow(RestEndpoint):
        timeout: Any = property(lambda self: 5.0, lambda self, value: None)

    with pytest.raises(TypeError, match="computes timeout in a property, so with_options cannot set it"):
        Controller().with_options(timeout=1_000).bind(Slow(path="/a"))


def test_views_endpoint_of_a_view_is_of_no_use_to_another_client(news: Blog) -> None:
    """What it fetches belongs to the store of its view."""
    german = news.with_options(headers={"Accept-Language": "de"})
    with pytest.raises(RuntimeError, match="belongs to a view of another client; pass the endpoint of the"):
        news.fetch(german.articles.get.endpoint, id=1)
    assert german.with_options(timeout=500).bind(german.articles.get.endpoint).endpoint.timeout == 500


# -- life -------------------------------------------------------------------------------------------------------------


def test_view_owns_nothing(asynchronous: bool) -> None:
    """Closing it, and leaving a `with` of it, do nothing; it is open for as long as its client is."""
    with Server(echoing) as server, opened(asynchronous, server.url) as (news, run):
        for options in ({"timeout": 5_000}, {"headers": {"Accept-Language": "de"}}):
            view = news.with_options(**options)

            async def within(view: Any = view) -> None:
                async with view as entered:
                    assert entered is view
                await view.aclose()

            if asynchronous:
                run(within())
            else:
                with view as entered:
                    assert entered is view
                view.close()
            assert view.opened and news.opened
            assert run(view.articles.get.fetch(id=1)).id == 1
        view.open()
        run(news.aclose()) if asynchronous else news.close()
        assert not view.opened and "closed" in repr(view)
        with pytest.raises(RuntimeError, match="closed"):
            run(view.articles.get.fetch(id=1))
        view.open()
        assert not view.opened
        news.open()
        assert view.opened and run(view.articles.get.fetch(id=1)).id == 1


def test_view_shows_names_and_no_values(news: Blog) -> None:
    """Its repr says what is told, and nothing that may be a secret."""
    view = news.with_options(headers={"X-Tenant": S3CRET}, query={"q": S3CRET}, token=S3CRET, timeout=500, retries=1)
    assert repr(view) == "<Blog open with X-Tenant, query q, timeout, retries, token>"
    assert repr(view.articles.get) == "<Article.get of <Blog open with X-Tenant, query q, timeout, retries, token>>"
    assert S3CRET not in repr(vars(view))


def test_views_managers_make_requests_of_their_own_partition() -> None:
    """A manager that serves one controller is made anew for each partition."""
    made: list[NetworkManager] = []

    def managers() -> list[NetworkManager]:
        made.append(NetworkManager())
        return [made[-1]]

    with Server(echoing) as server, Blog(token="x", url_prefix=server.url, managers=managers) as news:
        assert len(made) == 1
        german = news.with_options(headers={"Accept-Language": "de"})
        assert len(made) == 2
        assert german.articles.get(id=1).title == "de"
        assert news.with_options(headers={"Accept-Language": "de"}, timeout=5_000).articles.get(id=1).title == "de"
        assert len(made) == 2


def test_views_managers_that_are_given_as_they_are_serve_the_client_alone(asynchronous: bool) -> None:
    """A view with a store of its own says what to do; other views work."""
    with Server(echoing) as server, opened(asynchronous, server.url, managers=[NetworkManager()]) as (news, run):
        assert run(news.with_options(timeout=5_000).articles.get(id=1)).id == 1
        with pytest.raises(TypeError, match="a view with Accept-Language has a separate store and needs its own"):
            news.with_options(headers={"Accept-Language": "de"})
