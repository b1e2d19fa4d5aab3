"""Progress messages on one line of a terminal, removed at the end.

Without a terminal there are none: nobody reads progress in a file or in a build log, and results and errors report
there what was done.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import IO, Final, TypeAlias

Step: TypeAlias = Callable[[str], None]
"""Called with the name of the step that begins, and again as it progresses."""

_WIDTH: Final = 79


@contextlib.contextmanager
def steps(stream: IO[str]) -> Generator[Step]:
    """Yield a function to call when a step begins; a terminal shows the current step."""
    if not stream.isatty():
        yield lambda text: None
        return

    def show(text: str, end: str = "") -> None:
        shown = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
        with contextlib.suppress(OSError, ValueError):  # the terminal may have been closed
            stream.write(f"\r{shown:{_WIDTH}}{end}")
            stream.flush()

    try:
        yield show
    finally:
        show("", "\r")
