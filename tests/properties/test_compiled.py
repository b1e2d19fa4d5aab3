"""Compiled functions do what the interpreter does, for any schema, value, order of responses and hook.

Each history is normalized twice, by the interpreter and by functions that are compiled at once; after each response the
two have the same tables, times, indexes, results and errors. What is stored is then read in both ways. At last, two
responses are normalized over each other as optimistic ones are.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from types import new_class
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from tests.effort import examples, thorough

from restencil import Entity, schema
from restencil.base.values import Sentinel
from restencil.cache.actions import Meta
from restencil.cache.compiling import PAYS
from restencil.cache.denormalize import Denormalization
from restencil.cache.denormalize_compiled import reader_of
from restencil.cache.dependency_graph import DependencyGraph
from restencil.cache.normalize import Normalization
from restencil.cache.tables import Tables
from restencil.schema.entity import EntitySchema
from restencil.schema.notation import schema_of
from restencil.schema.protocol import Schema
from restencil.schema.stored import record_of

Json = Any
Record = Mapping[str, Json]

NAMES = ("Alpha", "Beta", "Gamma")
RELATIONS = ("r", "s")

# -- hooks -----------------------------------------------------------------------------------------------------------


def _process(cls: Any, value: Mapping[str, Json], parent: Any, key: str | None, args: tuple[Any, ...]) -> Json:
    if value.get("a") == "drop":
        return None
    return {**value, "seen": [key, len(args), isinstance(parent, Mapping)]}


def _validate(cls: Any, record: Mapping[str, Json]) -> str | None:
    return "a is bad" if record.get("a") == "bad" else None


def _merge(cls: Any, existing: Mapping[str, Json], incoming: Mapping[str, Json]) -> Mapping[str, Json]:
    return {**existing, **incoming, "merged": int(existing.get("merged", 0)) + 1}


def _should_update(cls: Any, stored_meta: Any, meta: Any, stored: Record, comes: Record) -> bool:
    return stored.get("b") != comes.get("b")


def _should_reorder(cls: Any, stored_meta: Any, meta: Any, stored: Record, comes: Record) -> bool:
    return str(comes.get("b")) < str(stored.get("b"))


def _merge_with_store(cls: Any, stored_meta: Any, meta: Any, stored: Any, comes: Any) -> Any:
    if isinstance(stored, Sentinel) or isinstance(comes, Sentinel):
        return comes
    return {**comes, **stored, "kept": True}


_HOOKS: tuple[Any, ...] = (_process, _validate, _merge, _should_update, _should_reorder, _merge_with_store)
HOOKS: dict[str, Callable[..., Any]] = {hook.__name__.removeprefix("_"): hook for hook in _HOOKS}
FORMS = ("one", "list", "array", "object", "values", "union", "several", "collection", "gone")
TRAITS = ("indexed", "renamed", "typed", "pk method", "two parts", "factory", "same table")


def _pk(entity: Any) -> Any:
    return entity.id


def _two_parts(entity: Any) -> str | None:
    return None if entity.id in (None, "") else f"{entity.id}/{entity.a}"


def _class(name: str, traits: frozenset[str], relations: Mapping[str, Any]) -> type[Entity]:
    def body(namespace: dict[str, Any]) -> None:
        namespace["__module__"] = __name__
        kind = datetime.date if "typed" in traits else Any
        namespace["__annotations__"] = {"id": Any, "a": Any, "b": Any, "day": kind, **dict.fromkeys(relations, Any)}
        namespace |= {"id": "", "a": "", "b": 0, "day": None, **dict.fromkeys(relations)}
        if "factory" in traits:
            namespace["b"] = {1, 2}  # a default that is made anew each time
        if "pk method" in traits:
            namespace["pk"] = _pk
        if "two parts" in traits:
            namespace["pk"] = _two_parts
        for hook in traits & HOOKS.keys():
            namespace[hook] = classmethod(HOOKS[hook])

    options: dict[str, Any] = {"key": NAMES[0] if "same table" in traits else name, "schema": dict(relations)}
    if "indexed" in traits:
        options["indexes"] = ("b",)
    if "renamed" in traits:
        options["wire"] = {"b": "bee", **({"r": "are"} if "r" in relations else {})}
    made: type[Entity] = new_class(name, (Entity,), options, body)
    return made


@st.composite
def setups(draw: st.DrawFn) -> tuple[str, Any]:
    """A description of what was drawn, and a schema."""
    count = draw(st.integers(1, len(NAMES)))
    classes: dict[str, type[Entity]] = {}
    told: list[str] = []

    def later(name: str) -> Any:
        return schema.Lazy(lambda: classes[name])

    def drawn(depth: int, *, nested: bool) -> tuple[str, Any]:
        name = draw(st.sampled_from(NAMES[:count]))
        kind = draw(st.sampled_from(["one", *FORMS]))
        if kind == "one" or (depth == 0 and kind in ("list", "array", "object", "values")):
            return name, later(name)
        if kind in ("list", "array", "values", "object"):
            text, inner = drawn(depth - 1, nested=nested)
            other_text, other = drawn(depth - 1, nested=nested)
            match kind:
                case "list":
                    return f"[{text}]", [inner]
                case "array":
                    return f"Array({text})", schema.Array(inner)
                case "values":
                    return f"Values({text})", schema.Values(inner)
                case _:
                    return f"{{m: {text}, n: {other_text}}}", schema.Object({"m": inner, "n": other})
        if kind == "union":
            mapping = {one: later(one) for one in NAMES[:count]}
            return "Union", schema.Union(mapping, schema_attribute="b")
        if kind == "several":
            attribute = draw(st.sampled_from(["", "b", "bee"]))
            others = draw(st.sampled_from([(), (str, int), (dict, [later(name)])]))
            types = [*map(later, NAMES[:count]), datetime.date, *others]
            return f"OneOf by {attribute!r}", schema.OneOf(types, attribute)
        if kind == "collection":
            options: dict[str, Any] = {"nest_key": _nest} if nested else {}
            return f"Collection([{name}])", schema.Collection([later(name)], **options)
        return f"Invalidate({name})", schema.Invalidate(later(name))

    for name in NAMES[:count]:
        traits = draw(st.frozensets(st.sampled_from([*HOOKS, *TRAITS]), max_size=2))
        relations: dict[str, Any] = {}
        for relation in draw(st.sets(st.sampled_from(RELATIONS), max_size=2)):
            text, relations[relation] = drawn(1, nested=True)
            told.append(f"{name}.{relation}: {text}")
        told.append(f"{name}: {sorted(traits)}")
        classes[name] = _class(name, traits, relations)
    text, top = drawn(2, nested=False)
    if draw(st.booleans()) and isinstance(top, schema.Collection):
        text, top = f"{text}.push", top.push
    return "; ".join([text, *told]), top


def _nest(parent: Mapping[str, Json], key: str | None) -> dict[str, Json]:
    return {"of": parent.get("id"), "key": key}


# -- values ----------------------------------------------------------------------------------------------------------

ids = st.sampled_from([1, "1", "2", 0, 2.5, "", None, True, "undefined"])
small: st.SearchStrategy[Json] = st.sampled_from(
    ["", "x", "bad", "drop", None, 0, 1, True, [1, {"a": 2}], {"b": []}, *NAMES]
)
scalars = st.one_of(st.none(), st.sampled_from(["1", "2", 1, 0, "", True, "nobody"]))
good_ids = st.sampled_from([1, "1", "2", "3", *map(str, range(4, 12))])


def _records(inner: st.SearchStrategy[Json], known: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {"id": known},
        optional={
            "a": small,
            "b": small,
            "bee": small,
            "day": st.sampled_from(["2026-01-02", None]),
            "r": inner,
            "s": inner,
            "are": inner,
            "to_dict": small,
            "extra": small,
        },
    )


def _values(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.one_of(
        _records(inner, good_ids),
        _records(inner, ids),
        st.lists(inner, max_size=3),
        st.fixed_dictionaries({}, optional={"m": inner, "n": inner, "o": small}),
    )


anything = st.recursive(scalars, _values, max_leaves=6)


def _fitting(draw: st.DrawFn, node: Schema | None, depth: int) -> Json:
    """A value that mostly fits the schema."""
    if draw(st.integers(0, 24)) == 0:
        return draw(anything)
    if draw(st.integers(0, 11)) == 0:
        return draw(scalars)
    if depth == 0:
        return draw(scalars)
    if isinstance(node, EntitySchema):
        record = draw(_records(st.none(), good_ids))
        for name in ("r", "s", "are"):
            record.pop(name, None)
        for relation in node.model.relations:
            if draw(st.booleans()):
                record[relation.in_json] = _fitting(draw, relation.node, depth - 1)
        return record
    children = list(node.children()) if node is not None else []
    if isinstance(node, schema.Object):
        members = zip(("m", "n"), children, strict=True)
        return {name: _fitting(draw, child, depth - 1) for name, child in members if draw(st.booleans())}
    if isinstance(node, schema.Values):
        return {name: _fitting(draw, children[0], depth - 1) for name in draw(st.sets(st.sampled_from("xy")))}
    if isinstance(node, schema.OneOf) and draw(st.booleans()):
        return draw(st.sampled_from(["2026-01-02", "x", 1, 1.5, True, {"id": "1", "schema": NAMES[0]}, ["1", {}]]))
    if isinstance(node, schema.Union | schema.OneOf):
        name = draw(st.sampled_from(NAMES))
        return {**draw(_records(st.none(), good_ids)), "b": name, "bee": name, "r": None, "s": None, "are": None}
    if isinstance(node, schema.Invalidate):
        return draw(st.one_of(good_ids, _records(st.none(), good_ids)))
    item = children[0] if children else None
    if isinstance(node, schema.Collection):
        item = next(iter(item.children())) if item is not None else None
    items = [_fitting(draw, item, depth - 1) for _ in range(draw(st.one_of(st.integers(0, 3), st.integers(4, 7))))]
    times = draw(st.sampled_from([1, 1, 3]))  # long lists are read in another way
    return [item for _ in range(times) for item in deepcopy(items)]


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, Any, list[tuple[Json, int]]]:
    """A setup and a history of responses, each with how long ago its request started; some come several times."""
    told, top = draw(setups())
    node = schema_of(top)
    history: list[tuple[Json, int]] = []
    for back in draw(st.lists(st.sampled_from([0, 0, 5, 25]), min_size=1, max_size=5)):
        again = draw(st.booleans()) and history
        history.append((draw(st.sampled_from(history))[0] if again else _fitting(draw, node, 4), back))
    return told, top, history


# -- comparing -------------------------------------------------------------------------------------------------------


def _nodes(top: Any) -> Iterator[Schema]:
    seen: dict[int, Schema] = {}
    waiting: list[Schema | None] = [schema_of(top)]
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen[id(node)] = node
        waiting += node.children()
        if isinstance(node, EntitySchema):
            waiting += [relation.node for relation in node.model.relations]
    yield from seen.values()


def _shown(stored: Any) -> tuple[str, Any]:
    return type(stored).__name__, record_of(stored)


def _state(tables: Tables) -> Any:
    return (
        {table: {pk: _shown(stored) for pk, stored in cells.items()} for table, cells in tables.entities.items()},
        {table: list(cells) for table, cells in tables.entities.items()},
        tables.metas,
        {table: {name: dict(found) for name, found in names.items()} for table, names in tables.indexes.items()},
    )


class _Interpreted(Normalization):
    """Normalizes by the schemas' own methods alone, so that each record is written when it is met."""

    def visit(self, schema: Schema | None, value: Any, parent: Any, key: str | None) -> Any:
        if schema is not None and type(value) in (dict, list):
            return schema.normalize(value, parent, key, self)
        return super().visit(schema, value, parent, key)


