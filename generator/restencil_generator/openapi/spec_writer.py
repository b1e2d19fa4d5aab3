"""Serialization of the spec as YAML; the same input gives the same bytes.

Collections have block style, unless they are short enough for one line. Nodes that are reviewed one by one (fields of
an entity, resources, endpoints) and nodes that contain a comment always have separate lines, so that each comment is at
the line of its node. Strings with several lines, and long ones, are literal blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from restencil_generator.openapi.spec_tree import NodePath, Tree, Value

WIDTH: Final = 120
"""Maximum width of a line with a mapping or list; longer strings are not broken."""

COMMENTS: Final = 58
"""The column of comments, unless the line is longer."""

TABLES: Final = ("enums", "objects", "entities", "resources")
"""The top-level tables: each follows an empty line, and each of its members has a separate line."""

# Characters that cannot begin a plain scalar, and strings that other YAML readers would not read as strings.
_INDICATORS: Final = frozenset("!\"#%&'*,-:>?@[]`{|}=<~")
_PLAIN: Final = re.compile(r"[^\x00-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff\u2028\u2029]+\Z")
_WORDS: Final = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_NUMBER: Final = re.compile(
    r"[-+.]?[0-9][0-9_,.:eExXoOa-fA-F+-]*(?:[TtZz ][0-9:.TtZz+ -]*)?\Z|[-+]?\.(?:inf|nan)\Z", re.IGNORECASE
)
_BIDI: Final = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_NOT_LITERAL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff\u2028\u2029]")
_ESCAPED: Final = re.compile(
    r"[\x00-\x1f\x7f-\xa0\"\\\ufeff\ufffe\uffff\ud800-\udfff\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_ESCAPES: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def write(tree: Tree) -> str:
    """Return a tree as YAML. It ends with a line break, and reads back as `tree.value`."""
    return _Writer(tree).text()


def write_with_nodes(tree: Tree) -> tuple[str, list[NodePath]]:
    """Return a tree as YAML, and for each of its lines the node that begins or continues there."""
    writer = _Writer(tree)
    text = writer.text()
    nodes: list[NodePath] = [()] * len(writer.lines)
    for number, path in writer.begins.items():
        nodes[number] = path
    for number in range(1, len(nodes)):
        if number not in writer.begins and number >= len(tree.head):
            nodes[number] = nodes[number - 1]
    return text, nodes


def scalar(value: None | bool | int | float | str, *, flow: bool = False) -> str:
    """Format a scalar on one line; `flow` if it is inside brackets."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    return value if _is_plain(value, flow) else _quoted(value)


def one_line(value: Value, width: int) -> str | None:
    """Format a value on one line of at most `width` characters; returns None if it is too long."""
    if isinstance(value, dict):
        return _joined("{", (_pair(key, item, width) for key, item in value.items()), "}", width)
    if isinstance(value, list):
        return _joined("[", (one_line(item, width) for item in value), "]", width)
    if isinstance(value, str) and "\n" in value:
        return None
    text = scalar(value, flow=True)
    return text if len(text) <= width else None


def _pair(key: str, value: Value, width: int) -> str | None:
    text = one_line(value, width)
    return None if text is None else f"{_key(key, flow=True)}: {text}"


def _joined(begin: str, parts: Iterable[str | None], end: str, width: int) -> str | None:
    texts: list[str] = []
    length = 2
    for part in parts:
        if part is None:
            return None
        length += len(part) + (2 if texts else 0)
        if length > width:
            return None
        texts.append(part)
    return begin + ", ".join(texts) + end


def _key(key: str, *, flow: bool) -> str:
    # Statuses and versions are readable without quotes, and all readers of specs treat keys as strings.
    return key if key.isascii() and key.isdigit() and len(key) < 20 else scalar(key, flow=flow)


def _is_plain(text: str, flow: bool) -> bool:
    if not text or text[0] in _INDICATORS or text[0].isspace() or text[-1].isspace() or text[-1] == ":":
        return False
    if text.lower() in _WORDS or _NUMBER.match(text) or not _PLAIN.match(text) or _BIDI.search(text):
        return False
    if ": " in text or " #" in text or text.startswith(("---", "...")):
        return False
    return not (flow and any(char in ",[]{}:?" for char in _without_mark(text)))


def _without_mark(text: str) -> str:
    """Return a type without its suffix."""
    return text[:-1] if text[-1] in "?!" else text


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(_escape, text) + '"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class _Writer:
    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.lines: list[str] = []
        self.begins: dict[int, NodePath] = {}
        """The nodes that begin on a line, by the index of the line."""
        self.commented: set[NodePath] = set()
        """The key paths of nodes that contain a node with a comment."""
        for path in tree.comments:
            self.commented.update(path[:length] for length in range(len(path)))

    def text(self) -> str:
        self.lines = [f"# {line}" for line in self.tree.head]
        for key, value in self.tree.value.items():
            if key in TABLES and self.lines:
                self.lines.append("")
            self.entry(f"{_key(key, flow=False)}:", value, (key,), 0)
        return "\n".join(self.lines) + "\n"

    def entry(self, head: str, value: Value, path: NodePath, indent: int) -> None:
        """Write `head value`, on one line if it fits, else on several."""
        start = " " * indent + head
        if isinstance(value, dict | list):
            text = None if value and self.spread(path) else one_line(value, WIDTH - len(start) - 1)
            if text is not None:
                self.line(f"{start} {text}", path)
            else:
                self.line(start, path)
                self.block(value, path, indent)
            return
        if isinstance(value, str) and _is_long(value, len(start)):
            self.literal(start, value, path, indent)
            return
        self.line(f"{start} {scalar(value)}", path)

    def block(self, value: dict[str, Value] | list[Value], path: NodePath, indent: int) -> None:
        if isinstance(value, dict):
            for key, item in value.items():
                self.entry(f"{_key(key, flow=False)}:", item, (*path, key), indent + 2)
            return
        for index, item in enumerate(value):
            self.entry("-", item, (*path, str(index)), indent + 2)

    def spread(self, path: NodePath) -> bool:
        """Return whether the contents of a node are always on separate lines."""
        if path in self.commented or (path[0] in TABLES and len(path) == 1):
            return True
        if path[0] == "entities":
            return len(path) == 2 or (len(path) == 3 and path[2] == "fields")
        return path[0] == "resources" and (len(path) == 2 or (len(path) == 3 and path[2] == "endpoints"))

    def line(self, text: str, path: NodePath) -> None:
        self.begins[len(self.lines)] = path
        comment = self.tree.comments.get(path)
        if comment:
            text = f"{text.ljust(COMMENTS - 2)}  # {_remark(comment)}"
        self.lines.append(text)

    def literal(self, start: str, text: str, path: NodePath, indent: int) -> None:
        """Write a string as a literal block."""
        self.line(f"{start} |" if text.endswith("\n") else f"{start} |-", path)
        body = text.removesuffix("\n")
        self.lines += [f"{' ' * (indent + 2)}{line}" if line else "" for line in body.split("\n")]


def _remark(comment: str) -> str:
    """Format a comment on one line, with printable characters."""
    return _ESCAPED.sub(lambda match: match[0] if match[0] in '"\\' else " ", comment).strip()


def _is_long(text: str, before: int) -> bool:
    """Return whether a string is written as a literal block: it has several or very long lines, and blocks allow it."""
    if _NOT_LITERAL.search(text) or _BIDI.search(text) or text[:1] in ("", " ", "\n") or text.endswith("\n\n"):
        return False
    if any(line.endswith(" ") for line in text.split("\n")):
        return False
    return "\n" in text or (" " in text and before + len(text) + 1 > WIDTH)
