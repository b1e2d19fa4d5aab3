"""The memory table: what an entity needs at rest."""

from __future__ import annotations

from fellows import figure
from measure import Table


def table(rounds: int, quick: bool) -> Table:
    """Runs its row."""
    made = Table(
        "Memory",
        "An entity of 6 fields in a store of 100,000: primary key, record, table slots and times, without the values "
        "of its fields.",
    )
    work, means = "an entity of 6 fields at rest", "what a record costs that nobody looked at"
    made.value(work, means, 450, [figure("memory_worker.py")], lambda value: f"{value:,.0f} B")
    return made
