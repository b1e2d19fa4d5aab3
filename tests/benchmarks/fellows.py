"""Processes that work beside each other, and a server that counts what they ask. Peers use it with their own Python."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

HERE: Final = Path(__file__).resolve().parent

Processes = Sequence["subprocess.Popen[str]"]


def figure(script: str, *arguments: str) -> Any:
    """What a process of a worker beside this file prints. Raises RuntimeError where it fails."""
    command = [sys.executable, str(HERE / script), *arguments]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout)


def fellow(script: str, *arguments: str, python: str = sys.executable) -> subprocess.Popen[str]:
    """A process that works beside this one."""
    command = [python, script, *arguments]
    return subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def told(child: subprocess.Popen[str]) -> Any:
    """What it prints at its end. Raises RuntimeError where it fails."""
    out, _ = child.communicate(timeout=120)
    if child.returncode:
        raise RuntimeError(f"{child.args!r} ended with {child.returncode}")
    return json.loads(out)


def ready() -> float:
    """Waits, in such a process, until all may begin; the moment at which they do."""
    print("ready", flush=True)
    return float(sys.stdin.readline())


@contextmanager
def counted() -> Generator[tuple[str, Callable[[Processes], tuple[int, list[Any]]]], None, None]:
    """The address of a server that counts, and what lets processes begin at once.

    That gives how many requests it made, and what each of them told.
    """
    server = fellow(str(HERE / "counting.py"))
    assert server.stdout is not None
    address = server.stdout.readline().strip()

    def requests() -> int:
        with urlopen(f"{address}/count") as answer:
            return int(answer.read())

    def begin(children: Processes) -> tuple[int, list[Any]]:
        for child in children:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
        before, moment = requests(), time.time() + 0.5
        for child in children:
            assert child.stdin is not None
            child.stdin.write(f"{moment}\n")
            child.stdin.flush()
        found = [told(child) for child in children]
        return requests() - before, found

    try:
        yield address, begin
    finally:
        server.communicate()


async def ticks(keys: int, get: Callable[[int], Any]) -> list[float]:
    """The seconds until it has a key, of which all processes want one each 100 ms; the first warms up."""
    await get(0)
    begin = ready()
    spent: list[float] = []
    for number in range(1, keys + 1):
        tick = begin + number / 10
        await asyncio.sleep(max(0.0, tick - time.time()))
        await get(number)
        spent.append(time.time() - tick)
    return spent
