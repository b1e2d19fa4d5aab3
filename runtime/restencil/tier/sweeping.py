"""Changes of all results whose keys a test accepts, carried out in the storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.values import Meta
from ..storage.protocol import Batch, Entry

if TYPE_CHECKING:
    from ..cache.contents import Contents
    from ..storage.protocol import StoredResult
    from .below import Below
    from .pending import Pending, Sweep


class Sweeping:
    """Invalidates or expires what a test accepts, but for what was received later."""

    def __init__(self, contents: Contents, below: Below) -> None:
        self._contents = contents
        self._below = below

    def carry_out(self, sweep: Sweep, pending: Pending) -> bool:
        """Looks through all keys of the storage; False where that does not answer now."""
        for page in self._below.pages(None):
            if page is None:
                return False
            with self._below.lock, self._contents.hooks:
                keys = [key for key in page if key not in pending.written_keys and sweep.accepts(key)]
            if keys and not self._change(sweep, keys):
                return False
        return True

    def _change(self, sweep: Sweep, keys: list[str]) -> bool:
        below, known = self._below, self._below.known
        loaded = below.work(lambda storage: storage.load((), keys))
        if loaded is None:
            return False
        changed = [swept for result in loaded.results if (swept := self._left(sweep, result)) is not None]
        if not changed or loaded.epoch != known.epoch:
            return True
        named = [result.key for result in changed]
        entry = Entry(0, below.writer, None, {}, {}, {}, named, [], False)
        batch = Batch(loaded.epoch, [], changed, [], {}, {}, [], [], [], [], entry)
        outcome = below.commit(lambda storage: storage.commit(batch))
        if outcome is None:
            return False
        with below.lock:
            is_next = known.numbered(outcome.number)
            for key in named:
                if not is_next:
                    known.key_revs.pop(key, None)
                elif key in known.key_revs:
                    known.key_revs[key] = outcome.number
        return True

    def swept(self, sweep: Sweep, result: StoredResult) -> StoredResult | None:
        """A result as such a change leaves it; None where it leaves it alone."""
        with self._contents.hooks:
            return self._left(sweep, result) if sweep.accepts(result.key) else None

    def _left(self, sweep: Sweep, result: StoredResult) -> StoredResult | None:
        """The result of a key that is meant, as the change leaves it."""
        known = self._below.known
        times = known.inward(result.times)
        if times.date > sweep.moment or (sweep.invalidates and result.invalidated):
            return None
        if sweep.invalidates:
            times = known.outward(Meta(times.fetched_at, sweep.moment, 0))
            return result._replace(times=times, invalidated=True, value=None)
        if times.expires_at == 1:
            return None
        return result._replace(times=result.times._replace(expires_at=1))
