"""Specs at random, for properties that hold for every spec: hypothesis strategies, and specs as YAML text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from restencil_generator.spec import model as d
from restencil_generator.spec.load import load_text

HOSTILE = "\"'\\\n\r\t#{}%$`()[]:;,*?é\u202e\u2066\u200b\u0007\u001b\u0000\u0085\u2028\ufeff😀 abc"

hostile = st.one_of(
    st.text(st.sampled_from(HOSTILE), max_size=40),
    st.sampled_from(
        ['"""', "'''", '"""\nimport os\n"""', "\\", '\\"', "{{ module }}", "{% raw %}", "word " * 60, '"' * 100]
    ),
    st.text(st.characters(codec="utf-8"), max_size=30),
)
"""Texts that try to leave their literal."""

_NAMES = """
    id name title kind value list dict str int float bool type object self cls from_ in_ class def none match case date
    datetime decimal uuid typing restencil schema builtins lazy importlib collections key pk indexes wire process merge
    validate a_rather_long_name_that_makes_lines_break another_quite_long_name_for_a_field x y z l O camelCase
    PascalCase
"""
names = st.sampled_from(_NAMES.split())
"""Names of fields and parameters, awkward ones among them."""

SCALARS = ("string", "integer", "number", "boolean", "datetime", "date", "time", "decimal", "uuid", "any")


def types(*, entities: bool = True) -> st.SearchStrategy[Any]:
    """Types of fields, as they are written."""
    words = [*SCALARS, "Colour", "Size"]
    if entities:
        words += ["Alpha", "Beta", "Gamma"]
    word = st.sampled_from(words)
    optional = word.map(lambda text: text if text in ("Alpha", "Beta") else f"{text}?")
    return st.recursive(
        st.one_of(word, optional),
        lambda inner: st.one_of(
            st.tuples(inner).map(list),
            inner.map(lambda item: {"values": item}),
        ),
        max_leaves=3,
    )


@st.composite
def fields(draw: st.DrawFn, *, entities: bool = True, least: int = 0) -> dict[str, Any]:
    """A mapping of fields by name."""
    found: dict[str, Any] = {}
    for name in draw(st.lists(names, min_size=least, max_size=8, unique_by=str.lower)):
        type = draw(types(entities=entities))
        if draw(st.integers(0, 3)) == 0:
            found[name] = {"type": type, "description": draw(hostile) or "x"}
            if draw(st.booleans()):
                found[name]["read_only"] = True
        else:
            found[name] = type
    return found


errors = st.dictionaries(
    st.sampled_from(["400", "404", "409", "500", "599", "4XX", "5XX", "default"]),
    st.sampled_from([None, "any", "Point", "Line", {"one_of": ["Line", "Point"]}]),
    max_size=4,
)


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """A spec as data: enums, objects, entities that refer to each other, resources with endpoints of many kinds."""
    entities: dict[str, dict[str, Any]] = {
        name: {"fields": {"id": draw(st.sampled_from(["integer", "string", "uuid"])), **_without_id(draw(fields()))}}
        for name in ("Alpha", "Beta", "Gamma")
    }
    if draw(st.booleans()):
        entities["Delta"] = {"extends": "Alpha", "fields": {"extra_of_delta": "string"}, "description": draw(hostile)}
    search = draw(fields(entities=False))
    endpoints: dict[str, Any] = {}
    for number in range(draw(st.integers(0, 3))):
        endpoints[f"more{number}"] = draw(_endpoint(number))
    resource: dict[str, Any] = {
        "path": draw(st.sampled_from(["/alphas/:id", "/owners/:owner/alphas/:id", "/a/:alpha_key/b-:id.json"])),
        "schema": "Alpha",
        "endpoints": endpoints,
    }
    if search:
        resource["search_params"] = {name: _plain(type) for name, type in search.items()}
        for name in sorted(draw(st.sets(st.sampled_from(sorted(search))))):
            param = resource["search_params"][name]
            described = param if isinstance(param, dict) and "type" in param else {"type": param}
            resource["search_params"][name] = {**described, "filter": draw(st.sampled_from(["equals", "unknown"]))}
    if draw(st.booleans()):
        resource["pagination_field"] = draw(st.sampled_from(["page", "cursor", "offset_of_the_page"]))
    if draw(st.booleans()):
        resource["optimistic"] = True
    if draw(st.booleans()):
        resource["description"] = draw(hostile)
    return {
        "restencil": 1,
        "package": "made",
        "title": draw(hostile),
        "description": draw(hostile),
        "url_prefix": "https://made.example/a/rather/long/prefix/so/that/lines/must/break/now",
        "wire_names": draw(st.sampled_from(["as_is", "camelCase", "PascalCase", "kebab-case"])),
        "options": {
            "data_expiry_length": "5m",
            "error_policy": draw(st.sampled_from(["soft", "soft_on_server_error"])),
            "freshness": draw(st.sampled_from(["client", "server", {"server": {"at_least": "5s"}}])),
            "concurrency": draw(st.sampled_from([None, "etag", {"etag": "required"}])),
            "needs": draw(st.sampled_from([None, "all", "required"])),
            "invalid_if_stale": draw(st.sampled_from([None, True, False])),
        },
        "redirects": {"cross_origin_body": draw(st.booleans())},
        "enums": {"Colour": ["red", "green"], "Size": {"small": 1, "large": 20}},
        "errors": draw(errors),
        "objects": {"Point": {"x": "integer", "y": {"type": "number", "default": 1}}, "Line": {"end": "Point"}},
        "entities": entities,
        "resources": {
            "alphas": resource,
            "betas": {"path": "/betas/:id", "schema": "Beta", "members": ["get", "get_list", "push"]},
            "kinds": {
                "path": "/kinds/:id",
                "schema": {"union": {"a": "Alpha", "b": "Beta"}, "attribute": "id"},
                "members": ["get", "delete"],
            },
        },
    }


@st.composite
def _endpoint(draw: st.DrawFn, number: int) -> dict[str, Any]:
    found: dict[str, Any] = {"path": f"/more/{number}/:id"}
    if draw(st.booleans()):
        found["method"] = "POST"
        if draw(st.booleans()):
            found["expires"] = "nothing"
        body = draw(fields(entities=True, least=1))
        found["body"] = draw(
            st.sampled_from([None, "any", "Beta", "Point", body, {"form": {"a": "string", "b": "integer?"}}])
        )
    found["schema"] = draw(
        st.sampled_from(
            [
                None,
                "Beta",
                ["Gamma"],
                {"object": {"results": ["Alpha"], "total": "integer", "next": "string?"}},
                {"object": {"items": {"collection": ["Beta"]}, "when": "datetime"}},
                {"values": "Gamma"},
                {"all": "Alpha"},
                {"invalidate": "Beta"},
                {"collection": {"values": "Beta"}},
            ]
        )
    )
    if draw(st.booleans()):
        found["description"] = draw(hostile)
    if draw(st.booleans()):
        found["errors"] = draw(errors)
    if draw(st.integers(0, 4)) == 0:
        found["deprecated"] = draw(hostile) or True
    return found


def _without_id(found: dict[str, Any]) -> dict[str, Any]:
    return {name: type for name, type in found.items() if name != "id"}


def _plain(type: Any) -> Any:
    """A type as it may stand in search parameters: optional, so that calls stay short."""
    if not isinstance(type, dict) or "values" in type:
        return "string?"
    return {name: value for name, value in type.items() if name != "read_only"}


# ----------------------------------------------------------------------------------------------------------------- YAML


def yaml_text(data: Any) -> str:
    """Data as YAML in flow style, every text in double quotes, with escapes for all but letters and digits."""
    return "".join(_yaml(data))


def _yaml(data: Any) -> Iterator[str]:
    if isinstance(data, Mapping):
        yield "{"
        for index, (key, value) in enumerate(data.items()):
            yield (", " if index else "") + _quoted(str(key)) + ": "
            yield from _yaml(value)
        yield "}"
    elif isinstance(data, list | tuple):
        yield "["
        for index, value in enumerate(data):
            yield ", " if index else ""
            yield from _yaml(value)
        yield "]"
    elif isinstance(data, str):
        yield _quoted(data)
    else:
        yield json.dumps(data)


def _quoted(text: str) -> str:
    return '"' + "".join(char if char.isascii() and char.isalnum() else f"\\U{ord(char):08x}" for char in text) + '"'


def loaded(data: Any) -> d.Spec | None:
    """The declaration of a spec given as data; None where it has mistakes."""
    return load_text(yaml_text(data), "made.yaml").declaration


def assumed(data: Any) -> d.Spec:
    """The declaration of a spec given as data; with mistakes it is no example."""
    return loaded(data) or reject()
