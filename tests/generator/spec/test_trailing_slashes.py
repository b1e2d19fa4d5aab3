"""Paths of lists are what the spec says: sent so, documented so, and served so by the mock."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from tests.freshness.spec import generated
from tests.libraries import httpx
from tests.mocked import mocked

SPEC = """\
restencil: 1
package: slashes
url_prefix: http://server.test
resources:
  posts:
    path: /posts/:id/
    schema: {entity: Post, fields: {id: integer}}
  notes:
    path: /notes/:id/
    schema: {entity: Note, fields: {id: integer}}
    endpoints: {get_list: {path: /notes}}
  tags:
    path: /tags/:id
    schema: {entity: Tag, fields: {id: integer}}
    endpoints: {get_list: {path: /tags/}}
"""

LISTS = [("posts", "/posts/", "/posts"), ("notes", "/notes", "/notes/"), ("tags", "/tags/", "/tags")]


@pytest.fixture(scope="module")
def package() -> ModuleType:
    """The package of the spec."""
    return generated(SPEC, "slashes")


@pytest.mark.parametrize(("resource", "path", "other"), LISTS)
def test_trailing_slashes_list_path_is_sent_and_documented_as_the_spec_says(
    package: ModuleType, resource: str, path: str, other: str
) -> None:
    """A list ends as the path of its item does, or as its own `path` says."""
    sent: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path)
        return httpx.Response(200, json=[] if request.method == "GET" else {"id": 1})

    with httpx.Client(transport=httpx.MockTransport(answer)) as http, package.Slashes(client=http) as client:
        listing = getattr(client, resource).get_list
        listing()
        listing.push(body={"id": 1})
    assert sent == [path, path]
    assert f"`GET {path}`" in (getattr(package, resource.title()).get_list.__doc__ or "")


@pytest.mark.parametrize(("resource", "path", "other"), LISTS)
def test_trailing_slashes_list_path_is_served_by_the_mock_as_the_spec_says(
    resource: str, path: str, other: str, tmp_path: Path
) -> None:
    """The other form is another path, which is not there."""
    spec = tmp_path / "slashes.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    with mocked(spec) as address:
        assert httpx.get(address + path).status_code == 200
        assert httpx.get(address + other).status_code == 404


JOINED = """\
restencil: 1
package: joined
url_prefix: https://items.test/v1
resources:
  items:
    path: items/:id
    schema: {entity: Item, fields: {id: integer}}
    endpoints:
      top: {path: ":name", schema: null}
      other: {path: 'https\\://other.test/:name', url_prefix: "", schema: null}
  tags:
    url_prefix: https://tags.test/
    path: tags/:id
    schema: {entity: Tag, fields: {id: integer}}
"""


def test_path_without_a_slash_at_its_start_is_separated_from_the_prefix_by_one() -> None:
    """Whether the prefix ends with a slash or not; a path that is a URL stays as it is."""
    package = generated(JOINED, "joined")
    assert package.Items.get.url(id=1) == "https://items.test/v1/items/1"
    assert package.Items.get_list.url() == "https://items.test/v1/items"
    assert package.Items.top.url(name="a") == "https://items.test/v1/a"
    assert package.Items.other.url(name="a") == "https://other.test/a"
    assert package.Tags.get.url(id=1) == "https://tags.test/tags/1"
