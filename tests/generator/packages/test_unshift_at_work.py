"""What `unshift` of a generated package sends."""

from __future__ import annotations

from typing import Any

from tests.freshness.spec import generated
from tests.libraries import httpx

SPEC = """
restencil: 1
package: prepending
url_prefix: http://notes.example
objects:
  Draft: {words: string!}
resources:
  notes:
    path: /notes/:id
    schema: {entity: Note, fields: {id: integer, text: string}}
    search_params: {about: string}
    endpoints:
      push:
        path: /drafts
        search_params: {}
        header_params: {reason: string}
        body: Draft
        request: {content_type: application/vnd.draft+json}
"""


def test_unshift_sends_the_request_of_push() -> None:
    """Path, parameters, headers and body are those declared for `push`."""
    sent: list[tuple[str, str, str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        headers = request.headers
        sent.append((str(request.url), headers["content-type"], headers["reason"], request.content.decode()))
        return httpx.Response(201, json={"id": len(sent), "text": "next"})

    client: Any = generated(SPEC, "prepending").Prepending(client=httpx.Client(transport=httpx.MockTransport(answer)))
    for add in (client.notes.get_list.push, client.notes.get_list.unshift):
        add(reason="why", body={"words": "next"})
    assert set(sent) == {("http://notes.example/drafts", "application/vnd.draft+json", "why", '{"words":"next"}')}
    assert len(sent) == 2
