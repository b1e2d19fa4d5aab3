"""SQLiteStorage: files that belong to one user, epochs, commits, leases, and what is when things go wrong."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from math import inf
from pathlib import Path

import pytest
from tests.patience import PATIENCE, eventually
from tests.storage.batches import batch, result, row
from tests.storage.connections import opened_connections
from tests.storages import sqlite_storage

from restencil import SQLiteStorage, StorageCorrupt, StorageDown, StorageError, StorageOff
from restencil.base.values import Meta
from restencil.storage import Entry, Loaded
from restencil.storage.epochs import Epochs

PLACE = "https://api.test"
HOUR = 3_600_000
ROOT = Path(__file__).parents[2]
WORKER = Path(__file__).with_name("sqlite_worker.py")


class Time:
    """A clock that stands still."""

    def __init__(self, now: float = 1_000 * HOUR) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def storage(folder: Path, clock: Time) -> Iterator[SQLiteStorage]:
    with closing(sqlite_storage(folder)) as storage:
        storage.open(PLACE, clock)
        yield storage


@pytest.fixture
def other(folder: Path, storage: SQLiteStorage, clock: Time) -> Iterator[SQLiteStorage]:
    """A second storage on the files of the first, as another process has it."""
    with closing(sqlite_storage(folder)) as other:
        other.open(PLACE, clock)
        yield other


def epoch_of(storage: SQLiteStorage) -> int:
    return storage.changes(0, 0).epoch


def file_of(folder: Path) -> Path:
    """The file of the current epoch."""
    return max(folder.glob("*/*.db"), key=lambda file: int(file.stem))


def revs_of(loaded: Loaded) -> dict[str, int]:
    return {row.pk: row.rev for row in loaded.rows}


def start(*arguments: object) -> subprocess.Popen[str]:
    """A process that works on a storage."""
    command = [sys.executable, str(WORKER), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "runtime")))}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def finish(process: subprocess.Popen[str]) -> str:
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    return out


# What it is given


@pytest.mark.parametrize(
    "members",
    [
        {"path": ""},
        {"path": b"cache"},
        {"path": None},
        {"path": "valkey://localhost"},
        {"path": "a\0b"},
        {"path": ":memory:"},
        {"principal": ""},
        {"principal": 7},
        {"max_bytes": 0},
        {"max_bytes": "1 MB"},
        {"max_bytes": True},
        {"write_behind": inf},
        {"poll": 0},
        {"timeout": 0},
        {"lock_timeout": -1},
    ],
    ids=str,
)
def test_sqlite_arguments_that_make_no_sense_are_rejected_at_once(tmp_path: Path, members: dict[str, object]) -> None:
    """A ValueError says which argument it is, what was found, and what was expected."""
    arguments: dict[str, object] = {"path": tmp_path / "cache", "principal": None, **members}
    with pytest.raises(ValueError, match=f"^{next(iter(members))} is .*; expected"):
        SQLiteStorage(arguments.pop("path"), **arguments)  # type: ignore[arg-type]  # wrong on purpose


def test_sqlite_principal_has_no_default(tmp_path: Path) -> None:
    """Whoever forgets whose data it is, is told so."""
    with pytest.raises(TypeError, match="principal"):
        SQLiteStorage(tmp_path)  # type: ignore[call-arg]  # wrong on purpose


def test_sqlite_bound_may_be_infinite(tmp_path: Path, clock: Time) -> None:
    """`max_age=inf` keeps what was not used for however long."""
    with closing(sqlite_storage(tmp_path / "cache", max_age=inf)) as storage:
        epoch = storage.open(PLACE, clock).epoch
        storage.commit(batch(epoch, row("1")))
        clock.now += 100_000 * HOUR
        assert storage.trim() == 0
        assert revs_of(storage.load([("A", "1")])) == {"1": 1}


def test_sqlite_principal_is_nowhere_to_be_read(tmp_path: Path, clock: Time) -> None:
    """Neither in the repr, nor in a name or the content of a file."""
    with closing(sqlite_storage(tmp_path / "cache", principal="account-4711")) as storage:
        epoch = storage.open(PLACE, clock).epoch
        storage.commit(batch(epoch, row("1")))
        assert "4711" not in repr(storage)
        for file in tmp_path.rglob("*"):
            assert "4711" not in file.name
            assert file.is_dir() or b"4711" not in file.read_bytes()


def test_sqlite_constructor_touches_no_disk(folder: Path) -> None:
    """A storage is opened when it is first needed."""
    sqlite_storage(folder).close()
    assert not folder.exists()


def test_sqlite_relative_path_is_that_of_its_making(
    tmp_path: Path, clock: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program may change its folder before the storage is first needed."""
    monkeypatch.chdir(tmp_path)
    storage = sqlite_storage("cache")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with closing(storage):
        storage.open(PLACE, clock)
    assert (tmp_path / "cache").is_dir()


