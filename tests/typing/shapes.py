# mypy: disable-error-code="empty-body"
# ruff: noqa: PIE790
"""What the generator writes, used by the other files here; clean in both checkers."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeAlias, TypedDict

from restencil import (
    AsyncController,
    ConflictError,
    Controller,
    ControllerType,
    Entity,
    NotFoundError,
    Record,
    Resource,
    RestEndpoint,
    StatusError,
    StreamedResponse,
    field,
    lazy_resource,
    push_of,
    rest,
    rest_list,
    schema,
    soft_on_server_error,
)

Status: TypeAlias = Literal["draft", "published"]


class User(Entity, key="User"):
    id: int = 0
    name: str = ""


class Problem(Record):
    title: str = ""


class Conflict(Record):
    version: int = 0


class ShapesError(StatusError):
    data: Problem | Conflict | Any


class NotFound(ShapesError, NotFoundError):
    data: Problem | None


class Conflicting(ShapesError, ConflictError):
    data: Conflict | Problem | None


class Article(Entity, key="Article"):
    id: int = 0
    title: str = "untitled"
    status: Status | str = "draft"
    tags: list[str] = field(default_factory=list[str])
    scores: Sequence[int | None] | None = field(default=[1])
    labels: Sequence[str] = field(default=[])
    votes: dict[str, int | None] | None = field(default={"up": 1})
    written_at: datetime.datetime | None = field(default=None, wire="writtenAt")
    author: User = field(schema=User, required=True)


class Link(Article):
    kind: Literal["link"] = "link"


class ArticleBody(TypedDict, total=False):
    title: str
    status: Status
    labels: Sequence[str]
    related: Sequence[ArticleBody | Article | int]


class SearchResult(TypedDict):
    results: Sequence[Article]
    total: int


class ApiEndpoint(RestEndpoint):
    """A class of one's own, with an override of each kind."""

    url_prefix = "https://api.test"
    access_token: str | None = None

    def get_headers(self, headers: dict[str, str]) -> dict[str, str]:
        return {**headers, "Access-Token": self.access_token} if self.access_token else headers

    async def fetch_response(self, url: str, init: Any) -> Any:
        return await super().fetch_response(url, init)

    def process(self, value: Any, *args: Any) -> Any:
        return value


class Articles(
    Resource[ControllerType],
    path="/articles/:id",
    schema=schema.Lazy(lambda: Article),
    endpoint=ApiEndpoint,
    pagination_field="cursor",
    optimistic=True,
    data_expiry_length=60_000,
    error_policy=soft_on_server_error,
):
    """Articles."""

    @rest()
    def get(self, *, id: int) -> Article:
        """Get one."""
        ...

    def _push(self, *, body: ArticleBody, author: str | None = None) -> Article: ...

    def _get_page(self, *, cursor: str, author: str | None = None) -> Sequence[Article]: ...

    @rest_list(push=_push, get_page=_get_page)
    def get_list(self, *, author: str | None = None) -> Sequence[Article]: ...

    create = push_of(get_list)

    @rest()
    def partial_update(self, *, id: int, body: ArticleBody) -> Article: ...

    @rest()
    def delete(self, *, id: int) -> Article | None: ...

    def _found_page(self, *, q: str, cursor: str) -> SearchResult: ...

    def _found(self) -> Article: ...

    @rest_list(extends="get_list", path=r"/find\?q=:q", get_page=_found_page, items=_found)
    def find(self, *, q: str) -> SearchResult: ...

    @rest_list(extends="get_list", path=r"/search\?q=:q", get_page=_get_page)
    def search(self, *, q: str) -> SearchResult: ...

    def _assign(self, *, body: dict[str, ArticleBody]) -> dict[str, Article]: ...

    @rest_list(path="/by-name", schema=schema.Collection(schema.Values(Article)), assign=_assign)
    def by_name(self) -> dict[str, Article]: ...

    def _unshift(self, *, body: ArticleBody, pinned: bool) -> Article: ...

    @rest_list(path="/first", push=_push, unshift=_unshift)
    def first(self) -> Sequence[Article]: ...

    @rest_list(path="/top", unshift=_unshift, get_page=_get_page)
    def top(self) -> Sequence[Article]: ...

    @rest_list(path="/log", push=_push, unshift=None)
    def log(self) -> Sequence[Article]: ...

    @rest_list(path="/plain", schema=[Article])
    def plain(self) -> Sequence[Article]: ...

    def _page_by_hand(self, *, cursor: str) -> list[Article]: ...

    @rest_list(path="/by-hand", get_page=_page_by_hand)
    def by_hand(self) -> list[Article]: ...

    @rest(method="POST", path="/articles/:id/publish", body=None)
    def publish(self, *, id: int) -> Article: ...

    @rest(path="/articles/:id/export", schema=None, content="stream")
    def export(self, *, id: int) -> StreamedResponse: ...


class _Resources(Generic[ControllerType]):
    articles: Articles[ControllerType] = lazy_resource(".shapes:Articles")


class Blog(_Resources[Controller], Controller):
    """Waits."""


class AsyncBlog(_Resources[AsyncController], AsyncController):
    """Is awaited."""
