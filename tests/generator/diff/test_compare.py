"""What `compare` finds between two specs."""

from __future__ import annotations

import pytest
from tests.generator.declared import declared
from tests.generator.diff.edits import BEFORE, BEFORE_WIDE, EDITS, WIDE, Edit

from restencil_generator.diff import compare

BEFORE_SPEC = declared(BEFORE)


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: " ".join(edit.findings[:1]) or "nothing")
def test_compare_edit_gives_exactly_its_findings(edit: Edit) -> None:
    """Each change is found under its rule, once, at the node where it is written."""
    found = compare(BEFORE_SPEC, declared(edit.of(BEFORE)))
    assert sorted(f"{one.rule} {one.node}" for one in found) == sorted(edit.findings)


WIDE_SPEC = declared(BEFORE_WIDE)


@pytest.mark.parametrize("edit", WIDE, ids=lambda edit: " ".join(edit.findings[:1]))
def test_compare_edit_of_what_came_later_gives_exactly_its_findings(edit: Edit) -> None:
    """So do servers, arguments of the client, schemes, unions and what else the language has besides."""
    found = compare(WIDE_SPEC, declared(edit.of(BEFORE_WIDE)))
    assert sorted(f"{one.rule} {one.node}" for one in found) == sorted(edit.findings)
