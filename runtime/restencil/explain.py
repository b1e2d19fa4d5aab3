"""Why a read fetched, or did not: what the store knows of one endpoint's result, in one object and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .expiry import ExpiryStatus

if TYPE_CHECKING:
    from .controller import AnyController
    from .endpoint import Endpoint
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


def explain(controller: AnyController, endpoint: Endpoint[..., Any], args: tuple[Any, ...]) -> Explanation:
    """What a read of this endpoint would do now, and why."""
    store = controller.store
    reading = store.read(endpoint, args)
    if len(args) == 1 and args[0] is None and not endpoint.has_body:
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
    key = endpoint.key(*args)
    meta = store.endpoint_meta(key)
    now = store.now()
    in_flight = (key, endpoint.request_url(args)) in store.flights
    entities = tuple(sorted(store.paths(endpoint, args)))
    expires_in = reading.expires_at - now
    reasons: list[str] = []
    if meta is None:
        reasons.append(
            "it was never fetched; the data is assembled from entities that came with other responses"
            if reading.found
            else "it was never fetched, and the entities in the store do not give it"
        )
    elif meta.invalidated:
        reasons.append("it was invalidated")
    elif reading.raw_error is not None:
        policy = "soft: data is shown in spite of it" if meta.error_policy == "soft" else "hard: reads raise it"
        reasons.append(f"its last fetch failed with {type(reading.raw_error).__name__}; the policy is {policy}")
    elif not reading.found:
        reasons.append("its response is there, but something that the schema requires was deleted or is missing")
    if reading.expires_at <= 1:
        # Not a time but a mark: nothing was fetched, or what was is expired by order (§8.1, §7.3).
        reasons.append("so it counts as stale" if meta is None else "it was expired, so it counts as stale")
    elif expires_in < 0:
        reasons.append(f"it is stale since {_span(-expires_in)}")
    elif reading.expires_at == float("inf"):
        reasons.append("it never turns stale")
    else:
        reasons.append(f"it is fresh for another {_span(expires_in)}")
    if endpoint.invalid_if_stale:
        reasons.append("invalid_if_stale: stale data is not shown while it is fetched anew")
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
        age=None if meta is None else now - meta.date,
        expires_in=expires_in,
        error=reading.raw_error,
        error_policy=None if meta is None else meta.error_policy,
        held=store.is_held(key),
        entities=entities,
        dependents={cell: len(store.dependents(*cell)) for cell in entities},
    )


def _verdict(reading: Any, *, joins: bool) -> str:
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
