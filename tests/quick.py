"""`make quick`: the tests of the folders that changed since the last commit, or with it if nothing has.

`python -m tests.quick [REVISION]` compares the working tree with a revision. It prints the command that it runs.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

TESTS_OF: Final[dict[str, tuple[str, ...]]] = {
    "runtime/restencil": ("tests/runtime/base/test_import.py", "tests/runtime/base/test_errors.py"),
    "runtime/restencil/base": ("tests/runtime/base",),
    "runtime/restencil/cache": (  # the cases of freshness: its random programs take longer
        "tests/runtime/cache",
        "tests/freshness/test_changes.py",
        "tests/freshness/test_records.py",
        "tests/freshness/test_sequence.py",
        "tests/freshness/test_values.py",
    ),
    "runtime/restencil/client": ("tests/runtime/client",),
    "runtime/restencil/endpoint": ("tests/runtime/endpoint",),
    "runtime/restencil/http": ("tests/runtime/http",),
    "runtime/restencil/persistence": (  # not what waits for processes and servers
        "tests/storage/test_dump.py",
        "tests/storage/test_endings.py",
        "tests/storage/test_evictions.py",
        "tests/storage/test_following.py",
        "tests/storage/test_leases.py",
        "tests/storage/test_reading.py",
        "tests/storage/test_rows.py",
        "tests/storage/test_writing.py",
    ),
    "runtime/restencil/schema": ("tests/runtime/schema", "tests/runtime/cache/test_list_membership.py"),
    "runtime/restencil/storage": (
        "tests/storage/test_contract.py",
        "tests/storage/test_sqlite.py",
        "tests/storage/test_valkey.py",
    ),
    "runtime/restencil/testing": ("tests/runtime/testing",),
    "generator/restencil_generator": ("tests/generator/test_api.py", "tests/generator/cli/test_cli.py"),
    "generator/restencil_generator/cache_inspect": ("tests/generator/cli/test_cache_command.py",),
    "generator/restencil_generator/cli": ("tests/generator/cli",),
    "generator/restencil_generator/codegen": ("tests/generator/codegen",),
    "generator/restencil_generator/diagnostics": ("tests/generator/diagnostics",),
    "generator/restencil_generator/diff": ("tests/generator/diff",),
    "generator/restencil_generator/lint": ("tests/generator/lint", "tests/generator/spec/test_check_mistakes.py"),
    "generator/restencil_generator/mock": ("tests/generator/mock",),
    "generator/restencil_generator/openapi": ("tests/openapi", "tests/generator/export"),
    "generator/restencil_generator/output": ("tests/generator/output",),
    "generator/restencil_generator/project": ("tests/generator/test_api.py",),
    "generator/restencil_generator/spec": ("tests/generator/spec",),
    "templates/restencil_templates": ("tests/generator/codegen",),
    "specs": ("tests/generator/codegen/test_golden.py", "tests/generator/packages/test_examples.py"),
}
"""The tests of each folder of code, which `make quick` runs; `make test` runs all of them."""


def selected_tests(changed: Iterable[str]) -> list[str]:
    """The tests to run for changed files, which are named by their path in the repository."""
    found: dict[str, None] = {}
    for name in changed:
        if name.startswith("tests/") and Path(name).name.startswith("test_"):
            found[name] = None
        folders = [folder for folder in TESTS_OF if name.startswith(f"{folder}/")]
        for test in TESTS_OF[max(folders, key=len)] if folders else ():
            found[test] = None
    return [test for test in found if (ROOT / test).exists()]


def changed_since(revision: str) -> list[str]:
    """The files that differ from a revision, and those that git does not know yet."""

    def lines(*command: str) -> list[str]:
        return subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split(
            "\n"
        )

    names = [*lines("diff", "--name-only", revision), *lines("ls-files", "--others", "--exclude-standard")]
    return [name for name in names if name]


def main(arguments: list[str]) -> int:
    """Runs the tests, and returns the exit code of pytest; 0 where nothing changed."""
    changed = changed_since(arguments[0]) if arguments else changed_since("HEAD") or changed_since("HEAD~1")
    tests = selected_tests(changed)
    if not tests:
        print("no code changed: nothing to test")
        return 0
    command = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-m", "not slow and not network", *tests]
    print("python", *command, flush=True)
    return subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
