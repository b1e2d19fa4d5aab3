"""What goes on, for whoever waits: shown from the second second on, and never where results are printed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from typing import IO, Final

AFTER: Final = 1.0
"""How many seconds something may take without a word."""

_WIDTH: Final = 79


@contextlib.contextmanager
def steps(stream: IO[str], after: float = AFTER) -> Generator[Callable[[str], None]]:
    """Gives what is called with the step that begins.

    A terminal shows them in one line, which is empty in the end; elsewhere each has a line, so that a log tells where
    time went.
    """
    shown = _Steps(stream)
    timer = threading.Timer(after, shown.begin)
    timer.daemon = True
    timer.start()
    try:
        yield shown.step
    finally:
        timer.cancel()
        shown.end()


class _Steps:
    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._lock = threading.Lock()
        self._current = ""
        self._begun = self._ended = False

    def step(self, text: str) -> None:
        """Says what begins."""
        with self._lock:
            self._current = text
            if self._begun:
                self._show()

    def begin(self) -> None:
        """Shows the step that goes on, and from now on each."""
        with self._lock:
            self._begun = not self._ended
            if self._begun and self._current:
                self._show()

    def end(self) -> None:
        """Takes the line of a terminal away."""
        with self._lock:
            self._ended = True
            if self._begun and self._terminal:
                self._write("\r" + " " * _WIDTH + "\r")

    def _show(self) -> None:
        self._write(f"\r{self._current[:_WIDTH]:{_WIDTH}}" if self._terminal else f"{self._current}\n")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody may be listening any more
            self._stream.write(text)
            self._stream.flush()
