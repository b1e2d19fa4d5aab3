"""`restencil diff`: what is compared, what is printed, and the exit code. Revisions come from a real repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.generator.diff.edits import BEFORE
from tests.generator.projects import restencil

AFTER = BEFORE.replace("price: decimal", "price: number").replace("note: string?", "note: string?\n      more: string?")
BREAKING = (
    "specs/shop.yaml:32:14: error[field-type-changed]: Item.price: decimal → number   callers B  wire B  cache B\n"
    "HEAD:specs/shop.yaml:32:14: note: was decimal here\n"
)
HEAD = "HEAD:specs/shop.yaml"
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


# ------------------------------------------------------------------------------------------------- what is compared


def test_command_revision_is_compared_with_the_working_tree() -> None:
    """Each finding has its columns and both places, worst first; the last line proposes the next version."""
    assert restencil("diff", HEAD, code=1).out == f"{BREAKING}{ADDITIVE}1 breaking, 1 additive; next version: major\n"


def test_command_large_specs_are_read_at_the_same_time() -> None:
    """In two processes; what is said is the same."""
    Path("specs/shop.yaml").write_text(AFTER + "# large\n" * 20_000, "utf-8")
    assert restencil("diff", HEAD, code=1).out == f"{BREAKING}{ADDITIVE}1 breaking, 1 additive; next version: major\n"


def test_command_two_files_are_compared() -> None:
    """OLD and NEW are files; the places say which."""
    Path("old.yaml").write_text(BEFORE, "utf-8")
    assert "old.yaml:32:14: note: was decimal here\n" in restencil("diff", "old.yaml", "specs/shop.yaml", code=1).out


def test_command_folder_is_one_spec_at_a_revision_too() -> None:
    """Its files are merged, and the places name them; splitting a spec is no change."""
    for old in ("HEAD:specs", "HEAD:specs/"):
        said = restencil("diff", old, "specs", code=1).out
        assert "HEAD:specs/shop.yaml:32:14: note: was decimal here\n" in said
    head, entities = BEFORE.split("entities:\n")
    entities, resources = entities.split("resources:\n")
    Path("split/tables").mkdir(parents=True)
    Path("split/.imported").mkdir()
    Path("split/.imported/old.yaml").write_text("no spec", "utf-8")
    Path("split/spec.yaml").write_text(f"{head}resources:\n{resources}", "utf-8")
    Path("split/tables/entities.yaml").write_text(f"entities:\n{entities}", "utf-8")
    git("add", "-A")
    git("commit", "-q", "-m", "split")
    restencil("diff", "v1.2:specs/shop.yaml", "HEAD:split")
    restencil("diff", "HEAD:split")
    os.chdir("split")
    restencil("diff", "HEAD:split")


def test_command_folder_without_a_spec_at_a_revision() -> None:
    """Exit code 2, as for a folder that has no specs now."""
    Path("notes").mkdir()
    Path("notes/todo.txt").touch()
    git("add", "notes")
    git("commit", "-q", "-m", "notes")
    error = restencil("diff", "HEAD:notes", "specs", code=2).err
    assert "HEAD:notes: error[no-spec-files]: the folder contains no *.yaml or *.yml file\n" in error


def test_command_path_counts_from_the_top_or_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for git: from the top of the repository, and with `./` from the working directory."""
    monkeypatch.chdir("specs")
    for old, new in (("HEAD:specs/shop.yaml", "shop.yaml"), ("HEAD:./shop.yaml", "./shop.yaml")):
        out = restencil("diff", old, code=1).out
        assert f"{new.removeprefix('./')}:32:14: error[field-type-changed]" in out
        assert f"{old}:32:14: note: was decimal here\n" in out


def test_command_file_of_that_very_name_wins() -> None:
    """A name with a colon is a file where there is one."""
    Path("HEAD:specs").mkdir()
    Path("HEAD:specs/shop.yaml").write_text(AFTER, "utf-8")
    restencil("diff", HEAD, "specs/shop.yaml")


def test_command_link_is_followed_at_its_revision() -> None:
    """What a link leads to counts as it was."""
    os.symlink("specs/shop.yaml", "link.yaml")
    git("add", "link.yaml")
    git("commit", "-q", "-m", "link")
    restencil("diff", "HEAD:link.yaml", "HEAD:specs/shop.yaml")


