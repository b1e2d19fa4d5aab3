"""A file that another program keeps locked: reads go on, requests are sent, and what waits is committed afterwards."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.patience import eventually
from tests.storage.here import FIRST, SECOND, Articles, one, titles
from tests.storages import PatientStore, sqlite_storage

from restencil import AsyncController, Controller
from restencil.testing import Answer, FakeClock, MockServer

AN_HOUR = 3_600_000
"""Who waits for the lock for so long does not end."""


class Desk:
    """A process over the files of a folder."""

    def __init__(self, folder: Path, clock: FakeClock, **options: Any) -> None:
        self.server = MockServer(clock, respond=lambda _: Answer(json=SECOND))
        self.store = PatientStore(clock=clock, scheduler=clock, storage=sqlite_storage(folder, **options))
        self.controller = Controller(self.store, client=self.server.client(), base_url="http://api.test")
        self.awaiting = AsyncController(self.store, client=self.server.async_client(), base_url="http://api.test")

    @property
    def state(self) -> str:
        return self.store.storage_stats().state


@pytest.fixture
def folder(tmp_path: Path, clock: FakeClock) -> Path:
    """The folder of a process that has ended, which was answered an article."""
    folder = tmp_path / "cache"
    desk = Desk(folder, clock)
    with desk.store:
        desk.controller.set_response(Articles.get, FIRST, id="1")
    return folder


@contextmanager
def locked(folder: Path, *, whole: bool = False) -> Generator[None]:
    """Another program has begun a transaction; with `whole` nobody can read meanwhile."""
    (file,) = folder.glob("*/*.db")
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        if whole:
            holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        yield
        holder.execute("ROLLBACK")


@pytest.mark.parametrize("is_async", [False, True])
def test_locked_read_that_sends_a_request_waits_for_no_lock(folder: Path, clock: FakeClock, is_async: bool) -> None:
    """Who cannot take a lease as the file is locked sends its request, and commits what it brought afterwards."""
    desk = Desk(folder, clock, lock_timeout=AN_HOUR, timeout=250)
    with desk.store:
        with locked(folder):
            if is_async:
                found = asyncio.run(desk.awaiting.read(Articles.get, id="2"))
            else:
                found = desk.controller.read(Articles.get, id="2")
            assert found.title == "B" and len(desk.server.requests) == 1
            # Nobody has read this one before; a busy machine may take longer for it than this store waits.
            eventually(lambda: desk.controller.cached(Articles.get, id="1") is not None)
            assert one(desk.controller.cached(Articles.get, id="1")).title == "A"
        assert desk.store.flush()
    again = Desk(folder, clock)
    with again.store:
        assert one(again.controller.cached(Articles.get, id="2")).title == "B"


def test_locked_what_is_stored_is_read_while_nothing_can_be_committed(folder: Path, clock: FakeClock) -> None:
    """A commit that took too long is tried again later; reads go on, and nothing that memory has is doubted."""
    desk = Desk(folder, clock, lock_timeout=20)
    with desk.store:
        with locked(folder):
            desk.controller.set_response(Articles.get, SECOND, id="2")
            eventually(lambda: desk.state == "down")
            assert one(desk.controller.cached(Articles.get, id="1")).title == "A"
            assert desk.controller.read(Articles.get, id="2").title == "B"
            assert "locked by another process for longer than 20 ms" in desk.store.storage_stats().reason
        assert desk.store.flush()
        stats = desk.store.storage_stats()
        assert (stats.state, stats.breaks, desk.server.requests) == ("on", 0, [])


def test_locked_read_in_a_file_that_no_one_else_may_read_is_not_found(folder: Path, clock: FakeClock) -> None:
    """A program that locks all of the file holds no read up: the network is asked."""
    with locked(folder, whole=True):
        desk = Desk(folder, clock, lock_timeout=AN_HOUR, timeout=250)
        assert desk.controller.cached(Articles.get, id="1") is None
        assert desk.controller.read(Articles.get, id="2").title == "B"
        assert "for longer than 250 ms" in desk.store.storage_stats().reason or desk.state == "on"
        desk.store.close(0)


def test_locked_what_others_wrote_is_taken_in_while_a_commit_waits(folder: Path, clock: FakeClock) -> None:
    """A read that meets something newer takes in the log, also where a commit of its own waits for the file."""
    desk, other = Desk(folder, clock, lock_timeout=AN_HOUR, poll=AN_HOUR), Desk(folder, clock)
    with desk.store:
        assert one(desk.controller.cached(Articles.get, id="1")).title == "A"
        with other.store:
            other.controller.set_response(Articles.get_list, [{**FIRST, "title": "New"}, SECOND])
        with locked(folder):
            desk.controller.set_response(Articles.get, {**FIRST, "id": "3"}, id="3")
            tier: Any = desk.store._persistence
            eventually(lambda: tier.write_behind._batch is not None and tier.write_behind._batch.sent is not None)
            assert titles(desk.controller.cached(Articles.get_list)) == ["New", "B"]
        assert desk.store.flush()
