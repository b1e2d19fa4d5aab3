"""The two specs of a comparison: files, folders, or their contents at a git revision.

Only this module runs git. It only reads objects; it neither writes nor checks out anything.
"""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from restencil_generator.diagnostics.model import Place, Problem
from restencil_generator.exceptions import Failure, SpecError
from restencil_generator.spec.load import SUFFIXES, Loaded, load_contents, load_spec
from restencil_generator.spec.model import Spec


def load_sides(old: str, new: str) -> tuple[Spec, Spec]:
    """Load both specs. Raises `SpecError` with the errors of both, and the errors of `load_side`."""
    loaded = _parallel(old, new) if _is_large(new) and (os.cpu_count() or 1) > 1 else [load_side(old), load_side(new)]
    problems = [problem for one in loaded for problem in one.problems]
    before, after = (one.declaration for one in loaded)
    if before is None or after is None:
        raise SpecError(problems, {name: source for one in loaded for name, source in one.sources.items()})
    return before, after


def _parallel(old: str, new: str) -> list[Loaded]:
    """Load both specs at the same time, the old one in a separate process."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        first = pool.submit(load_side, old)
        second = load_side(new)
        return [first.result(), second]


def _is_large(text: str) -> bool:
    """Return whether a spec is so large that a process is worth its start."""
    path = Path(text)
    files = [path] if path.is_file() else path.rglob("*.y*ml")
    return sum(file.stat().st_size for file in files) >= _LARGE


def load_side(text: str) -> Loaded:
    """Load a spec by name: `specs/shop.yaml`, a folder, or `REV:PATH`. An existing file with that name is preferred.

    Raises `SpecError` with the code `diff-revision` if the revision or path does not exist, and `Failure` if git cannot
    be run.
    """
    if not is_revision(text):
        return load_spec(text)
    path = PurePosixPath(text.partition(":")[2])
    kind, content = next(_objects([text], text))
    if kind == "blob":
        return load_contents({text: content}, path.name)
    if kind != "tree":
        raise _no_revision(text)
    listed = (
        _git(text, "ls-tree", "-r", "-z", "--name-only", "--full-tree", text).decode("utf-8", "replace").split("\0")
    )
    folder = text if text.endswith((":", "/")) else f"{text}/"
    files = [f"{folder}{name}" for name in sorted(filter(_is_of_spec, listed))]
    contents = {
        name: content for name, (kind, content) in zip(files, _objects(files, text), strict=True) if kind == "blob"
    }
    if not contents:
        problem = Problem("no-spec-files", "the folder contains no *.yaml or *.yml file", Place(text))
        return Loaded(None, (problem,), {})
    return load_contents(contents, path.name)


def _is_of_spec(name: str) -> bool:
    """Return whether a file of a folder belongs to its spec: it is not hidden, nor in a hidden folder."""
    return name.endswith(SUFFIXES) and not any(part.startswith(".") for part in name.split("/"))


def is_revision(text: str) -> bool:
    """Return whether a name is a git revision and a path: it has a colon, and there is no file with that name."""
    return ":" in text and not Path(text).exists()


def working_path(text: str) -> str:
    """Return the path of `REV:PATH` in the working tree, relative to the working directory.

    As in git, a path is relative to the top of the repository, or to the working directory if it begins with `./` or
    `../`.
    """
    path = text.partition(":")[2]
    if path.startswith(("./", "../")):
        return path
    up = _git(text, "rev-parse", "--show-cdup").decode("utf-8").strip()
    return Path(os.path.relpath(Path(up) / path)).as_posix()


def _objects(names: Sequence[str], name: str) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and content of git objects, in order; links are followed to their targets at that revision."""
    if any(name.startswith("-") or "\n" in name or "\0" in name for name in names):
        raise _no_revision(name)
    given = "".join(f"{name}\n" for name in names).encode()
    answer = io.BytesIO(_git(name, "cat-file", "--batch", "--follow-symlinks", given=given) if names else b"")
    for _ in names:
        words = answer.readline().decode("utf-8", "replace").rstrip("\n").split(" ")
        if len(words) != 3 or words[1] not in ("blob", "tree") or not words[2].isdecimal():
            raise _no_revision(name)
        yield words[1], answer.read(int(words[2]))
        answer.readline()  # the newline after the content


_LARGE: Final = 150_000
"""In bytes."""

_NO_GIT: Final = "install git, or pass a file"


def _git(name: str, *arguments: str, given: bytes = b"") -> bytes:
    environment = {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and names that begin with - are rejected
            ["git", *arguments],  # noqa: S607 - the git of the user's PATH
            input=given,
            capture_output=True,
            env=environment,
            check=False,
        )
    except FileNotFoundError as error:
        raise Failure(f"{name}: git was not found ({_NO_GIT})") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Failure(f"{name}: git says: {lines[0] if lines else f'exit code {done.returncode}'}")
    return done.stdout


def _no_revision(text: str) -> SpecError:
    message = f"no such revision, or no such path in it: '{text}'"
    return SpecError([Problem("diff-revision", message, Place(text))], {})
