"""Inference of lists: filters, pages, members next to the list; detects reads by POST."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from restencil_generator.openapi.document.model import Part, Schema
from restencil_generator.openapi.infer import change_verbs
from restencil_generator.openapi.infer.calls import Call
from restencil_generator.openapi.infer.context import Endpoint, ImportContext
from restencil_generator.openapi.infer.names.inflection import GLOBAL, pascal_case, snake_case
from restencil_generator.openapi.infer.names.types import member_names
from restencil_generator.openapi.infer.pagination import DIRECTIONS, ORDERS, SIZES, pages_of
from restencil_generator.openapi.infer.parameters import Query
from restencil_generator.openapi.infer.records import Member
from restencil_generator.openapi.infer.resources import Entity, Resource
from restencil_generator.openapi.infer.response_layout import Many
from restencil_generator.openapi.infer.schema_types import with_key
from restencil_generator.openapi.spec_tree import Value
from restencil_generator.spec.grammar.type_words import FORMS

READS: Final = frozenset(("list", "read", "search", "query", "filter", "find", "count", "history", "paginate"))
"""Words in the names of POST operations that only read."""

CHANGES: Final = frozenset(
    (*change_verbs.CHANGES, "approve", "archive", "batch", "bulk", "change", "complete", "copy", "duplicate",
     "execute", "import", "mark", "merge", "new", "put", "register", "subscribe", "sync", "trigger", "write")
)  # fmt: skip
"""Words in such names which show that the operation changes something."""

VAGUE: Final = re.compile(
    r"contain|search|prefix|regex|regular expression|pattern|wildcard|fuzzy|partial|substring|begins? with|starts? with"
    r"|ends? with|\b(?:after|before|since|until|greater|less|at least|at most|minimum|maximum|min|max|between|newer"
    r"|older|earlier|later|like|ranges?|case[- ]insensitive(?:ly)?|includ\w*|also|exclud\w*|omit\w*|hid(?:e|es|den)"
    r"|e-?mails?)\b|[\"'`]me[\"'`]",
    re.IGNORECASE,
)
"""Words in descriptions of parameters that do not filter by equality."""

EVERY: Final = frozenset(("all", "any", "both", "every", "none", "*"))
"""Enum values that do not filter by a field."""

SOMETIMES: Final = re.compile(r"\bonly (?:set|present|returned|included|available)\b", re.IGNORECASE)
"""Words in descriptions of members that not all records have."""

NARROWED: Final = re.compile(
    r"\bby default\b|\bdefaults? (?:to|is|value)\b|\bif (?:none|omitted|unspecified|empty|not)\b"
    r"|\b(?:not|isn't) (?:provided|specified|set|given|passed|present)\b|\bunless\b",
    re.IGNORECASE,
)
"""Words in descriptions of lists that are filtered by default."""


FORM_WORDS: Final = frozenset((*FORMS, "enum", "one_of", "const"))
"""Members that make a mapping a form rather than an object."""


class Lists:
    """Inference of list settings."""

    def __init__(self, context: ImportContext) -> None:
        self.context = context

    def queries(
        self, endpoint: Endpoint, queries: list[Query], taken: set[str], listed: Entity | None = None
    ) -> dict[str, str]:
        """Write the search parameters of an endpoint; `listed` is the entity whose fields they may filter by."""
        found, names = self.context.parameters.search_params(queries, taken)
        fields = set[str]() if listed is None else set(listed.names.values())
        for query in queries:
            name = names[query.wire]
            if name in fields and (self._is_vague(query) or self._is_set_sometimes(listed, name)):
                found[name] = with_key(found[name], "filter", "unknown")
            elif self._is_shown_otherwise(endpoint, listed, query):
                found[name] = self.context.parameters.search_param(query, name, sends_default=True)
                if endpoint.member:
                    endpoint.comments["search_params", name] = "check: records inside others may be shown so too"
        if found:
            endpoint.values["search_params"] = found
        return names

    def _is_shown_otherwise(self, endpoint: Endpoint, listed: Entity | None, query: Query) -> bool:
        """Return whether a parameter has another default in `get` of the listed records, which it shows in another way.

        A list sends its own, so that a client knows of it: the records that it shows are none of those that `get` does.
        """
        resources = [] if listed is None else [each for each in self.context.resources if each.entity is listed]
        get = next((each.members["get"] for each in resources if "get" in each.members), None)
        if get is None or get is endpoint.call:
            return False
        same = [each for each in self.context.parameters.of(get.operation) if each.wire == query.wire]
        own, *others = (self.context.shapes.of(each.part).default for each in (query, *same))
        return own is not None and any(other not in (None, own) for other in others)

    def _is_vague(self, query: Query) -> bool:
        """Return whether a parameter with the name of a field does not filter by equality."""
        schema = self.context.shapes.of(query.part)
        return VAGUE.search(query.description or schema.description) is not None or _may_select_all(schema)

    def _is_set_sometimes(self, listed: Entity | None, name: str) -> bool:
        """Return whether records that match a value may lack the field, as subscriptions with several plans do."""
        record = None if listed is None else listed.record
        member = None if record is None else record.members.get(record.by_name.get(name, ""))
        text = "" if member is None else self.context.shapes.of(member.parts[0]).description
        return member is not None and SOMETIMES.search(text) is not None

    def _has_all_records(self, resource: Resource, endpoint: Endpoint, queries: list[Query], listed: Entity) -> bool:
        """Return whether a list contains all records under its path, if nothing else filters it.

        Only then is it certain which records join and leave it. It must be the only list of the records of a resource,
        and its document must not describe a default filter.
        """
        names = listed.names.values()
        path = self.context.names_of(resource, endpoint.call, None if endpoint.member else listed).values()
        if any(parameter not in names for parameter in path):
            return True  # the path filters by no field, so no record joins or leaves it
        if not endpoint.member or (not path and self._lists[listed] > 1):
            return False
        if NARROWED.search(f"{endpoint.call.operation.summary} {endpoint.call.operation.description}"):
            return False
        return not any(self._selects_by_default(query, names) for query in queries)

    def _selects_by_default(self, query: Query, fields: Collection[str]) -> bool:
        """Return whether a parameter filters by default, according to its default and its description."""
        schema, name = self.context.shapes.of(query.part), snake_case(query.wire)
        is_field = name in fields
        if is_field and NARROWED.search(query.description or schema.description):
            return True
        if schema.default is None and _may_select_all(schema):
            return True  # such a value would be useless if the list were unfiltered by default
        if schema.default in (None, "", *EVERY) or name in SIZES | ORDERS:
            return False
        return is_field or schema.type == "boolean" or bool(schema.enum)

    @functools.cached_property
    def _lists(self) -> Counter[Entity]:
        """Return the number of resources that list the records of each entity."""
        listing = [each.entity for each in self.context.resources if each.summary is not None]
        return Counter(entity for entity in listing if entity is not None)

    def get_list(self, resource: Resource, endpoint: Endpoint) -> None:
        call, many, entity = endpoint.call, resource.listing, resource.entity
        assert many is not None
        assert entity is not None
        assert call.response is not None
        operation = call.operation
        queries = self.context.parameters.of(operation)
        listed = None if resource.summary is None else entity
        names = self.queries(endpoint, queries, set(resource.path_names.values()), listed)
        if resource.summary is None:
            typed = self.context.types.of(many.items, self.context.owner(resource, endpoint.name), call.scope)
            item = self.context.types.item(typed)
            plain: Value = {"values": item} if many.values else [item]
            endpoint.values["schema"] = plain
            endpoint.many = ".".join(many.path)
            if not many.bare:
                endpoint.values["schema"] = self._around(resource, endpoint, many, plain)
                endpoint.many, endpoint.one = None, ""
            self.pages_of_values(resource, endpoint, queries, names)
            return
        item = self.context.resource_schema(resource)
        held: Value = {"collection": {"values": item} if many.values else [item]}
        if many.bare:
            endpoint.many = ".".join(many.path)
            if many.values:
                endpoint.values["schema"] = held
        else:
            endpoint.values["schema"] = self._around(resource, endpoint, many, held)
            endpoint.one = ""
        pk = self.context.key_fields(entity)
        if not self._has_all_records(resource, endpoint, queries, entity):
            endpoint.values["collection"] = {"follow": False}
        self.pages(resource, endpoint, queries, names, pk[0][0] if len(pk) == 1 and not entity.choices else "")

    def pages(
        self, resource: Resource, endpoint: Endpoint, queries: list[Query], names: Mapping[str, str], pk: str
    ) -> None:
        operation = endpoint.call.operation
        schemas = {query.wire: self.context.shapes.of(query.part) for query in queries}
        pages = pages_of(operation, self.context.shapes, endpoint.call.response, schemas, pk)
        apart = [
            names[wire]
            for wire in schemas
            if self._only_arranges(wire, schemas) and (pages is None or wire != pages.field)
        ]
        if apart:
            settings = endpoint.values.get("collection")
            more = settings if isinstance(settings, dict) else {}
            endpoint.values["collection"] = {"non_filter_arguments": list(apart), **more}
        if pages is None:
            return
        if pages.field:
            endpoint.values["pagination_field"] = names[pages.field]
            params = endpoint.values.get("search_params")
            if isinstance(params, dict) and self.context.types.wire_of(names[pages.field], pages.field) is None:
                del params[names[pages.field]]  # its name already implies it
                if not params:
                    del endpoint.values["search_params"]
        comment = pages.comment
        if not pages.field:
            # The language requires a parameter; if none exists, only the server's link to the next page is used.
            taken = {*names.values(), *self.context.names_of(resource, endpoint.call, None).values()}
            endpoint.values["pagination_field"] = next(
                name for name in ("page", "cursor", "next_page") if name not in taken
            )
            comment = f"{comment}; check: no parameter names a page".removeprefix("; ")
        endpoint.values["pagination"] = dict(pages.pagination)
        if comment:
            endpoint.comments[("pagination",)] = comment

    def pages_of_values(
        self, resource: Resource, endpoint: Endpoint, queries: list[Query], names: Mapping[str, str]
    ) -> None:
        """Write the pagination of a response that is a list of plain values; other responses are ignored."""
        written, entities = endpoint.values.get("schema"), {entity.name for entity in self.context.found.entities}
        if isinstance(written, list) and entities.isdisjoint(names_in(written)):
            self.pages(resource, endpoint, queries, names, "")
            endpoint.values.pop("collection", None)  # its settings are for lists of entities

    def _only_arranges(self, wire: str, schemas: Mapping[str, Schema]) -> bool:
        """Return whether a parameter only determines the order or number of items, unless its name is ambiguous."""
        name, schema = snake_case(wire), schemas[wire]
        if name in SIZES:
            return schema.type != "string"
        if name not in DIRECTIONS:
            return name in ORDERS
        values = {str(value).lower() for value in schema.enum}
        return bool(values & {"asc", "desc", "ascending", "descending"}) or "sort" in map(snake_case, schemas)

    def pages_in_body(self, endpoint: Endpoint) -> bool:
        """Write the pagination of a list whose page is in the request body; returns False if there is none."""
        operation = endpoint.call.operation
        record = None if operation.body is None else self.context.shapes.record_of(operation.body.content.schema)
        if record is None:
            return False
        schemas = {wire: self.context.shapes.of(member.parts[0]) for wire, member in record.members.items()}
        pages = pages_of(operation, self.context.shapes, endpoint.call.response, schemas, "")
        if pages is None or not pages.field:
            return False
        endpoint.values["pagination_field"] = member_names(record.members)[pages.field]
        endpoint.values["pagination"] = {"style": pages.pagination["style"], "in": "body", **pages.pagination}
        if pages.comment:
            endpoint.comments[("pagination",)] = pages.comment
        return True

    def _around(self, resource: Resource, endpoint: Endpoint, many: Many, held: Value) -> Value:
        """Return the members of a response that contains a list, with `held` instead of the list."""
        call = endpoint.call
        assert call.response is not None
        owner, scope = self.context.owner(resource, endpoint.name), call.scope
        return _members_of(self._wrapped(call.response, many.path, held, owner, scope))

    def _wrapped(
        self,
        part: Part,
        path: tuple[str, ...],
        held: Value,
        owner: str,
        scope: frozenset[str],
    ) -> Value:
        """Return an object with all its members; the part at `path` is replaced by `held`."""
        if held is not None and not path:
            return held
        schema = self.context.shapes.of(part)
        names = member_names(schema.properties)
        members: dict[str, Value] = {}
        wires: dict[str, Value] = {}
        optional: list[Value] = []
        for wire, inner in schema.properties.items():
            if not wire:
                continue
            name = names[wire]
            if (spelled := self.context.types.wire_of(name, wire)) is not None:
                wires[name] = spelled
            if path and wire == path[0]:
                members[name] = self._wrapped(inner, path[1:], held, owner + pascal_case(wire), scope)
                continue
            member = Member((inner,), wire in schema.required, True)
            typed = self.context.types.member(member, owner, wire)[0]
            value = self.context.types.item(dataclasses.replace(typed, nullable=False))
            if not self.context.types.is_optional(member, typed) or value == "any":
                members[name] = value
            elif isinstance(value, str):
                members[name] = f"{value}?"
            else:
                members[name] = value
                optional.append(name)
        form: dict[str, Value] = {"object": members}
        if wires:
            form["wire"] = wires
        if optional:
            form["optional"] = optional
        return form

    def held(self, resource: Resource, call: Call) -> tuple[Many, Entity] | None:
        """Return the list of entities that a reading call returns."""
        if call.response is None or not (call.method == "GET" or is_list_by_post(call)):
            return None
        if self.context.found.finder.known_in(call.response) is not None:
            return None  # a record that contains a list
        layout = self.context.found.finder.layout

        def fits(part: Part) -> bool:
            entity = self.context.found.by_schema.get(self.context.shapes.of(part).at)
            return entity is not None and entity.scope <= call.scope

        many = layout.many(call.response, fits, resource.name)
        if many is None or not fits(many.items):
            return None
        if call.method != "GET" and not self.reads(call):
            return None
        return many, self.context.found.by_schema[self.context.shapes.of(many.items).at]

    def reads(self, call: Call) -> bool:
        """Return whether a POST only reads: by its name, its body without a record, and its list of records."""
        shapes, body = self.context.shapes, call.operation.body
        if not is_list_by_post(call) or call.response is None:
            return False
        sent = None if body is None else body.content.schema
        if sent is not None and shapes.of(sent).at in self.context.found.by_schema:
            return False
        layout = self.context.found.finder.layout
        many = layout.many(call.response, lambda part: shapes.record_of(part) is not None)
        if many is None or not layout.is_page(call.response):
            return False
        record = shapes.record_of(many.items)
        return record is not None and any(shapes.has_scalar(record, name) for name in (*GLOBAL, "name"))

    def counts(self, call: Call) -> bool:
        """Return whether a POST counts the records of a list by POST: it returns a number and has the same filters."""
        if not is_list_by_post(call) or call.response is None or call.route.segments[-1:] != ("count",):
            return False
        if self.context.shapes.of(call.response).type != "integer":
            return False
        sent = self._sent(call)
        return any(sent <= listed for listed in self._selected.get(call.route.segments[:-1], ()))

    @functools.cached_property
    def _selected(self) -> dict[tuple[str, ...], list[frozenset[str]]]:
        """Return the members of the bodies of lists by POST, by the parent path."""
        found: dict[tuple[str, ...], list[frozenset[str]]] = {}
        for call in self.context.found.finder.calls:
            if self.reads(call):
                found.setdefault(call.route.segments[:-1], []).append(self._sent(call))
        return found

    def _sent(self, call: Call) -> frozenset[str]:
        """Return the names of the members of a call's body."""
        body = call.operation.body
        record = None if body is None else self.context.shapes.record_of(body.content.schema)
        return frozenset(() if record is None else record.members)

    def collection(
        self, resource: Resource, endpoint: Endpoint, many: Many, entity: Entity, owner: str, scope: frozenset[str]
    ) -> None:
        item = self.context.types.of(many.items, owner, scope).value
        entity.nested.add(self.context.shapes.of(many.items).at)
        inner: Value = {"values": item} if many.values else [item]
        # Only the server knows the filter in a body, so only further pages are added to such a list.
        has_members = endpoint.call.method == "GET" or "pagination" in endpoint.values
        held: Value = {"collection": inner} if has_members else inner
        if isinstance(held, dict) and endpoint.call.method == "GET":
            queries = self.context.parameters.of(endpoint.call.operation)
            if not self._has_all_records(resource, endpoint, queries, entity):
                held = {**held, "follow": False}
        if many.bare:
            endpoint.values["schema"] = held
            endpoint.many = ".".join(many.path)
        else:
            endpoint.values["schema"] = self._around(resource, endpoint, many, held)
            endpoint.one = ""


def _members_of(form: Value) -> Value:
    """Return the members of an object alone, if it has no other keys and no member is named like a keyword of forms."""
    members = form.get("object") if isinstance(form, dict) and len(form) == 1 else None
    return members if isinstance(members, dict) and not FORM_WORDS & set(members) else form


def _may_select_all(schema: Schema) -> bool:
    """Return whether a parameter has a value that does not filter."""
    return any(isinstance(value, str) and value.lower() in EVERY for value in schema.enum)


def names_in(written: Value) -> Iterator[str]:
    """Yield the names of types in a schema of the spec."""
    if isinstance(written, str):
        yield written.rstrip("?!")
    elif isinstance(written, dict | list):
        for each in written.values() if isinstance(written, dict) else written:
            yield from names_in(each)


def is_list_by_post(call: Call) -> bool:
    """Return whether a POST only reads a list, according to its id, path and summary, and its only success status."""
    operation = call.operation
    if call.method != "POST" or operation.result.statuses != ("200",):
        return False
    path = "/".join(part for part in call.route.segments if "{}" not in part)
    words = {word for text in (operation.operation_id, path, operation.summary) for word in snake_case(text).split("_")}
    return bool(READS & words) and not CHANGES & words
