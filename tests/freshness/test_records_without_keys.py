"""Lists whose records have no primary key, as in `{"1": {"title": "…"}}`: nobody knows which record changed."""

from __future__ import annotations

from typing import Any, Final

import pytest
from tests.freshness.programs import World
from tests.freshness.server import NOTHING
from tests.freshness.small import small

SPEC: Final = """
entities: {Watch: {pk_optional: true, fields: {id: integer?, title: string, muted: boolean?}}}
resources:
  watches:
    path: /watches/:id
    schema: Watch
    search_params: {muted: boolean?}
    endpoints: {by_key: {path: /watches/by_key, schema: {found: {collection: {values: Watch}}}}}
"""
WORLDS: Final = {"memory": World(), "sqlite": World(sqlite=True)}


class Watches:
    """A server of watches: its lists have no keys in their records."""

    def __init__(self, *, echoes: bool) -> None:
        self.echoes = echoes
        self.watches: dict[int, dict[str, Any]] = {pk: {"title": f"Watch {pk}", "muted": False} for pk in (1, 2)}

    def __call__(self, method: str, target: str, body: Any) -> Any:
        """The response to a request."""
        pk = int(target.rpartition("/")[2]) if target[-1].isdecimal() else 0
        if target == "/watches/by_key":
            return {"found": {str(pk): one for pk, one in self.watches.items()}}
        if method == "GET":
            kept = [one for one in self.watches.values() if "muted" not in target or not one["muted"]]
            return {"id": pk, **self.watches[pk]} if pk else kept
        if method == "DELETE":
            del self.watches[pk]
            return NOTHING
        pk = pk or 3
        self.watches[pk] = {**self.watches.get(pk, {"muted": False}), **body}
        return {"id": pk, **self.watches[pk]} if self.echoes else NOTHING


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
@pytest.mark.parametrize("echoes", [True, False], ids=["whole", "nothing"])
@pytest.mark.parametrize(
    ("change", "arguments"),
    [
        ("watches.partial_update", {"id": 1, "body": {"title": "New"}}),
        ("watches.update", {"id": 1, "body": {"title": "New", "muted": True}}),
        ("watches.create", {"body": {"title": "New"}}),
        ("watches.delete", {"id": 1}),
    ],
)
@pytest.mark.parametrize(
    ("read", "read_arguments"),
    [("watches.get_list", {}), ("watches.get_list", {"muted": False}), ("watches.by_key", {})],
)
def test_list_of_records_without_keys_is_stale_after_each_change_of_one(
    read: str, read_arguments: dict[str, Any], change: str, arguments: dict[str, Any], echoes: bool, world: World
) -> None:
    with small(SPEC, Watches(echoes=echoes), world) as session:
        session.call(read, **read_arguments)
        session.call(change, **arguments)
        assert not session.is_fresh(read, read_arguments)
        session.call(read, **read_arguments)
        assert session.is_fresh(read, read_arguments)


@pytest.mark.parametrize("echoes", [True, False], ids=["whole", "nothing"])
@pytest.mark.parametrize(("reader", "writer"), [("", "other"), ("other", "")])
def test_list_of_records_without_keys_is_stale_after_a_change_of_another_process(
    reader: str, writer: str, echoes: bool
) -> None:
    """Whether or not the process that sends the change has loaded the list."""
    with small(SPEC, Watches(echoes=echoes), World(sqlite=True)) as session:
        session.call("watches.get_list", "whole", reader)
        session.sync()
        session.call("watches.partial_update", "whole", writer, id=1, body={"title": "New"})
        session.sync()
        assert not session.is_fresh("watches.get_list", {}, reader)
        assert not session.is_fresh("watches.get_list", {}, writer)


def test_list_of_records_with_keys_follows_a_change_although_the_key_is_optional() -> None:
    def answer(method: str, target: str, body: Any) -> Any:
        del target
        return {"id": 3, "muted": False, **body} if method == "POST" else [{"id": 1, "title": "A", "muted": False}]

    with small(SPEC, answer) as session:
        session.call("watches.get_list")
        session.call("watches.create", body={"title": "New"})
        assert session.is_fresh("watches.get_list", {})
        assert len(session.call("watches.get_list")) == 2


def test_nested_list_of_records_without_keys_is_replaced_by_the_response_to_a_change() -> None:
    """Nobody knows which of them the change has left out."""
    spec = """
entities:
  Note: {pk_optional: true, fields: {id: integer?, text: string}}
  Page: {fields: {id: integer, title: string, notes: {collection: [Note]}}}
resources: {pages: {path: "/pages/:id", schema: Page}, notes: {path: "/notes/:id", schema: Note}}
"""
    page: dict[str, Any] = {"id": 1, "title": "Old", "notes": [{"text": "a"}, {"text": "b"}]}

    def answer(method: str, target: str, body: Any) -> Any:
        del target
        page.update({"notes": [{"text": "b"}], **body} if method == "PATCH" else {})
        return page

    with small(spec, answer) as session:
        session.call("pages.get", id=1)
        session.call("pages.partial_update", id=1, body={"title": "New"})
        assert [note.text for note in session.call("pages.get", id=1).notes] == ["b"]
