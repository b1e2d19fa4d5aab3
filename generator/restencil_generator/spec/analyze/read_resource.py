"""Reader of resources: from nodes to declared values, before inheritance."""

from __future__ import annotations

import dataclasses
import re
from typing import Final, cast

from restencil_generator.diagnostics.model import Related, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.arguments import read_header_params
from restencil_generator.spec.analyze.bodies import read_body
from restencil_generator.spec.analyze.entity_fields import check_body_fields, check_param_fields
from restencil_generator.spec.analyze.fields import read_fields
from restencil_generator.spec.analyze.freshness import check_needs
from restencil_generator.spec.analyze.pagination import written_pagination
from restencil_generator.spec.analyze.raw import RawEndpoint, RawResource
from restencil_generator.spec.analyze.settings import settings
from restencil_generator.spec.analyze.type_forms import Context
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.grammar.patterns import URL
from restencil_generator.spec.grammar.value_reader import JsonWithPlaces, ParsedSection, Subject
from restencil_generator.spec.names import RESOURCE_MEMBERS, pascal_case, python_name
from restencil_generator.spec.path_template import TemplateError, parse_path
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, is_null

_IS_RELATIVE: Final = re.compile(r"(?!\w+\\:)[\w:]").match
"""Whether a path begins with a name or a parameter, and is not a URL."""


def read_resource(types: Types, name: str, key: ScalarNode, node: MappingNode) -> RawResource:
    """Read a resource. Errors are reported, and invalid parts left out."""
    return _Reader(types, name, key, node).resource()


