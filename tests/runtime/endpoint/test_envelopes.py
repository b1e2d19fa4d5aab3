"""Where answers hold their values, how bodies are sent, and what mutations leave stale."""

from __future__ import annotations

import datetime
import hashlib
import logging
from collections.abc import Callable
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked
from tests.runtime.worlds import controller_of, listed, running

import restencil
from restencil import Controller, Entity, ProcessingError, Resource, RestEndpoint, create_resource, rest, schema

ROOT = "https://news.example"


class Article(Entity):
    id: int = 0
    title: str = ""


class Draft(Entity, pk="number"):
    number: int = 0


class Articles(Resource[Any], path="/articles/:id", schema=Article, url_prefix=ROOT, strict=True):
    @rest()
    def get(self, *, id: int) -> Any: ...

    @restencil.rest_list()
    def get_list(self, *, title: str | None = None) -> Any: ...

    @rest()
    def partial_update(self, *, id: int, body: Any) -> Any: ...

    @rest()
    def delete(self, *, id: int) -> Any: ...

    @rest(method="POST", path="/articles/:id/read", schema=None, expires=("self", "get_list", "drafts", "lost"))
    def read(self, *, id: int) -> Any: ...


class Drafts(Resource[Any], path="/articles/:id/drafts/:number", schema=Draft, url_prefix=ROOT, strict=True):
    @rest()
    def get(self, *, id: int, number: int) -> Any: ...

    @rest(method="POST", path="/articles/:id/drafts/:number/print", schema=None, expires=("articles.get",))
    def print(self, *, id: int, number: int) -> Any: ...


class News(Controller):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.articles = Articles(self)
        self.drafts = Drafts(self)


def called(endpoint: Any, server: Asked, *, asynchronous: bool, **arguments: Any) -> Any:
    """The value of one call through the cache of either world."""
    controller = controller_of(asynchronous, client=server.of(asynchronous))
    with running(controller) as run:
        return run((controller.fetch if endpoint.side_effect else controller.read)(endpoint, **arguments))


def one(**options: Any) -> Any:
    return RestEndpoint(**{"path": "/articles/:id", "url_prefix": ROOT, "schema": Article, **options})


# -- envelopes of answers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("data", {"data": {"id": 1}}),
        ("data.article", {"data": {"article": {"id": 1}}, "meta": {}}),
        ("contacts.0", {"contacts": [{"id": 1}, {"id": 2}]}),
        ("1.item", [{}, {"item": {"id": 1}}]),
        ("0", {"0": {"id": 1}}),
    ],
)
def test_envelopes_value_of_a_response_is_in_its_envelope(path: str, answer: Any, *, asynchronous: bool) -> None:
    """Dots go into objects, a number into a list; a member that is called like a number is one."""
    found = called(one(unwrap=path), Asked(answer), asynchronous=asynchronous, id=1)
    assert found == Article(id=1)


@pytest.mark.parametrize(
    ("answer", "has"),
    [
        ({"errors": [], "trace": "x"}, "it has: errors, trace"),
        ({}, "it is empty"),
        ({"data": {"other": 1}}, "it has: data"),
        ({"data": [{"id": 1}]}, "it has: data"),
        ([{"id": 1}], "it is a list"),
        ({str(number): 0 for number in range(9)}, "it has: 0, 1, 2, 3, 4, 5, 6, 7, …"),
    ],
)
def test_envelope_that_is_absent_is_an_error_that_says_what_is_there(
    answer: Any, has: str, *, asynchronous: bool
) -> None:
    """Nothing is written, and the error has the status 400."""
    endpoint = one(unwrap="data.article", name="Article.get")
    with pytest.raises(ProcessingError) as caught:
        called(endpoint, Asked(answer), asynchronous=asynchronous, id=1)
    asked = f"the response to GET {ROOT}/articles/1"
    assert str(caught.value) == f"{asked} has no 'data.article' (envelope of Article.get); {has}"
    assert caught.value.status == 400


def test_envelope_that_is_absent_in_the_response_to_a_change_says_that_the_change_was_made() -> None:
    """The server has accepted it."""
    endpoint = one(unwrap="data", name="Article.save", method="POST")
    with pytest.raises(ProcessingError, match=r"it has: ok; the change was made$"):
        called(endpoint, Asked({"ok": True}), asynchronous=False, id=1)


def test_envelopes_text_in_place_of_a_record_is_an_error_that_names_what_ignores_it() -> None:
    """Many servers answer a change with `"OK"`."""
    with pytest.raises(ProcessingError, match="found 'OK'; .* ignore=True if its content does not matter"):
        called(one(method="PUT"), Asked("OK"), asynchronous=False, id=1)


