"""The `restencil` command: parses arguments, calls the API, prints what it gives, and turns what happened into a code.

`run` is the way in, `_code_of` the one place where an error becomes an exit code, `_Console` the one that prints. A
command is a function under `@_command`: it gets the console and its own options, and returns `YES`, `NO` or
`NO_ANSWER`, or raises. Results go to stdout, progress and errors to stderr.

Everything but click is imported by the command that needs it, so that `--help` answers at once.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import os
import sys
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias

import click

from restencil_generator.exceptions import Failure, SpecError

if TYPE_CHECKING:
    from restencil_generator.cli.progress import Step
    from restencil_generator.diagnostics.format import Format
    from restencil_generator.diagnostics.model import Problem, Sources
    from restencil_generator.diff.rules import Class, Column
    from restencil_generator.openapi.export.types import Version
    from restencil_generator.openapi.import_job import Imported, Job
    from restencil_generator.openapi.merge.upstream_changes import Class as Upstream
    from restencil_generator.output.drift import Difference
    from restencil_generator.project.config import Project
    from restencil_generator.project.packages import Made


class Exit(enum.IntEnum):
    """What an exit code says."""

    YES = 0
    """Clean: it is as it should be, or is now."""
    NO = 1
    """Drift or findings."""
    NO_ANSWER = 2
    """Usage, configuration, a spec with mistakes, something that cannot be read or must not be written over."""
    INTERNAL = 3
    """A mistake of restencil itself."""
    INTERRUPTED = 130
    """Ctrl-C."""


YES, NO, NO_ANSWER = Exit.YES, Exit.NO, Exit.NO_ANSWER

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
    console = _Console()
    try:
        code = _answer(arguments, console)
    except (KeyboardInterrupt, click.Abort) as error:
        code = _code_of(error, console)
    _flush()
    return code


def _answer(arguments: Sequence[str] | None, console: _Console) -> int:
    given = None if arguments is None else list(arguments)
    try:
        result = cli.main(args=given, prog_name="restencil", standalone_mode=False, obj=console)
    except click.Abort:
        raise
    except Exception as error:
        return _code_of(error, console)
    return result if isinstance(result, int) else YES


def _code_of(error: BaseException, console: _Console) -> Exit:
    """The exit code of an error, which is printed: the whole of what click and Python would do is replaced by this."""
    match error:
        case KeyboardInterrupt() | click.Abort():
            console.error("interrupted")
            return Exit.INTERRUPTED
        case BrokenPipeError():  # whoever reads only the beginning (`| head`) has what they wanted
            _silence()
            return Exit.YES
        case click.ClickException():
            error.show(sys.stderr)
            return Exit.NO_ANSWER
        case Failure():
            console.failure(error)
            return Exit.NO_ANSWER
        case OSError():
            where = f"{error.filename}: " if error.filename is not None else ""
            console.error(f"{where}{error.strerror or error}")
            return Exit.NO_ANSWER
        case _:
            traceback.print_exception(error)
            console.error(
                f"internal error: {type(error).__name__}: {error}\n"
                "This is a mistake of restencil, not of your spec, and nothing was left half done.\n"
                "Please report it with the lines above and, if you can, the spec."
            )
            return Exit.INTERNAL


# --------------------------------------------------------------------------------------------------------------- output


class _Console:
    """What is printed, and where: results on stdout, progress and errors on stderr, findings as `--format` says."""

    form: Format = "text"

    @property
    def prints_documents(self) -> bool:
        """Whether stdout holds one document that a program reads, and nothing else."""
        return self.form in ("json", "sarif")

    def say(self, text: str, *, end: str = "\n") -> None:
        """Prints a result. Nobody may be listening any more: no complaint."""
        try:
            click.echo(text + end, nl=False, color=_colours(sys.stdout))
        except BrokenPipeError:
            _silence()

    def note(self, text: str) -> None:
        """Prints what goes on, beside the results."""
        click.echo(text, err=True)

    def error(self, message: str) -> None:
        """Prints why there is no answer."""
        label = click.style("restencil:", fg="red") if _colours(sys.stderr) else "restencil:"
        click.echo(f"{label} {message}", err=True, color=_colours(sys.stderr))

    def failure(self, failure: Failure) -> None:
        """Prints a failure; the mistakes of a spec in the format that was asked for."""
        if not isinstance(failure, SpecError):
            self.error(str(failure))
        elif self.form == "text":
            text = self._rendered(failure.problems, failure.sources, sys.stderr)
            click.echo(text, nl=False, err=True, color=_colours(sys.stderr))
        else:
            self.problems(failure.problems, failure.sources)

    def problems(self, problems: Sequence[Problem], sources: Sources, limit: int | None = None) -> None:
        """Prints findings, `limit` of them where it is given; documents also where there are none."""
        self.say(self._rendered(problems, sources, sys.stdout, limit), end="")

    def differences(self, found: Mapping[Path, Sequence[Difference]]) -> None:
        """Prints every file that differs, with its cause; `found` are the differences by the folder of a package."""
        if self.form == "text":
            for directory, differences in found.items():
                for one in differences:
                    self.say(f"{directory / one.shown}: {self.style(one.cause.value, 'yellow')}: {one.reason}")
            return
        from restencil_generator.output.drift import findings

        problems = [problem for directory, differences in found.items() for problem in findings(differences, directory)]
        self.problems(problems, {}, max(len(problems), 1))

    def diffs(self, differences: Sequence[Difference], directory: Path) -> None:
        """Prints unified diffs; beside stdout where that is a document."""
        from restencil_generator.output.drift import diff

        for difference in differences:
            self.unified(diff(difference, directory))

    def unified(self, text: str) -> None:
        """Prints a unified diff; beside stdout where that is a document."""
        colours = {"+": "green", "-": "red", "@": "cyan"}
        if self.prints_documents:
            click.echo(text, err=True, nl=False)
            return
        for line in text.splitlines():
            self.say(self.style(line, colours[line[0]]) if line[:1] in colours else line)

    def remarks(self, problems: Sequence[Problem], *, every: bool) -> None:
        """Prints what is told beside a result, one line each: `every` one, or the first and how many more there are."""
        from restencil_generator.diagnostics.format import brief
        from restencil_generator.diagnostics.model import LIMIT

        limit = len(problems) if every else LIMIT
        click.echo(
            brief(problems, color=_colours(sys.stderr), limit=limit), nl=False, err=True, color=_colours(sys.stderr)
        )

    def refused(self, problems: Sequence[Problem], sources: Sources) -> None:
        """Prints why an import wrote nothing: conflicts, or mistakes of the merged spec."""
        text = self._rendered(problems, sources, sys.stderr)
        click.echo(text, nl=False, err=True, color=_colours(sys.stderr))
        if any(problem.code == "import-conflict" for problem in problems):
            self.note("nothing was written: edit the spec to what you want, or settle by --ours NODE or --theirs NODE")
        else:
            self.note("nothing was written: these are mistakes of the merged spec, which was to be written")

    def up_to_date(self, made: Made) -> None:
        """Prints that a package is what its spec gives."""
        self.say(f"{made.directory}: {self.style('up to date', 'green')} ({_files(made.count)})")

    @contextlib.contextmanager
    def steps(self) -> Generator[Step]:
        """Gives what says which step begins: a terminal shows those of what takes longer than a second."""
        from restencil_generator.cli.progress import steps

        with steps(sys.stderr) as step:
            yield step

    def style(self, text: str, colour: str) -> str:
        """A text of a result in a colour, where colours are shown."""
        return click.style(text, fg=colour) if _colours(sys.stdout) else text

    def _rendered(
        self, problems: Sequence[Problem], sources: Sources, stream: IO[str], limit: int | None = None
    ) -> str:
        from restencil_generator.diagnostics.format import render
        from restencil_generator.diagnostics.model import LIMIT

        text = render(problems, sources, self.form, color=_colours(stream), limit=LIMIT if limit is None else limit)
        if self.form == "text" and problems and stream.isatty():
            text += f"`restencil explain {problems[0].code}` says more about a code\n"
        return text


def _colours(stream: IO[str]) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _open_streams() -> None:
    """A stream that the caller closed (`>&-`) is None: nobody listens, and the exit code is the answer."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the rest of the process


