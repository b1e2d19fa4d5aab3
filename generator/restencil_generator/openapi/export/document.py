"""Export of a spec as an OpenAPI 3.1 or 3.0 document."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from restencil_generator.openapi.export.embed import Placed, embed
from restencil_generator.openapi.export.paths import Form, forms, renamed
from restencil_generator.openapi.export.types import Schema, Types, Version
from restencil_generator.openapi.spec_tree import Tree
from restencil_generator.openapi.spec_writer import write
from restencil_generator.spec import model as d
from restencil_generator.spec.error_classes import reason_phrase
from restencil_generator.spec.page_styles import STYLES

VERSIONS: Final[Mapping[Version, str]] = {"3.0": "3.0.4", "3.1": "3.1.1"}
"""The version that a document of each kind declares."""

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_STYLES: Final[Mapping[d.Style, Schema]] = {
    "comma": {"style": "form", "explode": False},
    "space": {"style": "spaceDelimited", "explode": False},
    "pipe": {"style": "pipeDelimited", "explode": False},
    "repeat": {"style": "form", "explode": True},
    "brackets": {"style": "form", "explode": True},
    "deep": {"style": "deepObject", "explode": True},
    "form": {"style": "form", "explode": True},
}
_MEDIA: Final[Mapping[d.BodyKind, str]] = {
    "json": "application/json",
    "any": "application/json",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data",
    "bytes": "application/octet-stream",
    "text": "text/plain",
}
_IGNORED: Final = ("accept", "content-type", "authorization")
"""Headers that OpenAPI does not allow as parameters."""


def export(
    spec: d.Spec, version: Version = "3.1", *, plain: bool = False, written: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the document of a spec.

    `written` is the spec as plain values for `x-restencil`; `plain` leaves it out. The document only contains data of
    the spec: no values of environment variables, and no paths of this machine.
    """
    return _Export(spec, version).document(None if plain else written)


def text_of(document: Mapping[str, Any], form: str) -> str:
    """Format a document as `json` or `yaml`."""
    if form == "yaml":
        return write(Tree(dict(document)))
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


@dataclasses.dataclass(slots=True)
class _Member:
    """An endpoint with its names."""

    resource: d.Resource
    dotted: str
    endpoint: d.Endpoint

    @property
    def written(self) -> str:
        """Its name in a spec: operations of `get_list` have names without it."""
        parent = self.dotted.removeprefix(f"{self.resource.name}.").rpartition(".")[0]
        names = [self.resource.name, *([parent] if parent not in ("", "get_list") else []), self.endpoint.name]
        return ".".join(names)

    @property
    def rank(self) -> bool:
        """The sort key of members with the same request: `create` comes first."""
        return self.endpoint.name != "create"


