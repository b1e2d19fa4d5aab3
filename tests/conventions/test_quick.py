"""`make quick` knows the tests of every folder of code."""

from __future__ import annotations

from tests.conventions.imports import PACKAGES, ROOT, files_of
from tests.quick import TESTS_OF, selected_tests


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
    assert selected_tests(["tests/conventions/test_quick.py"]) == ["tests/conventions/test_quick.py"]
    assert selected_tests(["README.md"]) == []
