"""One endpoint as a spec writes it, before anything is inherited."""

from __future__ import annotations

import dataclasses

from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.arguments import WrittenHeaders
from restencil_generator.spec.analyze.pagination import WrittenPagination
from restencil_generator.spec.analyze.settings import Settings
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.source.nodes import ScalarNode


@dataclasses.dataclass(slots=True)
class RawEndpoint:
    """What the spec itself says about one endpoint: the keys that it gives, and what was made of them."""

    name: str
    what: Subject
    key: ScalarNode
    given: ParsedSection
    settings: Settings = Settings()
    headers: WrittenHeaders = WrittenHeaders()
    path: d.Path | None = None
    params: tuple[d.Field, ...] = ()
    search_params: tuple[d.Field, ...] = ()
    body: d.Body | None = None
    schema: d.Type | None = None
    returns: d.Type | None = None
    pagination: WrittenPagination | None = None

    @property
    def extends(self) -> str | None:
        """The member that it starts from, as written."""
        extends: str | None = self.given["extends"]
        return extends
