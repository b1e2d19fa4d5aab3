"""A project in an empty working directory, and the command, in this process and in one of its own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tests.patience import PATIENCE

from restencil_generator.cli.main import run

SPEC: Final = """\
restencil: 1
package: blog
url_prefix: https://blog.example
resources:
  posts: {path: /posts/:id, schema: {entity: Post, fields: {id: integer, title: string}}}
"""
COMMAND: Final = [sys.executable, "-m", "restencil_generator"]


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch, spec: str = "specs/blog.yaml", cache: str = "") -> Path:
    """Makes the folder a working directory with the spec of a blog, without a cache and without CI around."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("RESTENCIL_CACHE_DIR", cache)
    for name in ("CI", "GITHUB_ACTIONS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    Path(spec).parent.mkdir(exist_ok=True)
    Path(spec).write_text(SPEC)
    return folder


class Printed(NamedTuple):
    """What a run printed."""

    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON on stdout."""
        return json.loads(self.out)


def restencil(*arguments: object, code: int | None = 0) -> Printed:
    """Runs the command in this process, which must end with this exit code; with any where it is None."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        ended = run([*map(str, arguments)])
    assert code in (ended, None), f"exit code {ended}, not {code}:\n{out.getvalue()}{err.getvalue()}"
    return Printed(out.getvalue(), err.getvalue())


def environment(**variables: str) -> dict[str, str]:
    """The environment of a process that imports what this one can import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}


def python(*arguments: str, python: str = sys.executable, **options: Any) -> subprocess.CompletedProcess[str]:
    """A run of Python in a process of its own, which ends even where it would hang."""
    command = [python, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, **options)


def process(*arguments: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """A run of the command in a process of its own."""
    return python(*COMMAND[1:], *arguments, env=environment(**variables), input=stdin)
