"""The stage of an endpoint's `update` hook, which changes the results of other keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.logs import logger
from ...base.values import UNDEFINED, Meta, read_only
from ..tables import ResultMeta

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..transaction import Transaction


def run_update(tx: Transaction) -> None:
    """Run the endpoint's `update` hook: each of its functions returns a key's new result from the current one.

    If the current result is unknown because only the storage may have it, the function does not run: the key is
    invalidated, here and in the storage, so that its next read sends a request.
    """
    request, change, persistence, result = tx.request, tx.change, tx.store_state.persistence, tx.result
    update, key = request.rules.response.update, request.key
    assert update is not None
    try:
        updaters: Mapping[str, Callable[[Any], Any]] = update(
            None if result is UNDEFINED else read_only(result), *request.args
        )
        pairs = list(updaters.items())
    except Exception:
        logger.exception("%s: update failed; the response itself stays applied", key)
        return
    for other, updater in pairs:
        current = change.result(other)
        if persistence is not None and not persistence.knows_result(other, is_absent=current is UNDEFINED):
            if tx.is_final:
                times = Meta(change.times.fetched_at, change.times.date, 0)
                change.key_metas[other] = ResultMeta(times, invalidated=True)
            continue
        try:
            change.results[other] = read_only(updater(None if current is UNDEFINED else read_only(current)))
            tx.updated.add(other)
        except Exception:
            logger.exception("%s: update of %s failed; the other updates still run", key, other)
