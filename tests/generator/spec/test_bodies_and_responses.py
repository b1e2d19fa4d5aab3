"""What specs say of bodies, answers, singletons, groups and lists, as the declaration has it, and advice about it."""

from __future__ import annotations

import textwrap
from typing import Any
from urllib.parse import urlencode

import pytest

from restencil.endpoint.styles import styled_form
from restencil_generator.mock.parse_body import parse
from restencil_generator.spec import model as d
from restencil_generator.spec.load import load_text

HEAD = """
restencil: 1
package: inbox
entities:
  Mail: {fields: {id: integer, subject: string}}
"""


def declared(resources: str, top: str = "") -> d.Spec:
    """A spec with these resources."""
    text = HEAD + textwrap.dedent(top) + "resources:\n" + textwrap.indent(textwrap.dedent(resources), "  ")
    found = load_text(text, "inbox.yaml")
    assert found.declaration is not None, found.problems
    return found.declaration


def codes(resources: str) -> list[str]:
    """The codes of what is wrong with a spec with these resources."""
    text = HEAD + "resources:\n" + textwrap.indent(textwrap.dedent(resources), "  ")
    return [problem.code for problem in load_text(text, "inbox.yaml").problems]


def envelopes(spec: d.Spec) -> dict[str, str]:
    """Where the answers of each endpoint have their values."""
    pairs = [pair for resource in spec.resources.values() for pair in resource.all_endpoints()]
    return {name: ".".join(endpoint.response.envelope) for name, endpoint in pairs}


def test_bodies_and_responses_envelope_is_for_one_thing_and_a_list_envelope_for_lists() -> None:
    """Adders and `delete` answer with one thing; scalars, and what has no schema, have neither."""
    found = envelopes(
        declared(
            """
            mails:
              path: /mails/:id
              schema: Mail
              endpoints:
                both: {path: /both, schema: {items: [Mail]}}
                map: {path: /map, schema: {values: Mail}}
                every: {path: /every, schema: {all: Mail}}
                maybe: {path: /maybe, schema: Mail?}
                count: {path: /count, schema: integer}
                nothing: {path: /nothing, schema: null}
            """,
            "response: {envelope: data.one, list_envelope: data}\n",
        )
    )
    one = ("get", "get_list.push", "get_list.unshift", "create", "update", "partial_update", "delete", "both", "maybe")
    assert {name for name, path in found.items() if path == "data.one"} == {*one}
    assert {name for name, path in found.items() if path == "data"} == {"get_list", "map", "every"}
    assert {name for name, path in found.items() if not path} == {"count", "nothing"}


def test_bodies_and_responses_nearest_level_says_each_key_and_null_takes_it_back() -> None:
    """Key by key: what a level leaves out stands as it was."""
    spec = declared(
        """
        mails:
          path: /mails/:id
          schema: Mail
          request: {content_type: text/x}
          response: {list_envelope: items}
          endpoints:
            get: {response: {envelope: null, empty: none}}
            update: {response: null, request: {envelope: null}}
            partial_update: {response: {envelope: deep.0}}
            count: {path: /count, response: {envelope: total}, schema: integer}
        """,
        "response: {envelope: data, list_envelope: data, empty: error}\nrequest: {envelope: mail}\n",
    )
    endpoints = spec.resources["mails"].endpoints
    assert endpoints["get"].response == d.Response(empty="none")
    assert endpoints["get_list"].response == d.Response(("items",), empty="error")
    assert endpoints["update"].response == d.Response()
    assert endpoints["update"].request == d.Request("text/x")
    assert endpoints["create"].request == d.Request("text/x", ("mail",))
    assert endpoints["partial_update"].response.envelope == ("deep", "0")
    assert endpoints["count"].response.envelope == ("total",)
    assert endpoints["get"].request == d.Request()


def test_bodies_and_responses_what_is_written_for_a_list_is_not_for_what_changes_it() -> None:
    """A page answers like its list."""
    found = envelopes(declared("""
            mails:
              path: /mails/:id
              schema: Mail
              pagination_field: page
              endpoints: {get_list: {response: {envelope: mails}}}
            """))
    assert {name for name, path in found.items() if path} == {"get_list", "get_list.get_page"}


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS", "POST"])
def test_bodies_and_responses_body_that_is_written_is_sent_with_any_method(method: str) -> None:
    """An inherited one is sent only with methods that have bodies."""
    endpoints = declared(f"""
        mails:
          path: /mails/:id
          schema: Mail
          endpoints:
            own: {{method: {method}, path: /own, body: {{ids: [integer]}}, schema: null}}
            none: {{method: {method}, path: /none, body: null, schema: null}}
            inherited: {{method: {method}, path: /inherited, schema: null}}
        """).resources["mails"].endpoints
    has = [endpoints[name].has_body for name in ("own", "none", "inherited")]
    assert has == [True, False, method == "POST"]
    assert endpoints["own"].send_body is (method != "POST")


