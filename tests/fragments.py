"""What is checked of a block that is not run: a spec, a part of one, a configuration, JSON."""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from restencil_generator.diff.settings import load_settings
from restencil_generator.project.config import find_imports
from restencil_generator.spec.load import load_text
from tests.generator.mutations import json_of_text
from tests.generator.places import AROUND

ELSEWHERE: Final = {
    "unknown-type",
    "unknown-entity",
    "unknown-endpoint",
    "auth-scheme",
    "expires-target",
    "union-value",
}
"""A part of a spec may name what stands elsewhere in it."""

PLACES: Final = {
    **AROUND,
    "resources": "resources: {}",
    "endpoints": "resources: {{articles: {{path: /a/:id, schema: Todo, endpoints: {}}}}}",
    "entities": "entities: {}",
}
NEEDED: Final[Mapping[str, dict[str, Any]]] = {
    "resource": {"path": "/a/:id", "schema": "Todo"},
    "endpoint": {"path": "/a/extra"},
}
"""What a part need not show, and the whole has."""


def check(language: str, text: str) -> None:
    """Raises AssertionError where a block is not what it seems to be. Other languages are let be."""
    if language in CHECKS:
        CHECKS[language](text)


def _spec(text: str) -> None:
    """A spec has no mistake; a part of one fits somewhere: nothing in it is wrong but what it names."""
    shown = json_of_text(text)
    if "restencil" in shown:
        assert load_text(text).problems == ()
        return
    problems = {place: _problems(place, shown) for place in PLACES}
    place = min(problems, key=lambda place: len(problems[place]))
    assert not problems[place], f"this is no part of a spec; taken for {place}: {problems[place]}"


def _problems(place: str, shown: dict[str, Any]) -> list[str]:
    part = {**NEEDED.get(place, {}), **shown}
    spec = {"restencil": 1, "package": "page"}
    if place == "spec":
        spec |= part
    else:
        spec |= json_of_text(PLACES[place].format(json.dumps(part)))
    spec = {"entities": {}, **spec}
    if isinstance(spec["entities"], dict):
        spec["entities"] = {"Todo": {"fields": {"id": "integer"}}, **spec["entities"]}
    return [problem.message for problem in load_text(json.dumps(spec)).problems if problem.code not in ELSEWHERE]


def _configuration(text: str) -> None:
    tables = tomllib.loads(text).get("tool", {})
    if "restencil" in tables:
        with TemporaryDirectory() as folder:
            file = Path(folder, "pyproject.toml")
            file.write_text(text, "utf-8")
            find_imports(file)
            load_settings(file)


CHECKS: Final[Mapping[str, Callable[[str], object]]] = {
    "json": json.loads,
    "toml": _configuration,
    "yaml": functools.cache(_spec),
}
