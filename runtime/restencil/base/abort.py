"""Aborting requests: an `AbortController` aborts, and its `AbortSignal` is passed to requests."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .errors import AbortError


class AbortSignal:
    """Notifies requests that they are aborted. Created by `AbortController`; safe to share between threads."""

    __slots__ = ("_aborted", "_listeners", "_lock", "_reason")

    def __init__(self) -> None:
        self._aborted = False
        self._reason: str | None = None
        self._listeners: list[Callable[[], object]] = []
        self._lock = threading.Lock()

    @property
    def aborted(self) -> bool:
        """True once `AbortController.abort` was called; it never becomes False again."""
        return self._aborted

    @property
    def reason(self) -> str | None:
        """The `reason` argument of `abort`."""
        return self._reason

    def add_listener(self, listener: Callable[[], object]) -> Callable[[], None]:
        """Call `listener` once on abort, at once if aborted already; return a function that removes it."""
        with self._lock:
            happened = self._aborted
            if not happened:
                self._listeners.append(listener)
        if happened:
            listener()
        return lambda: self._remove(listener)

    def _remove(self, listener: Callable[[], object]) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def raise_if_aborted(self) -> None:
        """Raise AbortError if the signal is aborted."""
        if self._aborted:
            raise self.error()

    def error(self) -> AbortError:
        """The error that an aborted request raises."""
        return AbortError(f"the request was aborted: {self._reason}" if self._reason else "the request was aborted")

    def _abort(self, reason: str | None) -> None:
        with self._lock:
            if self._aborted:
                return
            self._reason = reason
            self._aborted = True
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()

    def __repr__(self) -> str:
        return f"<AbortSignal {'aborted' if self._aborted else 'not aborted'}>"


class AbortController:
    """Aborts all requests with its `signal`: `endpoint.extend(signal=controller.signal)`."""

    __slots__ = ("signal",)

    def __init__(self) -> None:
        self.signal = AbortSignal()

    def abort(self, reason: str | None = None) -> None:
        """Abort the requests, from any thread; further calls do nothing. AbortError has `reason` in its message."""
        self.signal._abort(reason)  # pyright: ignore[reportPrivateUsage] - one pair, two faces

    def __repr__(self) -> str:
        return f"<AbortController {'aborted' if self.signal.aborted else 'not aborted'}>"
