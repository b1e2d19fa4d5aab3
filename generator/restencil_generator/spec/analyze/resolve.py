"""Resolution of inheritance: from the levels spec, resource and endpoint to the settings of each endpoint.

All functions are pure. Errors are left out here: the rules (`resource_rules`, `endpoint_rules`), which get the results
of this module, report them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import cast

from restencil_generator.diagnostics.model import Place
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze import parameter_styles
from restencil_generator.spec.analyze.arguments import ClientArguments
from restencil_generator.spec.analyze.entity_fields import exact_filters
from restencil_generator.spec.analyze.expires import written_expires
from restencil_generator.spec.analyze.fields import OF_FIELD
from restencil_generator.spec.analyze.pagination import (
    ANY_TEXT,
    WrittenPagination,
    body_members,
    page_field,
    resolve_pagination,
)
from restencil_generator.spec.analyze.raw import RawEndpoint, RawResource
from restencil_generator.spec.analyze.request_response import InheritedResponse, effective_request, styled_body
from restencil_generator.spec.analyze.settings import (
    Settings,
    first_given,
    joined_headers,
    laid_on,
    nearest_auth,
    overlaid,
)
from restencil_generator.spec.analyze.symbols import Declarations
from restencil_generator.spec.error_classes import laid_over
from restencil_generator.spec.grammar.key_checks import MEMBERS
from restencil_generator.spec.grammar.keys import defaults
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.names import python_name
from restencil_generator.spec.path_template import list_path, parse_path
from restencil_generator.spec.type_info import path_to, type_info


@dataclasses.dataclass(frozen=True, slots=True)
class ResolvedEndpoint:
    """An endpoint with its effective settings, its declaration, and the settings that other endpoints inherit.

    `operations` are those of its list (`push` and so on). `request`, `response` and `pagination` are inherited
    settings: some may not apply to the endpoint itself.
    """

    endpoint: d.Endpoint
    raw: RawEndpoint
    request: d.Request
    response: InheritedResponse
    pagination: WrittenPagination | None = None
    operations: Mapping[str, ResolvedEndpoint] = dataclasses.field(default_factory=dict[str, "ResolvedEndpoint"])

    @property
    def model(self) -> d.Endpoint:
        """The endpoint of the model, whose search parameters have their effective styles."""
        endpoint = self.endpoint
        found = tuple(parameter_styles.styled(field, endpoint.search_style) for field in endpoint.search_params)
        if not self.operations and found == endpoint.search_params:
            return endpoint
        operations = {name: operation.model for name, operation in self.operations.items()}
        return dataclasses.replace(endpoint, search_params=found, extenders=operations)


@dataclasses.dataclass(frozen=True, slots=True)
class Bases:
    """The bases of added endpoints: the member that each extends, and errors of the others.

    `order` has all of them, each after its base. `unknown` extend no member; the members of each cycle extend each
    other, and the base of the first one is reported.
    """

    bases: Mapping[str, str]
    order: tuple[str, ...]
    unknown: tuple[str, ...]
    circles: tuple[tuple[str, ...], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ResolvedResource:
    """A resource with all its endpoints: standard members in their order, then added ones as declared."""

    raw: RawResource
    root: d.Endpoint
    endpoints: Mapping[str, ResolvedEndpoint]
    members: tuple[str, ...]
    """The existing standard members, including list operations."""
    bases: Bases


def resolve(tables: Declarations, top: Settings, client: ClientArguments, raw: RawResource) -> ResolvedResource:
    """Resolve a resource with its endpoints, from the settings of the spec (`top`, `client`) and of the resource."""
    resolver = _Resolver(tables, client, raw, _root(top, client, raw))
    standard = resolver.standard() if raw.schema is not None else {}
    bases = _bases(raw.endpoints, standard)
    added: dict[str, ResolvedEndpoint] = {}
    for name in bases.order:
        base = bases.bases.get(name)
        start = resolver.root if base is None else standard.get(base) or added[base]
        added[name] = resolver.added(raw.endpoints[name], start)
    endpoints = {name: standard[name] for name in d.STANDARD if name in standard}
    endpoints |= {name: added[name] for name in raw.endpoints if name in added}
    order = ("get", "get_list", *d.EXTENDERS, "update", "partial_update", "delete")
    members = tuple(name for name in order if name in standard)
    return ResolvedResource(raw, resolver.root.endpoint, endpoints, members, bases)


def list_operations(endpoint: d.Endpoint, *, is_item: bool) -> tuple[str, ...]:
    """Return the operations that fit the list of an endpoint; `move` and `remove` need the path of an item."""
    if not has_pages(endpoint) or isinstance(endpoint.schema, d.PageOf):
        return ()
    is_list = endpoint.collection is not None and isinstance(endpoint.collection.of, d.ListOf)
    found: tuple[str, ...] = ("push", "unshift") if is_list else ("assign",) if endpoint.collection is not None else ()
    if endpoint.pagination_field is not None or (
        endpoint.pagination is not None and endpoint.pagination.remove_cursor is not None
    ):
        found += ("get_page",)
    return (*found, *d.NOT_BY_DEFAULT) if is_item and is_list else found


def has_pages(endpoint: d.Endpoint) -> bool:
    """Return whether the response of an endpoint is or contains a list that may be paginated."""
    if isinstance(endpoint.schema, d.AdderOf):
        return False
    return endpoint.collection is not None or d.values_list(endpoint.schema) is not None


def find_collection(schema: d.Type | None) -> d.CollectionOf | None:
    """Return the first collection of a schema, depth first through objects; lists and entities are not searched."""
    match schema:
        case d.CollectionOf():
            return schema
        case d.Optional(item) | d.PageOf(item):
            return find_collection(item)
        case d.AdderOf(of):
            return of
        case d.ObjectType(members):
            return next((found for member in members if (found := find_collection(member.type)) is not None), None)
        case _:
            return None


def _root(top: Settings, client: ClientArguments, raw: RawResource) -> d.Endpoint:
    """Return the endpoint from which all endpoints of a resource inherit."""
    own = raw.settings
    body = d.Body("json", raw.schema) if raw.schema is not None else None
    return d.Endpoint(
        name="",
        python="",
        standard=False,
        extends=None,
        written=frozenset(),
        method="GET",
        path=raw.path or parse_path(""),
        url_prefix=first_given(own.url_prefix, top.url_prefix, ""),
        headers=joined_headers(top.headers, own.headers),
        params=(),
        search_params=(),
        body=raw.body if "body" in raw.section else body,
        schema=raw.schema,
        returns=None,
        content=None,
        side_effect=False,
        pagination_field=None,
        pagination=None,
        collection=None,
        options=d.Options(**overlaid(top.options, own.options)),
        optimistic=False,
        cross_origin_body=top.cross_origin_body is True,
        base=own.base or top.base,
        errors=laid_over(laid_over({}, top.errors), own.errors),
        header_params=raw.headers.over(client.made),
        without=client.taken_back(raw.headers),
        search_style=parameter_styles.laid_over(parameter_styles.laid_over(d.NO_STYLES, top.styles), own.styles),
        auth=nearest_auth(None, own.auth),
        request=laid_on(laid_on(d.Request(), top.request), own.request),
        response=laid_on(laid_on(d.Response(), top.response), own.response),
        place=raw.key.place,
    )


def _bases(written: Mapping[str, RawEndpoint], standard: Mapping[str, ResolvedEndpoint]) -> Bases:
    """Return the order in which added endpoints are resolved, with unknown bases and cycles."""
    added = {name: own for name, own in written.items() if name not in standard and own.is_added}
    extended = {name: own.extends for name, own in added.items() if own.extends is not None}
    bases = {name: base for name, base in extended.items() if base in added or base in standard}
    order: dict[str, None] = {}
    circles: list[tuple[str, ...]] = []
    for name in added:
        chain = [name]
        while (base := bases.get(chain[-1])) in added and base not in order and base not in chain:
            chain.append(base)
        if base in chain:
            circle = tuple(chain[chain.index(base) :])
            circles.append(circle)
            for member in circle:
                bases.pop(member)
        order |= dict.fromkeys(reversed(chain))
    unknown = tuple(name for name in extended if extended[name] not in added and extended[name] not in standard)
    return Bases(bases, tuple(order), unknown, tuple(circles))


@dataclasses.dataclass(slots=True)
class _Resolver:
    """Resolver of the endpoints of one resource."""

    tables: Declarations
    client: ClientArguments
    raw: RawResource
    root: ResolvedEndpoint

    def __init__(self, tables: Declarations, client: ClientArguments, raw: RawResource, root: d.Endpoint) -> None:
        self.tables = tables
        self.client = client
        self.raw = raw
        self.root = ResolvedEndpoint(root, self._unwritten(""), root.request, InheritedResponse(root.response))

    def _unwritten(self, name: str) -> RawEndpoint:
        """Return the raw form of an endpoint that the spec does not declare."""
        section = ParsedSection("endpoint", defaults("endpoint"), {}, {})
        return RawEndpoint(name, Subject(f"endpoint '{name}'", self.raw.what), self.raw.key, section)

    # ------------------------------------------------------------------------------------------------ standard members

    def standard(self) -> dict[str, ResolvedEndpoint]:
        """Return the existing standard members, including list operations."""
        raw, root = self.raw, self.root.endpoint
        found: dict[str, ResolvedEndpoint] = {}
        assert raw.schema is not None
        if self._is_wanted("get"):
            found["get"] = self._build("get", self.root, root)
        if self._is_wanted("get_list"):
            found["get_list"] = self._get_list()
            found |= found["get_list"].operations
            if "push" in found:
                found["create"] = self._build("create", found["push"], found["push"].endpoint)
        for name, method in (("update", "PUT"), ("partial_update", "PATCH")):
            if self._is_wanted(name):
                body = self._partial(root.body) if name == "partial_update" else root.body
                start = dataclasses.replace(root, method=method, side_effect=True, optimistic=raw.optimistic, body=body)
                built = self._build(name, self.root, start)
                if name == "partial_update":
                    endpoint = dataclasses.replace(built.endpoint, body=self._lenient(built.endpoint.body))
                    built = dataclasses.replace(built, endpoint=endpoint)
                found[name] = built
        if self._is_wanted("delete"):
            schema = d.InvalidateOf(raw.schema)
            start = dataclasses.replace(
                root, method="DELETE", side_effect=True, schema=schema, optimistic=raw.optimistic
            )
            found["delete"] = self._build("delete", self.root, start)
        return found

    def _is_wanted(self, name: str) -> bool:
        members = self.raw.members
        return name not in d.NOT_BY_DEFAULT if members is None else name in members

    def _get_list(self) -> ResolvedEndpoint:
        raw, root = self.raw, self.root.endpoint
        assert raw.schema is not None
        wires = raw.non_filter_wires(raw.search_params, self.tables.wire)
        collection = d.CollectionOf(d.ListOf(raw.schema), (), wires, raw.collection, follow=raw.follow)
        start = dataclasses.replace(
            root,
            name="get_list",
            path=parse_path(list_path(root.path.text)),
            schema=collection,
            search_params=raw.search_params,
            pagination_field=page_field(
                self.tables, raw.pagination_field, raw.search_params, place=_place_of_page(raw.section, d.NOWHERE)
            ),
        )
        built = self._build("get_list", dataclasses.replace(self.root, pagination=raw.pagination), start)
        listing = built.endpoint
        if listing.schema == collection:
            # Search parameters of the list may change the JSON names of non-filter arguments.
            wires = raw.non_filter_wires(listing.search_params, self.tables.wire)
            collection = dataclasses.replace(collection, non_filter_arguments=wires)
            listing = dataclasses.replace(listing, schema=collection, collection=collection)
            listing = dataclasses.replace(listing, exact_filters=exact_filters(self.tables, listing))
        fitting = list_operations(listing, is_item=raw.is_item)
        named = built.raw.members or raw.members
        usual = [name for name in fitting if name not in d.NOT_BY_DEFAULT]
        return self._with_operations(
            dataclasses.replace(built, endpoint=listing),
            usual if named is None else [name for name in named if name in fitting],
        )

    def _with_operations(self, built: ResolvedEndpoint, names: Sequence[str]) -> ResolvedEndpoint:
        operations = {name: self._operation(name, built) for name in d.EXTENDERS if name in names}
        return dataclasses.replace(built, operations=operations)

    def _operation(self, name: str, of: ResolvedEndpoint) -> ResolvedEndpoint:
        """Return `push`, `unshift`, `assign`, `get_page`, `move` or `remove` of a list."""
        listing = of.endpoint
        if name == "get_page":
            assert listing.schema is not None
            start = dataclasses.replace(listing, schema=d.PageOf(listing.schema), returns=None, optimistic=False)
        else:
            assert listing.collection is not None
            is_item = name in d.NOT_BY_DEFAULT
            body = self._item_body(listing)
            start = dataclasses.replace(
                listing,
                method="PATCH" if is_item else "POST",
                path=self.root.endpoint.path if is_item else self._path_of_additions(listing),
                side_effect=True,
                schema=d.AdderOf(listing.collection, cast("d.Adder", name)),
                search_params=self._filters(listing),
                body=self._lenient(self._partial(body)) if is_item else body,
                send_body=False,
                returns=None,
                pagination_field=None,
                pagination=None,
                optimistic=self.raw.optimistic and listing.standard and name in ("push", "unshift"),
            )
        # Declarations for `push` and other operations apply to `get_list`, not to added lists.
        if listing.standard:
            # `unshift` sends the request of `push`.
            pushed = self.raw.endpoints.get("push") if name == "unshift" else None
            return self._build(name, of, start, own=self.raw.endpoints.get(name) or pushed)
        return self._build(name, of, start, own=self._unwritten(name), with_example=False)

    def _filters(self, listing: d.Endpoint) -> tuple[d.Field, ...]:
        """Return the search parameters of list operations: the filters of the list, sent only if a call gives them."""
        apart = set(self.raw.non_filter_wires(listing.search_params, self.tables.wire))
        if listing.page_param is not None:
            apart.add(listing.page_param.wire)
        return tuple(
            field if field.default is d.MISSING else _without_default(field)
            for field in listing.search_params
            if field.wire not in apart
        )

    def _path_of_additions(self, listing: d.Endpoint) -> d.Path:
        """Return the path for new items: the path of the list, except for a `get_list` that is read by POST."""
        is_read_by_post = listing.request.in_key and listing.standard
        return parse_path(list_path(self.root.endpoint.path.text)) if is_read_by_post else listing.path

    def _item_body(self, listing: d.Endpoint) -> d.Body | None:
        """Return the body of list operations: by default an item of the collection.

        A body that selects the list is not an item.
        """
        assert listing.collection is not None
        item = listing.collection.of.item
        if listing.request.in_key:
            body = self.root.endpoint.body
            return body if body != d.Body("json", self.raw.schema) else d.Body("json", item)
        is_written = listing.has_body or listing.body != d.Body("json", self.raw.schema)
        return listing.body if is_written or not isinstance(item, d.EntityRef | d.UnionOf) else d.Body("json", item)

    def _partial(self, body: d.Body | None) -> d.Body | None:
        """Return the body of `partial_update`: every field of a mapping may be absent."""
        members = self.raw.members
        named = MEMBERS if members is None else tuple(members)
        if body is None or not isinstance(body.type, d.ObjectType) or "partial_update" not in named:
            return body
        return d.Body(body.kind, d.ObjectType(body.type.members, partial_body_name(self.raw)), partial=True)

    def _lenient(self, body: d.Body | None) -> d.Body | None:
        """Return the body of `partial_update` for an entity: fields that other bodies require are optional."""
        if body is None or not isinstance(body.type, d.EntityRef | d.UnionOf):
            return body
        entities = (self.tables.entities.get(one) for one in d.entities_in(body.type))
        must = any(field.must for entity in entities if entity is not None for field in entity.all_fields)
        return dataclasses.replace(body, partial=True) if must else body

    # --------------------------------------------------------------------------------------------------- added members

    def added(self, own: RawEndpoint, base: ResolvedEndpoint) -> ResolvedEndpoint:
        """Return an added endpoint."""
        built = self._build(own.name, base, base.endpoint, own=own, standard=False)
        fits_item = self.raw.is_item and own.members is not None
        fitting = list_operations(built.endpoint, is_item=fits_item)
        if own.members is not None:
            fitting = tuple(name for name in own.members if name in fitting)
        elif self.raw.schema is None:
            fitting = tuple(name for name in fitting if name == "get_page")
        return self._with_operations(built, fitting)

    # ----------------------------------------------------------------------------------------------------- one endpoint

    def _build(
        self,
        name: str,
        base: ResolvedEndpoint,
        start: d.Endpoint,
        *,
        own: RawEndpoint | None = None,
        standard: bool = True,
        with_example: bool = True,
    ) -> ResolvedEndpoint:
        """Build an endpoint from its declaration and the one that it inherits from; `start` has different defaults."""
        own = own or self.raw.endpoints.get(name) or self._unwritten(name)
        section, settings = own.section, own.settings
        path = own.path or start.path
        method, side_effect = self._method(own, start, is_first=base is self.root and not standard)
        schema = own.schema if "schema" in section else start.schema
        returns = start.returns if "schema" not in section else None
        request = laid_on(base.request, settings.request)
        response = base.response
        if isinstance(schema, d.AdderOf) and name in d.EXTENDERS and start.name not in d.EXTENDERS:
            response = response.for_changes_of_list(self.root.endpoint.response)
        response = response.with_own(settings.response)
        endpoint = d.Endpoint(
            name=name,
            python=python_name(name, "endpoint"),
            standard=standard,
            extends=None if standard or base is self.root else base.endpoint.name,
            written=frozenset(section.entries),
            method=method,
            path=path,
            url_prefix=first_given(settings.url_prefix, start.url_prefix),
            headers=joined_headers(start.headers, settings.headers),
            params=self._path_params(own, path, start),
            search_params=search_params(own, path, start),
            body=own.body if "body" in section else start.body,
            send_body=method in d.BODILESS and (own.body is not None if "body" in section else start.send_body),
            schema=schema,
            returns=own.returns if "returns" in section else returns,
            content=section["content"] or start.content,
            side_effect=side_effect,
            pagination_field=None,
            pagination=None,
            collection=find_collection(schema),
            options=self._options(own, start, schema),
            optimistic=start.optimistic,
            base=start.base,
            follow_see_other=(
                start.follow_see_other if section["follow_see_other"] is None else section["follow_see_other"]
            ),
            process=section["process"] or start.process,
            update=section["update"] or start.update,
            get_optimistic_response=section["get_optimistic_response"] or start.get_optimistic_response,
            cross_origin_body=(
                start.cross_origin_body if settings.cross_origin_body is None else settings.cross_origin_body
            ),
            errors=laid_over(start.errors, settings.errors),
            header_params=own.headers.over(start.header_params),
            without=self._without(own, path, start),
            search_style=parameter_styles.laid_over(start.search_style, settings.styles),
            auth=nearest_auth(start.auth, settings.auth),
            response=response.effective(schema),
            expires=written_expires(section) if "expires" in section else start.expires,
            description=section["description"],
            deprecated=section["deprecated"],
            example=self.raw.examples.get(name) if with_example else None,
            place=own.key.place,
            places=section.places,
        )
        effective = effective_request(request, endpoint)
        body = styled_body(endpoint.body, effective.style)
        if effective != d.Request() or body is not endpoint.body:
            endpoint = dataclasses.replace(endpoint, request=effective, body=body)
        pagination = own.pagination or base.pagination
        endpoint = self._paged(endpoint, own, start, pagination)
        kept = pagination if endpoint.pagination is not None else None
        return ResolvedEndpoint(endpoint, own, request, response, kept)

    def _method(self, own: RawEndpoint, start: d.Endpoint, *, is_first: bool) -> tuple[str, bool]:
        """Return the method, and whether a call has a side effect.

        A mutation without an inherited method (`is_first`) is a POST; an endpoint with a method has a side effect
        unless it is GET.
        """
        written, side_effect = own.section["method"], own.section["side_effect"]
        if written is not None:
            method = written.upper()
            return method, method != "GET" if side_effect is None else side_effect
        method = "POST" if side_effect and is_first else start.method
        return method, start.side_effect if side_effect is None else side_effect

    def _path_params(self, own: RawEndpoint, path: d.Path, start: d.Endpoint) -> tuple[d.Field, ...]:
        known = {field.name: field for field in (*self.raw.params, *start.params, *own.params)}
        declared = {field.name for field in (*self.raw.params, *own.params)} | {
            field.name for field in start.params if field.of or not isinstance(field.type, d.AnyOf | d.Optional)
        }
        found: list[d.Field] = []
        for parameter in path.parameters:
            name = parameter.name
            if name in declared:
                field = known[name]
                if field.type == OF_FIELD:
                    field = dataclasses.replace(field, type=self._param_type(field.of))
            else:
                field = d.Field(name, python_name(name, "parameter"), name, self._param_type(name), place=own.key.place)
            if parameter.optional and not isinstance(field.type, d.Optional):
                field = dataclasses.replace(field, type=d.Optional(field.type))
            found.append(field)
        return tuple(found)

    def _param_type(self, name: str) -> d.Type:
        """Return the types of the fields with this name in the resource's entities; `str | int` if none is usable."""
        tables = self.tables
        found: dict[d.Type, None] = {}
        for entity in () if self.raw.schema is None else type_info(self.raw.schema).entities:
            fields = tables.entities[entity].all_fields if entity in tables.entities else ()
            through = path_to(tables.objects, fields, name)
            if not through:
                continue
            known = type_info(through[-1].type)
            if not known.in_path:
                return ANY_TEXT
            found[known.bare] = None
        return d.AnyOf(tuple(found)) if len(found) > 1 else next(iter(found), ANY_TEXT)

    def _without(self, own: RawEndpoint, path: d.Path, start: d.Endpoint) -> tuple[str, ...]:
        """Return the client arguments that are not sent, because the endpoint replaces or resets them."""
        back = self.client.taken_back(own.headers, start.without)
        names = {parameter.name for parameter in path.parameters}
        names |= {field.wire for field in search_params(own, path, start)}
        literal = "".join(part.text if isinstance(part, d.PathText) else "x" for part in path.parts).partition("?")[2]
        names |= {pair.partition("=")[0] for pair in literal.split("&")}
        return tuple(sorted({*back, *(field.wire for field in self.client.search_params if field.wire in names)}))

    def _options(self, own: RawEndpoint, start: d.Endpoint, schema: d.Type | None) -> d.Options:
        """Return the options of an endpoint. `needs` is inherited only for entities that have all of its fields."""
        written = own.settings.options or {}
        options = dataclasses.replace(start.options, **written)
        needs = options.needs
        if isinstance(needs, str) or "needs" in written or schema is None:
            return options
        entities = [self.tables.entities[name] for name in d.entities_in(schema) if name in self.tables.entities]
        fits = all(entity.field(name) is not None for entity in entities for name in needs)
        return options if fits else dataclasses.replace(options, needs="all")

    def _paged(
        self, endpoint: d.Endpoint, own: RawEndpoint, start: d.Endpoint, written: WrittenPagination | None
    ) -> d.Endpoint:
        """Add pagination, declared or inherited, and exact filters to an endpoint whose schema has a list."""
        if not has_pages(endpoint):
            return endpoint
        inherited = start.pagination_field
        name = own.section["pagination_field"] or (None if inherited is None else inherited.name)
        place = _place_of_page(own.section, d.NOWHERE if inherited is None else inherited.place)
        in_body = written is not None and written.in_body
        known = body_members(self.tables, endpoint) if in_body else endpoint.search_params
        field = page_field(self.tables, name, known, written, endpoint, place=place)
        pagination = None if written is None else resolve_pagination(self.tables, written, endpoint)
        if field is not None or pagination is not None:
            endpoint = dataclasses.replace(endpoint, pagination_field=field, pagination=pagination)
        filters = exact_filters(self.tables, endpoint)
        return endpoint if filters is None else dataclasses.replace(endpoint, exact_filters=filters)


def _place_of_page(section: ParsedSection, inherited: Place) -> Place:
    """Return the place of the name of the parameter for the page."""
    node = section.node("pagination_field")
    return inherited if node is None else node.place


def search_params(own: RawEndpoint, path: d.Path, start: d.Endpoint) -> tuple[d.Field, ...]:
    """Return the search parameters of an endpoint: its own, else the inherited ones that are not in its path."""
    if "search_params" in own.section:
        return own.search_params
    in_path = {parameter.name for parameter in path.parameters}
    return tuple(field for field in start.search_params if field.wire not in in_path)


def partial_body_name(raw: RawResource) -> str:
    """Return the type name of `partial_update` bodies if the resource declares a body."""
    return f"{raw.class_name}PartialUpdateBody"


def _without_default(field: d.Field) -> d.Field:
    type = field.type if isinstance(field.type, d.Optional) else d.Optional(field.type)
    return dataclasses.replace(field, type=type, default=d.MISSING)