def test_bodies_and_responses_string_is_a_body_where_nothing_declared_is_called_so() -> None:
    """An object of that name stays what it was."""
    resources = "mails: {path: '/mails/:id', schema: Mail, endpoints: {a: {method: POST, path: /a, body: text}}}\n"
    kinds = [
        declared(resources, top).resources["mails"].endpoints["a"].body
        for top in ("", "objects: {text: {words: [string]}}\n")
    ]
    assert kinds == [d.Body("text"), d.Body("json", d.ObjectRef("text"))]


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("update: {method: POST, path: /own, schema: Mail}", []),
        ("update: {path: /own, schema: null}", []),
        ("update: {path: /own}", ["member-left-out"]),
        ("push: {schema: Mail}", ["member-left-out"]),
        ("move: {method: POST}", []),
        ("remove: {extends: get}", []),
    ],
)
def test_bodies_and_responses_standard_name_that_is_no_member_may_be_of_your_own(
    endpoint: str, expected: list[str]
) -> None:
    """It says where it is and what it answers; `move` and `remove` were always free."""
    assert codes(f"mails: {{path: '/mails/:id', schema: Mail, members: [get], endpoints: {{{endpoint}}}}}") == expected


def test_bodies_and_responses_move_and_remove_hang_on_lists_that_name_them() -> None:
    """They change the item; a list of one's own says so itself."""
    endpoints = declared("""
        mails:
          path: /mails/:id
          schema: Mail
          members: [get, get_list, move]
          endpoints:
            drafts: {path: /drafts, schema: {items: {collection: [Mail]}}, members: [remove]}
            others: {path: /others, schema: {items: {collection: [Mail]}}}
        """).resources["mails"].endpoints
    hanging = {name: [*endpoint.extenders] for name, endpoint in endpoints.items() if endpoint.extenders}
    assert hanging == {"get_list": ["move"], "drafts": ["remove"], "others": ["push", "unshift"]}
    move = endpoints["get_list"].extenders["move"]
    assert (move.method, move.path.text, move.side_effect, move.has_body) == ("PATCH", "/mails/:id", True, True)


def test_bodies_and_responses_only_pages_hang_on_the_lists_of_a_group() -> None:
    """Unless `members` says more; there is no item that could be moved."""
    group = "search: {{endpoints: {{all: {{path: /all, schema: {{collection: [Mail]}}, pagination_field: page{0}}}}}}}"
    assert [*declared(group.format("")).resources["search"].endpoints["all"].extenders] == ["get_page"]
    pushed = declared(group.format(", members: [push]")).resources["search"].endpoints["all"]
    assert [*pushed.extenders] == ["push"]
    assert codes(group.format(", members: [move]")) == ["member-not-fitting"]


def test_bodies_and_responses_paths_next_to_a_list_in_an_envelope_are_declared_nowhere() -> None:
    """So every path of the pagination will do."""
    resource = "mails: {{path: '/mails/:id', schema: Mail, pagination_field: cursor, {0}{1}}}"
    pages = "pagination: {style: cursor, next: meta.next}"
    assert codes(resource.format("response: {list_envelope: data}, ", pages)) == []
    assert codes(resource.format("", pages)) == ["unknown-field"]


VALUES = [[], ["a"], ["a", "b&c;=", "ä"], None]


@pytest.mark.parametrize("style", ["comma", "space", "pipe", "repeat", "brackets", "deep", "json"])
@pytest.mark.parametrize("words", VALUES, ids=str)
@pytest.mark.parametrize("period", [{"first": "2020-01-31", "days": [1, 2]}, {"first": ""}, None], ids=str)
def test_bodies_and_responses_mock_reads_forms_as_clients_write_them(
    style: str, words: list[str] | None, period: Any
) -> None:
    """Lists and objects come back as they were, whatever their style; an empty list may be none."""
    body = "{{form: {{words: {{type: [string], style: {0}}}, period: {{type: Period, style: {1}}}, left: string}}}}"
    of_object = style if style in ("brackets", "deep", "json") else "form"
    spec = declared(
        "mails: {path: '/mails/:id', schema: Mail, endpoints: {a: {method: POST, path: /a, schema: null, body: "
        + body.format(style, of_object)
        + "}}}",
        "objects: {Period: {first: string, days: [integer]}}\n",
    )
    endpoint = spec.resources["mails"].endpoints["a"]
    sent = {"words": words, "period": period, "left": "over"}
    written = styled_form(sent, {"words": style, "period": of_object})
    read: Any = parse(spec, endpoint.body, "application/x-www-form-urlencoded", urlencode(written, doseq=True).encode())
    found = {name: read.get(name) or None for name in sent}
    assert found == {name: value or None for name, value in sent.items()}


def test_bodies_and_responses_move_takes_what_a_partial_update_takes() -> None:
    """Any part of a mapping will do, whose type has one name for both."""
    resource = "mails: {path: '/mails/:id', schema: Mail, body: {subject: string}, members: [get_list, move%s]}"
    spec = declared(resource % ", partial_update")
    mails = spec.resources["mails"].endpoints
    assert mails["get_list"].extenders["move"].body == mails["partial_update"].body
    assert declared(resource % "").resources["mails"].endpoints["get_list"].extenders["move"].has_body


def test_bodies_and_responses_bytes_and_json_of_one_url_are_two_reads() -> None:
    """The cache keeps a file and what is said of it apart; two schemas of JSON would read one result."""
    resource = "mails: {path: /mails/:id, schema: Mail, members: [get], endpoints: {other: {path: /mails/:id, OTHER}}}"
    assert codes(resource.replace("OTHER", "schema: null, content: bytes")) == []
    assert codes(resource.replace("OTHER", "schema: integer")) == ["same-request"]
