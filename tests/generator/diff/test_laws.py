"""Laws of comparing: nothing is found where nothing changed, and everything is seen that can be said."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.effort import tries
from tests.generator.diff.edits import BEFORE, BEFORE_WIDE, EDITS, WIDE
from tests.generator.specs_at_random import loaded, specs

from restencil_generator.diff import RULES, compare
from restencil_generator.diff.ignored_attributes import SILENT
from restencil_generator.spec import model as d
from restencil_generator.spec.load import load_spec, load_text

ROOT = Path(__file__).parents[3]


@settings(max_examples=tries(25))
@given(specs())
def test_a_spec_is_no_change_of_itself(data: dict[str, Any]) -> None:
    """Whatever a spec holds, nothing is found between it and itself."""
    spec, again = loaded(data), loaded(data)
    if spec is not None and again is not None:
        assert compare(spec, again) == []


@pytest.mark.parametrize("path", sorted((ROOT / "specs").glob("*.yaml")), ids=lambda path: path.stem)
def test_none_of_our_specs_is_a_change_of_itself(path: Path) -> None:
    """The specs of the examples, which use every word of the language."""
    first, second = load_spec(path).declaration, load_spec(path).declaration
    assert first is not None
    assert second is not None
    assert compare(first, second) == []


@settings(max_examples=tries(15))
@given(specs(), specs())
def test_any_two_specs_can_be_compared(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Never an error, and the same findings every time, each once."""
    old, new = loaded(one), loaded(other)
    if old is not None and new is not None:
        found = compare(old, new)
        assert found == compare(old, new)
        assert len(set(found)) == len(found)
        assert all(finding.rule in RULES for finding in found)


NOT_YET = {"event-added", "event-removed", "event-type-changed", "stream-added", "stream-changed", "stream-removed"}
"""Rules about what the language cannot say yet."""


def test_each_rule_has_an_edit() -> None:
    """The edits are at least 120, and every rule but those of a later language is told of one of them."""
    assert len(EDITS) + len(WIDE) >= 120
    told = {finding.partition(" ")[0] for edit in (*EDITS, *WIDE) for finding in edit.findings}
    assert sorted(RULES.keys() - told) == sorted(NOT_YET)


# ----------------------------------------------------------------------------------------- everything that can be said

SPECS = (BEFORE, BEFORE_WIDE, *(path.read_text("utf-8") for path in sorted((ROOT / "specs").glob("*.yaml"))))


def _loaded(text: str) -> d.Spec:
    spec = load_text(text).declaration
    assert spec is not None
    return spec


Step = tuple[str, Any]
"""A step down from the spec: into a field, an item or a member."""


def _parts(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Each instance of a class of the declaration, with the way to it."""
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _parts(item, (*path, ("item", index)))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _parts(item, (*path, ("member", key)))
    elif dataclasses.is_dataclass(value) and type(value).__module__ in (d.__name__, d.Type.__module__):
        yield path, value
        for field in dataclasses.fields(value):
            if field.compare and field.name != "example":
                yield from _parts(getattr(value, field.name), (*path, ("field", field.name)))


def _with(value: Any, path: tuple[Step, ...], new: Any) -> Any:
    """A value in which a part is another one."""
    if not path:
        return new
    (how, key), *rest = path
    if how == "field":
        return dataclasses.replace(value, **{key: _with(getattr(value, key), tuple(rest), new)})
    if how == "item":
        return (*value[:key], _with(value[key], tuple(rest), new), *value[key + 1 :])
    return {**value, key: _with(value[key], tuple(rest), new)}


def _others(value: Any, hint: Any) -> Iterator[Any]:
    """Values beside one, of its kind."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(value, d.Type):
        yield from (one for one in (d.Scalar("boolean"), d.Scalar("uuid")) if one != value)
    if _is_whole(value) and type(None) in arguments:
        yield None
    elif isinstance(value, bool):
        yield not value
    elif origin is typing.Literal:
        yield from (one for one in arguments if one != value)
    elif isinstance(value, int):
        yield value + 1
    elif isinstance(value, str):
        yield f"{value}x"
    elif isinstance(value, tuple | frozenset | dict) and value:
        yield type(value)()
    elif value is None or value is d.MISSING or value in ((), {}):
        yield from _made(hint)
    for one in arguments if origin is not typing.Literal else ():
        if typing.get_origin(one) is typing.Literal:
            yield from (other for other in typing.get_args(one) if other != value)


def _is_whole(value: Any) -> bool:
    """Whether a value has parts of its own, each of which is changed by itself."""
    return dataclasses.is_dataclass(value) and type(value).__module__ in (d.__name__, d.Type.__module__)


_MADE: Mapping[Any, Any] = {
    bool: True,
    int: 7,
    str: "x",
    d.Reference: d.Reference("hooks", "other"),
    d.Field: d.Field("extra", "extra", "extra", d.Scalar("string")),
    d.Body: d.Body("any"),
    d.Scalar: d.Scalar("boolean"),
    d.Example: d.Example({"x": 1}),
    d.Next: d.Next("response", ("elsewhere",)),
    d.Nest: d.Nest("id", "id"),
}


def _made(hint: Any) -> Iterator[Any]:
    """Values of a type."""
    if hint in _MADE:
        yield _MADE[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        yield from (
            ((made,) if len(arguments) == 2 and arguments[1] is ... else (made, *(None for _ in arguments[1:])))
            for made in _made(arguments[0])
        )
    elif origin is typing.Literal:
        yield from arguments
    elif origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        yield from ({"409": made} for made in _made(arguments[1]))
    elif arguments:
        for one in arguments:
            yield from _made(one)


def _seen() -> dict[tuple[str, str], bool]:
    """Whether a change of each part of each class is seen in one of the specs at least."""
    seen: dict[tuple[str, str], bool] = {}
    for text in SPECS:
        spec = _loaded(text)
        for path, part in _parts(spec):
            name = type(part).__name__
            hints = _HINTS.setdefault(type(part), typing.get_type_hints(type(part), localns={"Json": Any}))
            for field in dataclasses.fields(part):
                if not field.init or not field.compare or seen.get((name, field.name)):
                    continue
                if field.name in SILENT.get(name, {}):
                    continue
                others = [*_others(getattr(part, field.name), hints[field.name])]
                if _is_whole(getattr(part, field.name)) and not others:
                    continue
                seen.setdefault((name, field.name), False)
                for other in others:
                    try:
                        changed = _with(spec, path, dataclasses.replace(part, **{field.name: other}))
                        seen[name, field.name] = bool(compare(spec, changed))
                    except (KeyError, AttributeError, AssertionError, TypeError, StopIteration):
                        continue  # what no spec can be
                    if seen[name, field.name]:
                        break
    return seen


_HINTS: dict[type, dict[str, Any]] = {}


def test_each_part_of_a_declaration_is_compared_or_said_to_mean_nothing() -> None:
    """A part that is known to neither is one whose changes nobody is told of."""
    seen = _seen()
    assert sorted(f"{name}.{part}" for (name, part), found in seen.items() if not found) == []


def test_what_is_said_to_mean_nothing_exists() -> None:
    """No reason is left of a part that is gone."""
    for name, parts in SILENT.items():
        known = {field.name for field in dataclasses.fields(getattr(d, name))}
        assert parts.keys() <= known, name
