"""The rules of the storage protocol, for checking storages of users."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from math import inf
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from ..base.values import Meta
from ..storage.protocol import Batch, Cell, Entry, Mark, Place, Spared, StoredResult, StoredRow, TableInfo, leases_of

if TYPE_CHECKING:
    from ..storage.protocol import IndexEntry, Loaded, Outcome, Storage

_RULES: Final[list[tuple[str, Callable[[_Bench], object]]]] = []
_ROWS: Final = 1_200
_PLENTY: Final = 5_000
_SHOWN: Final = 500
_UNKNOWN: Final = TableInfo(0, False)
_TIMES: Final = Meta(1_000, 1_040, 61_040)


def check_storage(make: Callable[[], Storage]) -> None:
    """Check all rules of the storage protocol with your own storage.

        check_storage(lambda: SQLiteStorage(folder, principal=None))

    `make()` returns a new storage over the same data for each call. Each rule opens a place of its own, so existing
    data is not changed; the data that rules write is not removed. The check takes a few seconds. Raises AssertionError
    for the first rule that is broken, with the expected and the found values.
    """
    bench = _Bench(make)
    try:
        for sentence, rule in _RULES:
            bench.begin()
            try:
                rule(bench)
            except AssertionError as error:
                raise AssertionError(f"{sentence} But {error}") from None
    finally:
        bench.close()


class _Bench:
    """Two storages over the same data, opened at a new place for each rule."""

    def __init__(self, make: Callable[[], Storage]) -> None:
        self._make = make
        self._storages: list[Storage] = []

    def begin(self) -> None:
        """Open two storages at a new place."""
        self.close()
        self.place = f"https://{uuid4().hex}.test"
        self.one = self.opened()
        self.other = self.opened()

    def opened(self, place: str = "") -> Storage:
        """Return another storage, opened at the place."""
        storage = self._make()
        self._storages.append(storage)
        opened = storage.open(place or self.place, _now)
        self.epoch: int = opened.epoch
        self.offset = opened.offset
        return storage

    def close(self) -> None:
        """Close all storages."""
        for storage in self._storages:
            storage.close()
        self._storages.clear()

    def batch(self, *rows: StoredRow, **members: Any) -> Batch:
        """Return a batch with the given rows and members, and an entry that lists them."""
        changed: dict[str, list[str]] = {}
        for row in rows:
            changed.setdefault(row.table, []).append(row.pk)
        keys = [result.key for result in members.get("results", ())]
        entry = Entry(0, "checker", None, changed, {}, {}, keys, False)
        empty = Batch(self.epoch, [*rows], [], [], {}, {}, [], [], [], [], entry)
        return empty._replace(**members)

    def commit(self, *rows: StoredRow, **members: Any) -> int:
        """Commit a batch and return the number of the commit."""
        outcome = self.one.commit(self.batch(*rows, **members))
        _same("the commit is neither moved nor fenced", (outcome.moved, outcome.epoch), (None, self.epoch))
        return outcome.number

    def pks(self, *pks: str) -> list[str]:
        """Return those of the primary keys that the other storage finds in the table A."""
        return [row.pk for row in self.load(*(("A", pk) for pk in pks)).rows]

    def load(
        self,
        *cells: Cell,
        keys: Iterable[str] = (),
        index: Iterable[IndexEntry] = (),
        tables: Iterable[str] = (),
    ) -> Loaded:
        """Load from the other storage."""
        return self.other.load(cells, [*keys], [*index], [*tables])

    def table(self, table: str = "A") -> TableInfo:
        """Return the information about a table that the other storage loads."""
        return self.load(tables=[table]).tables.get(table, _UNKNOWN)

    def lacks(self, **tables: bool) -> None:
        """Check which tables are incomplete; a storage may always report all tables as incomplete."""
        self.commit(listed=["listed"])
        found = {table: self.table(table).incomplete for table in tables}
        always = self.table("listed").incomplete
        _same("incomplete", found, dict.fromkeys(tables, True) if always else tables)

    def scan(self, table: str | None, limit: int) -> list[list[str]]:
        """Return the pages of a scan of a table, or of all results for None."""
        pages: list[list[str]] = []
        after: str | None = None
        while not pages or after is not None:
            page = self.other.scan(table, after, limit)
            pages.append(page.items)
            after = page.next
        return pages


def _now() -> float:
    return time.time() * 1000


def _row(pk: str, rev: int = 0, value: bytes | None = b'{"id":1}', table: str = "A", shape: str = "aa") -> StoredRow:
    return StoredRow(table, pk, rev, 0, _TIMES, shape, value)


def _result(
    key: str, date: float = 1_040, value: bytes | None = b'["1"]', *, invalidated: bool = False
) -> StoredResult:
    return StoredResult(key, 0, _TIMES._replace(date=date), "bb", invalidated, value)


def _same(what: str, found: Any, expected: Any) -> None:
    _holds(bool(found == expected), f"{what}: expected {_brief(expected)}, found {_brief(found)}")


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _holds(fact: bool, otherwise: str) -> None:
    if not fact:
        raise AssertionError(otherwise)


def _moved(outcome: Outcome, what: str) -> Loaded:
    """Return the rows and tables that a batch conflicts with. Raises AssertionError if the batch was written."""
    if outcome.moved is None:
        raise AssertionError(f"{what} was written over what is there, as number {outcome.number}")
    _same("the number", outcome.number, 0)
    return outcome.moved


def _rule(function: Callable[[_Bench], object]) -> Callable[[_Bench], object]:
    _RULES.append((str(function.__doc__), function))
    return function


# -- open, load, scan --------------------------------------------------------------------------------------------------


@_rule
def _has_attributes(bench: _Bench) -> None:
    """The attributes of a storage are whether loads are local, whether it is writable, and times in ms."""
    for name in ("inline", "writable"):
        _same(f"the type of {name}", type(getattr(bench.one, name)), bool)
    for name in ("write_behind", "poll", "max_age", "lease_wait"):
        value: Any = getattr(bench.one, name)
        _holds(isinstance(value, int | float) and value >= 0, f"{name} is {value!r}")


@_rule
def _begins_empty(bench: _Bench) -> None:
    """A namespace that is opened for the first time is empty, and has an epoch from 1 on."""
    opened = bench.one.open(bench.place, _now)
    _holds(opened.epoch >= 1, f"its epoch is {opened.epoch}")
    _same("its number", opened.number, 0)
    loaded = bench.load(("A", "1"), keys=["k"], index=[("A", "f", "x")], tables=["A"])
    _same("what is there", (loaded.rows, loaded.results, loaded.index), ([], [], {}))
    _same("its table", loaded.tables.get("A", _UNKNOWN), _UNKNOWN)


@_rule
def _is_apart(bench: _Bench) -> None:
    """Storages opened at the same place share a namespace; those at another place have another."""
    bench.commit(_row("1"))
    _same("in the same place", bench.pks("1"), ["1"])
    elsewhere = bench.opened(bench.place + "/elsewhere")
    _same("elsewhere", elsewhere.load([("A", "1")]).rows, [])


@_rule
def _gives_back(bench: _Bench) -> None:
    """Loaded data equals committed data: strings, times, JSON, tombstones, results, index entries."""
    forever = Meta(1.5, 2.25, inf)
    odd = "ä/\\ \" ' : % \u2028 🌍 {}"
    rows = [
        _row("1", value='{"a":"ä🌍"}'.encode()),
        _row("2", value=None),
        _row(odd, table="[A];" + odd, shape="", value=b"[]")._replace(times=forever),
    ]
    results = [
        _result("GET https://x/" + odd)._replace(times=forever, shape="*"),
        _result("null", value=b"null"),
        _result("none", value=None, invalidated=True),
    ]
    index: dict[IndexEntry, str] = {("A", "slug", odd): odd, ("A", "slug", "y"): "2"}
    bench.commit(*rows, results=results, index=index)
    places = [(row.table, row.pk) for row in rows]
    loaded = bench.load(*places, keys=[result.key for result in results], index=index, tables=["A"])
    found = sorted(row._replace(born=0) for row in loaded.rows)
    _same("rows", found, sorted(row._replace(rev=1) for row in rows))
    _same("results", sorted(loaded.results), sorted(result._replace(rev=1) for result in results))
    _same("index entries", loaded.index, index)
    _same("epoch and number", (loaded.epoch, loaded.number), (bench.epoch, 1))


@_rule
def _leaves_out(bench: _Bench) -> None:
    """Absent rows, results and index entries are left out of loaded data."""
    bench.commit(_row("1"), results=[_result("k")], index={("A", "f", "x"): "1"})
    loaded = bench.load(("A", "2"), ("B", "1"), keys=["j"], index=[("A", "f", "y"), ("A", "g", "x")])
    _same("what is there", (loaded.rows, loaded.results, loaded.index), ([], [], {}))


@_rule
def _loads_plenty(bench: _Bench) -> None:
    """One call can load 5,000 places."""
    bench.commit(_row("7"))
    _same("rows", bench.pks(*map(str, range(_PLENTY))), ["7"])


@_rule
def _scans_in_order(bench: _Bench) -> None:
    """The primary keys of a table come page by page by arrival, with tombstones; a changed row keeps its position."""
    number = bench.commit(_row("c"), _row("a", value=None), _row("b"))
    bench.commit(_row("0"), _row("B", table="B"))
    bench.commit(_row("c", number, b'{"id":2}'))
    _same("pages", bench.scan("A", 3), [["c", "a", "b"], ["0"]])
    _same("one page", bench.scan("A", 4), [["c", "a", "b", "0"]])
    _same("another table", bench.scan("C", 3), [[]])
    bench.commit(drop=[("A", "c")])
    bench.commit(_row("c"))
    _same("a row that came again", bench.scan("A", 9), [["a", "b", "0", "c"]])
    rows = {row.pk: row.born for row in bench.load(*(("A", pk) for pk in "ab0c")).rows}
    _same("by `born`", sorted(rows, key=lambda pk: rows[pk]), ["a", "b", "0", "c"])


@_rule
def _scans_keys(bench: _Bench) -> None:
    """The keys of all results, including invalidated ones, come page by page, each once."""
    keys = [f"GET https://x/{number}" for number in range(5)]
    bench.commit(results=[_result(key, value=None, invalidated=True) for key in keys])
    pages = bench.scan(None, 2)
    _same("keys", sorted(key for page in pages for key in page), keys)
    _same("pages", [len(page) for page in pages if page], [2, 2, 1])


# -- commit ------------------------------------------------------------------------------------------------------------


@_rule
def _numbers_commits(bench: _Bench) -> None:
    """Commits of all storages of a namespace are numbered 1, 2, 3; the number is the rev of what they write."""
    _same("the first", bench.commit(_row("1")), 1)
    _same("the second", bench.other.commit(bench.batch(_row("2"))).number, 2)
    _same("the third", bench.commit(_row("1", 1, b"{}"), results=[_result("k")]), 3)
    loaded = bench.load(("A", "1"), ("A", "2"), keys=["k"])
    _same("revs", {row.pk: row.rev for row in loaded.rows}, {"1": 3, "2": 2})
    _same("the rev of a result", [result.rev for result in loaded.results], [3])
    _same("the number of what is loaded", loaded.number, 3)


@_rule
def _applies_once(bench: _Bench) -> None:
    """A commit repeated under its id returns its first number; one with an older id is not written."""
    first = _with_id(bench.batch(_row("1"), drop=[("A", "2")]), 1)
    _same("the number", bench.one.commit(first).number, 1)
    _same("the number of the same commit, sent again", bench.one.commit(first).number, 1)
    _same("the number of the next commit", bench.other.commit(_with_id(bench.batch(_row("2")), 2)).number, 2)
    _same("the outcome of a commit that comes late", bench.one.commit(first), (0, bench.epoch, None))
    _same("the rows that are there", bench.pks("1", "2"), ["1", "2"])
    _same("the ids in the log", [entry.commit_id for entry in bench.other.changes(0, 0).entries], [1, 2])


@_rule
def _marks(bench: _Bench) -> None:
    """A mark has the number of the commit that set it last, whether or not what it marks is stored."""
    marks: tuple[Mark, ...] = (
        ("row", "A", "1"),
        ("row", "A", "9"),
        ("table", "A:b", ""),
        ("key", "k", ""),
        ("path", "/x", ""),
    )
    bench.commit(_row("1")._replace(whole_rev=7), _row("2"), results=[_result("k")._replace(requested_rev=5)])
    before = bench.load(("A", "1"), ("A", "2"), keys=["k"])
    _same("whole_rev", [row.whole_rev for row in before.rows], [7, -1])
    _same("requested_rev", [result.requested_rev for result in before.results], [5])
    entry = bench.batch().entry._replace(stale=marks)
    _same("the number", bench.one.commit(bench.batch(stale=marks, entry=entry)).number, 2)
    _same("the marks in the log", [found.stale for found in bench.other.changes(1, 0).entries], [marks])
    bench.commit(drop=[("A", "1")])
    bench.commit(_row("1"), stale=marks[3:4])
    found = bench.other.load([("A", "1"), ("A", "2")], ["k"], [], [], [*marks, ("path", "/y", "")])
    _same("the marks", dict(found.marks), {**dict.fromkeys(marks, 2), marks[3]: 4})
    _same("stale_rev of rows", [row.stale_rev for row in found.rows], [2, 0])
    _same("stale_rev of a result", [result.stale_rev for result in found.results], [4])
    _same("the rev of a row that was marked", [row.rev for row in found.rows], [4, 1])
    absent = bench.other.load([("A", "9")], [], [], [], [])
    _same("the mark of a row that is absent", dict(absent.marks), {("row", "A", "9"): 2})
    _spares(bench)


def _spares(bench: _Bench) -> None:
    """Check that spared data gets a mark of its own, unless a later commit than the known one has marked it."""
    path, spared = ("path", "/z", ""), ("spared", "k", "")

    def mark(known: int | None) -> int | None:
        certain = {} if known is None else {spared: Spared((path,), known)}
        entry = bench.batch().entry._replace(stale=(path,))
        bench.one.commit(bench.batch(stale=(path,), spared=certain, entry=entry))
        return bench.other.load([], [], [], [], [spared]).marks.get(spared)

    _same("what is spared, and was not marked before", mark(4), 5)
    _same("what is spared again", mark(0), 6)
    _same("what another commit does not spare", mark(None), 6)
    _same("what is spared, and was marked since", mark(6), 6)


def _with_id(batch: Batch, id: int) -> Batch:
    return batch._replace(entry=batch.entry._replace(commit_id=id))


@_rule
def _moves_rows(bench: _Bench) -> None:
    """A row of another rev moves the whole batch: nothing is written, and the stored row is returned."""
    bench.commit(_row("1"), _row("2"))
    bench.commit(_row("2", 1, b"{}"))
    for row in (_row("1"), _row("2", 1), _row("1", 7)):
        outcome = bench.one.commit(bench.batch(_row("new"), row, results=[_result("k")], drop=[("A", "2")]))
        moved = _moved(outcome, repr(row))
        _same("what is there", [(found.pk, found.rev) for found in moved.rows], [(row.pk, int(row.pk))])
        _same("its value", [found.value for found in moved.rows], [{"1": b'{"id":1}', "2": b"{}"}[row.pk]])
    loaded = bench.load(("A", "new"), keys=["k"])
    _same("what was written", (loaded.rows, loaded.results, loaded.number), ([], [], 2))


@_rule
def _reports_what_is_gone(bench: _Bench) -> None:
    """A row that was dropped moves the batch; it is returned with rev 0."""
    bench.commit(_row("1"))
    bench.commit(drop=[("A", "1")])
    moved = _moved(bench.one.commit(bench.batch(_row("1", 1))), "a row of rev 1")
    _same("what is there", [(row.table, row.pk, row.rev) for row in moved.rows], [("A", "1", 0)])


@_rule
def _moves_tables(bench: _Bench) -> None:
    """A table of another version moves the batch; its version grows when rows are added or dropped, not changed."""
    bench.commit(_row("1"))
    first = bench.table().version
    _holds(first > 0, "a table with a row has version 0")
    bench.commit(_row("1", 1, None))
    _same("the version after a change", bench.table().version, first)
    bench.commit(_row("2"))
    second = bench.table().version
    _holds(second > first, f"the version was {first} and is {second}, though a row came in")
    outcome = bench.one.commit(bench.batch(_row("3"), tables={"A": first}))
    moved = _moved(outcome, "a batch that was made from fewer rows")
    _same("the table", {table: info.version for table, info in moved.tables.items()}, {"A": second})
    bench.commit(_row("3"), tables={"A": second, "B": 0})
    third = bench.table().version
    bench.commit(drop=[("A", "1")])
    _holds(bench.table().version > third, f"the version is {third} still, though a row went")


@_rule
def _keeps_later_results(bench: _Bench) -> None:
    """A stored result with a later date stays, without a conflict; one with the same date is replaced."""
    for date, value in ((5, b"5"), (4, b"4"), (5, b"6")):
        bench.commit(_row(str(date) + value.decode()), results=[_result("k", date, value)])
    found = bench.load(keys=["k"])
    _same("the result", [(result.value, result.rev) for result in found.results], [(b"6", 3)])
    _same("rows beside it", bench.pks("55", "44", "56"), ["55", "44", "56"])


@_rule
def _drops(bench: _Bench) -> None:
    """Rows and results are dropped whatever their rev; a table is incomplete once a row was dropped from it."""
    bench.commit(_row("1"), _row("2"), _row("b", table="B"), results=[_result("k"), _result("j")], listed=["A", "B"])
    gone: list[Place] = [("A", "1"), "k", ("A", "never"), "never"]
    bench.commit(drop=gone)
    loaded = bench.load(("A", "1"), ("A", "2"), keys=["k", "j"])
    _same("rows", [row.pk for row in loaded.rows], ["2"])
    _same("results", [result.key for result in loaded.results], ["j"])
    bench.lacks(A=True, B=False)
    bench.commit(_row("1"), drop=[("A", "2")])
    _same("dropped and written", bench.pks("1", "2"), ["1"])


@_rule
def _knows_tables(bench: _Bench) -> None:
    """A listed table is known and complete, even if empty; a table with missing rows is incomplete.

    If rows can disappear silently, as on a server that expires them, all tables are incomplete.
    """
    bench.commit(listed=["A", "B"])
    for table in "AB":
        info = bench.table(table)
        _holds(info.version > 0, f"the table {table}, which was listed as a whole, is unknown")
    bench.lacks(A=False, B=False)
    bench.commit(_row("1"), incomplete=["A"])
    bench.lacks(A=True, B=False)
    bench.commit(listed=["A"], incomplete=["B"])
    bench.lacks(A=False, B=True)
    bench.commit(listed=["A"], incomplete=["A"])
    _same("listed without something", bench.table("A").incomplete, True)


@_rule
def _indexes(bench: _Bench) -> None:
    """Index entries are written with the commit; a later one leads to another row."""
    bench.commit(index={("A", "f", "x"): "1", ("A", "f", "y"): "2"})
    bench.commit(index={("A", "f", "y"): "3"})
    entries = [("A", "f", text) for text in "xyz"]
    _same("entries", bench.load(index=entries).index, {("A", "f", "x"): "1", ("A", "f", "y"): "3"})


@_rule
def _notes_use(bench: _Bench) -> None:
    """Recording the use of places makes neither a number nor an entry, whether or not they are stored."""
    bench.commit(_row("1"), results=[_result("k")])
    used: list[Place] = [("A", "1"), "k", ("A", "2"), "j"]
    outcome = bench.one.commit(bench.batch(used=used))
    _same("what became of it", outcome, (0, bench.epoch, None))
    _same("entries", len(bench.other.changes(0, 0).entries), 1)
    _same("the rev", [row.rev for row in bench.load(("A", "1")).rows], [1])


@_rule
def _commits_plenty(bench: _Bench) -> None:
    """A large batch is one commit; none of it is written if one row has moved."""
    number = bench.commit(*(_row(str(pk)) for pk in range(_ROWS)), results=[_result("k")])
    loaded = bench.load(*(("A", str(pk)) for pk in range(_ROWS)), keys=["k"])
    _same("how many there are", (len(loaded.rows), len(loaded.results), loaded.number), (_ROWS, 1, 1))
    _same("the numbers of entries", [one.number for one in bench.other.changes(0, 0).entries], [number])
    _moved(bench.one.commit(bench.batch(_row("new"), _row("0"), _row("1", 77))), "a row of rev 77")
    _same("what was written", bench.pks("new"), [])


@_rule
def _is_safe_in_threads(bench: _Bench) -> None:
    """Commits in several threads have numbers without gaps, and only one of two writers of a new row succeeds."""
    outcomes: list[tuple[str, Outcome]] = []
    failures: list[BaseException] = []

    def write(storage: Storage, name: str) -> None:
        try:
            for turn in range(10):
                outcomes.extend(
                    (pk, storage.commit(bench.batch(_row(pk)))) for pk in (f"{name} {turn}", f"both {turn}")
                )
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=write, args=(bench.one, "a")),
        threading.Thread(target=write, args=(bench.one, "b")),
    ]
    threads.append(threading.Thread(target=write, args=(bench.other, "c")))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _same("what failed", failures, [])
    numbers = sorted(outcome.number for _, outcome in outcomes if outcome.number)
    _same("numbers", numbers, [*range(1, 41)])
    won = [pk for pk, outcome in outcomes if outcome.number]
    _same("each row was written once", len({*won}), len(won))
    _same("the numbers of entries", [one.number for one in bench.other.changes(0, 0).entries], numbers)


# -- changes -----------------------------------------------------------------------------------------------------------


@_rule
def _logs(bench: _Bench) -> None:
    """Each commit is in the log with its entry, also for its own writer; entries after a number come in order."""
    entries = [
        Entry(0, "me", Meta(1, 2, inf), {"A": ["1"]}, {"A": ["2"], "[A]": ["{}"]}, {}, ["k"], False),
        Entry(0, "you", None, {}, {}, {"A": ["1", "ä"]}, [], False),
        Entry(0, "me", None, {}, {}, {}, [], True),
    ]
    for entry in entries:
        bench.commit(listed=["A"], entry=entry)
    expected = [entry._replace(number=number) for number, entry in enumerate(entries, 1)]
    for after in range(4):
        changes = bench.other.changes(after, 0)
        _same(f"after {after}", (changes.entries, changes.number, changes.lost), (expected[after:], 3, False))
        _same("epoch", changes.epoch, bench.epoch)


@_rule
def _cuts_entries(bench: _Bench) -> None:
    """An entry of more than 256 KiB of JSON is stored as `everything`, without lists."""
    entry = Entry(0, "me", None, {"A": [f"{number:060}" for number in range(5_000)]}, {}, {}, [], False)
    bench.commit(_row("1"), entry=entry)
    _same("the entry", bench.other.changes(0, 0).entries, [Entry(1, "me", None, {}, {}, {}, [], True)])


@_rule
def _waits_for_changes(bench: _Bench) -> None:
    """`changes` returns at once if there are entries, else after `wait` at the latest."""
    begin = time.perf_counter()
    changes = bench.other.changes(0, 100)
    took = time.perf_counter() - begin
    _same("entries", (changes.entries, changes.lost), ([], False))
    _holds(took < 5, f"it took {took:.1f} s, and was to wait 100 ms")
    bench.commit(_row("1"))
    begin = time.perf_counter()
    _same("entries", len(bench.other.changes(0, 60_000).entries), 1)
    took = time.perf_counter() - begin
    _holds(took < 5, f"it took {took:.1f} s to give what is there")


# -- leases ------------------------------------------------------------------------------------------------------------


@_rule
def _leases(bench: _Bench) -> None:
    """A lease has one owner, who may renew and release it; others cannot release it."""
    one, other = bench.one, bench.other
    _same("the first", one.lease("name", "a", 60_000), True)
    _same("another owner", other.lease("name", "b", 60_000), False)
    _same("the same owner once more", other.lease("name", "a", 60_000), True)
    _same("another lease", other.lease("other", "b", 60_000), True)
    other.lease("name", "b", 0)
    _same("another owner, who gave back what was not theirs", other.lease("name", "b", 60_000), False)
    one.lease("name", "a", 0)
    _same("another owner, after it was given back", other.lease("name", "b", 60_000), True)


@_rule
def _gives_leases_at_once(bench: _Bench) -> None:
    """Leases that are requested in one call are granted as if requested one by one."""
    one, other = bench.one, bench.other
    other.lease("theirs", "b", 60_000)
    wanted = [("name", "a"), ("theirs", "a"), ("other", "c")]
    _same("two that are free and one that is not", leases_of(one, wanted, 60_000), [True, False, True])
    _same("another owner", leases_of(other, [("name", "b"), ("theirs", "b")], 60_000), [False, True])
    leases_of(one, wanted, 0)
    _same("after they were given back", leases_of(other, [("name", "b"), ("other", "b")], 60_000), [True, True])
    _same("one that was not theirs to give back", one.lease("theirs", "a", 60_000), False)


@_rule
def _lets_leases_end(bench: _Bench) -> None:
    """A lease expires after its length."""
    bench.one.lease("name", "a", 50)
    end = time.monotonic() + 5
    while not bench.other.lease("name", "b", 60_000):
        _holds(time.monotonic() < end, "it was for 50 ms, and is held after 5 s")
        time.sleep(0.01)


@_rule
def _releases(bench: _Bench) -> None:
    """A commit ends the leases that it releases, unless it has moved."""
    bench.one.lease("name", "a", 60_000)
    bench.commit(_row("1"))
    _moved(bench.one.commit(bench.batch(_row("1"), release=["name"])), "a new row")
    _same("another owner, after a batch that moved", bench.other.lease("name", "b", 60_000), False)
    bench.commit(_row("2"), release=["name"])
    _same("another owner, after the commit", bench.other.lease("name", "b", 60_000), True)


# -- reset, trim, stats, close -----------------------------------------------------------------------------------------


@_rule
def _resets(bench: _Bench) -> None:
    """A reset begins a new, empty epoch, for all storages that are open and those opened later."""
    before = bench.epoch
    bench.commit(_row("1"), results=[_result("k")], index={("A", "f", "x"): "1"}, listed=["A"])
    epoch = bench.one.reset()
    _holds(epoch > before, f"the epoch was {before} and is {epoch}")
    loaded = bench.load(("A", "1"), keys=["k"], index=[("A", "f", "x")], tables=["A"])
    _same("the epoch of others", (loaded.epoch, loaded.number), (epoch, 0))
    _same("what is there", (loaded.rows, loaded.results, loaded.index), ([], [], {}))
    _same("its table", loaded.tables.get("A", _UNKNOWN), _UNKNOWN)
    _same("its keys", bench.scan(None, 9), [[]])
    changes = bench.other.changes(1, 0)
    _same("what other processes get", (changes.epoch, changes.reset, changes.number), (epoch, epoch, 0))
    opened = bench.one.open(bench.place, _now)
    _same("what is opened", (opened.epoch, opened.reset, opened.number), (epoch, epoch, 0))


@_rule
def _fences(bench: _Bench) -> None:
    """A commit to an older epoch is rejected, and numbers start again in the new epoch."""
    bench.commit(_row("1"))
    late = bench.batch(_row("2"), results=[_result("k")], drop=["j"])
    epoch = bench.other.reset()
    _same("what became of it", bench.one.commit(late), (0, epoch, None))
    loaded = bench.load(("A", "2"), keys=["k"])
    _same("what is there", (loaded.rows, loaded.results), ([], []))
    bench.epoch = epoch
    _same("the first number", bench.commit(_row("1")), 1)
    again = bench.other.reset()
    _holds(again > epoch, f"the epoch was {epoch} and is {again}")


@_rule
def _trims(bench: _Bench) -> None:
    """`trim` keeps recently used data within the bounds, and returns quickly."""
    bench.commit(_row("1"), _row("2", value=None), results=[_result("k", _now() + bench.offset)])
    begin = time.perf_counter()
    _same("dropped", bench.one.trim(), 0)
    took = time.perf_counter() - begin
    _holds(took < 5, f"it took {took:.1f} s, and was to take 50 ms at most")
    _same("rows", bench.pks("1", "2"), ["1", "2"])


@_rule
def _counts(bench: _Bench) -> None:
    """`stats` counts rows, including tombstones, and results."""
    bench.commit(_row("1"), _row("2", value=None), _row("b", table="B"), results=[_result("k")])
    stats = bench.other.stats()
    _same("rows and results", (stats.rows, stats.results), (3, 1))
    _holds(stats.bytes > 0, f"it has {stats.bytes} bytes")


@_rule
def _closes(bench: _Bench) -> None:
    """`close` may be called twice, and later calls work as before."""
    bench.commit(_row("1"))
    bench.one.close()
    bench.one.close()
    _same("rows", [row.pk for row in bench.one.load([("A", "1")]).rows], ["1"])
    _same("the next number", bench.commit(_row("2")), 2)
