"""A request that has found its endpoint, and what answers it. Nothing here knows HTTP libraries."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from restencil_generator.mock.routes import Route
from restencil_generator.spec import model as d

Sent: TypeAlias = "d.Json | bytes | d.Missing"
"""A body as it was received: parsed JSON, bytes, or none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A request that has found its route.

    `query` are the arguments that are not part of the route's template; `url` is the address without them; `body` is
    parsed, `MISSING` where none was sent. `root` is the path below which the API stands.
    """

    route: Route
    params: Mapping[str, str]
    query: Sequence[tuple[str, str]] = ()
    body: Sent = d.MISSING
    url: str = ""
    root: str = ""

    @property
    def endpoint(self) -> d.Endpoint:
        """The endpoint that is called."""
        return self.route.endpoint

    @property
    def resource(self) -> d.Resource:
        """The resource that the endpoint belongs to."""
        return self.route.resource

    @property
    def ends_at_record(self) -> bool:
        """Whether the path is that of a record itself, not of something below it."""
        path = self.resource.path
        return path is not None and self.endpoint.path.text == path.text

    @property
    def fields(self) -> Mapping[str, str]:
        """The (dotted) fields that parameters of path and query are, where their names do not say it."""
        in_path = {field.name: field.of for field in (*self.resource.params, *self.endpoint.params) if field.of}
        return in_path | {field.wire: field.of for field in self.endpoint.search_params if field.of}

    def list_params(self) -> Mapping[str, str]:
        """The path's parameters that restrict a list. Those of another template's query are search arguments."""
        own = {parameter.name for parameter in self.endpoint.path.parameters} - set(self.route.holes.values())
        return {name: text for name, text in self.params.items() if name in own}


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `content` is JSON, or bytes, or with `text` plain text; `MISSING`: no body."""

    status: int
    content: d.Json | bytes | d.Missing = d.MISSING
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    text: bool = False
