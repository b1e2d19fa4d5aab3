"""Inference of request bodies: entities, objects, forms, files."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Set
from typing import Any, Final

from restencil_generator.openapi.document.model import Content, Part
from restencil_generator.openapi.infer.context import Endpoint, ImportContext
from restencil_generator.openapi.infer.names.inflection import snake_case
from restencil_generator.openapi.infer.names.types import member_names
from restencil_generator.openapi.infer.parameters import style_named
from restencil_generator.openapi.infer.records import Member
from restencil_generator.openapi.infer.resources import Entity, Resource
from restencil_generator.openapi.infer.response_layout import ENVELOPES
from restencil_generator.openapi.infer.schema_types import PARAMETERS, Typed, is_read_only, with_key
from restencil_generator.openapi.spec_tree import Value
from restencil_generator.spec.grammar.keys import rows
from restencil_generator.spec.grammar.patterns import HTTP_WORD

_MEDIA_TYPE: Final = re.compile(rf"{HTTP_WORD}/{HTTP_WORD}(?:\s*;[\x20-\x7e]*)?\Z")


class Bodies:
    """Inference of the bodies of endpoints."""

    def __init__(self, context: ImportContext) -> None:
        self.context = context

    def body_of_member(self, resource: Resource, endpoint: Endpoint) -> None:
        entity = resource.entity
        assert entity is not None
        body = endpoint.call.operation.body
        if body is None:
            if endpoint.name != "delete":
                endpoint.values["body"] = None
            return
        if endpoint.name == "delete" and not self.has_members(body.content):
            return
        part, envelope = self._unwrapped(body.content, entity)
        if part is not None and self._is_entity(part, resource, endpoint.name):
            endpoint.request = envelope
            self._content_type(endpoint, body.content)
            return
        named = (*ENVELOPES, resource.place.thing if resource.place is not None else "")
        if part is not None and envelope and snake_case(envelope) in named:
            endpoint.request = envelope
            endpoint.values["body"] = self._json_body(part, self.context.owner(resource, endpoint.name))
            self._content_type(endpoint, body.content)
            return
        self.body(endpoint, resource)

    def has_members(self, content: Content) -> bool:
        if content.kind not in ("json", "form", "multipart"):
            return True
        if content.schema is None:
            return False
        schema = self.context.shapes.of(content.schema)
        return schema.type not in ("object", "any") or bool(schema.properties) or schema.values is not None

    def _unwrapped(self, content: Content, entity: Entity) -> tuple[Part | None, str]:
        """Return the part of a body that may be the entity, and the envelope around it."""
        if content.kind != "json" or content.schema is None:
            return None, ""
        record = self.context.shapes.record_of(content.schema)
        if record is not None and len(record.members) == 1 and not entity.choices:
            wire, member = next(iter(record.members.items()))
            if wire not in entity.record.members and self.context.shapes.record_of(member.parts[0]) is not None:
                return member.parts[0], wire
        return content.schema, ""

    def _is_entity(self, part: Part, resource: Resource, name: str) -> bool:
        """Return whether a body is the entity, except read-only fields, its key, and which fields are required."""
        entity = resource.entity
        assert entity is not None
        schema = self.context.shapes.of(part)
        if entity.choices:
            return resource.union is not None and schema.at == self.context.shapes.of(resource.union).at
        record = self.context.shapes.record(schema)
        if record is None:
            return False
        same = self.context.found.by_schema.get(schema.at) is entity
        if not same:
            whole = entity.record
            if any(wire not in whole.members for wire in record.members):
                return False
            for wire, member in whole.members.items():
                if wire in record.members:
                    if not self._same_member(member, record.members[wire], wire, entity):
                        return False
                elif wire not in entity.key.wires and not self.context.shapes.of(member.parts[0]).read_only:
                    return False
        if name in ("push", "update"):
            entity.sent.append(record)
        return True

    def _same_member(self, one: Member, other: Member, wire: str, entity: Entity) -> bool:
        ats = {self.context.shapes.of(part).at for part in one.parts}
        if all(self.context.shapes.of(part).at in ats for part in other.parts):
            return True
        if not all(self.context.shapes.is_scalar(part) for part in (*one.parts, *other.parts)):
            return False
        return (
            self.context.types.member(one, entity.name, wire)[0].text
            == self.context.types.member(other, entity.name, wire)[0].text
        )

    def body(self, endpoint: Endpoint, resource: Resource) -> None:
        """Infer the body of an endpoint."""
        body = endpoint.call.operation.body
        assert body is not None
        content, values = body.content, endpoint.values
        owner = self.context.owner(resource, endpoint.name)
        if content.kind == "text":
            values["body"] = "text"
            if content.type.partition(";")[0] != "text/plain" and _is_media_type(content.type):
                values["request"] = {"content_type": content.type}
        elif content.kind in ("form", "multipart"):
            values["body"] = self._form(content, owner)
        elif content.kind == "json":
            endpoint.request = "" if endpoint.request is None else endpoint.request
            values["body"] = self._json_body(content.schema, owner)
            self._content_type(endpoint, content)
        else:
            values["body"] = "bytes"
            # Bytes without a content type would be sent without any.
            media = content.type if _is_media_type(content.type) else "application/octet-stream"
            values["request"] = {"content_type": media}
            if media != content.type and content.type not in ("*/*", "*", ""):
                endpoint.comments["request",] = f"check: one of {content.type}"
        if not body.required and not endpoint.member and not self._demands(content):
            request = values.get("request")
            values["request"] = {**(request if isinstance(request, dict) else {}), "optional": True}

    def _demands(self, content: Content) -> bool:
        record = self.context.shapes.record_of(content.schema)
        return record is not None and any(member.required for member in record.members.values())

    def _content_type(self, endpoint: Endpoint, content: Content) -> None:
        plain = content.type.partition(";")[0].strip().lower()
        if plain != "application/json" and plain.endswith(("+json", "/json")) and _is_media_type(content.type):
            endpoint.values["request"] = {"content_type": content.type}

    def _json_body(self, part: Part | None, owner: str) -> Value:
        if part is None:
            return "any"
        schema = self.context.shapes.of(part)
        if (
            schema.type == "object"
            and schema.properties
            and not schema.name
            and schema.at not in self.context.types.entities
        ):
            record = self.context.shapes.record(schema)
            assert record is not None
            fields = self.context.types.fields(record, owner, "", sent=False)
            return {
                name: _allowed(field, "body_field") for name, field in fields.items() if not _is_read_only(field)
            } or "any"
        value = self.context.types.of_schema(schema, owner).value
        if isinstance(value, list):
            return value
        if isinstance(value, dict):
            return value if "one_of" in value else "any"
        return value if value in self.context.types.objects or schema.at in self.context.types.entities else "any"

    def _form(self, content: Content, owner: str) -> Value:
        record = self.context.shapes.record_of(content.schema)
        if record is None:
            return "bytes" if content.kind == "multipart" else "text"
        names = member_names(record.members)
        fields: dict[str, Value] = {}
        for wire, member in record.members.items():
            part = self.context.shapes.without_empty(member.parts[0])
            unset = part is not member.parts[0]
            if unset:
                member = dataclasses.replace(member, parts=(part,))
            typed = self._form_type(member, owner, wire, content.kind)
            optional = unset or self.context.types.is_optional(member, typed)
            read_only = is_read_only(self.context.types, record, member)
            written = self.context.types.field(
                wire, names[wire], member, typed, optional=optional, must=False, read_only=read_only
            )
            if not _is_read_only(written):
                styled = self._styled(written, typed, part, content.encoding.get(wire, {}))
                fields[names[wire]] = _allowed(styled, "form_field" if content.kind == "form" else "file_field")
        return {content.kind: fields} if fields else "bytes" if content.kind == "multipart" else "text"

    def _styled(self, written: Value, typed: Typed, part: Part, encoding: Mapping[str, Any]) -> Value:
        """Return a form field with the style of its encoding."""
        style, explode = encoding.get("style"), encoding.get("explode")
        kind = self.context.shapes.of(part).type
        if typed.value == "any":
            kind = "any"
        if isinstance(style, str) and kind in ("array", "object", "any"):
            found = style_named(style, explode=explode is not False, kind=kind)
        else:
            found = "json" if kind == "object" and "json" in str(encoding.get("contentType")) else ""
        usual = "repeat" if kind == "array" else "brackets"
        if found in ("", usual) or (kind == "any" and found == "json"):
            return written
        return with_key(written, "style", found)

    def _form_type(self, member: Member, owner: str, wire: str, kind: str) -> Typed:
        schema = self.context.shapes.of(member.parts[0])
        inner = self.context.shapes.of(schema.items) if schema.items is not None else None
        if kind == "multipart" and _is_file(schema):
            return Typed("bytes", schema.nullable)
        if kind == "multipart" and inner is not None and _is_file(inner):
            return Typed(["bytes"], schema.nullable)
        typed = self.context.types.member(member, owner, wire)[0]
        known = self.context.types.entities.get(schema.at if inner is None else inner.at)
        if known is not None:  # forms contain no entities, but may contain their data
            data = self.context.types.data_of(known)
            return dataclasses.replace(typed, value=data if inner is None else [data], entity=False)
        if typed.entity:  # or its id
            return dataclasses.replace(typed, value="any", entity=False)
        if isinstance(typed.value, dict) and ("one_of" in typed.value or "union" in typed.value):
            # Forms have no unions. Alternatives that can be sent as a string become a string.
            alternatives = typed.value.get("one_of")
            named = [each for each in alternatives if isinstance(each, str)] if isinstance(alternatives, list) else []
            texts = "string" in named and named == alternatives and PARAMETERS.issuperset(named)
            return dataclasses.replace(typed, value="string" if texts else "any")
        entities = {each.name for each in self.context.types.entities.values()}
        return dataclasses.replace(typed, value=_without_records(typed.value, entities))


def _is_media_type(text: str) -> bool:
    """Return whether a content type can be sent; a range (`image/*`) cannot."""
    return _MEDIA_TYPE.match(text) is not None and "*" not in text.partition(";")[0]


def _allowed(field: Value, place: str) -> Value:
    """Remove keys that fields of this kind of body do not support; a bare type is not changed."""
    if not isinstance(field, dict) or "type" not in field:
        return field
    kept = {key: value for key, value in field.items() if key in rows(place)}
    return kept["type"] if len(kept) == 1 and isinstance(kept["type"], str | list) else kept


def _without_records(value: Value, entities: Set[str]) -> Value:
    """Return the type of a list or mapping, with `any` instead of unions and entities as items."""
    if isinstance(value, list):
        return [_without_records(each, entities) for each in value]
    if isinstance(value, dict) and "values" in value:
        return {**value, "values": _without_records(value["values"], entities)}
    is_choice = isinstance(value, dict) and ("one_of" in value or "union" in value)
    return "any" if is_choice or (isinstance(value, str) and value.rstrip("?") in entities) else value


def _is_read_only(field: Value) -> bool:
    """Return whether a member is never sent."""
    return isinstance(field, dict) and field.get("read_only") is True


def _is_file(schema: object) -> bool:
    return getattr(schema, "format", "") == "binary" or bool(getattr(schema, "content_type", ""))
