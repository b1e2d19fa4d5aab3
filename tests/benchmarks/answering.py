"""What answers from memory, for a client of either kind and library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx


def transport(answers: Iterable[bytes], library: Any = httpx) -> Any:
    """A transport that gives these answers in turn, each as JSON."""
    bodies, headers = iter(answers), {"content-type": "application/json"}
    return library.MockTransport(lambda request: library.Response(200, headers=headers, content=next(bodies)))
