"""`restencil cache`: what is stored, for people and programs; exit codes; nothing gets to a terminal unseen."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import valkey
from tests.patience import PATIENCE
from tests.storage.batches import batch, result, row
from tests.storage.servers import ValkeyServer, needs_server
from tests.storages import sqlite_storage, valkey_storage

from restencil.base.values import Meta
from restencil_generator.cli.main import run

PLACE = "https://api.shop.example"
KEY = f"GET {PLACE}/orders?tag=x"
HOUR = 3_600_000


def now() -> float:
    return time.time() * 1000


def fill(folder: Path, principal: str | None = None) -> None:
    """Stores three orders, one of them deleted, a list of two, of which one is not there, and its result."""
    times = Meta(now() - 2 * HOUR - 1, now() - 2 * HOUR - 1, now() + HOUR + 1_000)
    with closing(sqlite_storage(folder, principal=principal)) as storage:
        epoch = storage.open(PLACE, now).epoch
        rows = [row(pk, value=b'{"id":"%s"}' % pk.encode(), table="Order", times=times) for pk in ("1", "2")]
        rows.append(row("3", value=None, table="Order", times=times))
        rows.append(row('{"tag":"x"}', value=b'["1","99"]', table="[Order]", times=times))
        storage.commit(batch(epoch, *rows, results=[result(KEY, b'"{\\"tag\\":\\"x\\"}"', times)], listed=["Order"]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fill(tmp_path / "shop")
    return tmp_path / "shop"


def cache(*arguments: object, code: int = 0) -> None:
    assert run(["cache", *map(str, arguments)]) == code


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_cache_command_ls_prints_what_there_is_by_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each namespace with its place, size and last commit; one for each table, and one for results."""
    cache("ls", folder)
    name = next(folder.iterdir()).name
    lines = capsys.readouterr().out.splitlines()
    head = rf"{name[:6]}…  https://api\.shop\.example  begun \d+ s ago  \d+ kB  last commit \d+ s ago"
    assert re.fullmatch(head, lines[0])
    assert [line.split() for line in lines[1:]] == [
        ["Order", "2", "rows", "1", "deleted", "20", "B", "2", "h", "…", "2", "h"],
        ["[Order]", "1", "row", "0", "deleted", "10", "B", "2", "h", "…", "2", "h"],
        ["results", "1", "17", "B"],
    ]


def test_cache_command_ls_prints_the_same_members_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Times are in ms since 1970."""
    cache("ls", folder, "--format", "json")
    (found,) = printed(capsys)
    assert found["namespace"] == next(folder.iterdir()).name
    assert (found["place"], found["results"]) == (PLACE, {"count": 1, "bytes": 17})
    assert abs(found["last_commit"] - now()) < 20_000 and abs(found["begun"] - now()) < 20_000
    order, orders = found["tables"]
    assert (order["table"], order["rows"], order["deleted"], order["bytes"]) == ("Order", 2, 1, 20)
    assert order["oldest"] == order["newest"] and abs(order["oldest"] - now() + 2 * HOUR) < 20_000
    assert orders["table"] == "[Order]"


def test_cache_command_show_prints_results_and_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A result with the cells that it leads to; a row with its value; of a table all rows."""
    cache("show", folder, KEY, "Order/2", "[Order]")
    lines = capsys.readouterr().out.splitlines()
    facts = r"  received 2 h ago, stale in 1 h, rev 1, used (within the hour|1 h ago), schema [es]"
    assert [lines[0], lines[2], lines[3]] == [
        KEY,
        '  "{\\"tag\\":\\"x\\"}"',
        '  leads to [Order]/{"tag":"x"}, Order/1',
    ]
    assert re.fullmatch(facts, lines[1])
    assert [lines[4], lines[6]] == ["Order/2", '  {"id": "2"}']
    assert [lines[7], lines[9]] == ['[Order]/{"tag":"x"}', '  ["1", "99"]']
    cache("show", folder, "Order", "--format", "json")
    (found,) = printed(capsys)
    assert [(each["pk"], each.get("value"), each.get("deleted")) for each in found["rows"]] == [
        ("1", {"id": "1"}, None),
        ("2", {"id": "2"}, None),
        ("3", None, True),
    ]


