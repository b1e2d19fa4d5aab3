"""Inheritance: the effective settings of endpoints, from what spec, resource and endpoint write."""

from __future__ import annotations

from restencil_generator.spec.analyze.arguments import ClientArguments
from restencil_generator.spec.analyze.raw import RawEndpoint, RawResource
from restencil_generator.spec.analyze.resolve import ResolvedResource, resolve
from restencil_generator.spec.analyze.settings import Settings
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.grammar.keys import defaults
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.model import EntityRef
from restencil_generator.spec.path_template import parse_path
from restencil_generator.spec.source.nodes import Entry, ScalarNode

KEY = ScalarNode("spec.yaml", 0, 0, 0, 8, "articles", True)
RESOURCE = Subject("resource 'articles'")


def section(name: str, **values: object) -> ParsedSection:
    entries = {key: Entry(KEY, KEY) for key in values}
    return ParsedSection(name, defaults(name), entries, {**values})


def endpoint(name: str, settings: Settings | None = None, **values: object) -> RawEndpoint:
    what = Subject(f"endpoint '{name}'", RESOURCE)
    return RawEndpoint(name, what, KEY, section("endpoint", **values), settings or Settings())


def resolved(
    *endpoints: RawEndpoint, top: Settings | None = None, own: Settings | None = None, **values: object
) -> ResolvedResource:
    raw = RawResource("articles", RESOURCE, KEY, section("resource", **values), own or Settings(), "Articles")
    raw.path = parse_path("/articles/:id")
    raw.schema = EntityRef("Article")
    raw.endpoints = {one.name: one for one in endpoints}
    return resolve(Types([]), top or Settings(), ClientArguments((), (), ()), raw)


def test_resolve_nearest_level_counts() -> None:
    """Of spec, resource and endpoint, the nearest level that writes an option decides, option by option."""
    found = resolved(
        endpoint("get", Settings(options={"timeout": 3})),
        top=Settings(options={"timeout": 1, "retries": 1}),
        own=Settings(options={"timeout": 2}),
    )
    options = {name: one.endpoint.options for name, one in found.endpoints.items()}
    assert (options["get"].timeout, options["get"].retries) == (3, 1)
    assert (options["delete"].timeout, options["delete"].retries) == (2, 1)


def test_resolve_added_endpoint_inherits_from_what_it_extends() -> None:
    """An added endpoint starts from its base, however the two are ordered, and bases from theirs."""
    found = resolved(
        endpoint("a_second", extends="first"),
        endpoint("first", Settings(headers={"X-One": "1"}), extends="get"),
    )
    assert found.endpoints["a_second"].endpoint.headers == {"X-One": "1"}
    assert found.endpoints["a_second"].endpoint.path.text == "/articles/:id"
    assert found.bases.order == ("first", "a_second")


def test_resolve_leaves_out_what_is_wrong() -> None:
    """Circles and unknown bases are named for the rules, and their endpoints start from the resource."""
    found = resolved(
        endpoint("one", extends="two"), endpoint("two", extends="one"), endpoint("three", extends="nothing")
    )
    assert found.bases.unknown == ("three",)
    assert [set(circle) for circle in found.bases.circles] == [{"one", "two"}]
    assert [found.endpoints[name].endpoint.extends for name in ("one", "two", "three")] == [None, None, None]


def test_resolve_create_inherits_from_push() -> None:
    """`push` is an operation of the list, and `create` inherits what the spec writes for it."""
    found = resolved(endpoint("push", Settings(options={"timeout": 7})))
    assert found.endpoints["get_list"].operations["push"].endpoint.options.timeout == 7
    assert found.endpoints["create"].endpoint.options.timeout == 7
    assert found.endpoints["get_list"].endpoint.options.timeout is None
