"""Computes the effective `request` and `response` settings of an endpoint from spec, resource and endpoint level."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.parameter_styles import form_styled
from restencil_generator.spec.analyze.settings import laid_on


def effective_request(request: d.Request, endpoint: d.Endpoint) -> d.Request:
    """Return the settings that apply to the body of an endpoint: none if it has no body.

    A body is part of the key only if there is a cached response.
    """
    if endpoint.body is None or not endpoint.has_body:
        return d.Request()
    kind = endpoint.body.kind
    return d.Request(
        request.content_type if kind not in ("form", "multipart") else None,
        request.envelope if kind in ("json", "any") else (),
        request.optional,
        request.in_key and not endpoint.side_effect,
        request.style if kind == "form" else d.NO_STYLES,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class InheritedResponse:
    """The `response` settings that endpoints inherit from another endpoint.

    `has_envelope` means that the envelope was declared for an endpoint, so that it applies to any schema.
    """

    settings: d.Response
    has_envelope: bool = False

    def for_changes_of_list(self, of_resource: d.Response) -> InheritedResponse:
        """Return the settings for list operations: their responses are no lists, so the resource's envelopes apply."""
        envelopes = of_resource.envelope, of_resource.list_envelope
        return InheritedResponse(dataclasses.replace(self.settings, envelope=envelopes[0], list_envelope=envelopes[1]))

    def with_own(self, own: Mapping[str, Any] | None) -> InheritedResponse:
        """Return the settings with those of an endpoint applied."""
        written = own or {}
        has_envelope = written["envelope"] is not None if "envelope" in written else self.has_envelope
        return InheritedResponse(laid_on(self.settings, written), has_envelope)

    def effective(self, schema: d.Type | None) -> d.Response:
        """Return the settings for a schema: at most one of the two envelopes applies."""
        settings = self.settings
        form = _response_form(schema)
        is_one = self.has_envelope or form == "one"
        path = settings.envelope if is_one else settings.list_envelope if form == "list" else ()
        return dataclasses.replace(settings, envelope=path, list_envelope=())


def _response_form(schema: d.Type | None) -> str:
    """Return which envelope applies to a schema: `one`, `list`, or neither (empty)."""
    match schema:
        case d.Optional(item) | d.PageOf(item):
            return _response_form(item)
        case d.EntityRef() | d.ObjectRef() | d.UnionOf() | d.OneOf() | d.ObjectType() | d.InvalidateOf() | d.AdderOf():
            return "one"
        case d.ListOf() | d.ValuesOf() | d.CollectionOf() | d.AllOf() | d.QueryOf():
            return "list"
        case _:
            return ""


def styled_body(body: d.Body | None, styles: d.Styles) -> d.Body | None:
    """Return a body with the effective styles of its fields if it is a form."""
    if body is None or body.kind != "form" or not isinstance(body.type, d.ObjectType):
        return body
    members = tuple(form_styled(field, styles) for field in body.type.members)
    return dataclasses.replace(body, type=dataclasses.replace(body.type, members=members))