class _Together(Normalization):
    """Asks of two records together what otherwise is asked of many."""

    many = 2


def _outcome(
    kind: type[Normalization], tables: Any, node: Schema, response: Json, meta: Meta, *, owns_response: bool = False
) -> tuple[str, Any]:
    run = kind(tables, ({"id": "1"}, {"a": "x"}), meta, placeholder_id=7, owns_response=owns_response)
    try:
        result = run.write(node, response)
    except Exception as error:
        return type(error).__name__, str(error)
    tables.commit(run.change)
    return "stored", result


def _layer(kind: type[Normalization], tables: Tables, node: Schema, history: list[tuple[Json, int]]) -> Any:
    """What the first and the last response of a history write, one over the other, neither of them committed."""
    state: Any = tables
    try:
        for response, back in (history[0], history[-1]):
            at = 200.0 - back
            run = kind(state, ({"id": "1"}, {"a": "x"}), Meta(at, at, at + 60_000), placeholder_id=7)
            run.write(node, deepcopy(response))
            state = run.change
    except Exception as error:
        return type(error).__name__, str(error)
    cells = {
        table: {pk: _shown(stored) for pk, stored in found.items()} for table, found in run.change.entities.items()
    }
    return cells, {path: run.change.meta(*path) for path in run.change.cells()}, run.change.indexes


