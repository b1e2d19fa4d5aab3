"""Invalidating and expiring many keys at once is the same whether it is carried out at once or when a key is read."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings
from tests.effort import tries

from restencil import Controller, Entity, RestEndpoint, Store


class Thing(Entity, key="Thing"):
    id: str = ""
    title: str = ""


def _bare(result: Any, *args: Any) -> dict[str, Any]:
    return {"GET /bare": lambda found: [*(found or ()), result]}


ENDPOINTS: dict[str, RestEndpoint[..., Any]] = {
    "thing": RestEndpoint(path="/things/:id", schema=Thing),
    "list": RestEndpoint(path="/things", schema=[Thing]),
    "plain": RestEndpoint(path="/plain/:id"),
    "updating": RestEndpoint(path="/updating/:id", schema=Thing, update=_bare),
}

names = st.sampled_from(sorted(ENDPOINTS))
ids = st.sampled_from("123")
steps = st.one_of(
    st.tuples(st.just("write"), names, ids),
    st.tuples(st.just("fail"), names, ids),
    st.tuples(st.just("read"), names, ids),
    st.tuples(st.just("invalidate one"), names, ids),
    st.tuples(st.just("expire one"), names, ids),
    st.tuples(st.sampled_from(["invalidate", "expire"]), names, st.just("")),
    st.tuples(st.just("look at all"), st.just(""), st.just("")),
)


def _args(name: str, number: str) -> dict[str, str]:
    return {} if name == "list" else {"id": number}


def _done(controller: Controller, step: tuple[str, str, str], *, at_once: bool) -> Any:
    kind, name, number = step
    if kind == "look at all":
        return _known(controller)
    endpoint = ENDPOINTS[name]
    match kind:
        case "write":
            value = [{"id": number, "title": "t"}] if name == "list" else {"id": number, "title": name}
            controller.set_response(endpoint, value, _args(name, number))
        case "fail":
            controller.set_error(endpoint, ValueError("no"), _args(name, number))
        case "read":
            found = controller.get_response(endpoint, _args(name, number))
            return found.expiry_status, found.expires_at, found.data, found.found
        case "invalidate one":
            controller.invalidate(endpoint, _args(name, number))
        case "expire one":
            controller.expire(endpoint, _args(name, number))
        case _:
            # A function of the user's may say something else later, so it is asked at once.
            test: Any = (lambda key: endpoint.test_key(key)) if at_once else endpoint
            (controller.invalidate_all if kind == "invalidate" else controller.expire_all)(test)
    return None


def _known(controller: Controller) -> Any:
    state = controller.store.state
    metas = {key: {**meta, "error": str(meta.get("error"))} for key, meta in state["meta"].items()}
    return state["endpoints"], metas


@settings(max_examples=tries(300))
@given(st.lists(steps, max_size=60))
def test_a_stamp_is_what_it_stands_for(history: list[tuple[str, str, str]]) -> None:
    """After any history both stores show the same at every read, and the same results and times at the end."""
    stamping, eager = Controller(Store(clock=lambda: 1000.0)), Controller(Store(clock=lambda: 1000.0))
    for step in history:
        assert _done(stamping, step, at_once=False) == _done(eager, step, at_once=True), step
    assert _known(stamping) == _known(eager)
