"""Resources: members, optimistic payloads, `extend`, and the class form that gives the same."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from tests.patience import PATIENCE

import restencil
from restencil import ControllerType, Entity, Resource, RestEndpoint, create_resource, rest, rest_list, schema
from restencil.endpoint.resource import endpoints_of


class User(Entity):
    id: int = 0
    name: str = ""


class Article(Entity):
    id: int = 0
    title: str = ""
    author: User = User()
    schema = {"author": User}


STANDARD = ("get", "get_list", "update", "partial_update", "delete")


class Articles(
    Resource[ControllerType],
    path="/users/:user/articles/:id",
    schema=Article,
    url_prefix="/api",
    pagination_field="page",
    optimistic=True,
    data_expiry_length=5,
):
    """As the generator writes it."""

    @rest()
    def get(self, *, user: str, id: int | str) -> Article:
        """Get one."""
        raise NotImplementedError

    def _push(self, *, user: str, body: dict[str, Any]) -> Article:
        raise NotImplementedError

    def _get_page(self, *, user: str, page: int) -> list[Article]:
        raise NotImplementedError

    @rest_list(push=_push, get_page=_get_page)
    def get_list(self, *, user: str, tag: str | None = None) -> list[Article]:
        """Get some."""
        raise NotImplementedError

    create = restencil.push_of(get_list)

    @rest()
    def update(self, *, user: str, id: int | str, body: dict[str, Any]) -> Article:
        raise NotImplementedError

    @rest()
    def partial_update(self, *, user: str, id: int | str, body: dict[str, Any]) -> Article:
        raise NotImplementedError

    @rest()
    def delete(self, *, user: str, id: int | str) -> Article | None:
        raise NotImplementedError

    @rest_list(extends="get_list", path="/search", pagination_field=None, wire={"order_by": "orderBy"})
    def search(self, *, q: str, order_by: str | None = None) -> list[Article]:
        raise NotImplementedError

    @rest(method="POST", path="/articles/:id/publish", body=None)
    def publish(self, *, id: int | str) -> Article:
        raise NotImplementedError


loose: Any = create_resource
"""For uses that type checkers refuse."""

Made: Any = create_resource(
    path="/users/:user/articles/:id",
    schema=Article,
    url_prefix="/api",
    pagination_field="page",
    optimistic=True,
    data_expiry_length=5,
)


class Snapshot:
    """The part of a store's snapshot that optimistic payloads use."""

    abort = restencil.AbortOptimistic()

    def __init__(self, found: Any = None) -> None:
        self._found = found

    def get(self, schema: Any, *args: Any) -> Any:
        return self._found


