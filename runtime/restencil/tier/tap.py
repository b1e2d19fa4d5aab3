"""What an action hands over: what it writes and brought, as far as that is stored at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.values import UNDEFINED, Meta
from ..cache.actions import ExpireAll, InvalidateAll, Renew, SetResponse
from ..schema.protocol import definitions
from .pending import Pending, Result, Sweep
from .validators import is_bare

if TYPE_CHECKING:
    from ..cache.actions import Action
    from ..cache.contents import Contents, Effects
    from ..cache.request import Request
    from ..cache.tables import Cell, Change, KeyMeta
    from ..schema.protocol import Schema
    from .below import Below
    from .forms import Forms


class Tap:
    """Takes from each action what is to be stored of it (locked)."""

    def __init__(self, contents: Contents, below: Below, forms: Forms) -> None:
        self._contents = contents
        self._below = below
        self._forms = forms
        self.tainted: set[Cell] = set()
        """Cells in which memory has something that reaches no storage."""
        self.apart: set[str] = set()
        """Keys whose results are not stored."""
        self._met: dict[Schema, int] = {}
        """The schemas that were met, and how often one had been redefined by then."""
        self._under_error: dict[str, Meta] = {}
        """By key, the times of a result that lies under an error."""

    def clear(self) -> None:
        """Memory holds nothing any more."""
        for kept in (self.tainted, self.apart, self._under_error):
            kept.clear()

    def taken(self, action: Action, effects: Effects) -> Pending | None:
        """What an action that is about to be carried out hands over; None for nothing."""
        moment = self._contents.clock()
        if effects.starts_over:
            pending = Pending(Meta(moment, moment, moment), moment)
            pending.is_reset = True
            return pending
        if effects.change is not None:
            return self._of_change(action, effects, effects.change, moment)
        if effects.stamp is not None:
            return _swept(effects.stamp.test, effects.stamp.invalidates, moment)
        if isinstance(action, InvalidateAll | ExpireAll):
            return _swept(action.test, isinstance(action, InvalidateAll), moment)
        if not effects.keys:
            return None
        pending = Pending(Meta(moment, moment, 0), moment)
        for key, meta in effects.keys.items():
            self._invalidated(pending, key, meta)
        return None if pending.is_empty else pending

    def _invalidated(self, pending: Pending, key: str, meta: KeyMeta) -> None:
        if key not in self.apart and self._forms.is_kept_key(key):
            times = Meta(meta.fetched_at, pending.moment, 0)
            pending.results[key] = Result(UNDEFINED, times, None, is_invalidated=True)

    def left_out(self, effects: Effects) -> Pending | None:
        """What an action hands over of which nothing can be stored."""
        if effects.change is None:
            return None
        pending = Pending(effects.change.times, self._contents.clock())
        pending.take_change(effects.change, None, self._contents.base)
        pending.drop = dict.fromkeys((*effects.change.results, *effects.change.key_metas))
        self.tainted.update(pending.all_cells())
        pending.leave_out()
        return pending

    # -- changes of tables

    def _of_change(self, action: Action, effects: Effects, change: Change, moment: float) -> Pending | None:
        request = action.request if isinstance(action, SetResponse | Renew) else None
        if effects.failure is not None or (change.key_metas and not change.entities and self._is_error(change)):
            return None
        if request is not None and not request.rules.persist:
            self.tainted.update(change.cells())
            self.apart.add(request.key)
            return None
        if isinstance(action, SetResponse | Renew) and not action.stored:
            return self._not_to_be_kept(action, change, moment)
        pending = Pending(change.times, moment)
        brought = None if effects.writer is None else effects.writer.noted()
        pending.take_change(change, brought, self._contents.base)
        pending.request = request
        if effects.doubtful:
            pending.doubtful = frozenset(effects.doubtful)
        if brought is not None:
            for node in brought.classes:
                if self._met.get(node) != definitions.count:
                    schema: Any = node
                    self._forms.shapes.meet_class(schema.model)
                    self._met[node] = definitions.count
            if brought.stale:
                pending.sweeps = [Sweep(test, False, moment) for test in brought.stale]
        if request is not None and request.rules.schema is not None:
            met: Schema = request.rules.schema
            if self._met.get(met) != definitions.count:
                self._forms.shapes.meet(met)
                self._met[met] = definitions.count
        self._take_results(pending, change, request)
        told = effects.marked[2] if effects.marked else effects.renewed[1] if effects.renewed else None
        if told is not None and request is not None and request.key in pending.results and is_bare(told, request):
            pending.results[request.key] = pending.results[request.key]._replace(told=told)
        return None if pending.is_empty else pending

    def _not_to_be_kept(self, action: SetResponse | Renew, change: Change, moment: float) -> Pending:
        """What an answer brought that the server wants nobody to store: nor is what was stored before to be found."""
        if isinstance(action, SetResponse):
            self.tainted.update(change.cells())
        pending = Pending(change.times, moment)
        pending.drop = {action.request.key: None}
        return pending

    def _is_error(self, change: Change) -> bool:
        """Whether all that it says is that a request failed: an error changes nothing in a storage."""
        base = self._contents.base
        for key, meta in change.key_metas.items():
            if meta.error is None:
                return False
            before = base.key_meta(key)
            if before is not None and before.error is None:
                self._under_error[key] = _times(before)
        return True

    def _take_results(self, pending: Pending, change: Change, request: Request | None) -> None:
        own = None if request is None else request.key
        for key in {**change.results, **change.key_metas}:
            if key in self.apart or not self._forms.is_kept_key(key):
                continue
            if key == own and request is not None:
                if request.rules.side_effect:
                    self.apart.add(key)
                    continue
                self._under_error.pop(key, None)
            result = self._result(key, change, request if key == own else None)
            if pending.doubtful and key == own:
                result = result._replace(times=result.times._replace(expires_at=min(1, result.times.expires_at)))
            pending.results[key] = result

    def _result(self, key: str, change: Change, request: Request | None) -> Result:
        base = self._contents.base
        before = base.result(key)
        value = change.results.get(key, before)
        meta = change.key_meta(key)
        if meta is None:
            times = Meta(change.times.fetched_at, change.times.date, 0)
        elif meta.error is not None:
            under = self._under_error.get(key, Meta(change.times.fetched_at, change.times.date, 0))
            times = under if meta.expires_at > 1 else under._replace(expires_at=min(under.expires_at, meta.expires_at))
        else:
            times = _times(meta)
        rules = None if request is None else request.rules
        invalidated = meta is not None and meta.invalidated
        terms = None if meta is None else meta.terms
        were = base.key_meta(key)
        is_there = were is not None and were.error is None and not were.invalidated  # others can have it as well
        is_same = is_there and value is before and terms is None  # an entry tells times, and no terms
        return Result(value, times, rules, is_invalidated=invalidated, is_same=is_same, terms=terms)


def _times(meta: KeyMeta) -> Meta:
    return Meta(meta.fetched_at, meta.date, meta.expires_at)


def _swept(test: Callable[[str], bool], invalidates: bool, moment: float) -> Pending:
    pending = Pending(Meta(moment, moment, 1), moment)
    pending.sweeps = [Sweep(test, invalidates, moment)]
    return pending
