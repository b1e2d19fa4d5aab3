"""Finds `wire_names`, the style of most names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from restencil_generator.openapi.infer.names.inflection import snake_case
from restencil_generator.spec.model import WireNames
from restencil_generator.spec.names import wire_name

STYLES: Final[tuple[WireNames, ...]] = ("as_is", "camelCase", "PascalCase", "kebab-case")

ENOUGH: Final = 0.9
"""The share of names that a style has to give back."""


def style_of(wires: Iterable[str]) -> WireNames:
    """The style that gives at least nine in ten names back; `as_is` where none does, or where it does as well."""
    counted = Counter(wires)
    total = sum(counted.values())
    kept = {
        style: sum(count for wire, count in counted.items() if wire_name(snake_case(wire), style) == wire)
        for style in STYLES
    }
    best = max(STYLES, key=lambda style: kept[style])
    return best if total and kept[best] >= ENOUGH * total else "as_is"


def speller(style: WireNames) -> Callable[[str, str], str | None]:
    """The name in JSON that has to be written for a Python name, None where the style gives it."""

    def spelled(name: str, wire: str) -> str | None:
        return None if wire_name(name, style) == wire else wire

    return spelled
