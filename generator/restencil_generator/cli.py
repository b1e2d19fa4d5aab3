"""The `restencil` command: a shell over the pipeline, and the one place that turns what happened into an exit code.

Exit codes: 0 yes, 1 no (drift or findings), 2 could not answer (usage, configuration, invalid spec, I/O), 3 internal
error, 130 interrupted. Results go to stdout, progress and errors to stderr.

Everything but click is imported by the command that needs it, so that `--help` answers at once.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import click

from restencil_generator.failure import Failure

if TYPE_CHECKING:
    from restencil_generator.config import Config
    from restencil_generator.load import Loaded
    from restencil_generator.package import Package
    from restencil_generator.problems import Problem
    from restencil_generator.write import Difference

YES, NO, NO_ANSWER, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 130

Format: TypeAlias = Literal["text", "json", "github", "sarif"]
_Command = TypeVar("_Command", bound=Callable[..., Any])

_EPILOG = """\b
Exit codes:
  0 yes, clean   1 no: drift or findings   2 could not answer   3 internal error   130 interrupted

\b
Shell completion (bash; zsh and fish alike):
  eval "$(_RESTENCIL_COMPLETE=bash_source restencil)"
"""


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments (default: those of the process) and returns its exit code."""
    _open_streams()
    try:
        code = _answer(arguments)
    except (KeyboardInterrupt, click.Abort):
        _error("interrupted")
        code = INTERRUPTED
    _flush()
    return code


def _answer(arguments: Sequence[str] | None) -> int:
    try:
        result = cli.main(
            args=None if arguments is None else list(arguments), prog_name="restencil", standalone_mode=False
        )
        return result if isinstance(result, int) else YES
    except click.Abort:
        raise
    except click.ClickException as error:
        error.show(sys.stderr)
        return NO_ANSWER
    except Failure as failure:
        _error(str(failure))
        return NO_ANSWER
    except BrokenPipeError:
        _silence()
        return YES
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        _error(f"{where}{error.strerror or error}")
        return NO_ANSWER
    except Exception as error:
        traceback.print_exc()
        _error(
            f"internal error: {type(error).__name__}: {error}\n"
            "This is a mistake of restencil, not of your spec, and nothing was left half done.\n"
            "Please report it with the lines above and, if you can, the spec."
        )
        return INTERNAL


# --------------------------------------------------------------------------------------------------------------- output


def _open_streams() -> None:
    """A stream that the caller closed (`>&-`) is None: nobody listens, and the exit code is the answer."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the rest of the process


def _error(message: str) -> None:
    click.echo(f"{_style('restencil:', 'red', sys.stderr)} {message}", err=True, color=_colours(sys.stderr))


def _say(text: str, *, end: str = "\n") -> None:
    """A result, on stdout. Whoever reads only its beginning (`| head`) has what they wanted: no complaint."""
    try:
        click.echo(text + end, nl=False, color=_colours(sys.stdout))
    except BrokenPipeError:
        _silence()


def _silence() -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())
    os.close(descriptor)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()


def _colours(stream: Any) -> bool:
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR")


def _style(text: str, colour: str, stream: Any = None) -> str:
    stream = stream or sys.stdout
    return click.style(text, fg=colour) if _colours(stream) else text


class _Progress:
    """How far it is, on stderr, where somebody watches and there is much to do."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        if total < 50 or not sys.stderr.isatty():
            return
        if done < total:
            sys.stderr.write(f"\r{self._label} {done}/{total}")
            self._shown = True
        elif self._shown:
            sys.stderr.write("\r" + " " * 60 + "\r")
        sys.stderr.flush()


# -------------------------------------------------------------------------------------------------------------- options


def _together(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _default_format() -> str:
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"


_specs = click.argument("specs", metavar="[SPEC]...", nargs=-1, type=click.Path(path_type=Path))
_config = click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="A pyproject.toml with [tool.restencil]."
)
_out = click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where packages go: DIR/<package>/. Default: `out` of the configuration, else the working directory.",
)
_templates = click.option(
    "--templates",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Templates that replace the built-in ones of the same name.",
)
_format = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default=_default_format,
    show_default="text; github under GitHub Actions",
    help="How findings are printed.",
)
_diff = click.option("--diff", is_flag=True, help="Print what would change as a unified diff.")


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        try:
            _say(f"restencil {version('restencil')}")
        except PackageNotFoundError:
            _say("restencil (not installed, run from source)")
        context.exit(YES)


