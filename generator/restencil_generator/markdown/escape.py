"""Escaping of strings for Markdown, so that they cannot become markup, HTML or a directive.

Only code spans are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from restencil_generator.diagnostics.model import visible

_ANYWHERE: Final[Mapping[str, str]] = {
    **{char: f"\\{char}" for char in "\\`*_[]{}"},
    **{char: f"&#{ord(char)};" for char in "|~$"},
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
}
"""Replacements of characters that may begin markup; not every Markdown accepts a backslash before all of them."""

_AT_START: Final = re.compile(r"[#+=:!-]|\d+(?=[.)])")
"""Characters that begin a heading, list, rule, directive or admonition at the start of a line."""

_CODE: Final = re.compile(r"`([^`\n]+)`")


def escape(text: str) -> str:
    """Convert a string to Markdown: its lines, with code spans kept and everything else escaped."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip().split("\n")
    return "\n".join(_line(line.strip()) for line in lines)


def inline(text: str) -> str:
    """Convert a string to Markdown within a line."""
    return _parts(" ".join(text.split()))


def _line(line: str) -> str:
    start = _AT_START.match(line)
    if start is not None:
        rest = line[start.end() :]
        before = start[0] if start[0].isdecimal() else f"&#{ord(start[0])};"
        return f"{before}&#{ord(rest[0])};{_parts(rest[1:])}" if start[0].isdecimal() else f"{before}{_parts(rest)}"
    return _parts(line)


def _parts(line: str) -> str:
    parts = _CODE.split(line)
    return "".join(code(part) if index % 2 else _plain(part) for index, part in enumerate(parts))


def _plain(text: str) -> str:
    return "".join(_ANYWHERE.get(char, char) for char in visible(text))


def code(text: str) -> str:
    """Return a code span with any string."""
    text = visible(" ".join(text.split()))
    fence = "`" * (_longest(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{fence}{space}{text}{space}{fence}"


def block(text: str, language: str = "python") -> str:
    """Return a fenced code block with any string."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max((len(found) for found in re.findall("`+", text)), default=0)