def _silence() -> None:
    descriptor = os.open(os.devnull, os.O_WRONLY)
    os.dup2(descriptor, sys.stdout.fileno())
    os.close(descriptor)


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()


# ------------------------------------------------------------------------------------------------- commands and options

_Function: TypeAlias = Callable[..., Any]
_Option: TypeAlias = Callable[[_Function], _Function]
_PATH: Final = click.Path(path_type=Path)


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"restencil {version('restencil')}")
        except PackageNotFoundError:
            click.echo("restencil (not installed, run from source)")
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


def _command(
    summary: str, *options: _Option, name: str | None = None, group: click.Group | None = None
) -> Callable[[_Function], click.Command]:
    """Makes a function the command of its name. It is called with the console and the values of its options."""

    def decorate(function: _Function) -> click.Command:
        return (group or cli).command(name, short_help=summary)(
            _all(options)(click.make_pass_decorator(_Console, ensure=True)(function))
        )

    return decorate


def _all(options: Sequence[_Option]) -> _Option:
    return lambda function: functools.reduce(lambda made, option: option(made), reversed(options), function)


_specs = click.argument("specs", metavar="[SPEC]...", nargs=-1, type=_PATH)
_config = click.option("--config", type=_PATH, metavar="FILE", help="A pyproject.toml with [tool.restencil].")
_out = click.option(
    "--out",
    type=_PATH,
    metavar="DIR",
    help="Where packages go: DIR/<package>/. Default: `out` of the configuration, else the working directory.",
)
_templates = click.option(
    "--templates", type=_PATH, metavar="DIR", help="Templates that replace the built-in ones of the same name."
)
_diff = click.option("--diff", is_flag=True, help="Print what would change as a unified diff.")


