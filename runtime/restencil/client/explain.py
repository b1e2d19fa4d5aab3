"""Why a read fetched, or did not: what the store knows of one endpoint's result, in one object and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..cache.explanation import Explanation
from ..cache.reading import INFINITE, ExpiryStatus

if TYPE_CHECKING:
    from ..cache.reading import Reading
    from ..cache.request import Request, Rules
    from ..cache.tables import KeyMeta
    from .controller import AnyController


def explain(controller: AnyController, request: Request) -> Explanation:
    """What a read of this endpoint would do now, and why."""
    store = controller.store
    reading = store.read(request)
    if request.inactive:
        return Explanation(
            key="",
            verdict="gives None and never fetches",
            reasons=("its only argument is None, which means that nothing is wanted",),
            status=reading.expiry_status,
            found=False,
            needs_fetch=False,
            waits=False,
            in_flight=False,
            age=None,
            expires_in=reading.expires_at,
            error=None,
            error_policy=None,
            held=False,
            entities=(),
            dependents={},
        )
    key, rules = request.key, request.rules
    meta = store.endpoint_meta(key)
    now = store.now()
    in_flight = request.identity in store.flights
    entities = tuple(sorted(store.paths(request)))
    expires_in = reading.expires_at - now
    reasons = [*_origin(rules, reading, meta), *_freshness(reading, meta, expires_in)]
    if rules.invalid_if_stale:
        reasons.append("invalid_if_stale: stale data is not shown while it is fetched anew")
    if rules.side_effect:
        reasons.append("it has a side effect: a call always sends it, whatever is stored")
    if in_flight:
        reasons.append("a request for it is in flight, which a fetch would join")
    return Explanation(
        key=key,
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
        dependents={cell: len(store.dependents(*cell)) for cell in entities},
    )


def _origin(rules: Rules, reading: Reading, meta: KeyMeta | None) -> list[str]:
    """Where what a read finds comes from, or why there is nothing."""
    if meta is None:
        if reading.found:
            return ["it was never fetched; the data is assembled from entities that came with other responses"]
        if rules.schema is None:
            return ["it was never fetched"]
        return ["it was never fetched, and the store has nothing usable to assemble it from"]
    if meta.invalidated:
        return ["it was invalidated, so the next read fetches it"]
    error = reading.raw_error
    if error is not None:
        failed = f"its last fetch failed with {type(error).__name__}; the policy is"
        if meta.error_policy != "soft":
            return [f"{failed} hard: reads raise it while it is fresh"]
        if reading.found:
            return [f"{failed} soft: data is shown in spite of it"]
        return [f"{failed} soft, but there is no data to show in spite of it"]
    if not reading.found:
        return ["its response is there, but something that the schema requires was deleted or is missing"]
    return []


def _freshness(reading: Reading, meta: KeyMeta | None, expires_in: float) -> list[str]:
    """How long that holds; nothing where a read fetches in any case."""
    if reading.expiry_status is ExpiryStatus.Invalid:
        return []
    if reading.expires_at <= 1:
        # Not a time but a mark: nothing was fetched, or what was is expired by order (§8.1, §7.3).
        return ["so it counts as stale" if meta is None else "it was expired, so it counts as stale"]
    what = "it" if reading.raw_error is None else "the error"
    if expires_in < 0:
        return [f"{what} has been stale for {_span(-expires_in)}"]
    if reading.expires_at == INFINITE:
        return [f"{what} never turns stale"]
    return [f"{what} is fresh for another {_span(expires_in)}"]


def _verdict(reading: Reading, *, joins: bool) -> str:
    fetches = "joins the request in flight" if joins else "fetches"
    if reading.suspends:
        return f"{fetches} and waits"
    if reading.needs_fetch:
        return f"gives the data at once and {fetches} in the background"
    if reading.error is not None:
        return f"raises the recorded {type(reading.error).__name__} and does not fetch"
    return "gives the data and does not fetch"


def _span(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 10_000 else f"{milliseconds / 1000:.0f} s"