def shown(endpoint: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Everything of an endpoint that says how it behaves."""
    optimistic = endpoint.get_optimistic_response
    return {
        "method": endpoint.method,
        "path": endpoint.path,
        "name": endpoint.name,
        "side_effect": endpoint.side_effect,
        "has_body": endpoint.has_body,
        "schema": type(endpoint.schema).__name__,
        "url": endpoint.url(params),
        "expiry": endpoint.data_expiry_length,
        "pagination_field": endpoint.pagination_field,
        "processed": endpoint.process({}, params),
        "optimistic": optimistic and optimistic(Snapshot(Article.from_js({"id": 1})), params, {"title": "n"}),
    }


@pytest.mark.parametrize(
    "member",
    [*STANDARD, "create", "get_list.push", "get_list.unshift", "get_list.get_page", "get_list.move", "get_list.remove"],
)
def test_resource_class_form_and_create_resource_give_the_same_members(member: str) -> None:
    """One resource, written in two ways."""
    found: list[dict[str, Any]] = []
    for resource in (Made, Articles):
        endpoint: Any = resource
        for step in member.split("."):
            endpoint = getattr(endpoint, step)
        found.append(shown(endpoint, {"user": "u", "id": 1, "page": 2}))
    assert found[0] == found[1]


class Api(RestEndpoint):
    """The class of the members of a resource."""

    url_prefix = "/cls"


def test_resource_options_of_the_endpoint_and_the_collection_class_reach_every_member() -> None:
    """`Endpoint` is the class of all members, `Collection` that of the list's schema."""

    class Sorted(schema.Collection):
        def non_filter_argument_keys(self, name: str) -> bool:
            return name == "sort"

    resource: Any = loose(path="/a/:id", schema=Article, Endpoint=Api, Collection=Sorted, error_expiry_length=3)
    assert {type(member) for member in endpoints_of(resource).values()} == {Api}
    assert {member.error_expiry_length for member in endpoints_of(resource).values()} == {3}
    assert isinstance(resource.get_list.schema, Sorted)
    keyed: Any = create_resource(path="/a/:id", schema=Article, non_filter_argument_keys=["sort"])
    assert keyed.get_list.schema.non_filter_argument_keys("sort")
    with pytest.raises(TypeError, match="the class of an endpoint is .*; expected RestEndpoint or a subclass of it"):
        loose(path="/a/:id", schema=Article, Endpoint=dict)


@pytest.mark.parametrize(("word", "kind"), [("endpoint", RestEndpoint), ("collection", schema.Collection)])
def test_resource_class_under_the_lower_case_word_is_a_likely_slip(word: str, kind: type[Any]) -> None:
    """A warning proposes the right word."""
    with pytest.warns(UserWarning, match=rf"create_resource\(…, {word}=.*did you mean {word.capitalize()}=\?"):
        loose(path="/a/:id", schema=Article, **{word: kind})


# -- optimistic ------------------------------------------------------------------------------------------------------


def payload(member: Any, *args: Any, found: Any = None) -> Any:
    return member.get_optimistic_response(Snapshot(found), *args)


# -- extend ----------------------------------------------------------------------------------------------------------


def test_resource_extend_of_an_unknown_member_is_rejected() -> None:
    """The error names the members there are and how to add one."""
    with pytest.raises(ValueError, match=r"has no member 'gte' to extend; it has create, get.*extend\('gte', path=…\)"):
        Made.extend(gte={"path": "/x"})


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ((5,), "extend got an int; expected a dict of members, a member's name with options, or a function"),
        (({"get": 5},), "the options of member 'get' are an int; expected a dict, such as {'path': '/me'}"),
        (("me", "/me"), "the options of member 'me' are a str; expected a dict, such as {'path': '/me'}"),
    ],
)
def test_resource_extend_says_what_it_takes(args: tuple[Any, ...], problem: str) -> None:
    """Another form than the three is refused by name."""
    with pytest.raises(TypeError, match=re.escape(problem)):
        Made.extend(*args)


def test_resource_class_of_the_list_is_a_collection() -> None:
    """Another class is refused when the resource is made."""
    with pytest.raises(
        TypeError, match="the collection class of a list is <class .*; expected Collection or a subclass"
    ):
        create_resource(path="/a/:id", schema=Article, Collection=int)


def test_resource_extend_with_a_function_lays_members_over_the_base() -> None:
    """A member may derive from one of the base; what is no dict is refused."""
    shape = {"items": [Article], "n": 0}
    extended = Made.extend(lambda base: {"search": base.get_list.extend(path="/search", schema=shape)})
    assert extended.search.key(q="x") == "GET /api/search?q=x"
    assert extended.get is Made.get
    with pytest.raises(TypeError, match="the function passed to extend returned a list; expected a dict of members"):
        Made.extend(lambda base: [])
    with pytest.raises(TypeError, match="extend got a function together with options"):
        Made.extend(lambda base: {}, get={})


# -- class form ------------------------------------------------------------------------------------------------------


def test_resource_member_may_extend_another_one() -> None:
    """All options of that member, overlaid; a name of its own."""
    assert Articles.search.key(q="x", order_by="t") == "GET /api/search?orderBy=t&q=x"
    assert Articles.search.name == "Article.search"
    assert Articles.search.data_expiry_length == 5
    assert not hasattr(Articles.search, "get_page")
    assert payload(cast(Any, Articles).search.push, {"title": "t"}) == {"title": "t"}


def test_resource_endpoint_shows_the_signature_and_docstring_it_was_declared_with() -> None:
    """So that help() and editors tell what a call takes."""
    assert str(inspect.signature(Articles.get)) == "(*, user: 'str', id: 'int | str') -> 'Article'"
    assert str(inspect.signature(Articles.get_list.push)) == "(*, user: 'str', body: 'dict[str, Any]') -> 'Article'"
    assert Articles.get.__doc__ == "Get one."
    assert isinstance(Articles.get_list, restencil.ListEndpoint)


def test_resource_lazy_schema_is_not_resolved_before_it_is_needed() -> None:
    """Modules of a package may import each other lazily."""
    resolved: list[str] = []

    def resolve() -> Any:
        resolved.append("now")
        return Article

    class Lazily(Resource[ControllerType], path="/a/:id", schema=schema.Lazy(resolve)):
        @rest()
        def get(self, *, id: int) -> Article:
            raise NotImplementedError

        @rest_list()
        def get_list(self) -> list[Article]:
            raise NotImplementedError

    assert Lazily.get.key(id=1) == "GET /a/1"
    assert Lazily.get_list.url() == "/a"
    assert not resolved
    assert Lazily.get.name == "Article.get"
    assert resolved


