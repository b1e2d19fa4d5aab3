"""`generate --watch`: again whenever a spec, a template or the configuration changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from restencil_generator.failure import Failure


def watch_and_run(paths: Callable[[], Iterable[Path]], run: Callable[[], None], say: Callable[[str], None]) -> int:
    """Calls `run` once, then after every change under one of `paths` (asked anew each time), until interrupted.

    Raises `Failure` where the file watcher is not installed. Returns 130, the exit code of an interrupted command.
    """
    try:
        from watchfiles import watch
    except ImportError:
        raise Failure(
            "the file watcher is not installed. Install it with\n\n    pip install 'restencil[watch]'"
        ) from None
    run()
    while True:
        watched = {path.resolve() for path in paths()}
        folders = {path if path.is_dir() else path.parent for path in watched}
        say(f"watching {', '.join(sorted(map(str, folders)))}; Ctrl-C ends it")
        for changes in watch(*sorted(folders), raise_interrupt=False, recursive=True):
            if any(_concerns(Path(changed), watched) for _, changed in changes):
                break
        else:
            return 130
        run()


def _concerns(changed: Path, watched: set[Path]) -> bool:
    return any(changed == path or path in changed.parents for path in watched)
