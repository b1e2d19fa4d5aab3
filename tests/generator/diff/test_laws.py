"""Laws of comparing: nothing is found where nothing changed, and everything is seen that can be said."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from tests.effort import examples
from tests.generator.declared import declared as declared_spec
from tests.generator.diff.edits import BEFORE, BEFORE_WIDE, EDITS, WIDE
from tests.generator.specs_at_random import loaded, specs

from restencil_generator.diff import RULES, compare, declared, endpoints, fields, resources, spec
from restencil_generator.diff.walk import Ignored
from restencil_generator.spec import model as d

ROOT = Path(__file__).parents[3]


@settings(max_examples=examples(6, 5))
@given(specs())
def test_laws_spec_is_no_change_of_itself(data: dict[str, Any]) -> None:
    """Whatever a spec holds, nothing is found between it and itself."""
    spec, again = loaded(data), loaded(data)
    if spec is not None and again is not None:
        assert compare(spec, again) == []


@settings(max_examples=examples(3, 5))
@given(specs(), specs())
def test_laws_any_two_specs_can_be_compared(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Never an error, and the same findings every time, each once."""
    old, new = loaded(one), loaded(other)
    if old is not None and new is not None:
        found = compare(old, new)
        assert found == compare(old, new)
        assert len(set(found)) == len(found)
        assert all(finding.rule in RULES for finding in found)


def test_laws_each_rule_has_an_edit() -> None:
    """The edits are at least 120, and each rule is reported of one of them: a rule that nothing can emit goes."""
    assert len(EDITS) + len(WIDE) >= 120
    reported = {finding.partition(" ")[0] for edit in (*EDITS, *WIDE) for finding in edit.findings}
    missing = sorted(RULES.keys() - reported)
    assert missing == [], "add an edit with this rule to tests/generator/diff/edits.diff"


# ----------------------------------------------------------------------------------------- everything that can be said

SPECS = (BEFORE, BEFORE_WIDE, *(path.read_text("utf-8") for path in sorted((ROOT / "specs").glob("*.yaml"))))


MODEL = {d.Spec.__module__, d.Type.__module__}
"""The modules whose classes make up a spec."""


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
    elif dataclasses.is_dataclass(value) and type(value).__module__ in MODEL:
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


