"""Every style of pagination is complete: runtime, spec language, mock server, import, export, lint and docs know it."""

from __future__ import annotations

import asyncio
import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.freshness.spec import client_class, generated
from tests.generator.declared import declared
from tests.mocked import served
from tests.openapi.documents import read_tree
from tests.runtime.endpoint.test_typing import Errors, mypy_as_here, pyright

import restencil_generator
from restencil.endpoint import page_styles as runtime
from restencil_generator.diff import compare
from restencil_generator.lint.run import lint
from restencil_generator.mock.app import create_app
from restencil_generator.openapi.export.document import export
from restencil_generator.openapi.export.embed import restored
from restencil_generator.openapi.infer.build import make
from restencil_generator.openapi.options import Options
from restencil_generator.openapi.spec_tree import Tree
from restencil_generator.openapi.spec_writer import write
from restencil_generator.spec.load import load_text, written_in
from restencil_generator.spec.page_styles import STYLES, PageStyle

ROOT = Path(__file__).parents[3]
SIZE, COUNT = 10, 25
PLACES = ("query", "body")
each_style = pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
each_place = pytest.mark.parametrize("place", PLACES)


def field_of(style: PageStyle) -> str:
    """A parameter that names a page in this style."""
    return (*style.implied_by, *style.parameters, "at")[0]


def pagination_of(style: PageStyle, place: str, *, plain: bool = False) -> str:
    """The keys `pagination_field` and `pagination`, with the sizes of pages where the request has them."""
    keys = [f"style: {style.name}", *(["in: body"] if place == "body" else [])]
    keys += ["next: next"] if style.needs_next else []
    keys += [] if plain else [f"size: {{param: limit, value: {SIZE}}}"]
    return f"pagination_field: {field_of(style)}, pagination: {{{', '.join(keys)}}}"


def schema_of(style: PageStyle, items: str) -> str:
    """The schema of a list, in an object where its pages are named in it."""
    return f"{{items: {items}, next: string?}}" if style.needs_next else items


def spec_of(styles: list[PageStyle], *, plain: bool = False) -> str:
    """A spec with a resource for each style: a list by GET, one by POST, and one of plain values."""
    text = "restencil: 1\npackage: every_style\nurl_prefix: https://styles.example\nresources:\n"
    for style in styles:
        name, type = style.name, "integer" if style.is_integer else "string"
        held = schema_of(style, f"{{collection: [{name.capitalize()}]}}")
        body = f"{{{field_of(style)}: {type}?, limit: integer?, name: string?}}"
        text += f"""
  {name}_items:
    path: /{name}_items/:id
    schema: {{entity: {name.capitalize()}, fields: {{id: integer, name: string}}}}
    endpoints:
      get_list: {{schema: {held}, {pagination_of(style, "query", plain=plain)}}}
      search:
        {{method: POST, path: /{name}_items/search, side_effect: false, request: {{in_key: true, optional: true}},
         body: {body}, schema: {held}, {pagination_of(style, "body", plain=plain)}}}
      names: {{path: /{name}_names, schema: {schema_of(style, "[string]")}, {pagination_of(style, "query")}}}
"""
    return text


@pytest.fixture(scope="module")
def package() -> ModuleType:
    """The package of a spec with every style."""
    return generated(spec_of([*STYLES.values()]), "every_style")


class Log(list[str]):
    """The requests that the mock server had."""

    def taken(self) -> list[str]:
        """Those since the last time."""
        found = [*self]
        self.clear()
        return found


@pytest.fixture(scope="module")
def mock() -> Iterator[tuple[str, Log]]:
    """The address of a mock server of every style, and its log."""
    log = Log()
    with served(create_app(declared(spec_of([*STYLES.values()])), log=log.append)) as address:
        yield address, log


