"""A project in an empty working directory, and the command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.patience import PATIENCE

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


def process(*arguments: str, stdin: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """A run in a process of its own, which ends even where it would hang."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=variables,
        check=False,
        input=stdin,
    )
