"""The README says what is true: its specs load, its commands and code run, its tables are those of the command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from restencil_generator.cli import cli
from restencil_generator.loading import load_text
from restencil_generator.report import render
from restencil_generator.scaffold import scaffold
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
ADDRESS = "http://127.0.0.1:8000"


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line of the README on which the text begins."""

    language: str
    text: str
    line: int


def blocks(language: str) -> Iterator[Block]:
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        if found[1] == language:
            yield Block(found[1], found[2], README.count("\n", 0, found.start(2)) + 1)


SPECS = [block for block in blocks("yaml") if re.search(r"^restencil: 1$", block.text, re.MULTILINE)]


def restencil(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "restencil_generator", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("block", SPECS, ids=lambda block: f"line {block.line}")
def test_a_spec_of_the_readme_has_no_mistakes(block: Block) -> None:
    """Every spec shown can be copied."""
    assert load_text(block.text).problems == ()


def test_the_first_spec_of_the_readme_gets_no_advice(tmp_path: Path) -> None:
    """What people copy first is what `lint` would have them write."""
    (tmp_path / "news.yaml").write_text(SPECS[0].text, "utf-8")
    linted = restencil("lint", "news.yaml", cwd=tmp_path)
    assert linted.stdout == "1 spec: nothing to say\n"


def test_the_commands_and_the_code_of_the_readme_run(tmp_path: Path) -> None:
    """The first spec is generated and served by the commands shown, then all Python runs from top to bottom.

    The script keeps the README's line numbers, so that a failure names the line to look at.
    """
    (tmp_path / "news.yaml").write_text(SPECS[0].text, "utf-8")
    console = next(blocks("console")).text
    generate, mock = (line.removeprefix("$ restencil ").split() for line in console.splitlines() if line[0] == "$")
    generated = restencil(*generate, cwd=tmp_path)
    assert generated.returncode == 0, generated.stderr

    script = [""] * (README.count("\n") + 1)
    for block in blocks("python"):
        for offset, line in enumerate(block.text.splitlines()):
            script[block.line - 1 + offset] = line
    served = subprocess.Popen(
        [sys.executable, "-m", "restencil_generator", *mock, "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        (tmp_path / "readme.py").write_text("\n".join(script).replace(ADDRESS, address), "utf-8")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
        ran = subprocess.run(
            [sys.executable, "-W", "error", "readme.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    finally:
        served.terminate()
        served.communicate(timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    assert console.splitlines()[-1] == ADDRESS


def test_the_mistake_of_the_readme_looks_like_that() -> None:
    """The excerpt is what the command prints for that slip."""
    shown = next(block.text for block in blocks("text") if "error[" in block.text)
    loaded = load_text(SPECS[1].text.replace("id: uuid", "id: uid"), "shop.yaml")
    assert render(loaded.problems, loaded.sources, format="text").startswith(shown)


def test_the_hook_of_the_readme_is_the_one_that_init_writes(tmp_path: Path) -> None:
    """Who copies it and who runs `restencil init` have the same."""
    shown = next(block.text for block in blocks("yaml") if "pre-commit-config" in block.text)
    scaffold(tmp_path)
    assert shown.partition("\n")[2] == (tmp_path / ".pre-commit-config.yaml").read_text("utf-8")


def test_the_template_of_the_readme_works(tmp_path: Path) -> None:
    """Every module begins with its line, and is what `check` expects with the same templates."""
    (tmp_path / "news.yaml").write_text(SPECS[0].text, "utf-8")
    (tmp_path / "base.py.jinja").write_text(next(blocks("jinja")).text, "utf-8")
    generated = restencil("generate", "news.yaml", "--templates", ".", cwd=tmp_path)
    assert generated.returncode == 0, generated.stderr
    modules = [*(tmp_path / "news").glob("*.py")]
    assert modules
    assert all(module.read_text("utf-8").startswith("# Copyright Example Corp.\n") for module in modules)
    assert restencil("check", "news.yaml", "--templates", ".", cwd=tmp_path).returncode == 0


def test_the_table_of_commands_is_the_commands() -> None:
    """Each command has its row, and no row is about something else."""
    rows = re.findall(r"^\| `restencil (\w+)", README, re.MULTILINE)
    assert sorted(rows) == sorted(cli.commands)


def test_the_table_of_options_is_the_options() -> None:
    """Each option of a command has a row that names the command."""
    told = {
        (command, option)
        for options, commands in re.findall(r"^\| (`--[^|]*(?:\\\|[^|]*)*) \| ([a-z, ]+) \| ", README, re.MULTILINE)
        for option in re.findall(r"--[\w-]+", options)
        for command in commands.split(", ")
    }
    real = {
        (name, option)
        for name, command in cli.commands.items()
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for option in parameter.opts
        if option.startswith("--") and option != "--help"
    }
    assert told == real
