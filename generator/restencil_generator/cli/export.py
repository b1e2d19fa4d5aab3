"""The commands that convert a spec to another format: `export openapi` and `export markdown`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from restencil_generator.cli.console import Console, Exit, files
from restencil_generator.cli.options import (
    PATH,
    cli,
    command,
    config_option,
    project_options,
    specs_argument,
    templates_option,
)

if TYPE_CHECKING:
    from restencil_generator.openapi.export.types import Version
    from restencil_generator.project.config import Project


def _stdout_for_dash(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    """Return no path for `-`."""
    return None if value == Path("-") else value


@cli.group(short_help="Convert a spec to OpenAPI or to Markdown.")
def export() -> None:
    """Convert a spec to a document of another kind.

    \b
    Examples:
      restencil export openapi specs/blog.yaml -o openapi.json
      restencil export markdown specs/blog.yaml -o docs/blog.md
    """


@command(
    "Convert a spec to an OpenAPI document.",
    project_options(specs_argument, config_option),
    click.option(
        "-o",
        "--out",
        "output",
        type=PATH,
        callback=_stdout_for_dash,
        metavar="FILE",
        help="Write the document to FILE. Default: -, stdout.",
    ),
    click.option(
        "--format", "form", type=click.Choice(["json", "yaml"]), help="Default: by the ending of FILE, else json."
    ),
    click.option(
        "--openapi",
        "version",
        type=click.Choice(["3.1", "3.0"]),
        default="3.1",
        show_default=True,
        help="The version of OpenAPI.",
    ),
    click.option(
        "--plain", is_flag=True, help="Leave out `x-restencil`, from which `restencil import` restores the spec."
    ),
    name="openapi",
    group=export,
)
def export_openapi(
    console: Console,
    project: Callable[[], Project],
    output: Path | None,
    form: str | None,
    version: Version,
    plain: bool,
) -> Exit:
    """Convert a spec to an OpenAPI document, on stdout or in a file.

    What OpenAPI cannot express is under `x-restencil`: importing the document restores the same spec.

    \b
    Examples:
      restencil export openapi specs/blog.yaml -o openapi.json
      restencil export openapi specs/blog.yaml --openapi 3.0 --format yaml --plain
    """
    from restencil_generator.api import load_all
    from restencil_generator.openapi.export.document import export as document_of
    from restencil_generator.openapi.export.document import text_of
    from restencil_generator.openapi.merge.state import write_file
    from restencil_generator.spec.load import written_values

    path = _one(project().specs)
    (spec,) = load_all([path])
    document = document_of(spec, version, plain=plain, written=None if plain else written_values(path))
    if form is None:
        form = "yaml" if output is not None and output.suffix in (".yaml", ".yml") else "json"
    text = text_of(document, form)
    if output is None:
        console.say(text, end="")
    else:
        write_file(output, text)
        console.note(f"{output}: OpenAPI {document['openapi']} of {spec.package}")
    return Exit.SUCCESS


@command(
    "Convert a spec to a reference in Markdown.",
    project_options(specs_argument, config_option, templates_option),
    click.option(
        "-o",
        "--out",
        "target",
        type=PATH,
        callback=_stdout_for_dash,
        metavar="FILE|DIR",
        help="Write the page to FILE, or the pages to DIR. Default: -, stdout.",
    ),
    click.option("--split", is_flag=True, help="Write several pages: one for each resource, for types and for errors."),
    name="markdown",
    group=export,
)
def export_markdown(console: Console, project: Callable[[], Project], target: Path | None, split: bool) -> Exit:
    """Convert a spec to a reference of its package in Markdown: calls with arguments and types, errors and examples.

    The pages work in MkDocs, in Sphinx with MyST, and on code hosts. Templates named reference….md.jinja in the folder
    of --templates replace the built-in ones.

    \b
    Examples:
      restencil export markdown specs/blog.yaml -o docs/blog.md
      restencil export markdown specs/blog.yaml --split -o docs/blog
    """
    from restencil_generator.api import load_all
    from restencil_generator.markdown.render import PAGE, markdown_files
    from restencil_generator.openapi.merge.state import write_file

    selected = project()
    path = _one(selected.specs)
    if split and target is None:
        raise click.UsageError("--split writes several files: add --out DIR")
    if split and target is not None and target.is_file():
        raise click.UsageError(f"--split writes several files, and {target} is a file: name a folder")
    (spec,) = load_all([path])
    pages = markdown_files(spec, templates=selected.templates, split=split)
    if target is None:
        console.say(pages[PAGE], end="")
        return Exit.SUCCESS
    if not split:
        write_file(target / PAGE if target.is_dir() else target, pages[PAGE])
    for name, text in pages.items() if split else ():
        write_file(target / name, text)
    console.note(f"{target}: reference of {spec.package} ({files(len(pages))})")
    return Exit.SUCCESS


def _one(specs: Sequence[Path]) -> Path:
    """Return the spec to export. Raises `UsageError` if there are several."""
    if len(specs) != 1:
        raise click.UsageError(f"only one spec can be exported at a time, and there are {len(specs)}: name one")
    return specs[0]
