"""The tree of a YAML text: scalars, sequences and mappings with their places.

Scalars keep their text; what it means follows YAML 1.2's core schema, which is JSON's scalars and little more: `on`,
`yes`, `012`, `1:30` and `2020-01-01` are text or plain numbers here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from restencil_generator.diagnostics.model import Place, quoted, visible

_INTEGER: Final = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL: Final[dict[str, None | bool | float]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_NUMBER_STARTS: Final = frozenset("+-.0123456789")

MAX_DIGITS: Final = 1000
"""The most characters a number may have. (Python itself rejects to read integers of more than 4,300 digits.)"""

ScalarValue: TypeAlias = None | bool | int | float | str


class Node:
    """A part of a YAML text. Lines and columns count from 0, as YAML's marks do."""

    __slots__ = ("column", "end_column", "end_line", "file", "line")

    def __init__(self, file: str, line: int, column: int, end_line: int, end_column: int) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.end_line = end_line
        self.end_column = end_column

    @property
    def place(self) -> Place:
        """Its place, counted from 1."""
        return Place(self.file, self.line + 1, self.column + 1, self.end_line + 1, self.end_column + 1)


class ScalarNode(Node):
    """A scalar: `text` as it reads; `plain` where it has no quotes and so may be a number, a boolean or null."""

    __slots__ = ("plain", "text")

    def __init__(
        self, file: str, line: int, column: int, end_line: int, end_column: int, text: str, plain: bool
    ) -> None:
        super().__init__(file, line, column, end_line, end_column)
        self.text = text
        self.plain = plain

    @property
    def value(self) -> ScalarValue:
        """The scalar's value under the core schema.

        Numbers longer than `MAX_DIGITS` are infinite here, like those that no float can hold: no JSON numbers.
        """
        text = self.text
        if not self.plain:
            return text
        if text in _SPECIAL:
            return _SPECIAL[text]
        if text[0] not in _NUMBER_STARTS:
            return text
        if _INTEGER.match(text):
            if len(text) > MAX_DIGITS:
                return float("-inf" if text.startswith("-") else "inf")
            return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
        return float(text) if _FLOAT.match(text) else text

    def part(self, start: int, length: int) -> Place:
        """The place of a stretch of the scalar's text, where the text is in one line as it is; else the whole."""
        whole = self.place
        quotes = whole.end_column - whole.column - len(self.text)
        if whole.line != whole.end_line or quotes not in (0, 2):
            return whole
        column = whole.column + quotes // 2 + start
        return Place(whole.file, whole.line, column, whole.line, column + max(length, 1))


class SequenceNode(Node):
    """A sequence of nodes."""

    __slots__ = ("items",)

    def __init__(self, file: str, line: int, column: int) -> None:
        super().__init__(file, line, column, line, column)
        self.items: list[Node] = []


class Entry:
    """A key of a mapping and its value."""

    __slots__ = ("key", "value")

    def __init__(self, key: ScalarNode, value: Node) -> None:
        self.key = key
        self.value = value


class MappingNode(Node):
    """A mapping from strings to nodes, in the order of the file."""

    __slots__ = ("entries",)

    def __init__(self, file: str, line: int, column: int) -> None:
        super().__init__(file, line, column, line, column)
        self.entries: dict[str, Entry] = {}

    def __iter__(self) -> Iterator[tuple[str, Entry]]:
        return iter(self.entries.items())

    def get(self, key: str) -> Node | None:
        """The value under a key, or None."""
        entry = self.entries.get(key)
        return entry.value if entry is not None else None


def is_null(node: Node) -> bool:
    """Whether a node is null, written or left empty."""
    return isinstance(node, ScalarNode) and node.plain and node.value is None


def plain_value(node: Node) -> Any:
    """What a node says, as plain values."""
    if isinstance(node, MappingNode):
        return {key: plain_value(entry.value) for key, entry in node}
    if isinstance(node, SequenceNode):
        return [plain_value(item) for item in node.items]
    return node.value if isinstance(node, ScalarNode) else None


def described(node: Node) -> str:
    """What a node is, for messages: `a mapping`, `a list`, `null`, `the string 'x'`, `the number 5`."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    assert isinstance(node, ScalarNode)
    value = node.value
    if value is None:
        return "null" if node.text else "nothing"
    if isinstance(value, bool):
        return node.text
    if isinstance(value, str):
        return f"the string {quoted(value)}"
    shown = visible(node.text)
    return f"the number {shown if len(shown) <= 40 else shown[:39] + '…'}"
