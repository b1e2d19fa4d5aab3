"""Resources and endpoints of a spec: from their tree to the declaration, with everything they inherit."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import cast

from restencil_generator.diagnostics.model import Related, did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze import parameter_styles
from restencil_generator.spec.analyze.arguments import ClientArguments, read_header_params
from restencil_generator.spec.analyze.bodies import read_body
from restencil_generator.spec.analyze.endpoints import Family, check_requests, keep_lists_apart
from restencil_generator.spec.analyze.entity_fields import check_body_fields, check_param_fields
from restencil_generator.spec.analyze.expires import resolve_expires
from restencil_generator.spec.analyze.fields import read_fields
from restencil_generator.spec.analyze.freshness import check_needs
from restencil_generator.spec.analyze.freshness_rules import check_concurrency, check_lengths
from restencil_generator.spec.analyze.pagination import written_pagination
from restencil_generator.spec.analyze.path_derived_fields import check_positions
from restencil_generator.spec.analyze.raw_endpoint import RawEndpoint
from restencil_generator.spec.analyze.settings import (
    Settings,
    first_given,
    joined_headers,
    laid_on,
    nearest_auth,
    overlaid,
    settings,
)
from restencil_generator.spec.analyze.type_forms import Context
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.error_classes import laid_over
from restencil_generator.spec.grammar.patterns import URL
from restencil_generator.spec.grammar.value_reader import JsonWithPlaces, ParsedSection, Subject
from restencil_generator.spec.names import CLIENT_MEMBERS, RESOURCE_MEMBERS, pascal_case, python_name, wire_name
from restencil_generator.spec.path_template import TemplateError, parse_path
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, is_null


class Resources:
    """Reads all resources of a spec. `top` is what the spec settles for all, `client` the arguments of its clients."""

    def __init__(self, types: Types, top: Settings, client: ClientArguments) -> None:
        self.types = types
        self.top = top
        self.client = client

    def read(self, tables: Mapping[str, tuple[ScalarNode, MappingNode]]) -> dict[str, d.Resource]:
        """The resources, by name. What is wrong is noted; a resource without a usable path or schema is left out."""
        found: dict[str, d.Resource] = {}
        written: dict[str, dict[str, RawEndpoint]] = {}
        options: dict[str, ParsedSection | None] = {}
        for name, (key, mapping) in tables.items():
            if self._resource_name(key):
                # Not every file system tells names apart by case.
                module = python_name(name, "resource").lower()
                self.types.claim(module, "module", f"the module of resource {quoted(name)}", key.place)
            reading = _Resource(self.types, self.top, self.client, name, key, mapping)
            resource = reading.resource()
            if resource is not None:
                found[name], written[name] = resource, reading.endpoints
                options[name] = reading.given["options"]
        found = resolve_expires(self.types, found, written, tables.keys())
        check_lengths(self.types, written)
        check_concurrency(self.types, found, options, written)
        found = keep_lists_apart(found, self.types.entities)
        check_requests(self.types, found)
        check_positions(self.types, found)
        return found

    def _resource_name(self, key: ScalarNode) -> bool:
        types = self.types
        if not types.name(key, "a resource"):
            return False
        if python_name(key.text, "resource") in CLIENT_MEMBERS:
            message = f"a resource cannot be called {quoted(key.text)}: every client has a member of that name"
            types.report("taken-name", message, key, "choose another, for instance with a plural or a prefix")
            return False
        return True


class _Resource:
    """One resource on its way to the declaration."""

    def __init__(
        self, types: Types, top: Settings, client: ClientArguments, name: str, key: ScalarNode, node: MappingNode
    ) -> None:
        self.types = types
        self.top = top
        self.client = client
        self.name = name
        self.key = key
        self.what = Subject(f"resource {quoted(name)}")
        self.given = types.section("resource", node, self.what, key)
        self.settings = settings(self.given, types, self.what)
        self.class_name = self._class_name()
        self.custom_collection: d.Reference | None = None
        self.follow = True
        self.non_filter: list[tuple[str, Node]] = []
        self.search_params: tuple[d.Field, ...] = ()
        self.endpoints: dict[str, RawEndpoint] = {}
        """What the spec writes about endpoints, by their names."""

    # ---------------------------------------------------------------------------------------------- the resource's keys

    def resource(self) -> d.Resource | None:
        """The resource with all its endpoints; None without a usable path or schema."""
        types, what, given = self.types, self.what, self.given
        path = self._own_path()
        schema_node = given.node("schema")
        schema = self._schema(schema_node) if schema_node is not None else None
        self._collection()
        params, search_params = self._params(given, what, self.class_name)
        self.search_params = search_params
        check_param_fields(types, params, given.node("params"), [schema])
        check_param_fields(types, search_params, given.node("search_params"), [schema], "search parameter")
        names = tuple(d.entities_in(schema)) if schema is not None else ()
        entities = [types.entities[name] for name in names if name in types.entities]
        check_needs(types, given["options"], entities, what, "it")
        headers = read_header_params(types, given.node("header_params"), what)
        body = d.Body("json", schema) if schema is not None else None
        if (body_node := given.node("body")) is not None:
            body = read_body(types, body_node, what, f"{self.class_name}Body")
            check_body_fields(types, body, body_node, [schema])
        field: str | None = given["pagination_field"]
        pagination = written_pagination(given)
        optimistic: bool = given["optimistic"]
        self.endpoints = self._written_endpoints()
        members = dict(given["members"]) if given["members"] is not None else None
        examples = self._examples()
        singleton: bool = given["singleton"]
        is_group = "path" not in given and "schema" not in given and "endpoints" in given
        if not is_group and (path is None or schema is None):
            return None
        if singleton:
            self._without_list()
            named = d.OF_ONE if members is None else [name for name in members if name in d.OF_ONE]
            members = {name: (members or {}).get(name, self.key) for name in named}
        root = d.Endpoint(
            name="",
            python="",
            standard=False,
            extends=None,
            written=frozenset(),
            method="GET",
            path=path or parse_path(""),
            url_prefix=first_given(self.settings.url_prefix, self.top.url_prefix, ""),
            headers=joined_headers(self.top.headers, self.settings.headers),
            params=(),
            search_params=(),
            body=body,
            schema=schema,
            returns=None,
            content=None,
            side_effect=False,
            pagination_field=None,
            pagination=None,
            collection=None,
            options=d.Options(**overlaid(self.top.options, self.settings.options)),
            optimistic=False,
            cross_origin_body=self.top.cross_origin_body is True,
            base=self.settings.base or self.top.base,
            errors=laid_over(laid_over({}, self.top.errors), self.settings.errors),
            header_params=headers.over(self.client.made),
            without=self.client.taken_back(headers),
            search_style=parameter_styles.laid_over(
                parameter_styles.laid_over(d.NO_STYLES, self.top.styles), self.settings.styles
            ),
            auth=nearest_auth(None, self.settings.auth),
            request=laid_on(laid_on(d.Request(), self.top.request), self.settings.request),
            response=laid_on(laid_on(d.Response(), self.top.response), self.settings.response),
            place=self.key.place,
        )
        family = Family(
            self,
            root,
            schema,
            params,
            search_params,
            field,
            pagination,
            optimistic,
            members,
            self.endpoints,
            examples,
            is_item=not (is_group or singleton),
        )
        endpoints = family.endpoints()
        self._unused_params(params, root.path, endpoints)
        return d.Resource(
            name=self.name,
            python=python_name(self.name, "resource"),
            class_name=self.class_name,
            path=path,
            schema=schema,
            url_prefix=root.url_prefix,
            headers=root.headers,
            options=root.options,
            optimistic=optimistic,
            members=family.existing,
            endpoints=endpoints,
            body=body,
            search_params=tuple(parameter_styles.styled(one, root.search_style) for one in search_params),
            params=params,
            pagination_field=field,
            pagination=endpoints["get_list"].pagination if "get_list" in endpoints else None,
            base=root.base,
            errors=root.errors,
            header_params=root.header_params,
            without=root.without,
            auth=root.auth,
            request=root.request,
            response=root.response,
            singleton=singleton,
            cross_origin_body=root.cross_origin_body,
            description=given["description"],
            deprecated=given["deprecated"],
            place=self.key.place,
            places=given.places,
            url_place=(self.settings if self.settings.url_prefix is not None else self.top).url_place,
        )

    def _class_name(self) -> str:
        """The name of its class, which is taken in the package from now on."""
        name = pascal_case(self.name) if re.match(r"[^\W_]", self.name) else "Resource"
        place = self.key.place
        if self.given["singleton"] and name in self.types.kinds:
            name += "Resource"  # `settings` has the entity Settings: neither is of the other's plural
        if self.given["class"] is not None:
            name, place = self.given["class"], self.given.entries["class"].value.place
        hint = "give the resource's class another name with 'class:'"
        self.types.claim(name, "resource", f"the class of {self.what}", place, hint)
        return name

    def _own_path(self) -> d.Path | None:
        node = self.given.node("path")
        path = self._path(node, Subject("'path'", self.what)) if node is not None else None
        if node is None or path is None or path.parameters or self.given["singleton"]:
            return path
        self.types.report(
            "path-without-parameter",
            f"the path of {self.what} has no parameter, so it names no single entity",
            node,
            "add one, such as '/:id', or 'singleton: true' where there is one; an endpoint may have a path without any",
        )
        return None

    def _without_list(self) -> None:
        """Notes what a singleton has no list for."""
        told = f"the singleton {quoted(self.name)} has no list"
        for name, node in self.given["members"] or ():
            if name not in d.OF_ONE:
                self.types.report("singleton-list", f"{told}, so {quoted(name)} cannot be a member", node, "remove it")
        for key in ("collection", "pagination_field", "pagination"):
            if key in self.given:
                message = f"{told}, so {quoted(key)} has no meaning"
                self.types.report("singleton-list", message, self.given.key(key), "remove it")

    def _schema(self, node: Node) -> d.EntityRef | d.UnionOf | None:
        types = self.types
        context = Context(self.what, "schema", f"{self.class_name}Schema")
        if isinstance(node, MappingNode) and not any(word in node.entries for word in ("entity", "union")):
            self._schema_problem(node)
            return None
        type = types.type(node, context)
        if type is None or isinstance(type, d.EntityRef | d.UnionOf):
            return type
        self._schema_problem(node)
        return None

    def _schema_problem(self, node: Node) -> None:
        if self.types.is_pointer(node, f"the schema of {self.what}"):
            return
        self.types.report(
            "resource-schema",
            f"the schema of {self.what} is an entity, declared in place or by name, or a union of entities",
            node,
            "name an entity; an endpoint may have a schema of any form",
        )

    def _path(self, node: Node, what: Subject) -> d.Path | None:
        types = self.types
        text = types.text(node, what)
        if text is None or not isinstance(node, ScalarNode):
            return None
        try:
            path = parse_path(text)
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
                message = f"the parameter {quoted(name)} of {what} is no Python name"
                types.report("bad-name", message, node.part(at, len(name) + 1), "begin it with a letter")
                usable = False
            seen.add(name)
        if not re.fullmatch(URL.regex, text):
            types.report("bad-path", f"{what} holds a space or a control character", node)
            usable = False
        return path if usable else None

    def _collection(self) -> None:
        collection: d.Reference | ParsedSection | None = self.given["collection"]
        if isinstance(collection, d.Reference):
            self.custom_collection = collection
        elif collection is not None:
            self.non_filter = collection["non_filter_arguments"] or []
            self.follow = collection["follow"] is not False

    def _params(
        self, given: ParsedSection, what: Subject, title: str
    ) -> tuple[tuple[d.Field, ...], tuple[d.Field, ...]]:
        """The path parameters and the search parameters that a level writes."""
        found = [
            read_fields(self.types, given.node(key), what, position, type_name, label=Subject(f"'{key}'", what))
            for key, position, type_name in (
                ("params", "path_param", self.class_name),
                ("search_params", "search_param", f"{title}Search"),
            )
        ]
        return found[0], found[1]

    def _unused_params(self, params: tuple[d.Field, ...], path: d.Path, endpoints: Mapping[str, d.Endpoint]) -> None:
        known = {parameter.name for parameter in path.parameters}
        for endpoint in endpoints.values():
            known.update(parameter.name for parameter in endpoint.path.parameters)
        for field in params:
            if field.name not in known:
                self.unknown_parameter(field, self.what, known)

    def unknown_parameter(self, field: d.Field, what: Subject, known: set[str]) -> None:
        """Notes a path parameter that no path has."""
        hint = did_you_mean(field.name, known) or "name a parameter of the path, or move it to 'search_params'"
        self.types.report(
            "unknown-parameter",
            f"'params' of {what} names {quoted(field.name)}, which its path has not",
            field.place,
            hint,
        )

    def _examples(self) -> dict[str, d.Example]:
        node = self.given.node("examples")
        hint = "write {endpoint: {response: …}}"
        mapping = self.types.mapping(node, f"'examples' of {self.what}", hint) if node is not None else None
        found: dict[str, d.Example] = {}
        for name, inner in mapping or ():
            what = Subject(f"the example {quoted(name)}", self.what)
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

    # --------------------------------------------------------------------------------------------- endpoints as written

    def _written_endpoints(self) -> dict[str, RawEndpoint]:
        types = self.types
        found: dict[str, RawEndpoint] = {}
        table = self.given.node("endpoints")
        mapping = types.mapping(table, f"'endpoints' of {self.what}") if table is not None else None
        pythons: dict[str, ScalarNode] = {}
        if mapping is None:
            return found
        for name in sorted(mapping.entries):
            inner = mapping.entries[name]
            what = Subject(f"endpoint {quoted(name)}", self.what)
            if not types.name(inner.key, what):
                continue
            if name in RESOURCE_MEMBERS:
                message = f"an endpoint cannot be called {quoted(name)}: every resource has a member of that name"
                types.report("taken-name", message, inner.key, "choose another, for instance with a prefix")
                continue
            python = python_name(name, "endpoint")
            if python in pythons:
                types.report(
                    "name-clash",
                    f"endpoints {quoted(name)} and {quoted(pythons[python].text)} of {self.what} "
                    f"are both {quoted(python)} in Python",
                    inner.key,
                    "rename one of them",
                    [Related(pythons[python].place, "the other one")],
                )
            pythons.setdefault(python, inner.key)
            node = types.mapping(inner.value, what)
            if node is not None:
                found[name] = self._written(name, what, inner.key, node)
        return found

    def _written(self, name: str, what: Subject, key: ScalarNode, node: MappingNode) -> RawEndpoint:
        types = self.types
        given = types.section("endpoint", node, what, key)
        title = self.class_name + pascal_case(name)
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
            # What a call returns has the plain name; beside `returns` the schema is something else.
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
                hint = (
                    "write what an answer is made of, as in 'schema: Post', or 'schema: null' for nothing of the kind"
                )
                types.report("wrong-type", f"{what} is left empty", node, hint)
            return None
        type = types.type(node, Context(what, "schema", type_name))
        return self._collected(type) if type is not None else None

    def _collected(self, type: d.Type) -> d.Type:
        """A schema whose collections of this resource filter as the resource's `collection` says."""
        match type:
            case d.CollectionOf(of, nest, arguments):
                return d.CollectionOf(
                    of,
                    nest,
                    arguments or self.non_filter_wires(self.search_params),
                    self.custom_collection,
                    follow=self.follow and type.follow,
                )
            case d.QueryOf(of, process, returns):
                return d.QueryOf(cast("d.CollectionOf | d.AllOf", self._collected(of)), process, returns)
            case d.ObjectType(members, name):
                replaced = [dataclasses.replace(member, type=self._collected(member.type)) for member in members]
                return d.ObjectType(tuple(replaced), name)
            case _:
                return type

    def non_filter_wires(self, search_params: tuple[d.Field, ...]) -> tuple[str, ...]:
        """The wire names of the resource's non-filter arguments; path parameters keep their name."""
        wires = {field.name: field.wire for field in search_params} | {
            field.python: field.wire for field in search_params
        }
        in_path = self.types.path_names(self.given.node("path"))
        return tuple(
            name if name in in_path else wires.get(name) or wire_name(name, self.types.wire)
            for name, _ in self.non_filter
        )
