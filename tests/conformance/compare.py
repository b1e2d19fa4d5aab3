"""How a case's expectation and what a build gives are compared: JSON equality with three allowances.

An object member that is None equals an absent one; a step marked `unordered` compares its list as a multiset; what a
reader cannot tell apart (missing and invalid data) is one state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

KeyOf: TypeAlias = Callable[[Any], tuple[str, str | None, dict[str, Any]] | None]
"""Table key, primary key and members of an entity; None for anything else."""


def plain(value: Any, key_of: KeyOf, path: tuple[str, ...] = ()) -> Any:
    """A value of the library as JSON; an entity that is its own ancestor is shown as a reference to it."""
    found = key_of(value)
    if found is not None:
        key, pk, members = found
        tag = f"{key}:{pk}"
        if pk is not None and tag in path:
            return {"$ref": tag}
        return {name: plain(member, key_of, (*path, tag)) for name, member in members.items()}
    if isinstance(value, Mapping):
        mapping: Mapping[Any, Any] = value
        return {name: plain(member, key_of, path) for name, member in mapping.items()}
    if isinstance(value, (list, tuple)):
        items: list[Any] | tuple[Any, ...] = value
        return [plain(item, key_of, path) for item in items]
    return value


def differences(expected: Any, actual: Any, where: str = "$", unordered: bool = False) -> list[str]:
    """What differs, one text a place; empty where the two are equal."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _member_differences(expected, actual, where)
    if isinstance(expected, list) and isinstance(actual, list):
        return _item_differences(expected, actual, where, unordered)
    same_kind = isinstance(expected, bool) == isinstance(actual, bool)
    return [] if same_kind and expected == actual else [f"{where}: {actual!r}, expected {expected!r}"]


def _member_differences(expected: dict[Any, Any], actual: dict[Any, Any], where: str) -> list[str]:
    out: list[str] = []
    for name in [*expected, *(name for name in actual if name not in expected)]:
        if name not in expected:
            if actual[name] is not None:
                out.append(f"{where}.{name}: unexpected {actual[name]!r}")
        elif name not in actual:
            if expected[name] is not None:
                out.append(f"{where}.{name}: missing, expected {expected[name]!r}")
        else:
            out += differences(expected[name], actual[name], f"{where}.{name}")
    return out


def _item_differences(expected: list[Any], actual: list[Any], where: str, unordered: bool) -> list[str]:
    if len(expected) != len(actual):
        return [f"{where}: {len(actual)} items, expected {len(expected)}: {actual!r:.300}"]
    if unordered:
        expected, actual = sorted(expected, key=_rank), sorted(actual, key=_rank)
    pairs = enumerate(zip(expected, actual, strict=True))
    return [text for place, (one, other) in pairs for text in differences(one, other, f"{where}[{place}]")]


def _rank(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def step_differences(step: Mapping[str, Any], actual: Mapping[str, Any]) -> list[str]:
    """What one step of a `store` case gave otherwise than expected; `actual` has the members of `expect`."""
    expected: dict[str, Any] = dict(step.get("expect", {}))
    found: dict[str, Any] = dict(actual)
    if step["op"] == "read":
        if "error" in expected:  # the read raises, so its data is not looked at
            for side in (expected, found):
                side.pop("data", None)
                side.pop("data_state", None)
        if step.get("no_data"):
            found.pop("data", None)
            found.pop("data_state", None)
        if "expires_in" not in expected:
            found.pop("expires_in", None)
    for side in (expected, found):
        if side.get("data_state") in ("missing", "invalid"):
            side["data_state"] = "none"
            side.pop("data", None)
    out = differences(_without_data(expected), _without_data(found))
    if "data" in expected or "data" in found:
        out += differences(expected.get("data"), found.get("data"), "$.data", bool(step.get("unordered", False)))
    return out


def _without_data(side: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in side.items() if name != "data"}