def test_envelopes_error_of_a_member_names_its_resource() -> None:
    """What a resource is called in the client stands before the member."""

    endpoint = Articles.get.extend(unwrap="data")
    with pytest.raises(ProcessingError, match=r"\(envelope of articles\.get\); it is empty"):
        called(endpoint, Asked({}), asynchronous=False, id=1)


def test_envelope_is_opened_after_parse_response_and_before_process() -> None:
    """One hook sees the whole answer, the other the value."""
    seen: list[Any] = []

    def process(value: Any, *args: Any) -> Any:
        seen.append(value)
        return value

    endpoint = one(unwrap="data", process=process, parse_response=lambda response: {"data": response.json()})
    assert called(endpoint, Asked({"id": 1}), asynchronous=False, id=1) == Article(id=1)
    assert seen == [{"id": 1}]


@pytest.mark.parametrize("answer", [{"data": None}, None], ids=["null inside", "null"])
def test_envelopes_null_at_the_envelope_is_a_response_without_content(answer: Any) -> None:
    """It is what `empty` says: nothing, or else an error."""
    assert called(one(unwrap="data", empty="none"), Asked(lambda request: answer), asynchronous=False, id=1) is None
    with pytest.raises(ProcessingError, match="expected an object or a list, found None"):
        called(one(unwrap="data"), Asked(lambda request: answer), asynchronous=False, id=1)


def test_envelopes_delete_has_succeeded_whatever_its_envelope(*, asynchronous: bool) -> None:
    """An answer without the envelope names nothing, so the entity of the path is gone."""

    server = Asked({"ok": True})
    endpoint = Articles.delete.extend(unwrap="data.article")
    assert called(endpoint, server, asynchronous=asynchronous, id=1) is None


@pytest.mark.parametrize("path", ["", ".", "a..b", "a.", 5])
def test_envelope_is_a_path(path: Any) -> None:
    """Steps that are empty name nothing."""
    with pytest.raises(
        ValueError, match="unwrap of endpoint GET '/articles/:id' is .*; expected names and numbers separ"
    ):
        one(unwrap=path)


@pytest.mark.parametrize("answer", [{"ok": True}, "deleted", 5], ids=str)
def test_envelopes_what_is_ignored_counts_as_no_content(answer: Any, *, asynchronous: bool) -> None:
    """A text such as `deleted` names no entity then, whatever its content type."""
    server = Asked(
        lambda request: (
            httpx.Response(200, text=answer) if isinstance(answer, str) else httpx.Response(200, json=answer)
        )
    )
    endpoint = Articles.delete.extend(ignore=True)
    assert called(endpoint, server, asynchronous=asynchronous, id=1) is None


# -- answers without content, scalars ----------------------------------------------------------------------------------


def test_envelopes_scalar_is_kept_unchanged_and_converted_when_it_is_read() -> None:
    """No table is touched."""
    at = one(path="/at", schema=schema.codec(datetime.datetime), unwrap="at")
    server = Asked({"at": "2020-01-01T00:00:00Z"})
    with Controller(client=server.sync) as controller:
        found = [controller.read(at) for _ in range(2)]
        stored = controller.store.state["endpoints"], controller.store.state["entities"]
    assert found == [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)] * 2
    assert stored == ({f"GET {ROOT}/at": "2020-01-01T00:00:00Z"}, {})
    assert len(server.requests) == 1


# -- bodies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "body", "content", "kind"),
    [
        ({"wrap": "article"}, {"title": "A"}, b'{"article":{"title":"A"}}', "application/json"),
        ({"wrap": "a.b"}, [1], b'{"a":{"b":[1]}}', "application/json"),
        ({"content_type": "application/merge-patch+json"}, {"a": 1}, b'{"a":1}', "application/merge-patch+json"),
        ({"content_type": "text/csv"}, "a,b", b"a,b", "text/csv"),
        ({"content_type": "image/png"}, b"\x89", b"\x89", "image/png"),
        ({"body_format": "text"}, "Grüße", "Grüße".encode(), "text/plain; charset=utf-8"),
        ({"wrap": "a", "body_format": "text"}, "b", b"b", "text/plain; charset=utf-8"),
        ({"content_type": "text/csv", "body_format": "form"}, {"a": 1}, b"a=1", "application/x-www-form-urlencoded"),
        ({"content_type": "text/csv", "wrap": "a"}, None, b"", None),
    ],
)
def test_envelopes_body_is_sent_as_the_options_say(
    options: Any, body: Any, content: bytes, kind: str | None, *, asynchronous: bool
) -> None:
    """Envelope and content type; where there is no body, neither."""
    server = Asked({"id": 1})
    called(one(method="PUT", schema=None, **options), server, asynchronous=asynchronous, id=1, body=body)
    sent = server.requests[0]
    assert (sent.content, sent.headers.get("content-type")) == (content, kind)


