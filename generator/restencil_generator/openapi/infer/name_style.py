"""Inference of `wire_names`, the style of most names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from restencil_generator.openapi.infer.names.inflection import snake_case
from restencil_generator.spec.model import WireNames
from restencil_generator.spec.names import wire_name

STYLES: Final[tuple[WireNames, ...]] = ("as_is", "camelCase", "PascalCase", "kebab-case")

ENOUGH: Final = 0.9
"""The minimum share of names that a style must reproduce."""


def style_of(wires: Iterable[str]) -> WireNames:
    """Return the style that reproduces at least 90 % of the names; `as_is` if none does, or if it is as good."""
    counted = Counter(wires)
    total = sum(counted.values())
    kept = {
        style: sum(count for wire, count in counted.items() if wire_name(snake_case(wire), style) == wire)
        for style in STYLES
    }
    best = max(STYLES, key=lambda style: kept[style])
    return best if total and kept[best] >= ENOUGH * total else "as_is"


def speller(style: WireNames) -> Callable[[str, str], str | None]:
    """Return a function that returns the JSON name to declare for a Python name, None if the style implies it."""

    def spelled(name: str, wire: str) -> str | None:
        return None if wire_name(name, style) == wire else wire

    return spelled
