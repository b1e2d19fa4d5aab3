"""What `unshift` of a generated package sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.libraries import httpx
from tests.servers.packages import imported

from restencil_generator.__main__ import main

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


def test_unshift_sends_the_request_of_push(tmp_path: Path) -> None:
    """Path, parameters, headers and body are those declared for `push`."""
    (tmp_path / "prepending.yaml").write_text(SPEC, "utf-8")
    assert main(["generate", str(tmp_path / "prepending.yaml"), "--out", str(tmp_path)]) == 0
    sent: list[tuple[str, str, str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        headers = request.headers
        sent.append((str(request.url), headers["content-type"], headers["reason"], request.content.decode()))
        return httpx.Response(201, json={"id": len(sent), "text": "next"})

    client: Any = imported("prepending", tmp_path).Prepending(
        client=httpx.Client(transport=httpx.MockTransport(answer))
    )
    for add in (client.notes.get_list.push, client.notes.get_list.unshift):
        add(reason="why", body={"words": "next"})
    assert set(sent) == {("http://notes.example/drafts", "application/vnd.draft+json", "why", '{"words":"next"}')}
    assert len(sent) == 2