class _Export:
    def __init__(self, spec: d.Spec, version: Version) -> None:
        self.spec = spec
        self.version: Version = version
        self.types = Types(spec, version)
        self.paths: dict[str, dict[str, Any]] = {}
        self.shared: dict[str, Schema] = {}
        """Parameters of the client, by name."""
        self._forms: dict[str, Form] = {}
        self._placed = Placed({}, {})

    def document(self, written: Mapping[str, Any] | None) -> dict[str, Any]:
        spec = self.spec
        info: Schema = {"title": spec.title or spec.package, "version": spec.version or "1"}
        if spec.description:
            info["description"] = spec.description
        self._client_parameters()
        for members in self._requests():
            self._add(members)
        components: dict[str, Any] = {"schemas": self.types.components()}
        if self.shared:
            components["parameters"] = dict(sorted(self.shared.items()))
        document: dict[str, Any] = {"openapi": VERSIONS[self.version], "info": info}
        if servers := self._servers():
            document["servers"] = servers
        if spec.auth is not None:
            components["securitySchemes"] = {scheme.name: _scheme(scheme) for scheme in spec.auth.schemes}
            document["security"] = self._security(spec.auth.use)
        document["tags"] = [_described({"name": name}, one.description) for name, one in spec.resources.items()]
        document["paths"] = {path: self.paths[path] for path in sorted(self.paths)}
        document["components"] = components
        if written is not None:
            embed(document, written, self._placed)
        return document

    # --------------------------------------------------------------------------------------------------------- requests

    def _requests(self) -> Iterator[list[_Member]]:
        """Yield the members with the same method and path, which are one request."""
        found: dict[tuple[str, str], list[_Member]] = {}
        for name, resource in self.spec.resources.items():
            for dotted, endpoint in resource.all_endpoints():
                member = _Member(resource, f"{name}.{dotted}", endpoint)
                found.setdefault((endpoint.method, forms(endpoint.path)[0].shape), []).append(member)
        for members in found.values():
            yield sorted(members, key=lambda member: member.rank)

    def _add(self, members: Sequence[_Member]) -> None:
        first = members[0]
        method = first.endpoint.method.lower()
        if method not in _METHODS:
            return  # OpenAPI does not support it; `x-restencil` has it with the rest of the spec
        for form in forms(first.endpoint.path):
            known = self._forms.setdefault(form.shape, form)
            item = self.paths.setdefault(known.path, {})
            if method in item:
                continue
            item[method] = self._operation(first, form, renamed(form, known))
            for member in members:
                self._placed.members.append((member.written, (known.path, method)))
                if not form.left:
                    resource, _, name = member.written.partition(".")
                    self._placed.endpoints[(resource, name)] = (known.path, method)
                    self._placed.resources.setdefault(resource, known.path)

    def _operation(self, member: _Member, form: Form, names: Mapping[str, str]) -> dict[str, Any]:
        endpoint = member.endpoint
        parts = [member.dotted.replace(".", "_"), *(f"without_{name}" for name in form.left)]
        operation: dict[str, Any] = {"operationId": "_".join(parts), "tags": [member.resource.name]}
        if endpoint.description:
            operation["description"] = endpoint.description
        if endpoint.deprecated is not None or member.resource.deprecated is not None:
            operation["deprecated"] = True
        if parameters := self._parameters(endpoint, form, names):
            operation["parameters"] = parameters
        if endpoint.has_body and endpoint.body is not None:
            operation["requestBody"] = self._request_body(endpoint, endpoint.body)
        operation["responses"] = self._responses(endpoint)
        if endpoint.auth is not None:
            operation["security"] = self._security(endpoint.auth)
        if endpoint.url_prefix != self.spec.url_prefix:
            operation["servers"] = [{"url": endpoint.url_prefix or "/"}]
        return operation

    # ------------------------------------------------------------------------------------------------------- parameters

    def _client_parameters(self) -> None:
        for param in self.spec.header_params:
            self.shared[param.field.name] = self._parameter(param.field, "header")
        for field in self.spec.search_params:
            self.shared[field.name] = self._parameter(field, "query")

    def _parameters(self, endpoint: d.Endpoint, form: Form, names: Mapping[str, str]) -> list[Schema]:
        found: dict[tuple[str, str], Schema] = {}
        known = {field.name: field for field in endpoint.params}
        for name in form.parameters:
            found[("path", names[name])] = self._in_path(known[name], names[name])
        for wire, held, text in form.query:
            if held is None:
                found[("query", wire)] = self._fixed("query", wire, text)
            elif held not in form.left:
                found[("query", wire)] = self._parameter(dataclasses.replace(known[held], wire=wire), "query")
        for field in self._search(endpoint):
            parameter = self._parameter(field, "query")
            found.setdefault(("query", parameter["name"]), parameter)
        for param in endpoint.header_params:
            found[("header", param.field.wire.lower())] = self._parameter(param.field, "header", auto=bool(param.auto))
        for name, text in endpoint.headers.items():
            if name.lower() not in _IGNORED:
                found.setdefault(("header", name.lower()), self._fixed("header", name, text))
        for name, parameter in self.shared.items():
            place, wire = parameter["in"], parameter["name"]
            key = place, wire.lower() if place == "header" else wire
            if wire not in endpoint.without:
                found.setdefault(key, {"$ref": f"#/components/parameters/{name}"})
        return [found[key] for key in sorted(found)]

    def _search(self, endpoint: d.Endpoint) -> Iterator[d.Field]:
        """Yield the search parameters of an endpoint, including that of the page."""
        yield from endpoint.search_params
        page = endpoint.extenders.get("get_page")
        field = endpoint.page_param or (None if page is None else page.page_param)
        if field is not None:
            optional = field.type if isinstance(field.type, d.Optional) else d.Optional(field.type)
            yield dataclasses.replace(field, type=optional)
        if endpoint.pagination is not None and endpoint.pagination.size is not None and not endpoint.pagination.in_body:
            yield endpoint.pagination.size.param

    def _in_path(self, field: d.Field, name: str) -> Schema:
        type = field.type.item if isinstance(field.type, d.Optional) else field.type
        schema = self.types.of(d.formatted(type, field.format) if field.format is not None else type)
        found: Schema = {"name": name, "in": "path", "required": True, "schema": schema}
        if isinstance(type, d.ListOf):
            found |= {"style": "simple", "explode": False}
        return _described_field(found, field)

    def _parameter(self, field: d.Field, place: str, *, auto: bool = False) -> Schema:
        bare = field.type.item if isinstance(field.type, d.Optional) else field.type
        schema = self.types.field(dataclasses.replace(field, type=bare, description="", deprecated=None))
        found: Schema = {"name": field.wire, "in": place, "schema": schema}
        if field.required and not auto and field.env is None:
            found["required"] = True
        if place == "query":
            self._style(found, bare, field.style)
        return _described_field(found, field)

    def _style(self, found: Schema, type: d.Type, style: d.Style | None) -> None:
        """Add the style of a list or an object in the query."""
        if isinstance(type, d.ListOf):
            style = style or "comma"
        elif style is None or not isinstance(type, d.ObjectType | d.ObjectRef | d.ValuesOf | d.OneOf):
            return
        if style == "json":
            found["content"] = {"application/json": {"schema": found.pop("schema")}}
            return
        if style == "brackets" and not isinstance(type, d.ListOf):
            style = "deep"
        elif style == "brackets":
            found["name"] += "[]"
        found |= _STYLES[style]

    def _fixed(self, place: str, name: str, text: str) -> Schema:
        return {"name": name, "in": place, "required": True, "schema": self.types.of(d.Const(text))}

    # --------------------------------------------------------------------------------------------- bodies and responses

    def _request_body(self, endpoint: d.Endpoint, body: d.Body) -> Schema:
        schema = _within(endpoint.request.envelope, self._sent(body))
        media = _MEDIA[body.kind]
        if endpoint.request.content_type is not None and body.kind in ("json", "any", "text", "bytes"):
            media = endpoint.request.content_type
        found: Schema = {"content": {media: {"schema": schema}}}
        if not endpoint.request.optional:
            found["required"] = True
        return found

    def _sent(self, body: d.Body) -> Schema:
        """Return the schema of a body."""
        if body.kind in ("bytes", "text"):
            return self.types.of(d.Scalar("bytes" if body.kind == "bytes" else "string"))
        match body.type:
            case None:
                return {}
            case d.ObjectType(members):
                return self.types.sent_object(members, partial=body.partial)
            case d.EntityRef(name):
                entity = self.spec.entities[name]
                named = (entity.partial_body_name if body.partial else None) or entity.body_name or name
                return {"$ref": f"#/components/schemas/{named}"}
            case type:
                return self.types.of(type, sent=True)

    def _responses(self, endpoint: d.Endpoint) -> dict[str, Schema]:
        found: dict[str, Schema] = {}
        type = endpoint.schema if endpoint.schema is not None else endpoint.returns
        ok: Schema = {"description": "OK"}
        if isinstance(type, d.InvalidateOf):
            found["204"] = {"description": "No Content"}
        elif endpoint.content in ("bytes", "stream"):
            ok["content"] = {"application/octet-stream": {"schema": self.types.of(d.Scalar("bytes"))}}
        elif endpoint.content == "text":
            ok["content"] = {"text/plain": {"schema": {"type": "string"}}}
        elif type is not None:
            schema = _within(endpoint.response.envelope, self.types.of(type))
            ok["content"] = {"application/json": {"schema": schema}}
        if not found:
            headers = _page_headers(endpoint.pagination)
            found["200"] = {**ok, "headers": headers} if headers else ok
        for status, shape in endpoint.errors.items():
            schemas = [self.types.of(d.ObjectRef(name)) for name in shape]
            schema = {} if not schemas else schemas[0] if len(schemas) == 1 else {"oneOf": schemas}
            content = {"application/json": {"schema": schema}}
            found[status] = {"description": _phrase(status), "content": content}
        return found

    # ------------------------------------------------------------------------------------------------- auth and servers

    def _security(self, use: d.Use) -> list[dict[str, list[str]]]:
        if use == ((),):
            return []
        auth = self.spec.auth
        assert auth is not None
        return [{name: _scopes(auth.scheme(name)) for name in names} for names in use]

    def _servers(self) -> list[Schema]:
        spec = self.spec
        if not spec.servers:
            return [{"url": spec.url_prefix}] if spec.url_prefix else []
        return [self._server(server) for server in spec.servers]

    def _server(self, server: d.Server) -> Schema:
        found: Schema = {"url": server.url}
        description = server.description or server.name
        found["description"] = description
        variables = {field.name: self._variable(field) for field in server.variables}
        return found | ({"variables": variables} if variables else {})

    def _variable(self, field: d.Field) -> Schema:
        type = field.type.item if isinstance(field.type, d.Optional) else field.type
        values: list[str] = []
        if isinstance(type, d.InlineEnum):
            values = [str(value) for value in type.values]
        elif isinstance(type, d.EnumRef):
            values = [str(member.value) for member in self.spec.enums[type.name].members]
        default = values[0] if values else field.name  # variables of OpenAPI require a default
        if isinstance(field.default, str | int) and not isinstance(field.default, bool):
            default = str(field.default)
        found: Schema = {"default": default}
        if values:
            found["enum"] = values
        return _described(found, field.description)


