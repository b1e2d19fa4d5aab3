"""`restencil import` where a spec stands: what was edited stays, what upstream changed comes, nothing is lost."""

from __future__ import annotations

import copy
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.generator.projects import Printed, python, restencil
from tests.openapi.documents import document, many, record, ref, responding

from restencil_generator import api
from restencil_generator.cli.main import run
from restencil_generator.openapi.merge.resolve import split_files
from restencil_generator.spec.load import load_spec

SHOP: dict[str, Any] = document(
    {
        "/orders": {"get": {"responses": responding(many(ref("Order")))}},
        "/orders/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}],
            "get": {"responses": responding(ref("Order"))},
            "delete": {"responses": {"204": {"description": ""}}},
        },
    },
    {
        "Order": record("id", "total", id="integer", total="number", note="string", state=ref("State")),
        "State": {"type": "string", "enum": ["open", "paid"]},
    },
)

SPEC = Path("shop.yaml")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins in a folder of its own with a document that was imported once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    upstream()
    imported()


def upstream(*states: str, **properties: Any) -> None:
    """Writes the document, with properties of an order changed (None takes one out), and more states."""
    changed = copy.deepcopy(SHOP)
    schemas = changed["components"]["schemas"]
    table = schemas["Order"]["properties"]
    schemas["State"]["enum"] += states
    table.update(properties)
    for name in [name for name, value in table.items() if value is None]:
        del table[name]
    Path("openapi.json").write_text(json.dumps(changed, indent=1))


def edit(*replaced: tuple[str, str], file: Path = SPEC) -> str:
    """Edits the spec: each text stands there once. Gives what stands there now."""
    text = file.read_bytes().decode("utf-8")
    for old, new in replaced:
        assert text.count(old) == 1, (old, text)
        text = text.replace(old, new)
    file.write_bytes(text.encode("utf-8"))
    return text


def imported(*options: str, code: int = 0) -> Printed:
    return restencil("import", "openapi.json", *options, code=code)


def kept() -> dict[str, bytes]:
    """All files, but for the document."""
    files = (path for path in Path().rglob("*") if path.is_file() and path.name != "openapi.json")
    return {path.as_posix(): path.read_bytes() for path in files}


def rejected(code: int, *options: str) -> str:
    """What an import says on stderr that ends with this exit code and writes nothing."""
    before = kept()
    said = imported(*options, code=code).err
    assert kept() == before
    return said


def in_conflict() -> None:
    """A type that was edited here and changed upstream."""
    edit(("total: number", "total: decimal"))
    upstream(total={"type": "string"})


def test_import_command_edits_survive_what_upstream_changed() -> None:
    """Three edits and a new property: all four are there; the second time nothing is written."""
    ours = edit(
        ("total: number", "total: decimal   # exact"),
        ("  orders:\n", "  purchases:\n"),
        ("note: string?", "memo: {type: string?, wire: note}"),
    )
    upstream(note={"type": "string", "description": "Whatever."}, paid_at={"type": "string", "format": "date-time"})
    imported()
    text = SPEC.read_text()
    assert "total: decimal   # exact\n" in text
    assert "  purchases:\n" in text
    assert "memo: {type: string?, description: Whatever., wire: note}" in text
    assert "paid_at: datetime?" in text
    assert set(ours.split("\n")) - set(text.split("\n")) == {"      memo: {type: string?, wire: note}"}
    before = kept()
    for options in ([], ["--again"]):
        imported(*options)
        assert kept() == before
    assert load_spec(SPEC).problems == ()


def test_import_command_unchanged_source_writes_nothing_whatever_was_edited() -> None:
    """Not even a spec with mistakes matters, and ruamel.yaml is not loaded."""
    edit(("total: number", "total: nmbr"))
    before = kept()
    script = (
        "import sys; from restencil_generator.cli.main import run; code = run(['import', 'openapi.json']); "
        "sys.exit(10 if any(name.startswith('ruamel') for name in sys.modules) else code)"
    )
    assert python("-c", script).returncode == 0
    assert kept() == before


