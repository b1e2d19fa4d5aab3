"""One request for all processes: who wants an answer takes a lease on it, and the others wait for what it brings.

A request in flight holds its lease from before it is sent until what it brought is committed; the lease ends with that
commit. Who does not get it waits for an entry that names the key, and looks at the lease now and then: its holder may
be gone, or its request may have failed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from ..base.lazy import hashlib
from .asking import Question
from .loading import Loading

if TYPE_CHECKING:
    from ..base.steps import Steps
    from ..cache.request import Request
    from ..cache.tier import Wanted
    from .below import Below
    from .knowing import Knowing

_LENGTH: Final = 3_000
"""How long a lease lasts that nobody renews, in ms: so long those wait whose holder was killed."""
_RENEWED: Final = 1.0
"""It is renewed after so many seconds, as long as its request is in flight."""
_TRIES: Final = 5
"""Where others write all the time, what is loaded may be newer than memory can be at once; then it is loaded again."""
_LOOKS: Final = 100.0
"""How often who waits looks at the lease, in ms."""


class Lease(NamedTuple):
    """What one request holds."""

    name: str
    owner: str
    """One for each request: a lease that is given back late is not taken from the next one of this process."""
    key: str


class Leases:
    """The leases that requests of one store hold, and its requests that wait for those of other processes."""

    def __init__(self, below: Below, knowing: Knowing) -> None:
        self._below = below
        self._knowing = knowing
        below.heard = self.heard
        self.forked()

    def forked(self) -> None:
        """This is a forked process: what is held, and who waits, is in the parent."""
        self._lock = threading.Lock()
        self._held: dict[int, Lease] = {}
        self._committing: list[tuple[Lease, Callable[[], bool]]] = []
        self._to_give: list[Lease] = []
        self._waiting: dict[str, list[Wanted]] = {}
        self._wakes: threading.Event | None = None

    def steps(self, request: Request, fetch_id: int, wanted: Wanted) -> Steps:
        """Steps before a request is sent: True where there is an outcome without it.

        After False it is to be sent; `done` is called in any case, once it was answered or has failed.
        """
        below, knowing = self._below, self._knowing
        left = below.storage.lease_wait
        if left <= 0 or not below.storage.writable or not knowing.lacking.keeps(request):
            return False
        lease = Lease(_name_of(request), f"{below.writer}:{fetch_id}", request.key)
        question = Question(lambda storage: storage.lease(lease.name, lease.owner, _LENGTH))
        is_waiting = False
        self._waits(request.key, wanted)
        try:
            while below.may_be_read:
                if is_waiting and (yield from self._is_answered(request, wanted)):
                    return True
                got: bool | None = yield Loading(below, knowing.loads, question)
                if got:
                    below.count.leases += 1
                    self._hold(fetch_id, lease)
                    return (yield from self._is_answered(request, wanted))
                if got is None or wanted.is_withdrawn or left <= 0:
                    return False
                if not is_waiting:
                    is_waiting = True
                    below.count.leases_waited_for += 1
                woken: bool = yield wanted.wait(_LOOKS)
                left -= 1 if woken else _LOOKS
            return False
        finally:
            self._waits_no_more(request.key, wanted)

    def _is_answered(self, request: Request, wanted: Wanted) -> Steps:
        """Steps: brings memory up to the storage, and looks whether there is an outcome now."""
        for attempt in range(_TRIES):
            yield from self._knowing.catching_up()
            yield from self._knowing.steps(request)
            if wanted.is_over:
                return True
            if wanted.take_answer():
                self._below.count.requests_saved += 1
                return True
            rev = self._below.known.key_revs.get(request.key)
            if rev == 0 or (rev is not None and attempt > 0):
                return False  # there is nothing, or what there is will not do
        return False

    # -- who waits

    def _waits(self, key: str, wanted: Wanted) -> None:
        with self._lock:
            self._waiting.setdefault(key, []).append(wanted)

    def _waits_no_more(self, key: str, wanted: Wanted) -> None:
        with self._lock:
            others = [other for other in self._waiting.get(key, ()) if other is not wanted]
            if others:
                self._waiting[key] = others
            else:
                self._waiting.pop(key, None)

    def heard(self, keys: Iterable[str] | None) -> None:
        """Others have written these keys, or nobody knows what: who waits for one looks again."""
        if not self._waiting:
            return
        with self._lock:
            found = [*self._waiting] if keys is None else keys
            wake = [wanted for key in found for wanted in self._waiting.get(key, ())]
        for wanted in wake:
            wanted.wake()

    # -- what is held

    @property
    def are_held(self) -> bool:
        """Whether any is held."""
        return bool(self._held)

    def committing(self, fetch_id: int | None, is_waiting: Callable[[], bool]) -> str | None:
        """The lease of a fetch whose answer waits for its commit, which ends it; None where it holds none."""
        with self._lock:
            lease = None if fetch_id is None else self._held.pop(fetch_id, None)
            if lease is None:
                return None
            self._committing.append((lease, is_waiting))
        return lease.name

    def done(self, fetch_id: int) -> None:
        """A fetch was answered or has failed: what it holds still is given back."""
        if self._held:
            with self._lock:
                lease = self._held.pop(fetch_id, None)
                if lease is not None:
                    self._to_give.append(lease)
                    self._work()

    def _hold(self, fetch_id: int, lease: Lease) -> None:
        with self._lock:
            self._held[fetch_id] = lease
            self._work()

    def _work(self) -> None:
        if self._wakes is not None:
            self._wakes.set()
            return
        self._wakes = threading.Event()
        threading.Thread(target=self._run, args=(self._wakes,), name="restencil-leases", daemon=True).start()

    def _run(self, wakes: threading.Event) -> None:
        """Renews what is held and gives back what is not; ends when there is neither."""
        due = time.monotonic() + _RENEWED
        while True:
            wakes.clear()
            renew: list[Lease] = []
            with self._lock:
                to_give, self._to_give = self._to_give, []
                if not (to_give or self._held or self._committing):
                    self._wakes = None
                    return
                is_due = time.monotonic() >= due
                if is_due:
                    renew = list(self._held.values())
                    due = time.monotonic() + _RENEWED
            for lease in to_give:
                self._tell(lease, 0)
            self.heard([lease.key for lease in to_give])
            for lease in renew:
                self._tell(lease, _LENGTH)
            if is_due:
                self._renew_waiting()
            wakes.wait(max(0.0, due - time.monotonic()))

    def _renew_waiting(self) -> None:
        """Renews what ends with a commit that is still to come."""
        with self._lock:
            committing = [*self._committing]
        ended = [lease for lease, is_waiting in committing if not (is_waiting() and self._is_kept(lease, is_waiting))]
        with self._lock:
            self._committing = [one for one in self._committing if one[0] not in ended]

    def _is_kept(self, lease: Lease, is_waiting: Callable[[], bool]) -> bool:
        self._tell(lease, _LENGTH)
        if is_waiting():
            return True
        self._tell(lease, 0)  # the commit came first, and had ended it
        return False

    def _tell(self, lease: Lease, length: float) -> None:
        self._below.load(lambda storage: storage.lease(lease.name, lease.owner, length))

    def close(self) -> None:
        """Gives back what is held; who waits sends its own request."""
        with self._lock:
            held = [*self._held.values(), *self._to_give]
            self._held.clear()
            self._to_give.clear()
            self._committing.clear()
        for lease in held:
            with suppress(Exception):
                self._tell(lease, 0)

    def closed(self) -> None:
        """The storage is not used any more."""
        self.heard(None)


def _name_of(request: Request) -> str:
    text = f"{request.key}\0{request.url}"
    return str(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())
