"""What a spec says that was written with another language in mind gets a hint that shows the way in this one."""

from __future__ import annotations

import pytest

from restencil_generator.spec.load import load_text

HEAD = "restencil: 1\npackage: x\n"
RESOURCE = "resources:\n  posts:\n    path: /posts/:id\n"
POSTS = RESOURCE + "    schema: {entity: Post, fields: {id: integer, title: string}}\n"


def only(text: str) -> tuple[str, str, int, int]:
    """Code, hint, line and column of the one problem of a string."""
    (problem,) = load_text(text).problems
    return problem.code, problem.hint, problem.place.line, problem.place.column


@pytest.mark.parametrize("text", ["openapi: 3.0.3\ninfo: {title: X}\npaths: {}\n", '{"swagger": "2.0", "paths": {}}'])
def test_hints_openapi_document_is_named_as_one(text: str) -> None:
    """One problem and the way out, rather than one for each of its keys; the hint promises only what is there."""
    code, hint, line, _ = only(text)
    assert (code, line) == ("openapi-document", 1)
    assert hint == "run `restencil import FILE` to create a spec from it"


def test_hints_pointer_of_json_schema_is_a_name_here() -> None:
    """Where a type stands, and where the schema of a resource stands."""
    pointer = "{$ref: '#/components/schemas/User'}"
    for text in (
        HEAD + RESOURCE + f"    schema: {{entity: Post, fields: {{id: integer, by: {pointer}}}}}\n",
        HEAD + RESOURCE + f"    schema: {pointer}\n",
        HEAD + POSTS + f"    endpoints: {{x: {{path: /x, schema: {pointer}}}}}\n",
    ):
        code, hint, *_ = only(text)
        assert (code, hint) == ("unknown-key", "write 'User', the name, in its place")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            HEAD + POSTS.replace("title: string", "title: {type: string, nullable: true}"),
            "did you mean 'optional'?",
        ),
        (
            HEAD + POSTS + "    required: [title]\n",
            "a field or parameter is one unless its type ends with '?': write string or string?",
        ),
        (
            HEAD + POSTS.replace("entity: Post,", "entity: Post, required: [id],"),
            "a field or parameter is one unless its type ends with '?': write string or string?",
        ),
        (
            HEAD + POSTS + "    nullable: true\n",
            "write '?' behind the type, such as string?",
        ),
        (
            HEAD + POSTS + "    format: uri\n",
            "the type says it: write integer, number, datetime, date, time, decimal or uuid",
        ),
    ],
)
def test_hints_word_of_json_schema_gets_the_way_to_say_it_here(text: str, hint: str) -> None:
    """Words that have no meaning, or none at that place."""
    assert only(text)[:2] == ("unknown-key", hint)


def test_hints_empty_schema_is_requested_an_entity() -> None:
    """Not for a type such as a string, which it cannot be."""
    assert only(HEAD + RESOURCE + "    schema:\n")[:2] == (
        "wrong-type",
        "write 'schema: Post', an entity, or declare one: {entity: Post, fields: {id: integer}}",
    )


def test_hints_empty_schema_of_an_endpoint_is_no_null() -> None:
    """It is more likely forgotten than meant; what is meant is written."""
    text = HEAD + POSTS + "    endpoints:\n      top: {path: /top, schema: %s}\n"
    assert only(text % "")[:2] == (
        "wrong-type",
        "write what a response is made of, as in 'schema: Post', or 'schema: null' for nothing of the kind",
    )
    for null in ("null", "~"):
        assert load_text(text % null).declaration is not None


@pytest.mark.parametrize("name", ["_page", "page-number", "page[number]"])
def test_hints_pagination_field_that_is_no_name_is_shown_the_way(name: str) -> None:
    """A search parameter has the API's name on the wire; what the hint says is a spec without mistakes."""
    code, hint, *_ = only(HEAD + POSTS + f"    pagination_field: '{name}'\n")
    assert code == "bad-name"
    params, field = hint[hint.index("search_params: ") :].split(", pagination_field: ")
    wire = params.replace(f"wire: {name}", f"wire: '{name}'")
    loaded = load_text(HEAD + POSTS + f"    {wire}\n    pagination_field: {field}\n")
    assert loaded.declaration is not None, loaded.problems
    found = loaded.declaration.resources["posts"].endpoints["get_list"].pagination_field
    assert found is not None
    assert found.wire == name


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("enums:\n  A: [a, b\n  B: [c, d]\n", 4, 6),
        ("enums: {A: [a, b], B: [c]\n", 3, 8),
        ("resources:\n  a: {path: /x, schema: {entity: A, fields: {id: integer}}\n  b: {path: /y}\n", 4, 6),
        ("resources:\n  a: {path: /x, tags: [string}\n", 4, 23),
    ],
)
def test_hints_unclosed_bracket_is_shown_where_it_opens(text: str, line: int, column: int) -> None:
    """Where the parser gave up is told beside it."""
    code, hint, *place = only(HEAD + text)
    assert (code, place) == ("yaml-syntax", [line, column])
    assert hint.startswith("close the bracket")
    (problem,) = load_text(HEAD + text).problems
    assert [related.message for related in problem.related] == (["here it is still open"] if column != 23 else [])


def test_hints_filter_without_effect_is_marked_at_its_key() -> None:
    """Of a search parameter that filters nothing, the key `filter` itself is marked."""
    text = HEAD + POSTS + "    endpoints: {get: {search_params: {day: {type: date?, filter: equals}}}}\n"
    code, hint, line, column = only(text)
    assert (code, hint) == ("key-not-here", "remove it")
    assert text.splitlines()[line - 1][column - 1 :].startswith("filter: equals")


def test_hints_expires_nothing_in_a_list_gets_the_way_to_write_it() -> None:
    """`[nothing]` names no member; the word alone means that nothing turns stale."""
    code, hint, *_ = only(HEAD + POSTS + "    endpoints: {delete: {expires: [nothing]}}\n")
    assert (code, hint) == ("expires-target", "write 'expires: nothing', without brackets")
