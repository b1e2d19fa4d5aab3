r"""Parser of path templates, with the position of errors.

`:name` is a parameter, `:name?` an optional one; a backslash escapes the next character. The runtime has the same
grammar; a test compares the two.
"""

from __future__ import annotations

import re
from typing import Final

from restencil_generator.spec.model import Path, PathParameter, PathText

_RESERVED: Final = frozenset("(){}*+")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_BRACED: Final = re.compile(r"\{(\w+)\}")
_NO_ESCAPES: Final = re.compile(r"[^\\:?(){}*+]*\Z")


class TemplateError(ValueError):
    """A path is invalid; `position` counts from 0, `hint` says what to write instead."""

    def __init__(self, message: str, position: int, length: int = 1, hint: str = "") -> None:
        super().__init__(message)
        self.position = position
        self.length = length
        self.hint = hint


def parse_path(text: str) -> Path:
    """Parse a template. Raises TemplateError."""
    if _NO_ESCAPES.match(text):
        return Path(text, (PathText(text),) if text else ())
    parts: list[PathText | PathParameter] = []
    literal = prefix = ""  # since the last parameter; the last character may be a prefix
    position = 0
    while position < len(text):
        character = text[position]
        if character == ":":
            literal = literal.removesuffix(prefix)
            if literal:
                parts.append(PathText(literal))
            elif not prefix and parts:
                _check_apart(text, position, parts[-1])
            parameter, position = _parameter(text, position, prefix)
            parts.append(parameter)
            literal = prefix = ""
        else:
            plain = _plain(text, position)
            prefix = plain if plain == character and plain in "/." else ""
            literal += plain
            position += 2 if character == "\\" else 1
    return Path(text, (*parts, PathText(literal)) if literal else tuple(parts))


def _parameter(text: str, position: int, prefix: str) -> tuple[PathParameter, int]:
    """Parse the parameter at a colon, and return it with the position after it."""
    found = _NAME.match(text, position + 1)
    if found is None:
        raise TemplateError("':' is not followed by a parameter's name", position, hint=r"write \: for a colon")
    optional = text.startswith("?", found.end())
    return PathParameter(found[0], optional, prefix), found.end() + optional


def _check_apart(text: str, position: int, before: PathText | PathParameter) -> None:
    """Raise if a parameter directly follows another one: the end of the first value would be ambiguous."""
    found = _NAME.match(text, position + 1)
    if found is not None and isinstance(before, PathParameter):
        raise TemplateError(
            f"there is no text between the parameters {before.name!r} and {found[0]!r}",
            position,
            len(found[0]) + 1,
            "put text between them",
        )


def _plain(text: str, position: int) -> str:
    """Return the character at a position, or the escaped one after a backslash."""
    character = text[position]
    if character == "\\":
        if position + 1 == len(text):
            raise TemplateError("a backslash at the end has nothing to escape", position, hint=r"write \\ for one")
        return text[position + 1]
    if character == "?":
        raise TemplateError("'?' does not follow a parameter's name", position, hint=r"write \? for a question mark")
    if character in _RESERVED:
        hint = f"write \\{character} for it"
        if braced := _BRACED.match(text, position):
            hint = f"write ':{braced[1]}' for a parameter, \\{character} for the character"
        raise TemplateError(f"'{character}' is reserved in a path", position, hint=hint)
    return character


def list_path(text: str) -> str:
    """Return the path of a resource's list: up to the last parameter, with a trailing `/` if the path has one."""
    last = position = 0
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == ":":
            last = position
        position += 1
    cut = text[:last]
    if cut.endswith("\\/"):
        cut = cut[:-2]
    elif cut.endswith("/"):
        cut = cut[:-1]
    if text.endswith("/"):
        return f"{cut}/"
    return cut or ("/" if text.startswith("/") else "")


def route(path: Path) -> tuple[tuple[str, bool], ...]:
    """Return the literals and unnamed parameters of a path: equal for paths that can build the same URLs."""
    merged: list[tuple[str, bool]] = []
    for part in path.parts:
        if isinstance(part, PathParameter):
            merged.append((part.prefix, False))
            merged.append((":?" if part.optional else ":", True))
        else:
            merged.append((part.text, False))
    joined: list[tuple[str, bool]] = []
    for text, parameter in merged:
        if not parameter and joined and not joined[-1][1]:
            joined[-1] = (joined[-1][0] + text, False)
        elif text:
            joined.append((text, parameter))
    return tuple(joined)
