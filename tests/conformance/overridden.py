"""Given cases that a later rule overrides, each with that rule; they fail, and would have to go if they did not."""

from __future__ import annotations

from typing import Final

OVERRIDDEN: Final = {
    "collection/v029": "a list that only pages have written is partial: it is asked, and shows nothing",
    "url/v051": "one slash stands between prefix and path, whether one or both bring it",
}
"""By the id of the case."""
