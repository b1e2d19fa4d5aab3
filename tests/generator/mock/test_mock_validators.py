"""The mock server tells its answers apart, and refuses changes of what is no longer there."""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import formatdate, parsedate_to_datetime
from typing import Any, TypeAlias

import pytest
from tests.generator.mock.served import Api
from tests.libraries import httpx

from restencil_generator.mock.validators import matches

Asked: TypeAlias = Callable[..., httpx.Response]

WIKI = """
restencil: 1
package: wiki
resources:
  pages: {path: /pages/:id, schema: {entity: Page, fields: {id: {type: integer, read_only: true}, text: string}}}
"""


def wiki() -> Asked:
    """Calls a fresh mock server: method, URL, JSON body and headers."""
    api = Api(WIKI)

    def ask(method: str, url: str, body: Any = None, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return api(method, url, json=body, headers=named)

    return ask


@pytest.mark.parametrize("url", ["/pages", "/pages/1", "/pages?text=x"])
def test_mock_validators_what_did_not_change_gets_a_response_with_304(url: str) -> None:
    """Each answer to a GET has an ETag and a date, by either of which it is asked for again, and no body then."""
    ask = wiki()
    first = ask("GET", url)
    tag, date = first.headers["etag"], first.headers["last-modified"]
    assert parsedate_to_datetime(date).timestamp() < time.time() - 59, "what was there at the start is a minute old"
    for condition in ({"If_None_Match": f'"x", W/{tag}'}, {"If_None_Match": "*"}, {"If_Modified_Since": date}):
        again = ask("GET", url, **condition)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    for condition in ({"If_None_Match": '"x"'}, {"If_Modified_Since": "soon"}, {"If_Modified_Since": EARLY}):
        assert ask("GET", url, **condition).json() == first.json()


EARLY = formatdate(time.time() - 86_400, usegmt=True)


def test_mock_validators_change_has_the_etag_of_what_is_there_after_it() -> None:
    """It is the one that a GET of the record has then; that of what was created, too."""
    ask = wiki()
    before = ask("GET", "/pages/1").headers["etag"]
    changed = ask("PATCH", "/pages/1", {"text": "new"}).headers["etag"]
    assert changed != before and ask("GET", "/pages/1").headers["etag"] == changed
    created = ask("POST", "/pages", {"text": "made"})
    assert created.headers["etag"] == ask("GET", created.headers["location"]).headers["etag"]
    assert ask("GET", "/pages/1", If_None_Match=before).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_mock_validators_change_of_something_else_is_rejected(method: str) -> None:
    """A 412, and nothing is changed; with the ETag of what is there it is made."""
    ask = wiki()
    body = None if method == "DELETE" else {"text": "new"}
    tag = ask("GET", "/pages/1").headers["etag"]
    refused = ask(method, "/pages/1", body, If_Match='"other"')
    assert (refused.status_code, refused.json()["error"]) == (412, "precondition_failed")
    assert ask("GET", "/pages/1").headers["etag"] == tag
    assert ask(method, "/pages/99", body, If_Match="*").status_code == 412
    assert ask(method, "/pages/1", body, If_Match=f'"other", {tag}').is_success


def test_mock_validators_weak_etag_allows_no_change() -> None:
    """`If-Match` compares strongly."""
    assert matches('"a"', '"a"') and matches("*", '"a"')
    assert not matches('W/"a"', '"a"') and not matches("*", None) and not matches("a", '"a"')
