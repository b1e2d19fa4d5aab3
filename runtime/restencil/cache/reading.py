"""What a read finds and how fresh it is (§8.1, §8.2)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final


class ExpiryStatus(IntEnum):
    """How a read may use what it found; it says nothing about the clock (§8.2)."""

    Invalid = 1
    """Fetch and wait, in any case."""
    InvalidIfStale = 2
    """Usable while fresh; fetch and wait once stale."""
    Valid = 3
    """Usable; once stale it is returned and fetched in the background."""


INFINITE: Final = float("inf")
_INVALID: Final = ExpiryStatus.Invalid
_VALID: Final = ExpiryStatus.Valid


class Reading:
    """What a read of an endpoint finds (§8.1).

    `data` is None where nothing is there; `found` says whether it is usable: a JSON null is, an object assembled from
    tables that lack a part of it is not. `expires_at` is the moment it turns stale (ms), `error` what a read raises
    (§8.5), `raw_error` what is recorded whatever the policy. `needs_fetch` and `suspends` are taken at the moment of
    the read: a fetch is due, and the reader waits for it (§8.3).
    """

    __slots__ = (
        "data",
        "date",
        "error",
        "expires_at",
        "expiry_status",
        "fetched_at",
        "found",
        "needs_fetch",
        "raw_error",
        "suspends",
    )

    def __init__(
        self,
        data: Any,
        expiry_status: ExpiryStatus,
        expires_at: float,
        found: bool = True,
        error: BaseException | None = None,
        raw_error: BaseException | None = None,
        now: float = 0,
        date: float | None = None,
        fetched_at: float | None = None,
    ) -> None:
        self.data = data
        self.expiry_status = expiry_status
        self.expires_at = expires_at
        self.found = found
        self.error = error
        self.raw_error = raw_error
        self.date = date
        self.fetched_at = fetched_at
        self.needs_fetch = needs_fetch = now > expires_at or expiry_status is _INVALID
        self.suspends = needs_fetch and expiry_status is not _VALID

    def __repr__(self) -> str:
        members = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"Reading({members})"


def inactive() -> Reading:
    """What a read with `None` as its only argument finds: nothing, for ever valid (§7.1)."""
    return Reading(None, ExpiryStatus.Valid, INFINITE, found=False)
