"""Moves settings that most operations share to the spec or the resource."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from restencil_generator.openapi.infer.context import Endpoint
from restencil_generator.openapi.infer.previous_choices import PreviousChoices
from restencil_generator.openapi.spec_tree import Tree, Value

_ENVELOPES: Final[dict[str, Callable[[Endpoint], str | None]]] = {
    "envelope": lambda endpoint: endpoint.one,
    "list_envelope": lambda endpoint: endpoint.many,
    "request": lambda endpoint: endpoint.request,
}


def errors(tree: Tree, top: dict[str, Value], endpoints: list[Endpoint], last: PreviousChoices) -> None:
    """Move errors of all operations to the top level, and reset them in operations without them.

    Errors that were at the top level or at single operations in the last import stay there.
    """
    counted = Counter((status, json.dumps(value)) for each in endpoints for status, value in each.errors.items())
    shared = {
        status: json.loads(text)
        for (status, text), count in sorted(counted.items())
        if text == json.dumps(last.errors.get(status)) or (count == len(endpoints) and status not in last.statuses)
    }
    if shared:
        top["errors"] = shared
        many = sum(all(each.errors.get(status) == value for status, value in shared.items()) for each in endpoints)
        tree.comments[("errors",)] = f"on {many} of {len(endpoints)} operations"
    for each in endpoints:
        own = {status: value for status, value in each.errors.items() if shared.get(status) != value}
        own |= {status: None for status in shared if status not in each.errors}
        if own:
            each.values["errors"] = dict(sorted(own.items()))


def envelopes(
    top: dict[str, Value],
    written: Mapping[str, tuple[dict[str, Value], list[Endpoint]]],
    last: PreviousChoices,
) -> None:
    """Move envelopes that most endpoints have to the resource or the spec. Those of the last import stay there."""
    whole: dict[str, Counter[str]] = {"envelope": Counter(), "list_envelope": Counter(), "request": Counter()}
    kept: dict[str, dict[str, str]] = {}
    count = 0
    for name, (_, endpoints) in written.items():
        kept[name] = {}
        for key, of in _ENVELOPES.items():
            envelopes_of = [value for each in endpoints if (value := of(each)) is not None]
            if envelopes_of:
                most = max(sorted(set(envelopes_of)), key=lambda value: envelopes_of.count(value))  # used at once
                first = next((of(each) for each in endpoints if each.member and of(each) is not None), None)
                if first is None and any(each.member for each in endpoints):
                    continue  # envelopes of added endpoints stay with them
                kept[name][key] = first if first is not None else most
                whole[key][kept[name][key]] += 1
        count += any(each.member for each in endpoints)
    shared = {
        key: next((env for env, times in counter.most_common(1) if env and count > 1 and times * 2 >= count), "")
        for key, counter in whole.items()
    }
    shared |= {key: found for key in shared if (found := last.envelope(key)) is not None}
    _put_envelopes(top, shared, {})
    for name, (values, endpoints) in written.items():
        group = not any(each.member for each in endpoints)
        own = {key: kept[name].get(key, shared[key]) for key in shared} if not group else dict(shared)
        if not group:
            _put_envelopes(values, own, shared)
        for each in endpoints:
            mine = {key: value if (value := of(each)) is not None else own[key] for key, of in _ENVELOPES.items()}
            _put_envelopes(each.values, mine, own)


def _put_envelopes(values: dict[str, Value], own: Mapping[str, str], inherited: Mapping[str, str]) -> None:
    """Write the envelopes that differ from the inherited ones."""
    for key, envelope in own.items():
        if envelope == inherited.get(key, ""):
            continue
        place, word = ("request", "envelope") if key == "request" else ("response", key)
        known = values.get(place)
        values[place] = {**(known if isinstance(known, dict) else {}), word: envelope or None}
