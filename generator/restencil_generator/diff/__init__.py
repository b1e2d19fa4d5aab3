"""Classification of changes between two specs: for callers, in requests and responses, in caches.

`compare` compares two loaded specs attribute by attribute, and `RULES` has the effect of each kind of change.
"""

from __future__ import annotations

from restencil_generator.diff.change import Finding
from restencil_generator.diff.rules import RULES, Rule
from restencil_generator.diff.spec import compare

__all__ = ["RULES", "Finding", "Rule", "compare"]
