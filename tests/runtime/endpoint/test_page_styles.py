"""Options of pagination: which style they name, and where positions are sent."""

from __future__ import annotations

import datetime
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import pytest

from restencil import Controller, Entity, Form, RestEndpoint, schema
from restencil.endpoint.page_styles import STYLES, pagination_of
from restencil.schema import Collection
from restencil.schema.collection import identity_text
from restencil.testing import Answer, FakeClock, MockServer


class Item(Entity):
    id: int = 0


def search(**options: Any) -> Any:
    """A list that is read by POST, with its offset in the body."""
    given: dict[str, Any] = {
        "path": "/search",
        "method": "POST",
        "side_effect": False,
        "body_in_key": True,
        "schema": Collection([Item]),
        "pagination_field": "offset",
        "pagination": {"style": "offset", "in": "body", "size": {"param": "limit", "value": 2}},
        "name": "search",
    }
    return RestEndpoint(**{**given, **options})


def test_page_styles_positions_in_a_body_need_a_key_for_each_body() -> None:
    """Without one, all searches would be one list."""
    with pytest.raises(ValueError, match="sends positions in the body, which is not part of the key; set body_in_key"):
        search(body_in_key=None)


@pytest.mark.parametrize("body", [[1, 2], "text", b"bytes"])
def test_page_styles_body_without_members_has_no_position(body: Any, clock: FakeClock) -> None:
    """The error names the member and what was given."""
    with Controller(clock.store(), base_url="http://mock", client=MockServer(clock).client()) as controller:
        with pytest.raises(
            TypeError,
            match="the body of endpoint 'search' is a .*; expected a mapping, whose member 'offset' selects the page",
        ):
            controller.iterate(search(), {}, body)
    clock.close()


def test_page_styles_form_stays_a_form(clock: FakeClock) -> None:
    """Position and size are fields of the form."""
    sent: list[dict[str, str]] = []

    def respond(request: Any) -> Answer:
        form = dict(parse_qsl(request.content.decode()))
        sent.append(form)
        start = int(form.get("offset", 0))
        return Answer(json=[{"id": pk} for pk in range(start + 1, min(start + 3, 4))])

    server = MockServer(clock, respond=respond)
    with Controller(clock.store(), base_url="http://mock", client=server.client()) as controller:
        run = clock.run(lambda: list(controller.iterate(search(), {}, Form(q="x"))))
    clock.close()
    assert [item.id for item in run] == [1, 2, 3]
    assert sent == [
        {"q": "x", "limit": "2"},
        {"q": "x", "limit": "2", "offset": "2"},
        {"q": "x", "limit": "2", "offset": "3"},
    ]


@pytest.mark.parametrize(
    ("pagination", "message"),
    [
        ({"style": "pages"}, "pagination style 'pages' of 'search' is unknown; expected one of link, cursor, page"),
        ({"style": "page", "in": "header"}, '"in" in the pagination of \'search\' must be "query" or "body", not'),
        (3, "pagination of 'search' is 3; expected a string, a function or a mapping"),
    ],
)
def test_page_styles_options_that_cannot_be_are_errors(pagination: Any, message: str) -> None:
    """They say what was given and what is expected."""
    with pytest.raises(TypeError) as raised:
        pagination_of(search(pagination=pagination))
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_page_styles_style_is_implied_by_its_field_and_named_by_a_string(style: Any) -> None:
    """A `pagination_field` implies its style; a style that needs no path may be written as a string."""
    for field in style.implied_by:
        assert pagination_of(search(pagination=None, pagination_field=field)).style is style
    if not style.needs_next:
        assert pagination_of(search(pagination=style.name)).style is style
    assert pagination_of(search(pagination="meta.next")).style is STYLES["cursor"]


# -- search styles


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
