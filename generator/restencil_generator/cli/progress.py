"""Progress messages on one line of a terminal, shown after a second and removed at the end.

Without a terminal there are none: nobody reads progress in a file or in a build log, and results and errors report
there what was done.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from typing import IO, Final, TypeAlias

Step: TypeAlias = Callable[[str], None]
"""Called with the name of the step that begins, and again as it progresses."""

AFTER: Final = 1.0
"""Delay in seconds before progress is shown."""

_WIDTH: Final = 79


@contextlib.contextmanager
def steps(stream: IO[str], after: float = AFTER) -> Generator[Step]:
    """Yield a function to call when a step begins; a terminal shows the current step after `after` seconds."""
    if not stream.isatty():
        yield lambda text: None
        return
    line = _Line(stream)
    timer = threading.Timer(after, line.begin)
    timer.daemon = True
    timer.start()
    try:
        yield line.step
    finally:
        timer.cancel()
        line.end()


class _Line:
    """The progress line of a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._text = ""
        self._begun = self._ended = False

    def step(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._begun:
                self._show(text)

    def begin(self) -> None:
        with self._lock:
            self._begun = not self._ended
            if self._begun:
                self._show(self._text)

    def end(self) -> None:
        with self._lock:
            self._ended = True
            if self._begun:
                self._show("")
                self._write("\r")

    def _show(self, text: str) -> None:
        shown = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
        self._write(f"\r{shown:{_WIDTH}}")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal may have been closed
            self._stream.write(text)
            self._stream.flush()
