"""Line breaking of rendered code: one item per line, each with a trailing comma.

Templates write each statement on one line. The result is the same as that of black (tests check this), in a fraction of
the time. Lines that stay too long are left to black. The widths are black's defaults.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from restencil_generator.codegen.pyexpr import doc_text

WIDTH: Final = 88
_STEP: Final = "    "
_QUOTE: Final = '"'

_STRING: Final = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
_TOKEN: Final = re.compile(rf"{_STRING}|[()\[\]{{}},:#]|\blambda\b| = ")


def width(text: str) -> int:
    """Return the maximum width of a line in columns: characters beyond ASCII may take two.

    Their width depends on the platform; counting each as two only breaks some lines earlier.
    """
    return len(text) if text.isascii() else len(text) + sum(char > "\x7f" for char in text)


def fits(text: str) -> bool:
    """Return whether no line is too long."""
    return not _long_lines(text)


def _long_lines(text: str) -> list[int]:
    """Return the numbers of the lines, from 0, that are too long."""
    columns = len if text.isascii() else width
    return [number for number, line in enumerate(text.split("\n")) if columns(line) > WIDTH]


def lay_out(text: str, tree: ast.Module) -> str:
    """Break all lines of a module that are too long and contain a whole statement, at their brackets.

    `tree` is the parsed module.
    """
    long = _long_lines(text)
    if not long:
        return text
    lines = text.split("\n")
    inside = _lines_of_literals(tree)
    for number in long:
        if number not in inside:
            line = lines[number]
            bare = line.lstrip(" ")
            lines[number] = "\n".join(break_line(bare, len(line) - len(bare)))
    return "\n".join(lines)


def _lines_of_literals(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines, from 0, in strings of several lines, such as docstrings."""
    found: set[int] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        if isinstance(node, ast.Constant | ast.JoinedStr):
            found.update(range(first - 1, last))
        elif first < last or isinstance(node, ast.Module):
            waiting += [
                child
                for child in ast.iter_child_nodes(node)
                if getattr(child, "lineno", 0) < getattr(child, "end_lineno", 0)
            ]
    return found


class _Shape(NamedTuple):
    """The positions at which a line can be broken: after its assignment, and at pairs of outermost brackets."""

    value: int
    brackets: list[tuple[int, int]]


def break_line(text: str, indent: int = 0) -> list[str]:
    """Return the lines of a statement, or of one item of it, at an indentation in columns."""
    margin = " " * indent
    if indent + width(text) <= WIDTH:
        return [margin + text]
    shape = _shape(text)
    if shape is None:
        return [margin + text]
    if text.startswith("from ") and not shape.brackets and " import " in text:
        before, _, names = text.partition(" import ")
        return _broken(f"{before} import (", names.split(", "), ")", margin)
    defines = text.startswith("def ")
    brackets = shape.brackets if defines else [each for each in shape.brackets if each[0] >= shape.value]
    if not brackets or (not shape.value and not defines and _is_annotation(text)):
        return [margin + text]
    start, end = brackets[0] if defines else brackets[-1]
    parts = list(_items(text[start + 1 : end]))
    subscript = text[start] == "[" and text[start - 1 : start].isalnum()
    if not parts or (subscript and len(parts) == 1):
        return [margin + text]
    if shape.value and text[start - 1 : start].isalnum() and indent + width(text[: start + 1]) > WIDTH:
        return [margin + text[: shape.value] + "(", *break_line(text[shape.value :], indent + 4), margin + ")"]
    return _broken(text[: start + 1], parts, text[end:], margin)


def _broken(opening: str, parts: Sequence[str], closing: str, margin: str) -> list[str]:
    inner = [line for part in parts for line in break_line(f"{part},", len(margin) + len(_STEP))]
    return [margin + opening, *inner, margin + closing]


_ANNOTATION: Final = re.compile(r"\w+: [\w.]+\[")


def _is_annotation(text: str) -> bool:
    """Return whether a line declares a name without a value: a trailing comma in its brackets would change the type."""
    return _ANNOTATION.match(text) is not None


def _shape(text: str) -> _Shape | None:
    """Return the positions at which a line can be broken; None if it is not a whole statement, or ends in a comment."""
    value, depth, start = 0, 0, 0
    brackets: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(text):
        mark = match[0]
        if mark in "([{":
            if not depth:
                start = match.start()
            depth += 1
        elif mark in ")]}":
            depth -= 1
            if not depth:
                brackets.append((start, match.start()))
            elif depth < 0:
                return None
        elif mark == "#":
            return None
        elif mark == " = " and not depth and not value:
            value = match.end()
    return _Shape(value, brackets) if not depth else None


def _items(text: str) -> Iterator[str]:
    """Yield the parts between the commas of the outermost level."""
    depth, start, parameters = 0, 0, False
    for match in _TOKEN.finditer(text):
        mark = match[0]
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif depth:
            continue
        elif mark == "lambda":
            parameters = True
        elif mark == ":":
            parameters = False
        elif mark == "," and not parameters:
            yield text[start : match.start()].strip()
            start = match.end()
    if rest := text[start:].strip():
        yield rest


# ----------------------------------------------------------------------------------------------------------- docstrings


def docstring(text: str, indent: int = 0, code: Sequence[tuple[str, str | None]] = ()) -> str:
    """Format a docstring: on one line if it fits, else with the closing quotes on a separate line.

    Long lines are wrapped, and a space separates a quote at either end from the quotes of the literal; the text does
    not change otherwise. `code` has headings with expressions, which are shown below their heading as code; None is
    left out.
    """
    lines = _doc_lines(text, WIDTH - indent)
    for heading, expression in code:
        if expression is not None:
            lines += ["", *_doc_lines(heading, WIDTH - indent), "", *_code_lines(expression, indent)]
    if lines[0].startswith(_QUOTE):
        lines[0] = " " + lines[0]
    if len(lines) == 1:
        return f'"""{lines[0]}{" " if lines[0].endswith(_QUOTE) else ""}"""'
    first, *rest = lines
    margin = " " * indent
    body = "".join(f"\n{margin}{line}" if line else "\n" for line in rest)
    return f'"""{first}{body}\n{margin}"""'


def _doc_lines(text: str, width: int) -> list[str]:
    """Return the lines of a docstring: wrapped, without margins, and without empty lines at the ends."""
    given = [line.rstrip() for line in doc_text(text.replace("\r\n", "\n").replace("\r", "\n")).strip().split("\n")]
    if len(given) == 1:
        if len(given[0]) + 6 <= width:
            return given
        wrapped = _wrap(given[0], width - 3)
        return wrapped if len(wrapped) > 1 else _wrap(given[0], width - 6)
    margin = min((len(line) - len(line.lstrip()) for line in given[1:] if line), default=0)
    found = _wrap(given[0], width - 3)
    for line in given[1:]:
        found += _wrap(line[margin:], width)
    return found


def _code_lines(expression: str, indent: int) -> list[str]:
    """Return an expression as lines of a docstring with a margin in columns."""
    return [doc_text(line[indent:]) for line in break_line(expression, indent + len(_STEP))]


def _wrap(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    lead = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line,
        width=width,
        subsequent_indent=lead,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        expand_tabs=False,
    )