def _project(*options: _Option) -> _Option:
    """SPEC and options that say what a run is about; the command calls `project()` for what they come to together."""

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

                return find_project(specs, config=config, out=out, templates=templates)

            return function(*arguments, project=project, **others)

        return _all(options)(command)

    return decorate


_specs_alone = _project(_specs, _config)
_specs_and_packages = _project(_specs, _out, _config, _templates)


def _set_format(context: click.Context, _: click.Parameter, value: Format) -> None:
    context.ensure_object(_Console).form = value


def _default_format() -> str:
    return "github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text"


_format = click.option(
    "--format",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default=_default_format,
    show_default="text; github under GitHub Actions",
    expose_value=False,
    callback=_set_format,
    help="How findings are printed.",
)


def _format_of(*forms: str) -> _Option:
    """The option for a command whose results have other forms."""
    return click.option(
        "--format",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        expose_value=False,
        callback=_set_format,
        help="How results are printed.",
    )


def _need(what: str, extra: str, *modules: str) -> None:
    """Raises `Failure`, with what to install, where a command needs modules that an extra brings."""
    from importlib.util import find_spec

    if any(find_spec(module) is None for module in modules):
        raise Failure(f"{what} is not installed. Install it with\n\n    pip install 'restencil[{extra}]'")


# ------------------------------------------------------------------------------------------------------------- commands


@_command(
    "A configuration and an example to begin with.",
    click.argument("directory", metavar="[DIR]", default=".", type=_PATH),
)
def init(console: _Console, directory: Path) -> Exit:
    """Write a configuration, an example spec, .gitattributes, and snippets for pre-commit and CI.

    Nothing that exists is overwritten: what is there already is left as it is and named.

    \b
    Examples:
      restencil init
      restencil init services/api
    """
    from restencil_generator.project.scaffold import scaffold

    for step in scaffold(directory):
        colour = {"wrote": "green", "added": "green", "kept": "yellow"}[step.done]
        console.say(f"{console.style(step.done, colour)} {step.path}" + (f": {step.note}" if step.note else ""))
    return YES


