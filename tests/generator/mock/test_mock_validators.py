"""The mock server tells its answers apart, and refuses changes of what is no longer there."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate
from typing import Any

import pytest
from tests.libraries import httpx

from restencil_generator.mock import create_app
from restencil_generator.mock.validators import matches
from restencil_generator.spec.load import load_text

WIKI = """
restencil: 1
package: wiki
resources:
  pages: {path: /pages/:id, schema: {entity: Page, fields: {id: {type: integer, read_only: true}, text: string}}}
"""


class Wiki:
    """A mock server in process."""

    def __init__(self) -> None:
        loaded = load_text(WIKI)
        assert loaded.declaration is not None
        self._app = create_app(loaded.declaration)

    def __call__(self, method: str, url: str, body: Any = None, **headers: str) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            async with httpx.AsyncClient(transport=transport, base_url="http://mock.test") as client:
                return await client.request(method, url, json=body, headers=named)

        return asyncio.run(send())


@pytest.mark.parametrize("url", ["/pages", "/pages/1", "/pages?text=x"])
def test_mock_validators_what_did_not_change_gets_a_response_with_304(url: str) -> None:
    """Each answer to a GET has an ETag and a date, by either of which it is asked for again, and no body then."""
    wiki = Wiki()
    first = wiki("GET", url)
    tag, date = first.headers["etag"], first.headers["last-modified"]
    for condition in ({"If_None_Match": f'"x", W/{tag}'}, {"If_None_Match": "*"}, {"If_Modified_Since": date}):
        again = wiki("GET", url, **condition)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    for condition in ({"If_None_Match": '"x"'}, {"If_Modified_Since": "soon"}, {"If_Modified_Since": EARLY}):
        assert wiki("GET", url, **condition).json() == first.json()


EARLY = formatdate(time.time() - 86_400, usegmt=True)


def test_mock_validators_change_has_the_etag_of_what_is_there_after_it() -> None:
    """It is the one that a GET of the record has then; that of what was created, too."""
    wiki = Wiki()
    before = wiki("GET", "/pages/1").headers["etag"]
    changed = wiki("PATCH", "/pages/1", {"text": "new"}).headers["etag"]
    assert changed != before and wiki("GET", "/pages/1").headers["etag"] == changed
    created = wiki("POST", "/pages", {"text": "made"})
    assert created.headers["etag"] == wiki("GET", created.headers["location"]).headers["etag"]
    assert wiki("GET", "/pages/1", If_None_Match=before).status_code == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_mock_validators_change_of_something_else_is_rejected(method: str) -> None:
    """A 412, and nothing is changed; with the ETag of what is there it is made."""
    wiki = Wiki()
    body = None if method == "DELETE" else {"text": "new"}
    tag = wiki("GET", "/pages/1").headers["etag"]
    refused = wiki(method, "/pages/1", body, If_Match='"other"')
    assert (refused.status_code, refused.json()["error"]) == (412, "precondition_failed")
    assert wiki("GET", "/pages/1").headers["etag"] == tag
    assert wiki(method, "/pages/99", body, If_Match="*").status_code == 412
    assert wiki(method, "/pages/1", body, If_Match=f'"other", {tag}').is_success


def test_mock_validators_weak_etag_allows_no_change() -> None:
    """`If-Match` compares strongly."""
    assert matches('"a"', '"a"') and matches("*", '"a"')
    assert not matches('W/"a"', '"a"') and not matches("*", None) and not matches("a", '"a"')