# -- bodies in keys ----------------------------------------------------------------------------------------------------

search: Any = RestEndpoint(
    path="/query",
    url_prefix=ROOT,
    method="POST",
    side_effect=False,
    body_in_key=True,
    schema={"items": schema.Collection([Article])},
    pagination_field="page",
)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"q": "a", "b": [1, None]}, '{"b":[1,null],"q":"a"}'),
        ({"q": "ä€😀"}, '{"q":"ä€😀"}'),
        ({"at": datetime.date(2020, 1, 31)}, '{"at":"2020-01-31"}'),
        ([], "[]"),
        ("x", '"x"'),
    ],
)
def test_envelopes_key_of_a_search_by_post_has_what_reports_its_body_apart(body: Any, text: str) -> None:
    """It is the first 32 hex digits of the SHA-256 of the body as compact JSON with sorted keys."""
    assert search.key(body=body) == f"POST {ROOT}/query body={digest(text)}"
    assert search.key(page=2, body=body) == f"POST {ROOT}/query?page=2 body={digest(text)}"
    assert search.test_key(search.key(page=2, body=body))
    assert search.key() == f"POST {ROOT}/query"


def test_envelopes_body_is_in_no_key_of_a_change() -> None:
    """A change has no cached answer."""
    with pytest.raises(ValueError, match="body_in_key of endpoint POST '/a' is set, but responses of an endpoint"):
        RestEndpoint(path="/a", method="POST", body_in_key=True)


def answering(request: Any) -> Any:
    path, number = request.url.path, request.url.path.partition("/drafts/")[2].partition("/")[0]
    if request.method == "POST":
        return httpx.Response(200, json={"ok": True})
    return [{"id": 1}] if path == "/articles" else {"id": int(path.split("/")[2]), "number": int(number or 0)}


# -- what a change leaves stale ----------------------------------------------------------------------------------------


READS: dict[str, Callable[[News], Any]] = {
    "/articles/1": lambda news: news.articles.get.get_response(id=1),
    "/articles/2": lambda news: news.articles.get.get_response(id=2),
    "/articles": lambda news: news.articles.get_list.get_response(),
    "/articles/1/drafts/3": lambda news: news.drafts.get.get_response(id=1, number=3),
    "/articles/2/drafts/4": lambda news: news.drafts.get.get_response(id=2, number=4),
}


def stale(news: News) -> set[str]:
    """The paths of what is shown still and fetched by the next read."""
    found = {path: read(news) for path, read in READS.items()}
    return {path for path, reading in found.items() if reading.found and reading.needs_fetch}


def test_envelopes_expires_names_what_a_change_makes_stale_where_the_paths_agree(caplog: Any) -> None:
    """`expires` names the record itself, members, and all that a resource reads; unknown names are logged (3.4)."""
    with News(client=Asked(answering).sync) as news, caplog.at_level(logging.WARNING, "restencil"):
        news.articles.get(id=1)
        news.articles.get(id=2)
        news.articles.get_list()
        news.drafts.get(id=1, number=3)
        news.drafts.get(id=2, number=4)
        assert stale(news) == set()
        news.articles.read(id=1)
        assert stale(news) == {"/articles/1", "/articles", "/articles/1/drafts/3"}
        assert getattr(news.articles.get.cached(id=1), "id", None) == 1
    assert "expires of articles.read has 'lost', which is not a member or resource; fix the name" in caplog.text


# -- forms and parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("styles", "body", "content"),
    [
        (None, {"a": [1, 2]}, "a=1&a=2"),
        (None, {"a": {"b": 1, "c": [2, 3]}}, "a%5Bb%5D=1&a%5Bc%5D%5B%5D=2&a%5Bc%5D%5B%5D=3"),
        (None, {"a": [{"b": 1}]}, "a%5B%5D%5Bb%5D=1"),
        (None, {"b": 1, "a": {}}, "b=1"),
        ({"a": "comma"}, {"a": [1, 2]}, "a=1%2C2"),
        ({"a": "json"}, {"a": {"c": "ä"}}, "a=%7B%22c%22%3A%22%C3%A4%22%7D"),
        ({"a": "form"}, {"a": {"b": 1, "c": [2, 3]}}, "b=1&c=2&c=3"),
        ({"a": "deep"}, {"x": True, "a": [[1], [2]]}, "x=true&a%5B0%5D%5B0%5D=1&a%5B1%5D%5B0%5D=2"),
    ],
)
def test_envelopes_lists_and_objects_stand_in_a_form_in_their_styles(styles: Any, body: Any, content: str) -> None:
    """Without a word a list is repeated, and an object has brackets; the order of fields is kept."""
    server = Asked({})
    endpoint = one(method="POST", schema=None, path="/form", body_format="form", form_styles=styles)
    called(endpoint, server, asynchronous=False, body=body)
    assert server.requests[0].content.decode() == content


