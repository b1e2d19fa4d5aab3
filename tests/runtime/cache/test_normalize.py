"""Writing entities: the merge rules, whatever the order in which answers arrive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.runtime.doubles import AnyEndpoint, Desk

from restencil import Entity, ProcessingError, RestEndpoint, schema
from restencil.base.values import Meta
from restencil.cache.normalize_compiled import compile_normalizer
from restencil.schema import schema_of


class Note(Entity):
    id: str = ""
    title: str = ""


def _endpoint(raw: Any, *, compiled: bool = False) -> AnyEndpoint:
    endpoint: AnyEndpoint = RestEndpoint(path="/notes/:id?", schema=raw)
    node = schema_of(endpoint.schema)
    if compiled and node is not None:
        node.normalizer = compile_normalizer(node)
    return endpoint


def test_normalize_merge_sees_stored_form_and_may_decide() -> None:
    """`merge(existing, incoming)` gets nested entities as primary keys; the older one comes first."""
    seen: list[tuple[dict[str, Any], dict[str, Any]]] = []

    class Counted(Entity, schema={"note": Note}):
        id: str = ""

        @classmethod
        def merge(cls, existing: Mapping[str, Any], incoming: Mapping[str, Any]) -> Mapping[str, Any]:
            seen.append((dict(existing), dict(incoming)))
            return {**existing, **incoming, "count": existing.get("count", 0) + 1}

    endpoint = _endpoint(Counted)
    desk = Desk()
    desk.now = 5_000
    desk.answer(endpoint, {"id": "1", "note": {"id": "n"}}, {"id": 1}, started=3_000)
    desk.answer(endpoint, {"id": "1", "note": {"id": "m"}}, {"id": 1}, started=4_000)
    desk.answer(endpoint, {"id": "1", "late": True}, {"id": 1}, started=2_000)
    assert seen == [
        ({"id": "1", "note": "n"}, {"id": "1", "note": "m"}),
        ({"id": "1", "late": True}, {"id": "1", "note": "m", "count": 1}),
    ]
    assert desk.data(endpoint, {"id": 1}).count == 1


def test_normalize_should_reorder_may_compare_what_the_server_says() -> None:
    """Its answer decides which side is older, for the fields and for the times."""

    class Dated(Entity):
        id: str = ""
        at: int = 0

        @classmethod
        def should_reorder(
            cls, existing_meta: Meta, incoming_meta: Meta, existing: Mapping[str, Any], incoming: Mapping[str, Any]
        ) -> bool:
            return bool(incoming["at"] < existing["at"])

    endpoint = _endpoint(Dated)
    desk = Desk()
    desk.answer(endpoint, {"id": "1", "at": 5, "x": 5}, {"id": 1})
    desk.now = 2_000
    desk.answer(endpoint, {"id": "1", "at": 4, "x": 4, "y": 4}, {"id": 1})
    assert desk.table("Dated")["1"] == {"id": "1", "at": 5, "x": 5, "y": 4}
    assert desk.store.entity_meta("Dated", "1") == (1_000, 1_000, 61_000)


@pytest.mark.parametrize("compiled", [False, True])
def test_normalize_very_deep_response_is_rejected_and_not_a_crash(compiled: bool) -> None:
    """What is nested beyond all measure is a processing error."""

    class Tree(Entity):
        id: str = ""
        schema = {"child": schema.Lazy(lambda: Tree)}

    deep: dict[str, Any] = {"id": "0"}
    for number in range(100_000):
        deep = {"id": str(number), "child": deep}
    with pytest.raises(ProcessingError):
        Desk().answer(_endpoint(Tree, compiled=compiled), deep)
    while deep:
        deep = deep.pop("child", {})