@click.group(epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
def cli() -> None:
    """Typed Python packages with a normalized cache, from YAML declarations of REST resources.

    \b
    Examples:
      restencil init                                 a configuration and an example spec
      restencil generate                             the packages of all configured specs
      restencil generate specs/blog.yaml --out src   one package, into src/blog/
      restencil check                                for CI: is what is checked in what the specs give?
    """


# ----------------------------------------------------------------------------------------------------------------- init


@cli.command(short_help="A configuration and an example to begin with.")
@click.argument("directory", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
def init(directory: Path) -> int:
    """Write a configuration, an example spec, .gitattributes, and snippets for pre-commit and CI.

    Nothing that exists is overwritten: what is there already is left as it is and named.

    \b
    Examples:
      restencil init
      restencil init services/api
    """
    from restencil_generator.scaffold import scaffold

    for step in scaffold(directory):
        colour = {"wrote": "green", "added": "green", "kept": "yellow"}[step.done]
        _say(f"{_style(step.done, colour)} {step.path}" + (f": {step.note}" if step.note else ""))
    return YES


# ------------------------------------------------------------------------------------------------------------- generate


@cli.command(short_help="Write the packages.")
@_together(_specs, _out, _config, _templates, _format, _diff)
@click.option("--dry-run", is_flag=True, help="Write nothing; say what would change. Exit code 1 if anything would.")
@click.option("--force", is_flag=True, help="Write over generated files that were edited by hand.")
@click.option("--watch", is_flag=True, help="Go on: generate again whenever a spec or template changes.")
def generate(
    specs: tuple[Path, ...],
    out: Path | None,
    config: Path | None,
    templates: Path | None,
    form: Format,
    diff: bool,
    dry_run: bool,
    force: bool,
    watch: bool,
) -> int:
    """Write the package of each SPEC (a YAML file or a folder of them) to OUT/<package>/.

    Everything is made and verified in memory before the first file is written; each package then appears at once,
    whole. Files that would not change are not touched. A generated file that was edited by hand is refused (see
    --force), and files that restencil did not write are left alone.

    \b
    Examples:
      restencil generate
      restencil generate specs/blog.yaml --out src
      restencil generate --diff
      restencil generate --watch
    """
    if watch and (dry_run or diff):
        raise click.UsageError("--watch writes packages; it goes with neither --dry-run nor --diff")

    def once() -> int:
        paths, settings = _settle(config, specs, out, templates)
        return _generate(paths, settings, form, diff=diff, dry_run=dry_run, force=force)

    if not watch:
        return once()
    from restencil_generator.watch import watch_and_run

    def watched() -> Iterable[Path]:
        paths, settings = _settle(config, specs, out, templates)
        return [*paths, *filter(None, (settings.templates, settings.file))]

    def repeat() -> None:
        try:
            once()
        except Failure as failure:
            _error(str(failure))

    return watch_and_run(watched, repeat, lambda text: click.echo(text, err=True))


def _generate(paths: Sequence[Path], settings: Config, form: Format, *, diff: bool, dry_run: bool, force: bool) -> int:
    from restencil_generator import write

    writes = not (dry_run or diff)
    tells = form == "text" or (writes and form == "github")
    made = _make(paths, settings, form, tells=tells)
    if made is None:
        return NO_ANSWER
    if not writes:
        return _preview(made, form, diff=diff, force=force)
    stopped = [
        write.Refused(directory, found)
        for package, directory in made
        if (found := write.refused(write.compare(package, directory), force=force))
    ]
    if stopped:
        raise Failure("\n".join(str(refusal) for refusal in stopped))
    for package, directory in made:
        done = write.publish(package, directory, force=force)
        if not tells:
            continue
        if done.written or done.removed:
            removed = f", {len(done.removed)} removed" if done.removed else ""
            _say(f"{directory}: {_style(f'{len(done.written)} written', 'green')}{removed}, {done.unchanged} unchanged")
        else:
            _say(f"{directory}: {_style('up to date', 'green')} ({_files(done.unchanged)})")
    if not tells:
        _show_problems([], [], form)
    return YES


def _preview(made: Sequence[tuple[Package, Path]], form: Format, *, diff: bool, force: bool) -> int:
    from restencil_generator import write

    changed = False
    stopped: list[write.Refused] = []
    for package, directory in made:
        differences = write.compare(package, directory)
        changed = changed or bool(differences)
        if found := write.refused(differences, force=force):
            stopped.append(write.Refused(directory, found))
        if diff:
            _show_diffs(differences, directory, form)
        else:
            _show_differences([(directory, differences)], form)
            if not differences and form == "text":
                _say(f"{directory}: up to date ({_files(len(package.files))})")
    if stopped:
        raise Failure("\n".join(str(refusal) for refusal in stopped))
    return NO if changed else YES


# ---------------------------------------------------------------------------------------------------------------- check


@cli.command(short_help="Are the packages what the specs give?")
@_together(_specs, _out, _config, _templates, _format, _diff)
def check(
    specs: tuple[Path, ...], out: Path | None, config: Path | None, templates: Path | None, form: Format, diff: bool
) -> int:
    """Say whether the packages on disk are exactly what the specs give. Writes nothing.

    For each file that differs it says why: spec changed, spec file renamed, edited by hand, formatting only, missing,
    orphan, foreign file or generator changed.

    \b
    Examples:
      restencil check
      restencil check specs/blog.yaml --out src --diff
      restencil check --format sarif > drift.sarif
    """
    from restencil_generator import write

    paths, settings = _settle(config, specs, out, templates)
    made = _make(paths, settings, form, tells=form == "text")
    if made is None:
        return NO_ANSWER
    found = [(directory, write.compare(package, directory)) for package, directory in made]
    _show_differences(found, form)
    for (package, _), (directory, differences) in zip(made, found, strict=True):
        if form == "text":
            if differences:
                _say(
                    f"{directory}: {len(differences)} of {_files(len(package.files))} differ from what "
                    f"{package.source} gives; {_way_out(differences)}"
                )
            else:
                _say(f"{directory}: {_style('up to date', 'green')} ({_files(len(package.files))})")
        if diff:
            _show_diffs(differences, directory, form)
    return NO if any(differences for _, differences in found) else YES


def _show_differences(found: Sequence[tuple[Path, Sequence[Difference]]], form: Format) -> None:
    if form == "text":
        for directory, differences in found:
            for difference in differences:
                _say(f"{directory / difference.path}: {_style(difference.cause.value, 'yellow')}: {difference.reason}")
        return
    from restencil_generator.problems import Place, Problem
    from restencil_generator.report import render

    problems = [
        Problem(
            difference.cause.value.replace(" ", "-"),
            f"{difference.cause.value}: {difference.reason}",
            Place((directory / difference.path).as_posix()),
            _way_out([difference], "it"),
        )
        for directory, differences in found
        for difference in differences
    ]
    _say(render(problems, {}, format=form, limit=max(len(problems), 1)), end="")


def _show_diffs(differences: Sequence[Difference], directory: Path, form: Format) -> None:
    from restencil_generator.write import diff

    colours = {"+": "green", "-": "red", "@": "cyan"}
    for difference in differences:
        text = diff(difference, directory)
        if form in ("json", "sarif"):
            click.echo(text, err=True, nl=False)
            continue
        for line in text.splitlines():
            _say(_style(line, colours[line[0]]) if line[:1] in colours else line)


# ----------------------------------------------------------------------------------------------------------------- lint


@cli.command(short_help="Mistakes, and advice about specs and cache.")
@_together(_specs, _config, _format)
@click.option("--no-hooks", is_flag=True, help="Do not import what `python:` references name.")
def lint(specs: tuple[Path, ...], config: Path | None, form: Format, no_hooks: bool) -> int:
    """Print problems of the specs and advice about them, cache advice included.

    Exit code 1 when there is advice, 2 when a spec has errors.

    \b
    Examples:
      restencil lint
      restencil lint specs/blog.yaml --format json
    """
    from restencil_generator.lint import lint as advise
    from restencil_generator.problems import has_errors

    paths, settings = _settle(config, specs, None, None)
    loaded = _load(paths)
    python_path = (Path.cwd(), settings.out, *((settings.file.parent,) if settings.file else ()))
    found: list[Problem] = []
    for one in loaded:
        found.extend(one.problems)
        if one.declaration is not None:
            found.extend(advise(one, import_hooks=not no_hooks, python_path=python_path))
    _show_problems(found, loaded, form)
    if not found and form == "text":
        _say(f"{len(loaded)} {'spec' if len(loaded) == 1 else 'specs'}: {_style('nothing to say', 'green')}")
    if has_errors(found):
        return NO_ANSWER
    return NO if found else YES


# --------------------------------------------------------------------------------------------------------------- schema


@cli.command(short_help="The JSON Schema of the spec language.")
def schema() -> int:
    """Print the JSON Schema (draft 2020-12) of the spec language, for completion in editors.

    \b
    Examples:
      restencil schema > restencil.schema.json
    \b
    and as the first line of a spec:
      # yaml-language-server: $schema=../restencil.schema.json
    """
    from restencil_generator.schema import schema_text

    _say(schema_text(), end="")
    return YES


# ----------------------------------------------------------------------------------------------------------------- mock


@cli.command(short_help="Serve the API that the specs describe.")
@_together(_specs, _config, _format)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--no-auth", is_flag=True, help="Ask for no credential where the spec has `auth`.")
def mock(specs: tuple[Path, ...], config: Path | None, form: Format, port: int, host: str, no_auth: bool) -> int:
    """Serve the API that the specs describe, stateful, on loopback, until interrupted.

    \b
    Examples:
      restencil mock specs/blog.yaml
      restencil mock specs/blog.yaml --port 0
    """
    from importlib.util import find_spec

    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise Failure("the mock server is not installed. Install it with\n\n    pip install 'restencil[mock]'")
    paths, _ = _settle(config, specs, None, None)
    loaded = _valid(paths, form)
    if loaded is None:
        return NO_ANSWER
    from restencil_generator.mock import CannotServe, serve

    specs = [one.declaration for one in loaded if one.declaration is not None]
    try:
        serve(specs, host=host, port=port, auth=not no_auth, announce=_say, log=partial(click.echo, err=True))
    except CannotServe as error:
        raise Failure(str(error)) from error
    return YES


# -------------------------------------------------------------------------------------------------------------- helpers


def _settle(
    config: Path | None, specs: Sequence[Path], out: Path | None, templates: Path | None
) -> tuple[list[Path], Config]:
    from restencil_generator.config import load_config, settle

    return settle(load_config(config), specs, out, templates)


def _load(paths: Sequence[Path]) -> list[Loaded]:
    from restencil_generator.load import load_spec

    return [load_spec(path) for path in paths]


def _valid(paths: Sequence[Path], form: Format) -> list[Loaded] | None:
    """The loaded specs; None, with all problems printed, when one of them has an error."""
    from restencil_generator.problems import has_errors

    loaded = _load(paths)
    problems = [problem for one in loaded for problem in one.problems]
    if problems:
        _show_problems(problems, loaded, form, err=form == "text")
    return None if has_errors(problems) else loaded


def _show_problems(problems: Sequence[Problem], loaded: Sequence[Loaded], form: Format, *, err: bool = False) -> None:
    from restencil_generator.report import render

    stream = sys.stderr if err else sys.stdout
    sources = {name: source for one in loaded for name, source in one.sources.items()}
    text = render(problems, sources, format=form, color=_colours(stream))
    if err:
        click.echo(text, nl=False, err=True, color=_colours(stream))
    else:
        _say(text, end="")


def _settled(paths: Sequence[Path], settings: Config) -> dict[Path, tuple[Path, int]]:
    """The specs of which it is known that their packages are up to date, with folder and number of files."""
    from restencil_generator import cache
    from restencil_generator.write import as_recorded

    settled: dict[Path, tuple[Path, int]] = {}
    for path in paths:
        key = cache.key_of(path, settings.templates)
        entry = None if key is None else cache.lookup(key)
        count = None if entry is None else as_recorded(settings.out / entry.package, entry.manifest)
        if entry is not None and count is not None:
            settled[path] = settings.out / entry.package, count
    return settled if len({directory for directory, _ in settled.values()}) == len(settled) else {}


def _make(paths: Sequence[Path], settings: Config, form: Format, *, tells: bool) -> list[tuple[Package, Path]] | None:
    """The packages of these specs with the folders they belong in; None when a spec has errors (they are printed).

    Those that are known to be up to date are not among them; with `tells` it is said of them that they are.
    """
    from restencil_generator import cache
    from restencil_generator.generate import build
    from restencil_generator.package import MANIFEST
    from restencil_generator.write import read_manifest, read_text

    settled = _settled(paths, settings)
    rest = [path for path in paths if path not in settled]
    loaded = _valid(rest, form) if rest else []
    if loaded is None:
        return None
    specs = {directory: str(path) for path, (directory, _) in settled.items()}
    made: list[tuple[Package, Path]] = []
    for path, one in zip(rest, loaded, strict=True):
        assert one.declaration is not None
        directory = settings.out / one.declaration.package
        if directory in specs:
            raise Failure(
                f"{path}: the package '{one.declaration.package}' is also that of {specs[directory]}; "
                "give one of them another `package`"
            )
        specs[directory] = str(path)
        package = build(
            one.declaration,
            str(path),
            templates=settings.templates,
            known=read_manifest(directory),
            read=partial(read_text, directory),
            progress=_Progress(f"rendering {one.declaration.package}"),
        )
        made.append((package, directory))
        key = cache.key_of(path, settings.templates)
        if key is not None and not one.problems:
            cache.remember(key, cache.Entry(package.name, package.files[MANIFEST]))
    if tells:
        for directory, count in settled.values():
            _say(f"{directory}: {_style('up to date', 'green')} ({_files(count)})")
    return made


def _way_out(differences: Sequence[Difference], them: str = "them") -> str:
    """What writes the files, `--force` where some of them were edited; foreign files it does not touch."""
    from restencil_generator.write import Cause, refused

    if any(found.cause is Cause.FOREIGN for found in differences):
        return "move what is foreign away, then `restencil generate`"
    return f"`restencil generate{' --force' if refused(differences) else ''}` writes {them}"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
