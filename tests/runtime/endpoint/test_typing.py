"""Types are an API: right uses are clean, wrong ones an error where they stand, in mypy and in pyright."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.patience import python

ROOT = Path(__file__).resolve().parents[3]
TYPING = ROOT / "tests" / "typing"
SOURCES = [str(ROOT / "runtime"), str(ROOT / "tests" / "golden")]

Errors = dict[str, dict[int, list[str]]]
"""File name → line → messages."""


def _run(command: Sequence[str], folder: Path, **variables: str) -> str:
    done = python("-m", *command, cwd=folder, env={**os.environ, **variables})
    assert done.returncode in (0, 1), done.stderr + done.stdout
    return done.stdout


def mypy(folder: Path, *more: str) -> Errors:
    """What `mypy --strict` says of the files in a folder, and of what they import from here."""
    (folder / "mypy.ini").write_text(f"[mypy]\nstrict = True\npython_version = 3.11\nmypy_path = {':'.join(SOURCES)}\n")
    return _mypy(folder, folder, *more)


def mypy_as_here(folder: Path) -> Errors:
    """The same with the settings of this project, which are as strict; `make types` checked all imports before."""
    return _mypy(folder, ROOT, MYPYPATH=str(folder))


def _mypy(folder: Path, where: Path, *more: str, **variables: str) -> Errors:
    files = sorted(str(file) for file in folder.glob("*.py"))
    options = ["--no-error-summary", "--hide-error-context", "--no-pretty", *more]
    found: Errors = {}
    for line in _run(["mypy", *options, *files], where, **variables).splitlines():
        match = re.match(r"(.+?):(\d+): error: (.*)", line)
        if match:
            found.setdefault(Path(match[1]).name, {}).setdefault(int(match[2]), []).append(match[3])
    return found


def pyright(folder: Path, interpreter: str = sys.executable) -> Errors:
    """What pyright's strict mode says of the files in a folder."""
    config = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "extraPaths": SOURCES, "include": ["."]}
    (folder / "pyrightconfig.json").write_text(json.dumps({**config, "reportUnusedExpression": "none"}))
    output = _run(["pyright", "--outputjson", "--pythonpath", interpreter], folder)
    found: Errors = {}
    for problem in json.loads(output)["generalDiagnostics"]:
        if problem["severity"] == "error":
            line = problem["range"]["start"]["line"] + 1
            found.setdefault(Path(problem["file"]).name, {}).setdefault(line, []).append(problem["message"])
    return found


@pytest.mark.parametrize("checker", [mypy_as_here, pyright], ids=["mypy", "pyright"])
def test_typing_right_uses_are_clean_and_wrong_ones_are_errors_at_their_line(
    checker: Callable[[Path], Errors], tmp_path: Path
) -> None:
    """Both checkers in strict mode, on the same files."""
    for file in TYPING.glob("*.py"):
        shutil.copy(file, tmp_path)
    found = checker(tmp_path)
    wrong = found.pop("wrong.py", {})
    assert found == {}
    lines = (TYPING / "wrong.py").read_text("utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if "# error: " in line}
    assert {number: wrong[number] for number in wrong.keys() - marked} == {}
    assert [lines[number - 1].strip() for number in sorted(marked - wrong.keys())] == []


USER = """
from typing import Any
from restencil import AsyncController, Controller, RestEndpoint, StreamedResponse
from restencil.testing import MockServer


def tried(server: MockServer, streamed: StreamedResponse, endpoint: RestEndpoint[..., Any]) -> int:
    with Controller(client=server.client(), user_agent="mine") as controller:
        controller.fetch(endpoint)
    AsyncController(http="httpx2")
    AsyncController(client=server.client())
    return streamed.response.status_code + len(streamed.response.headers)
"""


@pytest.mark.parametrize("checker", [pytest.param("mypy", marks=pytest.mark.slow), "pyright"])
def test_typing_user_s_code_needs_the_types_of_neither_http_library(checker: str, tmp_path: Path) -> None:
    """Where a checker finds neither, it says nothing of strict code, and a client of the wrong world is one error."""
    (tmp_path / "user.py").write_text(USER)
    bare = getattr(sys, "_base_executable", sys.executable)  # what is installed for the tests is not there
    found = mypy(tmp_path, "--no-site-packages") if checker == "mypy" else pyright(tmp_path, bare)
    wrong = next(n for n, line in enumerate(USER.splitlines(), 1) if "AsyncController(client=" in line)
    assert found["user.py"].keys() == {wrong}
