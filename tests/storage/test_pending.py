"""A change that the server has not confirmed is in memory only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.libraries import httpx
from tests.patience import PATIENCE

import restencil
from restencil import Controller, Entity, Store, create_resource

MARK = "m4rk3d"


class Draft(Entity, key="PendingDraft"):
    id: str = ""
    title: str = ""


Drafts: Any = create_resource(url_prefix="http://drafts", path="/drafts/:id", schema=Draft, optimistic=True)


def test_pending_change_and_the_body_of_a_rejected_one_are_never_stored(tmp_path: Path) -> None:
    """While it is shown, and after the server has rejected it, nothing of it is in a file of the storage."""

    def written() -> bytes:
        assert store.flush(PATIENCE * 1_000)
        return b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())

    def shown() -> str:
        found: Any = controller.cached(Drafts.get, id="1")
        return str(found.title)

    def respond(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"id": "1", "title": "first"})
        assert shown() == MARK
        assert MARK.encode() not in written()
        return httpx.Response(422, json={})

    store = Store(storage=restencil.SQLiteStorage(tmp_path / "cache", principal=None))
    client = httpx.Client(transport=httpx.MockTransport(respond))
    with client, store, Controller(store, client=client) as controller:
        controller.read(Drafts.get, id="1")
        assert b"first" in written()
        with pytest.raises(restencil.UnprocessableEntityError):
            controller.fetch(Drafts.partial_update, {"id": "1"}, {"title": MARK})
        assert shown() == "first"
        assert MARK.encode() not in written()
