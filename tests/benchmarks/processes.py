"""Whole processes: how long they take; and the environments in which some of them run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Final

from shapes import WORK

PEERS: Final = ("openapi-python-client==0.29.1",)
OPENAI: Final = "openai==3.54.0"


def run(command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> float:
    """The seconds that a command takes to its end. Raises RuntimeError where it fails."""
    start = perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    spent = perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}")
    return spent


def environment(name: str, *packages: str) -> Path:
    """The folder of the commands of an environment with these packages, made where it is not there.

    Raises RuntimeError where they cannot be installed.
    """
    folder = WORK / name
    commands = folder / ("Scripts" if os.name == "nt" else "bin")
    done, wanted = folder / ".done", "\n".join(packages)
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        print(f"installing {', '.join(packages)} into .bench/{name}", flush=True)
        run([sys.executable, "-m", "venv", "--clear", str(folder)])
        run([str(commands / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages])
        done.write_text(wanted, encoding="utf-8")
    return commands


def plain_env() -> dict[str, str]:
    """The environment without what would keep byte code from being written, or trace the program."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("COVERAGE") and name != "PYTHONDONTWRITEBYTECODE"
    }


class PythonPeers:
    """The Python peers, in an environment of their own."""

    def __init__(self) -> None:
        self.absent = ""
        self.bin = WORK
        try:
            self.bin = environment("peers", *PEERS)
        except RuntimeError as error:
            self.absent = f"the Python peers could not be installed: {str(error)[-300:]}"

    def env(self) -> dict[str, str]:
        """The environment in which the peers find their own tools."""
        return {**os.environ, "PATH": f"{self.bin}{os.pathsep}{os.environ.get('PATH', '')}"}

    def command(self, name: str) -> str:
        """Where a command of the peers lies."""
        return str(self.bin / name)
