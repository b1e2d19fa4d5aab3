"""What stands where in a package, and that the written classes mean what the spec says."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import itertools
import json
import math
import re
import textwrap
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.effort import examples
from tests.generator.codegen.lines import has_line, of_resource, rendered
from tests.generator.specs_at_random import assumed, specs

from restencil.base.freshness import Concurrency
from restencil.endpoint.options import concurrency_of, freshness_of
from restencil_generator.api import load
from restencil_generator.output.pipeline import build
from restencil_generator.output.write import publish
from restencil_generator.spec import model as d
from restencil_generator.spec.names import python_name

ROOT = Path(__file__).parents[3]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))


# --------------------------------------------------------------------------------------------- the runtime agrees


@pytest.mark.usefixtures("made")
@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_plan_every_endpoint_of_a_package_is_what_its_spec_declares(path: Path) -> None:
    """Method, path, prefix, body, headers, side effect, options, schema: what is not written is inherited rightly."""
    spec = load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        package = importlib.import_module(spec.package)
        classes = {resource.name: getattr(package, resource.class_name) for resource in spec.resources.values()}
    for resource in list(spec.resources.values())[:12]:
        for dotted, declared in resource.all_endpoints():
            endpoint: Any = functools.reduce(getattr, dotted.split("."), classes[resource.name])
            assert type_info(endpoint) == declared_facts(declared, resource), f"{spec.package}.{resource.name}.{dotted}"
            check_body(endpoint, declared, spec)
            if declared.base is not None:
                base = getattr(importlib.import_module(declared.base.module), declared.base.name)
                assert isinstance(endpoint, base)


@settings(max_examples=examples(7, 5))
@given(specs())
def test_plan_every_endpoint_of_any_spec_is_what_it_declares(place: Path, data: dict[str, Any]) -> None:
    """For specs at random, the imported endpoints have the declared settings and names of body members."""
    spec = assumed({**data, "package": f"random{next(_numbers)}"})
    publish(build(spec, "random.yaml"), place / spec.package)
    importlib.invalidate_caches()
    package = importlib.import_module(spec.package)
    for resource in spec.resources.values():
        for dotted, declared in resource.all_endpoints():
            endpoint: Any = functools.reduce(getattr, dotted.split("."), getattr(package, resource.class_name))
            # What hangs on a deprecated list is deprecated with it.
            found = type_info(endpoint) | ({"deprecated": declared.deprecated} if "." in dotted else {})
            assert found == declared_facts(declared, resource), f"{resource.name}.{dotted}"
            check_body(endpoint, declared, spec)


_numbers = itertools.count()


def check_body(endpoint: Any, declared: d.Endpoint, spec: d.Spec) -> None:
    """The members of a body get their names in JSON."""
    members = body_members(declared, spec)
    if members:
        body: Any = dict.fromkeys((member.python for member in members), None)
        # What `assign` takes are such bodies by the keys of the list.
        entries = declared.name == "assign" and isinstance(declared.body and declared.body.type, d.EntityRef)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            needed = {one.python: "1" for one in declared.search_params if one.required}
            sent = endpoint.bind_args((), {**needed, "body": {"key": body} if entries else body})[-1]
        assert list(sent["key"] if entries else sent) == [member.wire for member in members], endpoint.name


def body_members(declared: d.Endpoint, spec: d.Spec) -> list[d.Field]:
    """The members of the body of an endpoint, where they are those of one class or mapping."""
    if not declared.has_body or declared.body is None:
        return []
    match declared.body.type:
        case d.EntityRef(name):
            return [field for field in spec.entities[name].all_fields if not field.param]
        case d.ObjectRef(name):
            return list(spec.objects[name].fields)
        case d.ObjectType(members):
            return list(members)
        case _:
            return []


_SAME = ("method", "url_prefix", "side_effect", "has_body", "content")


def type_info(endpoint: Any) -> dict[str, Any]:
    policy = endpoint.error_policy
    return {
        **{name: getattr(endpoint, name) for name in (*_SAME, *_OPTIONS, "path", "deprecated", "empty")},
        "headers": dict(endpoint.request_init.get("headers", {})),
        "schema": endpoint.schema is not None,
        "error_policy": getattr(policy, "__name__", policy),
        "freshness": freshness_of(endpoint.freshness),
        "concurrency": concurrency_of(endpoint.concurrency),
    }


def declared_facts(declared: d.Endpoint, resource: d.Resource) -> dict[str, Any]:
    policies = {"soft": "always_soft", "hard": None, None: None}
    policy = declared.options.error_policy
    return {
        **{name: getattr(declared, name) for name in _SAME},
        **{name: getattr(declared.options, name) for name in _OPTIONS},
        "path": declared.path.text,
        "headers": dict(declared.headers),
        "schema": declared.schema is not None and not isinstance(declared.schema, d.Scalar),
        "deprecated": declared.deprecated if declared.deprecated is not None else resource.deprecated,
        "error_policy": policy.name if isinstance(policy, d.Reference) else policies.get(policy, policy),
        "freshness": lives(declared.options.freshness),
        "concurrency": made_for(declared.options.concurrency),
        **answer_options(declared, resource),
    }


def lives(freshness: str | d.ServerFreshness | None) -> tuple[float, float] | None:
    """For how long data lives at least and at most, in ms, where the server says it."""
    match freshness:
        case d.ServerFreshness(at_least, at_most):
            return at_least or 0, math.inf if at_most is None else at_most
        case "server":
            return 0, math.inf
        case _:
            return None


def made_for(concurrency: d.Concurrency | None) -> Concurrency | None:
    """What changes say that they were made for."""
    if concurrency is None:
        return None
    return Concurrency(concurrency.field and python_name(concurrency.field, "field"), concurrency.required)


def answer_options(declared: d.Endpoint, resource: d.Resource) -> dict[str, Any]:
    """What becomes of answers where the spec says nothing: what packages have by default."""
    options, origin = declared.options, declared
    while origin.extends is not None and origin.extends in resource.endpoints:
        origin = resource.endpoints[origin.extends]
    name = (origin.extends or origin.name).rpartition(".")[2]
    sent_stands_in = name in ("update", "partial_update", "create", "push", "unshift")
    empty = ("merge" if sent_stands_in else "none") if declared.side_effect else None
    if isinstance(declared.schema, d.Optional):
        empty = "none"
    return {
        "strict_shape": True if options.strict_shape is None else options.strict_shape,
        "replace": True if options.replace is None and name == "update" else options.replace,
        "empty": declared.response.empty or empty,
    }


_OPTIONS = [field.name for field in dataclasses.fields(d.Options) if field.name != "error_policy"]


# ------------------------------------------------------------------------------------------------------------- modules


def test_plan_only_what_is_needed_is_there() -> None:
    """No module for enums, objects, lazy names or shared entities where there are none; no import without a use."""
    files = rendered(
        "resources: {things: {path: /t/:id, schema: {entity: Thing, fields: {id: integer}}, members: [get]}}\n"
    )
    assert sorted(files) == ["__init__.py", "_client.py", "things.py"]
    assert "import typing" not in files["things.py"]
    assert "from restencil import schema" not in files["things.py"]
    fields = "{owner: string, sha: string, url: string?}"
    blobs = f"{{path: /b/:owner/:sha, schema: {{entity: Blob, pk: [owner, sha], fields: {fields}}}, members: [get]}}"
    text = rendered(f"resources: {{blobs: {blobs}}}\n")["blobs.py"]
    assert [name for name in re.findall(r"^import ([a-z_.]+)$", text, re.MULTILINE) if f"{name}." not in text] == []


# ----------------------------------------------------------------------------------------------------------- resources


def test_plan_default_inside_of_a_default_comes_first() -> None:
    """Objects stand below all that their defaults are made of."""
    text = rendered("""
        objects:
          A: {b: {type: B, default: {c: {x: 1}}}}
          B: {c: C?}
          C: {x: integer}
        resources: {things: {path: "/t/:id", schema: {entity: Thing, fields: {id: integer, a: A}}}}
        """)["_objects.py"]
    assert text.index("class C(") < text.index("class A(")
    assert text.index("class B(") < text.index("class A(")
    has_line(text, "b: B = B(c=C(x=1))")


def test_plan_bodies_that_lead_to_hundreds_of_others_take_any_mapping() -> None:
    """Type checkers give up on tangles of them."""
    entities = {f"E{n}": {"fields": {"id": "integer", "next": f"E{n + 1}?"}} for n in range(99)}
    entities["E99"] = {"fields": {"id": "integer", "next": "E0?"}}
    entities["Near"] = {"fields": {"id": "integer", "next": "E0?"}}
    entities["Far"] = {"fields": {"id": "integer", "next": "Mere?"}}
    entities["Mere"] = {"fields": {"id": "integer"}}
    resources = {f"{name.lower()}s": {"path": f"/{name}/:id", "schema": name} for name in ("Near", "Far")}
    text = rendered(f"entities: {json.dumps(entities)}\nresources: {json.dumps(resources)}\n")
    has_line(text["nears.py"], "next: dict[str, typing.Any] | E0 | int | None")
    has_line(text["fars.py"], "next: MereBody | Mere | int | None")


def test_plan_examples_are_python_that_can_be_pasted() -> None:
    """Calls under Python names and literals of Python, in lines of code; of a long list the first item is shown."""
    text = rendered("""
        wire_names: camelCase
        entities: {Thing: {fields: {id: integer, longName: {type: string, wire: long_name}, is_on: boolean}}}
        resources:
          things:
            path: /t/:id
            schema: Thing
            search_params: {only_new: boolean?}
            endpoints: {send: {method: POST, path: /s, body: {to_whom: string, at: {object: {the_x: any}}}}}
            examples:
              get_list:
                params: {onlyNew: false}
                response: [{id: 1, longName: AAAA, is_on: true}, {id: 2, longName: ZZZZ, isOn: null}]
              push: {body: {long_name: "a\\"b", isOn: null}}
              send: {body: {toWhom: x, at: {theX: [1.5, null]}}}
        """.replace("AAAA", "y" * 200).replace("ZZZZ", "z" * 200))["things.py"]
    tree = ast.parse(text)
    examples = [
        doc for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and (doc := ast.get_docstring(node))
    ]
    code = [textwrap.dedent(part) for doc in examples for part in re.findall(r"(?m)(?:^    .*\n?)+", doc)]
    assert [ast.unparse(ast.parse(part)) for part in code] == [
        "made.things.get_list.push(body={'longName': 'a\"b', 'is_on': None})",
        "made.things.get_list(only_new=False)",
        f"[{{'id': 1, 'long_name': '{'y' * 200}', 'isOn': True}}, ...]",
        "made.things.send(body={'to_whom': 'x', 'at': {'the_x': [1.5, None]}})",
    ]


def test_plan_endpoints_stand_in_the_order_of_the_spec() -> None:
    """Behind the standard members, and each behind the one that it extends."""
    text = of_resource("""
        endpoints:
          zebra: {extends: middle, path: /z}
          push: {path: /t/new}
          apple: {path: /a}
          middle: {path: /m}
        """)
    names = re.findall(r"(?m)^    def ([a-z]\w+)\(", text)
    assert names == ["get", "get_list", "update", "partial_update", "delete", "apple", "middle", "zebra"]
