"""The loggers of the library, and `RESTENCIL_LOG`, which shows what they say.

| logger | level | says |
|---|---|---|
| `restencil` | WARNING | a background fetch or a hook failed; hints |
| `restencil.transport` | DEBUG | method, URL, status, milliseconds, names of headers, values of harmless ones |
| `restencil.retry` | INFO | key, class of the error, attempt, delay |
| `restencil.store` | DEBUG | resets, what a bounded store lets go of, partitions made or dropped |

None of them is ever told a body, data, a credential, a cookie, a query that holds a token, or the user of a URL.
"""

from __future__ import annotations

import os
import sys
from typing import Final

from .errors import NetworkError
from .lazy_imports import logging

VARIABLE: Final = "RESTENCIL_LOG"
LEVELS: Final = ("debug", "info", "warning")
RETRY: Final = "restencil.retry"
STORE: Final = "restencil.store"

_FORMAT: Final = "%(asctime)s %(name)s %(levelname)s: %(message)s"
_read: list[str] = []
"""What the variable said when it was read."""
_loggers: dict[str, logging.Logger] = {}


def read_environment() -> None:
    """Does what `RESTENCIL_LOG` says, once in a process: the first client that is made asks for it.

    `debug`, `info` or `warning` is the level of the logger `restencil`, which writes to standard error where neither it
    nor the root has a handler, and until one has. Another value is told in one line on standard error.
    """
    if _read:
        return
    given = os.environ.get(VARIABLE, "")
    _read.append(given)
    level = given.strip().lower()
    if level in LEVELS:
        _show(level)
    elif level:
        print(f"restencil: {VARIABLE} is {given!r:.100}; it may be {', '.join(LEVELS)}", file=sys.stderr)


def _show(level: str) -> None:
    logger = logging.getLogger("restencil")
    logger.setLevel(level.upper())
    if not _others():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_FORMAT))
        # A program may set up its logging after its first client was made: nothing is said twice.
        handler.addFilter(lambda record: not _others(handler))
        logger.addHandler(handler)


def _others(own: logging.Handler | None = None) -> bool:
    """Whether the program has handlers of its own that are told what the library says."""
    present = [*logging.getLogger("restencil").handlers, *logging.getLogger().handlers]
    return any(handler is not own and not isinstance(handler, logging.NullHandler) for handler in present)


def debug(name: str, text: str, *args: object) -> None:
    """Says something to this logger, if anyone may be listening: that takes a logger that someone has set up."""
    logger = _loggers.get(name)
    if logger is None:
        if "logging" not in sys.modules:
            return
        logger = _loggers[name] = logging.getLogger(name)
    logger.debug(text, *args)


def reason_of(error: BaseException) -> str:
    """Why something failed, as logs may say it: what a server answered, or what data was, is left out."""
    kind = type(error).__name__
    if not isinstance(error, NetworkError):
        return kind
    return f"{kind}: {error}" if error.response is None else f"{kind} with status {error.status}"
