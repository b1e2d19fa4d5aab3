"""Lists and objects in search strings, style by style, and parameters of paths that are more than one text."""

from __future__ import annotations

import datetime
from typing import Any
from urllib.parse import unquote_plus

import pytest

from restencil import RestEndpoint, schema
from restencil.schema.collection import identity_text

VECTORS: dict[str, list[tuple[Any, str]]] = {
    "comma": [([1, 2], "a=1,2"), (["é", "x,y"], "a=é,x,y"), ([None, 1], "a=1"), ([], "a="), ([True, 1.0], "a=true,1")],
    "space": [([1, 2], "a=1 2"), ([], "a="), (["b", None], "a=b")],
    "pipe": [([1, 2], "a=1|2"), ([], "a="), (["&=", "#"], "a=&=|#")],
    "repeat": [([1, 2], "a=1&a=2"), ([2, 1], "a=2&a=1"), ([], ""), ([None, "x"], "a=x"), (["a b"], "a=a b")],
    "brackets": [
        ([1, 2], "a[]=1&a[]=2"),
        ({"b": 1, "c": [2, 3]}, "a[b]=1&a[c][]=2&a[c][]=3"),
        ({"c": {"d": {"e": 1}}, "b": None}, "a[c][d][e]=1"),
        ([{"b": 1, "c": 2}, {"b": 3, "c": 4}], "a[][b]=1&a[][c]=2&a[][b]=3&a[][c]=4"),
        ([], ""),
        ({}, ""),
        ({"ü": "é"}, "a[ü]=é"),
    ],
    "deep": [
        ([1, 2], "a[0]=1&a[1]=2"),
        ({"c": [2, 3], "b": 1}, "a[b]=1&a[c][0]=2&a[c][1]=3"),
        ([None, 1], "a[0]=1"),
        ([{"b": 1}, {"b": [2]}], "a[0][b]=1&a[1][b][0]=2"),
        ([], ""),
        ({"b": None}, ""),
    ],
    "form": [({"c": [2, 3], "b": 1}, "b=1&c=2,3"), ({}, ""), ({"b": None, "c": True}, "c=true")],
    "json": [
        ([1, 2], "a=[1,2]"),
        ({"c": [2, 3], "b": 1}, 'a={"b":1,"c":[2,3]}'),
        ([], "a=[]"),
        ({}, "a={}"),
        ({"b": [None, {"z": None, "y": "é&"}]}, 'a={"b":[{"y":"é&"}]}'),
        (5, "a=5"),
        ("x", 'a="x"'),
    ],
}


@pytest.mark.parametrize(
    ("style", "value", "expected"), [(style, *vector) for style, vectors in VECTORS.items() for vector in vectors]
)
def test_search_styles_value_is_written_in_its_style(style: str, value: Any, expected: str) -> None:
    """The pairs of a value, decoded, are those of the table; what is None or an item that is None is left out."""
    endpoint = RestEndpoint(path="/x", search_styles={"a": style})
    text = endpoint.search_to_string({"a": value})
    assert "&".join("=".join(map(unquote_plus, pair.split("="))) for pair in text.split("&")) == expected


@pytest.mark.parametrize(
    ("style", "value", "message"),
    [
        ("repeat", {"b": 1}, "query parameter 'a' is a dict, which the style 'repeat' cannot encode"),
        ("comma", [[1]], "query parameter 'a' contains a list, which the style 'comma' cannot encode"),
        ("form", [1], "query parameter 'a' is a list, which the style 'form' cannot encode"),
    ],
)
def test_search_styles_what_a_style_cannot_write_is_an_error(style: str, value: Any, message: str) -> None:
    """The error names parameter, value and style."""
    with pytest.raises(TypeError, match=message):
        RestEndpoint(path="/x", search_styles={"a": style}).url(a=value)


def test_search_styles_styles_are_known_words() -> None:
    """An unknown style is refused when the endpoint is made."""
    with pytest.raises(
        ValueError, match=r"search_styles of endpoint GET '/x' has the style 'commas' for 'a'; expected one of comma, "
    ):
        RestEndpoint(path="/x", search_styles={"a": "commas"})
    with pytest.raises(TypeError, match="search_styles of endpoint GET '/x' is a list"):
        RestEndpoint(path="/x", search_styles=["a"])


