"""Same spec, same bytes: whatever the Python, the machine, the folder, and the order of what has no order."""

from __future__ import annotations

import copy
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.effort import IS_NIGHT, examples
from tests.generator.declared import declared
from tests.generator.projects import environment
from tests.generator.projects import python as run_python
from tests.patience import PATIENCE

from restencil_generator.api import load
from restencil_generator.output.manifest import Package
from restencil_generator.output.pipeline import build

ROOT = Path(__file__).parents[3]
SPECS = ROOT / "specs"
EXAMPLES = ["awkward", "blog", "market"]


def package(path: Path) -> Package:
    return build(load(path), str(path))


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def generated(
    out: Path, spec: Path, python: str = sys.executable, cwd: str = ".", **variables: str
) -> dict[str, bytes]:
    """The files that a process of its own writes."""
    command = ["-m", "restencil_generator", "generate", str(spec), "--out", str(out)]
    done = run_python(*command, python=python, env=environment(RESTENCIL_CACHE_DIR="", **variables), cwd=cwd)
    assert done.returncode == 0, done.stderr
    return files(out)


def test_determinism_environment_changes_nothing(tmp_path: Path) -> None:
    """Hash seed, time zone, locale, umask, working directory, terminal and colours leave the bytes alone."""
    spec = tmp_path / "awkward.yaml"
    shutil.copy(SPECS / "awkward.yaml", spec)
    expected = generated(tmp_path / "a", spec, PYTHONHASHSEED="0")
    others: list[dict[str, str]] = [
        {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo"},
        {"PYTHONHASHSEED": "4242", "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "COLUMNS": "20"},
        {"PYTHONOPTIMIZE": "2", "NO_COLOR": "1", "TERM": "dumb"},
    ]
    if not IS_NIGHT:
        others = [{name: value for variables in others for name, value in variables.items()}]
    for number, variables in enumerate(others):
        assert generated(tmp_path / str(number), spec, **variables) == expected, variables
    assert generated(tmp_path / "here", Path("awkward.yaml"), cwd=str(tmp_path)) == expected
    before = os.umask(0o077)
    try:
        assert generated(tmp_path / "private", spec) == expected
    finally:
        os.umask(before)


def shuffled(node: yaml.Node, chance: random.Random, ordered: bool = False) -> yaml.Node:
    """The same spec with its keys in another order, wherever order has no meaning; aliases are written out."""
    node = copy.copy(node)
    node.anchor = None  # type: ignore[attr-defined]  # PyYAML's stubs do not know it
    if isinstance(node, yaml.MappingNode):
        pairs = [*node.value] if ordered else chance.sample(node.value, len(node.value))
        node.value = [
            (key, value if key.value in _ORDERED else shuffled(value, chance, key.value == "endpoints"))
            for key, value in pairs
        ]
    return node


_ORDERED = frozenset(
    {"fields", "servers", "objects", "enums", "body", "header_params", "search_params", "params", "schema"}
    | {"examples", "members", "type", "returns", "schemes"}
)
"""Keys below which order has a meaning, or may have one."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_determinism_order_of_keys_changes_nothing_where_it_has_no_meaning(name: str) -> None:
    """Top-level keys, entities, resources and the settings of endpoints in any order give the same bytes."""
    node = yaml.compose((SPECS / f"{name}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    assert node is not None
    files = package(SPECS / f"{name}.yaml").files
    for seed in range(examples(2, 3)):
        mixed = yaml.serialize(shuffled(node, random.Random(seed)), allow_unicode=False)
        assert build(declared(mixed, f"{name}.yaml"), f"{name}.yaml").files == files


def pythons() -> Iterator[str]:
    """Other Pythons of this machine, from 3.11 on."""
    folders = [Path.home() / ".pyenv" / "versions"]
    found = {path for folder in folders if folder.is_dir() for path in folder.glob("3.*/bin/python")}
    found |= {Path(there) for minor in range(11, 20) if (there := shutil.which(f"python3.{minor}"))}
    seen = {sys.version_info[:2]}
    for path in sorted(found):
        done = run_python("-c", "import sys; print(*sys.version_info[:2])", python=str(path))
        major, minor = map(int, done.stdout.split()) if done.returncode == 0 else (0, 0)
        if (major, minor) >= (3, 11) and (major, minor) not in seen:
            seen.add((major, minor))
            yield str(path)


@pytest.mark.slow
def test_determinism_every_python_gives_the_same_bytes(tmp_path: Path) -> None:
    """Each other Python from 3.11 on, in an environment of its own, gives what this one gives."""
    others = list(pythons())
    if not others:
        pytest.skip("no other Python from 3.11 on is here")
    for number, python in enumerate(others):
        folder = tmp_path / str(number)
        folder.mkdir()
        check_bytes_of(python, folder)


def check_bytes_of(python: str, folder: Path) -> None:
    """What that Python gives is what this one gives."""
    environment = folder / "environment"
    subprocess.run([python, "-m", "venv", str(environment)], check=True, timeout=PATIENCE)
    own = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    subprocess.run(
        [str(own), "-m", "pip", "install", "--quiet", "black>=26.1,<27", "click>=8.2", "jinja2>=3.1", "pyyaml>=6.0.1"],
        check=True,
        timeout=PATIENCE,
    )
    roots = os.pathsep.join(str(ROOT / name) for name in ("generator", "templates", "runtime"))
    for name in EXAMPLES:
        spec = SPECS / f"{name}.yaml"
        expected = generated(folder / "own", spec, PYTHONPATH=roots)
        assert generated(folder / "other", spec, python=str(own), PYTHONPATH=roots) == expected, python