@_command(
    "Write the packages.",
    _specs_and_packages,
    _format,
    _diff,
    click.option(
        "--dry-run", is_flag=True, help="Write nothing; say what would change. Exit code 1 if anything would."
    ),
    click.option("--force", is_flag=True, help="Write over generated files that were edited by hand."),
    click.option("--watch", is_flag=True, help="Go on: generate again whenever a spec or template changes."),
)
def generate(
    console: _Console, project: Callable[[], Project], diff: bool, dry_run: bool, force: bool, watch: bool
) -> Exit:
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


def _write(console: _Console, project: Project, *, force: bool) -> Exit:
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
    return YES


def _rendering(step: Step) -> Callable[[str, int, int], None]:
    """What is told how far a package is."""
    step("loading")

    def progress(package: str, done: int, total: int) -> None:
        step(f"rendering {package} {done}/{total}" if done < total else f"laying out {package}")

    return progress


def _preview(console: _Console, project: Project, *, diff: bool, force: bool) -> Exit:
    from restencil_generator.project.packages import make, refuse

    with console.steps() as step:
        made = make(project, _rendering(step))
        found = {one.directory: one.differences() for one in made}
    if not diff or console.prints_documents:
        console.differences(found)
    for one in made:
        if diff:
            console.diffs(found[one.directory], one.directory)
        if console.form == "text" and not found[one.directory]:
            console.up_to_date(one)
    refuse(found, force=force)
    return NO if any(found.values()) else YES


@_command("Are the packages what the specs give?", _specs_and_packages, _format, _diff)
def check(console: _Console, project: Callable[[], Project], diff: bool) -> Exit:
    """Say whether the packages on disk are exactly what the specs give. Writes nothing.

    For each file that differs it says why: spec changed, spec file renamed, edited by hand, formatting only, missing,
    orphan, foreign file, merge conflict or generator changed. Without SPEC it names packages whose spec is gone, too.

    \b
    Examples:
      restencil check
      restencil check specs/blog.yaml --out src --diff
      restencil check --format sarif > drift.sarif
    """
    from restencil_generator.output.drift import way_out
    from restencil_generator.project.packages import make, orphans

    asked = project()
    with console.steps() as step:
        made = make(asked, _rendering(step))
        left = orphans(asked, made)
        found = {one.directory: one.differences() for one in made} | left
    console.differences(found)
    if console.form == "text":
        for directory, differences in left.items():
            console.say(f"{directory}: {way_out(differences)}")
    for one in made:
        differences = found[one.directory]
        if console.form == "text" and differences:
            console.say(
                f"{one.directory}: {len(differences)} of {_files(one.count)} differ from what {one.source} gives; "
                f"{way_out(differences)}"
            )
        elif console.form == "text":
            console.up_to_date(one)
        if diff:
            console.diffs(differences, one.directory)
    return NO if any(found.values()) else YES


@_command(
    "Mistakes, and advice about specs and cache.",
    _specs_alone,
    _format,
    click.option("--no-hooks", is_flag=True, help="Do not import what `python:` references name."),
)
def lint(console: _Console, project: Callable[[], Project], no_hooks: bool) -> Exit:
    """Print problems of the specs and advice about them, cache advice included.

    Exit code 1 when there is advice, 2 when a spec has errors.

    \b
    Examples:
      restencil lint
      restencil lint specs/blog.yaml --format json
    """
    from restencil_generator.diagnostics.model import has_errors
    from restencil_generator.lint.advice import advise

    found = project()
    advice = advise(found, import_hooks=not no_hooks)
    console.problems(advice.problems, advice.sources)
    if not advice.problems and console.form == "text":
        many = len(found.specs)
        console.say(f"{many} {'spec' if many == 1 else 'specs'}: {console.style('nothing to say', 'green')}")
    if has_errors(advice.problems):
        return NO_ANSWER
    return NO if advice.problems else YES


@_command("What a code means, and what to do.", click.argument("code", metavar="CODE"))
def explain(console: _Console, code: str) -> Exit:
    """Print what is said of the code of a problem: its rule, what it means, and what to do.

    Codes stand in brackets behind `error`, `warning` or `note`, and in the documents of --format json and sarif.

    \b
    Examples:
      restencil explain unknown-type
      restencil explain enum-value-removed
    """
    from restencil_generator.diagnostics.explanations import explained
    from restencil_generator.diagnostics.model import did_you_mean

    known = explained()
    if code not in known:
        raise Failure(
            f"no problem has the code {code!r}" + (f"; {hint}" if (hint := did_you_mean(code, known)) else "")
        )
    console.say(known[code].text, end="")
    return YES


