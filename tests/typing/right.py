"""Uses that both checkers accept, with the types that they find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, assert_type

import httpx
import httpx2
from shapes import (
    Article,
    Articles,
    AsyncBlog,
    Blog,
    Conflict,
    Conflicting,
    Link,
    NotFound,
    Problem,
    SearchResult,
    User,
)

import restencil
from blog import Article as GeneratedArticle
from blog import Blog as GeneratedBlog
from market import (
    AsyncMarket,
    Bank,
    Basket,
    Buyer,
    Card,
    Market,
    Offer,
    Payment,
    PaymentsReportResult,
    Review,
    Shelf,
    Team,
)
from market import User as MarketUser
from restencil.testing import MockServer


def synchronous(blog: Blog) -> None:
    assert_type(blog.articles.get(id=1), Article)
    assert_type(blog.articles.get.cached(id=1), Article | None)
    assert_type(blog.articles.get_list(author="bob"), Sequence[Article])
    assert_type(blog.articles.get_list.push(body={"title": "t"}, author="bob"), Article)
    assert_type(blog.articles.get_list.unshift(body={}), Article)
    assert_type(blog.articles.first.unshift(body={}, pinned=True), Article)
    assert_type(blog.articles.top.unshift(body={}, pinned=True), Article)
    assert_type(blog.articles.log.push(body={}), Article)
    assert_type(blog.articles.get_list.get_page(cursor="c"), Sequence[Article])
    for article in blog.articles.get_list.iterate(author="bob"):
        assert_type(article, Article)
    run = blog.articles.get_list.iterate(author="bob").limit(100).start_at(2)
    assert_type(run.position, str | int | None)
    for article in run:
        assert_type(article, Article)
    for page in blog.articles.get_list.pages(author="bob").start_at(2):
        assert_type(page, restencil.Page[Article])
        assert_type(page.items, Sequence[Article])
        assert_type(page.next_position, str | int | None)
    assert_type(blog.articles.find.get_page(q="x", cursor="c"), SearchResult)
    for article in blog.articles.find.iterate(q="x").limit(2):
        assert_type(article, Article)
    for page in blog.articles.find.pages(q="x"):
        assert_type(page, restencil.Page[Article])
    for article in blog.articles.top.iterate():
        assert_type(article, Article)
    assert_type(blog.articles.by_hand(), list[Article])
    for article in blog.articles.by_hand.iterate():
        assert_type(article, Article)
    article = blog.articles.get(id=1)
    assert_type(article.labels, Sequence[str])
    assert_type(article.scores, Sequence[int | None] | None)
    related = [1, 2]
    blog.articles.create(body={"labels": article.labels, "related": related})
    blog.articles.create(body={"labels": ("a", "b"), "related": blog.articles.get_list()})
    assert_type(blog.articles.create(body={"title": "t"}), Article)
    assert_type(blog.articles.delete(id=1), Article | None)
    assert_type(blog.articles.search(q="x"), SearchResult)
    assert_type(blog.articles.search.get_page(cursor="c"), Sequence[Article])
    assert_type(blog.articles.by_name.assign(body={"a": {}}), dict[str, Article])
    assert_type(blog.articles.publish(id=1), Article)
    assert_type(blog.articles.export(id=1), restencil.StreamedResponse)
    assert_type(blog.articles.get.fetch_response(id=1), restencil.Response[Article])
    assert_type(blog.articles.get_list.push.fetch_response(body={"title": "t"}), restencil.Response[Article])
    assert_type(blog.articles.delete.fetch_response(id=1).value, Article | None)
    assert_type(blog.fetch_response(Articles.get, id=1), restencil.Response[Article])
    answer = blog.articles.get.fetch_response(id=1)
    assert_type(answer.status, int)
    assert_type(answer.headers["X-A"], str)
    assert_type(answer.elapsed, float)
    assert_type(answer.request_id, str | None)
    assert_type(answer.http.text if answer.http else None, str | None)
    wider: restencil.Response[object] = answer
    assert_type(wider.url, str)
    assert_type(blog.request("GET", "/articles/1", query={"a": 1}).value, Any)
    blog.articles.get.set_response({"id": 1}, id=1)
    blog.articles.get.invalidate(id=1)
    assert_type(blog.articles.get.key(id=1), str)
    assert_type(blog.fetch(Articles.get, id=1), Article)
    assert_type(blog.fetch(Articles.get_list.push, body={}), Article)
    assert_type(Articles(blog).get(id=1), Article)
    bound: restencil.BoundEndpoint[..., Article] = blog.articles.get
    assert_type(bound(id=1), Article)


async def asynchronous(blog: AsyncBlog) -> None:
    assert_type(await blog.articles.get(id=1), Article)
    assert_type(await blog.articles.get_list.push(body={"title": "t"}), Article)
    assert_type(await blog.articles.get_list.get_page(cursor="c"), Sequence[Article])
    async for page in blog.articles.get_list.pages():
        assert_type(page.items, Sequence[Article])
    async for article in blog.articles.get_list.iterate(author="bob").start_at("x").limit(3):
        assert_type(article, Article)
    assert_type(await blog.fetch(Articles.get, id=1), Article)
    assert_type(await blog.articles.get.fetch_response(id=1), restencil.Response[Article])
    assert_type(await blog.fetch_response(Articles.get, id=1), restencil.Response[Article])
    assert_type(await blog.request("POST", "/articles/1/lock", body={"minutes": 5}), restencil.Response[Any])
    assert_type(blog.articles.get.cached(id=1), Article | None)
    assert_type(await Articles(blog).get(id=1), Article)


def with_options(blog: Blog) -> None:
    view = blog.with_options(headers={"Accept-Language": "de", "X-Static": None}, query={"expand": ["author"]})
    assert_type(view, Blog)
    assert_type(view.articles.get(id=1), Article)
    assert_type(blog.with_options(timeout=500, retries=2).with_options(timeout=restencil.Timeout(connect="1s")), Blog)
    assert_type(blog.with_options(timeout="5s", retries=restencil.Retries(3), token=lambda: "t", vary=False), Blog)
    assert_type(blog.with_options(timeout=timedelta(seconds=5), token={"key": "t"}), Blog)
    assert_type(blog.articles.get.with_options(timeout=math.inf)(id=1), Article)
    assert_type(blog.articles.get_list.with_options(query={"a": 1})(author="bob"), Sequence[Article])
    assert_type(blog.articles.get_list.with_options(retries=0).push(body={"title": "t"}), Article)
    assert_type(blog.articles.get_list.push.with_options(retries=0)(body={"title": "t"}, author="bob"), Article)
    for article in blog.articles.get_list.with_options(timeout=5).iterate(author="bob"):
        assert_type(article, Article)
    bound: restencil.BoundEndpoint[..., Article] = blog.articles.get.with_options(timeout=5)
    assert_type(bound(id=1), Article)


async def with_options_awaited(blog: AsyncBlog) -> None:
    view = blog.with_options(token=_token)
    assert_type(view, AsyncBlog)
    assert_type(await view.articles.get(id=1), Article)
    assert_type(await blog.articles.get_list.with_options(query={"a": 1}).get_page(cursor="c"), Sequence[Article])
    async with blog.with_options(timeout=restencil.Timeout(total="30s", read=500)) as entered:
        assert_type(entered, AsyncBlog)


async def _token() -> str | None:
    return None


def generated(blog: GeneratedBlog) -> None:
    author = blog.users.get(id=1)
    blog.articles.create(body={"title": "t", "author": author, "comments": [1, {"author": {"username": "u"}}]})
    blog.articles.create(body={"author": author.id, "tags": blog.articles.get(id=1).tags})
    assert_type(blog.articles.get_list.get_page(cursor=1), Sequence[GeneratedArticle])


def unbound() -> None:
    assert_type(Articles.get.key(id=1), str)
    assert_type(Articles.get.url(id=1), str)
    assert_type(Articles.get.method, str)
    assert_type(Articles.top.unshift.key(body={}, pinned=True), str)
    Articles.get(id=1)
    extended = Articles.get.extend(data_expiry_length=1, access_token="t")
    assert_type(extended.key(id=1), str)
    plain = restencil.RestEndpoint(path="/a", schema=restencil.schema.Collection([Article]))
    assert_type(plain.key({"q": 1}), str)
    plain.push({"title": "t"})
    plain.get_page({"page": 1})
    plain.paginated("page")({"page": 2})
    signal = restencil.AbortController().signal
    typed: restencil.RestEndpoint[..., Article] = restencil.RestEndpoint(path="/a/:id", signal=signal)
    listed: restencil.ListEndpoint = Articles.get_list
    anything: restencil.Endpoint = listed
    print(typed, anything)


def made(controller: restencil.Controller, other: restencil.AsyncController) -> None:
    resource = restencil.create_resource(path="/articles/:id", schema=Article, pagination_field="page", optimistic=True)
    assert_type(resource, restencil.ResourceClass[Article])
    assert_type(controller.fetch(resource.get, {"id": 1}), Article)
    assert_type(resource(controller).get({"id": 1}), Article)
    assert_type(resource(controller).get_list(), Sequence[Article])
    assert_type(resource(controller).get_list.push({"title": "t"}), Article)
    assert_type(resource(controller).delete(id=1), Article | None)
    extended = resource.extend("current", path="/me")
    assert_type(extended.get.key(id=1), str)
    extended.current()
    extended(controller).current()
    other_bound = resource(other)
    print(other_bound.get({"id": 1}))


def errors(blog: Blog) -> None:
    try:
        blog.articles.get(id=1)
    except NotFound as error:
        assert_type(error.data, Problem | None)
        assert_type(error.data.title if error.data else None, str | None)
    except Conflicting as error:
        assert_type(error.data, Conflict | Problem | None)
        if isinstance(error.data, Conflict):
            assert_type(error.data.version, int)
    except restencil.NotFoundError as error:
        assert_type(error.data, Any)
    except restencil.StatusError as error:
        assert_type(error.status, int)
        assert_type(error.response.status_code if error.response else None, int | None)
        assert_type(error.has_response, bool)
        assert_type(error.attempts, int)
        assert_type(error.elapsed, float)
        assert_type(error.request_id, str | None)
        assert_type(error.retry_after, float | None)
        assert_type(error.body, bytes)
        assert_type(error.to_dict(), dict[str, Any])


def hooks() -> None:
    hooked = restencil.hookify_resource(Articles, lambda: {"headers": {"A": "1"}})
    with restencil.hook_scope():
        hooked.use_get()(id=1)
        assert_type(restencil.use_endpoint(Articles.partial_update, access_token="t").key(id=1, body={}), str)


def entities() -> None:
    user = User(id=1, name="n")
    article = Article(id=1, title="t", author=user)
    link = Link(id=1, author=user, kind="link")
    assert_type(article.title, str)
    assert_type(link.author, User)
    assert_type(article.replace(title="x"), Article)
    assert_type(article.to_dict(deep=True), dict[str, Any])
    assert_type(Article.from_json(article.to_json(indent=2)), Article)


@restencil.entity(pk="id", key="Draft")
@dataclass(frozen=True)
class Draft:
    id: int


def declared(controller: restencil.Controller) -> None:
    assert_type(Draft(1).id, int)
    assert_type(controller.get(Draft, id=1), Draft | None)
    assert_type(restencil.entity(Draft, pk="id"), type[Draft])


def generics() -> restencil.RestGenerics:
    return {"path": "/a", "method": "POST"}


class Untyped(restencil.Resource):
    """A resource without a parameter belongs to a Controller."""


def untyped(controller: restencil.Controller) -> None:
    Untyped(controller)


def http_libraries(server: MockServer) -> None:
    restencil.Controller(client=httpx.Client())
    restencil.Controller(client=httpx2.Client(), http="httpx2")
    restencil.AsyncController(client=httpx.AsyncClient(), http="httpx")
    restencil.AsyncController(client=httpx2.AsyncClient(), user_agent=False)
    GeneratedBlog(client=httpx2.Client(), user_agent="mine")
    restencil.Controller(client=server.client(http="httpx2"))
    restencil.AsyncController(client=server.async_client())


def types_of_fields(market: Market) -> None:
    payment = market.payments.get(id=1)
    assert_type(payment.source, Card | Bank | str)
    assert_type(payment.payer, Buyer | Team)
    assert_type(payment.state, Literal["open", "settled"])
    assert_type(payment.paid_at, datetime)
    assert_type(payment.due, datetime | None)
    assert_type(market.payments.report(), PaymentsReportResult)
    assert_type(market.payments.report()["payments"], Sequence[Payment])
    assert_type(market.shelves.get(hall=1, shelf=2), Shelf)
    market.payments.create(body={"amount": Decimal(1), "pin": "1", "source": Bank(iban="DE")})
    market.payments.partial_update(id=1, body={})
    market.payments.partial_update(id=1, body={"source": {"kind": "card", "last_digits": "1"}})
    market.payments.settle(id=1, body={"iban": "DE"})
    market.payments.get_list(since=payment.paid_at, state="open")


async def arguments_of_clients(token: str) -> None:
    Market(shop="north", device=None, units="metric", edition_date=date(2024, 6, 1), limit_to=[1, 2])
    Market(limit_to="open", server="production", token=token, key=lambda: "k", timeout="5s")
    Market(Market().store, machine=restencil.OAuth2(client_id="i", client_secret="s"))
    async with AsyncMarket(server="region", region="us", edition="beta", token=token, user_agent=False) as market:
        assert_type(await market.account.get(), MarketUser)


def singletons_and_groups(market: Market) -> None:
    assert_type(market.account.get(), MarketUser)
    assert_type(market.account.get.cached(), MarketUser | None)
    assert_type(market.account.partial_update(body={"newsletter": True}), MarketUser)
    assert_type(market.account.delete(), MarketUser | None)
    assert_type(market.basket.get(user_id=1), Basket)
    assert_type(market.search.offers(q="lamp"), Sequence[Offer])
    assert_type(market.search.reviews(body={"state": "new"})["items"], Sequence[Review])
    market.search.save(body={"words": ["a"]})
    market.offers.get_list(rank="best", seller=[1, 2], scope=None)
    market.offers.get_list(rank=3, seller=1)


def unions_by_hand() -> None:
    restencil.schema.OneOf([Card, Bank, str], "kind", {"c": Card})
    restencil.schema.OneOf([Literal["auto"], int, datetime])
    restencil.schema.codec(datetime, format="unix")
