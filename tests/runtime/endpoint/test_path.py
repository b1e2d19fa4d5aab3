"""Path templates and URLs."""

from __future__ import annotations

import datetime
import decimal
import enum
import linecache
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restencil import MissingParameterError, PathTemplateError, RestencilError, RestEndpoint
from restencil.endpoint.path import path_template, search_string, shorten_path


class Shade(enum.Enum):
    DARK = "dark blue"


@pytest.mark.parametrize(
    ("template", "params", "url"),
    [
        ("/a/:b", {"b": "x y/z"}, "/a/x%20y%2Fz"),
        ("/a/:b/d", {"b": "~*()'!é:@,;"}, "/a/~*()'!%C3%A9%3A%40%2C%3B/d"),
        ("/a/:b?", {}, "/a"),
        ("/a/:b?", {"b": 3}, "/a/3"),
        ("/a/:b", {"b": ""}, "/a/"),
        ("/a/:b.:c", {"b": 1, "c": 2}, "/a/1.2"),
        ("/a/:b.:c?", {"b": 1}, "/a/1"),
        ("/a/:b-:c?", {"b": 1}, "/a/1-"),
        (r"https\://h.test/:x", {"x": 1}, "https://h.test/1"),
        (r"/s\?q=:q", {"q": "a&b"}, "/s?q=a%26b"),
        (r"/s\?q=:q&r=:r?", {"q": "a"}, "/s?q=a&r="),
        ("/:b_c1-x", {"b_c1": 1}, "/1-x"),
        (r"/a\n\\b", {}, "/an\\b"),
        ("/a/:x/b/:x", {"x": 7}, "/a/7/b/7"),
        ("/a/:x?/b/:x", {"x": 7}, "/a/7/b/7"),
        ("", {}, ""),
    ],
)
def test_path_template_is_filled_with_encoded_values(template: str, params: dict[str, Any], url: str) -> None:
    """Parameters are percent-encoded, literal text is not; an optional one takes its prefix with it."""
    assert RestEndpoint(path=template).url(params) == url


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (1.0, "1"),
        (1e16, "10000000000000000"),
        (1.5, "1.5"),
        (1e20, "100000000000000000000"),
        (1e21, "1e%2B21"),
        (0.000001, "0.000001"),
        (1.5e-5, "0.000015"),
        (-1e-7, "-1e-7"),
        (-0.0, "0"),
        (10**30, "1" + "0" * 30),
        (Shade.DARK, "dark%20blue"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
    ],
)
def test_path_values_of_other_types_have_their_text(value: Any, text: str) -> None:
    """Booleans are words, floats read as in JSON without `.0`, an Enum is its value, others their str()."""
    assert path_template("/:v").fill({"v": value}) == f"/{text}"


@pytest.mark.parametrize(
    ("template", "position", "problem"),
    [
        ("/s?q=:q", 2, "'?' does not follow a parameter name; write \\? for a literal one"),
        ("/a/: /b", 3, "':' is not followed by a parameter name; write \\: for a literal colon"),
        ("/a\\", 2, "a backslash at the end escapes nothing; write \\\\ for one"),
        ("/:a:b", 3, "nothing stands between 'a' and 'b'; put text there"),
        ("/a(b)", 2, "'(' is reserved; write \\( for a literal one"),
        ("/a{b}", 2, "'{' is reserved; write \\{ for a literal one"),
        ("/a/*", 3, "'*' is reserved; write \\* for a literal one"),
        ("/:a??", 4, "'?' does not follow a parameter name; write \\? for a literal one"),
    ],
)
def test_path_bad_template_is_rejected_when_the_endpoint_is_built(template: str, position: int, problem: str) -> None:
    """PathTemplateError, a ValueError, names template and position."""
    with pytest.raises(PathTemplateError) as caught:
        RestEndpoint(path=template)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, RestencilError)
    assert (caught.value.template, caught.value.position) == (template, position)
    assert str(caught.value) == f"path template {template!r}, position {position}: {problem}"


