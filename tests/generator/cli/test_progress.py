"""Progress: on a terminal, and gone in the end."""

from __future__ import annotations

import io

from restencil_generator.cli.progress import steps


class Terminal(io.StringIO):
    """A text that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_terminal_shows_the_step_that_goes_on() -> None:
    """Each in place of the one before; the line is empty in the end."""
    terminal = Terminal()
    with steps(terminal) as step:
        step("reading a.json")
        step("making the spec of a")
        step("x" * 200)
    lines = [line.rstrip() for line in terminal.getvalue().split("\r")]
    assert lines == ["", "reading a.json", "making the spec of a", "x" * 78 + "…", "", ""]


def test_progress_no_terminal_shows_nothing() -> None:
    """A file and a log hold results and errors, and no progress."""
    stream = io.StringIO()
    with steps(stream) as step:
        step("reading a.json")
    assert stream.getvalue() == ""


def test_progress_terminal_that_is_gone_ends_nothing() -> None:
    """Whoever closes it does not hear of the rest."""
    terminal = Terminal()
    with steps(terminal) as step:
        step("reading a.json")
        terminal.close()
        step("making the spec of a")
