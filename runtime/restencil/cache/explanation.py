"""Explanations of reads: why a read would or would not fetch, as an object and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.calls import shown_text
from .policy import INFINITE, Decision, ExpiryStatus

if TYPE_CHECKING:
    from .policy import Reading
    from .request import Request, Rules
    from .store import Store
    from .tables import EntityPath, ResultMeta


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a read of an endpoint would do now; durations in milliseconds.

    `verdict` is one sentence, `reasons` explain it; `str()` returns the full text. `age` is the time since the response
    arrived, `expires_in` the time until it becomes stale (negative: since then). `entities` are the (key, pk) of its
    data, `held` is whether a live read uses it. `request` is the method and absolute URL.
    """

    key: str
    request: str
    verdict: str
    reasons: tuple[str, ...]
    status: ExpiryStatus
    found: bool = False
    needs_fetch: bool = False
    waits: bool = False
    in_flight: bool = False
    age: float | None = None
    expires_in: float = INFINITE
    error: BaseException | None = None
    error_policy: str | None = None
    held: bool = False
    entities: tuple[EntityPath, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.request or '(inactive)'}: {self.verdict}", *(f"  - {reason}" for reason in self.reasons)]
        if self.entities:
            shown = ", ".join(f"{table}:{pk}" for table, pk in self.entities[:10])
            more = f" and {len(self.entities) - 10} more" if len(self.entities) > 10 else ""
            lines.append(f"  made of {shown}{more}")
        return "\n".join(lines)


def explain(store: Store, request: Request) -> Explanation:
    """Return what a read of this request would do now, and why."""
    reading = store.read(request)
    if request.inactive:
        return Explanation(
            key="",
            request="",
            verdict="gives None and never fetches",
            reasons=("its only argument is None, which disables the request",),
            status=reading.expiry_status,
        )
    key, rules = request.key, request.rules
    meta = store.endpoint_meta(key)
    now = store.now()
    in_flight = request.identity in store.in_flight.joinable
    entities = tuple(sorted(store.paths(request)))
    expires_in = reading.expires_at - now
    unanswered = None if reading.found else store.unanswered(request)
    freshness = _freshness(reading, meta, expires_in)
    reasons = [*_origin(rules, reading, meta, unanswered), *freshness]
    origin = store.origin(key)
    if origin is not None:
        reasons.insert(0, origin)
    if (
        rules.read.invalid_if_stale
        and reading.found
        and reading.suspends
        and reading.expiry_status is ExpiryStatus.InvalidIfStale
    ):
        reasons.append("invalid_if_stale: stale data is not shown while it is fetched again")
    if rules.side_effect:
        reasons.append("it has a side effect: a call always sends it, whatever is stored")
    if rules.lists.list_key is not None:
        reasons.append("it is a page: `get_page` always fetches it, whatever is stored; this is its last response")
    if request.options is not None and request.options.headers:
        given = (f"{name}: {shown_text(text)}" for name, text in request.options.headers.items())
        reasons.append(f"it is sent with {', '.join(given)}")
    if in_flight:
        reasons.append("a request for it is in flight, which a fetch would join")
    return Explanation(
        key=key,
        request=request.label,
        verdict=_verdict(reading, joins=in_flight),
        reasons=tuple(reasons),
        status=reading.expiry_status,
        found=reading.found,
        needs_fetch=reading.needs_fetch,
        waits=reading.suspends,
        in_flight=in_flight,
        age=now - meta.date if meta is not None and meta.date else None,
        expires_in=expires_in,
        error=reading.raw_error,
        error_policy=None if meta is None else meta.error_policy,
        held=store.is_held(key),
        entities=entities,
    )


def _origin(rules: Rules, reading: Reading, meta: ResultMeta | None, unanswered: str | None) -> list[str]:
    """Return the origin of the data of a read, or why there is none."""
    if meta is None:
        if reading.found:
            return ["it was never fetched; the data is assembled from entities that came with other responses"]
        if rules.schema is None:
            return ["it was never fetched"]
        if unanswered is not None:
            return [f"it was never fetched, and {unanswered}"]
        return ["it was never fetched, and the store has nothing usable to assemble it from"]
    if meta.invalidated:
        return ["it was invalidated, so the next read fetches it"]
    error = reading.raw_error
    if error is not None:
        failed = f"its last fetch failed with {type(error).__name__}; the policy is"
        if meta.error_policy != "soft":
            return [f"{failed} hard: reads raise it while it is fresh"]
        if reading.found:
            return [f"{failed} soft: data is still shown"]
        return [f"{failed} soft, but there is no data to show"]
    if not reading.found:
        return ["its response is stored, but an entity or value that the schema requires was deleted or is missing"]
    return []


def _freshness(reading: Reading, meta: ResultMeta | None, expires_in: float) -> list[str]:
    """Return how long the data is fresh; empty if reads always fetch."""
    if reading.expiry_status is ExpiryStatus.Invalid:
        return []
    if reading.freshness is not None and reading.freshness.mark.event:
        return [f"it is stale: {reading.freshness.mark.event}"]
    if reading.expires_at <= 1:
        # Not a time but a mark: nothing was fetched, or what was is expired by order.
        return ["so it counts as stale" if meta is None else "it was expired, so it counts as stale"]
    what = "it" if reading.raw_error is None else "the error"
    if expires_in < 0:
        return [f"{what} has been stale for {_span(-expires_in)}"]
    if reading.expires_at == INFINITE:
        return [f"{what} never turns stale"]
    return [f"{what} is fresh for another {_span(expires_in)}"]


def _verdict(reading: Reading, *, joins: bool) -> str:
    fetches = "joins the request in flight" if joins else "fetches"
    match reading.decision:
        case Decision.WAIT:
            return f"{fetches} and waits"
        case Decision.GIVE_AND_REFETCH:
            return f"gives the data at once and {fetches} in the background"
        case Decision.RAISE:
            return f"raises the recorded {type(reading.error).__name__} and does not fetch"
        case Decision.GIVE:
            return "gives the data and does not fetch"


def _span(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:.0f} s"
