"""Serialization of the merged spec: unchanged lines are kept.

New entries and entries that are replaced as a whole have the lines of theirs, with the indentation of ours. Only
entries that change within a line, or that keep a part of ours while their value changes, are edited as YAML
(`yaml_edit`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

from restencil_generator.openapi.merge import yaml_edit
from restencil_generator.openapi.merge.merge_kinds import TYPE
from restencil_generator.openapi.merge.source_map import ONE_LINE, Part, Side, SpecText, value_of
from restencil_generator.openapi.merge.three_way import Choice, Comments
from restencil_generator.openapi.spec_tree import Value
from restencil_generator.openapi.spec_writer import COMMENTS, one_line
from restencil_generator.spec.load import MERGED
from restencil_generator.spec.source.nodes import Node, SequenceNode

NEAR: Final = 3
"""Number of spaces before a comment that is not aligned with others."""

RESOURCES: Final = "resources"
"""The folder of a split spec with a file for each resource."""


def patched(ours: Side, choices: Mapping[str, Choice], folder: str = "") -> dict[str, str | None]:
    """Return the files of the merged spec by name; None for a file without content.

    `folder` is the folder of a spec of several files: new entries may get a separate file in it.
    """
    layout = _Layout(ours, choices, folder)
    written = {text.file: _text(text, layout) for text in ours.texts}
    for file, entries in layout.new_files.items():
        written[file] = "".join(entries)
    return written


def merged_value(choices: Mapping[str, Choice]) -> dict[str, Value]:
    """Return the merged spec as plain data, which its files must read back as."""
    return {name: _value(choice) for name, choice in choices.items()}


def _value(choice: Choice) -> Value:
    if choice.take == "items":
        return [value_of(item) for item in choice.items]
    if choice.take == "inside":
        if list(choice.parts) == [TYPE] and _is_bare(choice):
            return _value(choice.parts[TYPE])
        return {name: _value(part) for name, part in choice.parts.items()}
    part = choice.ours if choice.take == "ours" else choice.theirs
    assert part is not None
    return part.value()


# --------------------------------------------------------------------------------------------------------------- files


class _Layout:
    """The file of each entry: entries of ours stay in place, new ones follow their predecessor."""

    def __init__(self, ours: Side, choices: Mapping[str, Choice], folder: str) -> None:
        self.ours = ours
        self.main = next((text for text in ours.texts if "restencil" in text.parts), ours.texts[0])
        self.folder = folder
        self.new_files: dict[str, list[str]] = {}
        self.top: dict[str, dict[str, Choice]] = {text.file: {} for text in ours.texts}
        for name, choice in choices.items():
            self._add(name, choice)

    def _add(self, name: str, choice: Choice) -> None:
        pieces = choice.ours.pieces if choice.ours is not None else []
        if choice.ours is None and self.folder and name in MERGED:
            self._new_table(name, choice)
        elif choice.ours is None:
            self.top[self.main.file][name] = choice
        elif not pieces and not (self.folder and name == RESOURCES):
            self.top[choice.ours.text.file][name] = choice
        else:
            self._spread(name, choice, pieces or [choice.ours])

    def _new_table(self, name: str, choice: Choice) -> None:
        if name == RESOURCES and choice.theirs is not None:
            for key, part in choice.theirs.parts.items():
                self._new_resource(key, Choice((name, key), None, part, "theirs", whole=True))
            return
        lines = _lines(choice, 0, self.main.newline)
        self.new_files[f"{self.folder}/{name}.yaml"] = lines[1:] if not lines[0].strip() else lines

    def _spread(self, name: str, choice: Choice, pieces: list[Part]) -> None:
        """Distribute the entries of a table over the files that contain a part of it."""
        shares: dict[str, dict[str, Choice]] = {piece.text.file: {} for piece in pieces}
        entries = choice.parts if choice.take == "inside" else _as_they_are(choice)
        first = next((part.ours.text.file for part in entries.values() if part.ours is not None), pieces[0].text.file)
        previous = ""
        for key, part in entries.items():
            if part.ours is not None:
                previous = part.ours.text.file
            elif name == RESOURCES and self._alone(previous or first):
                self._new_resource(key, part)
                continue
            shares[previous or first][key] = part
        for piece in pieces:
            share = shares[piece.text.file]
            unchanged = list(share) == list(piece.parts) and all(part.kept for part in share.values())
            made = dataclasses.replace(choice, ours=piece, parts=share, take="inside", whole=False)
            if unchanged and not made.comments:
                made = dataclasses.replace(made, take="ours", whole=True)
            if share or not piece.parts:
                self.top[piece.text.file][name] = made

    def _alone(self, file: str) -> bool:
        """Return whether a file is in the folder of resources, one file per resource."""
        return bool(self.folder) and PurePosixPath(file).parent == PurePosixPath(self.folder, RESOURCES)

    def _new_resource(self, name: str, part: Choice) -> None:
        newline = self.main.newline
        self.new_files[f"{self.folder}/{RESOURCES}/{name}.yaml"] = [
            f"{RESOURCES}:{newline}",
            *_lines(part, 2, newline),
        ]


def _as_they_are(choice: Choice) -> dict[str, Choice]:
    assert choice.ours is not None
    return {
        name: Choice((*choice.path, name), part, None, "ours", whole=True) for name, part in choice.ours.parts.items()
    }


def _text(text: SpecText, layout: _Layout) -> str | None:
    choices = layout.top[text.file]
    if text.parts and not choices:
        return None
    if all(choice.kept for choice in choices.values()) and list(choices) == list(text.parts):
        return "".join(text.lines)
    if not all(part.block for part in text.parts.values()):
        return _edited_file(text, choices)
    lines = [_lines(choice, 0, text.newline) for choice in choices.values()]
    return "".join(_joined([*lines, text.lines[text.tail :]], text.newline))


def _edited_file(text: SpecText, choices: Mapping[str, Choice]) -> str:
    """Return the contents of a file that is one mapping between braces."""
    lines = [line for number, line in enumerate(text.lines) if number not in text.alone]
    comments = [line for number, line in enumerate(text.lines) if number in text.alone]
    patch = yaml_edit.Inside({name: _patch(choice) for name, choice in choices.items()})
    result = yaml_edit.patched("spec: " + "".join(lines), patch, ONE_LINE)
    return "".join(comments) + result.removeprefix("spec: ")


# --------------------------------------------------------------------------------------------------------------- lines


def _lines(choice: Choice, indent: int, newline: str) -> list[str]:
    """Return the lines of an entry of a block mapping."""
    ours, theirs = choice.ours, choice.theirs
    if choice.whole and choice.take == "ours":
        assert ours is not None
        return ours.lines()
    if ours is None or choice.whole:
        assert theirs is not None
        return _taken(theirs, choice, indent, newline)
    head = ours.text.lines[ours.start : ours.key.line]
    lost: list[str] = []
    if choice.take == "inside" and choice.parts and ours.holds_lines and not _is_bare(choice):
        column = next(iter(ours.parts.values())).key.column
        first = min(part.start for part in ours.parts.values())
        body = ours.text.lines[ours.key.line : first]
        entries = [_lines(part, column, newline) for part in choice.parts.values()]
        behind = _joined([*entries, ours.text.lines[ours.tail : ours.end]], newline)
    elif choice.take == "ours":
        body, behind = ours.text.lines[ours.key.line : ours.key.line + 1], ours.text.lines[ours.key.line + 1 : ours.end]
    else:
        body, lost, behind = _edited(ours, choice, newline)
    if choice.comments or lost or body[0] is not ours.text.lines[ours.key.line]:
        head, body = _with_comments(head, body, choice.comments or Comments(), ours, newline)
        head += [f"{' ' * ours.key.column}# {text}{newline}" for text in lost]
    return _joined([head, body, behind], newline)


def _is_bare(choice: Choice) -> bool:
    """Return whether a field of ours is only a type."""
    part = choice.parts.get(TYPE)
    return part is not None and part.ours is not None and part.ours.bare


def _taken(theirs: Part, choice: Choice, indent: int, newline: str) -> list[str]:
    """Return the lines of theirs, without its entries that were removed here."""
    left_out = choice.take == "inside" and list(choice.parts) != list(theirs.parts)
    if not theirs.block:
        if not left_out:
            return [f"{' ' * indent}{theirs.written()}{newline}"]
        return [f"{' ' * indent}{_key_text(theirs)}: {_flow_of(choice)}{newline}"]
    if left_out and not theirs.holds_lines:
        lines = theirs.text.lines[theirs.start : theirs.key.line]
        lines.append(f"{' ' * theirs.key.column}{_key_text(theirs)}: {_flow_of(choice)}\n")
    elif left_out:
        first = min(part.start for part in theirs.parts.values())
        lines = theirs.text.lines[theirs.start : first]
        lines += [line for part in choice.parts.values() if part.theirs is not None for line in part.theirs.lines()]
        lines += theirs.text.lines[theirs.tail : theirs.end]
    else:
        lines = theirs.lines()
    return [_moved(line, indent - theirs.key.column, newline) for line in lines]


def _flow_of(choice: Choice) -> str:
    return "{" + ", ".join(part.theirs.written() for part in choice.parts.values() if part.theirs is not None) + "}"


def _key_text(part: Part) -> str:
    return part.text.lines[part.key.line][part.key.column : part.key.end_column]


def _moved(line: str, by: int, newline: str) -> str:
    text = line.rstrip("\r\n")
    if not text.strip():
        return newline
    if by >= 0:
        return f"{' ' * by}{text}{newline}"
    return (text[-by:] if text[:-by].isspace() else text.lstrip()) + newline


def _joined(chunks: Iterable[list[str]], newline: str) -> list[str]:
    """Join the lines of all chunks. The last line of a file may lack a line break, which it then gets."""
    joined: list[str] = []
    for chunk in chunks:
        if chunk and joined and not joined[-1].endswith(("\n", "\r", "\x85", "\u2028", "\u2029")):
            joined[-1] += newline
        joined += chunk
    return joined


def _with_comments(
    head: list[str], body: list[str], comments: Comments, ours: Part, newline: str
) -> tuple[list[str], list[str]]:
    """Return the lines above a key, and the lines of key and value, with their comments."""
    known = ours.text.comments
    above: list[str] = []
    for number, line in enumerate(head, ours.start):
        column, text = known.get(number, (0, ""))
        if text in comments.replaced:
            line = f"{line[:column]}# {comments.replaced[text]}{newline}"
        if not text or text not in comments.dropped:
            above.append(line)
    above += [f"{' ' * ours.key.column}# {text}{newline}" for text in comments.above]
    behind = "" if ours.behind in comments.dropped else comments.replaced.get(ours.behind, ours.behind)
    original = ours.text.lines[ours.key.line]
    code, column, comment = body[0].rstrip("\r\n"), COMMENTS, behind or comments.behind
    if ours.behind:
        column = known[ours.key.line][0]
        before = original[:column].rstrip()
        code = before if body[0] is original else code
        gap = column - len(before)
        column = len(code) + gap if gap <= NEAR else column
        if behind == ours.behind:
            comment = original[known[ours.key.line][0] :].rstrip("\r\n")
    if not comment:
        return above, [code + newline, *body[1:]]
    comment = comment if comment.startswith("#") else f"# {comment}"
    return above, [f"{code.ljust(column - 2)}  {comment}{newline}", *body[1:]]


# ---------------------------------------------------------------------------------------------------------- as YAML


def _edited(ours: Part, choice: Choice, newline: str) -> tuple[list[str], list[str], list[str]]:
    """Return the lines of an entry with a changed value, comments that have no place in it, and the lines after it."""
    last = ours.end
    while last > ours.key.line + 1 and _is_outside(ours, last - 1):
        last -= 1
    text, within = _without_comments(ours, last)
    patch = _patch(choice)
    assert patch is not None
    result = yaml_edit.patched(text, patch)
    indent = " " * ours.key.column
    lines = [f"{indent}{line}{newline}" if line.strip() else newline for line in result.split("\n")[:-1]]
    lost = [comment for comment in within if f"# {comment}" not in result]
    return lines, lost, ours.text.lines[last : ours.end]


def _is_outside(part: Part, line: int) -> bool:
    """Return whether a line at the end of an entry is not part of its value."""
    if line in part.text.alone:
        return True
    return not part.text.lines[line].strip() and part.node.end_line <= line


def _without_comments(part: Part, end: int) -> tuple[str, list[str]]:
    """Return an entry without indentation, and its comments; only comments in lists in block style stay in it."""
    lines: list[str] = []
    within: list[str] = []
    flow = part.text.lines[part.node.line][part.node.column : part.node.column + 1] in ("{", "[")
    for number in range(part.key.line, end):
        line = part.text.lines[number].rstrip("\r\n")
        comment = part.text.comments.get(number)
        if comment is not None and number > part.key.line:
            within.append(comment[1])
        if comment is not None and (flow or number == part.key.line):
            line = line[: comment[0]].rstrip()
        lines.append(line[part.key.column :] if line[: part.key.column].isspace() or not lines else line.lstrip())
    return "\n".join(lines) + "\n", within


def _patch(choice: Choice) -> yaml_edit.Patch | None:
    """Return the change to the value of a node; None if it is unchanged."""
    if choice.take == "ours":
        return None
    if choice.take == "theirs" or choice.ours is None:
        assert choice.theirs is not None
        if choice.take == "inside":  # a table without the entries that were removed here
            return yaml_edit.Put(f"{_key_text(choice.theirs)}: {_flow_of(choice)}\n")
        return yaml_edit.Put(_source(choice.theirs))
    if choice.take == "items":
        assert isinstance(choice.ours.node, SequenceNode)
        here = choice.ours.node.items
        return yaml_edit.Items(tuple(_item(item, here) for item in choice.items))
    if _is_bare(choice) and list(choice.parts) == [TYPE]:
        return _patch(choice.parts[TYPE])
    return yaml_edit.Inside({name: _patch(part) for name, part in choice.parts.items()}, TYPE)


def _item(item: Node, here: list[Node]) -> int | str:
    return here.index(item) if item in here else str(one_line(value_of(item), ONE_LINE))


def _source(part: Part) -> str:
    """Return an entry without indentation and comments."""
    if not part.block:
        return part.written() + "\n"
    return _without_comments(part, part.end)[0]
