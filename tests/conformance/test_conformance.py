"""The conformance cases, one test a case in each world in which it says something of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.overridden import OVERRIDDEN
from tests.conformance.run import Case, cases, problems, worlds_of
from tests.conformance.worlds import StoreCase
from tests.patience import python

from restencil.schema.containers import List
from restencil.schema.protocol import definitions

FOLDER = Path(__file__).parent
ALL = list(cases([FOLDER / "cases", FOLDER / "own_cases"]))


def _of(world: str) -> list[Any]:
    return [pytest.param(case, id=case["id"], marks=_marks(case)) for case in ALL if world in worlds_of(case)]


def _marks(case: Case) -> list[Any]:
    rule = OVERRIDDEN.get(case["id"])
    return [] if rule is None else [pytest.mark.xfail(strict=True, reason=rule)]


@pytest.mark.parametrize("case", _of("sync"))
def test_sync(case: Case) -> None:
    """What never waits, and what goes through the synchronous controller or client, is as the case says."""
    assert problems(case, "sync") == []


@pytest.mark.parametrize("case", _of("async"))
def test_async(case: Case) -> None:
    """What goes through the asynchronous controller or client is as the case says."""
    assert problems(case, "async") == []


@pytest.mark.parametrize("compiled", [False, True])
def test_the_compiled_form_compiles_at_once(compiled: bool) -> None:
    """What a case writes or reads first goes through compiled functions already; else none of it does."""
    case = next(case for case in ALL if case["id"] == "own_pages/a-page-has-a-place-of-its-own-and-extends-its-list")
    before = set(definitions.compiled)
    store = StoreCase(case, "sync", compiled=compiled)
    try:
        for step in case["steps"]:
            store.run(step)
        assert {type(found) for found in set(definitions.compiled) - before} == ({List} if compiled else set())
    finally:
        store.close()


def test_every_case_has_an_id_of_its_own() -> None:
    """No two cases share an id."""
    ids = [case["id"] for case in ALL]
    assert len(ids) == len(set(ids))


def test_own_cases_are_named_by_their_rule() -> None:
    """The id of a case of our own says its rule, and so does the line that reports its failure."""
    own = [case["id"].partition("/")[2] for case in cases([FOLDER / "own_cases"])]
    assert [name for name in own if not re.search("[a-z]{2}.*-", name)] == []


def test_only_given_cases_are_overridden() -> None:
    """Cases of our own are changed with the rules; each overridden one is there."""
    assert set(OVERRIDDEN) <= {case["id"] for case in cases([FOLDER / "cases"])}


def test_the_command_reports_failures_and_goes_on(tmp_path: Path) -> None:
    """The runner prints what failed, counts on the last line, and exits with 1, else 0; a case that raises failed."""
    right = {"id": "x/1", "kind": "url", "title": "right", "endpoint": {"path": "/a"}, "expect": {"value": "/a"}}
    wrong = {**right, "id": "x/2", "title": "wrong", "expect": {"value": "/b"}}
    broken = {"id": "x/3", "kind": "store", "title": "broken", "steps": [{"op": "no such step"}]}
    (tmp_path / "cases.json").write_text(json.dumps({"suite": "x", "format": 1, "cases": [wrong, broken, right]}))
    command = str(FOLDER / "run.py"), str(tmp_path)
    done = python(*command, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[-1] == "1 passed, 2 failed"
    assert lines[0] == "x/2  wrong"
    assert "$.value: '/a', expected '/b'" in lines[1]
    assert any(line.startswith("x/3") for line in lines)
    done = python(*command, "-k", "x/1")
    assert (done.returncode, done.stdout.splitlines()) == (0, ["1 passed, 0 failed"])