class Reader:
    """A client of either kind, whose lists are read whole."""

    def __init__(self, package: ModuleType, address: str, *, asynchronous: bool) -> None:
        self.kind = client_class(package, asynchronous=asynchronous)
        self.address = address
        self.asynchronous = asynchronous

    def read(self, use: Any) -> list[Any]:
        """What the run gives that `use` makes of a client."""
        if not self.asynchronous:
            with self.kind(url_prefix=self.address) as client:
                return list(use(client))

        async def collect() -> list[Any]:
            async with self.kind(url_prefix=self.address) as client:
                return [one async for one in use(client)]

        return asyncio.run(collect())


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def reader(request: pytest.FixtureRequest, package: ModuleType, mock: tuple[str, Log]) -> Reader:
    """A client of either kind."""
    return Reader(package, mock[0], asynchronous=request.param)


def listing(client: Any, style: PageStyle, place: str) -> Any:
    resource = getattr(client, f"{style.name}_items")
    return resource.get_list if place == "query" else resource.search


def test_page_styles_runtime_and_generator_know_the_same_styles() -> None:
    """A style of specs is one that programs can follow, with the same properties."""
    properties = ("implied_by", "is_counted", "needs_next", "is_url")
    for name in {*STYLES, *runtime.STYLES}:
        assert name in STYLES, f"the style {name!r} is missing in restencil_generator.spec.page_styles"
        assert name in runtime.STYLES, f"the style {name!r} is missing in restencil.endpoint.page_styles"
        ours, theirs = STYLES[name], runtime.STYLES[name]
        assert [getattr(ours, one) for one in properties] == [getattr(theirs, one) for one in properties], name
        assert not ours.is_counted or ours.start == theirs.start, name


@each_style
@each_place
def test_page_styles_iterate_gives_every_item_of_the_mock_once(
    style: PageStyle, place: str, reader: Reader, mock: tuple[str, Log]
) -> None:
    """Every page is requested once, and one more at the end where no response says that it is the last."""
    mock[1].taken()
    items = reader.read(lambda client: listing(client, style, place).iterate())
    assert [item.id for item in items] == [*range(1, COUNT + 1)]
    requests = mock[1].taken()
    assert len(requests) <= math.ceil(COUNT / SIZE) + 1
    assert place == "body" or len(set(requests)) == len(requests)


@each_style
@each_place
def test_pages_can_be_resumed_after_each_position(style: PageStyle, place: str, reader: Reader) -> None:
    """`start_at(position)` goes on behind that page; positions are JSON."""
    pages = reader.read(lambda client: listing(client, style, place).pages())
    assert [item.id for page in pages for item in page.items] == [*range(1, COUNT + 1)]
    for number, page in enumerate(pages):
        position = json.loads(json.dumps(page.position))
        rest = reader.read(lambda client, after=position: listing(client, style, place).iterate().start_at(after))
        first = SIZE * (number + 1) + 1
        assert [item.id for item in rest] == [*range(first, COUNT + 1)], position


@each_style
def test_page_styles_plain_values_are_paged_like_records(style: PageStyle, reader: Reader) -> None:
    """A list of strings has pages too, each a result of its own."""
    names = reader.read(lambda client: getattr(client, f"{style.name}_items").names.iterate())
    assert len(names) == COUNT
    assert {type(name) for name in names} == {str}


@each_style
@each_place
def test_page_styles_exported_document_is_imported_with_its_style(style: PageStyle, place: str) -> None:
    """What OpenAPI can say of a list is enough to find its style again, in parameters and in bodies."""
    document = export(declared(spec_of([style], plain=True)), "3.1", plain=True)
    with tempfile.TemporaryDirectory() as folder:
        found: Any = make(read_tree(document, Path(folder)), Options(), "again").tree.value
    (resource,) = (one for one in found["resources"].values() if one.get("path") == f"/{style.name}_items/:id")
    endpoint = resource if place == "query" else resource["endpoints"]["search"]
    in_body = place == "body" and not style.is_url
    expected = {
        "style": style.name,
        **({"in": "body"} if in_body else {}),
        **({"next": "next"} if style.needs_next else {}),
    }
    assert endpoint["pagination"] == expected


@each_style
def test_page_styles_lint_has_nothing_to_say_of_a_style(style: PageStyle) -> None:
    """A list that says its style needs no advice about its pages."""
    codes = {problem.code for problem in lint(load_text(spec_of([style])))}
    assert not codes & {"no-iterate", "no-effect", "body-shares-key", "search-no-field"}


