"""What goes on, for whoever waits at a terminal: shown from the second second on, on one line that goes in the end.

Nobody reads progress in a file or in the log of a build, so there is none where the stream is no terminal; errors and
results tell there what was done.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from typing import IO, Final, TypeAlias

Step: TypeAlias = Callable[[str], None]
"""Called with what is done next, and again when it has come further."""

AFTER: Final = 1.0
"""Seconds until progress is shown."""

_WIDTH: Final = 79


@contextlib.contextmanager
def steps(stream: IO[str], after: float = AFTER) -> Generator[Step]:
    """Gives what is called with each step that begins; a terminal shows the one that goes on after so many seconds."""
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
    """The line of a terminal."""

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
        with contextlib.suppress(OSError, ValueError):  # the terminal may be gone
            self._stream.write(text)
            self._stream.flush()
