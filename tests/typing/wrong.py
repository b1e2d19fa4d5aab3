"""Uses that both checkers refuse, each at the line that is marked, and nowhere else."""

from __future__ import annotations

from decimal import Decimal

import httpx
import httpx2
from shapes import Article, Articles, AsyncBlog, Blog, NotFound, User

import restencil
from blog import Blog as GeneratedBlog
from market import Market
from restencil.testing import MockServer


def calls(blog: Blog) -> None:
    blog.articles.get()  # error: a keyword is missing
    blog.articles.get(id=1.5)  # error: its type is another one
    blog.articles.get(id="1")  # error: the spec says a number
    blog.articles.get(id=1, nope=1)  # error: there is no such keyword
    blog.articles.get({"id": 1})  # error: typed for keywords alone
    blog.articles.get_list(auhtor="bob")  # error: a slip
    blog.articles.get_list.push(author="bob")  # error: the body is missing
    blog.articles.get_list.push(body={"titel": "t"})  # error: no such member of the body
    blog.articles.get_list.push(body={"status": "gone"})  # error: no such value
    blog.articles.get_list.get_page()  # error: the cursor is missing
    blog.articles.get_list.iterate(cursor="c")  # error: iterate takes the list's own keywords
    blog.fetch(Articles.get, idd=1)  # error: no such keyword
    blog.articles.publish(id=1, body={})  # error: takes no body
    wrong: User = blog.articles.get(id=1)  # error: an Article
    blog.articles.delete(id=1).title  # error: may be None
    print(wrong)


def with_options(blog: Blog, other: AsyncBlog) -> None:
    blog.with_options(header={"A": "b"})  # error: there is no such option
    blog.with_options({"A": "b"})  # error: options are given by name
    blog.with_options(headers={"A": 1})  # error: the value of a header is a text
    blog.with_options(retries="2")  # error: a number, or Retries
    blog.with_options(token=5)  # error: a text, or a function
    blog.with_options(timeout=restencil.Timeout(conect=5))  # error: there is no such step
    blog.with_options(timeout=5).articles.get(idd=1)  # error: a view keeps the keywords
    blog.articles.get.with_options(timeout=5)()  # error: a keyword is missing
    blog.articles.get.with_options(timeout=5)(id=1, timeout=5)  # error: options are no keywords of the call
    wrong: AsyncBlog = blog.with_options(timeout=5)  # error: a view is of the client's own class
    title: str = other.with_options(timeout=5).articles.get(id=1)  # error: it is to be awaited
    print(wrong, title)


def lists(blog: Blog, article: Article) -> None:
    blog.articles.get_list().append(article)  # error: a result is read-only
    blog.articles.get_list.get_page(cursor="c").clear()  # error: a page is read-only
    article.labels.append("x")  # error: a list of an entity is read-only
    blog.articles.create(body={"related": ["1"]})  # error: the key is a number


def generated(blog: GeneratedBlog) -> None:
    blog.articles.get(id="1")  # error: the entity says a number
    blog.articles.get_list.get_page(cursor="1")  # error: a cursor that is taken from a number
    blog.articles.create(body={"author": "1"})  # error: the key of the author is a number
    blog.articles.create(body={"author": {"name": "u"}})  # error: an author has no such field
    blog.articles.create(body={"comments": [{"nope": 1}]})  # error: a comment has no such field


def runs(blog: Blog) -> None:
    blog.articles.get_list.iterate().limit("3")  # error: a number of items
    blog.articles.get_list.iterate().start_at(1.5)  # error: a text or a whole number
    blog.articles.get_list.iterate().position = 3  # error: it is read
    blog.articles.get_list.pages(cursor="c")  # error: pages takes the list's own keywords
    blog.articles.plain.pages()  # error: no pages
    blog.articles.get_list.iterate(limit=3)  # error: that is a parameter of APIs


def absent(blog: Blog) -> None:
    blog.articles.search.push(body={})  # error: no push was declared
    blog.articles.by_name.push(body={})  # error: a map has assign
    blog.articles.get_list.assign(body={})  # error: a list has push
    blog.articles.plain.iterate()  # error: no pages
    blog.articles.plain.push(body={})  # error: no collection
    blog.articles.top.push(body={})  # error: only unshift was declared
    blog.articles.log.unshift(body={})  # error: it was taken away
    blog.articles.first.unshift(body={})  # error: it has a keyword of its own
    Articles.log.unshift(body={}, pinned=True)  # error: unbound alike


