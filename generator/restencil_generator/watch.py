"""`generate --watch`: again whenever a spec, a template or the configuration changes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from restencil_generator.failure import Failure


def watch_and_run(paths: Callable[[], Iterable[Path]], run: Callable[[], None], say: Callable[[str], None]) -> NoReturn:
    """Calls `run` once, then after every change under one of `paths` (asked anew each time), until interrupted.

    Raises `Failure` where the file watcher is not installed, and where `paths` fails at the start; later on what was
    watched before goes on being watched.
    """
    try:
        from watchfiles import watch
    except ImportError:
        raise Failure(
            "the file watcher is not installed. Install it with\n\n    pip install 'restencil[watch]'"
        ) from None
    watched = _resolved(paths())
    run()
    while True:
        folders = sorted({path if path.is_dir() else path.parent for path in watched})
        say(f"watching {', '.join(map(str, folders))}; Ctrl-C ends it")
        deep = any(path.is_dir() for path in watched)
        for changes in watch(*folders, recursive=deep):
            if any(_concerns(Path(changed), watched) for _, changed in changes):
                break
        run()
        with contextlib.suppress(Failure):
            watched = _resolved(paths())


def _resolved(paths: Iterable[Path]) -> set[Path]:
    return {path.resolve() for path in paths}


def _concerns(changed: Path, watched: set[Path]) -> bool:
    return any(changed == path or path in changed.parents for path in watched)