def test_resource_class_line_gives_the_class_of_the_members() -> None:
    """`endpoint=` of the class line, or of a member."""

    class Other(RestEndpoint):
        url_prefix = "/other"

    class Things(Resource[ControllerType], path="/a/:id", schema=Article, endpoint=Api):
        @rest()
        def get(self, *, id: int) -> Article:
            raise NotImplementedError

        @rest(endpoint=Other)
        def other(self, *, id: int) -> Article:
            raise NotImplementedError

    assert (type(Things.get), type(Things.other)) == (Api, Other)
    assert (Things.get.url(id=1), Things.other.url(id=1)) == ("/cls/a/1", "/other/a/1")


def test_resource_class_line_of_a_subclass_applies_to_inherited_members() -> None:
    """Path, schema and options, under those of the member; the base class stays as it is, also if it was used first."""

    class Things(Resource[ControllerType], path="/a/:id", schema=Article, timeout=1):
        @rest()
        def get(self, *, id: int) -> Article:
            """Read."""
            raise NotImplementedError

        @rest_list()
        def get_list(self) -> list[Article]:
            raise NotImplementedError

        @rest(extends="get", timeout=3)
        def slow(self, *, id: int) -> Article:
            raise NotImplementedError

    assert Things.get.url(id=1) == "/a/1"

    class Others(Things[ControllerType], path="/b/:id", schema=User, timeout=2):
        pass

    read = Others.get
    assert (read.url(id=1), read.schema, read.timeout, read.name, read.__doc__) == (
        "/b/1",
        User,
        2,
        "User.get",
        "Read.",
    )
    assert (Others.get_list.url(), Others.slow.url(id=1), Others.slow.timeout) == ("/b", "/b/1", 3)
    assert (Things.get.url(id=1), Things.slow.url(id=1), Things.get.timeout) == ("/a/1", "/a/1", 1)
    assert Made.update.optimistic
    made: Any = type("Mine", (Made,), {}, optimistic=False)
    assert (made.update.optimistic, made.create.url(user=1), made.get.path) == (
        False,
        "/api/users/1/articles",
        Made.get.path,
    )


def test_resource_class_line_of_a_subclass_gives_inherited_members_their_class() -> None:
    """A base class without a path serves any resource, and the members of one have the class `endpoint`."""

    class Readable(Resource[ControllerType]):
        @rest()
        def get(self, *, id: int) -> Any:
            raise NotImplementedError

    class Users(Readable[ControllerType], path="/users/:id", schema=User, endpoint=Api):
        pass

    assert (type(Users.get), Users.get.url(id=1), Users.get.name) == (Api, "/cls/users/1", "User.get")


def test_resource_class_line_of_a_subclass_cannot_change_what_extend_created() -> None:
    """Such a member has its options already; the error names it and what to do."""
    with pytest.raises(
        TypeError, match="class line of Mine cannot apply to its inherited member 'current', which extend"
    ):
        type("Mine", (Made.extend("current", path="/me"),), {}, timeout=5)


def test_resource_class_line_needs_an_endpoint_class() -> None:
    """Anything else is reported by the class, and not by its first member."""
    with pytest.raises(TypeError, match="the class of an endpoint is .*; expected RestEndpoint or a subclass of it"):
        type("Bad", (Resource,), {}, path="/a/:id", endpoint=dict)


@pytest.mark.parametrize(
    ("extends", "message"),
    [
        ("nothing", "Bad.one extends 'nothing', which does not exist"),
        ("two", "Bad.one extends 'two', which extends 'one' in turn"),
    ],
)
def test_resource_extending_what_cannot_be_is_reported(extends: str, message: str) -> None:
    """The error names the member that extends."""
    one, two = rest(extends=extends), rest(extends="one")
    bad: Any = type("Bad", (Resource,), {"one": one(lambda self: None), "two": two(lambda self: None)}, path="/a/:id")
    with pytest.raises(TypeError, match=message):
        _ = bad.one.method


def test_resource_declared_endpoint_works_outside_of_a_resource() -> None:
    """`rest(path=…)` over any method; `extends` needs a resource."""

    class Anywhere:
        @rest(path="/a/:id")
        def get(self, *, id: int) -> Any:
            raise NotImplementedError

        @rest(extends="get")
        def bad(self) -> Any:
            raise NotImplementedError

    assert Anywhere.get.key(id=1) == "GET /a/1"
    assert Anywhere().get is Anywhere.get
    with pytest.raises(TypeError, match="extends='get' needs an endpoint that is a member of a Resource class"):
        _ = Anywhere.bad.method


