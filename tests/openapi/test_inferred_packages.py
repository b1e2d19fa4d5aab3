"""Packages of what an import makes are typed, and ask again for what a change may have changed."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest
import yaml
from tests.openapi.imports import NAMES, imported
from tests.openapi.shorthand import imported as small

from restencil_generator import api

CHANGES = """
  schemas:
    Task: {id!: integer, name: string}
    User: {login!: string, name: string}
  GET /tasks: {response: {rows: [object], total: integer}}
  POST /tasks: {response: Task, status: 201, operationId: createTask}
  GET /tasks/{id}: Task
  DELETE /tasks/{id}: 204
  PATCH /tasks/{id}: {response: Task}
  PUT /tasks/{id}: {response: {state: string, at: string}, operationId: replaceTask}
  POST /tasks/{id}/notes: {response: Task, operationId: addNote}
  POST /tasks/{id}/run: {response: {state: string, at: string}, operationId: run}
  GET /users/{login}: User
  GET /users: [User]
  GET /teams/{team}/members: [User]
  PUT /teams/{team}/members/{login}: {status: 204, operationId: addMember}
  DELETE /teams/{team}/members/{login}: {status: 204, operationId: removeMember}
"""
"""Changes whose response is not the record, a list of other things, and a relation of records to a parent."""


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The package of a document with changes."""
    folder = tmp_path_factory.mktemp("changes")
    made = small(yaml.safe_load(CHANGES))
    (folder / "small.yaml").write_text(made.text, encoding="utf-8")
    api.write(folder / "small.yaml", folder)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("small")
    sys.path.remove(str(folder))
    for module in [name for name in sys.modules if name.partition(".")[0] == "small"]:
        del sys.modules[module]


@pytest.mark.parametrize(
    ("change", "read"),
    [
        (lambda small: small.tasks.create(), lambda small: small.tasks.get_list()),
        (lambda small: small.tasks.delete(id=1), lambda small: small.tasks.get_list()),
        (lambda small: small.tasks.partial_update(id=1), lambda small: small.tasks.get_list()),
        (lambda small: small.tasks.add_note(id=1), lambda small: small.tasks.get_list()),
        (lambda small: small.tasks.run(id=1), lambda small: small.tasks.get_list()),
        (lambda small: small.tasks.run(id=1), lambda small: small.tasks.get(id=1)),
        (lambda small: small.tasks.replace(id=1), lambda small: small.tasks.get(id=1)),
        (lambda small: small.members.add(team="a", login="b"), lambda small: small.members.get_list(team="a")),
        (lambda small: small.members.remove(team="a", login="b"), lambda small: small.members.get_list(team="a")),
        (lambda small: small.members.remove(team="a", login="b"), lambda small: small.users.get_list()),
    ],
)
def test_inferred_package_change_makes_reads_stale(
    changes: ModuleType, change: Callable[[Any], object], read: Callable[[Any], object]
) -> None:
    """What a change may have changed is asked again, although the spec names nothing that it expires."""
    sent: list[str] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(f"{request.method} {request.url.path}")
        if request.method == "DELETE" or "/members/" in request.url.path:
            return httpx.Response(204)
        if request.url.path == "/tasks" and request.method == "GET":
            return httpx.Response(200, json={"rows": [{}], "total": 1})
        if request.method == "PUT" or request.url.path.endswith("/run"):
            return httpx.Response(200, json={"state": "done", "at": "now"})
        found = {"id": 1, "name": "x"} if request.url.path.startswith("/tasks") else {"login": "b", "name": "x"}
        return httpx.Response(200, json=[found] if request.url.path.endswith(("/users", "/members")) else found)

    with httpx.Client(transport=httpx.MockTransport(respond)) as transport:
        small = changes.Small(client=transport)
        read(small)
        before = list(sent)
        read(small)
        assert sent == before
        change(small)
        sent.clear()
        read(small)
        assert sent == before


@pytest.mark.slow
def test_inferred_package_they_pass_both_type_checkers(tmp_path: Path) -> None:
    """Packages are typed strictly for mypy and for pyright."""
    for name in NAMES:
        (tmp_path / f"{name}.yaml").write_text(imported(name).text, encoding="utf-8")
        api.write(tmp_path / f"{name}.yaml", tmp_path)
    for checker in (["mypy", "--strict", "--config-file="], ["pyright", "--pythonpath", sys.executable]):
        done = subprocess.run(
            [sys.executable, "-m", *checker, *NAMES], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
