"""The HTTP library that a test runs under: `from tests.libraries import httpx` is httpx, or httpx2 under that name.

Which one it is stands in the environment variable by which users choose; `--http` and the mark `network` set it.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

LIBRARIES: Final = ("httpx", "httpx2")
VARIABLE: Final = "RESTENCIL_HTTP"


def name_in_use() -> str:
    """The name of the library of the running test."""
    return os.environ.get(VARIABLE) or "httpx"


class _InUse:
    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(name_in_use()), name)


if TYPE_CHECKING:
    import httpx as httpx
else:
    httpx = _InUse()
