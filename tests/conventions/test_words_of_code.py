"""The code uses standard terms: identifiers, docstrings, comments and messages have no word of a private dialect."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.conventions.imports import PACKAGES, ROOT, files_of

BANNED: Final = {
    "aside": "before image, separate",
    "asked": "requested",
    "below": "underlying, base, connection",
    "beside": "next to, sibling",
    "brought": "received, written",
    "facts": "info, traits",
    "forsake": "abandon",
    "forsaken": "abandoned",
    "ground": "context",
    "handed": "captured, passed",
    "heard": "notified, received",
    "hole": "dangling reference, placeholder",
    "homes": "modules, owners",
    "house": "project",
    "lack": "miss",
    "lacking": "missing",
    "lasting": "persistent",
    "lasts": "is persistent",
    "meets": "matches, intersects",
    "parted": "partitioned, split",
    "room": "space, module",
    "rooms": "modules",
    "said": "declared, given",
    "says": "declares",
    "settling": "draining",
    "spot": "context, position",
    "sweeping": "bulk invalidation",
    "tells": "reports, identifies",
    "tending": "maintenance",
    "told": "given, declared, notified",
    "twin": "copy",
    "twins": "copies",
    "vouch": "confirm",
    "vouching": "revalidation",
    "way": "mode, path",
    "ways": "modes, alternatives",
    "whence": "origin",
    "whose": "owner",
    "wing": "layer",
    "wings": "layers",
}
"""Words that no identifier contains, each with terms to use instead. The table may only grow."""

PHRASES: Final = {
    "a text": "a string",
    "answers what": "returns",
    "are told": "get, know",
    "as it came": "unchanged",
    "asked anew": "requested again",
    "by what": "by the",
    "in the place of": "instead of",
    "is said of": "is declared for",
    "is told": "gets, knows",
    "of which": "whose, that",
    "stand for": "represent",
    "stand in": "are in",
    "stand on": "use",
    "stand where": "are where",
    "stands for": "represents",
    "stands in": "is in",
    "stands on": "uses",
    "stands where": "is where",
    "the house": "the project",
    "what is said": "what is declared",
    "what there is": "the data",
    "where that": "if that",
    "whole number": "integer",
    "whose it is": "the owner",
    "without a word": "silently",
}
"""Phrases that no docstring, comment or message contains, each with what to write instead. The table may only grow."""

NOT_YET: Final[dict[str, int]] = {"generator/restencil_generator/openapi": 1}
"""Folders that still contain so many banned words, below the source roots. The numbers may only shrink."""

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PROSE: Final = re.compile(
    r"\b(?:" + "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in sorted(PHRASES)) + r")\b", re.IGNORECASE
)


def _identifiers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id


def _prose(file: Path) -> Iterator[tuple[int, str]]:
    """The strings and comments of a file in which a phrase is; strings in which there is a space."""
    text = file.read_text("utf-8")
    flat = " ".join(text.lower().split())
    if not any(phrase in flat for phrase in PHRASES):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and " " in token.string):
            yield token.start[0], token.string


def found_in(file: Path) -> Iterator[str]:
    """The banned words of a file, each with its line and what to write instead."""
    # A tree that is let go of at once is nothing that the collector of garbage looks through.
    names = [(1, file.stem), *_identifiers(ast.parse(file.read_text("utf-8")))]
    words = {(line, name, word.lower()) for line, name in names for word in _PARTS.findall(name)}
    for at, identifier, word in sorted(words):
        if word in BANNED:
            yield f"{file.relative_to(ROOT)}:{at}: {identifier}: instead of {word!r}: {BANNED[word]}"
    for line, text in _prose(file):
        for match in _PROSE.finditer(text):
            at, phrase = line + text.count("\n", 0, match.start()), " ".join(match[0].lower().split())
            yield f"{file.relative_to(ROOT)}:{at}: instead of {phrase!r}: {PHRASES[phrase]}"


def folders() -> Iterator[tuple[str, list[Path]]]:
    """The folders of both packages, each with its files and those of its subfolders."""
    for package in PACKAGES:
        files: dict[str, list[Path]] = {}
        for file in files_of(ROOT / package).values():
            inner = file.relative_to(ROOT / package).parts
            files.setdefault(f"{package}/{inner[0]}" if len(inner) > 1 else package, []).append(file)
        yield from files.items()


@pytest.mark.parametrize(("folder", "files"), [*folders()], ids=[folder for folder, _ in folders()])
def test_code_has_no_banned_word(folder: str, files: list[Path]) -> None:
    """Identifiers, docstrings, comments and messages use standard terms; the failure says which, and where."""
    found = [one for file in files for one in found_in(file)]
    most = NOT_YET.get(folder, 0)
    assert len(found) <= most, f"{len(found)} banned words, at most {most} are left:\n" + "\n".join(found)
