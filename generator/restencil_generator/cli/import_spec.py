"""The command `import`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from restencil_generator.cli.console import Console, Exit
from restencil_generator.cli.options import PATH, command, config_option, format_of, need

if TYPE_CHECKING:
    from restencil_generator.openapi.import_job import Imported
    from restencil_generator.openapi.merge.upstream_changes import Class as Upstream
    from restencil_generator.openapi.options import Job


@command(
    "Create or update a spec from an OpenAPI document.",
    click.argument("source", metavar="[SOURCE|NAME]", required=False),
    config_option,
    click.option(
        "--out",
        metavar="FILE|DIR|-",
        help="Write the spec here; - is stdout. Default: <package>.yaml.",
    ),
    click.option("--package", metavar="NAME", help="The name of the package. Default: the title of the document."),
    click.option(
        "--include",
        multiple=True,
        metavar="'GET,POST /repos/**'",
        help="Import only these operations, by method (optional) and path: * is one segment, ** any number.",
    ),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out these operations."),
    click.option("--tag", "tags", multiple=True, metavar="NAME", help="Import only operations with one of these tags."),
    click.option(
        "--overlay",
        "overlays",
        multiple=True,
        type=PATH,
        metavar="FILE",
        help="Apply an OpenAPI overlay first; several are applied in order.",
    ),
    click.option("--split", is_flag=True, default=None, help="Write a folder with a file for each resource."),
    click.option(
        "--root",
        type=PATH,
        metavar="DIR",
        help="The folder that files of `$ref` must be in. Default: the folder of SOURCE.",
    ),
    click.option(
        "--assume-required/--assume-optional",
        "required",
        default=None,
        help="Whether properties are required where the document does not say so.",
    ),
    click.option(
        "--ours",
        multiple=True,
        metavar="NODE",
        help="Resolve a conflict: keep the value of the spec. * is all conflicts.",
    ),
    click.option(
        "--theirs",
        multiple=True,
        metavar="NODE",
        help="Resolve a conflict: take the value of the document. * is all conflicts.",
    ),
    click.option("--again", is_flag=True, help="Import even if the document did not change."),
    click.option("--verbose", is_flag=True, help="List every finding, also several of one kind."),
    click.option("--diff", is_flag=True, help="Print the differences as a unified diff, and write nothing."),
    click.option(
        "--check", is_flag=True, help="Report what changed in the document since the last import; write nothing."
    ),
    click.option(
        "--fail-on",
        type=click.Choice(["breaking", "behaviour", "additive", "documentation"]),
        metavar="CLASS",
        help="With --check: exit with code 1 for changes of this class or worse: breaking, behaviour, additive or "
        "documentation. Default: documentation, so any change.",
    ),
    format_of("text", "json"),
    name="import",
)
def import_(
    console: Console,
    source: str | None,
    config: Path | None,
    out: str | None,
    diff: bool,
    check: bool,
    fail_on: Upstream | None,
    verbose: bool,
    **given: Any,
) -> Exit:
    """Create a spec from an OpenAPI document (2.0 to 3.2, JSON or YAML): a file, a URL, or - for stdin.

    Run it again when the document changes: upstream changes are merged, and your edits are kept. NAME is the name of a
    table [tool.restencil.import.NAME] in pyproject.toml; without SOURCE or NAME all of these are imported.

    \b
    Examples:
      restencil import openapi.json
      restencil import https://shop.example/openapi.json --package shop --out specs/shop.yaml
      restencil import api.yaml --include 'GET /orders/**' --tag orders --out -
      restencil import --check --fail-on breaking
    """
    need("`restencil import`", "import", "ruamel", "jsonpath_rfc9535")
    from restencil_generator.openapi import import_job

    if out is not None and out != "-" and (path := Path(out)).exists() and not (path.is_file() or path.is_dir()):
        raise click.UsageError(f"{out} is not a regular file: name another --out, or pass --out - for stdout")
    if out is not None and out.endswith("/") and not Path(out).exists():
        given["split"] = True  # the name of a folder
    jobs = import_job.jobs(source, config, out, given)
    if out == "-" and console.prints_documents:
        raise click.UsageError("--out - and --format json both print to stdout: use one of them")
    if len(jobs) > 1 and (out is not None or given["package"]):
        raise click.UsageError(f"--out and --package are for one import, and {len(jobs)} are configured: add a name")
    if fail_on is not None and not check:
        raise click.UsageError("--fail-on requires --check")
    if check and (diff or out == "-" or given["ours"] or given["theirs"]):
        raise click.UsageError("--check writes nothing: it cannot be combined with --diff, --ours, --theirs or --out -")
    if check:
        found = [_check_import(console, job, fail_on or "documentation") for job in jobs]
    else:
        found = [_import(console, job, stdout=out == "-", diff=diff, verbose=verbose) for job in jobs]
    if console.prints_documents:
        _print_imports(console, found, several=len(jobs) > 1)
    return Exit.FINDINGS if any("refused" in one or one.get("fails") for one in found) else Exit.SUCCESS


def _import(console: Console, job: Job, *, stdout: bool, diff: bool, verbose: bool) -> dict[str, Any]:
    """Run one import, and return its result for `--format json`."""
    from restencil_generator.openapi import import_job

    with console.steps() as step:
        same = None if stdout or diff else import_job.unchanged(job)
        imported = import_job.prepare(job, step) if same is None else None
    if imported is None:
        assert same is not None
        if not console.prints_documents:
            console.note(f"{same}: nothing changed in {job.source}")
        return {"file": same.as_posix(), "source": job.source, "unchanged": True}
    if not stdout:
        return _settle(console, job, imported, diff=diff, verbose=verbose)
    console.say(imported.text, end="")
    if not console.prints_documents:
        console.note(imported.summary().rstrip("\n"))
        console.remarks(imported.shown(verbose=verbose), every=verbose)
    return imported.data()


def _check_import(console: Console, job: Job, fail_on: Upstream) -> dict[str, Any]:
    """Report what changed in a document since the last import, and return it for `--format json`."""
    from restencil_generator.openapi import import_job
    from restencil_generator.openapi.merge import upstream_changes

    with console.steps() as step:
        same = import_job.unchanged(job)
        imported = import_job.prepare(job, step) if same is None else None
    if imported is None:
        assert same is not None
        if not console.prints_documents:
            console.say(f"{same}: nothing changed in {job.source}")
        return {**upstream_changes.data_of(upstream_changes.NOTHING, same.as_posix(), job.source), "fails": False}
    found = upstream_changes.changes(imported.theirs, imported.out)
    if not console.prints_documents:
        console.say(upstream_changes.text_of(found), end="")
    return {**upstream_changes.data_of(found, imported.out.as_posix(), job.source), "fails": found.fails(fail_on)}


def _settle(console: Console, job: Job, imported: Imported, *, diff: bool, verbose: bool) -> dict[str, Any]:
    """Write or show an imported spec, and return the result for `--format json`."""
    from restencil_generator.diagnostics.format import as_json
    from restencil_generator.openapi import import_job

    settlement = import_job.settle(imported, job)
    if settlement.refused:
        if not console.prints_documents:
            console.refused(settlement.refused, settlement.sources)
        return {**imported.data(), "refused": [as_json(problem) for problem in settlement.refused]}
    if diff:
        console.unified(import_job.diff(settlement))
    else:
        import_job.publish(imported, settlement)
    if not console.prints_documents:
        console.note(imported.summary().rstrip("\n"))
        console.remarks([*settlement.notices, *imported.shown(verbose=verbose)], every=verbose)
    return {**imported.data(), "notices": [as_json(problem) for problem in settlement.notices]}


def _print_imports(console: Console, found: Sequence[Mapping[str, Any]], *, several: bool) -> None:
    import json

    console.say(json.dumps(list(found) if several else found[0], indent=2))
