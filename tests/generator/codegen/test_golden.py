"""The packages in tests/golden are exactly what their specs give."""

from __future__ import annotations

from pathlib import Path

import pytest

from restencil_generator.api import load
from restencil_generator.output.drift import compare
from restencil_generator.output.pipeline import build

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
EXACT = ["blog", "market"]
"""What is usual, and much of the language."""


@pytest.mark.parametrize("name", EXACT)
def test_golden_package_is_what_its_spec_gives(name: str) -> None:
    """Byte for byte, nothing missing, nothing more. `restencil generate` writes the packages anew."""
    spec = load(ROOT / "specs" / f"{name}.yaml")
    assert spec.package == name
    assert compare(build(spec, f"{name}.yaml"), GOLDEN / spec.package) == []
