"""The command: exit codes, messages, where things go. Run in this process, but where a process of its own matters."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from types import ModuleType
from typing import IO

import click
import pytest
from tests.generator.projects import COMMAND, SPEC, enter, environment, process, python, restencil
from tests.patience import PATIENCE

from restencil_generator import __main__
from restencil_generator.cli.main import cli
from restencil_generator.diagnostics.model import Place, Problem
from restencil_generator.exceptions import Failure, SpecError

BLOG = "specs/blog.yaml"
UP_TO_DATE = ("blog: up to date (5 files)\n", "")
POSTS = Path("blog/posts.py")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with the spec of a blog beside it, no cache, and no CI around."""
    return enter(tmp_path, monkeypatch)


@pytest.fixture
def cache(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of earlier runs; none where a test says so."""
    monkeypatch.setenv("RESTENCIL_CACHE_DIR", str(tmp_path / "cache") if getattr(request, "param", True) else "")
    return tmp_path / "cache"


with_and_without_cache = pytest.mark.parametrize("cache", [False, True], indirect=True, ids=["no cache", "cache"])


def configure(text: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.restencil]\n{text}\n")


def add_shop() -> None:
    """A second spec."""
    Path("specs/shop.yaml").write_text(SPEC.replace("package: blog", "package: shop"))


def append(text: str) -> None:
    """Edits a generated file by hand."""
    POSTS.write_text(f"{POSTS.read_text()}{text}\n")


# ------------------------------------------------------------------------------------------------------------- generate


def test_cli_generate_writes_the_package_below_out() -> None:
    """`generate SPEC --out DIR` writes DIR/<package>/ and says how many files."""
    assert restencil("generate", BLOG, "--out", "src") == ("src/blog: 5 written, 0 unchanged\n", "")
    names = ["__init__.py", "_client.py", "manifest.sha256", "posts.py", "py.typed"]
    assert sorted(path.name for path in Path("src/blog").iterdir()) == names


@pytest.mark.parametrize("form", ["json", "sarif"])
@with_and_without_cache
def test_cli_generate_prints_one_document_in_formats_that_are_documents(form: str, cache: Path) -> None:
    """Whoever parses the output gets a document without findings, the first time and the second."""
    for _ in range(2):
        found = restencil("generate", BLOG, "--format", form).document
        assert (found["problems"] if form == "json" else found["runs"][0]["results"]) == []
    assert POSTS.is_file()


def test_cli_what_was_made_before_is_remembered(cache: Path) -> None:
    """With a cache the second run says the same; a change of the spec or of a file is seen all the same."""
    restencil("generate", BLOG)
    (entry,) = cache.iterdir()
    POSTS.write_text("edited = True\n")
    restencil("generate", BLOG, code=2)
    restencil("generate", BLOG, "--force")
    Path(BLOG).write_text(SPEC.replace("title", "headline"))
    entry.write_text("nonsense")
    restencil("generate", BLOG)
    assert "headline" in POSTS.read_text()


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_cli_dry_run_and_diff_write_nothing(option: str) -> None:
    """Exit code 1 where something would change, 0 where nothing would, and no file either way."""
    shown = restencil("generate", BLOG, option, code=1).out
    assert ("+class Post(restencil.Entity):" in shown) == (option == "--diff")
    printed = restencil("generate", BLOG, option, "--format", "json", code=1)
    assert (printed.document["total"], "+class Post(restencil.Entity):" in printed.err) == (5, option == "--diff")
    assert not Path("blog").exists()
    restencil("generate", BLOG)
    restencil("generate", BLOG, option)


def test_cli_edited_file_is_rejected_with_the_way_out() -> None:
    """Exit code 2, nothing written, and `--force` named; with it, 0."""
    restencil("generate", BLOG)
    append("mine = 1")
    Path("blog/_client.py").unlink()
    assert restencil("generate", BLOG, code=2).err == (
        "restencil: blog/posts.py: edited by hand: differs from what was generated\n"
        "nothing was written. Move the change into the spec, a `python:` reference or a subclass; --diff shows "
        "the change, --force overwrites it\n"
    )
    assert not Path("blog/_client.py").exists()
    restencil("generate", BLOG, "--dry-run", code=2)
    restencil("generate", BLOG, "--force")
    assert "mine" not in POSTS.read_text()
    assert Path("blog/_client.py").exists()


def test_cli_one_refusal_stops_all_specs() -> None:
    """Where one package is rejected, none is written."""
    add_shop()
    restencil("generate", "specs/shop.yaml")
    Path("shop/posts.py").write_text("mine = 1\n")
    restencil("generate", BLOG, "specs/shop.yaml", code=2)
    assert not Path("blog").exists()


def test_cli_two_specs_of_one_package_are_a_mistake(cache: Path) -> None:
    """Two specs may not write one package, also where an earlier run is remembered of one of them."""
    restencil("generate", BLOG)
    shutil.copy(BLOG, "specs/copy.yaml")
    for command in ("generate", "check"):
        said = restencil(command, BLOG, "specs/copy.yaml", code=2).err
        assert "the package 'blog' is also the package of specs/blog.yaml" in said


@with_and_without_cache
@pytest.mark.parametrize("command", ["generate", "check"])
def test_cli_spec_named_twice_counts_once(command: str, cache: Path) -> None:
    """However it is spelled, and whether or not an earlier run is remembered."""
    restencil("generate", BLOG)
    assert restencil(command, BLOG, f"./{BLOG}", Path(BLOG).resolve()) == UP_TO_DATE


@pytest.mark.parametrize("out", ["taken", "taken/below/it"])
@pytest.mark.parametrize("command", ["generate", "check"])
def test_cli_out_below_a_file_is_said_to_be_one(command: str, out: str) -> None:
    """A file where `--out` needs a folder: no package can be written there, for `generate` and for `check`."""
    Path("taken").write_text("a file")
    said = restencil(command, BLOG, "--out", out, code=2).err
    assert "taken is a file; the package 'blog' needs a folder there" in said


def test_cli_closed_streams_change_no_exit_code() -> None:
    """Who closes stdout or stderr wants the exit code alone."""

    def code(closed: str) -> int:
        command = f"{' '.join(COMMAND)} check {BLOG} {closed}"
        return subprocess.run(command, shell=True, env=environment(), check=False, timeout=PATIENCE).returncode

    assert (code(">&-"), code(">&- 2>&-")) == (1, 1)
    restencil("generate", BLOG)
    assert code(">&-") == 0


# ---------------------------------------------------------------------------------------------------------------- check


def test_cli_comment_added_by_hand_is_said_to_be_of_a_hand() -> None:
    """The code is the same, and still it was edited by hand: both are said."""
    restencil("generate", BLOG)
    append("# mine")
    said = "blog/posts.py: formatting only: edited by hand: the code is the same, the layout or comments differ"
    assert said in restencil("check", BLOG, code=1).out


def test_cli_check_says_yes_and_no() -> None:
    """0 where the package is what the spec gives; 1 after an edit or a change of the spec, each with its cause."""
    restencil("generate", BLOG)
    assert restencil("check", BLOG) == UP_TO_DATE
    original = POSTS.read_text()
    POSTS.write_text(original.replace('""', '"edited"', 1))
    assert restencil("check", BLOG, code=1).out == (
        "blog/posts.py: edited by hand: differs from what was generated\n"
        "blog: 1 of 5 files differ from specs/blog.yaml; `restencil generate specs/blog.yaml --force` writes them\n"
    )
    POSTS.write_text(original)
    Path(BLOG).write_text(SPEC.replace("title", "headline"))
    said = restencil("check", BLOG, code=1).out
    assert "blog/posts.py: spec changed: the spec changed after the file was generated\n" in said


def test_cli_check_says_which_files_are_missing_or_left_over() -> None:
    """A file that is gone, and one that the spec no longer gives."""
    restencil("generate", BLOG)
    Path("blog/_client.py").unlink()
    Path(BLOG).write_text(SPEC.replace("posts:", "notes:"))
    shown = restencil("check", BLOG, code=1).out
    assert "blog/_client.py: missing: the package needs this file, and it does not exist\n" in shown
    assert "blog/posts.py: orphan: the spec no longer contains what this file was generated for\n" in shown
    assert restencil("generate", BLOG).out == "blog: 4 written, 1 removed, 1 unchanged\n"


def test_cli_check_advises_the_command_that_writes_what_it_looked_at() -> None:
    """Specs and `--out` of the command line stand in the advice, as a shell reads them, in every format."""
    Path("my specs").mkdir()
    Path("my specs/blog.yaml").write_text(SPEC)
    selected = ["my specs/blog.yaml", "--out", "made"]
    advice = "`restencil generate 'my specs/blog.yaml' --out made` writes"
    assert f"; {advice} them\n" in restencil("check", *selected, code=1).out
    problems = restencil("check", *selected, "--format", "json", code=1).document["problems"]
    assert {one["hint"] for one in problems} == {f"{advice} it"}


def test_cli_check_leaves_no_file_out_of_a_document() -> None:
    """However many differ; people are shown as many as they can read."""
    resource = SPEC.splitlines()[-1]
    more = (resource.replace("post", f"post{n}").replace("Post", f"Post{n}") for n in range(60))
    Path(BLOG).write_text("\n".join([SPEC, *more]))
    found = restencil("check", BLOG, "--format", "json", code=1).document
    assert (found["total"], found["omitted"], len(found["problems"])) == (65, 0, 65)


def test_cli_renamed_spec_changes_each_header() -> None:
    """The same spec under another name differs in the headers alone, and `generate` brings them up to date.

    Another name is no cause where the content differs as well.
    """
    restencil("generate", BLOG)
    shutil.move(BLOG, "specs/news.yaml")
    *files, summary = restencil("check", "specs/news.yaml", code=1).out.splitlines()
    changed = [f"blog/{name}" for name in ("__init__.py", "_client.py", "manifest.sha256", "posts.py")]
    assert [line.partition(": generator changed: ")[0] for line in files] == changed
    assert "another name of the file of the spec" in files[0]
    assert summary == "blog: 4 of 5 files differ from specs/news.yaml; `restencil generate specs/news.yaml` writes them"
    Path("specs/other.yaml").write_text(SPEC.replace("title: string", "title: string?"))
    assert "blog/posts.py: spec changed: " in restencil("check", "specs/other.yaml", code=1).out
    restencil("generate", "specs/news.yaml")
    restencil("check", "specs/news.yaml")


@pytest.mark.parametrize("name", ["a\nimport os #.yaml", "\u202ea.yaml", "a\x1b[31m.yaml", "a\\n.yaml"])
def test_cli_name_of_a_spec_stays_in_the_comment_that_reports_it(name: str) -> None:
    """Whatever a file is called, the header is one line of characters that show."""
    Path(name).write_text(SPEC)
    restencil("generate", name)
    first, second, *_ = POSTS.read_text("utf-8").split("\n")
    assert first.startswith("# Generated by restencil from ")
    assert first.endswith(".yaml; do not edit.")
    assert first.isprintable()
    assert second == '# mypy: disable-error-code="empty-body"'
    restencil("check", name)


def test_cli_github_is_the_format_under_github_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a workflow findings are annotations without being asked for."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert restencil("check", BLOG, code=1).out.startswith("::error ")


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize("command", ["generate", "check", "lint"])
@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        ("missing", BLOG),
        ("empty", BLOG),
        ("no yaml", BLOG),
        ("folder without specs", "specs"),
        ("a mistake", "unknown type 'strng'"),
        ("link to itself", "specs/blog.yaml: error[unreadable-file]: cannot be read: "),
    ],
)
def test_cli_spec_that_cannot_be_used_is_reported(command: str, prepare: str, said: str) -> None:
    """Exit code 2, a message that names the file, and nothing is written."""
    spec = Path(BLOG)
    spec.unlink()
    match prepare:
        case "empty":
            spec.write_text("")
        case "no yaml":
            spec.write_text("a: [1\nb: }")
        case "a mistake":
            spec.write_text(SPEC.replace("string", "strng"))
        case "link to itself":
            spec.symlink_to("blog.yaml")
        case _:
            pass
    assert said in "".join(restencil(command, "specs" if prepare == "folder without specs" else BLOG, code=2))
    assert sorted(path.name for path in Path().iterdir()) == ["specs"]


def test_cli_foreign_file_of_the_same_name_is_reported() -> None:
    """A file of somebody else in the place of a generated one: exit code 2, nothing changed, also with --force."""
    Path("blog").mkdir()
    POSTS.write_text("mine = 1\n")
    assert restencil("generate", BLOG, "--force", code=2).err == (
        "restencil: blog/posts.py: foreign file: not generated by restencil, but has the path of a generated file\n"
        "nothing was written. Move the foreign file away, or choose another --out or `package`\n"
    )
    assert [path.read_text() for path in Path("blog").iterdir()] == ["mine = 1\n"]


@pytest.mark.parametrize("command", ["generate", "check", "lint", "mock"])
def test_cli_no_spec_and_no_configuration_is_reported(command: str) -> None:
    """Without configuration a SPEC is required."""
    assert restencil(command, code=2).err == (
        "restencil: no spec: give the path of one, such as specs/blog.yaml, or list them under [tool.restencil] in "
        "pyproject.toml (`restencil init` writes an example)\n"
    )


@pytest.mark.parametrize("arguments", [["zz"], ["generate", "--zz"], ["check", "--format", "xml"], []])
def test_cli_wrong_usage_is_exit_code_2(arguments: list[str]) -> None:
    """Unknown commands, options and values are usage errors on stderr."""
    out, err = restencil(*arguments, code=2)
    assert out == "" and "Usage: restencil" in err


@pytest.mark.parametrize("other", ["--dry-run", "--diff"])
def test_cli_watch_does_not_go_with_dry_run(other: str) -> None:
    """Options that contradict each other are a usage error."""
    said = restencil("generate", BLOG, "--watch", other, code=2).err
    assert "--watch writes packages; it cannot be combined with --dry-run or --diff" in said


# -------------------------------------------------------------------------------------------------------- configuration


def test_cli_specs_and_out_come_from_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths of the configuration are relative to its file, wherever one is; a spec that two match counts once."""
    configure('specs = ["specs/*.yaml", "./specs/blog.yaml"]\nout = "src"')
    Path("deep/er").mkdir(parents=True)
    monkeypatch.chdir("deep/er")
    assert restencil("generate") == ("../../src/blog: 5 written, 0 unchanged\n", "")
    restencil("check")


def test_cli_patterns_pass_over_names_that_begin_with_a_dot() -> None:
    """What an import keeps beside a spec is no spec."""
    Path("specs/.imported").mkdir()
    Path("specs/.imported/blog.yaml").write_text("no spec at all")
    Path("specs/.blog.yaml").write_text("no spec at all")
    configure('specs = ["specs/**/*.yaml", "specs/*.yaml"]\nout = "src"')
    restencil("generate")


def test_cli_search_for_a_configuration_ends_at_a_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pyproject.toml above a folder with `.git` is another project's."""
    configure('specs = ["specs/*.yaml"]')
    Path("inner/.git").mkdir(parents=True)
    monkeypatch.chdir("inner")
    assert "no spec" in restencil("check", code=2).err


def test_cli_command_line_goes_over_the_configuration() -> None:
    """SPEC and --out of the command line are relative to the working directory."""
    configure('specs = ["nowhere/*.yaml"]\nout = "src"')
    restencil("generate", BLOG, "--out", "lib")
    assert Path("lib/blog").is_dir()
    restencil("generate", BLOG)
    assert Path("src/blog").is_dir()


def test_cli_configuration_can_be_named() -> None:
    """`--config FILE` takes that file; one without the table is told."""
    Path("sub").mkdir()
    Path("sub/pyproject.toml").write_text('[tool.restencil]\nspecs = ["../specs/blog.yaml"]\nout = "gen"\n')
    restencil("generate", "--config", "sub/pyproject.toml")
    assert Path("sub/gen/blog").is_dir()
    Path("sub/pyproject.toml").write_text("[project]\n")
    assert "there is no [tool.restencil] table" in restencil("generate", "--config", "sub/pyproject.toml", code=2).err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'specs = ["specs/*.yaml"]\nouts = "src"',
            "unknown key `outs` in [tool.restencil] (known: diff, import, out, specs, templates); did you mean 'out'?",
        ),
        (f'specs = "{BLOG}"', '`specs` in [tool.restencil] must be a list of strings, such as ["specs/*.yaml"]'),
        ('specs = ["nowhere/*.yaml"]', "no spec matches 'nowhere/*.yaml' in `specs`"),
        ("out = 1", "`out` in [tool.restencil] must be a string"),
        ("specs = [", "is not valid TOML"),
        ('out = "src"', "has no `specs`, and no spec is given on the command line"),
    ],
)
def test_cli_configuration_that_is_not_understood_is_reported(text: str, said: str) -> None:
    """Exit code 2 and a message that names file and key."""
    configure(text)
    error = restencil("check", code=2).err
    assert "pyproject.toml" in error and said in error


