"""A request with its endpoint, and the response. This module does not depend on an HTTP library."""

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
    """A request with its route.

    `query` are the arguments that are not part of the route's template; `url` is the URL without them; `body` is
    parsed, `MISSING` if none was sent. `root` is the base path of the API.
    """

    route: Route
    params: Mapping[str, str]
    query: Sequence[tuple[str, str]] = ()
    body: Sent = d.MISSING
    url: str = ""
    root: str = ""

    @property
    def endpoint(self) -> d.Endpoint:
        """The called endpoint."""
        return self.route.endpoint

    @property
    def resource(self) -> d.Resource:
        """The resource of the endpoint."""
        return self.route.resource

    @property
    def ends_at_record(self) -> bool:
        """Whether the path is that of a record, rather than a path below it."""
        path = self.resource.path
        return path is not None and self.endpoint.path.text == path.text

    @property
    def fields(self) -> Mapping[str, str]:
        """The (dotted) fields of path and query parameters that differ from their names."""
        in_path = {field.name: field.of for field in (*self.resource.params, *self.endpoint.params) if field.of}
        return in_path | {field.wire: field.of for field in self.endpoint.search_params if field.of}

    def list_params(self) -> Mapping[str, str]:
        """Return the path parameters that filter a list. Parameters in the query of a template are search arguments."""
        own = {parameter.name for parameter in self.endpoint.path.parameters} - set(self.route.holes.values())
        return {name: text for name, text in self.params.items() if name in own}


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """A response. `content` is JSON, or bytes, or plain text with `text`; `MISSING` for no body."""

    status: int
    content: d.Json | bytes | d.Missing = d.MISSING
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    text: bool = False
