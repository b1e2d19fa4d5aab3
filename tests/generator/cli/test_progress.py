"""Progress: on a terminal, for what takes longer than a second, and gone in the end."""

from __future__ import annotations

import io
import threading

from tests.patience import PATIENCE

from restencil_generator.cli.progress import steps


class Terminal(io.StringIO):
    """A terminal that says when something was written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        count = super().write(text)
        self.written.set()
        return count


def test_progress_terminal_shows_the_step_that_goes_on() -> None:
    """From some time on, each in place of the one before; the line is empty in the end."""
    terminal = Terminal()
    with steps(terminal, after=0) as step:
        step("reading a.json")
        assert terminal.written.wait(PATIENCE)
        step("making the spec of a")
        step("x" * 200)
    lines = [line.rstrip() for line in terminal.getvalue().split("\r")]
    assert lines[-4:] == ["making the spec of a", "x" * 78 + "…", "", ""]


def test_progress_what_ends_soon_shows_nothing() -> None:
    """Nothing is written before the time has come."""
    terminal = Terminal()
    with steps(terminal, after=3600) as step:
        step("reading a.json")
    assert terminal.getvalue() == ""


def test_progress_no_terminal_shows_nothing() -> None:
    """A file and a log hold results and errors, and no progress."""
    stream = io.StringIO()
    with steps(stream, after=0) as step:
        step("reading a.json")
    assert stream.getvalue() == ""


def test_progress_terminal_that_is_gone_ends_nothing() -> None:
    """Whoever closes it does not hear of the rest."""
    terminal = Terminal()
    with steps(terminal, after=0) as step:
        step("reading a.json")
        assert terminal.written.wait(PATIENCE)
        terminal.close()
        step("making the spec of a")
