"""What the project promises its readers: no circles, one place for each package of others, classes not too large."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conventions.imports import PACKAGES, ROOT, arrows_of, circles_of, files_of, imported_names, tree_of
from tests.quick import TESTS_OF, selected_tests

MODULES = [(module, file) for package in PACKAGES for module, file in files_of(ROOT / package).items()]

ONE_FILE = {
    "httpx": "runtime/restencil/http/library.py",
    "pydantic_core": "runtime/restencil/schema/pydantic.py",
    "valkey": "runtime/restencil/storage/valkey.py",
    "yaml": "generator/restencil_generator/spec/source/yaml.py",
    "jinja2": "generator/restencil_generator/codegen/render.py",
    "black": "generator/restencil_generator/codegen/format.py",
    "jsonpath_rfc9535": "generator/restencil_generator/openapi/document/json_path.py",
    "ruamel": "generator/restencil_generator/openapi/merge/yaml_edit.py",
}
"""The packages of others that one file alone names, for types too: whoever replaces one has one file to change."""

MOST_METHODS = 30


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """The parsed files are let go of after the last test here, and are no garbage before."""
    gc.disable()
    yield
    tree_of.cache_clear()
    gc.enable()


def importing(package: str) -> list[Path]:
    """The files that import a package of others."""
    return [file for module, file in MODULES if package in {n.partition(".")[0] for n in imported_names(module, file)}]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_files_import_each_other_in_a_circle(package: str) -> None:
    """Each file can be read after those that it imports; imports for types count."""
    assert circles_of(arrows_of(ROOT / package)) == []


@pytest.mark.parametrize(("package", "file"), ONE_FILE.items())
def test_a_package_of_others_is_named_in_one_file(package: str, file: str) -> None:
    """One file names each package of others."""
    assert {str(path.relative_to(ROOT)) for path in importing(package)} == {file}


def test_click_is_named_under_cli_alone() -> None:
    """Only the modules of the commands know the library that parses their arguments."""
    assert {path.parent for path in importing("click")} == {ROOT / "generator/restencil_generator/cli"}


def test_no_file_imports_the_other_http_library() -> None:
    """httpx2 is imported by its name where it was chosen, in the file that names httpx; all else is over both."""
    assert importing("httpx2") == []


def _classes() -> Iterator[tuple[Path, ast.ClassDef]]:
    for _, file in MODULES:
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.ClassDef):
                yield file, node


def test_no_class_has_more_methods_than_can_be_kept_in_mind() -> None:
    """A class has 30 methods of its own at most."""
    found = {
        f"{file.name}: {node.name}": count
        for file, node in _classes()
        if (count := len({m.name for m in node.body if isinstance(m, ast.FunctionDef | ast.AsyncFunctionDef)}))
        > MOST_METHODS
    }
    assert found == {}


def _docstrings() -> Iterator[tuple[str, str]]:
    """What is public in the runtime and the generator, with its docstring."""
    for module, file in MODULES:
        if any(part.startswith("_") and part != "__main__" for part in module.split(".")):
            continue
        tree = tree_of(file)
        to_see: list[tuple[str, ast.AST]] = [(module, tree)]
        while to_see:
            name, node = to_see.pop()
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text is not None:
                    yield name, text
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    if not child.name.startswith("_"):
                        to_see.append((f"{name}.{child.name}", child))
                elif isinstance(child, ast.If | ast.Try):
                    to_see.append((name, child))


def test_public_docstrings_stand_on_their_own() -> None:
    """No public docstring cites a document that does not ship, or says "the same" of something elsewhere."""
    found = [name for name, text in _docstrings() if "§" in text or text.startswith("The same")]
    assert found == []


def test_no_text_of_the_code_cites_a_document_that_does_not_ship() -> None:
    """Comments and messages say the rule itself, those of the tests too."""
    tests = [file for file in (ROOT / "tests").rglob("*.py") if file != Path(__file__)]
    found = [
        str(file.relative_to(ROOT)) for file in [*(f for _, f in MODULES), *tests] if "§" in file.read_text("utf-8")
    ]
    assert found == []


def _mapped_folders() -> dict[str, Path]:
    """The folders whose files `docs/architecture.md` describes one by one, by their headings there."""
    runtime, generator = (ROOT / package for package in PACKAGES)
    wings = {folder.name: folder for folder in runtime.iterdir() if folder.is_dir()}
    stages = {
        folder.parent.relative_to(generator).as_posix(): folder.parent for folder in generator.rglob("__init__.py")
    }
    return {heading: folder for heading, folder in {**wings, **stages}.items() if heading not in (".", "__pycache__")}


def test_the_questions_of_the_map_have_answers_that_exist() -> None:
    """Each row of `Where to find things` names a file or folder that exists, and only names that stand in the file."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    rows = re.findall(r"^\| ([A-Z].*\?) \| (.*) \|$", text, flags=re.MULTILINE)
    assert len(rows) > 15
    folders = [ROOT, *(ROOT / package for package in PACKAGES)]
    for question, answer in rows:
        quoted = re.findall(r"`([^`]+)`", answer)
        found = [folder / name for name in quoted if "/" in name for folder in folders if (folder / name).exists()]
        assert len(found) == sum("/" in name for name in quoted) > 0, question
        written = "".join(path.read_text("utf-8") for path in found if path.is_file())
        missing = [name for name in quoted if "/" not in name and name.rpartition(".")[2] not in written]
        assert missing == [], question


def test_the_map_names_each_file_of_its_folders() -> None:
    """`docs/architecture.md` has each file of each folder under the folder's heading, and none that is not there."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    sections = re.split(r"^### ([\w/]+)$", text, flags=re.MULTILINE)
    named = {
        heading: {
            name
            for row in re.findall(r"^\| (`.*?) \|", text, flags=re.MULTILINE)
            for name in re.findall(r"`(\w+)`", row)
        }
        for heading, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    files = {
        heading: {file.stem for file in folder.glob("*.py")} - {"__init__"}
        for heading, folder in _mapped_folders().items()
    }
    assert named == files


def test_quick_each_folder_of_code_has_tests() -> None:
    """A new folder of code gets a row in the table, and a row of a folder that is gone is removed."""
    folders = {
        f"{package}/{inner[0]}" if len(inner) > 1 else package
        for package in PACKAGES
        for inner in (file.relative_to(ROOT / package).parts for file in files_of(ROOT / package).values())
    }
    assert {folder for folder in TESTS_OF if folder.startswith(PACKAGES)} == folders


def test_quick_named_tests_exist() -> None:
    """A folder or file of tests that was moved is renamed in the table."""
    assert [test for tests in TESTS_OF.values() for test in tests if not (ROOT / test).exists()] == []


def test_quick_runs_the_tests_of_the_innermost_folder() -> None:
    """A changed file runs the tests of its folder; a changed test runs itself; documentation runs nothing."""
    assert selected_tests(["runtime/restencil/endpoint/path.py"]) == ["tests/runtime/endpoint"]
    assert selected_tests(["tests/conventions/test_conventions.py"]) == ["tests/conventions/test_conventions.py"]
    assert selected_tests(["README.md"]) == []
