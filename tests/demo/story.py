"""What the demo shows: the generated package `blog` at work, first in plain code, then in asyncio.

Usage: story.py ADDRESS, with the package on the path and the mock server at the address.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import httpx

from blog import Article, AsyncBlog, Blog


class Counter:
    """Counts the requests that really go out, by a hook of the HTTP client."""

    def __init__(self) -> None:
        self.count = 0
        self._told = 0

    def hook(self, request: httpx.Request) -> None:
        self.count += 1

    async def async_hook(self, request: httpx.Request) -> None:
        self.count += 1

    def since(self) -> int:
        """The requests since this was last asked."""
        new, self._told = self.count - self._told, self.count
        return new


def say(code: str, result: str, counter: Counter, expected: int = 0) -> None:
    """Shows what a line of code gave and how many requests it took; other than expected is the end of the story."""
    requests = counter.since()
    print(f"  {code}\n      {result}  [{requests} request{'' if requests == 1 else 's'}]")
    if requests != expected:
        raise SystemExit(f"expected {expected} requests for that")


def titles(articles: Sequence[Article] | None) -> str:
    """The first and the last title of a list."""
    if not articles:
        return "nothing"
    return f"{len(articles)} articles, {articles[0].title!r} to {articles[-1].title!r}"


def plain(address: str) -> None:
    """Reading, paging, creating and deleting with the sync client."""
    counter = Counter()
    with httpx.Client(timeout=60, event_hooks={"request": [counter.hook]}) as client:
        blog = Blog(token="demo", url_prefix=address, client=client)

        print("\nReading: a list, then one of its entities, which is known by now")
        articles = blog.articles.get_list()
        say("articles = blog.articles.get_list()", titles(articles), counter, 1)
        article = blog.articles.get(id=articles[0].id)
        same = "the very object of the list" if article is articles[0] else "ANOTHER OBJECT"
        say(f"article = blog.articles.get(id={article.id})", f"{article.title!r}, {same}", counter)
        say("article.author.username", f"{article.author.username!r}, nested in the same answer", counter)

        print("\nPaging: iterate() asks for the next page when the last one is used up")
        total = sum(1 for _ in blog.articles.get_list.iterate())
        say("for article in blog.articles.get_list.iterate(): ...", f"{total} articles", counter, 3)

        print("\nCreating: where the new article stands in a list of pages only the server knows, so it is asked")
        new = blog.articles.get_list.push(body={"title": "Hello", "tags": ["demo"]})
        say(
            'blog.articles.get_list.push(body={"title": "Hello", ...})', f"article {new.id}, {new.status!r}", counter, 1
        )
        say("blog.articles.get_list()", titles(blog.articles.get_list()), counter, 1)

        print("\nAn action of its own: what it answers is what everybody sees")
        blog.articles.publish(id=new.id)
        say(f"blog.articles.publish(id={new.id})", f"now {blog.articles.get(id=new.id).status!r}", counter, 1)

        print("\nDeleting: gone from every list at once")
        blog.articles.delete(id=new.id)
        say(f"blog.articles.delete(id={new.id})", titles(blog.articles.get_list()), counter, 2)


async def with_asyncio(address: str) -> None:
    """The same names awaited, many readers at once, and an optimistic update seen before its answer."""
    counter = Counter()
    async with httpx.AsyncClient(timeout=60, event_hooks={"request": [counter.async_hook]}) as client:
        blog = AsyncBlog(token="demo", url_prefix=address, client=client)

        print("\nThe same with asyncio: a hundred readers share one request")
        lists = await asyncio.gather(*(blog.articles.get_list() for _ in range(100)))
        shared = "one object for all" if all(one is lists[0] for one in lists) else "DIFFERENT OBJECTS"
        say("await asyncio.gather(*(blog.articles.get_list() for ...))", f"{len(lists)} lists, {shared}", counter, 1)

        print("\nOptimistic: the change shows while the request is under way")
        first = lists[0][0]
        update = asyncio.create_task(blog.articles.partial_update(id=first.id, body={"title": "Renamed"}))
        await asyncio.sleep(0)
        early = blog.articles.get.cached(id=first.id)
        if update.done() or early is None:
            raise SystemExit("the answer was expected to take longer than the next line")
        say(f"update = create_task(blog.articles.partial_update(id={first.id}, body=...))", "under way", counter)
        say(f"blog.articles.get.cached(id={first.id}).title", f"{early.title!r}, before the answer", counter)
        say("(await update).title", f"{(await update).title!r}, after it", counter, 1)
        in_list = blog.articles.get_list.cached() or [first]
        say("blog.articles.get_list.cached()[0].title", f"{in_list[0].title!r}, in every list", counter)


def main() -> None:
    address = sys.argv[1]
    plain(address)
    asyncio.run(with_asyncio(address))


if __name__ == "__main__":
    main()