def test_search_styles_members_of_objects_have_their_names_in_json() -> None:
    """`search_types` says how the members of an object are called and converted."""
    kind = schema.Object({"from_day": schema.codec(datetime.date)}, wire={"from_day": "fromDay"})
    endpoint = RestEndpoint(path="/x", wire={"range": "r"}, search_styles={"r": "deep"}, search_types={"r": kind})
    assert endpoint.url(range={"from_day": datetime.date(2024, 1, 2)}) == "/x?r%5BfromDay%5D=2024-01-02"


def test_search_styles_another_style_is_another_key_and_the_same_list() -> None:
    """The identity of a collection has the comma text of a list and the JSON of an object, whatever the style."""

    args = {"tags": ["b", "a"], "filter": {"z": 1, "y": [{"x": 1}]}}
    styles = ({"tags": "repeat", "filter": "deep"}, {"tags": "json", "filter": "brackets"})
    assert len({RestEndpoint(path="/x", search_styles=one).key(args) for one in styles}) == 2
    assert identity_text(args) == '{"filter":{"y":[{"x":1}],"z":1},"tags":"b,a"}'
    assert identity_text({"a": [{"z": 1, "y": 2}, None]}) == '{"a":"{\\"y\\":2,\\"z\\":1},"}'


# ---------------------------------------------------------------------------------------------------------------- paths


def test_search_styles_list_in_a_path_has_its_items_encoded_one_by_one() -> None:
    """They are joined with commas; one value is a list of one."""
    endpoint = RestEndpoint(path="/b/:ids", path_params={"ids": "list"})
    assert endpoint.key(ids=[1, "a,b/c"]) == "GET /b/1,a%2Cb%2Fc"
    assert endpoint.key(ids="x") == "GET /b/x"
    assert endpoint.test_key("GET /b/1,2")
    assert not endpoint.test_key("GET /b/1/2")


def test_search_styles_slashes_of_a_path_parameter_may_stay() -> None:
    """All else is encoded; the test of keys matches up to the next literal text."""
    endpoint = RestEndpoint(path="/files/:path/meta", path_params={"path": "slashes"})
    assert endpoint.key(path="a b/ü?/c") == "GET /files/a%20b/%C3%BC%3F/c/meta"
    assert endpoint.test_key("GET /files/a/b/meta")
    assert endpoint.test_key("GET /files/a/meta")
    assert not endpoint.test_key("GET /files/a/b")
    assert not endpoint.test_key("GET /files/meta")


@pytest.mark.parametrize(
    ("path", "style", "value", "found"),
    [
        ("/files/:at", "slashes", "", "has an empty segment"),
        ("/files/:at", "slashes", "a//b", "has an empty segment"),
        ("/files/:at", "slashes", "/a", "has an empty segment"),
        ("/files/:at", "slashes", "a/..", r"has the segment '\.\.'"),
        ("/b/x-:at", "list", [], "is empty, so the URL would match another route"),
        ("/b/x-:at", "list", [""], "is empty, so the URL would match another route"),
        ("/b/x-:at", "list", "", "is empty, so the URL would match another route"),
    ],
)
def test_search_styles_value_in_a_path_that_leads_elsewhere_is_rejected(
    path: str, style: Any, value: Any, found: str
) -> None:
    """Empty lists, and empty, `.` and `..` segments are an error before any request."""
    endpoint = RestEndpoint(path=path, path_params={"at": style})
    with pytest.raises(ValueError, match=f"parameter 'at' of '{path}' {found}"):
        endpoint.url(at=value)


def test_search_styles_path_params_says_words() -> None:
    """What is no text is refused when the endpoint is made."""
    with pytest.raises(TypeError, match="'ids' in path_params of endpoint GET '/b/:ids' is a list"):
        RestEndpoint(path="/b/:ids", path_params={"ids": ["list"]})
