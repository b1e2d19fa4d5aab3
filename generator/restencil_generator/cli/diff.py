"""The command `diff`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from restencil_generator.cli.console import Console, Exit, colours
from restencil_generator.cli.options import command, config_option, format_option

if TYPE_CHECKING:
    from restencil_generator.diff.rules import Class, Column


def _columns(context: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of `--only` without duplicates; they may be separated by commas, or the option repeated."""
    names = tuple(dict.fromkeys(name for text in value for name in text.split(",")))
    wrong = next((name for name in names if name not in ("callers", "wire", "cache")), None)
    if wrong is not None:
        raise click.BadParameter(f"{wrong!r} is not one of callers, wire and cache", context, parameter)
    return names


@command(
    "Classify changes between two specs.",
    click.argument("old", metavar="OLD"),
    click.argument("new", metavar="[NEW]", required=False),
    config_option,
    format_option,
    click.option(
        "--fail-on",
        type=click.Choice(["breaking", "risky", "additive", "documentation"]),
        help="Exit with code 1 for changes of this class or worse. Default: `fail_on` of pyproject.toml or breaking.",
    ),
    click.option(
        "--only",
        multiple=True,
        callback=_columns,
        metavar="COLUMNS",
        help="Report changes only for these of callers,wire,cache.",
    ),
    click.option("--verbose", is_flag=True, help="Also list the changes that the configuration ignores."),
)
def diff(
    console: Console,
    old: str,
    new: str | None,
    config: Path | None,
    fail_on: Class | None,
    only: tuple[Column, ...],
    verbose: bool,
) -> Exit:
    """Classify the changes from OLD to NEW for callers, in requests and responses (wire), and in caches.

    OLD and NEW are spec files, folders, or REV:PATH of git. Without NEW, OLD is compared with PATH in the working tree.

    \b
      B  breaking       callers: type errors or exceptions; wire: misunderstood; cache: misread
      R  risky          different behavior; cache: not found, so fetched again
      A  additive       something new
      D  documentation

    \b
    Examples:
      restencil diff HEAD:specs/blog.yaml
      restencil diff v1.2:specs/shop specs/shop --fail-on risky
      restencil diff old.yaml new.yaml --only wire,cache --format json
    """
    from restencil_generator.diff import compare
    from restencil_generator.diff.revisions import is_revision, load_sides, working_path
    from restencil_generator.diff.settings import load_settings
    from restencil_generator.diff.show import judge, render

    if new is None and not is_revision(old):
        raise click.UsageError(f"{old} is not REV:PATH, so NEW is required: restencil diff OLD NEW")
    settings = load_settings(config)
    with console.steps() as step:
        step("loading both specs")
        before, after = load_sides(old, working_path(old) if new is None else new)
        step("comparing")
        outcome = judge(compare(before, after), settings, only or ("callers", "wire", "cache"))
    console.say(render(outcome, console.form, color=colours(sys.stdout), verbose=verbose), end="")
    return Exit.FINDINGS if outcome.fails(fail_on or settings.fail_on) else Exit.SUCCESS
