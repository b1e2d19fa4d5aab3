"""The command: exit codes, messages, where things go. Run in this process, but where a process of its own matters."""

from __future__ import annotations

import contextlib
import json
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
from tests.generator.projects import COMMAND, SPEC, enter, process
from tests.patience import PATIENCE

from restencil_generator import __main__
from restencil_generator.cli.main import cli, run
from restencil_generator.diagnostics.model import Place, Problem
from restencil_generator.exceptions import Failure, SpecError


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory with the spec of a blog beside it, no cache, and no CI around."""
    return enter(tmp_path, monkeypatch)


def configure(text: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.restencil]\n{text}\n")


# ------------------------------------------------------------------------------------------------------------- generate


def test_cli_generate_writes_the_package_below_out(capsys: pytest.CaptureFixture[str]) -> None:
    """`generate SPEC --out DIR` writes DIR/<package>/ and says how many files."""
    assert run(["generate", "specs/blog.yaml", "--out", "src"]) == 0
    assert capsys.readouterr().out == "src/blog: 5 written, 0 unchanged\n"
    assert sorted(path.name for path in Path("src/blog").iterdir()) == [
        "__init__.py",
        "_client.py",
        "manifest.sha256",
        "posts.py",
        "py.typed",
    ]


@pytest.mark.parametrize("form", ["json", "sarif"])
@pytest.mark.parametrize("cache", ["", "cache"])
def test_cli_generate_prints_one_document_in_formats_that_are_documents(
    form: str, cache: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever parses the output gets a document without findings, the first time and the second."""
    monkeypatch.setenv("RESTENCIL_CACHE_DIR", str(Path(cache).resolve()) if cache else "")
    for _ in range(2):
        assert run(["generate", "specs/blog.yaml", "--format", form]) == 0
        document = json.loads(capsys.readouterr().out)
        assert (document["problems"] if form == "json" else document["runs"][0]["results"]) == []
    assert Path("blog/posts.py").is_file()


def test_cli_what_was_made_before_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cache the second run says the same; a change of the spec or of a file is seen all the same."""
    monkeypatch.setenv("RESTENCIL_CACHE_DIR", str(tmp_path / "cache"))
    assert run(["generate", "specs/blog.yaml"]) == 0
    assert len(list((tmp_path / "cache").iterdir())) == 1
    Path("blog/posts.py").write_text("edited = True\n")
    assert run(["generate", "specs/blog.yaml"]) == 2
    assert run(["generate", "specs/blog.yaml", "--force"]) == 0
    Path("specs/blog.yaml").write_text(SPEC.replace("title", "headline"))
    next(path for path in (tmp_path / "cache").iterdir()).write_text("nonsense")
    assert run(["generate", "specs/blog.yaml"]) == 0
    assert "headline" in Path("blog/posts.py").read_text()


@pytest.mark.parametrize("option", ["--dry-run", "--diff"])
def test_cli_dry_run_and_diff_write_nothing(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 where something would change, 0 where nothing would, and no file either way."""
    assert run(["generate", "specs/blog.yaml", option]) == 1
    assert not Path("blog").exists()
    out = capsys.readouterr().out
    assert ("+class Post(restencil.Entity):" in out) == (option == "--diff")
    run(["generate", "specs/blog.yaml"])
    assert run(["generate", "specs/blog.yaml", option]) == 0


