"""What docstrings say: descriptions, routes, parameters, and examples as Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from restencil_generator.codegen.annotations import object_types
from restencil_generator.codegen.json_values import json_value
from restencil_generator.codegen.layout import on_one_line
from restencil_generator.codegen.pyexpr import Call, Example, Expression, Items, Table
from restencil_generator.spec import model as d

_LONG: Final = 300
"""From so many characters on, of a list in the answer of an example only the first item is shown."""

_TOO_LONG: Final = 1500
"""From so many characters on, the answer of an example is not shown."""


def endpoint_doc(endpoint: d.Endpoint) -> str:
    """What an endpoint does, method and path, and the parameters that the spec describes."""
    route = route_of(endpoint)
    described = endpoint.description.strip()
    if described and "\n" not in described:
        text = f"{described} {route}"
    else:
        text = f"{described}\n\n{route}" if described else route
    text = with_deprecation(text, endpoint.deprecated)
    told = [(field.python, note_of(field)) for field in (*endpoint.params, *endpoint.search_params)]
    notes = "\n".join(f"`{name}`: {' '.join(note.split())}" for name, note in told if note)
    return f"{text}\n\n{notes}" if notes else text


def own_doc(endpoint: d.Endpoint) -> str:
    """The docstring of `push` and the like, and of `create`: nothing where the spec says nothing of them themselves."""
    said = endpoint.description or endpoint.example or (endpoint.deprecated is not None)
    return endpoint_doc(endpoint) if said else ""


def route_of(endpoint: d.Endpoint) -> str:
    """Method and path."""
    return f"`{endpoint.method} {endpoint.path.text}`"


def note_of(field: d.Field) -> str:
    """What the spec says of a field or parameter, with the note that it is deprecated; or nothing."""
    return with_deprecation(field.description, field.deprecated).strip()


def with_deprecation(text: str, deprecated: str | None) -> str:
    """A description with the note that something is deprecated, and why."""
    if deprecated is None:
        return text
    return f"{text}\n\nDeprecated{': ' + deprecated if deprecated else '.'}"


# ----------------------------------------------------------------------------------------------------------- TypedDicts


def type_docs(resource: d.Resource) -> dict[str, str]:
    """What is said of each object type of a resource's schemas, results and bodies, by its name."""
    found: dict[str, str] = {}
    # The endpoint that writes a type tells what it is for; others may have inherited it.
    for own in (True, False):
        for _, endpoint in resource.all_endpoints():
            told: list[tuple[d.Type | None, str]] = []
            if own is bool(endpoint.written & {"schema", "returns"}):
                told += [(type, f"the answer of {route_of(endpoint)}") for type in (endpoint.returns, endpoint.schema)]
            if own is ("body" in endpoint.written) and endpoint.body is not None:
                others = f"what creates or changes a member of `{place_of(resource)}`"
                told.append((endpoint.body.type, f"the body of {route_of(endpoint) if own else others}"))
            if own is ("search_params" in endpoint.written):
                what = f"in the search string of {route_of(endpoint)}"
                told += [(field.type, f"`{field.python}` {what}") for field in endpoint.search_params]
            for type, whole in told:
                for one in object_types(type):
                    found.setdefault(one.name, f"{share_of(one, type, whole)}.")
    partial = partial_body(resource)
    if partial in found:
        found[partial] = f"The body of {route_of(resource.endpoints['partial_update'])}: any of these."
    return found


def place_of(resource: d.Resource) -> str:
    """Where a resource is, in words: its path; of a group its name."""
    return resource.name if resource.path is None else resource.path.text


def share_of(part: d.ObjectType, type: d.Type | None, whole: str) -> str:
    """How the docstring of an object type begins, by its share in the whole type."""
    text = whole if part is (type.item if isinstance(type, d.Optional) else type) else f"a part of {whole}"
    return text[:1].upper() + text[1:]


def partial_body(resource: d.Resource) -> str | None:
    """The name of the TypedDict of `partial_update` where it is that of the resource's body: a part of it will do."""
    endpoint = resource.endpoints.get("partial_update")
    if endpoint is None or endpoint.body is None or "body" in endpoint.written:
        return None
    return endpoint.body.type.name if isinstance(endpoint.body.type, d.ObjectType) else None


# ------------------------------------------------------------------------------------------------------------- examples


def example_of(spec: d.Spec, endpoint: d.Endpoint, function: str) -> Example | None:
    """The example of an endpoint as a call under Python names, and what the server answers."""
    example = endpoint.example
    if example is None:
        return None
    names = _by_name((*endpoint.params, *endpoint.search_params, *endpoint.page_params))
    keywords: list[tuple[str, Expression]] = []
    for name, value in example.params.items():
        field = names.get(name)
        keywords.append((name if field is None else field.python, json_value(value)))
    if example.body is not d.MISSING:
        body = endpoint.body
        value = example.body if body is None else _renamed(spec, body.type, example.body, lambda field: field.python)
        keywords.append(("body", json_value(value)))
    return Example(Call(function, (), tuple(keywords)), _answer(spec, endpoint, example.response))


def _answer(spec: d.Spec, endpoint: d.Endpoint, response: d.Json | d.Missing) -> Expression | None:
    if response is d.MISSING:
        return None
    shown = json_value(_renamed(spec, endpoint.schema, response, lambda field: field.wire))
    if len(on_one_line(shown)) > _LONG:
        shown = _beginning(shown)
    return None if len(on_one_line(shown)) > _TOO_LONG else shown


def _beginning(shown: Expression) -> Expression:
    """Of each list the first item alone, and `...` for the others, which is Python too."""
    match shown:
        case Items(items) if items:
            return Items((_beginning(items[0]), *(["..."] if len(items) > 1 else [])))
        case Table(pairs):
            return Table(tuple((key, _beginning(value)) for key, value in pairs))
        case _:
            return shown


def _renamed(spec: d.Spec, type: d.Type | None, value: d.Json, name: Callable[[d.Field], str]) -> d.Json:
    """A value of a type with other names for its members; names that the spec does not know stay."""
    match type:
        case d.Optional(of) | d.CollectionOf(of) | d.PageOf(of) | d.QueryOf(of) | d.InvalidateOf(of):
            return _renamed(spec, of, value, name)
        case d.AdderOf(of):
            whole = isinstance(of.of, d.ValuesOf) or isinstance(value, list)
            return _renamed(spec, of.of if whole else of.of.item, value, name)
        case d.ListOf(of) | d.AllOf(of) if isinstance(value, list):
            return [_renamed(spec, of, part, name) for part in value]
        case d.ValuesOf(of) if isinstance(value, dict):
            return {key: _renamed(spec, of, part, name) for key, part in value.items()}
        case _ if isinstance(value, dict):
            fields = _by_name(_fields(spec, type))
            found: dict[str, d.Json] = {}
            for key, part in value.items():
                field = fields.get(key)
                found[key if field is None else name(field)] = (
                    part if field is None else _renamed(spec, field.type, part, name)
                )
            return found
        case _:
            return value


def _fields(spec: d.Spec, type: d.Type | None) -> tuple[d.Field, ...]:
    match type:
        case d.ObjectType(members):
            return members
        case d.ObjectRef(name):
            return spec.objects[name].fields
        case d.EntityRef(name):
            return spec.entities[name].all_fields
        case d.UnionOf(choices):
            return tuple(field for choice in choices for field in spec.entities[choice.entity].all_fields)
        case _:
            return ()


def _by_name(fields: tuple[d.Field, ...]) -> Mapping[str, d.Field]:
    return {field.wire: field for field in fields} | {field.name: field for field in fields}