def _columns(context: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[str, ...]:
    """The columns of `--only`, each once: separated by commas, or given several times."""
    names = tuple(dict.fromkeys(name for text in value for name in text.split(",")))
    wrong = next((name for name in names if name not in ("callers", "wire", "cache")), None)
    if wrong is not None:
        raise click.BadParameter(f"{wrong!r} is none of callers, wire and cache", context, parameter)
    return names


@_command(
    "What a change of a spec breaks.",
    click.argument("old", metavar="OLD"),
    click.argument("new", metavar="[NEW]", required=False),
    _config,
    _format,
    click.option(
        "--fail-on",
        type=click.Choice(["breaking", "risky", "additive", "documentation"]),
        help="From which class on findings give exit code 1. Default: `fail_on` of the configuration, else breaking.",
    ),
    click.option(
        "--only",
        multiple=True,
        callback=_columns,
        metavar="COLUMNS",
        help="Look at some of callers,wire,cache alone.",
    ),
    click.option("--verbose", is_flag=True, help="List what the configuration ignores, too."),
)
def diff(
    console: _Console,
    old: str,
    new: str | None,
    config: Path | None,
    fail_on: Class | None,
    only: tuple[Column, ...],
    verbose: bool,
) -> Exit:
    """Say what changed from OLD to NEW: for callers, on the wire, in caches.

    OLD and NEW are spec files, folders, or REV:PATH of git; without NEW, what PATH is in the working tree counts.

    \b
      B  breaking       callers: no longer type-checks or raises; wire: misunderstood; cache: misread
      R  risky          it behaves differently; cache: not found, so fetched again
      A  additive       something is new
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
        raise click.UsageError(f"{old} is no REV:PATH of git, so NEW is needed: restencil diff OLD NEW")
    settings = load_settings(config)
    with console.steps() as step:
        step("loading both specs")
        before, after = load_sides(old, working_path(old) if new is None else new)
        step("comparing")
        outcome = judge(compare(before, after), settings, only or ("callers", "wire", "cache"))
    console.say(render(outcome, console.form, color=_colours(sys.stdout), verbose=verbose), end="")
    return NO if outcome.fails(fail_on or settings.fail_on) else YES


@_command(
    "A spec from an OpenAPI document.",
    click.argument("source", metavar="[SOURCE|NAME]", required=False),
    _config,
    click.option(
        "--out",
        metavar="FILE|DIR|-",
        help="Where the spec goes; - is stdout. Default: <package>.yaml.",
    ),
    click.option("--package", metavar="NAME", help="The package. Default: the title of the document."),
    click.option(
        "--include",
        multiple=True,
        metavar="'GET,POST /repos/**'",
        help="Operations by method (optional) and path: * is one segment, ** any number.",
    ),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="What is left out of them."),
    click.option("--tag", "tags", multiple=True, metavar="NAME", help="Operations with one of these tags."),
    click.option("--overlay", "overlays", multiple=True, type=_PATH, metavar="FILE", help="Applied before, in order."),
    click.option("--split", is_flag=True, default=None, help="A folder with a file for each resource."),
    click.option("--root", type=_PATH, metavar="DIR", help="The folder of the files that `$ref` may reach."),
    click.option(
        "--assume-required/--assume-optional",
        "required",
        default=None,
        help="What properties are that the document says nothing of.",
    ),
    click.option("--ours", multiple=True, metavar="NODE", help="Settle a conflict: keep what the spec says. * is all."),
    click.option("--theirs", multiple=True, metavar="NODE", help="Settle a conflict: take what the document says."),
    click.option("--again", is_flag=True, help="Import although nothing changed."),
    click.option("--verbose", is_flag=True, help="List every finding, those of one kind too."),
    click.option("--diff", is_flag=True, help="Print what would change as a unified diff; write nothing."),
    click.option("--check", is_flag=True, help="Say what the document changed since the last import; write nothing."),
    click.option(
        "--fail-on",
        type=click.Choice(["breaking", "behaviour", "additive", "documentation"]),
        metavar="CLASS",
        help="With --check: from which class on changes give exit code 1: breaking, behaviour, additive or "
        "documentation. Default: documentation, so any change.",
    ),
    _format_of("text", "json"),
    name="import",
)
def import_(
    console: _Console,
    source: str | None,
    config: Path | None,
    out: str | None,
    diff: bool,
    check: bool,
    fail_on: Upstream | None,
    verbose: bool,
    **given: Any,
) -> Exit:
    """Write a spec from an OpenAPI document (2.0 to 3.2, JSON or YAML): a file, an address, or - for stdin.

    A NAME is that of [tool.restencil.import.<package>] in pyproject.toml; without any, all of these are imported.

    \b
    Examples:
      restencil import openapi.json
      restencil import https://shop.example/openapi.json --package shop --out specs/shop.yaml
      restencil import api.yaml --include 'GET /orders/**' --tag orders --out -
      restencil import --check --fail-on breaking
    """
    _need("what imports need", "import", "ruamel", "jsonpath_rfc9535")
    from restencil_generator.openapi import import_job

    jobs = import_job.jobs(source, config, out, given)
    if out == "-" and console.prints_documents:
        raise click.UsageError("--out - prints the spec, and --format json the summary: both want stdout")
    if len(jobs) > 1 and (out is not None or given["package"]):
        raise click.UsageError(f"--out and --package are those of one import, and {len(jobs)} are configured: name one")
    if fail_on is not None and not check:
        raise click.UsageError("--fail-on goes with --check")
    if check and (diff or out == "-" or given["ours"] or given["theirs"]):
        raise click.UsageError("--check writes nothing: it goes with no --diff, --ours, --theirs or --out -")
    if check:
        found = [_check_import(console, job, fail_on or "documentation") for job in jobs]
    else:
        found = [_import(console, job, stdout=out == "-", diff=diff, verbose=verbose) for job in jobs]
    if console.prints_documents:
        _print_imports(console, found, several=len(jobs) > 1)
    return NO if any("refused" in one or one.get("fails") for one in found) else YES


def _import(console: _Console, job: Job, *, stdout: bool, diff: bool, verbose: bool) -> dict[str, Any]:
    """Carries out one import, and gives what `--format json` says of it."""
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


def _check_import(console: _Console, job: Job, fail_on: Upstream) -> dict[str, Any]:
    """Says what a document changed since the last import, and gives what `--format json` says of it."""
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


def _settle(console: _Console, job: Job, imported: Imported, *, diff: bool, verbose: bool) -> dict[str, Any]:
    """Writes what was imported, or shows it, and gives what `--format json` says of it."""
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
        console.remarks([*settlement.told, *imported.shown(verbose=verbose)], every=verbose)
    return {**imported.data(), "told": [as_json(problem) for problem in settlement.told]}


def _print_imports(console: _Console, found: Sequence[Mapping[str, Any]], *, several: bool) -> None:
    import json

    console.say(json.dumps(list(found) if several else found[0], indent=2))


@cli.group(short_help="A spec in another form.")
def export() -> None:
    """A spec as a document of another kind.

    \b
    Examples:
      restencil export openapi specs/blog.yaml -o openapi.json
    """


@_command(
    "A spec as an OpenAPI document.",
    _project(_specs, _config),
    click.option("-o", "--output", type=_PATH, metavar="FILE", help="Where the document goes. Default: stdout."),
    click.option("--format", "form", type=click.Choice(["json", "yaml"]), help="Default: as FILE ends, else json."),
    click.option("--openapi", "version", type=click.Choice(["3.1", "3.0"]), default="3.1", show_default=True),
    click.option("--plain", is_flag=True, help="Without `x-restencil`, from which `restencil import` reads the spec."),
    name="openapi",
    group=export,
)
def export_openapi(
    console: _Console,
    project: Callable[[], Project],
    output: Path | None,
    form: str | None,
    version: Version,
    plain: bool,
) -> Exit:
    """Print the spec as an OpenAPI document, or write it into a file.

    What OpenAPI cannot say stands under `x-restencil`: importing the document gives the same spec again.

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

    paths = project().specs
    if len(paths) != 1:
        raise click.UsageError(f"one spec is exported at a time, and there are {len(paths)}: name one")
    (spec,) = load_all(paths)
    document = document_of(spec, version, plain=plain, written=None if plain else written_values(paths[0]))
    if form is None:
        form = "yaml" if output is not None and output.suffix in (".yaml", ".yml") else "json"
    text = text_of(document, form)
    if output is None:
        console.say(text, end="")
    else:
        write_file(output, text)
        console.note(f"{output}: OpenAPI {document['openapi']} of {spec.package}")
    return YES


@cli.group(short_help="What a cache holds, on disk or on a server.")
def cache() -> None:
    """Look into the storages of caches: the folder of a SQLiteStorage, or the URL of a ValkeyStorage.

    Looking changes nothing, and may be done while programs use the storage. Exit code 1: `--check` found something, or
    what `show` names is not there; 2: there is no such folder or server, it cannot be read, or has a newer format.

    \b
    Examples:
      restencil cache ls ~/.cache/shop
      restencil cache show ~/.cache/shop Order/17
    """


_storage = click.argument("where", metavar="PATH_OR_URL")
_id = click.option("--id", "wanted", metavar="HASH", help="One namespace, by the beginning of its hash.")


@_command("What is stored, by table.", _storage, _id, _format_of("text", "json"), name="ls", group=cache)
def cache_ls(console: _Console, where: str, wanted: str | None) -> Exit:
    """Print what each namespace holds: its place, size and last commit, and of each table rows, bytes and ages.

    \b
    Examples:
      restencil cache ls ~/.cache/shop
      restencil cache ls ~/.cache/shop --id 3f0c9a --format json
    """
    from restencil_generator.cli import cache_inspect

    with cache_inspect.opened(where, wanted) as found:
        listed = cache_inspect.listed(found)
    _print_stored(console, listed, lambda now: cache_inspect.listed_text(listed, now))
    return YES


@_command(
    "Results and rows, with their values.",
    _storage,
    click.argument("names", metavar="[KEY | TABLE[/PK]]...", nargs=-1),
    _id,
    _format_of("text", "json"),
    name="show",
    group=cache,
)
def cache_show(console: _Console, where: str, names: Sequence[str], wanted: str | None) -> Exit:
    """Print results and rows: values, times, shape, last use. Without names: the keys of all results.

    \b
    Examples:
      restencil cache show ~/.cache/shop
      restencil cache show ~/.cache/shop 'GET https://api.shop.example/orders'
      restencil cache show ~/.cache/shop Order Item/17
    """
    from restencil_generator.cli import cache_inspect

    with cache_inspect.opened(where, wanted) as found:
        told, missing = cache_inspect.shown(found, names)
    _print_stored(console, told, lambda now: cache_inspect.shown_text(told, now))
    for name in missing:
        console.error(
            f"{cache_inspect.printable(name)} is not there: it is no key of a result, no table and no TABLE/PK"
        )
    return NO if missing else YES


@_command(
    "Counts, the log, leases; --check looks for damage.",
    _storage,
    click.option("--check", is_flag=True, help="Look for damaged pages, values that are no JSON, and lost references."),
    _id,
    _format_of("text", "json"),
    name="stats",
    group=cache,
)
def cache_stats(console: _Console, where: str, check: bool, wanted: str | None) -> Exit:
    """Print counts, the log's first and last number, leases that are held, and free pages.

    \b
    Examples:
      restencil cache stats ~/.cache/shop
      restencil cache stats ~/.cache/shop --check
    """
    from restencil_generator.cli import cache_inspect

    with cache_inspect.opened(where, wanted) as found, console.steps() as step:
        step("checking" if check else "counting")
        told = cache_inspect.counted(found, check=check)
    _print_stored(console, told, lambda now: cache_inspect.counted_text(told))
    return NO if any(one.get("found") for one in told) else YES


@_command(
    "Forget all that is stored.",
    _storage,
    click.option("--yes", is_flag=True, help="Do not ask."),
    _id,
    _format_of("text", "json"),
    name="clear",
    group=cache,
)
def cache_clear(console: _Console, where: str, yes: bool, wanted: str | None) -> Exit:
    """Begin a new, empty epoch of each namespace, as `Store.reset_entire_store()` does: programs that run start anew.

    \b
    Examples:
      restencil cache clear ~/.cache/shop
      restencil cache clear ~/.cache/shop --id 3f0c9a --yes
    """
    from restencil_generator.cli import cache_inspect

    with cache_inspect.opened(where, wanted) as found:
        if found and not yes and not _agreed(len(found)):
            console.note("nothing was cleared")
            return NO
        told = cache_inspect.cleared(found)
    _print_stored(console, told, lambda now: cache_inspect.cleared_text(told))
    return YES


def _agreed(count: int) -> bool:
    """Whether whoever runs the command wants it: nobody there is no answer."""
    what = "this namespace" if count == 1 else f"all {count} namespaces"
    try:
        return click.confirm(f"Clear {what}? What is stored is fetched anew.", err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise Failure("nobody answered; --yes clears without asking") from None


def _print_stored(console: _Console, told: Sequence[Mapping[str, Any]], text: Callable[[float], str]) -> None:
    if console.prints_documents:
        import json

        console.say(json.dumps(told, indent=2))
        return
    import time

    console.say(text(time.time() * 1000), end="")


@_command("The JSON Schema of the spec language.")
def schema(console: _Console) -> Exit:
    """Print the JSON Schema (draft 2020-12) of the spec language, for completion in editors.

    \b
    Examples:
      restencil schema > restencil.schema.json
    \b
    and as the first line of a spec:
      # yaml-language-server: $schema=../restencil.schema.json
    """
    from restencil_generator.spec.grammar.json_schema import schema_text

    console.say(schema_text(), end="")
    return YES


@_command(
    "Serve the API that the specs describe.",
    _specs_alone,
    _format,
    click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free port."),
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="The address to listen on; requests name it, or this machine, as host.",
    ),
    click.option("--no-auth", is_flag=True, help="Ask for no credential where the spec has `auth`."),
    click.option("--auth-server", is_flag=True, help="Give tokens at the path of each `token_url`, too."),
    click.option(
        "--max-body",
        type=click.IntRange(0),
        default=10_000_000,
        show_default=True,
        metavar="N",
        help="The largest body of a request in bytes; a larger one is answered by 413.",
    ),
    click.option(
        "--fail",
        multiple=True,
        metavar="'METHOD PATH=STATUS'",
        help="Answer the calls of an endpoint by an error, and carry none of them out. May be given several times.",
    ),
)
def mock(
    console: _Console,
    project: Callable[[], Project],
    port: int,
    host: str,
    no_auth: bool,
    auth_server: bool,
    max_body: int,
    fail: Sequence[str],
) -> Exit:
    """Serve the API that the specs describe, stateful, on loopback, until interrupted.

    Examples of the spec are its first data, and are refused where they do not fit the declared types. Errors have the
    bodies that `errors` declares. A single request asks for one with the header `Prefer: status=404`.

    \b
    Examples:
      restencil mock specs/blog.yaml
      restencil mock specs/blog.yaml --port 0
      restencil mock specs/blog.yaml --fail 'GET /articles/:id=404' --fail 'POST /articles=503'
    """
    _need("the mock server", "mock", "starlette", "uvicorn")
    from restencil_generator.api import load_all

    specs = load_all(project().specs)
    from restencil_generator.mock import CannotServe, failure, serve  # only for specs without mistakes

    try:
        failures = [failure(text) for text in fail]
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--fail'") from error
    try:
        serve(
            specs,
            host=host,
            port=port,
            auth=not no_auth,
            auth_server=auth_server,
            max_body=max_body,
            fail=failures,
            announce=console.say,
            log=console.note,
        )
    except CannotServe as error:
        raise Failure(str(error)) from error
    return YES