def _empty(value: Json) -> None:
    if isinstance(value, (dict, list)):
        for inner in list(value.values()) if isinstance(value, dict) else value:
            _empty(inner)
        value.clear()


def _read(reader: Denormalization, node: Schema, stored: Any) -> Any:
    try:
        return _told(reader.read(node, stored, "key"), {})
    except Exception as error:
        return type(error).__name__, str(error)


def _told(value: Any, known: dict[int, int]) -> Any:
    """A value with its types; an entity that was met before is told by its number, so sharing and rings show."""
    kind = type(value).__name__
    if isinstance(value, Entity):
        if id(value) in known:
            return f"the same as {known[id(value)]}"
        known[id(value)] = len(known)
        return kind, {name: _told(member, known) for name, member in value.to_dict().items()}
    if isinstance(value, dict):
        members: dict[Any, Any] = value
        return kind, {name: _told(member, known) for name, member in members.items()}
    if isinstance(value, list):
        items: list[Any] = value
        return kind, [_told(item, known) for item in items]
    return kind, value


def _compare(case: tuple[str, Any, list[tuple[Json, int]]], *, together: bool) -> None:
    told, top, history = case
    node = schema_of(top)
    assert node is not None
    for one in _nodes(top):
        one.uses = one.reads = PAYS
    interpreted, compiled = Tables(), Tables()
    kind = _Together if together else Normalization
    for place, (response, back) in enumerate(history):
        at = 100.0 + 10 * place - back
        meta = Meta(at, at, at + 60_000)
        before, given_one, decoded = deepcopy(response), deepcopy(response), deepcopy(response)
        expected = _outcome(_Interpreted, interpreted, node, given_one, meta)
        owns_response = place % 2 == 1
        actual = _outcome(kind, compiled, node, decoded, meta, owns_response=owns_response)
        assert decoded == before, f"{told}: the response was changed"
        if not owns_response:  # it stays its owner's, who may change it afterwards
            _empty(given_one)
            _empty(decoded)
        assert actual == expected, f"{told}: response {place}"
        assert _state(compiled) == _state(interpreted), f"{told}: after response {place}"
        if expected[0] == "stored":
            stored = expected[1]
            wanted = _read(Denormalization(interpreted, (), DependencyGraph()), node, stored)
            found = _read(reader_of(compiled, (), DependencyGraph()), node, stored)
            assert found == wanted, f"{told}: reading response {place}"
    assert _layer(kind, compiled, node, history) == _layer(_Interpreted, interpreted, node, history), f"{told}: layers"


@thorough(max_examples=examples(125), derandomize=True)
@given(cases(), st.booleans())
def test_compiled_equals_interpreted(case: tuple[str, Any, list[tuple[Json, int]]], together: bool) -> None:
    """Compiled functions leave the tables as the interpreter does, hand out what it does, and raise as it does."""
    _compare(case, together=together)


@pytest.mark.slow
@thorough(max_examples=20_000)
@given(cases(), st.booleans())
def test_compiled_equals_interpreted_for_long(case: tuple[str, Any, list[tuple[Json, int]]], together: bool) -> None:
    """The same for many more schemas and histories."""
    _compare(case, together=together)
