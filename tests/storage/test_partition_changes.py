"""A change through a view with a header of its own, over a storage: other stores on it see that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.libraries import httpx
from tests.patience import eventually

from restencil import Controller, Entity, Resource, SQLiteStorage, Store, rest
from restencil.endpoint.typing import ControllerType


class Note(Entity):
    id: int = 0
    title: str = ""


class Notes(Resource[ControllerType], path="/notes/:id", schema=Note, strict=True):
    @rest()
    def get(self, *, id: int) -> Note:
        raise NotImplementedError

    @rest()
    def partial_update(self, *, id: int, body: dict[str, str]) -> Note:
        raise NotImplementedError


@pytest.mark.parametrize("is_open_before", [True, False], ids=["open store", "store opened later"])
def test_partition_changes_are_seen_by_other_stores_of_a_storage(tmp_path: Path, is_open_before: bool) -> None:
    """The view has no storage, and what it changed is stale in the storage of its client."""
    title = "old"

    def respond(request: httpx.Request) -> httpx.Response:
        nonlocal title
        if request.method == "PATCH":
            title = json.loads(request.content)["title"]
        return httpx.Response(200, json={"id": 1, "title": title})

    def opened() -> Controller:
        store = Store(storage=SQLiteStorage(tmp_path / "s", principal="ann"))
        client = httpx.Client(transport=httpx.MockTransport(respond))
        return Controller(store, client=client, base_url="https://a.example")

    with opened() as first:
        assert Notes(first).get(id=1).title == "old"
        first.store.flush()
        second = opened()
        if is_open_before:
            assert Notes(second).get(id=1).title == "old"
        Notes(first.with_options(headers={"Accept-Language": "de"})).partial_update(id=1, body={"title": "new"})
        first.store.flush()
        with second:
            eventually(lambda: Notes(second).get(id=1).title == "new")
