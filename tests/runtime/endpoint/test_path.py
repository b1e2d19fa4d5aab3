"""Path templates and URLs."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restencil import HeaderParam, MissingParameterError, Multipart, PathTemplateError, RestEndpoint
from restencil.endpoint.path import path_template
from restencil.http.bodies import encode_body


class Shade(enum.Enum):
    DARK = "dark blue"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Shade.DARK, "dark%20blue"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
    ],
)
def test_path_values_of_other_types_have_their_text(value: Any, text: str) -> None:
    """An Enum is its value, others their str()."""
    assert path_template("/:v").fill({"v": value}) == f"/{text}"


def test_path_errors_say_where_and_what_to_do() -> None:
    """The position in a template, and how a parameter is given."""
    with pytest.raises(PathTemplateError, match=r"2: ':' is not followed by a parameter name; write \\: for a literal"):
        path_template("/a:")
    with pytest.raises(PathTemplateError, match=r"position 2: '\{' is reserved; write \\\{ for a literal one"):
        path_template("/a{")
    with pytest.raises(MissingParameterError, match="'id' of '/a/:id' is missing; give it as id=… or in the") as caught:
        path_template("/a/:id").fill({})
    assert (caught.value.parameter, caught.value.template) == ("id", "/a/:id")


def test_path_bytes_are_no_text() -> None:
    """Bytes such as the result of b64encode raise a TypeError; their `str()` would be sent with `b'…'` around it."""
    with pytest.raises(TypeError, match="parameter 'v' of '/:v' is a bytes; expected a string or a number"):
        path_template("/:v").fill({"v": b"YQ=="})


@pytest.mark.parametrize("value", [(n for n in "ab"), {"a": 1}.keys(), iter([1]), len, Shade, object(), ..., 1j])
def test_path_objects_without_a_string_of_their_own_are_rejected(value: Any) -> None:
    """In a path, a query and a header: their `repr`, such as `<generator object …>`, is never sent."""
    endpoint: Any = RestEndpoint(path="/a/:v?", header_params={"h": HeaderParam("X-H")})
    for where in ("v", "q", "h"):
        with pytest.raises(TypeError, match=rf"{where}' .*is an? {type(value).__name__}"):
            endpoint.request_url(endpoint.bind_args((), {where: value}))
        with pytest.raises(TypeError, match=rf"{where}' .*is a list|contains an? |is an? {type(value).__name__}"):
            endpoint.request_url(endpoint.bind_args((), {where: [value]}))
    with pytest.raises(TypeError, match=rf"style 'json' contains an? {type(value).__name__}, which has no JSON form"):
        RestEndpoint(path="/a", search_styles={"q": "json"}).url({"q": {"a": [value]}})
    with pytest.raises(
        TypeError, match=rf"field 'q' cannot be sent as JSON: an? {type(value).__name__} has no JSON form"
    ):
        encode_body(Multipart({"q": {"a": value}}), asynchronous=False)


@given(st.text(alphabet="ab/:?\\.-(_1", max_size=12))
def test_path_any_text_is_a_template_or_a_clear_error(template: str) -> None:
    """Nothing but PathTemplateError comes out of building, whose position lies in the text."""
    try:
        found = path_template(template)
    except PathTemplateError as error:
        assert 0 <= error.position < len(template)
    else:
        assert found.matches(found.fill(dict.fromkeys(found.names, "v")))
