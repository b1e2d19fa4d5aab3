"""Hints that say how to write something else than a word: what they say is a spec without mistakes."""

from __future__ import annotations

import pytest

from restencil_generator.spec.load import load_text

POSTS = """\
restencil: 1
package: x
resources:
  posts:
    path: /posts/:id
    schema: {entity: Post, fields: {id: integer, title: string}}
"""


@pytest.mark.parametrize("name", ["_page", "page-number", "page[number]"])
def test_hints_pagination_field_that_is_no_name_is_shown_the_way(name: str) -> None:
    """A search parameter has the API's name on the wire."""
    (problem,) = load_text(f"{POSTS}    pagination_field: '{name}'\n").problems
    assert problem.code == "bad-name"
    params, field = problem.hint[problem.hint.index("search_params: ") :].split(", pagination_field: ")
    wire = params.replace(f"wire: {name}", f"wire: '{name}'")
    loaded = load_text(f"{POSTS}    {wire}\n    pagination_field: {field}\n")
    assert loaded.declaration is not None, loaded.problems
    found = loaded.declaration.resources["posts"].endpoints["get_list"].pagination_field
    assert found is not None
    assert found.wire == name