def test_cli_edited_file_is_rejected_with_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, nothing written, and `--force` named; with it, 0."""
    run(["generate", "specs/blog.yaml"])
    with Path("blog/posts.py").open("a") as file:
        file.write("mine = 1\n")
    Path("blog/_client.py").unlink()
    capsys.readouterr()
    assert run(["generate", "specs/blog.yaml"]) == 2
    assert capsys.readouterr().err == (
        "restencil: blog/posts.py: edited by hand: differs from what was generated\n"
        "nothing was written. Move the change into the spec, a `python:` reference or a subclass; --diff shows "
        "the change, --force overwrites it\n"
    )
    assert not Path("blog/_client.py").exists()
    assert run(["generate", "specs/blog.yaml", "--dry-run"]) == 2
    assert run(["generate", "specs/blog.yaml", "--force"]) == 0
    assert "mine" not in Path("blog/posts.py").read_text()
    assert Path("blog/_client.py").exists()


def test_cli_one_refusal_stops_all_specs() -> None:
    """Where one package is rejected, none is written."""
    Path("specs/shop.yaml").write_text(SPEC.replace("package: blog", "package: shop"))
    run(["generate", "specs/shop.yaml"])
    Path("shop/posts.py").write_text("mine = 1\n")
    assert run(["generate", "specs/blog.yaml", "specs/shop.yaml"]) == 2
    assert not Path("blog").exists()


def test_cli_two_specs_of_one_package_are_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two specs may not write one package, also where an earlier run is remembered of one of them."""
    monkeypatch.setenv("RESTENCIL_CACHE_DIR", str(tmp_path / "cache"))
    run(["generate", "specs/blog.yaml"])
    shutil.copy("specs/blog.yaml", "specs/copy.yaml")
    for command in ("generate", "check"):
        assert run([command, "specs/blog.yaml", "specs/copy.yaml"]) == 2
        assert "the package 'blog' is also the package of specs/blog.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("cache", ["", "cache"])
