"""Inference of endpoints: standard members and others."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Final, get_args

from restencil_generator.openapi.document.model import Operation, Part, Response
from restencil_generator.openapi.infer.auth_servers import is_usable
from restencil_generator.openapi.infer.bodies import Bodies
from restencil_generator.openapi.infer.calls import MUTATIONS, Call
from restencil_generator.openapi.infer.change_verbs import may_change
from restencil_generator.openapi.infer.context import Endpoint, ImportContext
from restencil_generator.openapi.infer.list_endpoints import Lists, names_in
from restencil_generator.openapi.infer.resources import VERSION_CHECK, Entity, Own, Resource, moments
from restencil_generator.openapi.infer.response_layout import Many
from restencil_generator.openapi.infer.routes import is_nested_in, template
from restencil_generator.openapi.spec_tree import Value
from restencil_generator.spec import model as d
from restencil_generator.spec.path_template import list_path

METHODS: Final = {"get": "GET", "get_list": "GET", "push": "POST", **{name: each for each, name in MUTATIONS.items()}}

HISTORIES: Final = frozenset(("versions", "revisions", "history", "attempts", "snapshots", "drafts"))
"""Names of paths with earlier states of a record."""

_ERROR_STATUS: Final = re.compile(r"[45][0-9][0-9]|[45]XX|default")


class Endpoints:
    """Inference of endpoints."""

    def __init__(self, context: ImportContext) -> None:
        self.context = context
        self.bodies = Bodies(context)
        self.lists = Lists(context)
        self._error_owners: dict[str, str] = {}
        """Names for unnamed error schemas, by their content."""
        self._routes = Counter((each.method, each.path) for each in context.document.operations)

    def member(self, resource: Resource, name: str, call: Call) -> Endpoint:
        """Return the settings of a standard member that differ from those derived from the resource."""
        assert resource.entity is not None
        assert resource.route is not None
        endpoint = Endpoint(name, call, member=True)
        values, operation = endpoint.values, call.operation
        self._common(endpoint, operation)
        if METHODS[name] != call.method:
            values["method"] = call.method
        item, path = template(resource.route, resource.path_names), self.context.path(resource, call)
        if path != (list_path(item) if name in ("get_list", "push") else item):
            values["path"] = path
        self._optional(resource, endpoint)
        if name == "get_list":
            self.lists.get_list(resource, endpoint)
        else:
            endpoint.one = self._envelope_of(resource, call)
            if name == "push" and endpoint.one is None:
                endpoint.one = ""
            queries = self.context.parameters.of(operation)
            self.lists.queries(endpoint, queries, set(resource.path_names.values()))
            if name == "push" and not queries and self._list_requires_queries(resource):
                values["search_params"] = {}  # it would have those of the list, and a call could not omit them
        if name in ("push", "update", "partial_update", "delete"):
            self.bodies.body_of_member(resource, endpoint)
        if name in resource.member_checks:
            known = endpoint.comments.get(())
            endpoint.comments[()] = "; ".join(filter(None, (known, resource.member_checks[name])))
        if name in resource.ignored:
            endpoint.ignore = True
        elif name == "delete" and operation.result.content is None:
            endpoint.one = None
        if name in ("update", "partial_update") and operation.result.content is None:
            endpoint.one = None
        self._headers(endpoint, operation, set(resource.path_names.values()))
        self._security(endpoint, operation)
        self._own_errors(resource, endpoint, operation)
        return endpoint

    def _optional(self, resource: Resource, endpoint: Endpoint) -> None:
        """Make the record of a `get` optional if its response may have no content, or be null."""
        result, schema = endpoint.call.operation.result, self.context.resource_schema(resource)
        null = result.schema is not None and self.context.shapes.of(result.schema).nullable
        if endpoint.name == "get" and isinstance(schema, str) and (result.optional or null):
            endpoint.values["schema"] = f"{schema}?"

    def _list_requires_queries(self, resource: Resource) -> bool:
        listed = resource.members.get("get_list")
        return listed is not None and any(query.required for query in self.context.parameters.of(listed.operation))

    def _common(self, endpoint: Endpoint, operation: Operation) -> None:
        is_get = endpoint.member and endpoint.name == "get"
        if operation.method == "GET" and may_change(operation, in_any_clause=is_get):
            endpoint.comments[()] = "check: its words say that it changes something"
        text = (operation.description or operation.summary).strip()
        if text:
            endpoint.values["description"] = text
        if operation.deprecated:
            endpoint.values["deprecated"] = True
        usual = [server.url for server in self.context.document.servers]
        for server in operation.servers[:1]:
            if not server.variables and is_usable(server) and server.url not in usual:
                endpoint.values["url_prefix"] = server.url
        if operation.headers:
            endpoint.values["headers"] = dict(operation.headers)

    def _envelope_of(self, resource: Resource, call: Call) -> str | None:
        """Return the envelope around the entity in the response of a call; None if it does not contain the entity."""
        assert resource.entity is not None
        assert resource.place is not None
        if call.method == "GET":
            return ".".join(resource.envelope)
        one = self.context.found.finder.located(call, resource.entity, resource.place)
        return None if one is None else ".".join(one.path)

    def own(self, resource: Resource, own: Own) -> Endpoint:
        call, operation = own.call, own.call.operation
        endpoint = Endpoint(own.name, call)
        values = endpoint.values
        self._common(endpoint, operation)
        if call.method != "GET":
            values["method"] = call.method
        collection = None if own.stream else self.lists.held(resource, call)
        names = self.context.names_of(resource, call, None if collection is None else collection[1])
        values["path"] = template(call.route, names, operation.query)
        if params := self._params(resource, own, names):
            values["params"] = params
            if own.field_check:
                endpoint.comments["params", names[len(names) - 1]] = own.field_check
        queries = self.context.parameters.of(operation)
        listed = None if collection is None else collection[1]
        python = self.lists.queries(endpoint, queries, set(names.values()), listed)
        self._headers(endpoint, operation, set(names.values()))
        if operation.body is not None and not (
            call.method in d.BODILESS and not self.bodies.has_members(operation.body.content)
        ):
            self.bodies.body(endpoint, resource)
        elif call.method not in d.BODILESS:
            values["body"] = None
        self._reads(endpoint)
        if collection is not None and (call.method == "GET" or "side_effect" in values):
            if not self.lists.pages_in_body(endpoint):
                self.lists.pages(resource, endpoint, queries, python, "")
            values.pop("collection", None)
            is_list = call.method == "GET" or "pagination" in values
            if is_list and resource.kind != "group":  # list operations would be requests that are not in the document
                values["members"] = ["get_page"] if "pagination_field" in values else []
        self._response(resource, endpoint, own, collection)
        if collection is None and call.method == "GET":
            self.lists.pages_of_values(resource, endpoint, queries, python)
        self._doubt_schema(resource, endpoint)
        if resource.kind == "singleton" and call.method == "POST" and call.route == resource.route:
            values["expires"] = ["self"]  # it adds to the record, and its response may have only what was added
        self._security(endpoint, operation)
        self._own_errors(resource, endpoint, operation)
        return endpoint

    def _params(self, resource: Resource, own: Own, names: dict[int, str]) -> dict[str, Value]:
        """Return the declarations of the path parameters that the resource does not have."""
        found: dict[str, Value] = {}
        inherited = resource.path_names.values()
        parameters = own.call.route.parameters
        for index, parameter in enumerate(parameters):
            if names[index] in inherited:
                continue
            extras: dict[str, Value] = {}
            if own.field is not None and resource.entity is not None and index == len(parameters) - 1:
                extras["field"] = self.context.field_name(resource.entity, own.field)
            entity = resource.entity if extras else None
            written = self.context.path_param(own.call, parameter, names[index], entity, extras)
            if written is not None:
                found[names[index]] = written
        return found

    def _response(
        self, resource: Resource, endpoint: Endpoint, own: Own, collection: tuple[Many, Entity] | None
    ) -> None:
        result, values = endpoint.call.operation.result, endpoint.values
        content = result.stream if own.stream else result.content
        owner, scope = self.context.owner(resource, endpoint.name), endpoint.call.scope
        if content is None or content.kind != "json":
            values["schema"] = None
            kind = (
                ""
                if content is None
                else {"sse": "stream", "form": "text", "multipart": "bytes"}.get(content.kind, content.kind)
            )
            if content is not None and content.kind == "sse" and "sse" in get_args(d.Content):
                kind = "sse"
            if kind:
                values["content"] = kind
            return
        if result.schema is None:
            values["schema"] = "any"
            return
        if collection is not None:
            many, entity = collection
            self.lists.collection(resource, endpoint, many, entity, owner, scope)
            return
        part, envelope = self._in_envelope(result.schema)
        typed = self.context.types.of(part, owner, scope)
        value = typed.value
        if isinstance(value, list) or (isinstance(value, dict) and "values" in value):
            endpoint.many = ""
        elif isinstance(value, dict) or value in self.context.types.objects or typed.entity:
            endpoint.one = ".".join(envelope)
        optional = result.optional or typed.nullable
        if isinstance(value, str):
            values["schema"] = value + ("?" if optional and value != "any" else "")
        else:
            values["schema"] = value

    def _doubt_schema(self, resource: Resource, endpoint: Endpoint) -> None:
        """Mark a response that may not contain the records of its component."""
        call, found = endpoint.call, self.context.found
        names = set(names_in(endpoint.values.get("schema")))
        route, times = resource.route, set(moments(call, self.context.shapes))
        for entity in found.entities:
            if entity.name not in names or entity.home is None:
                continue
            home = entity.home.list_segments
            if entity.scope and call.route.segments[: len(home)] != home:
                scope = ", ".join(f"{{{part.parameter}}}" for part in entity.key.parts if part.parameter)
                endpoint.comments[("schema",)] = f"check: taken for the {entity.name} of {scope}"
            if times.difference(entity.home.parameters):
                endpoint.comments.setdefault(("schema",), VERSION_CHECK)
            if entity is not resource.entity or resource.kind != "item" or route is None:
                continue
            is_history = not HISTORIES.isdisjoint(call.route.segments[-1].split("-"))
            is_one_read = call.method == "GET" and endpoint.many is None and "members" not in endpoint.values
            if (is_history or is_one_read) and is_nested_in(call.route.segments, route.segments):
                endpoint.comments.setdefault(("schema",), VERSION_CHECK)

    def _in_envelope(self, part: Part) -> tuple[Part, tuple[str, ...]]:
        """Return the entity in an envelope, if all other members only describe the response."""
        schema = self.context.shapes.of(part)
        layout = self.context.found.finder.layout
        record = self.context.shapes.record(schema) if schema.type == "object" else None
        if record is None or schema.at in self.context.types.entities:
            return part, ()
        for wire, inner in record.members.items():
            known = self.context.types.entities.get(self.context.shapes.of(inner.parts[0]).at)
            if known is not None and layout.alone(record, wire) and not known.scope:
                return inner.parts[0], (wire,)
        return part, ()

    def _reads(self, endpoint: Endpoint) -> None:
        """Mark a QUERY, and a POST that lists or counts records, as reading."""
        call, values = endpoint.call, endpoint.values
        if call.method == "QUERY":
            values["side_effect"] = False
            if call.operation.body is not None:
                values.setdefault("request", {"in_key": True})
            return
        counts = self.lists.counts(call)
        if not counts and not self.lists.reads(call):
            return
        if self._routes[call.method, call.operation.path] > 1:
            return  # such operations differ only in headers, which are not in the key
        values["side_effect"] = False
        endpoint.comments[("side_effect",)] = "check: its name says that it reads"
        if values.get("body") is not None:
            request = values.get("request")
            values["request"] = {**(request if isinstance(request, dict) else {}), "in_key": True}
        if counts:
            values["options"] = {"data_expiry_length": 0}  # it contains no record that could make it stale

    def _headers(self, endpoint: Endpoint, operation: Operation, taken: set[str]) -> None:
        search = endpoint.values.get("search_params")
        used = taken | set(search if isinstance(search, dict) else ())
        static = {name.lower() for name, _ in operation.headers}
        headers = [each for each in self.context.parameters.headers_of(operation) if each.name.lower() not in static]
        found = self.context.parameters.header_params(headers, used)
        if found:
            endpoint.values["header_params"] = found

    def _security(self, endpoint: Endpoint, operation: Operation) -> None:
        own = self.context.access.own(operation.security)
        if own != "":
            endpoint.values["auth"] = own

    def _own_errors(self, resource: Resource, endpoint: Endpoint, operation: Operation) -> None:
        for response in operation.errors:
            value = self._error(response, self.context.owner(resource, endpoint.name))
            if value is not None:
                endpoint.errors[response.status] = value

    def _error_owner(self, part: Part, owner: str) -> str:
        """Return the owner for naming an unnamed error: none for the first error, else its endpoint."""
        text = json.dumps(part.value, default=str) if not part.made else str(part.where)
        usual = owner + "ErrorBody" if self._error_owners else "ErrorBody"
        return self._error_owners.setdefault(text, usual)

    def _error(self, response: Response, owner: str) -> Value:
        content = response.content
        status = response.status if response.status == "default" else response.status.upper()
        if content is None or not _ERROR_STATUS.match(status):
            return None
        if content.kind != "json" or content.schema is None:
            return None
        schema = self.context.shapes.of(content.schema)
        known = self.context.types.entities.get(schema.at)
        if known is not None:
            return self.context.types.data_of(known)
        value = self.context.types.of_schema(schema, self._error_owner(content.schema, owner)).value
        if isinstance(value, str) and value in self.context.types.objects:
            return value
        if isinstance(value, dict) and "attribute" not in value:
            alternatives = value.get("one_of")
            if isinstance(alternatives, list) and all(
                isinstance(each, str) and each in self.context.types.objects for each in alternatives
            ):
                return value
        return "any"
