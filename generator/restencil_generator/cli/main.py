"""Entry point of the command line: runs a command and converts errors to exit codes.

`run` is the entry point, and only `_code_of` converts errors to exit codes. The modules of the commands are imported to
register them; they import everything except click when they run, so that `--help` is fast.
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
"""The modules that register the commands when they are imported."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: `sys.argv`) and return its exit code."""
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
    """Print an error and return its exit code; replaces the error handling of click and Python."""
    match error:
        case KeyboardInterrupt() | click.Abort():
            console.error("interrupted")
            return Exit.INTERRUPTED
        case BrokenPipeError():  # the reader closed the pipe, as `| head` does
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
                "This is a bug in restencil, not in your spec. No file was written in part.\n"
                "Please report it with the lines above and, if possible, the spec."
            )
            return Exit.INTERNAL