# What is kept


def test_sqlite_principals_and_places_are_apart(folder: Path, storage: SQLiteStorage, clock: Time) -> None:
    """Each principal at each place has a namespace of its own in the folder."""
    storage.commit(batch(epoch_of(storage), row("1")))
    for principal, place in [("a", PLACE), ("b", PLACE), (None, "https://staging.test")]:
        with closing(sqlite_storage(folder, principal=principal)) as another:
            another.open(place, clock)
            assert another.load([("A", "1")]).rows == []
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize(
    ("pks", "others"),
    [
        (range(300), range(0)),
        (range(299, -1, -1), range(0)),
        (random.Random(1).sample(range(300), 300), range(0)),
        (range(0, 300, 2), range(0)),
        (range(0, 300, 7), range(0)),
        ([400, *range(300)], range(0)),
        ([*range(150), 400, *range(150, 300), 401], range(0)),
        ([*range(20), *range(20)], range(0)),
        (range(300), range(0, 300, 3)),
        ([299, *range(299)], range(298)),
    ],
)
def test_sqlite_rows_are_found_however_they_lie(
    storage: SQLiteStorage, pks: Sequence[int], others: Sequence[int]
) -> None:
    """Many rows are found as one by one, in the order asked, however they came: also with others in between."""
    names, epoch = [str(pk) for pk in pks], epoch_of(storage)
    came = [row(str(pk), value=b"%d" % pk, table="B" if pk in others else "A") for pk in range(300)]
    storage.commit(batch(epoch, *came))
    storage.commit(batch(epoch, row("7", value=None), row("8", 1, b"[8]"), drop=[("A", "7"), ("A", "9")]))
    cells = [(table, name) for table in ("A", "B") for name in names]
    loaded = storage.load(cells)
    assert loaded.rows == [found for cell in cells for found in storage.load([cell]).rows]
    assert len(names) - 3 <= len(loaded.rows) <= len(names) + 1


def test_sqlite_read_that_takes_too_long_is_given_up(folder: Path, storage: SQLiteStorage, clock: Time) -> None:
    """After `timeout` it raises, whatever it has found by then; who has more time finds all of it."""
    rows = [row(pk=str(pk), table=str(pk % 2)) for pk in range(5_000)]
    cells = [(row.table, row.pk) for row in rows]
    assert storage.commit(batch(epoch_of(storage), *rows)).number
    with closing(sqlite_storage(folder, timeout=1)) as hurried:
        hurried.open(PLACE, clock)
        with pytest.raises(StorageDown, match="was not read within 1 ms; give SQLiteStorage a longer timeout"):
            hurried.load(cells)
    assert len(storage.load(cells).rows) == 5_000


def test_sqlite_what_others_wrote_into_the_file_is_no_value(folder: Path, storage: SQLiteStorage) -> None:
    """Another program's nonsense is a value that is no JSON, and tables of its own are left alone."""
    storage.commit(batch(epoch_of(storage), row("1"), row("2"), results=[result("k")]))
    with closing(sqlite3.connect(file_of(folder))) as file, file:
        file.execute("UPDATE row SET value = 'text' WHERE pk = '1'")
        file.execute("UPDATE row SET date = 'never', shape = 99 WHERE pk = '2'")
        file.execute("UPDATE result SET value = 7")
        file.execute("UPDATE log SET entry = 'nonsense'")
        file.execute("CREATE TABLE theirs (x)")
    loaded = storage.load([("A", "1"), ("A", "2")], ["k"])
    assert [each.value for each in loaded.rows] == [b"", b""] and loaded.results[0].value == b""
    changes = storage.changes(0, 0)
    assert [entry.everything for entry in changes.entries] == [True]
    assert storage.commit(batch(changes.epoch, row("1", 1))).number == 2


# The log


