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


def _files(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"tests/{folder}/test_{name}.py" for name in names.split())


_RUNTIME: Final = "runtime/restencil"
_GENERATOR: Final = "generator/restencil_generator"

TESTS_OF: Final[dict[str, tuple[str, ...]]] = {
    _RUNTIME: _files("runtime/base", "import errors"),
    **{f"{_RUNTIME}/{name}": (f"tests/runtime/{name}",) for name in ("base", "client", "endpoint", "http", "testing")},
    # The cases of freshness: its random programs take longer.
    f"{_RUNTIME}/cache": ("tests/runtime/cache", *_files("freshness", "changes records sequence values")),
    # Not what waits for processes and servers.
    f"{_RUNTIME}/persistence": _files("storage", "dump endings evictions following leases reading rows writing"),
    f"{_RUNTIME}/schema": ("tests/runtime/schema", "tests/runtime/cache/test_list_membership.py"),
    f"{_RUNTIME}/storage": _files("storage", "contract sqlite valkey"),
    _GENERATOR: ("tests/generator/test_api.py", "tests/generator/cli/test_cli.py"),
    **{
        f"{_GENERATOR}/{name}": (f"tests/generator/{name}",)
        for name in ("cli", "codegen", "diagnostics", "diff", "mock", "output", "spec")
    },
    f"{_GENERATOR}/cache_inspect": ("tests/generator/cli/test_cache_command.py",),
    f"{_GENERATOR}/lint": ("tests/generator/lint", "tests/generator/spec/test_check_mistakes.py"),
    f"{_GENERATOR}/openapi": ("tests/openapi", "tests/generator/export"),
    f"{_GENERATOR}/project": ("tests/generator/test_api.py",),
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
        done = subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True)
        return done.stdout.split("\n")

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
