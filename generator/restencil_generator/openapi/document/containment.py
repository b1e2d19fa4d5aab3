"""The last resort: an unexpected error costs the part that it is about, and is reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.model import Finding, Where

T = TypeVar("T")

CODE: Final = "import-internal"
"""The code of findings about errors of the importer itself."""


def contained(report: Callable[[Finding], None], what: str, where: Where, call: Callable[[], T], instead: T) -> T:
    """What a call returns; where it raises, a finding about `what` is reported and `instead` is returned."""
    try:
        return call()
    except Exception as error:  # whatever it is, it is about this part alone
        text = quoted(f"{type(error).__name__}: {error}", 200)
        message = f"{what}: an error of the importer, {text} (please report it with this part of the document)"
        report(Finding(CODE, message, where))
        return instead