class _Reader:
    """Reader of one resource."""

    def __init__(self, types: Types, name: str, key: ScalarNode, node: MappingNode) -> None:
        self.types = types
        what = Subject(f"resource {quoted(name)}")
        section = types.section("resource", node, what, key)
        self.raw = RawResource(name, what, key, section, settings(section, types, what), "")
        self.raw.class_name = self._class_name()

    def resource(self) -> RawResource:
        """Read the resource with its endpoints."""
        types, raw, section, what = self.types, self.raw, self.raw.section, self.raw.what
        raw.path = self._own_path()
        raw.path_names = types.path_names(section.node("path"))
        schema = section.node("schema")
        raw.schema = self._schema(schema) if schema is not None else None
        self._collection()
        raw.params, raw.search_params = self._params(section, what, raw.class_name)
        check_param_fields(types, raw.params, section.node("params"), [raw.schema])
        check_param_fields(types, raw.search_params, section.node("search_params"), [raw.schema], "search parameter")
        names = tuple(d.entities_in(raw.schema)) if raw.schema is not None else ()
        entities = [types.entities[one] for one in names if one in types.entities]
        check_needs(types, section["options"], entities, what, "it")
        raw.headers = read_header_params(types, section.node("header_params"), what)
        if (body := section.node("body")) is not None:
            raw.body = read_body(types, body, what, f"{raw.class_name}Body")
            check_body_fields(types, raw.body, body, [raw.schema])
        raw.pagination = written_pagination(section)
        raw.endpoints = self._endpoints()
        raw.examples = self._examples()
        if raw.is_singleton and raw.path is not None and raw.schema is not None:
            self._check_singleton()
        return raw

    def _class_name(self) -> str:
        """Return the name of its class, and reserve it in the package."""
        name = pascal_case(self.raw.name) if re.match(r"[^\W_]", self.raw.name) else "Resource"
        place = self.raw.key.place
        if self.raw.section["singleton"] and name in self.types.kinds:
            name += "Resource"  # such as `settings` with the entity Settings: they have no plural
        if self.raw.section["class"] is not None:
            name, place = self.raw.section["class"], self.raw.section.entries["class"].value.place
        hint = "give the resource's class another name with 'class:'"
        self.types.claim(name, "resource", f"the class of {self.raw.what}", place, hint)
        return name

    def _own_path(self) -> d.Path | None:
        node = self.raw.section.node("path")
        path = self._path(node, Subject("'path'", self.raw.what)) if node is not None else None
        if node is None or path is None or path.parameters or self.raw.section["singleton"]:
            return path
        self.types.report(
            "path-without-parameter",
            f"the path of {self.raw.what} has no parameter, so it does not identify an entity",
            node,
            "add a parameter, such as '/:id', or 'singleton: true' if there is only one record",
        )
        return None

    def _check_singleton(self) -> None:
        """Report settings that require a list."""
        reason = f"the singleton {quoted(self.raw.name)} has no list"
        for name, node in self.raw.section["members"] or ():
            if name not in d.OF_ONE:
                self.types.report(
                    "singleton-list", f"{reason}, so {quoted(name)} cannot be a member", node, "remove it"
                )
        for key in ("collection", "pagination_field", "pagination"):
            if key in self.raw.section:
                message = f"{reason}, so {quoted(key)} has no meaning"
                self.types.report("singleton-list", message, self.raw.section.key(key), "remove it")

    def _schema(self, node: Node) -> d.EntityRef | d.UnionOf | None:
        types = self.types
        context = Context(self.raw.what, "schema", f"{self.raw.class_name}Schema")
        if isinstance(node, MappingNode) and not any(word in node.entries for word in ("entity", "union")):
            self._schema_problem(node)
            return None
        type = types.type(node, context)
        if type is None or isinstance(type, d.EntityRef | d.UnionOf):
            return type
        self._schema_problem(node)
        return None

    def _schema_problem(self, node: Node) -> None:
        if self.types.is_pointer(node, f"the schema of {self.raw.what}"):
            return
        self.types.report(
            "resource-schema",
            f"the schema of {self.raw.what} must be an entity or a union of entities",
            node,
            "write the name of an entity; other schemas belong under 'endpoints'",
        )

    def _path(self, node: Node, what: Subject) -> d.Path | None:
        types = self.types
        text = types.text(node, what)
        if text is None or not isinstance(node, ScalarNode):
            return None
        try:
            path = parse_path(text)
            if _IS_RELATIVE(text):
                path = parse_path(f"/{text}")  # one slash is between prefix and path
        except TemplateError as error:
            types.report("bad-path", f"{what}: {error}", node.part(error.position, error.length), error.hint)
            return None
        usable = True
        seen: set[str] = set()
        for parameter in path.parameters:
            name = parameter.name
            at = text.find(f":{name}")
            if name in seen:
                at = text.rfind(f":{name}")
                message = f"{what} has the parameter {quoted(name)} twice"
                types.report("duplicate-parameter", message, node.part(at, len(name) + 1), "rename one of them")
                usable = False
            elif name[0] == "_" or name[0].isdigit():
                message = f"the parameter {quoted(name)} of {what} is not a valid Python name"
                types.report("bad-name", message, node.part(at, len(name) + 1), "begin it with a letter")
                usable = False
            seen.add(name)
        if not re.fullmatch(URL.regex, text):
            types.report("bad-path", f"{what} contains a space or a control character", node)
            usable = False
        return path if usable else None

    def _collection(self) -> None:
        collection: d.Reference | ParsedSection | None = self.raw.section["collection"]
        if isinstance(collection, d.Reference):
            self.raw.collection = collection
        elif collection is not None:
            self.raw.non_filter = tuple(collection["non_filter_arguments"] or ())
            self.raw.follow = collection["follow"] is not False

    def _params(
        self, given: ParsedSection, what: Subject, title: str
    ) -> tuple[tuple[d.Field, ...], tuple[d.Field, ...]]:
        """Read the path parameters and the search parameters of a level."""
        found = [
            read_fields(self.types, given.node(key), what, position, type_name, label=Subject(f"'{key}'", what))
            for key, position, type_name in (
                ("params", "path_param", self.raw.class_name),
                ("search_params", "search_param", f"{title}Search"),
            )
        ]
        return found[0], found[1]

    def _examples(self) -> dict[str, d.Example]:
        node = self.raw.section.node("examples")
        hint = "write {endpoint: {response: …}}"
        mapping = self.types.mapping(node, f"'examples' of {self.raw.what}", hint)
        found: dict[str, d.Example] = {}
        for name, inner in mapping or ():
            what = Subject(f"the example {quoted(name)}", self.raw.what)
            written = self.types.mapping(inner.value, what)
            if written is None:
                continue
            given = self.types.section("example", written, what, inner.key)
            values: dict[str, JsonWithPlaces] = given.values()
            places = {(key, *where): place for key, value in values.items() for where, place in value.places.items()}
            params = values["params"].value if "params" in values else {}
            body, response = (values[key].value if key in values else d.MISSING for key in ("body", "response"))
            arguments = params if isinstance(params, dict) else {}
            found[name] = d.Example(arguments, body, response, places, inner.key.place)
        return found

    # ------------------------------------------------------------------------------------------------------- endpoints

    def _endpoints(self) -> dict[str, RawEndpoint]:
        types = self.types
        found: dict[str, RawEndpoint] = {}
        table = self.raw.section.node("endpoints")
        mapping = types.mapping(table, f"'endpoints' of {self.raw.what}")
        pythons: dict[str, ScalarNode] = {}
        if mapping is None:
            return found
        for name in sorted(mapping.entries):
            inner = mapping.entries[name]
            what = Subject(f"endpoint {quoted(name)}", self.raw.what)
            if not types.name(inner.key, what):
                continue
            if name in RESOURCE_MEMBERS:
                message = f"an endpoint cannot be called {quoted(name)}: every resource has a member of that name"
                types.report("taken-name", message, inner.key, "choose another name, for example with a prefix")
                continue
            python = python_name(name, "endpoint")
            if python in pythons:
                types.report(
                    "name-clash",
                    f"endpoints {quoted(name)} and {quoted(pythons[python].text)} of {self.raw.what} "
                    f"are both {quoted(python)} in Python",
                    inner.key,
                    "rename one of them",
                    [Related(pythons[python].place, "the other one")],
                )
            pythons.setdefault(python, inner.key)
            node = types.mapping(inner.value, what)
            if node is not None:
                found[name] = self._endpoint(name, what, inner.key, node)
        return found

    def _endpoint(self, name: str, what: Subject, key: ScalarNode, node: MappingNode) -> RawEndpoint:
        types = self.types
        given = types.section("endpoint", node, what, key)
        title = self.raw.class_name + pascal_case(name)
        own = RawEndpoint(
            name, what, key, given, settings(given, self.types, what), pagination=written_pagination(given)
        )
        own.params, own.search_params = self._params(given, what, title)
        own.headers = read_header_params(types, given.node("header_params"), what)
        if (path := given.node("path")) is not None:
            own.path = self._path(path, Subject("'path'", what))
        if (body := given.node("body")) is not None:
            own.body = read_body(types, body, what, f"{title}Body")
        if (schema := given.node("schema")) is not None:
            # The type that a call returns has the simple name; with `returns`, that is not the schema.
            word = "Response" if "returns" in given else "Result"
            own.schema = self._endpoint_schema(schema, what, f"{title}{word}")
        if (returns := given.node("returns")) is not None:
            own.returns = types.type(returns, Context(Subject("'returns'", what), "returns", f"{title}Result"))
        return own

    def _endpoint_schema(self, node: Node, what: Subject, type_name: str) -> d.Type | None:
        types = self.types
        what = Subject("the schema", what)
        if is_null(node):
            if isinstance(node, ScalarNode) and not node.text:
                hint = "write the type of the response, such as 'schema: Post', or 'schema: null' for none"
                types.report("wrong-type", f"{what} is empty", node, hint)
            return None
        type = types.type(node, Context(what, "schema", type_name))
        return self._collected(type) if type is not None else None

    def _collected(self, type: d.Type) -> d.Type:
        """Apply the resource's `collection` settings to the collections in a schema."""
        match type:
            case d.CollectionOf(of, nest, arguments):
                return d.CollectionOf(
                    of,
                    nest,
                    arguments or self.raw.non_filter_wires(self.raw.search_params, self.types.wire),
                    self.raw.collection,
                    follow=self.raw.follow and type.follow,
                )
            case d.QueryOf(of, process, returns):
                return d.QueryOf(cast("d.CollectionOf | d.AllOf", self._collected(of)), process, returns)
            case d.ObjectType(members, name):
                replaced = [dataclasses.replace(member, type=self._collected(member.type)) for member in members]
                return d.ObjectType(tuple(replaced), name)
            case _:
                return type
