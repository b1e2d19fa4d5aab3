r"""Path templates as a spec writes them (§2.1): taken apart, with the position of what is wrong.

`:name` is a parameter, `:name?` an optional one; a backslash takes the meaning from the character after it. The runtime
has the same grammar; a test compares the two.
"""

from __future__ import annotations

import re
from typing import Final

from restencil_generator.declaration import Path, PathParameter, PathText

_RESERVED: Final = frozenset("(){}*+")
_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_BRACED: Final = re.compile(r"\{(\w+)\}")
_NO_ESCAPES: Final = re.compile(r"[^\\:?(){}*+]*\Z")


class TemplateError(ValueError):
    """A path breaks the grammar; `position` counts from 0, `hint` says what to write instead."""

    def __init__(self, message: str, position: int, length: int = 1, hint: str = "") -> None:
        super().__init__(message)
        self.position = position
        self.length = length
        self.hint = hint


def parse_path(text: str) -> Path:
    """The parts of a template. Raises TemplateError."""
    parts: list[PathText | PathParameter] = []
    literal: list[str] = []
    prefix = ""  # the last character of `literal` where it may be a parameter's prefix
    position = 0

    def flush() -> None:
        if literal:
            parts.append(PathText("".join(literal)))
            literal.clear()

    if _NO_ESCAPES.match(text):
        return Path(text, (PathText(text),) if text else ())
    while position < len(text):
        character = text[position]
        if character == "\\":
            if position + 1 == len(text):
                raise TemplateError("a backslash at the end escapes nothing", position, hint=r"write \\ for one")
            literal.append(text[position + 1])
            prefix = ""
            position += 2
        elif character == ":":
            found = _NAME.match(text, position + 1)
            if found is None:
                raise TemplateError("':' is not followed by a parameter's name", position, hint=r"write \: for a colon")
            if prefix:
                literal.pop()
            flush()
            if not prefix and parts and isinstance(parts[-1], PathParameter):
                raise TemplateError(
                    f"nothing stands between the parameters {parts[-1].name!r} and {found[0]!r}",
                    position,
                    len(found[0]) + 1,
                    "put text between them",
                )
            optional = text.startswith("?", found.end())
            parts.append(PathParameter(found[0], optional, prefix))
            prefix = ""
            position = found.end() + optional
        elif character == "?":
            raise TemplateError(
                "'?' does not follow a parameter's name", position, hint=r"write \? for a question mark"
            )
        elif character in _RESERVED:
            hint = f"write \\{character} for it"
            if braced := _BRACED.match(text, position):
                hint = f"write ':{braced[1]}' for a parameter, \\{character} for the character"
            raise TemplateError(f"'{character}' is reserved in a path", position, hint=hint)
        else:
            literal.append(character)
            prefix = character if character in "/." else ""
            position += 1
    flush()
    return Path(text, tuple(parts))


def list_path(text: str) -> str:
    """The path of a resource's list: cut at the last parameter, without the `/` before it (§2.6)."""
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
    return cut or ("/" if text.startswith("/") else "")


def route(path: Path) -> tuple[tuple[str, bool], ...]:
    """What two paths have in common when they can build the same URLs: their text, with parameters unnamed."""
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
