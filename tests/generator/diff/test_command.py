"""`restencil diff`: what is compared, what is printed, and the exit code. Revisions come from a real repository."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.generator.diff.edits import BEFORE

from restencil_generator.cli.main import run

AFTER = BEFORE.replace("price: decimal", "price: number").replace("note: string?", "note: string?\n      more: string?")
BREAKING = (
    "specs/shop.yaml:32:14: error[field-type-changed]: Item.price: decimal → number   callers B  wire B  cache B\n"
    "HEAD:specs/shop.yaml:32:14: note: was decimal here\n"
)
ADDITIVE = "specs/shop.yaml:36:7: note[field-added]: Item.more: added, string?   callers A  wire –  cache –\n"


def git(*arguments: str) -> None:
    """Runs git as nobody in particular."""
    who = ("-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, which is the working directory: its spec was committed, and then edited."""
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "GITHUB_ACTIONS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    Path("specs").mkdir()
    Path("specs/shop.yaml").write_text(BEFORE, "utf-8")
    git("init", "-q", ".")
    git("add", "-A")
    git("commit", "-q", "-m", "before")
    git("tag", "v1.2")
    Path("specs/shop.yaml").write_text(AFTER, "utf-8")
    return tmp_path


def configure(text: str) -> None:
    Path("pyproject.toml").write_text(f"[tool.restencil.diff]\n{text}\n", "utf-8")


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The document on stdout."""
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


# ------------------------------------------------------------------------------------------------- what is compared


def test_command_revision_is_compared_with_the_working_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """Each finding has its columns and both places, worst first; the last line proposes the next version."""
    assert run(["diff", "HEAD:specs/shop.yaml"]) == 1
    assert capsys.readouterr().out == f"{BREAKING}{ADDITIVE}1 breaking, 1 additive; next version: major\n"


def test_command_two_files_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """OLD and NEW are files; the places say which."""
    Path("old.yaml").write_text(BEFORE, "utf-8")
    assert run(["diff", "old.yaml", "specs/shop.yaml"]) == 1
    assert "old.yaml:32:14: note: was decimal here\n" in capsys.readouterr().out


def test_command_folder_is_one_spec_at_a_revision_too(capsys: pytest.CaptureFixture[str]) -> None:
    """Its files are merged, and the places name them; splitting a spec is no change."""
    assert run(["diff", "HEAD:specs", "specs"]) == 1
    assert "HEAD:specs/shop.yaml:32:14: note: was decimal here\n" in capsys.readouterr().out
    head, entities = BEFORE.split("entities:\n")
    entities, resources = entities.split("resources:\n")
    Path("split/tables").mkdir(parents=True)
    Path("split/.imported").mkdir()
    Path("split/.imported/old.yaml").write_text("no spec", "utf-8")
    Path("split/spec.yaml").write_text(f"{head}resources:\n{resources}", "utf-8")
    Path("split/tables/entities.yaml").write_text(f"entities:\n{entities}", "utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "split")
    assert run(["diff", "v1.2:specs/shop.yaml", "HEAD:split"]) == 0
    assert run(["diff", "HEAD:split"]) == 0
    os.chdir("split")
    assert run(["diff", "HEAD:split"]) == 0


def test_command_path_counts_from_the_top_or_from_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As for git: from the top of the repository, and with `./` from the working directory."""
    monkeypatch.chdir("specs")
    for old, new in (("HEAD:specs/shop.yaml", "shop.yaml"), ("HEAD:./shop.yaml", "./shop.yaml")):
        assert run(["diff", old]) == 1
        out = capsys.readouterr().out
        assert f"{new.removeprefix('./')}:32:14: error[field-type-changed]" in out
        assert f"{old}:32:14: note: was decimal here\n" in out


def test_command_file_of_that_very_name_wins(capsys: pytest.CaptureFixture[str]) -> None:
    """A name with a colon is a file where there is one."""
    Path("HEAD:specs").mkdir()
    Path("HEAD:specs/shop.yaml").write_text(AFTER, "utf-8")
    assert run(["diff", "HEAD:specs/shop.yaml", "specs/shop.yaml"]) == 0


def test_command_link_is_followed_at_its_revision() -> None:
    """What a link leads to counts as it was."""
    os.symlink("specs/shop.yaml", "link.yaml")
    git("add", "link.yaml")
    git("commit", "-q", "-m", "link")
    assert run(["diff", "HEAD:link.yaml", "HEAD:specs/shop.yaml"]) == 0


