"""A map from a YAML file to its nodes, with the lines and comments of each.

A part of a block mapping has whole lines: blank lines and comments above its key, the key, its value, and comments that
are indented deeper than it. So a file consists of consecutive parts, and changing one part leaves the bytes of all
others unchanged. Parts of a flow mapping have no lines: their lines belong to the enclosing part.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Final

from restencil_generator.diagnostics.model import Problem
from restencil_generator.openapi.spec_tree import Value
from restencil_generator.openapi.spec_writer import one_line, scalar
from restencil_generator.spec.load import MERGED, read_tree
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, SequenceNode
from restencil_generator.spec.source.yaml import LINE_BREAK

ONE_LINE: Final = 1_000_000
"""Maximum width of a line that cannot be broken."""

_COMMENT: Final = re.compile(r"(?:^|(?<=[ \t]))#.*")


@dataclasses.dataclass(slots=True, eq=False)
class Part:
    """An entry of a mapping: its key and value, and its position in the lines of its file.

    `start` and `end` are its lines, `key.line` is the line of its key; an entry of a flow mapping (not `block`) has
    none. `tail` is the first line after its last entry, up to `end`. `above` are the comments above the key, `behind`
    is the comment on the key's line, `inside` are the comments within the value, except in entries of a block mapping.
    Comments are strings without `# `. `pieces` are the parts of a table in several files. `bare` means that it is the
    type of a field without a mapping: its key is not written.
    """

    name: str
    key: ScalarNode
    node: Node
    text: SpecText
    block: bool = False
    start: int = 0
    end: int = 0
    tail: int = 0
    above: tuple[str, ...] = ()
    behind: str = ""
    inside: tuple[str, ...] = ()
    parts: dict[str, Part] = dataclasses.field(default_factory=dict[str, "Part"])
    pieces: list[Part] = dataclasses.field(default_factory=list["Part"])
    bare: bool = False

    @property
    def holds_lines(self) -> bool:
        """Whether it contains a block mapping, whose entries have separate lines."""
        return isinstance(self.node, MappingNode) and any(part.block for part in self.parts.values())

    def lines(self) -> list[str]:
        """Return its lines, with line breaks."""
        return self.text.lines[self.start : self.end]

    def written(self) -> str:
        """Return key and value on one line, without comments."""
        line = self.text.lines[self.key.line]
        if self.bare or self.node.end_line != self.key.line:
            return f"{scalar(self.name, flow=True)}: {one_line(value_of(self.node), ONE_LINE)}"
        return line[self.key.column : self.node.end_column]

    def value(self) -> Value:
        """Return its value, as plain data."""
        if self.pieces:
            return {name: value_of(part.node) for name, part in self.parts.items()}
        return value_of(self.node)

    def alias(self) -> bool:
        """Return whether the value is an alias, so that it is written elsewhere."""
        return (self.node.line, self.node.column) < (self.key.end_line, self.key.end_column)


@dataclasses.dataclass(slots=True, eq=False)
class SpecText:
    """A file of a spec. `lines` include line breaks; lines from `tail` on are after all entries."""

    file: str
    lines: list[str]
    newline: str = "\n"
    tail: int = 0
    comments: dict[int, tuple[int, str]] = dataclasses.field(default_factory=dict[int, tuple[int, str]])
    """The column and the text of the comment on each line, without `# `."""
    alone: set[int] = dataclasses.field(default_factory=set[int])
    """The lines with only a comment."""
    parts: dict[str, Part] = dataclasses.field(default_factory=dict[str, Part])


@dataclasses.dataclass(slots=True, eq=False)
class Side:
    """A whole spec: its files, and its top-level entries, with tables in several files joined."""

    texts: list[SpecText]
    parts: dict[str, Part]

    def value(self) -> dict[str, Value]:
        """Return the spec as plain data."""
        return {name: part.value() for name, part in self.parts.items()}

    def get(self, path: tuple[str, ...]) -> Part | None:
        """Return the part at a key path, as written."""
        parts, found = self.parts, None
        for name in path:
            found = parts.get(name)
            if found is None:
                return None
            parts = found.parts
        return found


def read_side(texts: Mapping[str, str], problems: list[Problem]) -> Side | None:
    """Return the parts of the files of a spec; None, with `problems`, if one of them cannot be parsed."""
    read: list[SpecText] = []
    for file, text in texts.items():
        root = read_tree(text, file, problems)
        if root is None:
            return None
        read.append(_Reader(file, text, root).read())
    return Side(read, _joined(read))


def value_of(node: Node) -> Value:
    """Return the value of a node, as plain data."""
    if isinstance(node, MappingNode):
        return {key: value_of(entry.value) for key, entry in node}
    if isinstance(node, SequenceNode):
        return [value_of(item) for item in node.items]
    assert isinstance(node, ScalarNode)
    return node.value


def equal(one: Value, other: Value) -> bool:
    """Return whether two values are the same for a spec: `1`, `1.0`, `true` and `"1"` differ; keys have no order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return one == other


