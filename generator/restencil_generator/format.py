"""Text as black lays it out: in this process or in workers, in one fixed mode, with no configuration read from
anywhere.

What the built-in templates give is laid out so already (tests prove it), except where a line does not fit: only such
files, and those of a user's templates, come here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from black import format_str
from black.mode import Mode, TargetVersion
from black.parsing import InvalidInput

from restencil_generator.failure import Failure
from restencil_generator.layout import WIDTH

_MUCH: Final = 100_000
"""From so many characters on, workers are worth their start."""

_MODE: Final = Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})


def format_text(text: str) -> str:
    """The text as black lays it out. Raises `Failure` where it is no Python."""
    try:
        return format_str(text, mode=_MODE)
    except InvalidInput as error:
        raise Failure(f"a template gives text that is no Python: {error}") from error


def format_all(texts: Mapping[str, str]) -> dict[str, str]:
    """Each text as black lays it out, by the same names."""
    import os

    workers = min(os.cpu_count() or 1, len(texts))
    if workers < 2 or sum(map(len, texts.values())) < _MUCH:
        return {name: format_text(text) for name, text in texts.items()}
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return dict(zip(texts, pool.map(format_text, texts.values(), chunksize=8), strict=True))
