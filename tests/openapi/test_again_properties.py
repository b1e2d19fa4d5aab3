"""Laws of importing again: over random edits of the spec and random changes of the document."""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.openapi.histories import Change, Edit, Editor, base_tree, upstream

from restencil_generator.openapi.merge.merge import Merged, merge
from restencil_generator.openapi.merge.source_map import Part, Side, read_side
from restencil_generator.openapi.merge.three_way import Settled, names_of
from restencil_generator.openapi.spec_tree import NodePath
from restencil_generator.openapi.spec_writer import write

FILE = "shop.yaml"
TABLES = ("endpoints", "search_params")


class History:
    """One spec, how it was edited, and what upstream changed."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        base = base_tree(random)
        self.base = write(base)
        theirs, self.changes = upstream(random, base, random.randint(0, 12))
        self.theirs = write(theirs)
        self.editor = Editor(random, self.base)
        for _ in range(random.randint(0, 10)):
            self.editor.edit()
        self.ours = self.editor.text
        self.merged = self.merge()
        self.conflicts = names_of(self.merged.conflicts)

    def merge(self, settled: Settled | None = None) -> Merged:
        return merge(self.base, {FILE: self.ours}, self.theirs, settled=settled)

    @property
    def text(self) -> str:
        text = self.merged.files[FILE]
        assert text is not None
        return text

    @property
    def told_as_removed(self) -> list[str]:
        """The nodes of which the user is told that they were removed here, and that upstream changed them."""
        return [notice.message.partition(" ")[0] for notice in self.merged.notices if notice.code == "removed-here"]

    def in_conflict(self, path: NodePath) -> bool:
        """Whether a node, its comment, or one around or below it is in a conflict."""
        name = ".".join(path)
        others = [conflict.rstrip("#") for conflict in self.conflicts]
        return any(f"{name}.".startswith(f"{other}.") or f"{other}.".startswith(f"{name}.") for other in others)


def side_of(text: str) -> Side:
    side = read_side({FILE: text}, [])
    assert side is not None
    return side


def value_at(side: Side, path: NodePath) -> Any:
    """The value of a node; None where there is none. A field that is no mapping has a type."""
    value: Any = side.value()
    for name in path:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif name != "type":
            return None
    return value["type"] if isinstance(value, dict) and "type" in value else value


def related(one: NodePath, other: NodePath) -> bool:
    return one[: len(other)] == other or other[: len(one)] == one


def check_edit(history: History, side: Side, edit: Edit) -> None:
    """The edit is there, or it is in a conflict."""
    if history.in_conflict(edit.path):
        return
    part = side.get(edit.path)
    match edit.kind:
        case "set" if value_at(side_of(history.base), history.editor.was(edit.path)) == edit.value:
            pass  # set to something else, and back: nothing was edited
        case "set" | "added":
            assert value_at(side, edit.path) == edit.value, edit
        case "removed":
            before = side_of(history.base).get(history.editor.was(edit.path))
            if part is not None and before is not None and edit.path[-1] in TABLES and len(before.parts) == 1:
                assert not part.parts.keys() & before.parts.keys(), edit  # its only entry is gone; others may come
            else:
                assert part is None, edit
        case "renamed":
            assert part is not None, edit
        case "comment":
            assert part is not None and edit.value in (*part.above, part.behind), edit
        case _:
            assert part is None or edit.value not in (*part.above, part.behind), edit


def check_change(history: History, side: Side, change: Change) -> None:
    """What upstream changed of a node that nobody edited is there."""
    editor = history.editor
    path = editor.now(change.path)
    field = path[:-1] if path[-1] == "type" else path
    around = [edit for edit in editor.edits if related(edit.path, field)]
    if history.in_conflict(field) or any(edit.kind in ("removed", "added") for edit in around):
        return
    if any(f"{'.'.join(change.path)}.".startswith(f"{gone}.") for gone in history.told_as_removed):
        return  # a type that nothing uses was renamed and changed: it is told that upstream's was removed here
    if change.kind == "removed":
        if not around:
            assert side.get(path) is None, change
        return
    if change.kind == "comment":
        if not any(edit.kind in ("comment", "no comment") for edit in around) and change.value:
            part = side.get(path)
            assert part is not None and change.value in (*part.above, part.behind), change
        return
    if any(edit.kind == "set" for edit in around):
        return
    value = json.loads(in_names_of_here(editor, json.dumps(change.value)))
    found = value_at(side, path)
    if change.kind == "items":
        assert sorted(found) == sorted(value), change
    elif isinstance(value, dict) and "type" in value:
        assert found == value["type"], change
    else:
        assert found == value, change


def in_names_of_here(editor: Editor, text: str) -> str:
    for old, new in editor.names.items():
        if len(old) == 2 and old[0] != "resources":
            text = re.sub(rf"\b{old[1]}\b", new[1], text)
    return text


def check_bytes(history: History) -> None:
    """Lines of what upstream did not change are there as they were, in their order."""
    ours = side_of(history.ours)
    free: set[int] = set()
    for change in history.changes:
        part = enclosing(ours, history.editor.now(change.path))
        if part is not None:
            free.update(range(part.start, part.end))
        for length in range(1, len(change.path)):
            table = history.editor.now(change.path[:length])
            part = ours.get(table)
            if part is not None and side_of(history.text).get(table) is None:
                free.update(range(part.start, part.key.line + 1))
    lines = history.text.split("\n")
    at = 0
    for number, line in enumerate(history.ours.split("\n")):
        if number not in free:
            assert line in lines[at:], line
            at = lines.index(line, at) + 1


def enclosing(side: Side, path: NodePath) -> Part | None:
    """The part whose lines a change may touch: a field, an endpoint or an object as a whole."""
    if path[0] == "objects" and len(path) > 1:
        return side.get(path[:2])
    for length in range(len(path), 0, -1):
        part = side.get(path[:length])
        if part is None or not part.block:
            continue
        owner = side.get(path[: length - 1])
        if path[length - 1] in ("type", "description") and owner is not None and owner.block:
            return owner
        return part if length == len(path) or not part.holds_lines else None
    return None


def check(seed: int) -> None:
    history = History(seed)
    side = side_of(history.text)
    for edit in history.editor.edits:
        check_edit(history, side, edit)
    for change in history.changes:
        check_change(history, side, change)
    check_bytes(history)
    if not history.conflicts:
        after_a_crash = merge(history.base, {FILE: history.text}, history.theirs)
        assert (after_a_crash.files, after_a_crash.conflicts) == ({FILE: history.text}, ())
    for settled in (Settled(ours=["*"]), Settled(theirs=["*"])):
        first = history.merge(settled)
        assert not first.conflicts
        again = merge(history.theirs, {FILE: first.files[FILE] or ""}, history.theirs)
        assert (again.files, again.conflicts) == (first.files, ())


@settings(max_examples=examples(7, 5))
@given(st.integers(0, 2**32))
def test_edits_and_changes_of_the_document_are_all_there(seed: int) -> None:
    """Each edit is there or in a conflict, each change of an unedited node is there, other lines have their bytes.

    A second run changes nothing, and neither does one after a crash between the spec and what is kept of the import.
    """
    check(seed)


@pytest.mark.slow
@settings(max_examples=3_000)
@given(st.integers(0, 2**32))
def test_edits_and_changes_are_all_there_over_many_histories(seed: int) -> None:
    """The same, over thousands of histories."""
    check(seed)