@pytest.mark.parametrize("command", ["generate", "check"])
def test_cli_spec_named_twice_counts_once(
    command: str, cache: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """However it is spelled, and whether or not an earlier run is remembered."""
    monkeypatch.setenv("RESTENCIL_CACHE_DIR", str(Path(cache).resolve()) if cache else "")
    run(["generate", "specs/blog.yaml"])
    capsys.readouterr()
    assert run([command, "specs/blog.yaml", "./specs/blog.yaml", str(Path("specs/blog.yaml").resolve())]) == 0
    assert capsys.readouterr().out == "blog: up to date (5 files)\n"


@pytest.mark.parametrize("out", ["taken", "taken/below/it"])
def test_cli_out_below_a_file_is_said_to_be_one(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A file where `--out` needs a folder: no package can be written there, for `generate` and for `check`."""
    Path("taken").write_text("a file")
    for command in ("generate", "check"):
        assert run([command, "specs/blog.yaml", "--out", out]) == 2
        assert "taken is a file; the package 'blog' needs a folder there" in capsys.readouterr().err


def test_cli_closed_streams_change_no_exit_code() -> None:
    """Who closes stdout or stderr wants the exit code alone."""
    command = " ".join([*COMMAND, "check", "specs/blog.yaml"])
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def code(closed: str) -> int:
        done = subprocess.run(f"{command} {closed}", shell=True, env=variables, check=False, timeout=PATIENCE)
        return done.returncode

    assert (code(">&-"), code(">&- 2>&-")) == (1, 1)
    run(["generate", "specs/blog.yaml"])
    assert code(">&-") == 0


# ---------------------------------------------------------------------------------------------------------------- check


def test_cli_comment_added_by_hand_is_said_to_be_of_a_hand(capsys: pytest.CaptureFixture[str]) -> None:
    """The code is the same, and still it was edited by hand: both are said."""
    run(["generate", "specs/blog.yaml"])
    capsys.readouterr()
    with Path("blog/posts.py").open("a") as file:
        file.write("# mine\n")
    assert run(["check", "specs/blog.yaml"]) == 1
    said = "blog/posts.py: formatting only: edited by hand: the code is the same, the layout or comments differ"
    assert said in capsys.readouterr().out


def test_cli_check_says_yes_and_no(capsys: pytest.CaptureFixture[str]) -> None:
    """0 where the package is what the spec gives; 1 after an edit or a change of the spec, each with its cause."""
    run(["generate", "specs/blog.yaml"])
    capsys.readouterr()
    assert run(["check", "specs/blog.yaml"]) == 0
    assert capsys.readouterr().out == "blog: up to date (5 files)\n"
    original = Path("blog/posts.py").read_text()
    Path("blog/posts.py").write_text(original.replace('""', '"edited"', 1))
    assert run(["check", "specs/blog.yaml"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "blog/posts.py: edited by hand: differs from what was generated",
        "blog: 1 of 5 files differ from specs/blog.yaml; `restencil generate specs/blog.yaml --force` writes them",
    ]
    Path("blog/posts.py").write_text(original)
    Path("specs/blog.yaml").write_text(SPEC.replace("title", "headline"))
    assert run(["check", "specs/blog.yaml"]) == 1
    assert "blog/posts.py: spec changed: the spec changed after the file was generated\n" in capsys.readouterr().out


def test_cli_check_says_which_files_are_missing_or_left_over(capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is gone, and one that the spec no longer gives."""
    run(["generate", "specs/blog.yaml"])
    Path("blog/_client.py").unlink()
    Path("specs/blog.yaml").write_text(SPEC.replace("posts:", "notes:"))
    capsys.readouterr()
    assert run(["check", "specs/blog.yaml"]) == 1
    shown = capsys.readouterr().out
    assert "blog/_client.py: missing: the package needs this file, and it does not exist\n" in shown
    assert "blog/posts.py: orphan: the spec no longer contains what this file was generated for\n" in shown


def test_cli_check_advises_the_command_that_writes_what_it_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    """Specs and `--out` of the command line stand in the advice, as a shell reads them, in every format."""
    Path("my specs").mkdir()
    Path("my specs/blog.yaml").write_text(SPEC)
    selected = ["my specs/blog.yaml", "--out", "made"]
    assert run(["check", *selected]) == 1
    advice = "`restencil generate 'my specs/blog.yaml' --out made` writes"
    assert f"; {advice} them\n" in capsys.readouterr().out
    assert run(["check", *selected, "--format", "json"]) == 1
    assert {one["hint"] for one in json.loads(capsys.readouterr().out)["problems"]} == {f"{advice} it"}


def test_cli_renamed_spec_changes_each_header(capsys: pytest.CaptureFixture[str]) -> None:
    """The same spec under another name differs in the headers alone, and `generate` brings them up to date.

    Another name is no cause where the content differs as well.
    """
    run(["generate", "specs/blog.yaml"])
    shutil.move("specs/blog.yaml", "specs/news.yaml")
    capsys.readouterr()
    assert run(["check", "specs/news.yaml"]) == 1
    *files, summary = capsys.readouterr().out.splitlines()
    assert [line.partition(": generator changed: ")[0] for line in files] == [
        "blog/__init__.py",
        "blog/_client.py",
        "blog/manifest.sha256",
        "blog/posts.py",
    ]
    assert "another name of the file of the spec" in files[0]
    assert summary == "blog: 4 of 5 files differ from specs/news.yaml; `restencil generate specs/news.yaml` writes them"
    Path("specs/other.yaml").write_text(SPEC.replace("title: string", "title: string?"))
    assert run(["check", "specs/other.yaml"]) == 1
    assert "blog/posts.py: spec changed: " in capsys.readouterr().out
    assert run(["generate", "specs/news.yaml"]) == 0
    assert run(["check", "specs/news.yaml"]) == 0


@pytest.mark.parametrize("name", ["a\nimport os #.yaml", "\u202ea.yaml", "a\x1b[31m.yaml", "a\\n.yaml"])
def test_cli_name_of_a_spec_stays_in_the_comment_that_reports_it(name: str) -> None:
    """Whatever a file is called, the header is one line of characters that show."""
    Path(name).write_text(SPEC)
    assert run(["generate", name]) == 0
    first, second, *_ = Path("blog/posts.py").read_text("utf-8").split("\n")
    assert first.startswith("# Generated by restencil from ")
    assert first.endswith(".yaml; do not edit.")
    assert first.isprintable()
    assert second == '# mypy: disable-error-code="empty-body"'
    assert run(["check", name]) == 0


def test_cli_github_is_the_format_under_github_actions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a workflow findings are annotations without being asked for."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert run(["check", "specs/blog.yaml"]) == 1
    assert capsys.readouterr().out.startswith("::error ")


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize("command", ["generate", "check", "lint"])
@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        ("missing", "specs/blog.yaml"),
        ("empty", "specs/blog.yaml"),
        ("no yaml", "specs/blog.yaml"),
        ("folder without specs", "specs"),
        ("a mistake", "unknown type 'strng'"),
        ("link to itself", "specs/blog.yaml: error[unreadable-file]: cannot be read: "),
    ],
)
def test_cli_spec_that_cannot_be_used_is_reported(
    command: str, prepare: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, a message that names the file, and nothing is written."""
    spec = Path("specs/blog.yaml")
    match prepare:
        case "empty":
            spec.write_text("")
        case "no yaml":
            spec.write_text("a: [1\nb: }")
        case "a mistake":
            spec.write_text(SPEC.replace("string", "strng"))
        case "link to itself":
            spec.unlink()
            spec.symlink_to("blog.yaml")
        case _:
            spec.unlink()
    named = "specs" if prepare == "folder without specs" else "specs/blog.yaml"
    assert run([command, named]) == 2
    shown = capsys.readouterr()
    assert said in shown.out + shown.err
    assert sorted(path.name for path in Path().iterdir()) == ["specs"]


def test_cli_foreign_file_of_the_same_name_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """A file of somebody else in the place of a generated one: exit code 2, nothing changed, also with --force."""
    Path("blog").mkdir()
    Path("blog/posts.py").write_text("mine = 1\n")
    assert run(["generate", "specs/blog.yaml", "--force"]) == 2
    assert capsys.readouterr().err == (
        "restencil: blog/posts.py: foreign file: not generated by restencil, but has the path of a generated file\n"
        "nothing was written. Move the foreign file away, or choose another --out or `package`\n"
    )
    assert [path.read_text() for path in Path("blog").iterdir()] == ["mine = 1\n"]


def test_cli_no_spec_and_no_configuration_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Without configuration a SPEC is required."""
    for command in ("generate", "check", "lint", "mock"):
        assert run([command]) == 2
        assert capsys.readouterr().err == (
            "restencil: no spec: give the path of one, such as specs/blog.yaml, or list them under [tool.restencil] in "
            "pyproject.toml (`restencil init` writes an example)\n"
        )


@pytest.mark.parametrize("arguments", [["zz"], ["generate", "--zz"], ["check", "--format", "xml"], []])
def test_cli_wrong_usage_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown commands, options and values are usage errors on stderr."""
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Usage: restencil" in shown.err


@pytest.mark.parametrize("other", ["--dry-run", "--diff"])
def test_cli_watch_does_not_go_with_dry_run(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that contradict each other are a usage error."""
    assert run(["generate", "specs/blog.yaml", "--watch", other]) == 2
    assert "--watch writes packages; it cannot be combined with --dry-run or --diff" in capsys.readouterr().err


# -------------------------------------------------------------------------------------------------------- configuration


def test_cli_specs_and_out_come_from_the_configuration(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paths of the configuration are relative to its file, wherever one is; a spec that two match counts once."""
    configure('specs = ["specs/*.yaml", "./specs/blog.yaml"]\nout = "src"')
    Path("deep/er").mkdir(parents=True)
    monkeypatch.chdir("deep/er")
    assert run(["generate"]) == 0
    assert capsys.readouterr().out == "../../src/blog: 5 written, 0 unchanged\n"
    assert run(["check"]) == 0


def test_cli_patterns_pass_over_names_that_begin_with_a_dot() -> None:
    """What an import keeps beside a spec is no spec."""
    Path("specs/.imported").mkdir()
    Path("specs/.imported/blog.yaml").write_text("no spec at all")
    Path("specs/.blog.yaml").write_text("no spec at all")
    configure('specs = ["specs/**/*.yaml", "specs/*.yaml"]\nout = "src"')
    assert run(["generate"]) == 0


def test_cli_search_for_a_configuration_ends_at_a_repository(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pyproject.toml above a folder with `.git` is another project's."""
    configure('specs = ["specs/*.yaml"]')
    Path("inner/.git").mkdir(parents=True)
    monkeypatch.chdir("inner")
    assert run(["check"]) == 2
    assert "no spec" in capsys.readouterr().err


def test_cli_command_line_goes_over_the_configuration() -> None:
    """SPEC and --out of the command line are relative to the working directory."""
    configure('specs = ["nowhere/*.yaml"]\nout = "src"')
    assert run(["generate", "specs/blog.yaml", "--out", "lib"]) == 0
    assert Path("lib/blog").is_dir()
    assert run(["generate", "specs/blog.yaml"]) == 0
    assert Path("src/blog").is_dir()


def test_cli_configuration_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    """`--config FILE` takes that file; one without the table is told."""
    Path("sub").mkdir()
    Path("sub/pyproject.toml").write_text('[tool.restencil]\nspecs = ["../specs/blog.yaml"]\nout = "gen"\n')
    assert run(["generate", "--config", "sub/pyproject.toml"]) == 0
    assert Path("sub/gen/blog").is_dir()
    Path("sub/pyproject.toml").write_text("[project]\n")
    assert run(["generate", "--config", "sub/pyproject.toml"]) == 2
    assert "there is no [tool.restencil] table" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'specs = ["specs/*.yaml"]\nouts = "src"',
            "unknown key `outs` in [tool.restencil] (known: diff, import, out, specs, templates); did you mean 'out'?",
        ),
        (
            'specs = "specs/blog.yaml"',
            '`specs` in [tool.restencil] must be a list of strings, such as ["specs/*.yaml"]',
        ),
        ('specs = ["nowhere/*.yaml"]', "no spec matches 'nowhere/*.yaml' in `specs`"),
        ("out = 1", "`out` in [tool.restencil] must be a string"),
        ("specs = [", "is not valid TOML"),
        ('out = "src"', "has no `specs`, and no spec is given on the command line"),
    ],
)
def test_cli_configuration_that_is_not_understood_is_reported(
    text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and a message that names file and key."""
    configure(text)
    assert run(["check"]) == 2
    error = capsys.readouterr().err
    assert "pyproject.toml" in error
    assert said in error


# ------------------------------------------------------------------------------------------------------- other commands


def test_cli_init_writes_what_a_project_needs(capsys: pytest.CaptureFixture[str]) -> None:
    """Configuration, example, .gitattributes and snippets; what it writes generates and checks at once."""
    assert run(["init", "app"]) == 0
    assert capsys.readouterr().err == "next: run `restencil generate` in app\n"
    os.chdir("app")
    assert sorted(path.as_posix() for path in Path().rglob("*") if path.is_file()) == [
        ".gitattributes",
        ".github/workflows/restencil.yml",
        ".pre-commit-config.yaml",
        "pyproject.toml",
        "specs/todo.yaml",
    ]
    assert run(["generate"]) == 0
    assert run(["check"]) == 0
    assert run(["lint"]) == 0, capsys.readouterr().out
    assert "retries=2," in Path("src/todo_app/todos.py").read_text("utf-8")  # by hand there are none
    assert "SQLiteStorage" in Path("specs/todo.yaml").read_text("utf-8")


def test_cli_init_overwrites_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """What is there stays, byte for byte; the configuration is added to a pyproject.toml that has none."""
    Path("pyproject.toml").write_text('[project]\nname = "x"')
    Path(".gitattributes").write_text("* text")
    Path(".pre-commit-config.yaml").write_text("mine")
    assert run(["init"]) == 0
    assert Path("pyproject.toml").read_text().startswith('[project]\nname = "x"\n\n[tool.restencil]\n')
    assert Path(".gitattributes").read_text().startswith("* text\nsrc/todo_app/** ")
    assert Path(".pre-commit-config.yaml").read_text() == "mine"
    assert Path("specs/blog.yaml").read_text() == SPEC
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert run(["init"]) == 0
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before
    assert "kept pyproject.toml: has [tool.restencil] already" in capsys.readouterr().out


def test_cli_schema_prints_a_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """`schema` prints JSON Schema 2020-12."""
    assert run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_cli_explain_says_what_a_code_means(capsys: pytest.CaptureFixture[str]) -> None:
    """The rule, what kind of finding it is, and what to do; a code that is none is told with one that is near."""
    assert run(["explain", "plain-http"]) == 0
    assert capsys.readouterr().out == (
        "# `plain-http`\n\nA secret is sent encrypted.\n\n"
        "A warning of `restencil lint` about a valid spec.\n\n"
        "Over `http:` everyone on the network path can read the secret. Only this machine is exempt.\n"
    )
    assert run(["explain", "field-removed"]) == 0
    assert "For callers: it breaks. In requests and responses: none." in capsys.readouterr().out
    assert run(["explain", "plain-htt"]) == 2
    assert capsys.readouterr().err == "restencil: there is no code 'plain-htt'; did you mean 'plain-http'?\n"


def test_cli_every_command_has_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` is exit code 0 and shows how the command is used."""
    for command in sorted(cli.commands):
        assert run([command, "--help"]) == 0
        assert "Examples:" in capsys.readouterr().out
    assert run(["export", "openapi", "--help"]) == 0
    assert "Examples:" in capsys.readouterr().out


def test_cli_version_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints name and version."""
    assert run(["--version"]) == 0
    assert re.fullmatch(r"restencil \S.*\n", capsys.readouterr().out)


# ------------------------------------------------------------------------------------------------------ manners


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (Failure("there is no way"), 2, "restencil: there is no way\n"),
        (
            SpecError([Problem("a-code", "is wrong", Place("a.yaml"))], {}),
            2,
            "a.yaml: error[a-code]: is wrong\n1 error\n",
        ),
        (click.UsageError("not like this"), 2, "Error: not like this\n"),
        (click.FileError("a.yaml", "is gone"), 2, "Error: Could not open file 'a.yaml': is gone\n"),
        (
            FileNotFoundError(2, "No such file or directory", "a.yaml"),
            2,
            "restencil: a.yaml: No such file or directory\n",
        ),
        (OSError("no space"), 2, "restencil: no space\n"),
        (ZeroDivisionError("no"), 3, "restencil: internal error: ZeroDivisionError: no\n"),
        (ZeroDivisionError("no"), 3, "Please report it"),
        (click.Abort(), 130, "restencil: interrupted\n"),
        (KeyboardInterrupt(), 130, "restencil: interrupted\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_cli_each_kind_of_error_has_its_exit_code(
    error: BaseException, code: int, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a command raises, click's own errors among it: never 1, which says that something differs."""

    def scaffold(directory: Path) -> None:
        raise error

    broken = ModuleType("broken")
    broken.scaffold = scaffold  # type: ignore[attr-defined]  # a double of the module
    monkeypatch.setitem(sys.modules, "restencil_generator.project.scaffold", broken)
    assert run(["init"]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err


@pytest.mark.parametrize(
    "command",
    [["generate"], ["generate", "--dry-run"], ["generate", "--diff"], ["check"], ["check", "--diff"], ["lint"]],
)
def test_cli_several_specs_are_one_document(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever parses the output of a command gets one JSON document, however many packages there are."""
    Path("specs/shop.yaml").write_text(SPEC.replace("package: blog", "package: shop"))
    code = run([*command, "specs/blog.yaml", "specs/shop.yaml", "--format", "json"])
    assert code == (0 if command in (["generate"], ["lint"]) else 1)
    document = json.loads(capsys.readouterr().out)
    assert document["total"] == (10 if code else 0)


def test_cli_mistakes_of_all_specs_are_reported_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """One run tells everything, in the format that was asked for."""
    for name in ("blog", "shop"):
        Path(f"specs/{name}.yaml").write_text(SPEC.replace("string", "strng").replace("blog\n", f"{name}\n"))
    for command in ("generate", "check", "lint", "mock"):
        assert run([command, "specs/blog.yaml", "specs/shop.yaml", "--format", "json"]) == 2
        files = [problem["file"] for problem in json.loads(capsys.readouterr().out)["problems"]]
        assert files == ["specs/blog.yaml", "specs/shop.yaml"]


@contextlib.contextmanager
def started(*arguments: str) -> Generator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
    """A run in a process of its own, its stdout and its stderr; interrupted at the end of the block."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            yield process, process.stdout, process.stderr
        finally:
            process.send_signal(signal.SIGINT)


def test_cli_interruption_is_exit_code_130() -> None:
    """Ctrl-C ends the command with 130 and one line."""
    with started("generate", "specs/blog.yaml", "--watch") as (process, _, err):
        assert err.readline().startswith("watching ")
        process.send_signal(signal.SIGINT)
        assert (process.wait(PATIENCE), "Traceback" in err.read()) == (130, False)


def save(text: str) -> None:
    """Replaces the spec at once, as editors do: nobody sees half of it."""
    Path("specs/blog.new").write_text(text)
    Path("specs/blog.new").replace("specs/blog.yaml")


def test_cli_watch_generates_again_after_a_change() -> None:
    """A change of the spec is in the package a moment later; a broken spec in between is told and survived."""
    with started("generate", "specs/blog.yaml", "--watch") as (_, out, err):
        assert out.readline().startswith("blog: 5 written")
        assert err.readline().startswith("watching ")
        save(SPEC.replace("string", "strng"))
        assert "unknown type 'strng'" in err.readline()
        save(SPEC.replace("title", "headline"))
        assert out.readline().startswith("blog: 2 written")
        assert "headline" in Path("blog/posts.py").read_text()


def test_cli_reader_that_leaves_early_is_no_error() -> None:
    """`restencil schema | head -1` says nothing on stderr."""
    with started("schema") as (process, out, err):
        out.close()
        assert (err.read(), process.wait(PATIENCE)) == ("", 0)


def test_cli_results_go_to_stdout_without_colours_where_no_one_watches() -> None:
    """Piped output holds no escape sequences; progress and errors are not in it."""
    done = process("generate", "specs/blog.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "blog: 5 written, 0 unchanged\n", "")


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What the command prints where somebody watches."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    started = subprocess.Popen([*COMMAND, *arguments], stdout=theirs, stderr=theirs, env=variables)
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
    assert "\x1b[32m5 written\x1b[0m" in on_a_terminal("generate", "specs/blog.yaml")
    assert "\x1b" not in on_a_terminal("check", "specs/blog.yaml", NO_COLOR="1")
    assert "\x1b[32mup to date" in on_a_terminal("check", "specs/blog.yaml")


def test_cli_help_needs_nothing_but_click() -> None:
    """`--help` imports neither yaml nor jinja2 nor black nor httpx."""
    code = (
        "import sys; from restencil_generator.__main__ import main; code = main(['--help']); "
        "print(sorted({'yaml', 'jinja2', 'black', 'httpx', 'restencil'} & set(sys.modules))); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0
    assert done.stdout.endswith("\n[]\n")


def test_cli_help_names_each_command_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing in the list of commands is cut off."""
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "restencil: interrupted\n")


def test_cli_without_the_extra_the_pip_command_is_reported() -> None:
    """Where click and the like are not installed, the command says what to install and exits with 2."""
    generator = Path(__main__.__file__).parents[1]
    code = (
        f"import sys; sys.path.insert(0, {str(generator)!r}); "
        "from restencil_generator.__main__ import main; sys.exit(main([]))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "restencil: the generator is not installed (missing: black, click, jinja2, pyyaml). Install it with\n\n"
        "    pip install 'restencil[generator]'\n\n"
        "Generated packages run without it; only generating and checking need it.\n"
    )


def test_cli_shell_can_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """With `_RESTENCIL_COMPLETE` the command prints the script for the shell."""
    done = process(_RESTENCIL_COMPLETE="bash_source")
    assert done.returncode == 0
    assert "_restencil_completion()" in done.stdout
