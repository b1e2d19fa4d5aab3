"""Atomic writing of a package into its folder, without touching unchanged files.

Publication builds the whole folder next to the old one, with hard links to all unchanged files, and then exchanges the
two folders in one system call. At any time, also after a kill, readers see either the old or the new package. If the
system cannot exchange folders, files are replaced one by one, each atomically, the manifest last.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from restencil_generator.exceptions import Failure
from restencil_generator.output.drift import Cause, Difference, compare, refused
from restencil_generator.output.manifest import MANIFEST, Package


class Refused(Failure):
    """Raised instead of writing if files would be lost that restencil does not own.

    `differences` are the ones that prevent it, by the folder of their package.
    """

    def __init__(self, differences: Mapping[Path, Sequence[Difference]]) -> None:
        self.differences = {directory: tuple(found) for directory, found in differences.items()}
        super().__init__("\n".join(_refusal(directory, found) for directory, found in self.differences.items()))


def _refusal(directory: Path, differences: Sequence[Difference]) -> str:
    lines = [f"{directory / found.shown}: {found.cause.value}: {found.reason}" for found in differences]
    if any(found.cause is Cause.CONFLICT for found in differences):
        lines.append(
            "nothing was written. Resolve the conflicts in the specs, then use --force to generate these files again"
        )
    if any(found.cause not in (Cause.FOREIGN, Cause.CONFLICT) for found in differences):
        lines.append(
            "nothing was written. Move the change into the spec, a `python:` reference or a subclass; "
            "--diff shows the change, --force overwrites it"
        )
    if any(found.cause is Cause.FOREIGN for found in differences):
        lines.append("nothing was written. Move the foreign file away, or choose another --out or `package`")
    return "\n".join(lines)


@dataclasses.dataclass(frozen=True, slots=True)
class Published:
    """The result of writing: paths written (new or changed) and removed, and the number of unchanged files."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int


def publish(package: Package, directory: Path, *, force: bool = False) -> Published:
    """Replace the contents of a folder with a package atomically, without touching unchanged files.

    Raises `Refused` if a file would be lost that restencil does not own, `Failure` if the folder is a file or cannot be
    written. Two processes that write to the same folder wait for each other.
    """
    target = directory.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock(target.parent) as alone:
        if alone:
            _remove_leftovers(target)
        differences = compare(package, target)
        stopped = refused(differences, force=force)
        if stopped:
            raise Refused({directory: stopped})
        if differences:
            try:
                _replace(package, target, differences)
            except OSError as error:
                # The path that failed is in a temporary folder, so it is not shown.
                raise Failure(
                    f"{directory}: cannot be written: {error.strerror or error}; "
                    f"check the permissions and free space of {target.parent}, or choose another --out"
                ) from error
    written = tuple(found.path for found in differences if found.expected is not None)
    removed = tuple(found.path for found in differences if found.expected is None)
    return Published(written, removed, len(package.files) - len(written))


def _replace(package: Package, target: Path, differences: Sequence[Difference]) -> None:
    staging = Path(tempfile.mkdtemp(prefix=_leftover_prefix(target), dir=target.parent))
    try:
        fresh = staging / "new"
        fresh.mkdir()
        changed = {found.path for found in differences}
        if target.exists():
            shutil.copymode(target, fresh)
            _link_tree(target, fresh, changed)
        for found in differences:
            if found.expected is not None:
                _write_file(fresh / found.path, found.expected)
        if not target.exists():
            os.rename(fresh, target)
        elif _exchange(fresh, target):
            _rescue(fresh, target, set(package.files) | changed)
        else:
            _replace_one_by_one(fresh, target, differences)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))


def _link_tree(source: Path, copy: Path, left_out: set[str]) -> None:
    """Copy a folder with hard links to its files (copies if links are not possible).

    The named paths are left out with their compiled files, which might otherwise be used for the new source.
    """
    stems = {str(Path(path).parent / Path(path).stem) for path in left_out}
    for folder, names, files in os.walk(source):
        here = Path(folder)
        relative = here.relative_to(source)
        for name in list(names):
            if (here / name).is_symlink():
                names.remove(name)
                files.append(name)
                continue
            (copy / relative / name).mkdir()
            shutil.copystat(here / name, copy / relative / name)
        cached = relative.name == "__pycache__"
        for name in files:
            inside = (relative / name).as_posix()
            if inside in left_out or (cached and str(relative.parent / name.partition(".")[0]) in stems):
                continue
            _link(here / name, copy / relative / name)


def _link(source: Path, copy: Path) -> None:
    if source.is_symlink():
        copy.symlink_to(os.readlink(source))
        return
    try:
        os.link(source, copy)
    except OSError:
        shutil.copy2(source, copy)


def _exchange(fresh: Path, target: Path) -> bool:
    """Exchange two folders in one step; returns False if the system or the file system cannot."""
    if os.name != "posix":
        return False
    libc = ctypes.CDLL(None)
    one, other = os.fsencode(fresh), os.fsencode(target)
    renameat2 = getattr(libc, "renameat2", None)  # Linux
    if renameat2 is not None:
        current_directory, exchange = -100, 2
        return bool(renameat2(current_directory, one, current_directory, other, exchange) == 0)
    renamex_np = getattr(libc, "renamex_np", None)  # macOS
    swap = 2
    return renamex_np is not None and bool(renamex_np(one, other, swap) == 0)


def _rescue(old: Path, target: Path, generated: set[str]) -> None:
    """Move files that others wrote into the old folder in the meantime into the new one."""
    for folder, _, files in os.walk(old):
        for name in files:
            left = Path(folder) / name
            inside = left.relative_to(old)
            kept = target / inside
            if inside.as_posix() in generated or "__pycache__" in inside.parts:
                continue
            if not kept.exists() or (left.stat().st_mtime_ns > kept.stat().st_mtime_ns and not left.samefile(kept)):
                kept.parent.mkdir(parents=True, exist_ok=True)
                os.replace(left, kept)


def _replace_one_by_one(fresh: Path, target: Path, differences: Sequence[Difference]) -> None:
    for found in sorted(differences, key=lambda found: (found.path == MANIFEST, found.path)):
        for compiled in (target / found.path).parent.glob(f"__pycache__/{Path(found.path).stem}.*.pyc"):
            compiled.unlink(missing_ok=True)
        if found.expected is None:
            (target / found.path).unlink(missing_ok=True)
        else:
            (target / found.path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(fresh / found.path, target / found.path)


def _leftover_prefix(target: Path) -> str:
    return f".{target.name}.restencil-"


def _remove_leftovers(target: Path) -> None:
    """Remove leftovers of a killed run next to the package; called under the lock, so that no other run uses them."""
    for left in target.parent.glob(f"{_leftover_prefix(target)}*"):
        shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def _lock(folder: Path) -> Generator[bool]:
    """Hold the lock on an output folder; waits while another process holds it. It is released with the process.

    Yields False if the file system has no locks (some network mounts): exchanging folders is atomic in any case.
    """
    if sys.platform == "win32":
        import msvcrt

        name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
        descriptor = os.open(Path(tempfile.gettempdir()) / f"restencil-{name}.lock", os.O_RDWR | os.O_CREAT)
        try:
            while True:
                with contextlib.suppress(OSError):
                    msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)
                    break
            yield True
        finally:
            os.close(descriptor)
    else:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                alone = True
            except OSError:
                alone = False
            yield alone
        finally:
            os.close(descriptor)
