"""Python expressions as flat strings: literals, calls, lists, tuples and dicts. `layout` breaks what is too long."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

Parts: TypeAlias = "list[tuple[int, str]]"
"""A name split at its numbers, for comparison."""

Options: TypeAlias = Mapping[str, str]
"""Keyword arguments: the expression of each value by name, in their written order."""


def call(function: str, arguments: Iterable[str] = (), options: Options | None = None) -> str:
    """Return a call: `function(argument, …, name=value, …)`."""
    return f"{function}({', '.join([*arguments, *keywords(options or {})])})"


def keywords(options: Options) -> list[str]:
    """Return each option as `name=value`."""
    return [f"{name}={value}" for name, value in options.items()]


def items(values: Iterable[str]) -> str:
    """Return a list of expressions."""
    return f"[{', '.join(values)}]"


def pair(values: Iterable[str]) -> str:
    """Return a tuple of expressions."""
    found = list(values)
    return f"({', '.join(found)}{',' if len(found) == 1 else ''})"


def table(pairs: Mapping[str, str]) -> str:
    """Return a dict; its keys are expressions too."""
    return "{" + ", ".join(f"{key}: {value}" for key, value in pairs.items()) + "}"


# ------------------------------------------------------------------------------------------------------------- literals

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")
_EMOJI: Final = (("\U0001f300", "\U0001f64f"), ("\U0001f680", "\U0001f6c5"), ("\U0001f90d", "\U0001f9ff"))
_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string(text: str) -> str:
    """Return a string literal on one line, with the quotes that need fewer escapes (double ones if equal).

    Characters that are not printable or change the text direction are escaped, so that the code runs as it reads.
    """
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    quote = "'" if text.count("'") < text.count('"') else '"'
    return quote + "".join("\\" + char if char == quote else _visible(char) for char in text) + quote


def literal(value: str | int | float | bool | None) -> str:
    """Return a JSON scalar as a Python literal."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    return repr(value).replace("e+", "e")


def integer(value: int) -> str:
    """Return an integer with thousands separators: `60_000`."""
    return f"{value:_}" if value >= 10_000 else str(value)


@functools.lru_cache(maxsize=8192)
def natural(name: str) -> tuple[bool, bool, Parts]:
    """Return the sort key of a name in `__all__`: constants, classes, the rest; `item9` before `item10`."""
    constant = len(name) > 1 and name.isupper()
    return not constant, not constant and not name[:1].isupper(), _parts(name)


def imported(name: str) -> tuple[bool, bool, Parts, Parts]:
    """Return the sort key of a name in an import: as in `__all__`, but case is compared last: `Call` before `CBody`."""
    *kind, parts = natural(name)
    return kind[0], kind[1], _parts(name.lower()), parts


def _parts(name: str) -> Parts:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", name) if part]


def doc_text(text: str) -> str:
    """Escape text for a docstring: nothing in it ends the literal or is invisible."""
    if _PLAIN.fullmatch(text.replace("\n", "")):
        return text
    return "".join(map(_visible_in_doc, text)).replace('"""', '\\"\\"\\"')


def comment(text: str) -> str:
    """Escape text for a comment: one line without invisible characters."""
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
    """Return whether every supported Python knows a character, so that escapes do not depend on the version.

    Every Python also has the Unicode database of 2002; emoji came later.
    """
    return unicodedata.ucd_3_2_0.category(char) != "Cn" or any(first <= char <= last for first, last in _EMOJI)


def _visible_in_doc(char: str) -> str:
    return char if char == "\n" else _visible(char)
