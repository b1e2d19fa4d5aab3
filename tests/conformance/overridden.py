"""Given cases that a later rule overrides, each with that rule; they fail, and would have to go if they did not."""

from __future__ import annotations

from typing import Final

OVERRIDDEN: Final = {
    "collection/v029": "a list that only pages have written is partial: it is asked, and shows nothing",
    "url/v051": "one slash stands between prefix and path, whether one or both bring it",
    "normalize/v201": "the value of a delete is the entity as it was known, whatever the answer",
    "state/v067": "the value of a delete is the entity as it was known, never one made of defaults",
    "state/v221": "the value of a delete is the entity as it was known, whatever the answer",
}
"""By the id of the case."""
