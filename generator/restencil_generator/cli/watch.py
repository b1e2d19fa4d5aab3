"""`generate --watch`: generate again whenever a spec, a template or the configuration changes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from restencil_generator.exceptions import Failure


def watch_and_run(paths: Callable[[], Iterable[Path]], run: Callable[[], None], say: Callable[[str], None]) -> NoReturn:
    """Call `run` once, then after every change in one of `paths` (called each time), until interrupted.

    Raises `Failure` if the file watcher is not installed, or if `paths` fails at the start. If `paths` fails later, the
    previous paths stay watched.
    """
    try:
        from watchfiles import watch
    except ImportError:
        raise Failure(
            "the file watcher is not installed. Install it with\n\n    pip install 'restencil[watch]'"
        ) from None
    watched = _resolved(paths())
    while True:
        # The watcher misses changes that happen before it starts, so the state of the files is also compared regularly.
        before = _state(watched)
        run()
        folders = sorted({path if path.is_dir() else path.parent for path in watched})
        say(f"watching {', '.join(map(str, folders))}; Ctrl-C ends it")
        deep = any(path.is_dir() for path in watched)
        for _ in watch(*folders, recursive=deep, yield_on_timeout=True, rust_timeout=500):
            with contextlib.suppress(Failure):
                watched = _resolved(paths())
            if _state(watched) != before:
                break


def _state(watched: set[Path]) -> dict[Path, tuple[int, int]]:
    """Return the modification time and size of each watched file; added and removed files change the state too."""
    files = (file for path in watched for file in (path.rglob("*") if path.is_dir() else [path]))
    found: dict[Path, tuple[int, int]] = {}
    for file in files:
        with contextlib.suppress(OSError):
            status = file.stat()
            found[file] = status.st_mtime_ns, status.st_size
    return found


def _resolved(paths: Iterable[Path]) -> set[Path]:
    return {path.resolve() for path in paths}
