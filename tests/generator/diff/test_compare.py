"""What `compare` finds between two specs."""

from __future__ import annotations

import functools

import pytest
from tests.generator.declared import declared
from tests.generator.diff.edits import BEFORE, BEFORE_WIDE, EDITS, WIDE, Edit

from restencil_generator.diff import compare

_loaded = functools.cache(declared)


@pytest.mark.parametrize(
    ("before", "edit"),
    [*((BEFORE, edit) for edit in EDITS), *((BEFORE_WIDE, edit) for edit in WIDE)],
    ids=lambda one: (" ".join(one.findings[:1]) or "nothing") if isinstance(one, Edit) else one.partition("\n")[0],
)
def test_compare_edit_gives_exactly_its_findings(before: str, edit: Edit) -> None:
    """Each change is found under its rule, once, at the node where it is written."""
    found = compare(_loaded(before), declared(edit.of(before)))
    assert sorted(f"{one.rule} {one.node}" for one in found) == sorted(edit.findings)


PAGED = """\
restencil: 1
package: shop
url_prefix: https://api.test
resources:
  items:
    path: /items/:id
    schema: {entity: Item, fields: {id: integer}}
    pagination_field: after
    pagination: {style: cursor, next: header:X-Next}
"""


def test_compare_change_of_a_parameter_for_the_page_is_at_its_name() -> None:
    """Its type is nowhere in the spec: here it is that of the field with the cursor."""
    found = compare(declared(PAGED), declared(PAGED.replace("header:X-Next", "last.id")))
    places = {(one.rule, one.place.line, one.old_place and one.old_place.line) for one in found}
    assert places == {("argument-type-changed", 8, 8), ("pagination-changed", 9, 9)}


def test_compare_shows_pagination_as_the_spec_says_it() -> None:
    """The place of the position is called `in`."""
    paged = PAGED.replace("{style: cursor, next: header:X-Next}", "{style: page}").replace(": after", ": page")
    read_by_post = "method: POST, side_effect: false, request: {in_key: true}, body: {page: integer?}"
    searched = f"{paged}    endpoints: {{get_list: {{{read_by_post}}}}}\n"
    (found,) = compare(declared(searched), declared(searched.replace("{style: page}", "{style: page, in: body}")))
    assert (found.rule, found.change) == ("pagination-changed", "{style: page} → {style: page, in: body}")
