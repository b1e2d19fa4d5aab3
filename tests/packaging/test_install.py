"""What a user gets: the wheel is built from the sdist, installed into fresh environments, and used from elsewhere.

The source tree is on nobody's path here, so a broken build cannot hide behind it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
GENERATOR_ONLY = {"black", "click", "jinja2", "markupsafe", "orjson", "pyyaml", "starlette", "uvicorn", "watchfiles"}


def _environment() -> dict[str, str]:
    """The surroundings without what points at this source tree."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_"))}


def _run(*command: str | Path, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=_environment(), capture_output=True, text=True, timeout=3 * PATIENCE
    )
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


class Installed:
    """A fresh environment with the project in it, and an empty folder to work in."""

    def __init__(self, folder: Path, wheel: Path, extra: str) -> None:
        self.venv = folder / "venv"
        self.cwd = folder / "elsewhere"
        self.cwd.mkdir(parents=True)
        _run(sys.executable, "-m", "venv", "--without-pip", self.venv, cwd=folder)
        self.bin = self.venv / ("Scripts" if os.name == "nt" else "bin")
        # The pip of this environment installs into that one, which needs none. What is imported is compiled then.
        pip = (sys.executable, "-m", "pip", "--python", self.bin / "python", "--disable-pip-version-check")
        # A slow index is asked again; nothing but an index is needed.
        patient = ("--timeout", "60", "--retries", "10")
        _run(*pip, "install", "--quiet", "--no-compile", *patient, f"{wheel}{extra}", cwd=self.cwd)

    def python(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return _run(self.bin / "python", *arguments, cwd=self.cwd, code=code)

    def restencil(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return _run(self.bin / "restencil", *arguments, cwd=self.cwd, code=code)

    def distributions(self) -> set[str]:
        listed = "from importlib.metadata import distributions as all; print(*(found.name for found in all()))"
        return {name.lower().replace("_", "-") for name in self.python("-c", listed).stdout.split()}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel, and the sdist that it is built from."""
    out = tmp_path_factory.mktemp("dist")
    # With the hatchling of this environment: the build itself needs no download.
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    return next(out.glob("*.whl")), next(out.glob("*.tar.gz"))


@pytest.fixture(scope="session")
def plain(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel without extras."""
    return Installed(tmp_path_factory.mktemp("plain"), built[0], "")


@pytest.fixture(scope="session")
def full(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel with the generator."""
    return Installed(tmp_path_factory.mktemp("full"), built[0], "[generator]")


def test_the_wheel_holds_three_packages_and_nothing_else(built: tuple[Path, Path]) -> None:
    """Nothing called runtime, generator, templates or tests lands in site-packages."""
    names = zipfile.ZipFile(built[0]).namelist()
    heads = {name.partition("/")[0] for name in names}
    packages = {"restencil", "restencil_generator", "restencil_templates"}
    assert {head for head in heads if not head.endswith(".dist-info")} == packages
    assert {f"{package}/__init__.py" for package in packages} <= {*names}
    assert {"restencil/py.typed", "restencil_generator/py.typed"} <= {*names}
    assert any(name.startswith("restencil_templates/") and not name.endswith(".py") for name in names)


def test_json_schema_is_made_when_built_and_is_not_in_git(built: tuple[Path, Path], full: Installed) -> None:
    """Wheel and sdist hold the schema once; what is installed has it as `restencil schema` prints it."""
    name = "restencil_generator/spec/grammar/spec.schema.json"
    assert not (ROOT / "generator" / name).exists()
    printed = full.restencil("schema").stdout
    assert zipfile.ZipFile(built[0]).namelist().count(name) == 1
    with tarfile.open(built[1]) as archive:
        assert [one.partition("/")[2] for one in archive.getnames()].count(f"generator/{name}") == 1
    found = "import importlib.resources as r; print(r.files('restencil_generator').joinpath(*{!r}).read_text(), end='')"
    assert full.python("-c", found.format(name.split("/")[1:])).stdout == printed


def test_the_sdist_holds_what_the_tests_need(built: tuple[Path, Path]) -> None:
    """Whoever packages the project can run its tests from the sdist."""
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"README.md", "LICENSE", "Makefile", "pyproject.toml", "specs/blog.yaml"}
    assert {*needed, "tests/conventions/test_conventions.py"} <= names


def test_a_user_of_a_generated_package_installs_httpx_alone(plain: Installed) -> None:
    """Without extras nothing of the generator's dependencies comes along, and the runtime imports."""
    found = plain.distributions()
    assert "httpx" in found
    assert found & GENERATOR_ONLY == set()
    plain.python("-W", "error", "-c", "import restencil; restencil.Controller, restencil.AsyncController")


def test_without_the_extra_the_command_names_the_pip_command(plain: Installed) -> None:
    """`restencil` without its extra says how to add it, with exit code 2 and no traceback."""
    answer = plain.restencil("check", code=2)
    assert "pip install 'restencil[generator]'" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_generated_package_works_without_the_generator(plain: Installed, full: Installed) -> None:
    """Generated on one machine, imported on another that has the runtime alone."""
    (full.cwd / "blog.yaml").write_text((ROOT / "specs" / "blog.yaml").read_text("utf-8"), "utf-8")
    full.restencil("generate", "blog.yaml", "--out", str(plain.cwd))
    plain.python("-W", "error", "-c", "import blog; assert blog.Blog(token='t').articles.get_list.key() ")


def test_the_command_works_from_anywhere(full: Installed) -> None:
    """Where it is installed, generate and check agree, and the templates are found."""
    (full.cwd / "blog.yaml").write_text((ROOT / "specs" / "blog.yaml").read_text("utf-8"), "utf-8")
    full.restencil("generate", "blog.yaml", "--out", "out")
    full.restencil("check", "blog.yaml", "--out", "out")
    generated = (full.cwd / "out" / "blog" / "__init__.py").read_bytes()
    assert generated == (ROOT / "tests" / "golden" / "blog" / "__init__.py").read_bytes()


def test_without_the_mock_extra_the_command_names_the_pip_command(full: Installed) -> None:
    """`restencil mock` needs an extra of its own and says which."""
    (full.cwd / "blog.yaml").write_text((ROOT / "specs" / "blog.yaml").read_text("utf-8"), "utf-8")
    answer = full.restencil("mock", "blog.yaml", code=2)
    assert "pip install 'restencil[mock]'" in answer.stderr