def test_bound_resource_says_what_it_is_and_whose() -> None:
    """In a notebook, say."""
    with restencil.Controller() as controller:
        assert repr(Articles(controller)) == "<Articles of <Controller open>>"


def test_resource_threads_may_use_a_declared_member_first_at_once() -> None:
    """What is built at first use is never seen half done."""

    class Shared(Resource[ControllerType], path="/a/:id", schema=Article):
        @rest()
        def get(self, *, id: int) -> Article:
            raise NotImplementedError

    barrier = threading.Barrier(8)

    def use(thread: int) -> str:
        barrier.wait(PATIENCE)
        return Shared.get.key(id=1)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(use, range(8))] == ["GET /a/1"] * 8


def test_resource_options_of_push_stay_with_the_list_that_they_are_written_at() -> None:
    """A member that extends a list takes over its own options, and not what it says of what hangs on it."""

    class Things(Resource, path="/a/:id", schema=Article):
        @rest_list(push_options={"path": "/a/new"}, get_page_options={"timeout": 5}, timeout=7, pagination_field="p")
        def get_list(self) -> list[Article]:
            raise NotImplementedError

        @rest_list(extends="get_list", path="/b")
        def plain(self) -> list[Article]:
            raise NotImplementedError

        @rest_list(extends="get_list", path="/c", push_options={"path": "/c/new"})
        def own(self) -> list[Article]:
            raise NotImplementedError

    things: Any = Things
    assert [things.get_list.push.path, things.plain.push.path, things.own.push.path] == ["/a/new", "/b", "/c/new"]
    assert [things.get_list.get_page.timeout, things.plain.get_page.timeout] == [5, 7]
    assert things.get_list.extend(path="/d").push.path == "/a/new"


def test_resource_what_a_member_declares_answers_its_first_call_too() -> None:
    """A key with declared headers, and hooks given as options, before anything else was asked of the member."""

    class Notes(Resource[ControllerType], path="/notes/:id", schema=Article):
        @rest(header_params={"scope": restencil.HeaderParam("X-Scope")})
        def get(self, *, id: int, scope: str) -> Article:
            raise NotImplementedError

        @rest(path="/kept", key=lambda *args: "kept")
        def kept(self) -> Article:
            raise NotImplementedError

        @rest(path="/moved", url=lambda *args: "/elsewhere")
        def moved(self) -> Article:
            raise NotImplementedError

        @rest(path="/told", process=lambda value, *args: "processed")
        def told(self) -> Article:
            raise NotImplementedError

    assert Notes.get.key(id=1, scope="mine") == "GET /notes/1 x-scope=mine"
    assert Notes.kept.key() == "kept"
    assert Notes.moved.url() == "/elsewhere"
    assert Notes.told.process({}) == "processed"


class Strict(Resource, path="/g/:group/things/:id", schema=User, strict=True):
    """What packages say, of which their members' keywords are a part."""

    @rest()
    def get(self, *, group: str, id: int, tag: str | None = None) -> User:
        raise NotImplementedError

    def _push(self, *, group: str, body: Any) -> User:
        raise NotImplementedError

    @rest_list(push=_push)
    def get_list(self, *, group: str, done: bool | None = None) -> list[User]:
        raise NotImplementedError


def test_resource_unknown_keyword_is_reported_with_what_looks_like_it() -> None:
    """As Python does it, before any request; in reads, in keys, and in what is derived."""
    with restencil.Controller() as controller:
        things: Any = Strict(controller)
        with pytest.raises(TypeError, match="endpoint 'User.get_list' has no keyword 'don'; did you mean 'done'?"):
            things.get_list(group="a", don=True)
        with pytest.raises(TypeError, match="no keyword 'titel'; it takes group, id, tag"):
            things.get.cached(group="a", id=1, titel="x")
        with pytest.raises(TypeError, match="no keyword 'done'; it takes"):
            things.get_list.push(group="a", done=True, body={})
    strict: Any = Strict
    assert strict.get.key({"group": "a", "id": 1, "open": 2}) == "GET /g/a/things/1?open=2"
    assert strict.get.extend(path="/h/:host/:id").key(host="x", id=1) == "GET /h/x/1"
    assert strict.get.extend(strict_keywords=False).key(group="a", id=1, open=2) == "GET /g/a/things/1?open=2"
    open_ended: Any = create_resource(path="/things/:id", schema=User, strict_keywords=True)
    assert open_ended.get.key(id=1, open=2) == "GET /things/1?open=2"