def test_sqlite_nonsense_among_rows_that_came_together_spoils_no_other(folder: Path, storage: SQLiteStorage) -> None:
    """Rows are taken one by one where values or times of some are none, and share nothing with those."""
    storage.commit(batch(epoch_of(storage), *(row(str(pk), times=Meta(1.0, 2.0, 3.0 + pk // 10)) for pk in range(40))))
    with closing(sqlite3.connect(file_of(folder))) as file, file:
        file.execute("UPDATE row SET date = 'soon' WHERE pk IN ('3', '11')")
        file.execute("UPDATE row SET value = 5 WHERE pk IN ('20', '25')")
    rows = storage.load([("A", str(pk)) for pk in range(40)]).rows
    broken = [found for found in rows if found.value == b""]
    assert [found.pk for found in broken] == ["3", "11", "20", "25"]
    assert {found.times for found in broken} == {(0, 0, 0)}
    assert all(found.times == (1.0, 2.0, 3.0 + int(found.pk) // 10) for found in rows if found not in broken)


def test_sqlite_what_others_write_or_reset_is_seen_at_once(storage: SQLiteStorage, other: SQLiteStorage) -> None:
    """Also by who has just looked and found nothing."""
    epoch = epoch_of(storage)
    for turn in range(3):
        assert storage.changes(turn, 0)[2:] == other.changes(turn, 0)[2:] == (turn, [], False)
        (storage, other)[turn % 2].commit(batch(epoch, row(str(turn))))
        for asking in (storage, other):
            assert [entry.number for entry in asking.changes(turn, 0).entries] == [turn + 1]
            assert [entry.number for entry in asking.changes(0, 0).entries] == [*range(1, turn + 2)]
    assert storage.changes(7, 0).lost
    after = other.reset()
    assert storage.changes(3, 0)[:3] == (after, after, 0)


def test_sqlite_log_that_does_not_reach_back_is_reported(storage: SQLiteStorage) -> None:
    """Of the log 1 MiB is kept; who asks for more is told that entries are lost."""
    epoch = epoch_of(storage)
    long = Entry(0, "me", None, {}, {}, {}, ["k" * 100_000], False)
    for turn in range(30):
        storage.commit(batch(epoch, results=[result(f"{turn}")], entry=long))
    changes = storage.changes(0, 0)
    assert changes.lost and changes.number == 30 and changes.entries == []
    assert not storage.changes(25, 0).lost
    assert storage.changes(31, 0).lost, "a number that is not there yet: history was lost"


def test_sqlite_of_the_log_ten_thousand_entries_are_kept(folder: Path, storage: SQLiteStorage) -> None:
    """The oldest of more go, some at a time."""
    epoch = epoch_of(storage)
    storage.commit(batch(epoch, row("1")))
    with closing(sqlite3.connect(file_of(folder))) as file, file:
        file.executemany("INSERT INTO log VALUES (?, 'me', x'7b7d')", [(number,) for number in range(2, 12_100)])
    assert storage.commit(batch(epoch, row("2"))).number == 12_100
    assert not storage.changes(12_100 - 9_999, 0).lost
    assert storage.changes(1_000, 0).lost


# Files


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes on Windows")
@pytest.mark.parametrize("mask", [0o000, 0o077, 0o022])
def test_sqlite_no_one_else_may_read_it(tmp_path: Path, clock: Time, mask: int) -> None:
    """Folders are 0700 and files 0600 before the first byte is in them, whatever the mask of the process."""
    before = os.umask(mask)
    try:
        with closing(sqlite_storage(tmp_path / "a" / "cache")) as storage:
            epoch = storage.open(PLACE, clock).epoch
            storage.commit(batch(epoch, row("1")))
            storage.reset()
            storage.commit(batch(epoch_of(storage), row("1")))
            modes = {
                (path.is_dir(), stat.S_IMODE(path.stat().st_mode))
                for path in [*tmp_path.rglob("*")]
                if path != tmp_path
            }
    finally:
        os.umask(before)
    assert modes == {(True, 0o700), (False, 0o600)}


def _opening_says(folder: Path, text: str, kind: type[StorageError] = StorageOff) -> None:
    with closing(sqlite_storage(folder)) as storage, pytest.raises(kind, match=text):
        storage.open(PLACE, Time())


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes on Windows")
def test_sqlite_folder_that_others_may_write_to_is_not_used(folder: Path, storage: SQLiteStorage) -> None:
    """Whoever can write to a storage can show things to its readers."""
    storage.close()
    inner = next(folder.iterdir())
    for path, usual in ((folder, 0o700), (inner, 0o700), (file_of(folder), 0o600)):
        path.chmod(usual | 0o020)
        _opening_says(folder, rf"{path.name} is writable by others .*expected {usual:o}: chmod it")
        path.chmod(usual)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_sqlite_folder_or_file_of_another_user_is_not_used(folder: Path, storage: SQLiteStorage) -> None:
    """What somebody else owns, somebody else can change."""
    storage.close()
    for path in (folder, next(folder.iterdir()), file_of(folder)):
        os.chown(path, 12345, -1)
        _opening_says(folder, rf"{path.name} belongs to another user \(12345; the current user is 0\)")
        os.chown(path, 0, -1)


@contextmanager
def _as_nobody() -> Generator[None]:
    """Root may do everything, so that it is somebody else for a while."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes on Windows")
@pytest.mark.parametrize("mode", [0o400, 0o000], ids=["read-only", "unreadable"])
def test_sqlite_file_without_the_right_to_it_is_not_used(clock: Time, mode: int) -> None:
    """That does not pass by itself: the storage is off, and is not asked again and again."""
    with tempfile.TemporaryDirectory(dir="/tmp") as outer:  # pytest's own folders are root's alone
        os.chmod(outer, 0o777)
        with _as_nobody():
            folder = Path(outer) / "cache"
            with closing(sqlite_storage(folder)) as first:
                epoch = first.open(PLACE, clock).epoch
                assert first.commit(batch(epoch, row("1"))).number == 1
            file_of(folder).chmod(mode)
            with closing(sqlite_storage(folder)) as storage:
                with pytest.raises(StorageOff, match="or a file in it, cannot be written to; use another"):
                    storage.commit(batch(storage.open(PLACE, clock).epoch, row("2")))


def test_sqlite_link_instead_of_a_file_is_not_followed(folder: Path, storage: SQLiteStorage, tmp_path: Path) -> None:
    """Neither for the folder of a namespace nor for a file in it; nothing is written to where it leads."""
    storage.close()
    target = tmp_path / "target"
    file = file_of(folder)
    for path in (file, file.with_name(file.name + "-wal"), file.parent):
        if path.exists():
            path.rename(target)
        else:
            target.write_bytes(b"")
        path.symlink_to(target)
        _opening_says(folder, rf"{path.name} is a link; expected a f.* of the cache")
        path.unlink()
        target.rename(path)
    assert not target.exists()


def test_sqlite_path_that_leads_through_a_link_is_the_users_matter(tmp_path: Path, clock: Time) -> None:
    """The folder that was given may be a link, as temporary folders are on some systems."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with closing(sqlite_storage(tmp_path / "link" / "cache")) as storage:
        assert storage.open(PLACE, clock).number == 0


def test_sqlite_file_instead_of_the_folder(folder: Path) -> None:
    """`path` names a folder; a file there is left alone."""
    folder.write_text("mine")
    _opening_says(folder, "cache is not a folder; expected a folder of the cache")
    assert folder.read_text() == "mine"


def test_sqlite_folder_that_may_not_be_made(tmp_path: Path) -> None:
    """What the system refuses, it will refuse later too."""
    (tmp_path / "file").write_text("")
    _opening_says(tmp_path / "file" / "cache", "Not a directory; use a folder that this user may write to")


def test_sqlite_link_that_leads_nowhere(tmp_path: Path) -> None:
    """The text names the link."""
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    _opening_says(tmp_path / "link", "link cannot be created: it is a broken link", StorageDown)


@pytest.mark.skipif(sys.platform != "linux", reason="the table of mounts is Linux's")
@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs", "ext4"])
def test_sqlite_network_file_systems_are_not_used(tmp_path: Path, kind: str) -> None:
    """Two machines would destroy each other's data; the text says what to use instead."""
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 0:99 / /else rw - nfs4 server:/else rw\n"
        f"23 1 {os.major(device)}:{os.minor(device)} / /home rw,relatime shared:1 - {kind} server:/home rw\n"
    )
    epochs = Epochs(str(tmp_path / "cache"), "0" * 32, mounts=str(mounts))
    if kind == "ext4":
        epochs.prepare()
    else:
        with pytest.raises(StorageOff, match=rf"network file system \({kind}\).*restencil.ValkeyStorage"):
            epochs.prepare()


def test_sqlite_newer_format_is_left_alone(folder: Path, storage: SQLiteStorage, clock: Time) -> None:
    """The text names both numbers and the way out; nothing is written or moved."""
    storage.close()
    file = file_of(folder)
    with closing(sqlite3.connect(file)) as newer:
        newer.execute("PRAGMA user_version = 7")
    before = file.read_bytes()
    _opening_says(folder, "has format 7, but this version of restencil supports 3; use another path, or install")
    assert file.read_bytes() == before
    assert {path.name for path in file.parent.iterdir()} == {file.name, ".lock"}


@pytest.mark.parametrize("damage", ["older", "foreign", "text", "short", "no table"])
def test_sqlite_file_that_cannot_be_used_has_a_successor(
    folder: Path, storage: SQLiteStorage, clock: Time, damage: str
) -> None:
    """What is of an older format, no database, or damaged is set aside; an empty epoch begins, which is no reset."""
    storage.commit(batch(epoch_of(storage), *(row(str(n)) for n in range(1000))))
    storage.close()
    file = file_of(folder)
    if damage == "text":
        file.write_bytes(b"no database, but a text that somebody put there" * 100)
    elif damage == "short":
        file.write_bytes(file.read_bytes()[:10_000])
    else:
        with closing(sqlite3.connect(file)) as theirs:
            if damage == "no table":
                theirs.execute("DROP TABLE info")
            else:
                theirs.execute("PRAGMA user_version = 0")
                theirs.execute("PRAGMA application_id = " + ("1" if damage == "foreign" else str(0x52535443)))
    with closing(sqlite_storage(folder)) as later:
        opened = later.open(PLACE, clock)
        if damage == "short":  # the pages that are gone are met by who reads them
            with suppress(StorageCorrupt):
                later.load([("A", str(n)) for n in range(1000)])
            opened = later.open(PLACE, clock)
        assert (opened.epoch > int(file.stem), opened.reset, opened.number) == (True, 0, 0)
        assert later.load([("A", "1")]).rows == []
    assert not file.exists()
    assert file.with_suffix(".corrupt").exists()


def test_sqlite_damaged_file_is_met_while_it_is_open(
    folder: Path, storage: SQLiteStorage, other: SQLiteStorage
) -> None:
    """The read that meets it says so; after that all processes go on in the successor, and a reset takes it away."""
    before = epoch_of(storage)
    storage.commit(batch(before, *(row(str(n), value=b"x" * 400) for n in range(2000))))
    storage.close()
    other.close()
    file = file_of(folder)
    with file.open("r+b") as pages:
        for page in range(3, file.stat().st_size // 4096):
            pages.seek(page * 4096)
            pages.write(random.Random(page).randbytes(4096))
    with pytest.raises(StorageCorrupt, match="was damaged .*renamed, and a new file was created"):
        storage.load([("A", str(n)) for n in range(2000)])
    assert storage.load([("A", "1")]).rows == []
    changes = storage.changes(1, 0)
    assert changes.lost and changes.epoch > before and changes.reset == 0
    assert other.changes(1, 0)[:3] == changes[:3]
    assert [path.stem for path in folder.glob("*/*.corrupt")] == [str(before)]
    storage.reset()
    storage.close()
    assert list(folder.glob("*/*.corrupt*")) == []


def test_sqlite_of_damaged_files_one_is_kept(folder: Path, storage: SQLiteStorage, clock: Time) -> None:
    """However often it happens, the folder does not fill."""
    last = file_of(folder)
    for _ in range(3):
        storage.close()
        last = file_of(folder)
        last.write_bytes(b"nonsense" * 1000)
        storage.open(PLACE, clock)
    storage.changes(0, 0)
    assert [path.name for path in folder.glob("*/*.corrupt*")] == [f"{last.stem}.corrupt"]
    assert len(list(folder.glob("*/*.db"))) == 1


@pytest.mark.parametrize("all_of_it", [True, False])
def test_sqlite_folder_that_was_deleted_is_made_again(
    folder: Path, storage: SQLiteStorage, other: SQLiteStorage, all_of_it: bool
) -> None:
    """The next poll finds that the file is gone: a new epoch, which is a break and no reset."""
    before = epoch_of(storage)
    storage.commit(batch(before, row("1")))
    assert epoch_of(other) == before
    for asked in (storage, other):  # long after the folder came about, one look at it is enough
        os.utime(file_of(folder).parent, (1, 1))
        assert asked.changes(1, 0)[:3] == asked.changes(1, 0)[:3] == (before, 0, 1)
    if all_of_it:
        shutil.rmtree(folder)
    else:
        file_of(folder).unlink()
    changes = storage.changes(1, 0)
    assert changes.lost and changes.epoch > before and (changes.reset, changes.number) == (0, 0)
    assert storage.commit(batch(before, row("2"))).epoch == changes.epoch
    assert storage.commit(batch(changes.epoch, row("2"))).number == 1
    assert other.changes(1, 0).epoch == changes.epoch
    assert revs_of(other.load([("A", "1"), ("A", "2")])) == {"2": 1}


def test_sqlite_deleted_file_is_missed_by_a_commit_too(folder: Path, storage: SQLiteStorage) -> None:
    """What would go into a file without a name comes too late."""
    before = epoch_of(storage)
    shutil.rmtree(folder)
    outcome = storage.commit(batch(before, row("1")))
    assert (outcome.number, outcome.epoch > before) == (0, True)


@contextmanager
def _a_small_disk(path: Path, size: str) -> Generator[Path]:
    path.mkdir(mode=0o700)
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root mounts a disk")
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(path)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a disk cannot be mounted here")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def test_sqlite_disk_that_is_full(tmp_path: Path, clock: Time) -> None:
    """A commit is taken back and the storage is down; reads go on, and a reset makes room at once."""
    with _a_small_disk(tmp_path / "disk", "1500k") as disk, closing(sqlite_storage(disk / "cache")) as storage:
        epoch = storage.open(PLACE, clock).epoch
        storage.commit(batch(epoch, row("first")))

        def fill() -> None:
            for turn in range(100):
                storage.commit(batch(epoch, *(row(f"{turn}-{n}", value=b"x" * 1000) for n in range(20))))

        with pytest.raises(StorageDown, match="full|disk"):
            fill()
        number = storage.changes(0, 0).number
        assert storage.load([("A", "first"), ("A", f"{number}-0")]).number == number
        with suppress(OSError):
            (disk / "filler").write_bytes(b"x" * 2_000_000)
        later = storage.reset()
        (disk / "filler").unlink()
        assert storage.open(PLACE, clock).reset >= later
        assert storage.load([("A", "first")]).rows == []
        assert storage.commit(batch(epoch_of(storage), row("1"))).number == 1


def test_sqlite_file_that_may_not_grow_evicts_a_tenth(folder: Path, clock: Time) -> None:
    """A full disk makes a commit drop what was not used for longest, and try once more."""

    with opened_connections() as connections, closing(sqlite_storage(folder)) as storage:
        epoch = storage.open(PLACE, clock).epoch
        connections[-1].execute("PRAGMA max_page_count = 60")
        for turn in range(30):
            clock.now += HOUR
            assert storage.commit(batch(epoch, *(row(f"{turn}-{n}", value=b"x" * 1000) for n in range(10)))).number
        assert len(storage.load([("A", f"29-{n}") for n in range(10)]).rows) == 10
        assert storage.load([("A", f"0-{n}") for n in range(10)]).rows == []
        gone = [pk for entry in storage.changes(0, 0).entries for pk in entry.gone.get("A", [])]
        assert gone and all(storage.load([("A", pk)]).rows == [] for pk in gone)
        assert storage.load([], [], [], ["A"]).tables["A"].incomplete


def test_sqlite_pages_overwritten_while_processes_run(folder: Path, storage: SQLiteStorage) -> None:
    """Whatever is in the file, no process raises anything but a StorageError, and in the end all share one epoch."""
    storage.commit(batch(epoch_of(storage), *(row(str(n), value=b"x" * 500) for n in range(300))))
    processes = [start("roam", folder, 1) for _ in range(3)]
    chance = random.Random(7)
    end = time.monotonic() + 0.9
    while time.monotonic() < end:
        time.sleep(0.1)
        file = file_of(folder)
        # Not through a descriptor that is closed here: that would drop no lock of theirs, they are other processes.
        with suppress(FileNotFoundError), file.open("r+b") as pages:
            pages.seek(4096 * chance.randrange(max(1, file.stat().st_size // 4096)))
            pages.write(chance.randbytes(4096))
    ends = [finish(process).split() for process in processes]
    assert len({epoch for _, epoch, _ in ends}) <= 2  # one of them may have met the last damage alone, at its end
    numbers: list[int] = []
    while not numbers:
        with suppress(StorageCorrupt):  # where nobody has met the last damage yet
            numbers.append(storage.commit(batch(epoch_of(storage), row("new"))).number)
    assert numbers[0]
    assert len(list(folder.glob("*/*.corrupt"))) <= 1


# Epochs


def test_sqlite_processes_that_begin_together_find_one_epoch(folder: Path, clock: Time) -> None:
    """The first file is made once, however many look for it."""
    storages = [sqlite_storage(folder) for _ in range(8)]
    barrier = threading.Barrier(len(storages))

    def begin(storage: SQLiteStorage) -> int:
        barrier.wait()
        return storage.open(PLACE, clock).epoch

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(begin, storages))) == 1
    for storage in storages:
        storage.close()


def test_sqlite_reset_leaves_the_file_of_the_new_epoch_alone(
    folder: Path, storage: SQLiteStorage, other: SQLiteStorage
) -> None:
    """That of the epoch before goes, and what is committed to it late makes none."""
    before = epoch_of(storage)
    other.commit(batch(before, row("1")))
    after = storage.reset()
    other.commit(batch(before, row("2")))
    storage.close()
    other.close()
    assert [path.name for path in folder.glob("*/*.db*")] == [f"{after}.db"]


def test_sqlite_reset_does_not_wait_for_a_commit(folder: Path, storage: SQLiteStorage) -> None:
    """Whoever logs out is not held up by who writes."""
    before = epoch_of(storage)
    with closing(sqlite3.connect(file_of(folder), isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor() as threads:
            late = threads.submit(storage.commit, batch(before, row("late")))
            time.sleep(0.1)
            after = storage.reset()
            holder.execute("ROLLBACK")
    assert late.result().epoch in (before, after)
    assert storage.load([("A", "late")])[:3] == (after, 0, [])


def test_sqlite_what_makers_left_behind_goes(folder: Path, storage: SQLiteStorage) -> None:
    """Files without their name, and those of older epochs, are taken away by who opens the folder."""
    inner = file_of(folder).parent
    old, new = inner / ".new-1-abc", inner / ".new-2-abc"
    for path in (old, new, inner / "5.db", inner / "5.db-wal", inner / "notes.txt"):
        path.write_bytes(b"")
    os.utime(old, (1, 1))
    storage.changes(0, 0)
    assert {path.name for path in inner.iterdir() if not path.name.startswith(file_of(folder).name)} == {
        ".lock",
        ".new-2-abc",
        "notes.txt",
    }


def test_sqlite_name_never_comes_again(folder: Path, storage: SQLiteStorage) -> None:
    """An epoch is higher than the one before it, also where the clock was far ahead."""
    before = file_of(folder)
    far = int(before.stem) + 10**12
    storage.close()
    before.rename(before.with_name(f"{far}.db"))
    assert storage.changes(0, 0).epoch == far
    assert storage.reset() == far + 1
    file_of(folder).unlink()
    shutil.rmtree(folder)
    assert storage.changes(0, 0).epoch >= far + 1


# Leases


def test_sqlite_lease_of_before_the_clock_was_set_back_ends(folder: Path, storage: SQLiteStorage) -> None:
    """One that would last for more than ten minutes was taken by a clock that was wrong."""
    storage.lease("k", "a", 3_000)
    with closing(sqlite3.connect(file_of(folder))) as file, file:
        file.execute("UPDATE lease SET until = until + 3600000")
    assert storage.lease("k", "b", 3_000)


# Bounds


def _filled(storage: SQLiteStorage, clock: Time, hours: int, rows: int = 40) -> int:
    epoch = epoch_of(storage)
    for hour in range(hours):
        clock.now += HOUR
        times = Meta(clock.now, clock.now, clock.now + 100 * HOUR)
        batched = batch(epoch, *(row(f"{hour}-{n}", value=b"x" * 1000, times=times) for n in range(rows)))
        storage.commit(batched._replace(results=[result(f"{hour}", times=times)]))
    return epoch


def _trimmed(storage: SQLiteStorage) -> int:
    dropped = 0
    while count := storage.trim():
        dropped += count
    return dropped


def test_sqlite_beyond_its_bytes_it_drops_what_was_not_used_for_longest(folder: Path, clock: Time) -> None:
    """Down to 90 % of the bound; what is used keeps its place, and the log names what is gone."""
    with closing(sqlite_storage(folder, max_bytes=500_000)) as storage:
        storage.open(PLACE, clock)
        epoch = _filled(storage, clock, 20)
        assert storage.stats().bytes > 500_000
        first = [("A", f"0-{n}") for n in range(40)]
        clock.now += HOUR
        assert storage.commit(batch(epoch, used=[*first, "0"])).number == 0
        assert _trimmed(storage) > 100
        assert 350_000 < storage.stats().bytes <= 450_000
        assert len(storage.load([*first, ("A", "19-0")], ["0", "19"]).rows) == 41
        assert storage.load([("A", f"1-{n}") for n in range(40)], ["1"])[2:4] == ([], [])
        entries = storage.changes(20, 0).entries
        gone = {pk for entry in entries for pk in entry.gone.get("A", [])}
        assert gone >= {f"1-{n}" for n in range(40)} and {entry.writer for entry in entries} == {""}
        assert "1" in {key for entry in entries for key in entry.keys}
        info = storage.load([], [], [], ["A"]).tables["A"]
        assert info.incomplete and info.version > 20

        def is_small() -> bool:
            """Free pages go back to the disk, by each call for some time only, which is short on a busy machine."""
            storage.trim()
            storage.close()
            return file_of(folder).stat().st_size < 520_000

        eventually(is_small)


def test_sqlite_results_that_are_long_stale_go_first(folder: Path, clock: Time) -> None:
    """Stale for longer than their lifetime and an hour: no reader misses them."""
    with closing(sqlite_storage(folder, max_bytes=300_000)) as storage:
        epoch = storage.open(PLACE, clock).epoch
        now = clock.now
        dead = [result(f"d{n}", b"x" * 3000, Meta(now - 6 * HOUR, now - 6 * HOUR, now - 4 * HOUR)) for n in range(90)]
        stale = [result(f"s{n}", b"x" * 100, Meta(now - 6 * HOUR, now - 6 * HOUR, now - HOUR)) for n in range(50)]
        storage.commit(batch(epoch, *(row(str(n)) for n in range(50)), results=[*dead, *stale]))
        assert storage.stats().bytes > 300_000
        assert 0 < _trimmed(storage) <= 90
        assert len(storage.load([("A", str(n)) for n in range(50)]).rows) == 50
        assert len(storage.load([], [f"s{n}" for n in range(50)]).results) == 50


def test_sqlite_what_was_not_used_for_max_age_goes(folder: Path, clock: Time) -> None:
    """Whatever the size; deletions are kept for an hour at least, and index entries go with their rows."""
    with closing(sqlite_storage(folder, max_age=HOUR // 2)) as storage:
        epoch = storage.open(PLACE, clock).epoch
        index = {("A", "slug", "one"): "1", ("A", "slug", "two"): "2"}
        storage.commit(batch(epoch, row("1"), row("2"), results=[result("k")], index=index))
        clock.now += 3 * HOUR
        times = Meta(clock.now, clock.now, clock.now)
        storage.commit(batch(epoch, row("3", value=None, times=times), used=[("A", "2")]))
        dropped: list[int] = []

        def left() -> Loaded:
            """What is there after one more call, which has 50 ms: on a busy machine that is not enough for all."""
            dropped.append(storage.trim())
            return storage.load([("A", "1"), ("A", "2"), ("A", "3")], ["k"], list(index))

        eventually(lambda: left().index == {("A", "slug", "two"): "2"})
        loaded = left()
        assert ([each.pk for each in loaded.rows], loaded.results, sum(dropped)) == (["2", "3"], [], 2)
        clock.now += 3 * HOUR
        eventually(lambda: left().rows == [])
        assert sum(dropped) == 4


def test_sqlite_one_process_trims_at_a_time(folder: Path, clock: Time) -> None:
    """Another one may begin ten seconds later."""
    first, second = (sqlite_storage(folder, max_bytes=100_000) for _ in range(2))
    with closing(first), closing(second):
        first.open(PLACE, clock)
        second.open(PLACE, clock)
        _filled(first, clock, 30)
        assert first.trim() > 0
        assert second.trim() == 0


def test_sqlite_trim_is_called_until_nothing_is_left_to_do(folder: Path, clock: Time) -> None:
    """A call ends after some transactions of 500 rows, about 50 ms, and says how many places it dropped."""
    with closing(sqlite_storage(folder, max_bytes=2_000_000)) as storage:
        storage.open(PLACE, clock)
        _filled(storage, clock, 3, 3_000)
        before = storage.stats()
        dropped = sum(iter(storage.trim, 0))
        after = storage.stats()
        assert after.bytes <= 2_000_000
        assert dropped == before.rows + before.results - after.rows - after.results


# Processes that go


def _is_whole(folder: Path) -> int:
    """Opens the folder as the next process does, and sees that each commit is there with all of it; how many are."""
    with closing(sqlite_storage(folder)) as storage:
        storage.open(PLACE, Time())
        loaded = storage.load([("A", "1"), ("A", "2")], ["k"], [("A", "f", "v")])
        changes = storage.changes(0, 0)
        assert len(changes.entries) == changes.number and not changes.lost
        if changes.number:
            assert revs_of(loaded) == {"1": changes.number, "2": changes.number}
            assert [each.rev for each in loaded.results] == [changes.number] and len(loaded.index) == 1
        else:
            assert loaded[2:5] == ([], [], {})
        file = file_of(folder)
    with closing(sqlite3.connect(file)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return changes.number


@pytest.mark.parametrize("step", [31, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("work", ["first", "again", "reset"])
def test_sqlite_process_killed_at_any_statement_leaves_whole_commits(tmp_path: Path, work: str, step: int) -> None:
    """Before and after each statement, of a first file, of one that is there, and of one that a reset left empty."""
    statement = 1
    while True:
        folder = tmp_path / f"{statement}"
        if work != "first":
            finish(start("crash", folder, 0, "first"))
        process = start("crash", folder, statement, work)
        out, errors = process.communicate(timeout=PATIENCE)
        if out.startswith("whole"):
            assert statement > 10
            break
        assert process.returncode == -signal.SIGKILL, errors
        assert _is_whole(folder) in ((0, 1) if work != "again" else (1, 2))
        statement += step
