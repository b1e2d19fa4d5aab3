"""`restencil cache`: what is stored, for people and programs; exit codes; nothing gets to a terminal unseen."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from math import inf
from pathlib import Path
from typing import Any

import pytest
import valkey
from tests.generator.projects import Printed, process, restencil
from tests.patience import PATIENCE
from tests.storage.batches import batch, result, row
from tests.storage.servers import ValkeyServer, needs_server
from tests.storages import sqlite_storage, valkey_storage

from restencil.base.values import Meta
from restencil.storage import StoredRow

PLACE = "https://api.shop.example"
KEY = f"GET {PLACE}/orders?tag=x"
HOUR = 3_600_000


def now() -> float:
    return time.time() * 1000


def commit(folder: Path, *rows: StoredRow, principal: str | None = None, **more: Any) -> None:
    with closing(sqlite_storage(folder, principal=principal)) as storage:
        storage.commit(batch(storage.open(PLACE, now).epoch, *rows, **more))


def fill(folder: Path, principal: str | None = None) -> None:
    """Stores three orders, one of them deleted, a list of two, of which one is not there, and its result."""
    times = Meta(now() - 2 * HOUR - 1, now() - 2 * HOUR - 1, now() + HOUR + 1_000)
    rows = [row(pk, value=b'{"id":"%s"}' % pk.encode(), table="Order", times=times) for pk in ("1", "2")]
    rows.append(row("3", value=None, table="Order", times=times))
    rows.append(row('{"tag":"x"}', value=b'["1","99"]', table="[Order]", times=times))
    results = [result(KEY, b'"{\\"tag\\":\\"x\\"}"', times)]
    commit(folder, *rows, results=results, listed=["Order"], principal=principal)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path / "shop")
    return tmp_path / "shop"


def cache(*arguments: object, code: int = 0) -> Printed:
    return restencil("cache", *arguments, code=code)


def test_cache_command_ls_prints_what_there_is_by_table(folder: Path) -> None:
    """A line for each namespace with its place, size and last commit; one for each table, and one for results."""
    name = next(folder.iterdir()).name
    lines = cache("ls", folder).out.splitlines()
    head = rf"{name[:6]}…  https://api\.shop\.example  begun \d+ s ago  \d+ kB  last commit \d+ s ago"
    assert re.fullmatch(head, lines[0])
    assert [line.split() for line in lines[1:]] == [
        ["Order", "2", "rows", "1", "deleted", "20", "B", "2", "h", "…", "2", "h"],
        ["[Order]", "1", "row", "0", "deleted", "10", "B", "2", "h", "…", "2", "h"],
        ["results", "1", "17", "B"],
    ]


def test_cache_command_ls_prints_the_same_members_as_json(folder: Path) -> None:
    """Times are in ms since 1970."""
    (found,) = cache("ls", folder, "--format", "json").document
    assert found["namespace"] == next(folder.iterdir()).name
    assert (found["place"], found["results"]) == (PLACE, {"count": 1, "bytes": 17})
    assert abs(found["last_commit"] - now()) < 20_000 and abs(found["begun"] - now()) < 20_000
    order, orders = found["tables"]
    assert (order["table"], order["rows"], order["deleted"], order["bytes"]) == ("Order", 2, 1, 20)
    assert order["oldest"] == order["newest"] and abs(order["oldest"] - now() + 2 * HOUR) < 20_000
    assert orders["table"] == "[Order]"


def test_cache_command_show_prints_results_and_rows(folder: Path) -> None:
    """A result with the cells that it leads to; a row with its value; of a table all rows."""
    lines = cache("show", folder, KEY, "Order/2", "[Order]").out.splitlines()
    facts = r"  received 2 h ago, stale in 1 h, rev 1, used (within the hour|1 h ago), schema [es]"
    assert [lines[0], lines[2], lines[3]] == [
        KEY,
        '  "{\\"tag\\":\\"x\\"}"',
        '  leads to [Order]/{"tag":"x"}, Order/1',
    ]
    assert re.fullmatch(facts, lines[1])
    assert [lines[4], lines[6]] == ["Order/2", '  {"id": "2"}']
    assert [lines[7], lines[9]] == ['[Order]/{"tag":"x"}', '  ["1", "99"]']
    (found,) = cache("show", folder, "Order", "--format", "json").document
    assert [(each["pk"], each.get("value"), each.get("deleted")) for each in found["rows"]] == [
        ("1", {"id": "1"}, None),
        ("2", {"id": "2"}, None),
        ("3", None, True),
    ]


def test_cache_command_show_says_how_fresh_each_is(tmp_path: Path) -> None:
    """Invalidated, stale since some time, fresh for some time or for ever."""
    at, ends = now() - 3 * HOUR, {"1": now() - HOUR - 1, "2": now() + HOUR + 10_000, "3": inf}
    invalidated = result("k", times=Meta(at, at, inf))._replace(invalidated=True)
    commit(tmp_path, *(row(pk, times=Meta(at, at, end)) for pk, end in ends.items()), results=[invalidated])
    found = re.findall("received 3 h ago, (.*?),", cache("show", tmp_path, "A", "k").out)
    assert found == ["invalidated", "stale since 1 h", "stale in 1 h", "never stale"]


def test_cache_command_sizes_have_their_unit(tmp_path: Path) -> None:
    """Megabytes with a digit, and a namespace without a commit has an empty log."""
    with closing(sqlite_storage(tmp_path)) as storage:
        storage.open(PLACE, now)
    assert cache("stats", tmp_path).out.splitlines()[2:] == ["  log empty", "  leases: none", "  free pages: 0"]
    commit(tmp_path, row("1", value=b'"%s"' % (b"x" * 1_249_998)))
    assert "  1.2 MB  " in cache("ls", tmp_path).out.splitlines()[1]


def test_cache_command_show_of_what_is_not_there_is_a_no(folder: Path) -> None:
    """What is there is printed all the same; the rest is named on stderr."""
    told = cache("show", folder, "Order/7", "Order/1", "nothing", code=1)
    assert told.out.startswith("Order/1\n")
    assert [line.partition(" was not found")[0] for line in told.err.splitlines()] == [
        "restencil: Order/7",
        "restencil: nothing",
    ]


def test_cache_command_large_tables_are_printed_whole_and_damaged_pages_found(tmp_path: Path) -> None:
    """Rows by arrival, results by key; a page that SQLite cannot read is found by `stats --check`."""
    rows = [row(str(n), value=b"[%d]" % n) for n in range(1, 1203)]
    commit(tmp_path, *rows, row("gone", value=None), results=[result(f"k{n:04}") for n in range(700)])
    (found,) = cache("show", tmp_path, "A", "--format", "json").document
    assert [each["pk"] for each in found["rows"]] == [*map(str, range(1, 1203)), "gone"]
    assert cache("show", tmp_path).out.splitlines() == [f"k{n:04}" for n in range(700)]
    (file,) = tmp_path.glob("*/*.db")
    whole = file.read_bytes()
    file.write_bytes(whole[: 20 * 4096] + b"\xff" * 4096 + whole[21 * 4096 :])
    assert "  found: " in cache("stats", tmp_path, "--check", code=1).out


def test_cache_command_looking_changes_nothing(folder: Path) -> None:
    """Neither bytes nor files, also of an epoch that a reset left empty; what others write is seen at once."""

    def look() -> None:
        before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for command in ("ls", "show", "stats"):
            cache(command, folder)
        assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before

    look()
    with closing(sqlite_storage(folder)) as storage:
        epoch = storage.open(PLACE, now).epoch
        for number in (2, 3):
            assert storage.commit(batch(epoch, row(f"new {number}"))).number == number
            assert f"  log 1 … {number}\n" in cache("stats", folder).out
        storage.reset()
    look()


def test_cache_command_stats_prints_counts_and_finds_nothing_unless_asked(folder: Path) -> None:
    """The log by its first and last number, leases that are held, free pages."""
    with closing(sqlite_storage(folder)) as storage:
        storage.open(PLACE, now)
        storage.lease("0f3a", "owner", 90_000)
    lines = cache("stats", folder).out.splitlines()[1:]
    assert re.fullmatch(r"  rows 3, deleted 1, results 1, \d+ kB", lines[0])
    assert lines[1:] == ["  log 1 … 1", "  leases: 0f3a for 1 min", "  free pages: 0"]


def test_cache_command_check_finds_what_is_damaged_and_what_leads_nowhere(folder: Path) -> None:
    """Exit code 1 where anything was found; names in a table that is not whole may lead nowhere."""
    lost = '[Order]/{"tag":"x"} refers to Order/99, which does not exist'
    assert cache("stats", folder, "--check", code=1).out.splitlines()[5:] == [f"  found: {lost}"]
    (file,) = folder.glob("*/*.db")
    with closing(sqlite3.connect(file)) as theirs, theirs:
        theirs.execute("UPDATE row SET value = x'ff' WHERE pk = '1'")
        theirs.execute("UPDATE result SET value = x'ff'")
    assert cache("stats", folder, "--check", "--format", "json", code=1).document[0]["found"] == [
        "Order/1 is not valid JSON",
        f"the result of {KEY} is not valid JSON",
        lost,
    ]
    with closing(sqlite3.connect(file)) as theirs, theirs:
        theirs.execute("UPDATE row SET value = x'7b7d' WHERE pk = '1'")
        theirs.execute("UPDATE result SET value = x'5b5d'")
        theirs.execute("UPDATE kind SET incomplete = 1")
    assert cache("stats", folder, "--check").out.splitlines()[-1] == "  no damage found"
    file.write_bytes(b"nonsense" * 1000)
    assert "is damaged" in cache("stats", folder, "--check", code=1).out
    assert "is damaged" in cache("stats", folder, code=2).err


def test_cache_command_clear_begins_again_for_all(folder: Path) -> None:
    """A reset of each namespace in the folder, which programs that run see as any other."""
    fill(folder, "another")
    with closing(sqlite_storage(folder)) as storage:
        before = storage.open(PLACE, now).epoch
        told = cache("clear", folder, "--yes", "--format", "json").document
        assert len(told) == 2 and all(each["epoch"] > before for each in told)
        assert storage.changes(1, 0).reset in {each["epoch"] for each in told}
    assert cache("show", folder).out == ""


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 1), ("", 2, 1)])
def test_cache_command_clear_asks(folder: Path, answer: str, code: int, left: int) -> None:
    """A no is a no; where nobody can be asked, it says how not to be."""
    ran = process("cache", "clear", str(folder), stdin=answer)
    assert ran.returncode == code
    assert ran.stderr.startswith("Clear this namespace? Data will be fetched again. [y/N]:")
    assert ran.stderr.endswith({0: "", 1: "nothing cleared\n", 2: "pass --yes to clear without confirmation\n"}[code])
    with closing(sqlite_storage(folder)) as storage:
        assert storage.open(PLACE, now).number == left


def test_cache_command_one_namespace_is_chosen_by_the_beginning_of_its_hash(folder: Path) -> None:
    """As `ls` prints it; one that is none of them, or several, is no answer."""
    assert "1 namespaces begin with ''" in cache("clear", folder, "--id", "", "--yes", code=2).err
    fill(folder, "another")
    first, second = sorted(path.name for path in folder.iterdir())
    found = cache("ls", folder, "--id", f"{second[:6]}…", "--format", "json").document
    assert [each["namespace"] for each in found] == [second]
    none = f"restencil: no namespace begins with 'zz'; there are: {first}, {second}\n"
    assert cache("ls", folder, "--id", "zz", code=2).err == none
    assert "2 namespaces begin with ''" in cache("clear", folder, "--id", "", "--yes", code=2).err


@pytest.mark.parametrize("command", ["ls", "show", "stats", "clear"])
def test_cache_command_path_that_is_no_storage_is_no_response(tmp_path: Path, command: str) -> None:
    """Exit code 2 where nothing is there, a URL has no server, or a newer format; an empty folder is empty."""
    assert "url has no address of a server" in cache(command, "https://api.test", code=2).err
    assert "nowhere is not there; expected the folder" in cache(command, tmp_path / "nowhere", code=2).err
    assert cache(command, tmp_path).out in ("nothing is stored here\n", "")
    fill(tmp_path)
    (file,) = tmp_path.glob("*/*.db")
    with closing(sqlite3.connect(file)) as newer:
        newer.execute("PRAGMA user_version = 4")
    before = file.read_bytes()
    if command != "clear":
        assert "has format 4, but this version of restencil supports 3" in cache(command, tmp_path, code=2).err
        assert file.read_bytes() == before


def test_cache_command_what_an_api_said_reaches_no_terminal_unseen(folder: Path) -> None:
    """Escape sequences in keys, names and values are shown as text."""
    bad = "\x1b[2J\x9b"
    value = json.dumps(f"\x9b {bad}", ensure_ascii=False).encode()
    commit(folder, row(bad, value=value, table=f"T{bad}"), results=[result(f"k{bad}", value)])
    found = cache("show", folder, f"k{bad}", f"T{bad}", f"no{bad}", code=1)
    others = (cache("ls", folder), cache("show", folder), cache("stats", folder, "--check", code=1))
    for text in (*found, *(text for one in others for text in one)):
        assert all(character.isprintable() or character == "\n" for character in text)
    assert "k\\x1b[2J\\x9b" in found.out and "no\\x1b[2J\\x9b was not found" in found.err


def test_cache_command_whichever_caller_reads_the_first_line_only_has_what_they_wanted(folder: Path) -> None:
    """A pipe that is closed is no mistake."""
    commit(folder, results=[result(f"GET {PLACE}/{n:090}") for n in range(3_000)])
    command = f"{sys.executable} -m restencil_generator cache show {folder} | head -1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=PATIENCE)
    assert (ran.stdout.count("\n"), ran.stderr) == (1, "")


@needs_server
def test_cache_command_server_is_named_by_its_url() -> None:
    """As a folder is by its path; nothing of the URL but the address is shown, and looking adds nothing."""

    def size(url: str) -> Any:
        with valkey.Valkey.from_url(url.replace("valkey:", "redis:")) as client:
            return client.execute_command("DBSIZE")

    with ValkeyServer("--requirepass", "s3cret") as server:
        url = server.url.replace("://", "://:s3cret@")
        with closing(valkey_storage(url, namespace="n")) as storage:
            epoch = storage.open(PLACE, now).epoch
            rows = [row(str(n), value=b"[%d]" % n, table="Order") for n in range(1, 703)]
            storage.commit(batch(epoch, *rows, row("gone", value=None, table="Order"), results=[result(KEY)]))
            storage.lease("l", "me", 90_000)
            before = size(url)
            (found,) = cache("ls", url, "--format", "json").document
            (table,) = found["tables"]
            assert (found["place"], found["results"]["count"]) == (PLACE, 1)
            assert (table["table"], table["rows"], table["deleted"], table["oldest"]) == ("Order", 702, 1, 2000.0)
            assert abs(found["last_commit"] - now()) < 20_000
            (found,) = cache("show", url, "Order", "--format", "json").document
            assert [each["pk"] for each in found["rows"]] == [*map(str, range(1, 703)), "gone"]
            shown = cache("show", url, "Order/7", KEY, "Order/0", "nothing", code=1)
            counted = cache("stats", url, "--check")
            assert size(url) == before
            cleared = cache("clear", url, "--yes")
            assert storage.load([("Order", "1")]).rows == []
        assert "Order/7\n" in shown.out and "  [7]\n" in shown.out and f"{KEY}\n" in shown.out
        assert "leases: l for 1 min" in counted.out and "no damage found" in counted.out
        printed = (*shown, *counted, *cleared, *cache("show", url), *cache("ls", server.url, code=2))
        assert "s3cret" not in "".join(printed)
    assert "does not respond" in cache("ls", url, code=2).err
