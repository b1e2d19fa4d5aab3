"""Formatting of code with black, in this process or in workers, with a fixed mode and without configuration files.

Modules from built-in templates are already formatted (tests check this), except statements with a line that is too
long; modules from a user's templates are formatted as a whole.
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
"""Minimum number of characters for which workers are started."""

_MODE: Final = Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})


def format_text(text: str) -> str:
    """Format a module. Raises `Failure` if it is not valid Python."""
    try:
        return format_str(text, mode=_MODE)
    except InvalidInput as error:
        raise Failure(f"a template generates text that is not valid Python: {error}") from error


def format_all(texts: Mapping[str, str]) -> dict[str, str]:
    """Format several modules by name."""
    return dict(zip(texts, _formatted(list(texts.values())), strict=True))


def format_statements(texts: Mapping[str, str]) -> dict[str, str]:
    """Format only the statements of each module that have a line which is too long.

    If everything else is already formatted, the result is the same as formatting the whole module, in a tenth of the
    time for a package of 1,200 operations.
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
    """Yield the start and end of each statement with a line that is too long: line numbers from 0, the end excluded."""
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
