"""Builds the entities and schemas that a case describes."""

from __future__ import annotations

import datetime
import json
import keyword
import re
from collections.abc import Callable, Mapping
from types import new_class
from typing import Any

from tests.conformance.compare import plain

from restencil import Entity, schema

Json = Any
"""Whatever `json.loads` gives."""


class Definitions:
    """The entities of one case by name, its schemas, and how values of both are shown.

    Equal schema texts stand for one schema object, so that a case can ask for the identity of what a query gives.
    """

    def __init__(self, definitions: Mapping[str, Json]) -> None:
        self._specs = definitions
        self._classes: dict[str, type[Entity]] = {}
        self._building: set[str] = set()
        self._schemas: dict[str, Any] = {}
        self._shown: dict[type[Any], _Shown] = {}
        for name in definitions:
            self.entity(name)

    def entity(self, name: str) -> type[Entity]:
        """The class of an entity that the case names; those it builds on are made first."""
        known = self._classes.get(name)
        if known is None:
            if name not in self._specs:
                raise LookupError(f"no definition called {name!r}; there are {', '.join(self._specs) or 'none'}")
            self._building.add(name)
            known = self._classes[name] = self._made(name, self._specs[name])
            self._building.discard(name)
        return known

    def schema(self, spec: Json) -> Any:
        """The schema that a case writes down."""
        if spec is None or isinstance(spec, (bool, int, float)) or spec == "":
            return spec  # a value that is no schema is documentation
        if isinstance(spec, str):
            if spec not in self._classes and spec in self._building:
                return schema.Lazy(lambda: self.entity(spec))
            return self.entity(spec)
        text = json.dumps(spec)
        if text not in self._schemas:
            made = self._schema(spec)
            if self._building:
                return made  # it may hold a Lazy where the finished class can stand later
            self._schemas[text] = made
        return self._schemas[text]

    def plain(self, value: Any) -> Json:
        """A value of the library as JSON."""
        return plain(value, self._key_of)

    def member(self, value: Any, step: str | int) -> Any:
        """What lies one step below a value: a position, a dict key or an entity's field."""
        return self.members(value)[str(step)] if isinstance(value, Entity) else value[step]

    def members(self, value: Any) -> dict[str, Any]:
        """The members of an entity, or of anything else that has members, under their JSON names."""
        if not isinstance(value, Entity):
            return dict(value)
        names = self._shown[type(value)].json_names
        return {names.get(name, name): member for name, member in value.to_dict().items()}

    def _key_of(self, value: Any) -> tuple[str, str | None, dict[str, Any]] | None:
        if not isinstance(value, Entity):
            return None
        shown = self._shown[type(value)]
        members = self.members(value)
        return shown.key, shown.pk(members), members

    def _schema(self, spec: Json) -> Any:
        if isinstance(spec, list):
            return [self.schema(item) for item in spec]
        kind: str | None = spec.get("kind")
        if kind is None:
            return {name: self.schema(member) for name, member in spec.items()}
        if kind in ("array", "values", "union", "all", "invalidate"):
            return self._with_items(_KINDS[kind], spec)
        if kind == "object":
            made = schema.Object({name: self.schema(member) for name, member in spec["schema"].items()})
            return self._defined(made, spec)
        if kind == "collection":
            return schema.Collection(self.schema(spec["schema"]), **collection_options(spec))
        if kind == "query":
            return schema.Query(self.schema(spec["schema"]), _query_process(spec["process"]))
        raise LookupError(f"no schema kind {kind!r}")

    def _with_items(self, made_by: Any, spec: Mapping[str, Json]) -> Any:
        inner = spec["schema"]
        attribute = spec.get("schema_attribute")
        if "schema_attribute" not in spec:
            shorthand = isinstance(inner, dict) and "kind" not in inner
            item = schema.Object({name: self.schema(one) for name, one in inner.items()}) if shorthand else None
            return self._defined(made_by(item or self.schema(inner)), spec)
        mapping = {name: self.schema(item) for name, item in inner.items()}
        if attribute is None:
            return self._defined(made_by(mapping), spec)
        return self._defined(made_by(mapping, schema_attribute=_selector(attribute)), spec)

    def _defined(self, made: Any, spec: Mapping[str, Json]) -> Any:
        definition = spec.get("define")
        if isinstance(definition, dict) and "kind" not in definition:
            made.define({name: self.schema(item) for name, item in definition.items()})
        elif definition is not None:
            made.define(self.schema(definition))
        return made

    def _made(self, name: str, spec: Mapping[str, Json]) -> type[Entity]:
        base: type[Entity] = self.entity(spec["extends"]) if "extends" in spec else Entity
        inherited = self._shown[base] if base is not Entity else _NOTHING
        fields: dict[str, str] = {field: _python_name(field) for field in spec.get("fields", {})}
        json_names = {**inherited.json_names, **{python: field for field, python in fields.items()}}
        python_names = {field: python for python, field in json_names.items()}
        parts = _parts(spec["pk"]) if "pk" in spec else inherited.parts
        relations = {python_names.get(f, f): self.schema(item) for f, item in spec.get("schema", {}).items()}
        settings: dict[str, Any] = {"key": spec["key"], "schema": {**inherited.relations, **relations}}
        renamed = {python: field for python, field in json_names.items() if python != field}
        if renamed:
            settings["wire"] = renamed
        if "pk" in spec:
            settings["pk"] = _pk([python_names.get(part, part) for part in parts])
        if "indexes" in spec:
            settings["indexes"] = tuple(python_names.get(field, field) for field in spec["indexes"])

        def body(namespace: dict[str, Any]) -> None:
            namespace["__module__"] = __name__
            types = spec.get("types", {})
            namespace["__annotations__"] = {python: _TYPES[types.get(field)] for field, python in fields.items()}
            for field, python in fields.items():
                namespace[python] = self._default(spec["fields"][field])
            namespace.update(_hooks(spec))

        made: type[Entity] = new_class(name, (base,), settings, body)
        self._shown[made] = _Shown(spec["key"], parts, json_names, settings["schema"])
        return made

    def _default(self, default: Json) -> Any:
        if isinstance(default, dict) and "$entity" in default:
            return self.entity(default["$entity"]).from_js()
        return default


