"""What specs say of bodies, responses and lists that is right or wrong; and forms, which the mock server reads.

What becomes of it in a package is in `tests/generator/codegen/cases/bodies_and_responses.yaml`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from tests.generator.declared import declared

from restencil.endpoint.styles import styled_form
from restencil_generator.mock.parse_body import parse
from restencil_generator.spec.load import load_text

HEAD = """
restencil: 1
package: inbox
entities:
  Mail: {fields: {id: integer, subject: string}}
"""
PAGES = "pagination_field: cursor, pagination: {style: cursor, next: meta.next}"


@pytest.mark.parametrize(
    ("keys", "codes"),
    [
        ("members: [get], endpoints: {update: {method: POST, path: /own, schema: Mail}}", []),
        ("members: [get], endpoints: {update: {path: /own, schema: null}}", []),
        ("members: [get], endpoints: {update: {path: /own}}", ["member-left-out"]),
        ("members: [get], endpoints: {push: {schema: Mail}}", ["member-left-out"]),
        ("members: [get], endpoints: {move: {method: POST}}", []),
        ("members: [get], endpoints: {remove: {extends: get}}", []),
        (f"{PAGES}, response: {{list_envelope: data}}", []),
        (PAGES, ["unknown-field"]),
        ("members: [get], endpoints: {other: {path: /mails/:id, schema: null, content: bytes}}", []),
        ("members: [get], endpoints: {other: {path: /mails/:id, schema: integer}}", ["same-request"]),
        ("endpoints: {a: {method: POST, path: /a, body: {form: {a: string}, b: string}}}", ["object-not-here"]),
    ],
    ids=[
        *("update with schema", "update without schema", "update says neither", "push says no path"),
        *("move is no standard member", "remove is no standard member", "pages in an envelope", "pages without one"),
        *("bytes and JSON of one URL", "two schemas of one URL", "form beside another key"),
    ],
)
def test_bodies_and_responses_resource_has_these_mistakes(keys: str, codes: list[str]) -> None:
    """A standard name that is no member may be of your own if it says where it is and what it answers.

    What stands next to a list in an envelope is declared nowhere, so every path of the pagination will do. The cache
    keeps a file and what is said of it apart.
    """
    text = f"{HEAD}resources:\n  mails: {{path: /mails/:id, schema: Mail, {keys}}}\n"
    assert [problem.code for problem in load_text(text, "inbox.yaml").problems] == codes


VALUES = [[], ["a"], ["a", "b&c;=", "ä"], None]


@pytest.mark.parametrize("style", ["comma", "space", "pipe", "repeat", "brackets", "deep", "json"])
@pytest.mark.parametrize("words", VALUES, ids=str)
@pytest.mark.parametrize("period", [{"first": "2020-01-31", "days": [1, 2]}, {"first": ""}, None], ids=str)
def test_bodies_and_responses_mock_reads_forms_as_clients_write_them(
    style: str, words: list[str] | None, period: Any
) -> None:
    """Lists and objects come back as they were, whatever their style; an empty list may be none."""
    of_object = style if style in ("brackets", "deep", "json") else "form"
    spec = declared(f"""{HEAD}
objects: {{Period: {{first: string, days: [integer]}}}}
resources:
  mails:
    path: /mails/:id
    schema: Mail
    endpoints:
      a:
        method: POST
        path: /a
        schema: null
        body:
          form:
            words: {{type: [string], style: {style}}}
            period: {{type: Period, style: {of_object}}}
            left: string
""")
    endpoint = spec.resources["mails"].endpoints["a"]
    sent = {"words": words, "period": period, "left": "over"}
    written = styled_form(sent, {"words": style, "period": of_object})
    read: Any = parse(spec, endpoint.body, "application/x-www-form-urlencoded", urlencode(written, doseq=True).encode())
    found = {name: read.get(name) or None for name in sent}
    assert found == {name: value or None for name, value in sent.items()}
