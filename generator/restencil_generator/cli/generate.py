"""The commands that write and compare packages: `init`, `generate` and `check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from restencil_generator.cli.console import Console, Exit
from restencil_generator.cli.options import PATH, command, diff_option, format_option, specs_and_packages
from restencil_generator.exceptions import Failure

if TYPE_CHECKING:
    from restencil_generator.cli.progress import Step
    from restencil_generator.project.config import Project


@command(
    "Create a configuration and an example spec.",
    click.argument("directory", metavar="[DIR]", default=".", type=PATH),
)
def init(console: Console, directory: Path) -> Exit:
    """Create a configuration, an example spec, .gitattributes, and snippets for pre-commit and CI.

    Existing files are kept, and listed.

    \b
    Examples:
      restencil init
      restencil init services/api
    """
    from restencil_generator.project.scaffold import scaffold

    for step in scaffold(directory):
        colour = {"wrote": "green", "added": "green", "kept": "yellow"}[step.done]
        console.say(f"{console.style(step.done, colour)} {step.path}" + (f": {step.note}" if step.note else ""))
    console.note("next: run `restencil generate`" + ("" if directory == Path() else f" in {directory}"))
    return Exit.SUCCESS


@command(
    "Generate packages from specs.",
    specs_and_packages,
    format_option,
    diff_option,
    click.option(
        "--dry-run", is_flag=True, help="Write nothing; list what would change, and exit with code 1 if anything would."
    ),
    click.option("--force", is_flag=True, help="Overwrite generated files that were edited by hand."),
    click.option("--watch", is_flag=True, help="Keep running, and generate again whenever a spec or template changes."),
)
def generate(
    console: Console, project: Callable[[], Project], diff: bool, dry_run: bool, force: bool, watch: bool
) -> Exit:
    """Generate the package of each SPEC (a YAML file, or a folder of them) in OUT/<package>/.

    All files are rendered and verified in memory, and then each package is replaced as a whole. Files without changes
    are not touched. If a generated file was edited by hand, nothing is written (see --force). Files that restencil did
    not write are kept.

    \b
    Examples:
      restencil generate
      restencil generate specs/blog.yaml --out src
      restencil generate --diff
      restencil generate --watch
    """
    if watch and (dry_run or diff):
        raise click.UsageError("--watch writes packages; it cannot be combined with --dry-run or --diff")
    if dry_run or diff:
        return _preview(console, project(), diff=diff, force=force)
    if not watch:
        return _write(console, project(), force=force)
    from restencil_generator.cli.watch import watch_and_run

    def watched() -> Iterable[Path]:
        found = project()
        return [*found.specs, *filter(None, (found.templates, found.file))]

    def again() -> None:
        try:
            _write(console, project(), force=force)
        except Failure as failure:
            console.failure(failure)

    return watch_and_run(watched, again, console.note)


def _write(console: Console, project: Project, *, force: bool) -> Exit:
    from restencil_generator.project.packages import make, write

    with console.steps() as step:
        made = make(project, _rendering(step), remembered=not force)
        step("writing")
        published = write(made, force=force)
    for one, done in zip(made, published, strict=True):
        if console.prints_documents:
            continue
        if not (done.written or done.removed):
            console.up_to_date(one)
            continue
        written = console.style(f"{len(done.written)} written", "green")
        removed = f", {len(done.removed)} removed" if done.removed else ""
        console.say(f"{one.directory}: {written}{removed}, {done.unchanged} unchanged")
    if console.prints_documents:
        console.problems([], {})
    return Exit.SUCCESS


def _rendering(step: Step) -> Callable[[str, int, int], None]:
    """Return a function that reports how many modules of a package are rendered."""
    step("loading")

    def progress(package: str, done: int, total: int) -> None:
        step(f"rendering {package} {done}/{total}" if done < total else f"laying out {package}")

    return progress


def _preview(console: Console, project: Project, *, diff: bool, force: bool) -> Exit:
    from restencil_generator.project.packages import make, refuse

    with console.steps() as step:
        made = make(project, _rendering(step))
        found = {one.directory: one.differences() for one in made}
    if not diff or console.prints_documents:
        console.differences(found, project.arguments)
    for one in made:
        if diff:
            console.diffs(found[one.directory], one.directory)
        if console.form == "text" and not found[one.directory]:
            console.up_to_date(one)
    refuse(found, force=force)
    return Exit.FINDINGS if any(found.values()) else Exit.SUCCESS


@command("Verify that generated packages are up to date.", specs_and_packages, format_option, diff_option)
def check(console: Console, project: Callable[[], Project], diff: bool) -> Exit:
    """Verify that the packages on disk are exactly what `restencil generate` would write. Nothing is written.

    Each file that differs is listed with the cause: spec changed, edited by hand, formatting only, missing, orphan,
    foreign file, merge conflict or generator changed. Without SPEC, packages whose spec was removed are listed too.

    \b
    Examples:
      restencil check
      restencil check specs/blog.yaml --out src --diff
      restencil check --format sarif > drift.sarif
    """
    from restencil_generator.output.drift import remedy
    from restencil_generator.project.packages import make, orphans

    selected = project()
    with console.steps() as step:
        made = make(selected, _rendering(step))
        left = orphans(selected, made)
        found = {one.directory: one.differences() for one in made} | left
    console.differences(found, selected.arguments)
    if console.form == "text":
        for directory, differences in left.items():
            console.say(f"{directory}: {remedy(differences)}")
    for one in made:
        differences = found[one.directory]
        if console.form == "text" and differences:
            console.say(
                f"{one.directory}: {len(differences)} of {one.count} files differ from {one.source}; "
                f"{remedy(differences, selected.arguments)}"
            )
        elif console.form == "text":
            console.up_to_date(one)
        if diff:
            console.diffs(differences, one.directory)
    return Exit.FINDINGS if any(found.values()) else Exit.SUCCESS
