"""Expressions and docstrings as lines: what fits stays on one line, else one item a line with a comma behind each.

That is how black lays out code that has such commas, at every line length from 88 up, so what comes from here needs no
formatting. The widths in this module are those of black's default.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from restencil_generator.codegen.pyexpr import Call, Example, Expression, Items, Lambda, Parameter, Table, doc_text

WIDTH: Final = 88
_STEP: Final = "    "
QUOTE: Final = '"'


def width(text: str) -> int:
    """The columns that a line takes at most: characters beyond ASCII may take two.

    Which of them do is not the same everywhere; taking all of them for wide only breaks a line somewhat early.
    """
    return len(text) if text.isascii() else len(text) + sum(char > "\x7f" for char in text)


def fits(text: str) -> bool:
    """Whether no line of the text is too long."""
    return all(width(line) <= WIDTH for line in text.split("\n"))


def statement(before: str, expression: Expression, after: str = "", indent: int = 0) -> str:
    """`before expression after` at an indentation of so many columns, over as many lines as it needs.

    The first line comes without its indentation, which stands in the template.
    """
    flat = before + on_one_line(expression) + after
    if indent + width(flat) <= WIDTH:
        return flat
    if isinstance(expression, Call) and before.endswith(" = ") and not after:
        head = f"{before}{expression.function}("
        if indent + width(head) > WIDTH:
            margin = " " * indent
            return f"{before}(\n{margin}{_STEP}{statement('', expression, '', indent + len(_STEP))}\n{margin})"
    return before + _broken(expression, indent) + after


def head(before: str, parts: Sequence[str | tuple[str, Expression]], after: str, indent: int = 0) -> str:
    """`before(part, …)after`: the head of a class or function; a pair is a keyword with its value."""
    flat = f"{before}({', '.join(_flat_part(part) for part in parts)}){after}"
    if indent + width(flat) <= WIDTH or not parts:
        return flat
    return before + _bracketed("(", [_part(part, indent + 4) for part in parts], ")", indent) + after


def signature(before: str, receiver: str, parameters: Sequence[Parameter], after: str, indent: int = 0) -> str:
    """`before(receiver, *, parameter, …)after`: the head of a method whose parameters are keywords."""
    parts: list[str] = [receiver]
    if parameters:
        parts.append("*")
    for parameter in parameters:
        default = "" if parameter.default is None else f" = {on_one_line(parameter.default)}"
        parts.append(f"{parameter.name}: {parameter.type}{default}")
    return head(before, parts, after, indent)


def import_names(before: str, names: Sequence[str], indent: int = 0) -> str:
    """`from module import name, …`, in brackets where it does not fit on a line."""
    flat = before + ", ".join(names)
    return flat if indent + width(flat) <= WIDTH else before + _bracketed("(", names, ")", indent)


def docstring(text: str, indent: int = 0, example: Example | None = None) -> str:
    """A docstring: on one line where it fits, else with the closing quotes on a line of their own.

    Long lines are wrapped, and a space keeps a quote at either end from the quotes of the literal; nothing else of the
    text changes. The example stands below it as code that can be pasted.
    """
    lines = _doc_lines(text, WIDTH - indent) + ([] if example is None else _example_lines(example, indent))
    if lines[0].startswith('"'):
        lines[0] = " " + lines[0]
    if len(lines) == 1:
        return f'"""{lines[0]}{" " if lines[0].endswith(QUOTE) else ""}"""'
    first, *rest = lines
    margin = " " * indent
    body = "".join(f"\n{margin}{line}" if line else "\n" for line in rest)
    return f'"""{first}{body}\n{margin}"""'


def _doc_lines(text: str, width: int) -> list[str]:
    """The lines of a docstring: those of the text, long ones wrapped, margins and empty lines at the ends gone."""
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


def _example_lines(example: Example, indent: int) -> list[str]:
    lines = ["", "Example:", "", *_code_lines(example.call, indent)]
    if example.answer is not None:
        lines += ["", "The server answers:", "", *_code_lines(example.answer, indent)]
    return lines


def _code_lines(expression: Expression, indent: int) -> list[str]:
    """An expression as lines of a docstring whose margin is so many columns wide."""
    first, *others = statement("", expression, "", indent + len(_STEP)).split("\n")
    return [doc_text(line) for line in (_STEP + first, *(line[indent:] for line in others))]


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


# ---------------------------------------------------------------------------------------------------------- expressions


def on_one_line(expression: Expression) -> str:
    """The expression on one line."""
    match expression:
        case str():
            return expression
        case Call(function, arguments, keywords, after):
            parts = [on_one_line(argument) for argument in arguments]
            parts += [f"{name}={on_one_line(value)}" for name, value in keywords]
            return f"{function}({', '.join(parts)}){after}"
        case Items(inside, before, brackets):
            comma = "," if brackets == "()" and len(inside) == 1 else ""
            return f"{before}{brackets[0]}{', '.join(map(on_one_line, inside))}{comma}{brackets[1]}"
        case Table(pairs):
            return "{" + ", ".join(f"{key}: {on_one_line(value)}" for key, value in pairs) + "}"
        case Lambda(body, parameters):
            return f"lambda {parameters}: {on_one_line(body)}" if parameters else f"lambda: {on_one_line(body)}"


def _broken(expression: Expression, indent: int) -> str:
    """The expression with its outermost brackets broken; what has none stays as it is."""
    inner = indent + 4
    match expression:
        case Call(function, arguments, keywords, after) if arguments or keywords:
            parts = [_line("", argument, inner) for argument in arguments]
            parts += [_line(f"{name}=", value, inner) for name, value in keywords]
            return function + _bracketed("(", parts, f"){after}", indent)
        case Items(inside, before, brackets) if inside:
            return before + _bracketed(brackets[0], [_line("", item, inner) for item in inside], brackets[1], indent)
        case Table(pairs) if pairs:
            return _bracketed("{", [_line(f"{key}: ", value, inner) for key, value in pairs], "}", indent)
        case _:
            return on_one_line(expression)


def _line(before: str, expression: Expression, indent: int) -> str:
    """One item on a line of its own, with room for the comma behind it."""
    return statement(before, expression, ",", indent)[:-1]


def _part(part: str | tuple[str, Expression], indent: int) -> str:
    return part if isinstance(part, str) else _line(f"{part[0]}=", part[1], indent)


def _flat_part(part: str | tuple[str, Expression]) -> str:
    return part if isinstance(part, str) else f"{part[0]}={on_one_line(part[1])}"


def _bracketed(opening: str, parts: Sequence[str], closing: str, indent: int) -> str:
    margin = " " * indent
    lines = "".join(f"\n{margin}{_STEP}{part}," for part in parts)
    return f"{opening}{lines}\n{margin}{closing}"
