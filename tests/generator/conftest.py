"""What tests of several folders of the generator share."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import restencil_generator as generator

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on the path with the packages of the example specs that are not checked in."""
    folder = tmp_path_factory.mktemp("made")
    for hooks in GOLDEN.glob("*_hooks.py"):
        shutil.copy(hooks, folder)
    for path in (ROOT / "specs").glob("*.yaml"):
        if not (GOLDEN / path.stem).exists():
            generator.write(generator.load(path), folder)
    sys.path.append(str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder from which packages are imported."""
    folder = tmp_path_factory.mktemp("place")
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
