"""Nothing of a spec leaves its literal, comment or docstring: what is imported is what was written."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import typing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, reject, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.generator.specs_at_random import assumed, hostile, yaml_text

from restencil_generator.output.pipeline import build
from restencil_generator.output.write import publish
from restencil_generator.spec.load import load_text
from restencil_generator.spec.model import Spec

_numbers = itertools.count()

EVIL = '"""\nimport os; os.mkdir("owned")\n"""'


HOSTILE_SPEC = """
restencil: 1
package: PACKAGE
title: TEXT
description: TEXT
enums: {Kind: [WORD, other], Named: {one: TEXT}}
objects: {Thing: {plain: {type: string, default: TEXT, description: TEXT}}}
entities:
  Item:
    description: TEXT
    deprecated: REASON
    fields:
      id: {type: string, default: TEXT, description: TEXT, deprecated: REASON}
      kind: {type: Kind, default: WORD}
      texts: {type: [string], default: [TEXT, TEXT]}
      by_text: {type: {values: string}, default: {TEXT: TEXT}}
      anything: {type: any, default: {TEXT: [TEXT, {TEXT: TEXT}]}}
      fixed: {const: TEXT}
      thing: {type: Thing, default: {plain: TEXT}}
  Other: {fields: {id: string}}
resources:
  items:
    path: /items/:id
    schema: Item
    description: TEXT
    deprecated: REASON
    search_params: {q: {type: string, default: TEXT, description: TEXT}}
    endpoints:
      get: {description: TEXT, deprecated: REASON}
      either: {schema: {union: {TEXT: Item, other: Other}, attribute: fixed}, path: /either/:id}
    examples: {get: {params: {id: TEXT}, response: {id: TEXT, texts: [TEXT]}}}
"""


def hostile_spec(package: str, text: str) -> Spec:
    """A spec that has the text wherever a text may stand."""
    words = {"PACKAGE": package, "TEXT": text, "WORD": text or "x", "REASON": text or True}
    filled = re.sub("PACKAGE|TEXT|WORD|REASON", lambda word: yaml_text(words[word[0]]), HOSTILE_SPEC)
    return load_text(filled, "made.yaml").declaration or reject()


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(hostile)
@example(EVIL)
@example("'''" + EVIL + "'''")
@example("\\")
@example('\\"')
@example('"' * 10_000)
@example("\u202e\u2066 # {} {{ }} {% %} \x00\x1b[31m\n\r\n\t")
def test_safety_hostile_text_arrives_as_it_is(place: Path, text: str) -> None:
    """Wherever a text stands in a spec, the imported package has that text there and nothing else happened."""
    name = f"hostile{next(_numbers)}"
    spec = hostile_spec(name, text)
    package = build(spec, "hostile.yaml")
    publish(package, place / name)
    module = importlib.import_module(name)
    with pytest.warns(DeprecationWarning, match="^Item"):
        item, items = module.Item, module.Items
    instance = item()
    assert instance.to_dict() | {"thing": None} == {
        "id": text,
        "kind": text or "x",
        "texts": [text, text],
        "by_text": {text: text},
        "anything": {text: [text, {text: text}]},
        "fixed": text,
        "thing": None,
    }
    assert instance.thing.plain == text
    assert typing.get_args(module.Kind) == (text or "x", "other")
    assert text == module.NAMED_ONE
    for documented in (module, item, items.get):
        assert words(documented.__doc__)[: len(words(text))] == words(text)
    assert not Path("owned").exists()
    for path, content in package.files.items():
        if path.endswith(".py"):
            assert all(char.isprintable() or char == "\n" for char in content), path
            assert "\u202e" not in content


def words(text: str | None) -> list[str]:
    return (text or "").split()


@given(
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20),
)
@settings(max_examples=examples(15))
def test_safety_hostile_headers_prefixes_and_wire_names_stay_literals(header: str, wire: str) -> None:
    """What goes into URLs, headers and JSON names is one string constant in the code, and so is a path with quotes."""
    spec = assumed(
        {
            "restencil": 1,
            "package": "made",
            "url_prefix": f"https://x.example/{wire}",
            "headers": {"X-Odd": header},
            "resources": {
                "things": {
                    "path": "/th\"ing's\\\\#/:id",
                    "schema": {"entity": "Thing", "fields": {"id": "integer", "odd": {"type": "string", "wire": wire}}},
                    "search_params": {"asked": {"type": "string?", "wire": wire}},
                }
            },
        }
    )
    tree = ast.parse(build(spec, "made.yaml").files["things.py"])
    constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert {header, wire, f"https://x.example/{wire}", "X-Odd", "/th\"ing's\\\\#/:id"} <= constants


def test_safety_header_names_the_file_alone(tmp_path: Path) -> None:
    """No folder, host, time or version of anything is in the output."""
    spec = hostile_spec("made", "x")
    here, there = build(spec, "/home/somebody/specs/made.yaml"), build(spec, "made.yaml")
    assert here.files == there.files
    assert all("/home/" not in text for text in here.files.values())
