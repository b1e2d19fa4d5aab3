"""Runs the `restencil` command and turns what happened into an exit code.

`run` is the entry, and `_code_of` the one place where an error becomes an exit code. The modules of the commands are
imported to register them; they import everything but click when they run, so that `--help` is printed at once.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

import click

from restencil_generator.cli import cache, diff, export, generate, import_spec, lint, mock
from restencil_generator.cli.console import Console, Exit, flush, open_streams, silence
from restencil_generator.cli.options import cli
from restencil_generator.exceptions import Failure

__all__ = ["cli", "run"]

_COMMANDS = (cache, diff, export, generate, import_spec, lint, mock)
"""The modules whose import registers the commands."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments (default: those of the process) and returns its exit code."""
    open_streams()
    console = Console()
    try:
        code = _invoke(arguments, console)
    except (KeyboardInterrupt, click.Abort) as error:
        code = _code_of(error, console)
    flush()
    return code


def _invoke(arguments: Sequence[str] | None, console: Console) -> int:
    given = None if arguments is None else list(arguments)
    try:
        result = cli.main(args=given, prog_name="restencil", standalone_mode=False, obj=console)
    except click.Abort:
        raise
    except Exception as error:
        return _code_of(error, console)
    return result if isinstance(result, int) else Exit.SUCCESS


def _code_of(error: BaseException, console: Console) -> Exit:
    """Prints an error and returns its exit code, in place of what click and Python would do."""
    match error:
        case KeyboardInterrupt() | click.Abort():
            console.error("interrupted")
            return Exit.INTERRUPTED
        case BrokenPipeError():  # the reader has enough, as with `| head`
            silence()
            return Exit.SUCCESS
        case click.ClickException():
            error.show(sys.stderr)
            return Exit.INVALID
        case Failure():
            console.failure(error)
            return Exit.INVALID
        case OSError():
            where = f"{error.filename}: " if error.filename is not None else ""
            console.error(f"{where}{error.strerror or error}")
            return Exit.INVALID
        case _:
            traceback.print_exception(error)
            console.error(
                f"internal error: {type(error).__name__}: {error}\n"
                "This is a bug in restencil, not in your spec. No file was left half written.\n"
                "Please report it with the lines above and, if possible, the spec."
            )
            return Exit.INTERNAL
