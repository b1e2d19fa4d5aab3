"""A list of an imported package that hides some records: a change is followed by a request."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.openapi.small import (
    ITEM,
    made,
    many,
    operation,
    record,
    ref,
)

from restencil_generator import api


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Any]:
    """A package of items, a list of which hides those that are done, and another has those of one user."""
    change = operation(ref("Item"), body=record(done="boolean"))
    paths = {
        "/items": {"get": operation(many(ref("Item")), query={"done": {"type": "boolean", "default": False}})},
        "/items/{id}": {"get": operation(ref("Item")), "patch": change},
        "/items/mine": {"get": operation(many(ref("Item")))},
    }
    (tmp_path / "small.yaml").write_text(made(paths, {"Item": ITEM}).text, "utf-8")
    api.write(api.load(tmp_path / "small.yaml"), tmp_path)
    sys.path.insert(0, str(tmp_path))
    yield importlib.import_module("small")
    sys.path.remove(str(tmp_path))
    for name in [module for module in sys.modules if module.partition(".")[0] == "small"]:
        del sys.modules[name]


def test_list_endpoints_list_that_follows_nothing_is_requested_again(package: Any) -> None:
    """An item that is done leaves the list that hides it: the list is requested again, and not shown as it was."""
    items = {1: {"id": 1, "done": False, "state": "open"}, 2: {"id": 2, "done": False, "state": "open"}}
    sent: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        sent.append(f"{request.method} {request.url.path}")
        if request.method == "PATCH":
            items[int(request.url.path.rpartition("/")[2])] |= json.loads(request.content)
        shown = [each for each in items.values() if not each["done"]]
        one = request.url.path.rpartition("/")[2]
        return httpx.Response(200, json=items[int(one)] if one.isdecimal() else shown)

    with httpx.Client(transport=httpx.MockTransport(serve)) as transport:
        with package.Small(client=transport) as client:
            assert [each.id for each in client.items.get_list()] == [1, 2]
            assert [each.id for each in client.items.mine()] == [1, 2]
            client.items.partial_update(id="1", body={"done": True})
            assert [each.id for each in client.items.get_list()] == [2]
            assert [each.id for each in client.items.mine()] == [2]
    assert sent == ["GET /items", "GET /items/mine", "PATCH /items/1", "GET /items", "GET /items/mine"]