@pytest.mark.parametrize("old", ["HEAD~3:specs/shop.yaml", "HEAD:specs/other.yaml", "no:specs/shop.yaml", "--all:x"])
def test_command_no_such_revision_or_path(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and a text that names what was asked for."""
    assert run(["diff", "--", old, "specs/shop.yaml"]) == 2
    assert f"{old}: error[diff-revision]: no such revision, or no such path in it: '{old}'\n" in capsys.readouterr().err


def test_command_outside_of_a_repository_git_says_why(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 with the words of git."""
    monkeypatch.chdir(tmp_path_factory.mktemp("nowhere"))
    assert run(["diff", "HEAD:shop.yaml"]) == 2
    assert capsys.readouterr().err.startswith("restencil: HEAD:shop.yaml: git says: fatal: not a git repository")


def test_command_without_git_it_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and the way out."""
    monkeypatch.setenv("PATH", "")
    assert run(["diff", "HEAD:specs/shop.yaml"]) == 2
    said = "restencil: HEAD:specs/shop.yaml: git was not found (install git, or pass a file)\n"
    assert capsys.readouterr().err == said


def test_command_invalid_spec_is_no_response(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and the mistakes of both sides, also of what a revision has."""
    Path("specs/shop.yaml").write_text(BEFORE.replace("price: decimal", "price: decimel"), "utf-8")
    git("commit", "-aqm", "broken")
    assert run(["diff", "HEAD:specs/shop.yaml"]) == 2
    error = capsys.readouterr().err
    assert "HEAD:specs/shop.yaml:32:14: error[unknown-type]" in error
    assert "\nspecs/shop.yaml:32:14: error[unknown-type]" in error


def test_command_new_is_needed_next_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    """A file has no other form of itself."""
    assert run(["diff", "specs/shop.yaml"]) == 2
    assert "specs/shop.yaml is not REV:PATH, so NEW is required" in capsys.readouterr().err


# -------------------------------------------------------------------------------------------------- what fails a run


@pytest.mark.parametrize(
    ("edit", "fail_on", "code"),
    [
        ("price: number", "breaking", 1),
        ("price: decimal\n      more: string", "breaking", 0),
        ("price: decimal\n      more: string", "risky", 1),
        ("price: decimal\n      more: string?", "risky", 0),
        ("price: decimal\n      more: string?", "additive", 1),
        ("price: {type: decimal, description: Much.}", "additive", 0),
        ("price: {type: decimal, description: Much.}", "documentation", 1),
        ("price: decimal", "documentation", 0),
    ],
)
def test_command_fail_on_says_from_which_class_on(edit: str, fail_on: str, code: int) -> None:
    """Findings at or above the class give exit code 1; on the command line and in the configuration."""
    Path("specs/shop.yaml").write_text(BEFORE.replace("price: decimal", edit), "utf-8")
    assert run(["diff", "HEAD:specs/shop.yaml", "--fail-on", fail_on]) == code
    configure(f'fail_on = "{fail_on}"')
    assert run(["diff", "HEAD:specs/shop.yaml"]) == code


def test_command_only_looks_at_some_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """What means nothing there is left out, and does not count."""
    Path("specs/shop.yaml").write_text(BEFORE.replace("value: 20", "value: 30"), "utf-8")
    assert run(["diff", "HEAD:specs/shop.yaml", "--fail-on", "risky", "--only", "callers,cache"]) == 0
    assert capsys.readouterr().out == "no changes for callers, cache; next version: patch\n"
    assert run(["diff", "HEAD:specs/shop.yaml", "--fail-on", "risky", "--only", "wire"]) == 1
    assert run(["diff", "HEAD:specs/shop.yaml", "--only", "wire,wir"]) == 2
    assert "'wir' is not one of callers, wire and cache" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("edit", "version"),
    [
        ("note: string", "minor"),
        ("note: integer?", "major"),
        ("note: {type: string?, wire: n}", "patch"),
        ("note: {type: string?, description: x}", "patch"),
    ],
)
def test_command_version_follows_what_callers_see(edit: str, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Major for what breaks callers, minor for what is new to them, else patch."""
    Path("specs/shop.yaml").write_text(BEFORE.replace("note: string?", edit), "utf-8")
    run(["diff", "HEAD:specs/shop.yaml", "--only", "wire"])
    assert capsys.readouterr().out.endswith(f"next version: {version}\n")


# ------------------------------------------------------------------------------------------------------------- formats


def test_command_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """As `lint` prints it, with node and columns for each, and the version."""
    assert run(["diff", "HEAD:specs/shop.yaml", "--format", "json"]) == 1
    found = document(capsys)
    assert (found["version"], found["total"], found["next_version"]) == (1, 2, "major")
    assert found["counts"] == {"breaking": 1, "risky": 0, "additive": 1, "documentation": 0}
    first = found["problems"][0]
    assert (first["code"], first["severity"], first["node"]) == ("field-type-changed", "error", "entities.Item.price")
    assert (first["callers"], first["wire"], first["cache"]) == ("B", "B", "B")
    assert (first["file"], first["line"], first["column"]) == ("specs/shop.yaml", 32, 14)
    assert first["related"][0]["file"] == "HEAD:specs/shop.yaml"


def test_command_sarif_has_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    """Each result names its rule, whose text says what it is about."""
    assert run(["diff", "HEAD:specs/shop.yaml", "--format", "sarif"]) == 1
    found = document(capsys)["runs"][0]
    assert [(one["ruleId"], one["level"]) for one in found["results"]] == [
        ("field-type-changed", "error"),
        ("field-added", "note"),
    ]
    texts = {one["id"]: one["shortDescription"]["text"] for one in found["tool"]["driver"]["rules"]}
    assert texts["field-type-changed"] == "A field has a different type."


def test_command_github_has_a_command_for_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the default under GitHub Actions; the last line is a notice."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert run(["diff", "HEAD:specs/shop.yaml"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("::error file=specs/shop.yaml,line=32,col=14,")
    assert lines[0].endswith(
        "::Item.price: decimal → number (callers B  wire B  cache B)%0Awas decimal here: HEAD:specs/shop.yaml:32:14"
    )
    assert lines[-1] == "::notice title=restencil diff::1 breaking, 1 additive; next version: major"


# ------------------------------------------------------------------------------------------------------- configuration

IGNORE = 'ignore = [{rule = "field-type-changed", at = "entities.Item.*", reason = "was never a decimal"}]'


@pytest.mark.parametrize("at", ["entities.Item.*", "Item.price", "entities.*", "*"])
def test_command_ignored_findings_are_counted(at: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They do not fail a run and ask for no version; `--verbose` lists them with the reason."""
    configure(IGNORE.replace("entities.Item.*", at))
    assert run(["diff", "HEAD:specs/shop.yaml"]) == 0
    assert capsys.readouterr().out == f"{ADDITIVE}1 additive; 1 ignored; next version: minor\n"
    assert run(["diff", "HEAD:specs/shop.yaml", "--verbose"]) == 0
    line = BREAKING.splitlines()[0].replace("error[", "ignored[")
    said = f"{ADDITIVE}{line}\npyproject.toml:2:19: note: was never a decimal\n"
    assert capsys.readouterr().out == f"{said}1 additive; 1 ignored; next version: minor\n"


def test_command_entry_that_fits_nothing_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    """It does not fail the run."""
    configure(IGNORE.replace("Item", "Itm"))
    assert run(["diff", "HEAD:specs/shop.yaml", "HEAD:specs/shop.yaml"]) == 0
    warning = "warning[ignore-unused]: the entry of 'ignore' for field-type-changed at 'entities.Itm.*' matches nothing"
    last = "No changes.\n"
    assert capsys.readouterr().out == f"pyproject.toml:2:19: {warning} (remove it)\n{last}"
    assert run(["diff", "HEAD:specs/shop.yaml", "HEAD:specs/shop.yaml", "--format", "json"]) == 0
    assert document(capsys)["problems"][0]["code"] == "ignore-unused"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            'ignore = [{rule = "field-typ-changed", at = "*", reason = "x"}]',
            "names the unknown rule 'field-typ-changed'; did you mean 'field-type-changed'?",
        ),
        ('ignore = [{rule = "field-type-changed", at = "*"}]', "needs `reason`, a string, why it is accepted"),
        ('ignore = [{rule = "field-type-changed", at = "*", reason = " "}]', "needs `reason`, a string"),
        ('ignore = [{at = "*", reason = "x"}]', "needs `rule`, a string"),
        ('ignore = [{rule = "field-removed", node = "*", reason = "x"}]', "unknown key `node` in an entry of `ignore`"),
        ('ignore = ["field-removed"]', "an entry of `ignore` in [tool.restencil.diff] must be a table"),
        ('ignore = "field-removed"', "`ignore` in [tool.restencil.diff] must be a list of tables"),
        (
            'fail_on = "worse"',
            "`fail_on` in [tool.restencil.diff] must be one of breaking, risky, additive, documentation",
        ),
        ('fail_no = "risky"', "unknown key `fail_no` in [tool.restencil.diff] (known: fail_on, ignore); did you mean"),
    ],
)
def test_command_configuration_that_is_not_understood(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and a message that names file and key."""
    configure(text)
    assert run(["diff", "HEAD:specs/shop.yaml"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("restencil: pyproject.toml: ")
    assert said in error


def test_command_configuration_has_no_say_in_the_others() -> None:
    """A table of `diff` names no specs, and other commands go on as they were."""
    configure('fail_on = "risky"')
    assert run(["generate", "specs/shop.yaml", "--dry-run"]) == 1


# -------------------------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("package: shop\n", "package: shop\nclient: Bazaar\n", ("3:9", "1:1")),
        ("timeout: 10s", "timeout: 20s", ("8:10", "8:10")),
        ("path: /users/:id", "path: /people/:id", ("54:11", "54:11")),
        ("clear: {method: POST", "clear: {method: PUT", ("89:23", "89:23")),
        ("    optimistic: true\n", "", ("56:3", "64:17")),
        ("text: string, loud", "loud", ("68:7", "71:25")),
        ("[open, paid, sent]", "[open, paid]", ("13:3", "13:24")),
        ("price: decimal", "price: number", ("32:14", "32:14")),
    ],
)
def test_command_finding_is_where_its_value_does(
    old: str, new: str, places: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """In the new spec and in the old one; what is not written in one of them is told of what would hold it."""
    assert BEFORE.count(old) == 1
    Path("specs/shop.yaml").write_text(BEFORE.replace(old, new), "utf-8")
    run(["diff", "HEAD:specs/shop.yaml"])
    lines = capsys.readouterr().out.splitlines()
    found = [line.split(": ")[0].removeprefix("HEAD:").removeprefix("specs/shop.yaml:") for line in lines[:2]]
    assert tuple(found) == places