def test_import_command_conflict_is_told_and_nothing_is_written() -> None:
    """Exit code 1; base, ours with its place, theirs with the place in the document; `--format json` lists it too."""
    in_conflict()
    line = 1 + SPEC.read_text().split("\n").index("      total: decimal")
    place = 1 + Path("openapi.json").read_text()[: Path("openapi.json").read_text().index('"total": {')].count("\n")
    assert rejected(1) == (
        f"shop.yaml:{line}:14: error[import-conflict]: entities.Order.fields.total changed here and upstream\n"
        f"{line:>5} |       total: decimal\n"
        f"      |              ^^^^^^^ here decimal, last import number, openapi.json:{place} now string\n"
        "1 error\n"
        "Conflicts found, nothing written. Edit the spec, or pass --ours NODE or --theirs NODE.\n"
    )
    assert [one["code"] for one in imported("--format", "json", code=1).document["refused"]] == ["import-conflict"]


@pytest.mark.parametrize(("option", "found"), [("--ours", "decimal"), ("--theirs", "string")])
@pytest.mark.parametrize("node", ["entities.Order.fields.total", "*"])
def test_import_command_conflict_is_settled(option: str, node: str, found: str) -> None:
    """By the node as it is printed, or by `*` for all; then the source is as imported."""
    in_conflict()
    imported(option, node)
    assert f"      total: {found}\n" in SPEC.read_text()
    before = kept()
    imported("--again")
    assert kept() == before


def test_import_command_name_that_settles_nothing_is_told() -> None:
    """It is a slip: exit code 2, with the nearest that is in conflict."""
    in_conflict()
    said = "there is no conflict at 'entities.Order.fields.totl'; did you mean 'entities.Order.fields.total'?"
    assert said in rejected(2, "--ours", "entities.Order.fields.totl")


def test_import_command_notices_as_data() -> None:
    """`--format json` lists what the merge decided and should be looked at under `notices`."""
    edit(("note: string?", "note: datetime?"))
    upstream(note=None)
    (notice,) = imported("--format", "json").document["notices"]
    assert notice["code"] == "removed-upstream"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("total: number", "total: nmbr", "error[unknown-type]: unknown type 'nmbr'"),
        ("total: number", "total: [number", "error[yaml-syntax]"),
        ("restencil: 1", "- x", "error[yaml-syntax]"),
    ],
)
def test_import_command_spec_with_mistakes_is_told_and_left(old: str, new: str, said: str) -> None:
    """What someone edited into nonsense gives its message with file and line, exit code 2, and nothing is lost."""
    upstream(note=None)
    edit((old, new))
    shown = rejected(2)
    assert "shop.yaml:" in shown and said in shown


def test_import_command_edit_that_refers_to_what_is_gone_is_told() -> None:
    """The merged spec has to pass the check: its mistake is shown, exit code 1, nothing is written."""
    edit(("    fields:\n", "    indexes: [note]\n    fields:\n"))
    upstream(note=None)
    shown = rejected(1)
    assert "note" in shown
    assert "The merged spec has errors, nothing written. Fix them in the document, an overlay, or the spec." in shown


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        (".imported/shop.yaml", "a: [\n", ".imported/shop.yaml:2:1: is not what an import wrote"),
        (".imported/shop.json", '{"source":\n<<<', ".imported/shop.json:2:1: is not what an import wrote"),
        (".imported/shop.json", "[]", ".imported/shop.json: is not what an import wrote"),
    ],
)
def test_import_command_what_is_kept_of_an_import_and_broken_is_told(file: str, content: str, said: str) -> None:
    """Exit code 2, with what to do; nothing is written."""
    Path(file).write_text(content)
    upstream(note=None)
    assert said in rejected(2)


