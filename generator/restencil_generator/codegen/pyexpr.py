"""Code as data: what the plan says and the templates lay out. Nothing here knows about lines or columns."""

from __future__ import annotations

import dataclasses
import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, TypeAlias

Parts: TypeAlias = "list[tuple[int, str]]"
"""A name taken apart at its numbers, for comparison."""


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """`function(argument, …, keyword=value, …)after`, where `after` is an attribute such as `.push`, or empty."""

    function: str
    arguments: tuple[Expression, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = ()
    after: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Items:
    """A list `[…]`, a tuple `(…)`, or with `before` a subscript such as `typing.Literal[…]`."""

    items: tuple[Expression, ...]
    before: str = ""
    brackets: str = "[]"


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A dict `{key: value, …}`; keys are texts of code."""

    pairs: tuple[tuple[str, Expression], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Lambda:
    """`lambda parameters: body`."""

    body: Expression
    parameters: str = ""


Expression: TypeAlias = str | Call | Items | Table | Lambda
"""A piece of code: a text that stays on one line, or something with brackets that may be broken over lines."""


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    """A keyword parameter of a function: `name: type = default`."""

    name: str
    type: str
    default: Expression | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """A call as a docstring shows it, and what the server answers (None: it is not shown)."""

    call: Call
    answer: Expression | None = None


# ------------------------------------------------------------------------------------------------------------- literals

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")
_EMOJI: Final = (("\U0001f300", "\U0001f64f"), ("\U0001f680", "\U0001f6c5"), ("\U0001f90d", "\U0001f9ff"))
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string(text: str) -> str:
    """The text as a Python literal on one line, in the quotes that need the fewest escapes (double ones where equal).

    Characters that do not print, and those that turn the direction of a text, are written as escapes, so that the code
    reads as it runs.
    """
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    quote = "'" if text.count("'") < text.count('"') else '"'
    return quote + "".join("\\" + char if char == quote else _visible(char) for char in text) + quote


def literal(value: str | int | float | bool | None) -> str:
    """A JSON scalar as a Python literal."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return repr(value).replace("e+", "e")


def integer(value: int) -> str:
    """A whole number with its thousands set apart, as a person writes durations: `60_000`."""
    return f"{value:_}" if value >= 10_000 else str(value)


@functools.lru_cache(maxsize=8192)
def natural(name: str) -> tuple[bool, bool, Parts]:
    """The order of names in `__all__`: constants, classes, the rest; `item9` before `item10`."""
    constant = len(name) > 1 and name.isupper()
    return not constant, not constant and not name[:1].isupper(), _parts(name)


def imported(name: str) -> tuple[bool, bool, Parts, Parts]:
    """The order of names in an import: that of `__all__`, but case counts last: `Call` before `CBody`."""
    *kind, parts = natural(name)
    return kind[0], kind[1], _parts(name.lower()), parts


def _parts(name: str) -> Parts:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name) if part]


def items(values: Sequence[Expression]) -> Items:
    """A list of expressions."""
    return Items(tuple(values))


def pair(values: Sequence[Expression]) -> Items:
    """A tuple of expressions."""
    return Items(tuple(values), brackets="()")


def doc_text(text: str) -> str:
    """A text as it stands inside triple double quotes: nothing in it ends the literal or hides from the reader."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(map(_visible_in_doc, text)).replace('"""', '\\"\\"\\"')


def comment(text: str) -> str:
    """A text as it stands in a comment: on one line, with nothing that hides from the reader."""
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isascii() and char.isprintable():
        return char
    if char.isprintable() and _every_python_prints(char):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _every_python_prints(char: str) -> bool:
    """Whether no supported Python takes the character for unassigned: what is escaped must not depend on the Python.

    Every Python has the Unicode of 2002 beside its own; emoji came later.
    """
    return unicodedata.ucd_3_2_0.category(char) != "Cn" or any(first <= char <= last for first, last in _EMOJI)


def _visible_in_doc(char: str) -> str:
    return char if char == "\n" else _visible(char)
