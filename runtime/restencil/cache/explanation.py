"""What a read would do now, and why, as one value and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reading import ExpiryStatus
    from .tables import Cell


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a read of one endpoint would do now; durations in milliseconds.

    `verdict` says it in one sentence, `reasons` why; `str()` gives all of it. `age` is the time since the response
    arrived, `expires_in` until it turns stale (negative: since it did). `entities` are the (key, pk) that it is made
    of, `dependents` for each of them how much is built from it, `held` whether a live read holds it.
    """

    key: str
    verdict: str
    reasons: tuple[str, ...]
    status: ExpiryStatus
    found: bool
    needs_fetch: bool
    waits: bool
    in_flight: bool
    age: float | None
    expires_in: float
    error: BaseException | None
    error_policy: str | None
    held: bool
    entities: tuple[Cell, ...]
    dependents: dict[Cell, int]

    def __str__(self) -> str:
        lines = [f"{self.key or '(inactive)'}: {self.verdict}", *(f"  - {reason}" for reason in self.reasons)]
        if self.entities:
            shown = ", ".join(f"{table}:{pk}" for table, pk in self.entities[:10])
            more = f" and {len(self.entities) - 10} more" if len(self.entities) > 10 else ""
            lines.append(f"  made of {shown}{more}")
        return "\n".join(lines)