@pytest.mark.parametrize(("option", "ours"), [("--ours", True), ("--theirs", False)])
def test_import_command_spec_that_was_not_imported_is_taken_over(option: str, ours: bool) -> None:
    """`--ours '*'` keeps it, `--theirs '*'` replaces it; without either exit code 2 says so."""
    before = SPEC.read_text()
    text = edit(("total: number", "total: decimal"))
    for file in Path(".imported").iterdir():
        file.unlink()
    assert rejected(2) == (
        "restencil: shop.yaml was not imported: there is no .imported/shop.yaml "
        "(--ours '*' keeps it, --theirs '*' replaces it)\n"
    )
    imported(option, "*")
    assert SPEC.read_text() == (text if ours else before)
    assert Path(".imported/shop.yaml").read_text() == before


@pytest.mark.parametrize("out", ["shop.yaml", "specs"])
def test_import_command_spec_of_another_package_is_not_replaced(out: str) -> None:
    """Not even with `--theirs '*'`: the message names the package, and that the import needs another place."""
    if out == "specs":
        Path("specs").mkdir()
        Path("specs/spec.yaml").write_text(SPEC.read_text())
    assert rejected(2, "--package", "other", "--out", out, "--theirs", "*") == (
        f"restencil: {out} is the spec of the package 'shop', not of 'other'; choose another place with --out\n"
    )


def test_import_command_bytes_of_ours_are_kept() -> None:
    """A byte order mark and line ends too."""
    SPEC.write_bytes(b"\xef\xbb\xbf" + SPEC.read_bytes().replace(b"\n", b"\r\n"))
    upstream(note=None)
    imported()
    content = SPEC.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf#") and b"note" not in content
    assert content.count(b"\n") == content.count(b"\r\n")


def test_import_command_what_would_be_written_is_shown() -> None:
    """`--diff` shows the merge and writes nothing."""
    edit(("total: number", "total: decimal"))
    upstream(note=None)
    before = kept()
    shown = imported("--diff").out
    assert "-      note: string?\n" in shown and "decimal\n" in shown and "-      total" not in shown
    assert kept() == before


# ----------------------------------------------------------------------------------------------------- several files


def test_import_command_split_spec_is_a_folder() -> None:
    """A file for each table and resource; together they are the spec."""
    text = SPEC.read_text()
    imported("--split", "--out", "specs/shop")
    files = sorted(path.relative_to("specs").as_posix() for path in Path("specs").rglob("*") if path.is_file())
    assert files == [
        ".imported/shop.json",
        ".imported/shop.yaml",
        "shop/entities.yaml",
        "shop/enums.yaml",
        "shop/resources/orders.yaml",
        "shop/spec.yaml",
    ]
    assert Path("specs/.imported/shop.yaml").read_text() == text
    assert api.load(Path("specs/shop")).digest == api.load(SPEC).digest
    assert "".join(split_files(text).values()).replace("\n", "") == text.replace("\n", "")


def test_import_command_out_that_ends_with_a_slash_is_a_folder() -> None:
    """A folder that does not exist yet is written as with `--split`, not as a file without an ending."""
    imported("--out", "specs/shop/")
    assert Path("specs/shop/spec.yaml").is_file()


# ------------------------------------------------------------------------------------------------------------ kills


IMPORT = ["import", "openapi.json", "--split", "--out", "specs/shop"]
STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.listdir", "os.scandir", "tempfile.mkstemp")