def _others(value: Any, hint: Any, spec: d.Spec) -> Iterator[Any]:
    """Values beside one, of its kind; another name is that of another entity, where there is one."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(value, str) and value in spec.entities:
        yield from (name for name in spec.entities if name != value)
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
    return dataclasses.is_dataclass(value) and type(value).__module__ in MODEL


_MADE: Mapping[Any, Any] = {
    Any: "x",
    bool: True,
    int: 7,
    str: "x",
    d.Reference: d.Reference("hooks", "other"),
    d.Field: d.Field("extra", "extra", "extra", d.Scalar("string")),
    d.Body: d.Body("any"),
    d.Scalar: d.Scalar("boolean"),
    d.Type: d.Scalar("boolean"),
    d.Example: d.Example({"x": 1}),
    d.Next: d.Next("response", ("elsewhere",)),
    d.Nest: d.Nest("id", "id"),
    d.Concurrency: d.Concurrency(),
    d.ServerFreshness: d.ServerFreshness(),
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


TABLES: Mapping[type, Mapping[str, Any]] = {
    d.Body: endpoints.BODY_ATTRIBUTES,
    d.CollectionOf: fields.COLLECTION_ATTRIBUTES,
    d.Endpoint: endpoints.ENDPOINT_ATTRIBUTES,
    d.Entity: declared.ENTITY_ATTRIBUTES,
    d.Enum: declared.ENUM_ATTRIBUTES,
    d.Field: fields.FIELD_ATTRIBUTES,
    d.HeaderParam: endpoints.HEADER_ATTRIBUTES,
    d.OAuth2: spec.OAUTH2_ATTRIBUTES,
    d.Object: declared.OBJECT_ATTRIBUTES,
    d.Options: endpoints.OPTION_ATTRIBUTES,
    d.QueryOf: fields.QUERY_ATTRIBUTES,
    d.Request: endpoints.REQUEST_ATTRIBUTES,
    d.Resource: resources.RESOURCE_ATTRIBUTES,
    d.Response: endpoints.RESPONSE_ATTRIBUTES,
    d.Scheme: spec.SCHEME_ATTRIBUTES,
    d.Server: spec.SERVER_ATTRIBUTES,
    d.Spec: spec.SPEC_ATTRIBUTES,
}
"""The table of attributes of each class that `diff` walks over; other classes are compared as values."""


@pytest.mark.parametrize("table", TABLES.items(), ids=lambda table: table[0].__name__)
def test_laws_diff_table_has_a_row_for_each_attribute_of_its_class(table: tuple[type, Mapping[str, Any]]) -> None:
    """Whoever adds an attribute to a class decides what its change means: a rule, a function, or a reason for none."""
    of, rows = table
    attributes = {field.name for field in dataclasses.fields(of) if field.init and field.compare}
    assert sorted(attributes - rows.keys()) == [], f"add a row for the attribute of {of.__name__} to its table in diff/"
    assert sorted(rows.keys() - attributes) == [], f"{of.__name__} has no such attribute: remove the row"


SENT = "what is sent is chosen by the caller, who needs nothing to tell it apart"
CLIENT_ONLY = "only arguments of the client are read from the environment"
OF_LIST = "the arguments of a list are reported of the list"

UNSEEN: Mapping[tuple[str, str], str] = {
    ("*", "ObjectType.name"): "equal members make equal types",
    ("*", "UnionOf.wire"): "it is compared with the attribute",
    ("*", "OneOf.attribute"): "its JSON name is compared",
    ("*", "PageOf.of"): "its list is compared",
    ("*", "AdderOf.of"): "its list is compared",
    ("*", "AdderOf.how"): "the member is compared",
    ("*", "Path.text"): "its parts are compared",
    ("*", "Auth.short"): "the scheme of the short form is called token in both forms",
    ("entities.all_fields", "Field.env"): CLIENT_ONLY,
    ("objects.fields", "Field.env"): CLIENT_ONLY,
    ("*.members", "Field.env"): CLIENT_ONLY,
    ("resources.*", "Field.env"): CLIENT_ONLY,
    ("entities.*", "CollectionOf.apart"): "only lists of endpoints are kept apart",
    ("resources.endpoints.body*", "OneOf.wire"): SENT,
    ("resources.endpoints.body*", "OneOf.values"): SENT,
    ("*search_params*", "OneOf.wire"): SENT,
    ("*search_params*", "OneOf.values"): SENT,
    ("*header_params*", "OneOf.wire"): SENT,
    ("*header_params*", "OneOf.values"): SENT,
    ("resources.endpoints.extenders.header_params*", "*"): OF_LIST,
    ("resources.endpoints.extenders", "Endpoint.header_params"): OF_LIST,
    ("resources.endpoints.extenders.search_params*", "*"): OF_LIST,
    ("resources.endpoints.extenders", "Endpoint.search_params"): OF_LIST,
    ("resources.endpoints.extenders.schema*", "*"): "what is added to a list is reported of the list",
    ("*", "Endpoint.params"): "the path says which parameters there are",
    ("*.params", "Field.name"): "the path has the name",
    ("*.params", "Field.wire"): "the path has the name",
    ("*.params", "Field.default"): "parameters of a path have no default",
    ("resources.endpoints.extenders", "Endpoint.extenders"): "endpoints of a list have none",
    ("resources.endpoints.extenders.request", "Request.in_key"): "changes have no key",
    ("*.pagination.size.param*", "*"): "the size of a page is asked for by its JSON name alone",
}
"""What need not be seen, by position and attribute (`*` stands for anything), and why."""


def _position(spec: d.Spec, path: tuple[Step, ...]) -> str | None:
    """The attributes on the way to a part; types inside of types are at one position. None below an ignored one."""
    names: list[str] = []
    value: Any = spec
    for how, key in path:
        if how == "field":
            if isinstance(TABLES.get(type(value), {}).get(key), Ignored) and (type(value), key) not in ELSEWHERE:
                return None
            if not isinstance(value, d.Type) or (key == "members" and "members" not in names):
                names.append(key)
            value = getattr(value, key)
        else:
            value = value[key]
    return ".".join(names)


ELSEWHERE = {
    *((d.Spec, "enums"), (d.Spec, "entities"), (d.Spec, "resources")),
    *((d.Resource, "endpoints"), (d.Endpoint, "extenders"), (d.HeaderParam, "field")),
}
"""Attributes that are ignored in the walk, as something else compares what they hold."""


def _is_unseen(position: str, attribute: str) -> bool:
    return any(fnmatchcase(position, where) and fnmatchcase(attribute, what) for where, what in UNSEEN)


def _changed(spec: d.Spec, path: tuple[Step, ...], part: Any, name: str) -> Iterator[d.Spec]:
    """The spec with other values of one attribute of one part."""
    hints = _HINTS.setdefault(type(part), typing.get_type_hints(type(part), localns={"Json": Any}))
    for other in _others(getattr(part, name), hints[name], spec):
        values = {name: other, **({"written_default": True} if name == "default" else {})}
        yield _with(spec, path, dataclasses.replace(part, **values))


def _is_seen(old: d.Spec, new: d.Spec) -> bool:
    try:
        return bool(compare(old, new))
    except (KeyError, AttributeError, AssertionError, TypeError, StopIteration):
        return False  # what no spec can be


MOST = 25
"""So many parts at a position are tried before it counts as unseen."""

_HINTS: dict[type, dict[str, Any]] = {}


def test_laws_diff_sees_each_attribute_at_each_position() -> None:
    """A change of any attribute is found wherever the attribute is, or `UNSEEN` has the reason why it need not be.

    A position is the way from the spec to a part: `entities.all_fields` is one, `resources.endpoints.search_params` is
    another. An attribute that is compared at one of them only is missing at the other.
    """
    tries: dict[tuple[str, str], int] = {}
    seen: set[tuple[str, str]] = set()
    for text in SPECS:
        spec = declared_spec(text)
        for path, part in _parts(spec):
            position = _position(spec, path)
            for field in dataclasses.fields(part) if position is not None else ():
                known = (str(position), f"{type(part).__name__}.{field.name}")
                ignored = isinstance(TABLES.get(type(part), {}).get(field.name), Ignored)
                if not field.init or not field.compare or ignored or known in seen or _is_unseen(*known):
                    continue
                changed = [*_changed(spec, path, part, field.name)]
                if (_is_whole(getattr(part, field.name)) and not changed) or tries.get(known, 0) >= MOST:
                    continue
                tries[known] = tries.get(known, 0) + 1
                if any(_is_seen(spec, other) for other in changed):
                    seen.add(known)
    assert len(seen) > 600
    assert sorted(" at ".join(reversed(known)) for known in tries.keys() - seen) == []
