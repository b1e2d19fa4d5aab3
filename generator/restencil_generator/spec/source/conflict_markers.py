"""The markers that a failed merge leaves in a file."""

from __future__ import annotations

import re
from typing import Final

_MARKER: Final = re.compile(r"(?:<{7}|>{7}|\|{7})(?: .*)?")


def is_conflict_marker(line: str) -> bool:
    """Whether a line is a marker of a conflict: `<<<<<<<`, `|||||||` or `>>>>>>>` and what a side is called.

    A line of equals signs alone proves nothing.
    """
    return line[:1] in ("<", ">", "|") and _MARKER.fullmatch(line.rstrip("\r\n")) is not None