def test_path_missing_parameter_is_named() -> None:
    """MissingParameterError is a TypeError and a ValueError that names the parameter and how to give it."""
    for params in ({}, {"id": None}):
        with pytest.raises(MissingParameterError, match="'id' of '/a/:id' is missing; give it as id=…") as caught:
            RestEndpoint(path="/a/:id").url(params)
        assert isinstance(caught.value, TypeError)
        assert isinstance(caught.value, ValueError)
        assert caught.value.parameter == "id"


@pytest.mark.parametrize("value", [[1], (1,), {"a": 1}, {1}])
def test_path_containers_have_no_string_in_a_path(value: Any) -> None:
    """Lists, tuples, dicts and sets are a TypeError."""
    with pytest.raises(TypeError, match=r"parameter 'id' of '/a/:id' is a .*; expected a string or a number"):
        RestEndpoint(path="/a/:id").url({"id": value})


@pytest.mark.parametrize(
    ("template", "params"),
    [
        ("/a/:b", {"b": ".."}),
        ("/a/:b", {"b": "."}),
        ("/a/:b?", {"b": ".."}),
        ("/a/.:b", {"b": "."}),
        ("/a/.:b", {"b": ""}),
        ("/:a.:b", {"a": "", "b": ""}),
        ("/:a.:b", {"a": ".", "b": ""}),
        (r"/a/:b\?q=:c", {"b": "..", "c": "1"}),
        (":a", {"a": ".."}),
    ],
)
def test_path_no_value_can_make_a_dot_segment(template: str, params: dict[str, Any]) -> None:
    """A value that would make a whole segment `.` or `..` is a ValueError that names the parameter."""
    with pytest.raises(ValueError, match=r"parameter '[abc]' of .* would make a whole segment of the path '\.+'"):
        RestEndpoint(path=template).url(params)


def test_path_dots_next_to_other_text_are_no_dot_segment() -> None:
    """Only whole segments count, and what follows a literal `?` is no path."""
    assert RestEndpoint(path="/v-:id/x").url({"id": ".."}) == "/v-../x"
    assert RestEndpoint(path=r"/s\?q=/:q").url({"q": ".."}) == "/s?q=/.."
    assert RestEndpoint(path=":id", url_prefix="https://h.test/v").url({"id": ".."}) == "https://h.test/v.."
    with pytest.raises(ValueError, match="whole segment"):
        RestEndpoint(path=":id", url_prefix="https://h.test/v/").url({"id": ".."})


@pytest.mark.parametrize("value", ["a\tb", "\x00", "a\x7f", "\x85", "a\nb"])
def test_path_control_characters_are_rejected(value: str) -> None:
    """A value that holds a control character is a ValueError."""
    with pytest.raises(ValueError, match="parameter 'id' of '/a/:id' holds the control character"):
        RestEndpoint(path="/a/:id").url({"id": value})


def test_path_lone_surrogates_are_rejected() -> None:
    """A lone surrogate has no UTF-8 form, in the path and in the search string."""
    with pytest.raises(ValueError, match="parameter 'id' of '/a/:id' holds a lone surrogate"):
        RestEndpoint(path="/a/:id").url({"id": "\ud800"})
    with pytest.raises(ValueError, match="search parameter 'q' holds a lone surrogate"):
        RestEndpoint(path="/a").url({"q": "\ud800"})


@pytest.mark.parametrize(
    ("template", "params"),
    [("/a/:b", {"b": ""}), ("/a/:b/c", {"b": ""}), ("/a/:b/:c", {"b": "x", "c": ""}), (":b", {"b": ""})],
)
def test_path_call_rejects_an_empty_segment_before_any_io(template: str, params: dict[str, Any]) -> None:
    """`url` and `key` keep "", every call refuses it: `DELETE /articles/` is another route."""
    endpoint = RestEndpoint(path=template, method="DELETE", url_prefix="http://127.0.0.1:9")
    assert endpoint.key(params).startswith("DELETE http://127.0.0.1:9")
    with pytest.raises(ValueError, match="is empty, which would address another route; give a value"):
        endpoint(params)


