"""Containment of unexpected errors: only the affected part is lost, with a finding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.model import Finding, Where

T = TypeVar("T")

CODE: Final = "import-internal"
"""The code of findings about bugs of the importer."""


def contained(report: Callable[[Finding], None], what: str, where: Where, call: Callable[[], T], instead: T) -> T:
    """Return the result of a call; if it raises, report a finding about `what` and return `instead`."""
    try:
        return call()
    except Exception as error:  # any error only affects this part
        text = quoted(f"{type(error).__name__}: {error}", 200)
        message = f"{what}: an error of the importer, {text} (please report it with this part of the document)"
        report(Finding(CODE, message, where))
        return instead
