"""Packages of what our own documents give are typed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.openapi.imports import NAMES, imported

from restencil_generator import api


@pytest.mark.slow
def test_inferred_package_they_pass_both_type_checkers(tmp_path: Path) -> None:
    """Packages are typed strictly for mypy and for pyright."""
    for name in NAMES:
        (tmp_path / f"{name}.yaml").write_text(imported(name).text, encoding="utf-8")
        api.write(tmp_path / f"{name}.yaml", tmp_path)
    for checker in (["mypy", "--strict", "--config-file="], ["pyright", "--pythonpath", sys.executable]):
        done = subprocess.run(
            [sys.executable, "-m", *checker, *NAMES], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
