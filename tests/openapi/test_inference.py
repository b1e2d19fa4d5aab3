"""What an import infers: cases are data in the folder `cases`, a file for each subject; `shorthand.py` reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.openapi.shorthand import cases, check


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in cases(Path(__file__).parent / "cases")])
def test_inference_document_gives_what_its_case_says(case: dict[str, Any]) -> None:
    """The spec has the nodes, comments and findings of the case and passes the check; nothing was taken out."""
    check(case)
