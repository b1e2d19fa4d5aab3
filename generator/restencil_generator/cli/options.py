"""The group of all commands, the decorator that defines a command, and the options that several commands share."""

from __future__ import annotations

import dataclasses
import functools
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from restencil_generator.cli.console import Console, Exit
from restencil_generator.exceptions import Failure

if TYPE_CHECKING:
    from restencil_generator.diagnostics.format import Format
    from restencil_generator.project.config import Project

_EPILOG: Final = """\b
Exit codes:
  0    success
  1    differences or findings
  2    invalid usage, configuration or spec
  3    internal error
  130  interrupted

\b
Shell completion (for zsh and fish, replace bash):
  eval "$(_RESTENCIL_COMPLETE=bash_source restencil)"
"""

_Function: TypeAlias = Callable[..., Any]
_Option: TypeAlias = Callable[[_Function], _Function]
PATH: Final = click.Path(path_type=Path)


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"restencil {version('restencil')}")
        except PackageNotFoundError:
            click.echo("restencil (not installed, run from source)")
        context.exit(Exit.SUCCESS)


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
def cli() -> None:
    """Generate typed Python packages with a normalized cache from YAML declarations of REST resources.

    \b
    Examples:
      restencil init                                 create a configuration and an example spec
      restencil generate                             generate the packages of all configured specs
      restencil generate specs/blog.yaml --out src   generate one package, in src/blog/
      restencil check                                verify in CI that committed packages are up to date
    """


def command(
    summary: str, *options: _Option, name: str | None = None, group: click.Group | None = None
) -> Callable[[_Function], click.Command]:
    """Make a function a command of the same name. It is called with the console and the values of its options."""

    def decorate(function: _Function) -> click.Command:
        return (group or cli).command(name, short_help=summary)(
            _all(options)(click.make_pass_decorator(Console, ensure=True)(function))
        )

    return decorate


def _all(options: Sequence[_Option]) -> _Option:
    return lambda function: functools.reduce(lambda made, option: option(made), reversed(options), function)


_specs = click.argument("specs", metavar="[SPEC]...", nargs=-1, type=PATH)
config_option = click.option(
    "--config",
    type=PATH,
    metavar="FILE",
    help="The pyproject.toml with [tool.restencil]. Default: the nearest one upwards.",
)
_out = click.option(
    "--out",
    type=PATH,
    metavar="DIR",
    help="Each package is in DIR/<package>/. Default: `out` of the configuration, else the working directory.",
)
_templates = click.option(
    "--templates", type=PATH, metavar="DIR", help="Templates in DIR replace the built-in ones of the same name."
)
diff_option = click.option("--diff", is_flag=True, help="Print the differences as a unified diff.")


def _project_options(*options: _Option) -> _Option:
    """Add the argument SPEC and options that select specs. The command gets `project`, which resolves them."""

    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def command(
            *arguments: Any,
            specs: Sequence[Path],
            config: Path | None,
            out: Path | None = None,
            templates: Path | None = None,
            **others: Any,
        ) -> Any:
            def project() -> Project:
                from restencil_generator.project.config import find_project

                found = find_project(specs, config=config, out=out, templates=templates)
                options = {"--out": out, "--config": config, "--templates": templates}
                words = [[option, str(value)] for option, value in options.items() if value is not None]
                return dataclasses.replace(found, arguments=shlex.join(sum(words, [str(spec) for spec in specs])))

            return function(*arguments, project=project, **others)

        return _all(options)(command)

    return decorate


specs_alone = _project_options(_specs, config_option)
specs_and_packages = _project_options(_specs, _out, config_option, _templates)


def _set_format(context: click.Context, _: click.Parameter, value: Format) -> None:
    context.ensure_object(Console).form = value


def _default_format() -> str:
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"


format_option = click.option(
    "--format",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default=_default_format,
    show_default="text; github under GitHub Actions",
    expose_value=False,
    callback=_set_format,
    help="The format of the findings.",
)


def format_of(*forms: str) -> _Option:
    """Return the option `--format` of a command whose results have other formats than findings."""
    return click.option(
        "--format",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        expose_value=False,
        callback=_set_format,
        help="The format of the results.",
    )


def need(what: str, extra: str, *modules: str) -> None:
    """Raise `Failure` with the pip command if modules of an extra are not installed."""
    from importlib.util import find_spec

    if any(find_spec(module) is None for module in modules):
        raise Failure(f"{what} is not installed. Install it with\n\n    pip install 'restencil[{extra}]'")
