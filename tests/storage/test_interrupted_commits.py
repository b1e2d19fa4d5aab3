"""An interrupt leaves no lock: not in the database, for other processes, and not in this process, for other threads."""

from __future__ import annotations

import dis
import itertools
import logging
import signal
import sqlite3
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import pytest
from tests.effort import IS_NIGHT, examples
from tests.patience import PATIENCE, elsewhere
from tests.storage.batches import batch as one_batch
from tests.storage.batches import result, row
from tests.storages import PatientStore, sqlite_storage

import restencil
from restencil import Controller, Entity, create_resource

STORAGE: Final = str(Path(restencil.__file__).parent / "storage")
WRITING: Final = tuple(
    str(Path(restencil.__file__).parent / "persistence" / f"{name}.py")
    for name in ("write_behind", "write_queue", "connection", "timeline")
)
PLACE: Final = "https://api.test"
#: An interrupt in a finalizer, and a file that is closed late, are no matter of locks.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")

#: After these instructions Python looks whether a signal came.
LOOKS: Final = {"RESUME", "CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD"}
STRIDE: Final = 1 if IS_NIGHT else 8


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
        self._last: dict[Any, int] = {}

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith((STORAGE, *WRITING)):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            before = self._last.get(frame)
            self._last[frame] = frame.f_lasti
            if not self._only_signals or (before is not None and _may_signal(frame.f_code, before, frame.f_lasti)):
                self.count += 1
                if self.count == self._at:
                    sys.settrace(None)
                    self.place = f"{frame.f_code.co_qualname}, line {frame.f_lineno}"
                    raise Strike
        elif event == "return":
            self._last.pop(frame, None)
        return self


@cache
def _may_signal(code: CodeType, before: int, at: int) -> bool:
    """Whether what is raised at an instruction is as a signal that came in the one before.

    That is raised there, so the same handler has to be in force at both of them: a `finally` may begin in between.
    """
    if dis.opname[code.co_code[before]] not in LOOKS:
        return False
    table: Any = dis.Bytecode(code)  # whose table of exceptions has no types

    def handler(offset: int) -> int | None:
        return next((entry.target for entry in table.exception_entries if entry.start <= offset < entry.end), None)

    return handler(before) == handler(at)


@contextmanager
def traced(tracer: Tracer) -> Generator[None]:
    """Traces what this thread does; a strike ends the block."""
    sys._getframe().f_trace_opcodes = True  # Python 3.12 reports instructions only if it is set before tracing begins
    try:
        sys.settrace(tracer)
        try:
            yield
        finally:
            sys.settrace(None)
    except Strike:
        pass


def check_files(folder: Path, seconds: float) -> None:
    """Another process can write, at the latest after so many seconds, and has then written.

    A connection that an interrupt has left at what the file was before could not write after that.
    """
    for file in folder.glob("*/*.db"):
        with closing(sqlite3.connect(file, timeout=seconds, isolation_level=None)) as other:
            other.execute("INSERT OR REPLACE INTO lease (name, owner, until) VALUES ('another', 'process', 0)")


class Scene:
    """A process over a file, and what others see of that file."""

    def __init__(self, folder: Path, write_behind: float) -> None:
        self.folder = folder
        self.store = PatientStore(storage=sqlite_storage(folder, write_behind=write_behind, lock_timeout=2_000))
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
        check_files(self.folder, PATIENCE)
        assert elsewhere(self.change) is None
        assert elsewhere(lambda: self.store.flush(PATIENCE * 1_000)) is True
        shown = {id: found.text for id in range(5) if (found := self.controller.cached(items.get, {"id": id}))}
        with PatientStore(storage=sqlite_storage(self.folder)) as other:
            reader = Controller(other)
            stored = {id: found.text for id in range(5) if (found := reader.cached(items.get, {"id": id}))}
        assert stored == shown

    def close(self) -> None:
        self.store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_interrupted_commits_interrupt_at_any_instruction_leaves_database_unlocked(folder: Path) -> None:
    """Also where Python itself would not interrupt: other processes write at once.

    One thread alone works on the storage: it may then hold locks of the process, for which another would wait.
    """
    storage = sqlite_storage(folder)
    numbers = itertools.count(1)

    def work() -> None:
        number = next(numbers)
        batch = one_batch(epoch, row(str(number)), results=[result("k")], used=[("A", "1")], release=["lease"])
        storage.commit(batch._replace(entry=batch.entry._replace(commit_id=number)))
        storage.load([("A", "1")], ["k"])
        storage.load([("A", "1"), ("A", str(number))], ["k"], [], ["A"])
        storage.changes(number - 1, 0)
        storage.leases([("lease", "me")], 1_000)
        storage.stats()
        storage.trim()

    with closing(storage):
        epoch = storage.open(PLACE, time.monotonic).epoch
        for _ in range(3):
            work()
        calm = Tracer(-1, only_signals=False)
        with traced(calm):
            work()
        assert calm.count > 1_000
        for at in range(1 + calm.count % STRIDE, calm.count + 1, STRIDE):
            with traced(Tracer(at, only_signals=False)):
                work()
            check_files(folder, 0)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("write_behind", [0, 20])
def test_interrupted_commits_interrupt_leaves_no_lock_to_other_threads(folder: Path, write_behind: float) -> None:
    """At each place where Python delivers a signal; what was written before and after is stored."""
    scene = Scene(folder, write_behind)
    try:
        for _ in range(3):
            scene.work()
        calm = Tracer(-1, only_signals=True)
        with traced(calm):
            scene.work()
        assert calm.count > 10
        for at in range(1 + calm.count % STRIDE, calm.count + 1, STRIDE):
            tracer = Tracer(at, only_signals=True)
            with traced(tracer):
                scene.work()
            if tracer.place.startswith(("WriteBehind.take,", "WriteQueue.take,")):
                scene.close()  # what the store did not tell is not written
                scene = Scene(folder, write_behind)
            else:
                scene.check()
    finally:
        scene.close()


@pytest.mark.parametrize("function", ["StoreState.commit", "WriteBehind.take"])
def test_interrupted_commits_interrupt_before_it_begins_is_no_difference(folder: Path, function: str) -> None:
    """Python may deliver a signal as a function is entered: memory and storage then have the change, or neither has."""
    scene = Scene(folder, 0)
    try:
        for _ in range(5):
            scene.change()
        struck: list[str] = []

        def strike(frame: FrameType, event: str, argument: Any) -> None:
            if frame.f_code.co_qualname == function and not struck:
                struck.append(event)
                raise Strike

        sys.settrace(strike)
        with pytest.raises(Strike):
            scene.change()
        sys.settrace(None)
        assert struck == ["call"]
        scene.check()
    finally:
        scene.close()


@pytest.mark.usefixtures("quiet")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="only POSIX has timers that send signals")
@pytest.mark.parametrize("write_behind", [0, 20])
def test_interrupted_commits_signals_leave_no_lock(folder: Path, write_behind: float) -> None:
    """Real interrupts at random moments: other threads and other processes go on."""

    def strike(number: int, frame: Any) -> None:
        raise Strike

    before = signal.signal(signal.SIGALRM, strike)
    done = 0
    wanted = examples(100, 15)
    try:
        scene = Scene(folder, write_behind)
        for at in range(wanted):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0002 + (at % 97) * 0.00005)
                for _ in range(5_000):  # an interrupt in a finalizer is lost
                    scene.change()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Strike:
                done += 1
            if at % 50 == 0:
                scene.check()
        scene.check()
        scene.close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert done > wanted * 0.8
