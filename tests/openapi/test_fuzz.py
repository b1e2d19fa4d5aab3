"""Mutated documents: places are replaced by other schemas, types swapped, references bent. Each is read."""

from __future__ import annotations

import functools
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.openapi.documents import mixed
from tests.openapi.imports import DOCUMENTS

from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document.containment import CODE
from restencil_generator.openapi.document.parse import read_text
from restencil_generator.openapi.import_job import prepare
from restencil_generator.openapi.options import Job, Options
from restencil_generator.spec.load import load_text

SEED: Final = 20261123
FLOOR: Final = 1.0
"""CPU seconds that any document may take."""

TYPES: Final[tuple[Any, ...]] = (
    "string",
    "integer",
    "number",
    "boolean",
    "array",
    "object",
    "null",
    "file",
    "potato",
    7,
    None,
    [],
    ["string", "null"],
)
TEXTS: Final = (
    "",
    "id",
    "name",
    "class",
    "None",
    "a b",
    "{id}",
    "/",
    "#",
    "日本",
    "x" * 300,
    "date-time",
    "uuid",
    "binary",
)
SCHEMAS: Final[tuple[Any, ...]] = (
    {}, True, False, None, [], 0, "text", {"type": "string"}, {"type": "array"}, {"type": "object"}, {"enum": []},
    {"enum": [1, "a", None]}, {"const": {"a": 1}}, {"type": ["string", "array", "object"]}, {"not": {}},
    {"oneOf": []}, {"anyOf": [{}]}, {"allOf": [{"type": "string"}, {"type": "integer"}]},
    {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "string", "enum": ["a"]}]},
    {"anyOf": [{"type": "object", "properties": {"a": {}}}, {"type": "string", "enum": [""]}]},
    {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "object"}}},
    {"type": "object", "properties": {"id": {"type": "integer"}, "": {}, "self": {"type": "string"}}, "required": "id"},
    {"type": "array", "items": [{"type": "string"}, {}]}, {"type": "string", "format": "binary"},
    {"discriminator": {"propertyName": "kind", "mapping": {"a": "b"}}, "oneOf": [{"type": "object"}, {}]},
)  # fmt: skip


@functools.cache
def originals() -> list[tuple[str, str]]:
    """Our documents as JSON, each with its name."""
    found = [(path.stem, read_text(path.read_bytes(), path.name).value) for path in DOCUMENTS]
    return [(name, json.dumps(value, default=str)) for name, value in [("mixed", mixed()), *found]]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document: what holds it, and its key there."""
    todo = [value]
    while todo:
        holder = todo.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], dict | list):
                todo.append(holder[key])


def mutate(tree: Any, rng: random.Random) -> None:
    """Changes one place of a document."""
    every = list(places(tree))
    holder, key = rng.choice(every)
    if holder is tree and key in ("openapi", "swagger", "info"):
        return
    references = [(table, name) for table, name in every if name == "$ref"]
    types = [(table, name) for table, name in every if name == "type" and isinstance(table, dict)]
    match rng.randrange(9):
        case 0:
            holder[key] = json.loads(json.dumps(rng.choice(SCHEMAS)))
        case 1:
            other, name = rng.choice(every)
            holder[key] = json.loads(json.dumps(other[name]))
        case 2 if types:
            table, name = rng.choice(types)
            table[name] = rng.choice(TYPES)
        case 3 if references:
            table, name = rng.choice(references)
            bent = [other[at] for other, at in references if isinstance(other[at], str)]
            table[name] = rng.choice([*bent, "#", "#/paths", "#/none", "none.json", "", 1, "#/components/schemas"])
        case 4 if isinstance(holder, dict):
            holder[rng.choice(TEXTS)] = holder.pop(key)
        case 5 if isinstance(holder, dict):
            del holder[key]
        case 6:
            holder[key] = rng.choice(TEXTS)
        case 7:
            word = rng.choice(("oneOf", "anyOf", "allOf"))
            holder[key] = {word: [holder[key], json.loads(json.dumps(rng.choice(SCHEMAS)))]}
        case _:
            holder[key] = [holder[key], holder[key]] if rng.random() < 0.5 else {"schema": holder[key], "type": "array"}


def seconds(text: str, path: Path) -> tuple[float, list[str]]:
    """The CPU seconds that an import of a document takes, and what it says of errors of its own."""
    path.write_text(text, encoding="utf-8")
    started = time.process_time()
    try:
        imported = prepare(Job(str(path), Options(package="fuzzed"), path.parent / "fuzzed.yaml"))
    except Failure as failure:
        return time.process_time() - started, [str(failure)] if "bug of the importer" in str(failure) else []
    took = time.process_time() - started
    wrong = [each.message for each in imported.made.document.findings if each.code in (CODE, "import-mistake")]
    loaded = load_text(imported.text, "fuzzed.yaml")
    return took, wrong if loaded.declaration is not None else [*wrong, f"the spec has errors: {loaded.problems}"]


def fuzz(count: int, seed: int, folder: Path) -> tuple[list[str], list[str]]:
    """Which imports of `count` mutated documents are wrong, and which take ten times as long as the original."""
    path, wrong, slow = folder / "openapi.json", list[str](), list[str]()
    usual = {name: seconds(text, path)[0] for name, text in originals()}
    for number in range(count):
        rng = random.Random(seed * 1_000_003 + number)  # it is to be the same each time
        name, text = rng.choice(originals())
        tree = json.loads(text)
        for _ in range(rng.randint(1, 4)):
            mutate(tree, rng)
        mutated = json.dumps(tree)
        try:
            took, internal = seconds(mutated, path)
        except Exception as error:
            wrong.append(f"{number} {name}: {type(error).__name__}: {error}")
            continue
        wrong += [f"{number} {name}: {message}" for message in internal]
        if took > max(FLOOR, 10 * usual[name]):
            slow.append(f"{number} {name}: {took:.1f} s")
    return wrong, slow


def test_import_mutated_documents_are_imported(tmp_path: Path) -> None:
    """None ends in an error of the importer, or gives a spec with errors."""
    assert fuzz(30, SEED, tmp_path)[0] == []


@pytest.mark.slow  # half an hour
def test_import_many_mutated_documents_are_imported(tmp_path: Path) -> None:
    """None of 20,000 does, or takes ten times as long as its original."""
    assert fuzz(20_000, SEED, tmp_path) == ([], [])