@each_style
def test_page_on_styles_shows_each_style(style: PageStyle) -> None:
    """It has a row in the table, and its example has a list by GET and one by POST."""
    text = (ROOT / "docs" / "how-to" / "pagination-styles.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any(re.search(rf"\{{style: {style.name}\b", row) for row in rows), f"no row of the table has {style.name!r}"
    for place, pattern in (
        ("query", rf"\{{style: {style.name}(?!, in)"),
        ("body", rf"\{{style: {style.name}, in: body"),
    ):
        example = text.partition("# pages.yaml")[2].partition("```")[0]
        assert re.search(pattern, example), f"the example has no {style.name!r} in the {place}"


def uses_of(style: PageStyle) -> list[str]:
    """Lines of a program that reads the lists of a style; those that are marked are errors."""
    position = 2 if style.is_integer else '"x"'
    entity, resource = f"every_style.{style.name.capitalize()}", f"client.{style.name}_items"
    whole = f"page_{style.name}.items"
    lines: list[str] = []
    for wait, loop, kind in (("", "for", "EveryStyle"), ("await ", "async for", "AsyncEveryStyle")):
        lines += [
            f"{'async ' if wait else ''}def {kind.lower()}_{style.name}(client: every_style.{kind}) -> None:",
            f'    {loop} item in {resource}.search.iterate(body={{"name": "x"}}).limit(3):',
            f"        assert_type(item, {entity})",
            f"    {loop} page_{style.name} in {resource}.search.pages().start_at(None):",
            f"        assert_type({whole}, Sequence[{entity}])",
            f"    {wait}{resource}.search.get_page(body={{{field_of(style)!r}: {position}, 'limit': 5}})",
            f"    {wait}{resource}.search.get_page({field_of(style)}={position})  # error: it is a member of the body",
            f"    {wait}{resource}.get_list.get_page({field_of(style)}={position})",
            f"    {wait}{resource}.search.get_page(body={{{field_of(style)!r}: 1.5}})  # error: no position",
            f"    {loop} name in {resource}.names.iterate():",
            "        assert_type(name, str)",
            f"    {wait}{resource}.names.get_page({field_of(style)}={position})",
        ]
    return lines


@pytest.mark.parametrize(
    "checker", [pytest.param(mypy_as_here, id="mypy"), pytest.param(pyright, marks=pytest.mark.slow, id="pyright")]
)
def test_page_styles_lists_in_every_style_are_typed(checker: Callable[[Path], Errors], tmp_path: Path) -> None:
    """Items, pages and positions have their types in both checkers, for blocking code and asyncio."""
    spec = tmp_path / "every_style.yaml"
    spec.write_text(spec_of([*STYLES.values()]), "utf-8")
    restencil_generator.write(spec, tmp_path)
    head = ["from collections.abc import Sequence", "from typing import assert_type", "import every_style"]
    lines = [*head, *(line for style in STYLES.values() for line in uses_of(style))]
    (tmp_path / "uses.py").write_text("\n".join(lines) + "\n", "utf-8")
    found = checker(tmp_path)
    errors = found.pop("uses.py", {})
    assert found == {}
    assert sorted(errors) == [number for number, line in enumerate(lines, 1) if "# error: " in line], errors


@each_style
def test_page_styles_export_keeps_pagination_in_the_body(style: PageStyle) -> None:
    """A document with `x-restencil` gives the same spec again."""
    text = spec_of([style])
    document = export(declared(text), "3.1", plain=False, written=written_in([text]))
    found = restored(json.loads(json.dumps(document)))
    assert found is not None
    assert declared(write(Tree(found.spec))).digest == declared(text).digest


@each_style
def test_page_styles_diff_reports_where_positions_are_sent(style: PageStyle) -> None:
    """A list whose positions move into the body, or out of it, finds its next page in another way."""
    before = spec_of([style])
    changes = compare(declared(before), declared(before.replace("in: body, ", "")))
    assert "pagination-changed" in {change.rule for change in changes}
