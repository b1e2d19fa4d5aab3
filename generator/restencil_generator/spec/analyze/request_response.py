"""What levels say of bodies and answers (`request`, `response`), and what of it counts for an endpoint."""

from __future__ import annotations

import dataclasses

from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.parameter_styles import form_styled
from restencil_generator.spec.analyze.raw_endpoint import RawEndpoint
from restencil_generator.spec.analyze.settings import laid_on


@dataclasses.dataclass(slots=True)
class EffectiveSettings:
    """What was said for each endpoint of a resource, as those that start from it inherit it.

    With an answer stands whether its envelope counts for any schema: one that is written for an endpoint does.
    """

    requests: dict[str, d.Request] = dataclasses.field(default_factory=dict[str, d.Request])
    answers: dict[str, tuple[d.Response, bool]] = dataclasses.field(default_factory=dict[str, tuple[d.Response, bool]])

    def request(
        self, endpoint: d.Endpoint, own: RawEndpoint, base: d.Endpoint, root: d.Endpoint, *, meant: bool
    ) -> d.Request:
        """What counts for the body of an endpoint: nothing where it has none.

        A body is part of a key only where there is a cached answer. `meant` says that what `own` writes is for this
        endpoint, from which others can start.
        """
        said = laid_on(self.requests.get(base.name, root.request), own.settings.request)
        if meant:
            self.requests[own.name] = said
        if endpoint.body is None or not endpoint.has_body:
            return d.Request()
        kind = endpoint.body.kind
        return d.Request(
            said.content_type if kind not in ("form", "multipart") else None,
            said.envelope if kind in ("json", "any") else (),
            said.optional,
            said.in_key and not endpoint.side_effect,
            said.style if kind == "form" else d.NO_STYLES,
        )

    def response(
        self, own: RawEndpoint, base: d.Endpoint, schema: d.Type | None, root: d.Endpoint, *, meant: bool
    ) -> d.Response:
        """What counts for the answers of an endpoint: of the two envelopes the one for its schema.

        The envelope of a list is not that of what changes it, whose answers are others.
        """
        of_resource = root.response
        inherited, anywhere = self.answers.get(base.name, (of_resource, False))
        if own.name in d.EXTENDERS and isinstance(schema, d.AdderOf) and base.name not in d.EXTENDERS:
            envelopes = of_resource.envelope, of_resource.list_envelope
            inherited, anywhere = (
                dataclasses.replace(inherited, envelope=envelopes[0], list_envelope=envelopes[1]),
                False,
            )
        written = own.settings.response or {}
        said = laid_on(inherited, written)
        if "envelope" in written:
            anywhere = written["envelope"] is not None
        if meant:
            self.answers[own.name] = said, anywhere
        form = _form_of_answer(schema)
        path = said.envelope if anywhere or form == "one" else said.list_envelope if form == "list" else ()
        return dataclasses.replace(said, envelope=path, list_envelope=())


def _form_of_answer(schema: d.Type | None) -> str:
    """Which of two envelopes is meant for a schema: that for `one`, that for a `list`, or (empty) neither."""
    match schema:
        case d.Optional(item) | d.PageOf(item):
            return _form_of_answer(item)
        case d.EntityRef() | d.ObjectRef() | d.UnionOf() | d.OneOf() | d.ObjectType() | d.InvalidateOf() | d.AdderOf():
            return "one"
        case d.ListOf() | d.ValuesOf() | d.CollectionOf() | d.AllOf() | d.QueryOf():
            return "list"
        case _:
            return ""


def styled_body(body: d.Body | None, styles: d.Styles) -> d.Body | None:
    """A body whose fields, where it is a form, have the styles that count for them."""
    if body is None or body.kind != "form" or not isinstance(body.type, d.ObjectType):
        return body
    members = tuple(form_styled(field, styles) for field in body.type.members)
    return dataclasses.replace(body, type=dataclasses.replace(body.type, members=members))