@pytest.mark.parametrize("old", ["HEAD~3:specs/shop.yaml", "HEAD:specs/other.yaml", "no:specs/shop.yaml", "--all:x"])
def test_command_no_such_revision_or_path(old: str) -> None:
    """Exit code 2 and a text that names what was asked for."""
    said = restencil("diff", "--", old, "specs/shop.yaml", code=2).err
    assert f"{old}: error[diff-revision]: no such revision, or no such path in it: '{old}'\n" in said


def test_command_outside_of_a_repository_git_says_why(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2 with the words of git."""
    monkeypatch.chdir(tmp_path_factory.mktemp("nowhere"))
    assert restencil("diff", "HEAD:shop.yaml", code=2).err.startswith(
        "restencil: HEAD:shop.yaml: git says: fatal: not a git repository"
    )


def test_command_without_git_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2 and the way out."""
    monkeypatch.setenv("PATH", "")
    said = "restencil: HEAD:specs/shop.yaml: git was not found (install git, or pass a file)\n"
    assert restencil("diff", HEAD, code=2).err == said


def test_command_invalid_spec_is_no_response() -> None:
    """Exit code 2 and the mistakes of both sides, also of what a revision has."""
    Path("specs/shop.yaml").write_text(BEFORE.replace("price: decimal", "price: decimel"), "utf-8")
    git("commit", "-aqm", "broken")
    error = restencil("diff", HEAD, code=2).err
    assert "HEAD:specs/shop.yaml:32:14: error[unknown-type]" in error
    assert "\nspecs/shop.yaml:32:14: error[unknown-type]" in error


def test_command_new_is_needed_next_to_a_file() -> None:
    """A file has no other form of itself."""
    assert "specs/shop.yaml is not REV:PATH, so NEW is required" in restencil("diff", "specs/shop.yaml", code=2).err


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
    restencil("diff", HEAD, "--fail-on", fail_on, code=code)
    configure(f'fail_on = "{fail_on}"')
    restencil("diff", HEAD, code=code)


def test_command_only_looks_at_some_columns() -> None:
    """What means nothing there is left out, and does not count."""
    Path("specs/shop.yaml").write_text(BEFORE.replace("value: 20", "value: 30"), "utf-8")
    assert (
        restencil("diff", HEAD, "--fail-on", "risky", "--only", "callers,cache").out
        == "no changes for callers, cache; next version: patch\n"
    )
    restencil("diff", HEAD, "--fail-on", "risky", "--only", "wire", code=1)
    assert "'wir' is not one of callers, wire and cache" in restencil("diff", HEAD, "--only", "wire,wir", code=2).err


@pytest.mark.parametrize(
    ("edit", "version"),
    [
        ("note: string", "minor"),
        ("note: integer?", "major"),
        ("note: {type: string?, wire: n}", "patch"),
        ("note: {type: string?, description: x}", "patch"),
    ],
)
def test_command_version_follows_what_callers_see(edit: str, version: str) -> None:
    """Major for what breaks callers, minor for what is new to them, else patch."""
    Path("specs/shop.yaml").write_text(BEFORE.replace("note: string?", edit), "utf-8")
    assert restencil("diff", HEAD, "--only", "wire", code=None).out.endswith(f"next version: {version}\n")


# ------------------------------------------------------------------------------------------------------------- formats


def test_command_json_is_one_document() -> None:
    """As `lint` prints it, with node and columns for each, and the version."""
    found = restencil("diff", HEAD, "--format", "json", code=1).document
    assert (found["version"], found["total"], found["next_version"]) == (1, 2, "major")
    assert found["counts"] == {"breaking": 1, "risky": 0, "additive": 1, "documentation": 0}
    first = found["problems"][0]
    assert (first["code"], first["severity"], first["node"]) == ("field-type-changed", "error", "entities.Item.price")
    assert (first["callers"], first["wire"], first["cache"]) == ("B", "B", "B")
    assert (first["file"], first["line"], first["column"]) == ("specs/shop.yaml", 32, 14)
    assert first["related"][0]["file"] == "HEAD:specs/shop.yaml"


def test_command_sarif_has_the_rules() -> None:
    """Each result names its rule, whose text says what it is about."""
    found = restencil("diff", HEAD, "--format", "sarif", code=1).document["runs"][0]
    results = [(one["ruleId"], one["level"]) for one in found["results"]]
    assert results == [("field-type-changed", "error"), ("field-added", "note")]
    texts = {one["id"]: one["shortDescription"]["text"] for one in found["tool"]["driver"]["rules"]}
    assert texts["field-type-changed"] == "A field has a different type."


def test_command_github_has_a_command_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the default under GitHub Actions; the last line is a notice."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    lines = restencil("diff", HEAD, code=1).out.splitlines()
    assert lines[0].startswith("::error file=specs/shop.yaml,line=32,col=14,")
    assert lines[0].endswith(
        "::Item.price: decimal → number (callers B  wire B  cache B)%0Awas decimal here: HEAD:specs/shop.yaml:32:14"
    )
    assert lines[-1] == "::notice title=restencil diff::1 breaking, 1 additive; next version: major"


# ------------------------------------------------------------------------------------------------------- configuration

IGNORE = 'ignore = [{rule = "field-type-changed", at = "entities.Item.*", reason = "was never a decimal"}]'


@pytest.mark.parametrize("at", ["entities.Item.*", "Item.price", "entities.*", "*"])
def test_command_ignored_findings_are_counted(at: str) -> None:
    """They do not fail a run and ask for no version; `--verbose` lists them with the reason."""
    configure(IGNORE.replace("entities.Item.*", at))
    assert restencil("diff", HEAD).out == f"{ADDITIVE}1 additive; 1 ignored; next version: minor\n"
    line = BREAKING.splitlines()[0].replace("error[", "ignored[")
    said = f"{ADDITIVE}{line}\npyproject.toml:2:19: note: was never a decimal\n"
    assert restencil("diff", HEAD, "--verbose").out == f"{said}1 additive; 1 ignored; next version: minor\n"


def test_command_ignored_everywhere_without_at() -> None:
    """An entry is for all nodes unless it says which."""
    configure(IGNORE.replace('at = "entities.Item.*", ', ""))
    assert restencil("diff", HEAD).out.endswith("1 additive; 1 ignored; next version: minor\n")


def test_command_entry_that_fits_nothing_is_a_warning() -> None:
    """It does not fail the run; its place is that of the entry, also next to another of its rule."""
    configure("# " + IGNORE + "\n" + IGNORE.replace("Item", "Itm"))
    warning = "warning[ignore-unused]: the entry of 'ignore' for field-type-changed at 'entities.Itm.*' matches nothing"
    assert restencil("diff", HEAD, HEAD).out == f"pyproject.toml:3:19: {warning} (remove it)\nNo changes.\n"
    problems = restencil("diff", HEAD, HEAD, "--format", "json").document["problems"]
    assert problems[0]["code"] == "ignore-unused"


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
def test_command_configuration_that_is_not_understood(text: str, said: str) -> None:
    """Exit code 2 and a message that names file and key."""
    configure(text)
    error = restencil("diff", HEAD, code=2).err
    assert error.startswith("restencil: pyproject.toml: ")
    assert said in error


def test_command_configuration_that_is_no_table() -> None:
    """Exit code 2 too."""
    Path("pyproject.toml").write_text("[tool.restencil]\ndiff = 1\n", "utf-8")
    assert restencil("diff", HEAD, code=2).err == "restencil: pyproject.toml: `tool.restencil.diff` must be a table\n"


def test_command_configuration_has_no_say_in_the_others() -> None:
    """A table of `diff` names no specs, and other commands go on as they were."""
    configure('fail_on = "risky"')
    restencil("generate", "specs/shop.yaml", "--dry-run", code=1)


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
def test_command_finding_is_where_its_value_does(old: str, new: str, places: tuple[str, str]) -> None:
    """In the new spec and in the old one; what is not written in one of them is told of what would hold it."""
    assert BEFORE.count(old) == 1
    Path("specs/shop.yaml").write_text(BEFORE.replace(old, new), "utf-8")
    lines = restencil("diff", HEAD, code=None).out.splitlines()
    found = [line.split(": ")[0].removeprefix("HEAD:").removeprefix("specs/shop.yaml:") for line in lines[:2]]
    assert tuple(found) == places
