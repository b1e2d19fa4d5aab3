"""The commands that convert a spec to another format: `export openapi`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from restencil_generator.cli.console import Console, Exit
from restencil_generator.cli.options import PATH, cli, command, specs_alone

if TYPE_CHECKING:
    from restencil_generator.openapi.export.types import Version
    from restencil_generator.project.config import Project


def _stdout_for_dash(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    """Return no path for `-`."""
    return None if value == Path("-") else value


@cli.group(short_help="Convert a spec to OpenAPI.")
def export() -> None:
    """Convert a spec to a document of another kind.

    \b
    Examples:
      restencil export openapi specs/blog.yaml -o openapi.json
    """


@command(
    "Convert a spec to an OpenAPI document.",
    specs_alone,
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


def _one(specs: Sequence[Path]) -> Path:
    """Return the spec to export. Raises `UsageError` if there are several."""
    if len(specs) != 1:
        raise click.UsageError(f"only one spec can be exported at a time, and there are {len(specs)}: name one")
    return specs[0]