# ------------------------------------------------------------------------------------------------------- other commands


def test_cli_init_writes_what_a_project_needs() -> None:
    """Configuration, example, .gitattributes and snippets; what it writes generates and checks at once."""
    assert restencil("init", "app").err == "next: run `restencil generate` in app\n"
    os.chdir("app")
    names = [".gitattributes", ".github/workflows/restencil.yml", ".pre-commit-config.yaml"]
    names += ["pyproject.toml", "specs/todo.yaml"]
    assert sorted(path.as_posix() for path in Path().rglob("*") if path.is_file()) == names
    for command in ("generate", "check", "lint"):
        restencil(command)
    assert "retries=2," in Path("src/todo_app/todos.py").read_text("utf-8")  # by hand there are none
    assert "SQLiteStorage" in Path("specs/todo.yaml").read_text("utf-8")


def test_cli_init_overwrites_nothing() -> None:
    """What is there stays, byte for byte; the configuration is added to a pyproject.toml that has none."""
    Path("pyproject.toml").write_text('[project]\nname = "x"')
    Path(".gitattributes").write_text("* text")
    Path(".pre-commit-config.yaml").write_text("mine")
    restencil("init")
    assert Path("pyproject.toml").read_text().startswith('[project]\nname = "x"\n\n[tool.restencil]\n')
    assert Path(".gitattributes").read_text().startswith("* text\nsrc/todo_app/** ")
    assert Path(".pre-commit-config.yaml").read_text() == "mine"
    assert Path(BLOG).read_text() == SPEC
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert "kept pyproject.toml: has [tool.restencil] already" in restencil("init").out
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_cli_schema_prints_a_json_schema() -> None:
    """`schema` prints JSON Schema 2020-12."""
    assert restencil("schema").document["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_cli_explain_says_what_a_code_means() -> None:
    """The rule, what kind of finding it is, and what to do; a code that is none is told with one that is near."""
    explained = (
        "# `plain-http`\n\nA secret is sent encrypted.\n\n"
        "A warning of `restencil lint` about a valid spec.\n\n"
        "Over `http:` everyone on the network path can read the secret. Only this machine is exempt.\n"
    )
    assert restencil("explain", "plain-http") == (explained, "")
    assert "For callers: it breaks. In requests and responses: none." in restencil("explain", "field-removed").out
    none = "restencil: there is no code 'plain-htt'; did you mean 'plain-http'?\n"
    assert restencil("explain", "plain-htt", code=2) == ("", none)


@pytest.mark.parametrize("command", [*([command] for command in sorted(cli.commands)), ["export", "openapi"]])
def test_cli_every_command_has_help_with_examples(command: list[str]) -> None:
    """`--help` is exit code 0 and shows how the command is used."""
    assert "Examples:" in restencil(*command, "--help").out


def test_cli_version_is_reported() -> None:
    """`--version` prints name and version."""
    assert re.fullmatch(r"restencil \S.*\n", restencil("--version").out)


# ------------------------------------------------------------------------------------------------------ manners


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (Failure("there is no way"), 2, "restencil: there is no way\n"),
        (SpecError([Problem("c", "is wrong", Place("a.yaml"))], {}), 2, "a.yaml: error[c]: is wrong\n1 error\n"),
        (click.UsageError("not like this"), 2, "Error: not like this\n"),
        (click.FileError("a.yaml", "is gone"), 2, "Error: Could not open file 'a.yaml': is gone\n"),
        (FileNotFoundError(2, "No such file", "a.yaml"), 2, "restencil: a.yaml: No such file\n"),
        (OSError("no space"), 2, "restencil: no space\n"),
        (ZeroDivisionError("no"), 3, "restencil: internal error: ZeroDivisionError: no\n"),
        (ZeroDivisionError("no"), 3, "Please report it"),
        (click.Abort(), 130, "restencil: interrupted\n"),
        (KeyboardInterrupt(), 130, "restencil: interrupted\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_cli_each_kind_of_error_has_its_exit_code(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a command raises, click's own errors among it: never 1, which says that something differs."""

    def scaffold(directory: Path) -> None:
        raise error

    broken = ModuleType("broken")
    broken.scaffold = scaffold  # type: ignore[attr-defined]  # a double of the module
    monkeypatch.setitem(sys.modules, "restencil_generator.project.scaffold", broken)
    out, err = restencil("init", code=code)
    assert out == "" and said in err


@pytest.mark.parametrize(
    "command",
    [["generate"], ["generate", "--dry-run"], ["generate", "--diff"], ["check"], ["check", "--diff"], ["lint"]],
)
def test_cli_several_specs_are_one_document(command: list[str]) -> None:
    """Whoever parses the output of a command gets one JSON document, however many packages there are."""
    add_shop()
    code = 0 if command in (["generate"], ["lint"]) else 1
    found = restencil(*command, BLOG, "specs/shop.yaml", "--format", "json", code=code).document
    assert found["total"] == (10 if code else 0)


@pytest.mark.parametrize("command", ["generate", "check", "lint", "mock"])
def test_cli_mistakes_of_all_specs_are_reported_at_once(command: str) -> None:
    """One run tells everything, in the format that was asked for."""
    names = [BLOG, "specs/shop.yaml"]
    for name in names:
        Path(name).write_text(SPEC.replace("string", "strng").replace("blog\n", f"{Path(name).stem}\n"))
    problems = restencil(command, *names, "--format", "json", code=2).document["problems"]
    assert [problem["file"] for problem in problems] == names


@contextlib.contextmanager
def started(*arguments: str) -> Generator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
    """A run in a process of its own, its stdout and its stderr; interrupted at the end of the block."""
    pipe, command = subprocess.PIPE, [*COMMAND, *arguments]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment()) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            yield process, process.stdout, process.stderr
        finally:
            process.send_signal(signal.SIGINT)


def test_cli_interruption_is_exit_code_130() -> None:
    """Ctrl-C ends the command with 130 and one line."""
    with started("generate", BLOG, "--watch") as (process, _, err):
        assert err.readline().startswith("watching ")
        process.send_signal(signal.SIGINT)
        assert (process.wait(PATIENCE), "Traceback" in err.read()) == (130, False)


def save(text: str) -> None:
    """Replaces the spec at once, as editors do: nobody sees half of it."""
    Path("specs/blog.new").write_text(text)
    Path("specs/blog.new").replace(BLOG)


def test_cli_watch_generates_again_after_a_change() -> None:
    """A change of the spec is in the package a moment later; a broken spec in between is told and survived."""
    with started("generate", BLOG, "--watch") as (_, out, err):
        assert out.readline().startswith("blog: 5 written")
        assert err.readline().startswith("watching ")
        save(SPEC.replace("string", "strng"))
        assert "unknown type 'strng'" in err.readline()
        save(SPEC.replace("title", "headline"))
        assert out.readline().startswith("blog: 2 written")
        assert "headline" in POSTS.read_text()


def test_cli_reader_that_leaves_early_is_no_error() -> None:
    """`restencil schema | head -1` says nothing on stderr."""
    with started("schema") as (process, out, err):
        out.close()
        assert (err.read(), process.wait(PATIENCE)) == ("", 0)


def test_cli_results_go_to_stdout_without_colours_where_no_one_watches() -> None:
    """Piped output holds no escape sequences; progress and errors are not in it."""
    done = process("generate", BLOG)
    assert (done.returncode, done.stdout, done.stderr) == (0, "blog: 5 written, 0 unchanged\n", "")


def on_a_terminal(*arguments: str, **variables: str) -> str:
    """What the command prints where somebody watches."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    started = subprocess.Popen([*COMMAND, *arguments], stdout=theirs, stderr=theirs, env=environment(**variables))
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone when the command has ended
        while piece := os.read(ours, 65536):
            shown += piece
    started.wait(timeout=PATIENCE)
    os.close(ours)
    return shown.decode()


def test_cli_colours_where_a_terminal_is() -> None:
    """A terminal shows colours, unless NO_COLOR says no."""
    assert "\x1b[32m5 written\x1b[0m" in on_a_terminal("generate", BLOG)
    assert "\x1b" not in on_a_terminal("check", BLOG, NO_COLOR="1")
    assert "\x1b[32mup to date" in on_a_terminal("check", BLOG)


def test_cli_help_needs_nothing_but_click() -> None:
    """`--help` imports neither yaml nor jinja2 nor black nor httpx."""
    code = (
        "import sys; from restencil_generator.__main__ import main; code = main(['--help']); "
        "print(sorted({'yaml', 'jinja2', 'black', 'httpx', 'restencil'} & set(sys.modules))); sys.exit(code)"
    )
    done = python("-c", code)
    assert done.returncode == 0 and done.stdout.endswith("\n[]\n")


def test_cli_help_names_each_command_in_one_line() -> None:
    """Nothing in the list of commands is cut off."""
    listed = restencil("--help").out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in listed] == sorted(cli.commands)
    assert all(line.endswith((".", "?")) and not line.endswith("...") for line in listed)


def test_cli_interruption_of_the_start_is_reported_in_one_line() -> None:
    """Ctrl-C while the command is still being imported shows no traceback either."""
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': raise KeyboardInterrupt\n"
        "from restencil_generator.__main__ import main\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "sys.exit(main(['schema']))"
    )
    done = python("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "restencil: interrupted\n")


def test_cli_without_the_extra_the_pip_command_is_reported() -> None:
    """Where click and the like are not installed, the command says what to install and exits with 2."""
    generator = str(Path(__main__.__file__).parents[1])
    code = f"import sys; sys.path.insert(0, {generator!r}); from restencil_generator.__main__ import main"
    done = python("-S", "-I", "-c", f"{code}; sys.exit(main([]))")
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        "restencil: the generator is not installed (missing: black, click, jinja2, pyyaml). Install it with\n\n"
        "    pip install 'restencil[generator]'\n\n"
        "Generated packages run without it; only generating and checking need it.\n",
    )


def test_cli_shell_can_complete() -> None:
    """With `_RESTENCIL_COMPLETE` the command prints the script for the shell."""
    done = process(_RESTENCIL_COMPLETE="bash_source")
    assert done.returncode == 0 and "_restencil_completion()" in done.stdout
