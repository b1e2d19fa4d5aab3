"""Formats code with black, in this process or in workers, in one fixed mode and without reading any configuration.

Modules of the built-in templates are laid out already (tests prove it). Only their statements with a line that is still
too long are formatted here; modules of a user's templates are formatted as a whole.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from black import format_str
from black.mode import Mode, TargetVersion
from black.parsing import InvalidInput

from restencil_generator.codegen.layout import WIDTH, fits
from restencil_generator.exceptions import Failure

_MUCH: Final = 100_000
"""The number of characters from which workers are worth starting."""

_MODE: Final = Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})


def format_text(text: str) -> str:
    """Formats a module. Raises `Failure` for text that is no Python."""
    try:
        return format_str(text, mode=_MODE)
    except InvalidInput as error:
        raise Failure(f"a template gives text that is no Python: {error}") from error


def format_all(texts: Mapping[str, str]) -> dict[str, str]:
    """Formats each text; the result has the same names."""
    return dict(zip(texts, _formatted(list(texts.values())), strict=True))


def format_statements(texts: Mapping[str, str]) -> dict[str, str]:
    """Formats the statements of each text that have a line which is too long; the result has the same names.

    If everything else is laid out already, the result is that of formatting the whole, in a tenth of the time ("the
    package of 1,200 operations").
    """
    spans = {name: list(_spans(text)) for name, text in texts.items()}
    lines = {name: text.split("\n") for name, text in texts.items()}
    parts = ["\n".join(lines[name][start:end]) + "\n" for name, each in spans.items() for start, end in each]
    laid_out = iter(_formatted(parts))
    found: dict[str, str] = {}
    for name, each in spans.items():
        given, made, at = lines[name], list[str](), 0
        for start, end in each:
            made += given[at:start]
            made += next(laid_out).rstrip("\n").split("\n")
            at = end
        found[name] = "\n".join([*made, *given[at:]])
    return found


def _spans(text: str) -> Iterable[tuple[int, int]]:
    """Where each statement with a line that is too long starts and ends: line numbers from 0, the end excluded."""
    long = [number for number, line in enumerate(text.split("\n")) if not fits(line)]
    for statement in ast.parse(text).body:
        decorators = getattr(statement, "decorator_list", [])
        start, end = min([statement.lineno, *(each.lineno for each in decorators)]) - 1, statement.end_lineno or 0
        if bisect.bisect_left(long, start) < bisect.bisect_left(long, end):
            yield start, end


def _formatted(texts: Sequence[str]) -> list[str]:
    import os

    workers = min(os.cpu_count() or 1, len(texts))
    if workers < 2 or sum(map(len, texts)) < _MUCH:
        return [format_text(text) for text in texts]
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(pool.map(format_text, texts, chunksize=8))
