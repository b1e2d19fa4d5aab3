"""An interrupt leaves no lock: not in the database, for other processes, and not in this process, for other threads."""

from __future__ import annotations

import dis
import itertools
import logging
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from tests.effort import IS_NIGHT, examples
from tests.storages import sqlite_storage

import restencil
from restencil import Controller, Entity, Store, create_resource

STORAGE: Final = str(Path(restencil.__file__).parent / "storage")
WRITING: Final = tuple(
    str(Path(restencil.__file__).parent / "persistence" / f"{name}.py")
    for name in ("write_behind", "write_queue", "connection", "bulk_invalidation")
)
#: An interrupt in a finalizer, and a file that is closed late, are no matter of locks.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

#: After these instructions Python looks whether a signal came.
LOOKS: Final = {"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}
LONGEST: Final = 3.0
"""Another thread may take so many seconds."""
STRIDE: Final = 1 if IS_NIGHT else 3


class Item(Entity):
    """What is changed."""

    id: int = 0
    text: str = ""


items: Any = create_resource(path="/items/:id", schema=Item, data_expiry_length="10m")


class Strike(BaseException):
    """An interrupt."""


class Tracer:
    """Counts the instructions of the files that hold locks, in this thread, and raises at one of them."""

    def __init__(self, at: int, *, only_signals: bool) -> None:
        self.count = 0
        self.place = ""
        self._at = at
        self._only_signals = only_signals
        self._last: dict[Any, str] = {}

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith((STORAGE, *WRITING)):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            before = self._last.get(frame, "")
            self._last[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if not self._only_signals or before in LOOKS:
                self.count += 1
                if self.count == self._at:
                    sys.settrace(None)
                    self.place = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
                    raise Strike
        elif event == "return":
            self._last.pop(frame, None)
        return self


@contextmanager
def traced(tracer: Tracer) -> Generator[None]:
    """Traces what this thread does; a strike ends the block."""
    try:
        sys.settrace(tracer)
        try:
            yield
        finally:
            sys.settrace(None)
    except Strike:
        pass


def elsewhere(work: Callable[[], Any]) -> Any:
    """What a work gives in another thread; a failure where it does not end."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()), daemon=True)
    thread.start()
    thread.join(LONGEST)
    assert not thread.is_alive(), "another thread waits for ever"
    return found[0]


class Scene:
    """A process over a file, and what others see of that file."""

    def __init__(self, folder: Path, write_behind: float) -> None:
        self.folder = folder
        self.store = Store(storage=sqlite_storage(folder, write_behind=write_behind, lock_timeout=2_000))
        self.controller = Controller(self.store)
        self._numbers = itertools.count()

    def change(self) -> None:
        """Something that is written."""
        id = next(self._numbers) % 5
        self.controller.set_response(items.get, {"id": id, "text": f"{next(self._numbers)}"}, {"id": id})

    def work(self) -> None:
        """What is done when an interrupt comes; a commit that another one holds up is not waited for."""
        self.change()
        self.store.flush(100)
        self.store.storage_stats()

    def check(self) -> None:
        """Another process can write, another thread can, and what memory shows is stored."""
        for file in self.folder.glob("*/*.db"):
            with closing(sqlite3.connect(file, timeout=0.5, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                other.execute("ROLLBACK")

    def check_threads(self) -> None:
        """Another thread goes on, and what memory shows is stored."""
        elsewhere(self.change)
        assert elsewhere(lambda: self.store.flush(LONGEST * 900))
        shown = {id: found.text for id in range(5) if (found := self.controller.cached(items.get, {"id": id}))}
        with Store(storage=sqlite_storage(self.folder)) as other:
            reader = Controller(other)
            stored = {id: found.text for id in range(5) if (found := reader.cached(items.get, {"id": id}))}
        assert stored == shown

    def close(self) -> None:
        self.store.close()


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("write_behind", [0, 20])
def test_interrupted_commits_interrupt_at_any_instruction_leaves_database_unlocked(
    tmp_path: Path, write_behind: float
) -> None:
    """Also where Python itself would not interrupt: other processes write at once."""
    _sweep(tmp_path, write_behind, Scene.check, only_signals=False, stride=STRIDE)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("write_behind", [0, 20])
def test_interrupted_commits_interrupt_leaves_no_lock_to_other_threads(tmp_path: Path, write_behind: float) -> None:
    """At each place where Python delivers a signal; what was written before and after is stored."""
    _sweep(tmp_path, write_behind, Scene.check_threads, only_signals=True, stride=STRIDE)


def _sweep(
    folder: Path, write_behind: float, check: Callable[[Scene], None], *, only_signals: bool, stride: int
) -> None:
    scene = Scene(folder, write_behind)
    failures: list[str] = []
    try:
        for _ in range(3):
            scene.work()
        calm = Tracer(-1, only_signals=only_signals)
        with traced(calm):
            scene.work()
        assert calm.count > 50
        for at in range(1 + calm.count % stride, calm.count + 1, stride):
            tracer = Tracer(at, only_signals=only_signals)
            with traced(tracer):
                scene.work()
            if tracer.place.startswith(("Writer.take,", "WriteQueue.take,")):
                scene.close()  # what the store did not tell is not written
                scene = Scene(folder, write_behind)
                continue
            try:
                check(scene)
            except (AssertionError, sqlite3.Error) as error:
                failures.append(f"{at} of {calm.count}, {tracer.place}: {error}")
                break  # what is locked stays so
    finally:
        scene.close()
    assert failures == []


@pytest.mark.usefixtures("quiet")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="only POSIX has timers that send signals")
@pytest.mark.parametrize("write_behind", [0, 20])
def test_interrupted_commits_signals_leave_no_lock(tmp_path: Path, write_behind: float) -> None:
    """Real interrupts at random moments: other threads and other processes go on."""

    def strike(number: int, frame: Any) -> None:
        raise Strike

    before = signal.signal(signal.SIGALRM, strike)
    done = 0
    wanted = examples(100, 15)
    try:
        scene = Scene(tmp_path, write_behind)
        for at in range(wanted):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002 + (at % 97) * 0.00005)
                for _ in range(200):  # an interrupt in a finalizer is lost
                    scene.change()
            except Strike:
                done += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            if at % 50 == 0:
                elsewhere(scene.change)
                scene.check()
        for _ in range(5):
            scene.change()
        scene.check_threads()
        scene.close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert done > wanted * 0.8
