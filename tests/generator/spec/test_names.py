"""Names: what they become in Python and in JSON, from tables that agree with Python and with the runtime."""

from __future__ import annotations

import keyword
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import restencil
from restencil.endpoint.path import parse as runtime_parse
from restencil.endpoint.path import shorten_path
from restencil_generator.spec.model import PathParameter, WireNames
from restencil_generator.spec.names import (
    CLIENT_MEMBERS,
    ENTITY_MEMBERS,
    KEYWORDS,
    Use,
    is_identifier,
    python_name,
    wire_name,
)
from restencil_generator.spec.path_template import TemplateError, list_path, parse_path, route


@pytest.mark.parametrize(
    ("name", "wires"),
    [
        ("order_by", {"as_is": "order_by", "camelCase": "orderBy", "PascalCase": "OrderBy", "kebab-case": "order-by"}),
        ("order_by", {"snake_case": "order_by"}),
        ("orderBy", {"snake_case": "order_by", "kebab-case": "order-by", "camelCase": "orderBy"}),
        ("userID", {"camelCase": "userID", "snake_case": "user_id"}),
        ("HTTPServer", {"snake_case": "http_server"}),
        ("ID", {"camelCase": "id", "PascalCase": "ID"}),
        ("url2", {"camelCase": "url2"}),
        ("address_line_1", {"camelCase": "addressLine1", "kebab-case": "address-line-1"}),
        ("a__b", {"camelCase": "aB"}),
        ("class_", {"camelCase": "class", "as_is": "class_"}),
        ("größe_max", {"camelCase": "größeMax"}),
    ],
)
def test_wire_name_follows_the_style(name: str, wires: dict[WireNames, str]) -> None:
    """Names are taken apart at underscores; snake and kebab case also where a capital follows."""
    assert {style: wire_name(name, style) for style in wires} == wires


@given(st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,20}", fullmatch=True), st.sampled_from(get_args(WireNames)))
def test_names_style_applied_twice_is_applied_once(name: str, style: WireNames) -> None:
    """A name that already follows the style stays as it is."""
    once = wire_name(name, style)
    if style == "kebab-case":
        assert wire_name(once.replace("-", "_"), style) == once
    elif style != "camelCase" or not re.search("^[A-Z]+$", once):
        assert wire_name(once, style) == once


@pytest.mark.parametrize(
    ("use", "kept", "taken"),
    [
        ("field", "id type list license match key schema pk indexes body extend", "class merge"),
        ("parameter", "merge self", "None body"),
        ("endpoint", "merge", "async extend"),
        ("resource", "extend", "import"),
        ("member", "merge", ""),
    ],
)
def test_names_one_underscore_is_added_where_a_name_is_taken(use: Use, kept: str, taken: str) -> None:
    """Keywords, members of `Entity`, `body` and `extend` get one trailing underscore, nothing else changes."""
    assert [python_name(name, use) for name in kept.split()] == kept.split()
    assert [python_name(name, use) for name in taken.split()] == [f"{name}_" for name in taken.split()]


def test_names_table_of_keywords_holds_those_of_the_running_python() -> None:
    """Every keyword is in the table, and no soft keyword is."""
    assert set(keyword.kwlist) <= KEYWORDS
    assert not KEYWORDS & set(keyword.softkwlist)


def test_names_table_of_entity_members_is_that_of_the_runtime() -> None:
    """A field named like a public member of `Entity` other than `key schema indexes pk` gets an underscore."""
    public = {name for name in dir(restencil.Entity) if not name.startswith("_")}
    assert public - {"key", "schema", "indexes", "pk"} == ENTITY_MEMBERS


def test_names_table_of_client_members_is_what_both_controllers_show() -> None:
    """No resource can take a name that the client has."""
    controllers = (restencil.Controller(), restencil.AsyncController())
    public = {name for controller in controllers for name in dir(controller) if not name.startswith("_")}
    assert public == CLIENT_MEMBERS


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "ﬁ", "\uff41", "a\u0301\u0323", "a.b", "a\n", "€", "a\x00"])
def test_names_what_python_would_fold_or_reject_is_no_identifier(name: str) -> None:
    """Compatible forms that Python folds into other letters are refused, like anything that is no name."""
    assert not is_identifier(name)


# --------------------------------------------------------------------------------------------------------------- paths

_templates = st.text(alphabet="/:?\\abB1_.-(){}*+é", max_size=14)


@given(_templates)
def test_names_paths_are_taken_apart_as_the_runtime_does(template: str) -> None:
    """Generator and runtime accept the same templates and find the same parts in them."""
    try:
        expected = runtime_parse(template)
    except ValueError:
        with pytest.raises(TemplateError):
            parse_path(template)
        return
    parts = [
        (part.name, part.prefix, part.optional) if isinstance(part, PathParameter) else part.text
        for part in parse_path(template).parts
    ]
    assert parts == [part if isinstance(part, str) else tuple(part) for part in expected]


@given(_templates.filter(lambda text: ":" in text))
def test_names_path_of_a_list_is_shortened_as_the_runtime_does(template: str) -> None:
    """Generator and runtime cut a resource's path at the same place."""
    try:
        runtime_parse(template)
        expected = shorten_path(template)
    except ValueError:
        return
    assert list_path(template) == expected


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("/a/:id", "/a/:slug", True),
        ("/a/:id", "/a/:id?", False),
        ("/a/b", "/a/\\b", True),
        ("/a", "/b", False),
        ("/a/:id/c", "/a/:id", False),
    ],
)
def test_names_paths_are_one_route_when_only_their_parameters_names_differ(one: str, other: str, same: bool) -> None:
    """Two templates that build the same URLs are one route."""
    assert (route(parse_path(one)) == route(parse_path(other))) is same
