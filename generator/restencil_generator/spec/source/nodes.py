"""The nodes of a YAML document: scalars, sequences and mappings with their places.

Scalars keep their source string; their values follow the core schema of YAML 1.2, which has little more than the
scalars of JSON: `on`, `yes`, `012`, `1:30` and `2020-01-01` are strings or plain numbers.
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
"""Maximum number of characters of a number. (Python itself rejects integers of more than 4,300 digits.)"""

ScalarValue: TypeAlias = None | bool | int | float | str


class Node:
    """A node of a YAML document. Lines and columns count from 0, as in YAML's marks."""

    __slots__ = ("column", "end_column", "end_line", "file", "line")

    def __init__(self, file: str, line: int, column: int, end_line: int, end_column: int) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.end_line = end_line
        self.end_column = end_column

    @property
    def place(self) -> Place:
        """The place of the node, counted from 1."""
        return Place(self.file, self.line + 1, self.column + 1, self.end_line + 1, self.end_column + 1)


class ScalarNode(Node):
    """A scalar: `text` is its string; `plain` is true without quotes, so that it may be a number, a boolean or null."""

    __slots__ = ("plain", "text")

    def __init__(
        self, file: str, line: int, column: int, end_line: int, end_column: int, text: str, plain: bool
    ) -> None:
        super().__init__(file, line, column, end_line, end_column)
        self.text = text
        self.plain = plain

    @property
    def value(self) -> ScalarValue:
        """The value under the core schema.

        Numbers longer than `MAX_DIGITS` are infinite, like those that no float can hold: they are not valid JSON.
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
        """Return the place of a part of the scalar's string if it is on one line without escapes; else of the whole."""
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
        """Return the value of a key, or None."""
        entry = self.entries.get(key)
        return entry.value if entry is not None else None


def is_null(node: Node) -> bool:
    """Return whether a node is null, explicit or empty."""
    return isinstance(node, ScalarNode) and node.plain and node.value is None


def plain_value(node: Node) -> Any:
    """Return a node as plain values."""
    if isinstance(node, MappingNode):
        return {key: plain_value(entry.value) for key, entry in node}
    if isinstance(node, SequenceNode):
        return [plain_value(item) for item in node.items]
    return node.value if isinstance(node, ScalarNode) else None


def described(node: Node) -> str:
    """Describe a node for messages: `a mapping`, `a list`, `null`, `the string 'x'`, `the number 5`."""
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
