"""The synchronous and the asynchronous controller do the same, whatever happens.

Random histories in the form of conformance cases (fetches with answers that take their time, reads that wait, writes by
hand, invalidation, resets, subscriptions) run through both; every step says the same in both.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.conformance.worlds import StoreCase

from restencil import RestencilError

Json = Any
Step = dict[str, Json]

DEFINITIONS = {
    "User": {"kind": "entity", "key": "User", "fields": {"id": "", "name": ""}, "pk": "id"},
    "Task": {
        "kind": "entity",
        "key": "Task",
        "fields": {"id": "", "title": "", "rank": 0, "owner": None},
        "pk": "id",
        "schema": {"owner": "User"},
    },
}
OPTIONS = {"poll_frequency": 500, "data_expiry_length": 400, "error_expiry_length": 150, "pagination_field": "cursor"}
CASE: dict[str, Json] = {
    "definitions": DEFINITIONS,
    "resources": {
        "R": {"path": "/tasks/:id", "schema": "Task", "optimistic": True, **OPTIONS},
        "S": {"path": "/users/:id", "schema": "User", "error_policy": "soft_if_status_ge:500", **OPTIONS},
    },
    "endpoints": {
        "Text": {"path": "/text"},
        "Wait": {"path": "/wait", "schema": ["Task"], "invalid_if_stale": True, "data_expiry_length": 100},
        "All": {"path": "/all", "schema": {"kind": "all", "schema": "Task"}},
    },
}
READS = ("R.get", "R.get_list", "R.get_list.get_page", "S.get", "S.get_list", "Text", "Wait", "All")
MUTATIONS = ("R.update", "R.partial_update", "R.delete", "R.get_list.push", "R.get_list.unshift", "S.update")


class Histories:
    """Draws the steps of one history."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.labels: list[str] = []

    def steps(self, count: int) -> list[Step]:
        """That many changes, each followed by some looks at what there is."""
        found: list[Step] = []
        for _ in range(count):
            found.append(self._step())
            for label in self.choose.sample(self.labels, min(2, len(self.labels))):
                found.append({"op": "result", "of": label})
            found.append({"op": "read", **self._read(), "with_expiry": True})
        found += [{"op": "advance", "ms": 3_000}, *({"op": "result", "of": label} for label in self.labels)]
        found += [{"op": "table", "entity": "Task", "records": True}, {"op": "table", "entity": "[Task]"}]
        return found

    def _step(self) -> Step:
        pick = self.choose.random()
        if pick < 0.35:
            operation = self.choose.choice(["fetch", "fetch", "suspending_read", "fetch_if_stale"])
            return self._labelled({"op": operation, **self._read(), "respond": self._answer()})
        if pick < 0.55:
            return self._labelled({"op": "fetch", **self._mutation(), "respond": self._answer()})
        if pick < 0.75:
            return {"op": "advance", "ms": self.choose.choice([0, 1, 20, 60, 150, 450])}
        if pick < 0.83:
            return {"op": "set_response", **self._read(), "response": self._body()}
        if pick < 0.86:
            return {"op": "set_error", **self._read(), "error": {"status": self.choose.choice([400, 503])}}
        if pick < 0.92:
            return {"op": self.choose.choice(["subscribe", "unsubscribe"]), **self._read()}
        if pick < 0.95:
            return {"op": "invalidate", **self._read()}
        if pick < 0.98:
            return {"op": self.choose.choice(["invalidate_all", "expire_all"]), "endpoint": self.choose.choice(READS)}
        return {"op": "reset"}

    def _labelled(self, step: Step) -> Step:
        label = f"f{len(self.labels)}"
        self.labels.append(label)
        if self.choose.random() < 0.1:
            del step["respond"]
        return {**step, "as": label}

    def _read(self) -> Step:
        endpoint = self.choose.choice(READS)
        if endpoint in ("R.get", "S.get"):
            return {"endpoint": endpoint, "args": [{"id": self.choose.choice("12")}]}
        if endpoint == "R.get_list.get_page":
            return {"endpoint": endpoint, "args": [{"cursor": self.choose.randrange(3)}]}
        return {"endpoint": endpoint, "args": [{"rank": 1}] if self.choose.random() < 0.2 else []}

    def _mutation(self) -> Step:
        endpoint = self.choose.choice(MUTATIONS)
        params = {"id": self.choose.choice("12")}
        body = {"title": self.choose.choice("xyz"), "rank": self.choose.randrange(3)}
        if endpoint == "R.delete":
            return {"endpoint": endpoint, "args": [params]}
        return {"endpoint": endpoint, "args": [body] if "get_list" in endpoint else [params, body]}

    def _answer(self) -> Json:
        after = self.choose.choice([0, 1, 20, 60, 300])
        if self.choose.random() < 0.15:
            return {"after": after, "network_error": True}
        if self.choose.random() < 0.15:
            return {"after": after, "status": self.choose.choice([401, 404, 500]), "body": {}}
        return {"after": after, "body": self._body()}

    def _body(self) -> Json:
        one: dict[str, Json] = {"id": self.choose.choice("123"), "title": self.choose.choice("xyz")}
        if self.choose.random() < 0.3:
            one["owner"] = {"id": self.choose.choice("12"), "name": self.choose.choice("ab")}
        return self.choose.choice([one, [one], [one, {"id": "9", "rank": 1}], []])


def _played(world: Any, steps: list[Step]) -> list[Json]:
    case = StoreCase(CASE, world)
    try:
        return [_told(case, step) for step in steps]
    finally:
        case.close()


def _told(case: StoreCase, step: Step) -> Json:
    try:
        return case.run(step)
    except RestencilError as error:
        return f"{type(error).__name__}: {error}"


def _compare(seed: int) -> None:
    steps = Histories(seed).steps(30)
    sync, asynchronous = _played("sync", steps), _played("async", steps)
    for place, (one, other) in enumerate(zip(sync, asynchronous, strict=True)):
        assert one == other, f"seed {seed}, step {place}: {steps[place]}"


@pytest.mark.parametrize("seed", range(20))
def test_worlds_sync_and_async_do_the_same(seed: int) -> None:
    """Every step of a random history says the same in both worlds."""
    _compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_worlds_sync_and_async_do_the_same_for_long(part: int) -> None:
    """The same for a thousand histories."""
    for seed in range(1_000 + 100 * part, 1_100 + 100 * part):
        _compare(seed)