def _scheme(scheme: d.Scheme) -> Schema:
    match scheme.kind:
        case "bearer" | "basic":
            return {"type": "http", "scheme": scheme.kind}
        case "header" | "cookie" | "query":
            text = f"after {scheme.prefix!r}" if scheme.prefix else ""
            return _described({"type": "apiKey", "in": scheme.kind, "name": scheme.parameter}, text)
        case "oauth2":
            assert scheme.oauth2 is not None
            if scheme.oauth2.grant != "client_credentials":  # OpenAPI has no flow that starts with a refresh token
                return {"type": "http", "scheme": "bearer"}
            flow = {"tokenUrl": scheme.oauth2.token_url, "scopes": dict.fromkeys(scheme.oauth2.scopes, "")}
            return {"type": "oauth2", "flows": {"clientCredentials": flow}}


def _scopes(scheme: d.Scheme) -> list[str]:
    is_flow = scheme.oauth2 is not None and scheme.oauth2.grant == "client_credentials"
    return list(scheme.oauth2.scopes) if is_flow and scheme.oauth2 is not None else []


def _page_headers(pagination: d.Pagination | None) -> dict[str, Schema]:
    """Return the headers in which a response names the next page."""
    if pagination is None:
        return {}
    following = pagination.next
    named = following.path if following is not None and following.kind == "header" else ()
    return {name: {"schema": {"type": "string"}} for name in (*STYLES[pagination.style].response_headers, *named)}


def _within(steps: Sequence[str], schema: Schema) -> Schema:
    """Wrap the schema of a value in objects and lists for these steps."""
    for step in reversed(steps):
        if step.isdecimal():
            schema = {"type": "array", "items": schema}
        else:
            schema = {"type": "object", "properties": {step: schema}, "required": [step]}
    return schema


def _described_field(found: Schema, field: d.Field) -> Schema:
    if field.deprecated is not None:
        found["deprecated"] = True
    return _described(found, field.description)


def _described(found: Schema, description: str) -> Schema:
    return found | {"description": description} if description else found


def _phrase(status: str) -> str:
    """Return the meaning of a status in words."""
    if status == "default":
        return "Any other error"
    if status.endswith("XX"):
        return "Client error" if status[0] == "4" else "Server error"
    try:
        return reason_phrase(int(status))
    except ValueError:
        return "Error"