async def awaiting(blog: AsyncBlog) -> None:
    article: Article = blog.articles.get(id=1)  # error: it must be awaited
    await blog.articles.get()  # error: a keyword is missing
    await blog.articles.get.cached(id=1)  # error: it never waits
    print(article)


def unbound() -> None:
    Articles.get.key(idd=1)  # error: no such keyword
    Articles.get(id=None)  # error: it is required
    Articles.nothing  # error: no such member
    restencil.RestEndpoint("/a")  # error: options are keywords


class Wrong(restencil.Entity):
    names: list[str] = restencil.field(default=[1])  # error: items of another type


def errors(error: NotFound) -> None:
    print(error.data.title)  # error: may be None
    print(error.data and error.data.detail)  # error: no such field
    error.retry_after + 1  # error: may be None
    restencil.StatusError("no", code=404)  # error: no such member


def answers(blog: Blog) -> None:
    blog.articles.get.fetch_response()  # error: a keyword is missing
    blog.articles.get.fetch_response(id=1).status = 5  # error: it never changes
    blog.articles.get.fetch_response(id=1).headers["a"] = "b"  # error: nor do they
    blog.articles.get.fetch_response(id=1).http.text  # error: there may be none
    blog.request("GET", path="/a")  # error: by place alone


def entities(article: Article) -> None:
    article.title = "x"  # error: read-only
    Article(title=1, author=User())  # error: another type
    Article(titel="x", author=User())  # error: a slip
    User(1)  # error: keywords alone


def declared() -> None:
    restencil.entity(User, pk=1)  # error: names of fields
    restencil.entity(User, primary_key="id")  # error: no such option
    restencil.field(default=None, send="id")  # error: no such form


def made() -> None:
    restencil.create_resource(schema=Article)  # error: a path is required
    restencil.create_resource(path="/a/:id", schema=Article, Endpoint=dict)  # error: no endpoint class


def generics() -> restencil.RestGenerics:
    return {"method": "POST"}  # error: a path is required


def http_libraries(server: MockServer) -> None:
    restencil.Controller(client=httpx.AsyncClient())  # error: a client of the other world
    restencil.AsyncController(client=httpx.Client())  # error: a client of the other world
    GeneratedBlog(client=httpx2.AsyncClient())  # error: a client of the other world
    restencil.AsyncController(client=server.client())  # error: a client of the other world
    restencil.Controller(client="https://x")  # error: no client
    restencil.Controller(http="requests")  # error: no such library
    restencil.Controller(user_agent=True)  # error: a text, or False


def types_of_fields(market: Market) -> None:
    market.payments.create(body={"source": "cash", "pin": "1"})  # error: bodies must hold the amount
    market.payments.create(body={"amount": Decimal(1)})  # error: and the pin, which is written alone
    market.payments.partial_update(id=1, body={"state": "gone"})  # error: no such value
    market.payments.partial_update(id=1, body={"source": 5})  # error: none of the types
    market.payments.settle(id=1, body={"kind": "card"})  # error: a card must have its digits
    market.payments.settle(id=1, body="cash")  # error: none of the types
    market.payments.get(id=1).pin  # error: only bodies hold it
    print(market.payments.get(id=1).source.last4)  # error: it may be another one
    market.payments.get_list(since="2024-01-31")  # error: a datetime
    market.shelves.get(hall="1", shelf=2)  # error: the field that it is holds a number
    market.questions.get(offer=1)  # error: a keyword is missing


def arguments_of_clients() -> None:
    Market(shop=1)  # error: a text
    Market(units="cubits")  # error: no such value
    Market(edition_date="2024-06-01")  # error: a date
    Market(server="moon")  # error: no such server
    Market(region="mars")  # error: no such region
    Market(shpo="north")  # error: a slip
    Market(machine="secret")  # error: OAuth2 is no text


def singletons_and_groups(market: Market) -> None:
    market.account.get(id=1)  # error: it is the only one
    market.account.get_list()  # error: there is no list
    market.account.update(body={"id": 1})  # error: it is read alone
    market.basket.get()  # error: that of whom
    market.search.get(q="lamp")  # error: a group has its own members alone
    market.search.offers()  # error: a keyword is missing
    market.search.reviews(body={"stat": "new"})  # error: no such member of the body
    market.offers.get_list(rank="first")  # error: none of the types
    market.offers.get_list(seller="1")  # error: a number, or some
