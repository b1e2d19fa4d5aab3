"""Specs for tests: the declaration of a text that must have no mistakes."""

from __future__ import annotations

from restencil_generator.spec.load import load_text
from restencil_generator.spec.model import Spec


def declared(text: str, file: str = "shop.yaml") -> Spec:
    """The declaration of a spec without mistakes."""
    loaded = load_text(text, file)
    assert loaded.declaration is not None, loaded.problems
    return loaded.declaration