class _Shown:
    """What the runner itself needs to know of an entity it built."""

    def __init__(self, key: str, parts: tuple[str, ...], json_names: dict[str, str], relations: dict[str, Any]) -> None:
        self.key = key
        self.parts = parts
        self.json_names = json_names
        self.relations = relations

    def pk(self, members: Mapping[str, Any]) -> str | None:
        return _joined([members.get(part) for part in self.parts])


_NOTHING = _Shown("", ("id",), {}, {})

_TYPES: dict[str | None, Any] = {None: Any, "date": datetime.date}
"""The types of fields that a case may name."""

_KINDS: dict[str, Any] = {
    "array": schema.Array,
    "values": schema.Values,
    "union": schema.Union,
    "all": schema.All,
    "invalidate": schema.Invalidate,
}


def _python_name(field: str) -> str:
    """The Python name of a JSON name: a field may not be called like a member of `Entity`, nor like a keyword."""
    name = re.sub(r"\W", "_", field)
    if not name or name[0].isdigit():
        name = f"f_{name}"
    taken = name.startswith("__") or keyword.iskeyword(name) or hasattr(Entity, name)
    return f"{name}_" if taken else name


def _parts(pk: str | list[str]) -> tuple[str, ...]:
    return (pk,) if isinstance(pk, str) else tuple(pk)


def _joined(values: list[Any]) -> str | None:
    return None if any(value is None or value == "" for value in values) else ",".join(map(str, values))


def _pk(names: list[str]) -> str | Callable[[Any], str | None]:
    if len(names) == 1:
        return names[0]
    return lambda entity: _joined([getattr(entity, name) for name in names])


def _hooks(spec: Mapping[str, Json]) -> dict[str, Any]:
    hooks: dict[str, Any] = {}
    if "use_incoming" in spec:
        newer: str = spec["use_incoming"]["newer_field"]

        def should_update(cls: Any, stored_meta: Any, meta: Any, stored: Any, incoming: Any) -> bool:
            if not isinstance(stored, Mapping):
                return True  # it was deleted
            return bool(stored[newer] <= incoming[newer])

        hooks["should_update"] = classmethod(should_update)
    if "validate_required" in spec:
        required: list[str] = spec["validate_required"]

        def validate(cls: Any, record: Mapping[str, Any]) -> str | None:
            return next((f"{field} is missing" for field in required if field not in record), None)

        hooks["validate"] = classmethod(validate)
    return hooks


def _selector(attribute: str | Mapping[str, str]) -> Any:
    if isinstance(attribute, str):
        return attribute
    if attribute["fn"] != "lower":
        raise LookupError(f"no selector function {attribute['fn']!r}")
    field = attribute["field"]

    def lower(value: Any, parent: Any, key: str | None) -> str:
        return str(value[field]).lower()

    return lower


def collection_options(spec: Mapping[str, Json]) -> dict[str, Any]:
    """The options of a collection: which arguments are its identity, and which do not filter."""
    options: dict[str, Any] = {}
    if "non_filter_argument_keys" in spec:
        options["non_filter_argument_keys"] = non_filter(spec["non_filter_argument_keys"])
    if "args_key" in spec:
        options["args_key"] = _args_key(spec["args_key"])
    options |= {name: spec[name] for name in ("follow", "apart") if name in spec}
    if "nest_key" in spec:
        names: dict[str, str] = spec["nest_key"]

        def nest_key(parent: Any, key: str | None) -> dict[str, Any]:
            return {name: parent.get(field) for name, field in names.items()}

        options["nest_key"] = nest_key
    return options


def non_filter(rule: list[str] | Mapping[str, str]) -> list[str] | Callable[[str], bool]:
    """The names of arguments that do not filter, or the rule that tells them."""
    if isinstance(rule, list):
        return rule
    prefix = rule["prefix"]
    return lambda name: name.startswith(prefix)


def _args_key(rule: Mapping[str, list[str]]) -> Callable[..., dict[str, Any]]:
    def args_key(*args: Any) -> dict[str, Any]:
        first: Mapping[str, Any] = (args[0] if args else None) or {}
        if "omit" in rule:
            return {name: value for name, value in first.items() if name not in rule["omit"]}
        return {name: value for name, value in first.items() if name in rule["pick"]}

    return args_key


def _query_process(text: str) -> Callable[..., Any]:
    name, _, field = text.partition(":")
    if name == "count":
        return lambda value, *args: len(value)
    if name == "sort_by":

        def sort_by(value: Any, *args: Any) -> list[Any]:
            items: list[Any] = list(value.values() if isinstance(value, Mapping) else value)
            return sorted(items, key=lambda item: item[field] if isinstance(item, Mapping) else getattr(item, field))

        return sort_by
    raise LookupError(f"no query function {text!r}")
