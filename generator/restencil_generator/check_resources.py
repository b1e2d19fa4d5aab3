"""Resources and endpoints of a spec: from their tree to the declaration, with everything they inherit."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from restencil_generator import declaration as d
from restencil_generator.check_endpoints import MEMBERS, Family, Written, WrittenPagination, check_requests
from restencil_generator.check_settings import (
    TOKEN,
    URL_TEXT,
    Settings,
    Settled,
    first_given,
    joined_headers,
    overlaid,
)
from restencil_generator.check_types import Context, Types
from restencil_generator.names import CLIENT_MEMBERS, RESOURCE_MEMBERS, pascal_case, python_name, wire_name
from restencil_generator.problems import Place, Related, did_you_mean, quoted
from restencil_generator.template import TemplateError, parse_path
from restencil_generator.tree import Entry, MappingNode, Node, ScalarNode, SequenceNode, described, is_null

if TYPE_CHECKING:
    from restencil_generator.declaration import Content, Json

RESOURCE_KEYS: Final = (
    "path",
    "schema",
    "class",
    "members",
    "url_prefix",
    "headers",
    "endpoint",
    "body",
    "params",
    "search_params",
    "collection",
    "pagination_field",
    "pagination",
    "optimistic",
    "options",
    "endpoints",
    "examples",
    "description",
    "deprecated",
)

ENDPOINT_KEYS: Final = (
    "extends",
    "path",
    "method",
    "url_prefix",
    "headers",
    "params",
    "search_params",
    "body",
    "schema",
    "returns",
    "content",
    "side_effect",
    "pagination_field",
    "pagination",
    "options",
    "process",
    "update",
    "get_optimistic_response",
    "description",
    "deprecated",
)

CONTENTS: Final = ("json", "text", "bytes", "stream")
STYLES: Final = ("page", "offset", "cursor", "link")
PAGINATION_KEYS: Final = ("style", "next", "size", "remove_cursor")
EXAMPLE_KEYS: Final = ("params", "body", "response")


class Resources(Settled):
    """Reads all resources of a spec."""

    def __init__(self, types: Types, top: Settings) -> None:
        super().__init__(types)
        self.top = top

    def resources(self, tables: Mapping[str, tuple[ScalarNode, MappingNode]]) -> dict[str, d.Resource]:
        """The resources, by name. What is wrong is noted; a resource without a usable path or schema is left out."""
        found: dict[str, d.Resource] = {}
        for name, (key, mapping) in tables.items():
            if self._resource_name(key):
                # Not every file system tells names apart by case.
                module = python_name(name, "resource").lower()
                self.types.claim(module, "module", f"the module of resource {quoted(name)}", key.place)
            resource = _Resource(self, name, key, mapping).resource()
            if resource is not None:
                found[name] = resource
        check_requests(self.types, found)
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

    def __init__(self, all: Resources, name: str, key: ScalarNode, node: MappingNode) -> None:
        self.all = all
        self.types = all.types
        self.name = name
        self.key = key
        self.node = node
        self.what = f"resource {quoted(name)}"
        self.class_name = pascal_case(name) if re.match(r"[^\W_]", name) else "Resource"
        self.given: dict[str, Entry] = {}
        self.settings = Settings()
        self.custom_collection: d.Reference | None = None
        self.non_filter: list[tuple[str, Node]] = []

    # ---------------------------------------------------------------------------------------------- the resource's keys

    def resource(self) -> d.Resource | None:
        types, what = self.types, self.what
        self.given = given = types.keys(self.node, what, RESOURCE_KEYS, ("path", "schema"), self.key)
        self._class_name()
        self.settings = self.all.settings(given, what)
        path = self._path(given["path"].value, f"'path' of {what}") if "path" in given else None
        if path is not None and not path.parameters:
            types.report(
                "path-without-parameter",
                f"the path of {what} has no parameter, so it names no single entity",
                given["path"].value,
                "add one, such as '/:id'; an endpoint may have a path of its own without any",
            )
            path = None
        schema = self._schema(given["schema"].value) if "schema" in given else None
        self._collection()
        params = self._params(given, what)
        search_params = self._search_params(given, what)
        body = self._body(given["body"], what, f"{self.class_name}Body") if "body" in given else _body_of(schema)
        field = self._pagination_field(given, what)
        pagination = self._pagination(given, what)
        optimistic = (
            "optimistic" in given and types.boolean(given["optimistic"].value, f"'optimistic' of {what}") is True
        )
        description, deprecated = self._words(given, what)
        written = self._written_endpoints()
        members = self._members()
        examples = self._examples()
        if path is None or schema is None:
            return None
        root = d.Endpoint(
            name="",
            python="",
            standard=False,
            extends=None,
            written=frozenset(),
            method="GET",
            path=path,
            url_prefix=first_given(self.settings.url_prefix, self.all.top.url_prefix, ""),
            headers=joined_headers(self.all.top.headers, self.settings.headers),
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
            options=d.Options(**overlaid(self.all.top.options, self.settings.options)),
            optimistic=False,
            base=self.settings.base or self.all.top.base,
            place=self.key.place,
        )
        family = Family(
            self, root, schema, params, search_params, field, pagination, optimistic, members, written, examples
        )
        endpoints = family.endpoints()
        self._unused_params(params, path, endpoints)
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
            search_params=search_params,
            params=params,
            pagination_field=field,
            pagination=endpoints["get_list"].pagination if "get_list" in endpoints else None,
            base=root.base,
            description=description,
            deprecated=deprecated,
            place=self.key.place,
            url_place=(self.settings if self.settings.url_prefix is not None else self.all.top).url_place,
        )

    def _class_name(self) -> None:
        types = self.types
        place, hint = self.key.place, "give the resource's class another name with 'class:'"
        if "class" in self.given:
            node = self.given["class"].value
            text = types.text(node, f"'class' of {self.what}", empty=False)
            if text is not None and isinstance(node, ScalarNode) and types.name(node, "a class", keyword=False):
                self.class_name = text
                place = node.place
        types.claim(self.class_name, "resource", f"the class of {self.what}", place, hint)

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
        self.types.report(
            "resource-schema",
            f"the schema of {self.what} is an entity, declared in place or by name, or a union of entities",
            node,
            "name an entity; an endpoint may have a schema of any form",
        )

    def _path(self, node: Node, what: str) -> d.Path | None:
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
        if not URL_TEXT.match(text):
            types.report("bad-path", f"{what} holds a space or a control character", node)
            usable = False
        return path if usable else None

    def _collection(self) -> None:
        entry = self.given.get("collection")
        if entry is None:
            return
        types, what = self.types, f"'collection' of {self.what}"
        if isinstance(entry.value, MappingNode):
            types.keys(entry.value, what, ("non_filter_arguments",), ("non_filter_arguments",))
            self.non_filter = types.non_filter_arguments(entry.value, what)
        else:
            self.custom_collection = types.reference(entry.value, what)

    def _params(self, given: Mapping[str, Entry], what: str) -> tuple[d.Field, ...]:
        mapping = self.types.mapping(given["params"].value, f"'params' of {what}") if "params" in given else None
        if mapping is None:
            return ()
        return self.types.fields(mapping, what, "parameter", self.class_name, "parameter")

    def _search_params(self, given: Mapping[str, Entry], what: str) -> tuple[d.Field, ...]:
        if "search_params" not in given:
            return ()
        mapping = self.types.mapping(given["search_params"].value, f"'search_params' of {what}")
        if mapping is None:
            return ()
        return self.types.fields(mapping, what, "search", f"{self.class_name}Search", "parameter")

    def _unused_params(self, params: tuple[d.Field, ...], path: d.Path, endpoints: Mapping[str, d.Endpoint]) -> None:
        known = {parameter.name for parameter in path.parameters}
        for endpoint in endpoints.values():
            known.update(parameter.name for parameter in endpoint.path.parameters)
        for field in params:
            if field.name not in known:
                self.unknown_parameter(field, self.what, known)

    def unknown_parameter(self, field: d.Field, what: str, known: set[str]) -> None:
        """Notes a path parameter that no path has."""
        hint = did_you_mean(field.name, known) or "name a parameter of the path, or move it to 'search_params'"
        self.types.report(
            "unknown-parameter",
            f"'params' of {what} names {quoted(field.name)}, which its path has not",
            field.place,
            hint,
        )

    def _body(self, entry: Entry, what: str, type_name: str) -> d.Body | None:
        """The body that a level writes; None for null."""
        types, node = self.types, entry.value
        what = f"the body of {what}"
        if is_null(node):
            return None
        if isinstance(node, ScalarNode):
            word = node.value
            if word == "any":
                return d.Body("any")
            if word == "bytes":
                return d.Body("bytes")
            kind = types.kinds.get(word) if isinstance(word, str) else None
            if isinstance(word, str) and kind == "entity":
                return d.Body("json", d.EntityRef(word))
            if isinstance(word, str) and kind == "object":
                return d.Body("json", d.ObjectRef(word))
            hint = "write an entity's or object's name, a mapping of fields, [X], any, bytes or null"
            if isinstance(word, str):
                types.report("bad-body", f"{what} cannot be {described(node)}", node, hint, near=(word, types.kinds))
            else:
                types.wrong(what, "a name, a mapping or a list", node, hint)
            return None
        if isinstance(node, SequenceNode):
            type = types.type(node, Context(what, "body field", type_name))
            return d.Body("json", type) if type is not None else None
        assert isinstance(node, MappingNode)
        for kind_word in ("form", "multipart"):
            inner = node.get(kind_word)
            if isinstance(inner, MappingNode) and len(node.entries) == 1:
                return self._fields_body(inner, what, kind_word, type_name)
        return self._fields_body(node, what, "json", type_name)

    def _fields_body(self, node: MappingNode, what: str, kind: str, type_name: str) -> d.Body:
        types = self.types
        position = {"json": "body field", "form": "form field", "multipart": "file field"}[kind]
        fields = types.fields(node, what, cast("Any", position), type_name, "field")
        types.claim(type_name, "typed_dict", f"the type of {what}", node.place, "rename the other one, or use 'class:'")
        return d.Body(cast("d.BodyKind", kind), d.ObjectType(fields, type_name))

    def _pagination_field(self, given: Mapping[str, Entry], what: str) -> str | None:
        entry = given.get("pagination_field")
        if entry is None:
            return None
        name = self.types.text(entry.value, f"'pagination_field' of {what}", empty=False)
        if name is None or not isinstance(entry.value, ScalarNode):
            return None
        return name if self.types.name(entry.value, f"the pagination field of {what}") else None

    def _pagination(self, given: Mapping[str, Entry], what: str) -> WrittenPagination | None:
        entry = given.get("pagination")
        if entry is None:
            return None
        types, what = self.types, f"'pagination' of {what}"
        mapping = types.mapping(entry.value, what, "write {style: …}")
        if mapping is None:
            return None
        keys = types.keys(mapping, what, PAGINATION_KEYS, ("style",), entry.key)
        style = types.word(keys["style"].value, f"'style' of {what}", STYLES) if "style" in keys else None
        following: str | None = None
        if "next" in keys:
            following = types.text(keys["next"].value, f"'next' of {what}", empty=False)
            header = following.removeprefix("header:") if following is not None else ""
            if header != following and not TOKEN.match(header):
                message = f"'next' of {what} names {quoted(header)}, which is no name of a header"
                types.report("bad-header", message, keys["next"].value)
            if style not in (None, "cursor"):
                message = f"'next' has a meaning for the style 'cursor' alone, {what} has {quoted(str(style))}"
                types.report("key-not-here", message, keys["next"].key, "remove it, or write 'style: cursor'")
                following = None
        elif style == "cursor":
            hint = "add 'next: …', a path in the response, header:NAME or last.<field>"
            types.report("missing-key", f"{what} needs 'next' to find the next page's cursor", entry.key, hint)
        size = self._page_size(keys.get("size"), what)
        remove = (
            types.reference(keys["remove_cursor"].value, f"'remove_cursor' of {what}")
            if "remove_cursor" in keys
            else None
        )
        if style is None:
            return None
        node = keys["next"].value if "next" in keys else entry.key
        return WrittenPagination(style, following, node, size, remove)

    def _page_size(self, entry: Entry | None, what: str) -> tuple[str, int] | None:
        types = self.types
        if entry is None:
            return None
        what = f"'size' of {what}"
        mapping = types.mapping(entry.value, what, "write {param: limit, value: 50}")
        if mapping is None:
            return None
        keys = types.keys(mapping, what, ("param", "value"), ("param", "value"))
        name = types.text(keys["param"].value, f"'param' of {what}", empty=False) if "param" in keys else None
        value = types.integer(keys["value"].value, f"'value' of {what}", least=1) if "value" in keys else None
        if name is None or value is None or not isinstance(keys["param"].value, ScalarNode):
            return None
        return (name, value) if types.name(keys["param"].value, f"'param' of {what}") else None

    def _words(self, given: Mapping[str, Entry], what: str) -> tuple[str, str | None]:
        description, deprecated = "", None
        if "description" in given:
            description = self.types.text(given["description"].value, f"'description' of {what}") or ""
        if "deprecated" in given:
            deprecated = self.types.deprecated(given["deprecated"].value, f"'deprecated' of {what}")
        return description, deprecated

    def _members(self) -> dict[str, Node] | None:
        """The standard members that the spec asks for, each with its node; None where it leaves the choice."""
        entry = self.given.get("members")
        if entry is None:
            return None
        types, what = self.types, f"'members' of {self.what}"
        members: dict[str, Node] = {}
        for name, node in types.texts(entry.value, what):
            if name in MEMBERS:
                members[name] = node
            else:
                hint = "'push' brings it" if name == "create" else did_you_mean(name, MEMBERS)
                hint = hint or "added endpoints stand under 'endpoints'"
                types.report("unknown-member", f"{what} names {quoted(name)}, which is no standard member", node, hint)
        for name, node in members.items():
            if name in d.EXTENDERS and "get_list" not in members:
                types.report(
                    "member-needs-list",
                    f"the member {quoted(name)} of {self.what} needs 'get_list'",
                    node,
                    "add get_list",
                )
        return members

    def _examples(self) -> dict[str, d.Example]:
        types, what = self.types, f"'examples' of {self.what}"
        entry = self.given.get("examples")
        mapping = types.mapping(entry.value, what, "write {endpoint: {response: …}}") if entry is not None else None
        found: dict[str, d.Example] = {}
        for name, inner in mapping or ():
            node = types.mapping(inner.value, f"the example {quoted(name)} of {self.what}")
            if node is None:
                continue
            keys = types.keys(node, f"the example {quoted(name)} of {self.what}", EXAMPLE_KEYS)
            places: dict[tuple[str | int, ...], Place] = {}
            values: dict[str, Json] = {}
            for key, part in keys.items():
                inner_places: dict[tuple[str | int, ...], Place] = {}
                values[key] = types.json(part.value, inner_places)
                places |= {(key, *where): place for where, place in inner_places.items()}
            params = values.get("params", {})
            if not isinstance(params, dict):
                types.wrong(f"'params' of the example {quoted(name)} of {self.what}", "a mapping", keys["params"].value)
                params = {}
            found[name] = d.Example(
                params, values.get("body", d.MISSING), values.get("response", d.MISSING), places, inner.key.place
            )
        return found

    # --------------------------------------------------------------------------------------------- endpoints as written

    def _written_endpoints(self) -> dict[str, Written]:
        types = self.types
        found: dict[str, Written] = {}
        entry = self.given.get("endpoints")
        mapping = types.mapping(entry.value, f"'endpoints' of {self.what}") if entry is not None else None
        pythons: dict[str, ScalarNode] = {}
        if mapping is None:
            return found
        for name in sorted(mapping.entries):
            inner = mapping.entries[name]
            what = f"endpoint {quoted(name)} of {self.what}"
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

    def _written(self, name: str, what: str, key: ScalarNode, node: MappingNode) -> Written:
        types = self.types
        given = types.keys(node, what, ENDPOINT_KEYS)
        own = Written(name, what, key, set(given), given, self.all.settings(given, what))
        title = self.class_name + pascal_case(name)
        if "extends" in given:
            own.extends = types.text(given["extends"].value, f"'extends' of {what}", empty=False)
        if "path" in given:
            own.path = self._path(given["path"].value, f"'path' of {what}")
        if "method" in given:
            own.method = self._method(given["method"].value, what)
        own.params = self._params(given, what)
        if "search_params" in given:
            mapping = types.mapping(given["search_params"].value, f"'search_params' of {what}")
            if mapping is not None:
                own.search_params = types.fields(mapping, what, "search", f"{title}Search", "parameter")
        if "body" in given:
            own.body = self._body(given["body"], what, f"{title}Body")
        if "schema" in given:
            # What a call returns has the plain name; beside `returns` the schema is something else.
            word = "Response" if "returns" in given else "Result"
            own.schema = self._endpoint_schema(given["schema"].value, what, f"{title}{word}")
        if "returns" in given:
            own.returns = types.type(
                given["returns"].value, Context(f"'returns' of {what}", "returns", f"{title}Result")
            )
        if "content" in given:
            own.content = cast("Content | None", types.word(given["content"].value, f"'content' of {what}", CONTENTS))
        if "side_effect" in given:
            own.side_effect = types.boolean(given["side_effect"].value, f"'side_effect' of {what}")
        own.pagination_field = self._pagination_field(given, what)
        own.pagination = self._pagination(given, what)
        for hook in ("process", "update", "get_optimistic_response"):
            if hook in given:
                setattr(own, hook, types.reference(given[hook].value, f"'{hook}' of {what}"))
        own.description, own.deprecated = self._words(given, what)
        return own

    def _method(self, node: Node, what: str) -> str | None:
        text = self.types.text(node, f"'method' of {what}", empty=False)
        if text is not None and not TOKEN.match(text):
            self.types.report(
                "bad-method",
                f"{quoted(text)} of {what} is no HTTP method",
                node,
                "write GET, POST, PUT, PATCH, DELETE, …",
            )
            return None
        return text.upper() if text is not None else None

    def _endpoint_schema(self, node: Node, what: str, type_name: str) -> d.Type | None:
        types = self.types
        what = f"the schema of {what}"
        if is_null(node):
            return None
        type = types.type(node, Context(what, "schema", type_name))
        if isinstance(type, d.Optional):
            types.report(
                "schema-kind",
                f"{what} cannot be null: a response without content is no schema's",
                node,
                "remove the '?'",
            )
        elif isinstance(type, d.Scalar | d.EnumRef):
            types.report(
                "schema-kind",
                f"{what} is an object, a list or an entity, this is {described(node)}",
                node,
                "write 'schema: null', and 'returns:' for the type",
            )
        return self._collected(type) if type is not None else None

    def _collected(self, type: d.Type) -> d.Type:
        """A schema whose collections of this resource filter as the resource's `collection` says."""
        match type:
            case d.CollectionOf(of, nest, arguments):
                return d.CollectionOf(of, nest, arguments or self.non_filter_wires(), self.custom_collection)
            case d.QueryOf(of, process, returns):
                return d.QueryOf(cast("d.CollectionOf | d.AllOf", self._collected(of)), process, returns)
            case d.ObjectType(members, name):
                replaced = [dataclasses.replace(member, type=self._collected(member.type)) for member in members]
                return d.ObjectType(tuple(replaced), name)
            case _:
                return type

    def non_filter_wires(self) -> tuple[str, ...]:
        """The wire names of the resource's non-filter arguments; path parameters keep their name."""
        path = self.node.get("path")
        in_path = self.types.path_names(path) if path is not None else frozenset[str]()
        return tuple(name if name in in_path else wire_name(name, self.types.wire) for name, _ in self.non_filter)


def _body_of(schema: d.EntityRef | d.UnionOf | None) -> d.Body | None:
    return d.Body("json", schema) if schema is not None else None
