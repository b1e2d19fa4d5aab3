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
