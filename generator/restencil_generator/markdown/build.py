"""Conversion of a spec to the reference of its package, with the names and annotations of the package."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from restencil_generator.codegen.annotations import (
    annotation,
    argument_annotation,
    body_annotation,
    field_annotation,
    object_types,
)
from restencil_generator.codegen.client_args import given_to_client
from restencil_generator.codegen.docstrings import example_of
from restencil_generator.codegen.format import format_text
from restencil_generator.codegen.imports import Scope
from restencil_generator.codegen.json_values import default
from restencil_generator.codegen.plan import entity_modules
from restencil_generator.codegen.pyexpr import literal
from restencil_generator.markdown.model import Argument, Call, Client, Error, Reference, Resource, Type
from restencil_generator.spec import model as d
from restencil_generator.spec.error_classes import BASE, CLASSES


def reference_of(spec: d.Spec) -> Reference:
    """Return the reference of the package of a spec."""
    return _Builder(spec).reference()


class _Builder:
    def __init__(self, spec: d.Spec) -> None:
        self.spec = spec
        self.scope = Scope("", entity_modules(spec), ())

    def reference(self) -> Reference:
        spec = self.spec
        return Reference(
            title=spec.title or spec.package,
            package=spec.package,
            source=spec.file,
            client=self._client(),
            description=spec.description,
            version=spec.version,
            url=spec.url_prefix,
            resources=tuple(map(self._resource, spec.resources.values())),
            types=tuple(self._types()),
            errors=tuple(self._package_errors()),
        )

    # --------------------------------------------------------------------------------------------------------- client

    def _client(self) -> Client:
        spec = self.spec
        arguments = tuple(self._client_arguments())
        given = ", ".join(f"{one.name}=..." for one in arguments if one.required)
        name = f"{spec.package}.{spec.client}({given})"
        async_name = f"{spec.package}.{spec.async_client}({given})"
        return Client(
            spec.client,
            spec.async_client,
            f"import {spec.package}\n\nwith {name} as client:\n    ...",
            f"import {spec.package}\n\nasync with {async_name} as client:\n    ...",
            arguments,
        )

    def _client_arguments(self) -> Iterator[Argument]:
        spec = self.spec
        for scheme in spec.auth.schemes if spec.auth is not None else ():
            note = f"{scheme.kind} authentication" + (
                f", or the environment variable `{scheme.env}`" if scheme.env else ""
            )
            kind = "restencil.OAuth2" if scheme.oauth2 else "restencil.Token"
            yield Argument(scheme.name, f"{kind} | None", False, "None", notes=(note,), deprecated=scheme.deprecated)
        for header in given_to_client(spec):
            yield self._client_argument(header.field, f"header `{header.field.wire}`")
        for field in spec.search_params:
            yield self._client_argument(field, f"search parameter `{field.wire}` of every request")
        if spec.servers:
            names = ", ".join(literal(server.name) for server in spec.servers)
            yield Argument("server", f"Literal[{names}] | None", False, literal(spec.servers[0].name))
            variables = {field.python: field for server in spec.servers for field in server.variables}
            for field in variables.values():
                yield self._client_argument(field, "part of the URL of the server")
        yield Argument("url_prefix", "str | None", False, literal(spec.url_prefix), "Send requests to another URL.")

    def _client_argument(self, field: d.Field, note: str) -> Argument:
        notes = (note, *((f"environment variable `{field.env}`",) if field.env else ()))
        return self._argument(field, annotation(field.type, self.scope), field.required and not field.env, notes)

    # ------------------------------------------------------------------------------------------------------- resources

    def _resource(self, resource: d.Resource) -> Resource:
        types: dict[str, d.ObjectType] = {}
        calls: list[Call] = []
        for name, endpoint in resource.all_endpoints():
            calls.append(self._call(resource, name, endpoint))
            body = endpoint.body.type if endpoint.body is not None else None
            for type in (endpoint.schema, endpoint.returns, body):
                types |= {one.name: one for one in object_types(type)}
        return Resource(
            name=resource.python,
            path="" if resource.path is None else resource.path.text,
            description=resource.description,
            deprecated=resource.deprecated,
            calls=tuple(calls),
            types=tuple(self._typed_dict(one) for one in types.values()),
        )

    def _call(self, resource: d.Resource, name: str, endpoint: d.Endpoint) -> Call:
        name = f"{resource.python}.{name}"
        example = example_of(self.spec, endpoint, f"client.{name}")
        response = None if example is None else example.response
        return Call(
            name=name,
            method=endpoint.method,
            path=endpoint.path.text,
            returns=self._returns(endpoint),
            description=endpoint.description,
            deprecated=endpoint.deprecated,
            arguments=tuple(self._arguments(endpoint)),
            errors=tuple(self._error(status, shape) for status, shape in endpoint.errors.items()),
            is_paginated=endpoint.page_param is not None and "get_page" in endpoint.extenders,
            example="" if example is None else format_text(example.call).strip(),
            response="" if response is None else format_text(response).strip(),
        )

    def _arguments(self, endpoint: d.Endpoint) -> Iterator[Argument]:
        optional = {part.name for part in endpoint.path.parameters if part.optional}
        rows = [(field, field.required and field.name not in optional, "path") for field in endpoint.params]
        if endpoint.page_param is not None and isinstance(endpoint.schema, d.PageOf):
            rows.append((endpoint.page_param, True, "page"))
        rows += [(field, field.required, "search parameter") for field in endpoint.search_params]
        rows += [(header.field, header.field.required, "header") for header in endpoint.header_params]
        found: dict[str, Argument] = {}
        for field, required, place in rows:
            notes = (place if field.wire == field.python else f"{place} `{field.wire}`",)
            argument = self._argument(field, argument_annotation(field, self.scope), required, notes)
            found.setdefault(field.python, argument)
        yield from sorted(found.values(), key=lambda one: not one.required)
        if endpoint.has_body and endpoint.body is not None:
            yield Argument("body", self._body(endpoint.body), not endpoint.request.optional, notes=("request body",))

    def _body(self, body: d.Body) -> str:
        if body.type is not None:
            return body_annotation(body.type, self.scope, partial=body.partial)
        return {"bytes": "restencil.Content", "text": "str"}.get(body.kind, "Any")

    def _returns(self, endpoint: d.Endpoint) -> str:
        type = endpoint.returns or endpoint.schema
        if type is not None:
            return annotation(type, self.scope)
        plain = {"text": "str", "bytes": "bytes", "stream": "restencil.StreamedResponse"}
        return plain.get(endpoint.content or "", "Any") if endpoint.process is None else "Any"

    # ---------------------------------------------------------------------------------------------------------- errors

    def _error(self, status: str, shape: d.Shape) -> Error:
        module = self.spec.package if self.spec.has_errors else "restencil"
        return Error(status, f"{module}.{_error_class(status)}", shape)

    def _package_errors(self) -> Iterator[Error]:
        for name, statuses in CLASSES.items():
            status = f"{statuses[0]}" if len(statuses) == 1 else f"{statuses[0] // 100}XX"
            shape = d.shape_at(self.spec.errors, statuses[0]) or ()
            module = self.spec.package if self.spec.has_errors else "restencil"
            yield Error(status, f"{module}.{name}", shape)

    # ----------------------------------------------------------------------------------------------------------- types

    def _types(self) -> Iterator[Type]:
        spec = self.spec
        for entity in spec.entities.values():
            fields = tuple(self._field(field) for field in entity.all_fields if not field.write_only)
            yield Type(entity.name, "entity", entity.description, entity.deprecated, entity.pk, fields)
            if entity.body_name:
                yield self._body_type(entity.body_name, entity.all_fields)
        for one in spec.objects.values():
            yield Type(one.name, "object", fields=tuple(map(self._field, one.fields)))
            if one.body_name:
                yield self._body_type(one.body_name, one.fields)
        for enum in spec.enums.values():
            yield Type(enum.name, "enum", values=tuple(literal(member.value) for member in enum.members))

    def _typed_dict(self, type: d.ObjectType) -> Type:
        members = (self._key(member, annotation(member.type, self.scope), member.required) for member in type.members)
        return Type(type.name, "typed dict", fields=tuple(members))

    def _body_type(self, name: str, fields: Sequence[d.Field]) -> Type:
        sent = [field for field in fields if field.is_sent]
        members = (self._key(field, field_annotation(field, self.scope), field.must) for field in sent)
        return Type(name, "typed dict", fields=tuple(members))

    def _key(self, field: d.Field, type: str, required: bool) -> Argument:
        """Return a key of a TypedDict."""
        notes = (*(() if required else ("optional",)), *_field_notes(field))
        return Argument(field.python, type, required, None, field.description, notes, field.deprecated)

    def _field(self, field: d.Field) -> Argument:
        argument = self._argument(field, annotation(field.type, self.scope), field.required, _field_notes(field))
        return dataclasses.replace(argument, required=False)

    def _argument(self, field: d.Field, type: str, required: bool, notes: Iterable[str]) -> Argument:
        given = field.default
        value = None if given is d.MISSING else default(field.type, given, self.scope)
        if not required and value is None:
            value = "None"
            type = type if type == "Any" or type.endswith("None") else f"{type} | None"
        return Argument(field.python, type, required, value, field.description, tuple(notes), field.deprecated)


def _field_notes(field: d.Field) -> Iterator[str]:
    if field.wire != field.python:
        yield f"JSON name `{field.wire}`"
    if field.read_only:
        yield "read-only"
    if field.write_only:
        yield "write-only"


def _error_class(status: str) -> str:
    """Return the error class for a key of `errors`."""
    first = int(status) if status.isdecimal() else int(status[0]) * 100 if status.endswith("XX") else 0
    whole = range(first, first + 100) if status.endswith("XX") else range(first, first + 1)
    return next((name for name, statuses in CLASSES.items() if set(whole) <= set(statuses)), BASE)