def killed(point: int) -> bool:
    """Runs the import in a process that ends without a word at its n-th step in files; whether it did."""
    child = os.fork()
    if child == 0:
        left = point

        def step(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal left
            if event in STEPS and "specs" in str(arguments):
                left -= 1
                if left < 0:
                    os._exit(9)

        sys.addaudithook(step)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os._exit(run(IMPORT))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_import_command_kill_leaves_each_file_whole(every: int) -> None:
    """At whatever point it ends, each file is the old or the new one, those of the spec first; the next run ends it."""
    restencil(*IMPORT)
    edit(("total: number", "total: decimal   # exact"), file=Path("specs/shop/entities.yaml"))
    upstream("sent", note=None, size={"type": "integer"})
    Path("openapi.json").write_text(Path("openapi.json").read_text().replace('"title": "Shop"', '"title": "Shop API"'))
    before = kept()
    restencil(*IMPORT)
    after = kept()
    changed = [name for name in after if before.get(name) != after[name]]
    assert len(changed) == 5
    points = 0
    while True:
        for name, content in before.items():
            Path(name).write_bytes(content)
        if not killed(points):
            break
        points += every
        found = kept()
        assert all(found[name] in (before[name], after[name]) for name in after)
        states = [
            found[name] == after[name]
            for name in sorted(changed, key=lambda name: (".imported" in name, ".json" in name))
        ]
        assert states[3:] == sorted(states[3:], reverse=True)
        assert all(states[:3]) or not any(states[3:])
        for name in found.keys() - after.keys():
            assert name.endswith(".tmp")
            Path(name).unlink()
        restencil(*IMPORT)
        assert kept() == after
    assert points >= 50, points


# ------------------------------------------------------------------------------------------------------------- check


def test_import_command_check_says_what_upstream_changed() -> None:
    """Per class, with both places; edits made here that would be in conflict are foretold; nothing is written."""
    edit(("total: number", "total: decimal"))
    upstream(total={"type": "string"}, note={"type": "string", "description": "Whatever."}, size={"type": "integer"})
    before = kept()
    shown = imported("--check", code=1).out
    assert kept() == before
    lines = Path("openapi.json").read_text().split("\n")
    at = {
        name: 1 + next(n for n, line in enumerate(lines) if line.strip().startswith(f'"{name}": {{'))
        for name in ("total", "note", "size")
    }
    column = 1 + lines[at["total"] - 1].index('"')
    base = Path(".imported/shop.yaml").read_text().split("\n")
    line = 1 + base.index("      total: number")
    assert shown.startswith(
        f"openapi.json:{at['total']}:{column}: breaking[field-type-changed]: Order.total: number → string\n"
        f".imported/shop.yaml:{line}:14: note: was number here\n"
    )
    assert f"openapi.json:{at['size']}:{column}: additive[field-added]: Order.size: " in shown
    assert f"openapi.json:{at['note']}:{column}: documentation[description-changed]: Order.note: " in shown
    assert "\n1 breaking, 1 additive, 1 documentation\n1 conflict with edits made here:\nshop.yaml:" in shown
    assert "error[import-conflict]: entities.Order.fields.total changed here and upstream" in shown


@pytest.mark.parametrize(
    ("changed", "fail_on", "code"),
    [
        ({"total": {"type": "string"}}, "breaking", 1),
        ({"size": {"type": "integer"}}, "behaviour", 0),
        ({"size": {"type": "integer"}}, "additive", 1),
        ({"note": {"type": "string", "description": "Whatever."}}, "additive", 0),
        ({"note": {"type": "string", "description": "Whatever."}}, "documentation", 1),
        ({}, "documentation", 0),
    ],
)
def test_import_command_check_fails_from_a_class_on(changed: dict[str, Any], fail_on: str, code: int) -> None:
    """`--fail-on`; without it any change gives exit code 1."""
    upstream(**changed)
    imported("--check", "--fail-on", fail_on, code=code)
    shown = imported("--check", code=1 if changed else 0).out
    assert (shown == "shop.yaml: nothing changed in openapi.json\n") == (not changed)


def test_import_command_check_as_data() -> None:
    """`--format json` is one document."""
    in_conflict()
    found = imported("--check", "--format", "json", code=1).document
    (change,) = found["changes"]
    assert [change[key] for key in ("class", "rule", "node", "file", "was_file")] == [
        *("breaking", "field-type-changed", "entities.Order.total"),
        *("openapi.json", ".imported/shop.yaml"),
    ]
    assert [conflict["code"] for conflict in found["conflicts"]] == ["import-conflict"]
    assert found["counts"] == {"breaking": 1, "behaviour": 0, "additive": 0, "documentation": 0}


def test_import_command_check_needs_a_last_import() -> None:
    """Without it exit code 2 says what is missing; `--fail-on` alone is a slip."""
    for file in Path(".imported").iterdir():
        file.unlink()
    assert "there is no .imported/shop.yaml, so there is nothing to compare with" in imported("--check", code=2).err
    imported("--fail-on", "breaking", code=2)