def test_envelopes_objects_are_parts_of_json_and_items_parts_of_their_own(*, asynchronous: bool) -> None:
    """A list of files is as many files."""
    server = Asked({})
    body = {"files": [b"one", b"two"], "tags": ["a", "b"], "range": {"first": 1}, "more": [{"x": "ä"}]}
    endpoint = one(method="POST", schema=None, path="/files", body_format="multipart")
    called(endpoint, server, asynchronous=asynchronous, body=body)
    parts = server.requests[0].content.decode().split("--" + server.requests[0].headers["content-type"][30:])
    told = [part.strip().partition("\r\n\r\n")[::2] for part in parts[1:-1]]
    names = [head.partition('name="')[2].partition('"')[0] for head, _ in told]
    assert sorted(zip(names, (text for _, text in told), strict=True)) == [
        ("files", "one"),
        ("files", "two"),
        ("more", '{"x":"ä"}'),
        ("range", '{"first":1}'),
        ("tags", "a"),
        ("tags", "b"),
    ]
    assert sum("application/json" in head for head, _ in told) == 2


# -- pages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pagination",
    [
        {"style": "cursor", "next": "meta.next"},
        {"style": "page", "total": "meta.total"},
        {"style": "page", "more": "meta.next"},
        {"style": "url", "next": "links.0.next"},
    ],
    ids=str,
)
def test_envelopes_paths_of_pagination_start_at_the_root_of_the_response(
    pagination: Any, *, asynchronous: bool
) -> None:
    """A run notes the whole answer, and so fetches the first page, whatever lies in the store."""

    def answer(request: Any) -> Any:
        page = int(request.url.params.get("page", 1))
        following = page + 1 if page < 3 else None
        links = [{"next": following and f"/articles?page={following}"}]
        return {"data": [{"id": page}], "meta": {"next": following, "total": 3}, "links": links}

    server = Asked(answer)
    endpoint = RestEndpoint(
        path="/articles",
        url_prefix=ROOT,
        schema=schema.Collection([Article]),
        unwrap="data",
        pagination_field="page",
        pagination=pagination,
    )
    controller = controller_of(asynchronous, client=server.of(asynchronous))
    with running(controller) as run:
        run(controller.read(endpoint))
        found = [article.id for article in run(listed(controller.iterate(endpoint)))]
    assert found == [1, 2, 3]
    assert len(server.requests) == 4


# -- singletons and groups by hand -------------------------------------------------------------------------------------


class Me(Entity, pk="name"):
    name: str = ""


class Own(Resource[Any], path="/me", schema=Me, url_prefix=ROOT, singleton=True, strict=True):
    @rest()
    def get(self) -> Any: ...

    @rest()
    def delete(self) -> Any: ...


def test_envelopes_singleton_is_at_a_path_that_may_have_no_parameter() -> None:
    """Its key has the path alone, and what is deleted is what `get` has given."""
    server = Asked(lambda request: {"name": "ada"} if request.method == "GET" else httpx.Response(204))
    with Controller(client=server.sync) as controller:
        own = Own(controller)
        assert (own.get(), own.get(), Own.get.key()) == (Me(name="ada"), Me(name="ada"), f"GET {ROOT}/me")
        assert own.delete() == Me(name="ada")
    assert [request.method for request in server.requests] == ["GET", "DELETE"]
    with pytest.raises(ValueError, match="needs a parameter, such as '/articles/:id', or singleton=True"):
        create_resource(path="/me", schema=Me)


def test_envelopes_resource_made_by_a_function_may_be_a_singleton() -> None:
    """It has all members but those of a list."""
    made: Any = create_resource(path="/me", schema=Me, url_prefix=ROOT, singleton=True)
    members = ("get", "update", "partial_update", "delete", "get_list")
    assert [hasattr(made, name) for name in members] == [True, True, True, True, False]
    assert made.update.key() == f"PUT {ROOT}/me"
    with pytest.raises(ValueError, match="needs a parameter, such as '/articles/:id', or singleton=True"):
        create_resource(path="/me", schema=Me)
