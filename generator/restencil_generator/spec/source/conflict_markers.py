"""The conflict markers that a failed merge leaves in a file."""

from __future__ import annotations

import re
from typing import Final

_MARKER: Final = re.compile(r"(?:<{7}|>{7}|\|{7})(?: .*)?")


def is_conflict_marker(line: str) -> bool:
    """Return whether a line is a conflict marker: `<<<<<<<`, `|||||||` or `>>>>>>>`, with or without a label.

    A line of equals signs is not enough.
    """
    return line[:1] in ("<", ">", "|") and _MARKER.fullmatch(line.rstrip("\r\n")) is not None
