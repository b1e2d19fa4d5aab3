"""What a change of a spec breaks: for callers, on the wire, in caches.

`compare` compares two loaded specs; `rules` says what each kind of change means.
"""

from __future__ import annotations

from restencil_generator.diff.change import Finding
from restencil_generator.diff.rules import RULES, Rule
from restencil_generator.diff.spec import compare

__all__ = ["RULES", "Finding", "Rule", "compare"]