@pytest.mark.parametrize("template", ["/a/:b?", "/a-:b", r"/s\?q=:b"])
def test_path_empty_value_is_fine_where_it_is_no_whole_required_segment(template: str) -> None:
    """Optional parameters, parts of segments and search values may be empty."""
    endpoint = RestEndpoint(path=template)
    assert endpoint.request_url(({"b": ""},)) == endpoint.url({"b": ""})


def test_path_search_string_is_sorted_form_encoding() -> None:
    """The vector of the rules; None is dropped, in a list it is empty; lists are joined with commas."""
    params = {"z": None, "c": "~*() é", "a": [1, 2], "t": True, "f": 1.0}
    assert search_string(params) == "a=1%2C2&c=%7E*%28%29+%C3%A9&f=1&t=true"
    assert search_string({"n": [1, [2, (3,)]], "e": [], "o": [1, None, 2]}) == "e=&n=1%2C2%2C3&o=1%2C%2C2"
    assert RestEndpoint(path="/a").url({"b": None}) == "/a"


def test_path_dict_as_search_value_points_at_search_to_string() -> None:
    """A dict has no text in a search string."""
    with pytest.raises(TypeError, match="search parameter 'f' is a dict.*override search_to_string"):
        RestEndpoint(path="/a").url({"f": {"x": 1}})


def test_path_search_to_string_gets_raw_values_and_may_encode_nested_ones() -> None:
    """An override gets the search parameters before any conversion, and those alone."""
    seen: list[Any] = []

    def brackets(params: Any) -> str:
        seen.append(dict(params))
        return "x=1"

    assert RestEndpoint(path="/a/:id", search_to_string=brackets).url({"id": 1, "f": {"a": None}}) == "/a/1?x=1"
    assert seen == [{"f": {"a": None}}]


@pytest.mark.parametrize(
    ("path", "shortened"),
    [
        ("/:first/:second", "/:first"),
        ("/:first", "/"),
        ("/articles/:id", "/articles"),
        ("/articles/:id/raw", "/articles"),
        ("/a/:x/name-:id", "/a/:x/name-"),
        (r"https\://h.test/:id", r"https\://h.test"),
        (r"/a\:b/:id", r"/a\:b"),
    ],
)
def test_path_of_a_list_is_cut_at_the_last_parameter(path: str, shortened: str) -> None:
    """Cut at the last unescaped colon, one trailing slash dropped, `/` where nothing is left."""
    assert shorten_path(path) == shortened


def test_resource_path_needs_a_parameter() -> None:
    """Without one there is nothing to shorten."""
    with pytest.raises(ValueError, match="the path of a resource needs a parameter, such as '/articles/:id'"):
        shorten_path(r"/a\:b")


def test_path_template_is_compiled_once_and_shows_in_tracebacks() -> None:
    """The filling function is kept with its template, and linecache knows its source."""
    template = path_template("/compiled/:once")
    template.fill({"once": 1})
    assert path_template("/compiled/:once") is template
    assert "def fill" in "".join(linecache.getlines("<path template '/compiled/:once'>"))


TEMPLATES = ["/a/:v", "/a/:v/b", "/a-:v", "/:v.:w?", r"/s\?q=:v", r"/s\?q=:v&r=:w?", "/é/:v", "/:v?/x"]


@given(st.sampled_from(TEMPLATES), st.text(min_size=1), st.text(min_size=1), st.text())
def test_path_what_url_builds_test_key_accepts(template: str, value: str, name: str, search: str) -> None:
    """For non-empty values, a key that the endpoint makes is its own."""
    endpoint = RestEndpoint(path=template, url_prefix="https://h.test/p")
    try:
        key = endpoint.key({"v": value, f"s{name}": search})
    except ValueError:
        return
    assert endpoint.test_key(key)


@given(st.text(alphabet="ab/:?\\.-(_1", max_size=12))
def test_path_any_text_is_a_template_or_a_clear_error(template: str) -> None:
    """Nothing but PathTemplateError comes out of building, whose position lies in the text."""
    try:
        found = path_template(template)
    except PathTemplateError as error:
        assert 0 <= error.position < len(template)
    else:
        assert found.matches(found.fill(dict.fromkeys(found.names, "v")))
