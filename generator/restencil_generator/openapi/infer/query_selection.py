"""Detection of query parameters and other inputs that select a record in addition to the path."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from restencil_generator.openapi.document.model import Parameter, Part, Where
from restencil_generator.openapi.infer.calls import MUTATIONS, Call
from restencil_generator.openapi.infer.names.inflection import GLOBAL, snake_case
from restencil_generator.openapi.infer.primary_keys import NO_PARENTS, Key
from restencil_generator.openapi.infer.records import Record, Shapes
from restencil_generator.openapi.infer.response_layout import ResponseLayout
from restencil_generator.openapi.infer.routes import Route

_ALIAS: Final = re.compile(r"[`'\"]me[`'\"]|\bor (?:just )?[`'\"]\w+[`'\"]")
"""Words in descriptions of parameters that accept fixed values in addition to keys of records."""


_SPELLINGS: Final = re.compile(
    r"\bsubstitute\b|\bnot case[- ]sensitive|\bcase[- ]insensitive"
    r"|\bor (?:the )?(?:url[- ]encoded )?(?:key|name|slug|path|code)\b",
    re.IGNORECASE,
)
"""Words in descriptions of parameters that accept several names for one record."""


_NAMES: Final = "name|slug|path|key|code|alias|username|login|email"
_ID_OR_NAME: Final = re.compile(
    rf"\b(?:id|uuid)\b\W{{0,2}}(?:/|\bor\b) ?\W?(?:[\w-]+ ){{0,3}}\W?(?:{_NAMES})\b"
    rf"|\b(?:{_NAMES})\b\W{{0,2}}(?:/|\bor\b) ?\W?(?:[\w-]+ ){{0,3}}\W?(?:id|uuid)\b",
    re.IGNORECASE,
)
"""Words in descriptions of parameters that accept an id or another name of a record."""


def has_other_names(parameter: Parameter) -> bool:
    """Return whether a parameter accepts an id or another name of a record, by its own name or its description."""
    return "_or_" in snake_case(parameter.name) or bool(_ID_OR_NAME.search(parameter.description))


class Selection:
    """The inputs that select records, as declared by the operations of a document."""

    def __init__(self, calls: Sequence[Call], layout: ResponseLayout, shapes: Shapes) -> None:
        self.calls = calls
        self.layout = layout
        self.shapes = shapes

    def doubted(self, key: Key, record: Record, found: Route, at: Mapping[str, Call]) -> Key:
        """Return the key of a record with a comment if its operations make it doubtful."""
        get = at.get("GET") or next(iter(at.values()))
        mutations = [call for method, call in at.items() if method in MUTATIONS]
        if query := self._selecting(get, mutations, record, key):
            return key.doubted(f"it may count per {{{query}}}")
        parts = {part.parameter for part in key.parts}
        for each in get.operation.parameters:
            if each.place != "path":
                continue
            is_last = each.name == found.parameters[-1]
            if is_last and (_ALIAS.search(each.description) or has_other_names(each)):
                return key.doubted(f"{{{each.name}}} may be another name of a record")
            if each.name in parts and ("_or_" in snake_case(each.name) or _SPELLINGS.search(each.description)):
                return key.doubted(f"{{{each.name}}} has several spellings of one value")
        return key

    def is_one_of_many(self, get: Call, response: Part, record: Record) -> bool:
        """Return whether a query parameter selects the record of a path without key, or lists contain such records."""
        if self.shapes.of(response).at in self._listed:
            return True
        queries = [each for each in get.operation.parameters if each.place == "query"]
        return any(each.required or self.shapes.has_scalar(record, snake_case(each.name)) for each in queries)

    @functools.cached_property
    def _listed(self) -> frozenset[Where]:
        """The schemas of the items of all lists."""
        layout = [call.response for call in self.calls if call.method == "GET" and call.response is not None]
        found = [self.layout.many(response, lambda part: False) for response in layout]
        return frozenset(self.shapes.of(many.items).at for many in found if many is not None)

    def _selecting(self, get: Call, mutations: list[Call], record: Record, key: Key) -> str:
        """Return the query parameter that all operations of an item use to select its record; "" for none.

        A parameter that is called like a member selects one of the records of a path: `/sources/{dag}?version=…`. If
        only the path is the key, it may also select one of several kinds of a record: `/users/{id}/token?type=…`.
        """
        everywhere = [{each.name for each in call.operation.parameters} for call in mutations]
        for each in get.operation.parameters:
            name = snake_case(each.name)
            if each.place != "query" or name in NO_PARENTS or self._frequency[each.name] * 2 >= len(self.calls):
                continue
            is_shared = bool(everywhere) and all(each.name in names for names in everywhere)
            is_member = self.shapes.has_scalar(record, name) and record.by_name[name] not in key.wires
            is_kind = not key.wires and len(self.shapes.of(each.schema).enum) > 1
            if each.required or is_member or is_kind or (is_shared and name.split("_")[-1] in (*GLOBAL, "key", "name")):
                return each.name
        return ""

    @functools.cached_property
    def _frequency(self) -> Counter[str]:
        """The number of operations with each query parameter."""
        every = (call.operation.parameters for call in self.calls)
        return Counter(each.name for parameters in every for each in parameters if each.place == "query")