def test_cache_command_show_of_what_is_not_there_is_a_no(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is there is printed all the same; the rest is named on stderr."""
    cache("show", folder, "Order/7", "Order/1", "nothing", code=1)
    told = capsys.readouterr()
    assert told.out.startswith("Order/1\n")
    assert [line.partition(" was not found")[0] for line in told.err.splitlines()] == [
        "restencil: Order/7",
        "restencil: nothing",
    ]


def test_cache_command_large_tables_are_printed_whole_and_damaged_pages_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows by arrival, results by key; a page that SQLite cannot read is found by `stats --check`."""
    with closing(sqlite_storage(tmp_path)) as storage:
        epoch = storage.open(PLACE, now).epoch
        rows = [row(str(n), value=b"[%d]" % n) for n in range(1, 1203)]
        results = [result(f"k{n:04}") for n in range(700)]
        storage.commit(batch(epoch, *rows, row("gone", value=None), results=results))
    cache("show", tmp_path, "A", "--format", "json")
    (found,) = printed(capsys)
    assert [each["pk"] for each in found["rows"]] == [*map(str, range(1, 1203)), "gone"]
    cache("show", tmp_path)
    assert capsys.readouterr().out.splitlines() == [f"k{n:04}" for n in range(700)]
    (file,) = tmp_path.glob("*/*.db")
    whole = file.read_bytes()
    file.write_bytes(whole[: 20 * 4096] + b"\xff" * 4096 + whole[21 * 4096 :])
    cache("stats", tmp_path, "--check", code=1)
    assert "  found: " in capsys.readouterr().out


def test_cache_command_looking_changes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
            cache("stats", folder)
            assert f"  log 1 … {number}\n" in capsys.readouterr().out
        storage.reset()
    look()


def test_cache_command_stats_prints_counts_and_finds_nothing_unless_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The log by its first and last number, leases that are held, free pages."""
    with closing(sqlite_storage(folder)) as storage:
        storage.open(PLACE, now)
        storage.lease("0f3a", "owner", 90_000)
    cache("stats", folder)
    lines = capsys.readouterr().out.splitlines()[1:]
    assert re.fullmatch(r"  rows 3, deleted 1, results 1, \d+ kB", lines[0])
    assert lines[1:] == ["  log 1 … 1", "  leases: 0f3a for 1 min", "  free pages: 0"]


def test_cache_command_check_finds_what_is_damaged_and_what_leads_nowhere(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 where anything was found; names in a table that is not whole may lead nowhere."""
    cache("stats", folder, "--check", code=1)
    lost = '[Order]/{"tag":"x"} refers to Order/99, which does not exist'
    assert capsys.readouterr().out.splitlines()[5:] == [f"  found: {lost}"]
    (file,) = folder.glob("*/*.db")
    with closing(sqlite3.connect(file)) as theirs, theirs:
        theirs.execute("UPDATE row SET value = x'ff' WHERE pk = '1'")
        theirs.execute("UPDATE result SET value = x'ff'")
    cache("stats", folder, "--check", "--format", "json", code=1)
    assert printed(capsys)[0]["found"] == ["Order/1 is not valid JSON", f"the result of {KEY} is not valid JSON", lost]
    with closing(sqlite3.connect(file)) as theirs, theirs:
        theirs.execute("UPDATE row SET value = x'7b7d' WHERE pk = '1'")
        theirs.execute("UPDATE result SET value = x'5b5d'")
        theirs.execute("UPDATE kind SET incomplete = 1")
    cache("stats", folder, "--check")
    assert capsys.readouterr().out.splitlines()[-1] == "  no damage found"
    file.write_bytes(b"nonsense" * 1000)
    cache("stats", folder, "--check", code=1)
    assert "is damaged" in capsys.readouterr().out
    cache("stats", folder, code=2)
    assert "is damaged" in capsys.readouterr().err


def test_cache_command_clear_begins_again_for_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reset of each namespace in the folder, which programs that run see as any other."""
    fill(folder, "another")
    with closing(sqlite_storage(folder)) as storage:
        before = storage.open(PLACE, now).epoch
        cache("clear", folder, "--yes", "--format", "json")
        told = printed(capsys)
        assert len(told) == 2 and all(each["epoch"] > before for each in told)
        assert storage.changes(1, 0).reset in {each["epoch"] for each in told}
    cache("show", folder)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 1), ("", 2, 1)])
def test_cache_command_clear_asks(folder: Path, answer: str, code: int, left: int) -> None:
    """A no is a no; where nobody can be asked, it says how not to be."""
    command = [sys.executable, "-m", "restencil_generator", "cache", "clear", str(folder)]
    ran = subprocess.run(command, input=answer, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == code
    assert ran.stderr.startswith("Clear this namespace? Data will be fetched again. [y/N]:")
    assert ran.stderr.endswith({0: "", 1: "nothing cleared\n", 2: "pass --yes to clear without confirmation\n"}[code])
    with closing(sqlite_storage(folder)) as storage:
        assert storage.open(PLACE, now).number == left


def test_cache_command_one_namespace_is_chosen_by_the_beginning_of_its_hash(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `ls` prints it; one that is none of them, or several, is no answer."""
    fill(folder, "another")
    first, second = sorted(path.name for path in folder.iterdir())
    cache("ls", folder, "--id", f"{second[:6]}…", "--format", "json")
    assert [each["namespace"] for each in printed(capsys)] == [second]
    cache("ls", folder, "--id", "zz", code=2)
    assert capsys.readouterr().err == f"restencil: no namespace begins with 'zz'; there are: {first}, {second}\n"
    cache("clear", folder, "--id", "", "--yes", code=2)
    assert "2 namespaces begin with ''" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["ls", "show", "stats", "clear"])