def split_lines(text: str) -> list[str]:
    """Split into lines with their line breaks, counted as the parser does."""
    lines: list[str] = []
    start = 0
    for found in LINE_BREAK.finditer(text):
        lines.append(text[start : found.end()])
        start = found.end()
    return [*lines, text[start:]] if start < len(text) else lines


def _joined(texts: list[SpecText]) -> dict[str, Part]:
    joined: dict[str, Part] = {}
    for text in texts:
        for name, part in text.parts.items():
            known = joined.get(name)
            if known is None:
                joined[name] = part
            elif name in MERGED:  # other duplicates are errors that loading reports
                if not known.pieces:
                    known = joined[name] = dataclasses.replace(known, pieces=[known], parts=dict(known.parts))
                known.pieces.append(part)
                known.parts.update(part.parts)
    return joined


class _Reader:
    """Reader of the parts of one file."""

    def __init__(self, file: str, text: str, root: MappingNode) -> None:
        lines = split_lines(text)
        crlf = sum(line.endswith("\r\n") for line in lines)
        self.text = SpecText(file, lines, "\r\n" if crlf * 2 > len(lines) else "\n")
        self.root = root
        self.ends: dict[int, int] = {}  # the column after the last token of a line
        self.covered: set[int] = set()  # lines within a scalar
        self.scalars: list[ScalarNode] = []

    def read(self) -> SpecText:
        text, root = self.text, self.root
        self._note(root, (0, 0))
        self._find_comments()
        if self._is_flow(root):
            text.tail = len(text.lines)
            text.parts = self._flow_parts(root)
        else:
            text.parts, text.tail = self._block_parts(root, 0, len(text.lines))
        return text

    # ----------------------------------------------------------------------------------------------- lines and comments

    def _note(self, node: Node, after: tuple[int, int]) -> None:
        """Record the ends of a node's tokens. A node before `after` is written elsewhere: this is its alias."""
        if (node.line, node.column) < after:
            return
        if isinstance(node, ScalarNode):
            self._note_scalar(node)
            return
        if self._is_flow(node):
            self._end(node.line, node.column + 1)
            self._end(node.end_line, node.end_column)
        if isinstance(node, MappingNode):
            for _, entry in node:
                self._note_scalar(entry.key)
                self._note(entry.value, (entry.key.end_line, entry.key.end_column))
        elif isinstance(node, SequenceNode):
            position = (node.line, node.column)
            for item in node.items:
                self._note(item, position)
                position = max(position, (item.line, item.column))

    def _note_scalar(self, node: ScalarNode) -> None:
        if self._is_literal(node):
            self._end(node.line, node.column + 1)
            self.covered.update(range(node.line + 1, _literal_end(node)))
        else:
            self._end(node.end_line, node.end_column)
            self.covered.update(range(node.line, node.end_line))

    def _end(self, line: int, column: int) -> None:
        self.ends[line] = max(self.ends.get(line, 0), column)

    def _find_comments(self) -> None:
        for number, line in enumerate(self.text.lines):
            if number in self.covered or "#" not in line:
                continue
            found = _COMMENT.search(line.rstrip("\r\n"), self.ends.get(number, 0))
            if found is not None:
                self.text.comments[number] = (found.start(), found.group()[1:].strip())
                if not line[: found.start()].strip():
                    self.text.alone.add(number)

    def _comments(self, lines: Iterator[int] | range) -> tuple[str, ...]:
        return tuple(self.text.comments[line][1] for line in lines if line in self.text.comments)

    # ------------------------------------------------------------------------------------------------------------ parts

    def _block_parts(self, mapping: MappingNode, start: int, end: int) -> tuple[dict[str, Part], int]:
        """Return the parts of a block mapping in these lines, and the first line after the last of them."""
        entries = list(mapping.entries.items())
        indent = entries[0][1].key.column
        starts = [start]
        for (_, entry), (_, following) in itertools.pairwise(entries):
            last = self._last_line(entry.value, entry.key)
            starts.append(self._belongs_up_to(last + 1, following.key.line, indent))
        last = self._last_line(entries[-1][1].value, entries[-1][1].key)
        tail = self._belongs_up_to(last + 1, end, indent)
        found: dict[str, Part] = {}
        for (name, entry), first, behind in zip(entries, starts, [*starts[1:], tail], strict=True):
            part = Part(name, entry.key, entry.value, self.text, True, first, behind, behind)
            part.above = self._comments(range(first, entry.key.line))
            part.behind = self.text.comments.get(entry.key.line, (0, ""))[1]
            self._fill(part)
            found[name] = part
        return found, tail

    def _fill(self, part: Part) -> None:
        node, inner = part.node, range(part.key.line + 1, part.end)
        if isinstance(node, MappingNode) and node.entries and not part.alias():
            if self._is_flow(node):
                part.parts = self._flow_parts(node)
            else:
                part.parts, part.tail = self._block_parts(node, part.key.line + 1, part.end)
                part.inside = self._comments(range(part.tail, part.end))
                return
        part.inside = self._comments(inner)

    def _flow_parts(self, mapping: MappingNode) -> dict[str, Part]:
        found: dict[str, Part] = {}
        for name, entry in mapping:
            part = found[name] = Part(name, entry.key, entry.value, self.text)
            if isinstance(entry.value, MappingNode) and not part.alias():
                part.parts = self._flow_parts(entry.value)
        return found

    def _belongs_up_to(self, first: int, end: int, indent: int) -> int:
        """Return the first of the blank lines and comments after an entry that does not belong to it."""
        deeper = [line for line in range(first, end) if self._deeper(line, indent)]
        return deeper[-1] + 1 if deeper else first

    def _deeper(self, line: int, indent: int) -> bool:
        """Return whether a line is indented deeper than an entry, and so belongs to it."""
        if line in self.text.alone:
            return self.text.comments[line][0] > indent
        written = self.text.lines[line]
        return bool(written.strip()) and not written.startswith("...")

    def _last_line(self, node: Node, key: ScalarNode | None = None) -> int:
        """Return the last line of a value, without comments after it."""
        if key is not None and (node.line, node.column) < (key.end_line, key.end_column):
            return key.end_line
        if isinstance(node, ScalarNode):
            return self._end_of_literal(node) if self._is_literal(node) else node.end_line
        if self._is_flow(node):
            return node.end_line
        last = node.line
        if isinstance(node, MappingNode):
            for _, entry in node:
                last = max(last, self._last_line(entry.value, entry.key))
        elif isinstance(node, SequenceNode):
            for item in node.items:
                if (item.line, item.column) >= (node.line, node.column):
                    last = max(last, self._last_line(item))
        return last

    def _end_of_literal(self, node: ScalarNode) -> int:
        """Return the last line of a literal block; trailing empty lines are included only with the indicator `+`."""
        last = _literal_end(node) - 1
        if "+" not in self.text.lines[node.line][node.column :].split("#")[0]:
            while last > node.line and not self.text.lines[last].strip():
                last -= 1
        return last

    def _is_flow(self, node: Node) -> bool:
        return self._first(node) in "{["

    def _is_literal(self, node: ScalarNode) -> bool:
        return node.end_line > node.line and self._first(node) in "|>"

    def _first(self, node: Node) -> str:
        """Return the first character of a node, after its anchor."""
        line = self.text.lines[node.line] if node.line < len(self.text.lines) else ""
        found = re.match(r"(?:&\S+\s+)?(\S)", line[node.column :])
        return found.group(1) if found else " "


def _literal_end(node: ScalarNode) -> int:
    """Return the line after a literal block."""
    return node.end_line if node.end_column == 0 else node.end_line + 1
