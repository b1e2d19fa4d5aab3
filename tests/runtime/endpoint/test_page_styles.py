"""Options of pagination: which style they name, and where positions are sent."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import pytest

from restencil import Controller, Entity, Form, RestEndpoint
from restencil.endpoint.page_styles import STYLES, pagination_of
from restencil.schema import Collection
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