def test_cache_command_path_that_is_no_storage_is_no_response(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """Exit code 2 where nothing is there, a URL has no server, or a newer format; an empty folder is empty."""
    cache(command, "https://api.test", code=2)
    assert "url has no address of a server" in capsys.readouterr().err
    cache(command, tmp_path / "nowhere", code=2)
    assert "nowhere is not there; expected the folder" in capsys.readouterr().err
    cache(command, tmp_path)
    assert capsys.readouterr().out in ("nothing is stored here\n", "")
    fill(tmp_path)
    (file,) = tmp_path.glob("*/*.db")
    with closing(sqlite3.connect(file)) as newer:
        newer.execute("PRAGMA user_version = 4")
    before = file.read_bytes()
    if command != "clear":
        cache(command, tmp_path, code=2)
        assert file.read_bytes() == before
        assert "has format 4, but this version of restencil supports 3" in capsys.readouterr().err


def test_cache_command_what_an_api_said_reaches_no_terminal_unseen(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escape sequences in keys, names and values are shown as text."""
    with closing(sqlite_storage(folder)) as storage:
        epoch = storage.open(PLACE, now).epoch
        bad = "\x1b[2J\x9b"
        value = json.dumps(f"\x9b {bad}", ensure_ascii=False).encode()
        storage.commit(batch(epoch, row(bad, value=value, table=f"T{bad}"), results=[result(f"k{bad}", value)]))
    for arguments in (["ls"], ["show"], ["stats", "--check"]):
        run(["cache", arguments[0], str(folder), *arguments[1:]])
    run(["cache", "show", str(folder), f"k{bad}", f"T{bad}", f"no{bad}"])
    told = capsys.readouterr()
    assert all(character.isprintable() or character == "\n" for character in told.out + told.err)
    assert "k\\x1b[2J\\x9b" in told.out and "no\\x1b[2J\\x9b was not found" in told.err


def test_cache_command_whichever_caller_reads_the_first_line_only_has_what_they_wanted(folder: Path) -> None:
    """A pipe that is closed is no mistake."""
    with closing(sqlite_storage(folder)) as storage:
        epoch = storage.open(PLACE, now).epoch
        storage.commit(batch(epoch, results=[result(f"GET {PLACE}/{n:090}") for n in range(3_000)]))
    command = f"{sys.executable} -m restencil_generator cache show {folder} | head -1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=PATIENCE)
    assert (ran.stdout.count("\n"), ran.stderr) == (1, "")


@needs_server
def test_cache_command_server_is_named_by_its_url(capsys: pytest.CaptureFixture[str]) -> None:
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
            cache("ls", url, "--format", "json")
            (found,) = printed(capsys)
            (table,) = found["tables"]
            assert (found["place"], found["results"]["count"]) == (PLACE, 1)
            assert (table["table"], table["rows"], table["deleted"], table["oldest"]) == ("Order", 702, 1, 2000.0)
            assert abs(found["last_commit"] - now()) < 20_000
            cache("show", url, "Order", "--format", "json")
            (found,) = printed(capsys)
            assert [each["pk"] for each in found["rows"]] == [*map(str, range(1, 703)), "gone"]
            cache("show", url, "Order/7", KEY, "Order/0", "nothing", code=1)
            cache("stats", url, "--check")
            assert size(url) == before
            cache("clear", url, "--yes")
            assert storage.load([("Order", "1")]).rows == []
        cache("show", url)
        told = capsys.readouterr()
        assert "Order/7\n" in told.out and "  [7]\n" in told.out and f"{KEY}\n" in told.out
        assert "leases: l for 1 min" in told.out and "no damage found" in told.out
        cache("ls", server.url, code=2)
        assert "s3cret" not in told.out + told.err + capsys.readouterr().err
    cache("ls", url, code=2)
    assert "does not respond" in capsys.readouterr().err
