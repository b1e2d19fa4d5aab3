"""The loggers of the library, and the environment variable `RESTENCIL_LOG`, which shows their records.

| logger | level | records |
|---|---|---|
| `restencil` | WARNING | a background fetch or a hook failed; hints |
| `restencil.transport` | DEBUG | method, URL, status, milliseconds, names of headers, values of those without secrets |
| `restencil.retry` | INFO | key, class of the error, attempt, delay |
| `restencil.store` | DEBUG | resets, evictions of a bounded store, partitions created or dropped |

No record contains a body, data, a credential, a cookie, a query with a token, or the user of a URL.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Final

VARIABLE: Final = "RESTENCIL_LOG"
LEVELS: Final = ("debug", "info", "warning")
RETRY: Final = "restencil.retry"
STORE: Final = "restencil.store"

logger: Final = logging.getLogger("restencil")
"""The logger of the library; its records are not shown unless the program sets up logging."""
logger.addHandler(logging.NullHandler())

_FORMAT: Final = "%(asctime)s %(name)s %(levelname)s: %(message)s"
_read: list[str] = []
"""The value of the variable when it was read."""


def read_environment() -> None:
    """Set up logging as in `RESTENCIL_LOG`, once in a process, when the first client is created.

    `debug`, `info` or `warning` is the level of the logger `restencil`, which writes to standard error as long as
    neither it nor the root logger has a handler. Another value is reported in one line on standard error.
    """
    if _read:
        return
    given = os.environ.get(VARIABLE, "")
    _read.append(given)
    level = given.strip().lower()
    if level in LEVELS:
        _show(level)
    elif level:
        print(f"restencil: {VARIABLE} is {given!r:.100}; expected {', '.join(LEVELS)}", file=sys.stderr)


def _show(level: str) -> None:
    logger.setLevel(level.upper())
    if not _others():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_FORMAT))
        # If the program sets up logging after its first client is created, records are not shown twice.
        handler.addFilter(lambda record: not _others(handler))
        logger.addHandler(handler)


def _others(own: logging.Handler | None = None) -> bool:
    """Whether the program has handlers for records of the library."""
    present = [*logger.handlers, *logging.getLogger().handlers]
    return any(handler is not own and not isinstance(handler, logging.NullHandler) for handler in present)


def debug(name: str, text: str, *args: object) -> None:
    """Log a record of level DEBUG to the logger of this name."""
    logging.getLogger(name).debug(text, *args)
