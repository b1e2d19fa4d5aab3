"""Cache of earlier runs, so that `generate` without changes neither loads specs nor renders modules.

The key of an entry is a digest of the spec, of every file in the folder of templates, and of the generator itself; its
value is the manifest of the package. If a package on disk has that manifest, and its files match it, `generate` has
nothing to do. An entry is never the source of a file: if anything differs, everything is generated again. `check` does
not use the cache.

The entries are in the user's cache folder; `RESTENCIL_CACHE_DIR` sets another folder, or disables the cache if it is
empty. In CI (`CI=true`) the cache is disabled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Protocol

_KEPT: Final = 64
_SUFFIX: Final = ".restencil"
_NEW: Final = ".restencil-new-"
_ENTRY: Final = re.compile(rf"[0-9a-f]{{64}}{re.escape(_SUFFIX)}")


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """The result of a run: the name of the package, and the contents of its manifest."""

    package: str
    manifest: str


def key_of(spec: Path, templates: Path | None) -> str | None:
    """Return the key for the current state of a spec; None if it cannot be read, which the loader reports.

    Also None if the spec is not a regular file: a pipe can only be read once, by the loader.
    """
    if _folder() is None or not (spec.is_file() or spec.is_dir()):
        return None
    found = hashlib.sha256()
    try:
        for folder in (Path(__file__).parents[1], *_installed("restencil_templates")):
            _add(found, folder, sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".jinja")))
        for folder in _installed("_black_version"):
            _add(found, folder, [folder / "_black_version.py"])
        found.update(f"{sys.version}\0{_jinja_version()}\0{spec.name}\0{templates is not None}\0".encode())
        if templates is not None:  # a template may read any file next to it
            _add(found, templates, _files(templates))
        _add(found, spec if spec.is_dir() else spec.parent, _files(spec) if spec.is_dir() else [spec])
    except OSError:
        return None
    return f"{found.hexdigest()}{_SUFFIX}"


def lookup(key: str) -> Entry | None:
    """Return the entry of a key, None if there is none."""
    folder = _folder()
    if folder is None:
        return None
    try:
        package, _, manifest = (folder / key).read_text("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return Entry(package, manifest)


def remember(key: str, entry: Entry) -> None:
    """Store an entry, if possible."""
    folder = _folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=_NEW)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(f"{entry.package}\n{entry.manifest}")
        os.replace(name, folder / key)
        own = [path for path in folder.iterdir() if _is_own(path.name) and path.is_file()]
        for old in sorted(own, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT:]:
            old.unlink(missing_ok=True)


def _is_own(name: str) -> bool:
    """Return whether a file name is one of this cache: the folder may be shared."""
    return _ENTRY.fullmatch(name) is not None or name.startswith(_NEW)


def _files(folder: Path) -> Iterator[Path]:
    """Yield every regular file in a folder and its subfolders, sorted; links are followed, and folders visited once."""
    seen: set[tuple[int, int]] = set()
    for here, names, files in os.walk(folder, followlinks=True):
        status = os.stat(here)
        if (status.st_dev, status.st_ino) in seen:
            names.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        names.sort()
        yield from (path for name in sorted(files) if (path := Path(here, name)).is_file())


class _Digest(Protocol):
    def update(self, content: bytes, /) -> None: ...


def _add(digest: _Digest, root: Path, files: Iterable[Path]) -> None:
    for file in files:
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)


def _installed(package: str) -> list[Path]:
    """Return the folder of an installed package."""
    found = find_spec(package)
    return [] if found is None or found.origin is None else [Path(found.origin).parent]


def _jinja_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("jinja2")
    except PackageNotFoundError:
        return ""


def _folder() -> Path | None:
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        return None
    given = os.environ.get("RESTENCIL_CACHE_DIR")
    if given is not None:
        return Path(given) if given else None
    with contextlib.suppress(RuntimeError):
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "restencil" / "cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "restencil"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "restencil"
    return None
