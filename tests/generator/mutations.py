"""Specs that are nearly right: valid ones with a few changes, for properties that must hold for any input."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from restencil_generator.spec.grammar.read import Reader
from restencil_generator.spec.load import read_tree
from restencil_generator.spec.model import Json

ROOT = Path(__file__).parents[2]
LOADING = Path(__file__).parent / "loading"
FILES = (
    ROOT / "specs" / "blog.yaml",
    LOADING / "everything.yaml",
    LOADING / "types.yaml",
    LOADING / "bodies_and_answers.yaml",
)


def json_of(path: Path) -> dict[str, Json]:
    """A spec as JSON."""
    return json_of_text(path.read_text("utf-8"))


def json_of_text(text: str) -> dict[str, Json]:
    """The text of a spec as JSON."""
    tree = read_tree(text, "spec.yaml", [])
    assert tree is not None
    value = Reader([]).json(tree)
    assert isinstance(value, dict)
    return value


BASES = tuple(json_of(path) for path in FILES)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _paths(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _paths(part, (*path, index))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


WORDS = sorted({key for base in BASES for path in _paths(base) for key in path if isinstance(key, str)})

TEXTS = (
    *(
        "",
        "x",
        "User",
        "Todo",
        "Status",
        "Address",
        "string",
        "string?",
        "string??",
        "bytes",
        "any",
        "null",
        "a b",
        "_x",
    ),
    *("class", "1a", "é", "€", "a\nb", "\x00", "\u202e", "python:a:b", "python:a.b:c", "python:", "python:a:class"),
    *("30s", "0ms", "99999999999999h", "header:X", "header:", "header: ", "/x/:id", "/:id/:id", "/:a:b", "/x?", "\\"),
    *("true", "values", "last.id", "last.", "last", ".", "POST", "GET IT", "page", "body", "x" * 10_000),
)
VALUES: tuple[Any, ...] = (
    *TEXTS,
    *(None, True, False, 0, 1, -1, 5, 10**20, 1.5, -0.0, [], {}, [[]], ["string"], ["string", "integer"], [["x"]]),
    *(
        {"type": "string"},
        {"const": 1},
        {"const": 1.5},
        {"values": "string"},
        {"object": {}},
        {"object": {"a": "string"}},
    ),
    *({"a": "string"}, {"union": {"a": "Link"}, "attribute": "type"}, {"entity": "Foo", "fields": {"id": "integer"}}),
    *({"entity": "Foo"}, {"entity": "Todo", "extends": "Foo"}, {"collection": ["Todo"]}, {"all": "Todo"}),
    *({"collection": {"values": "Todo"}, "nest": {"a": "id"}}, {"invalidate": "Todo"}, {"style": "page"}),
    *({"query": {"all": "Todo"}, "process": "python:a:b"}, {"form": {"a": "string"}}, {"form": {"type": "string"}}),
    *({"form": "string"}, {"multipart": {"a": "bytes"}}, {"style": "cursor", "next": "header:X"}, {"bearer": True}),
)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A valid spec with one to four changes: values replaced, keys renamed, added, removed, parts moved elsewhere."""
    spec: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(1, 4))):
        paths = [path for path in _paths(spec) if path]
        if not paths:
            break
        path = draw(st.sampled_from(paths))
        holder, key = _at(spec, path[:-1]), path[-1]
        change = draw(st.sampled_from(("replace", "remove", "rename", "add", "move")))
        if change == "remove":
            del holder[key]
        elif change == "rename" and isinstance(holder, dict):
            new = draw(st.sampled_from((*WORDS, *TEXTS)))
            entries = [(new if name == key else name, value) for name, value in holder.items()]
            holder.clear()
            holder.update(entries)
        elif change == "add" and isinstance(holder, dict):
            holder[draw(st.sampled_from((*WORDS, *TEXTS)))] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        elif change == "move":
            holder[key] = copy.deepcopy(_at(spec, draw(st.sampled_from(paths))))
        else:
            holder[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
    return spec


def text_of(spec: dict[str, Any]) -> str:
    """A spec as YAML: JSON is YAML."""
    return json.dumps(spec, ensure_ascii=True)
