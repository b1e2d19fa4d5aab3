"""The endpoints of one resource: what each inherits, and whether it holds together."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, cast

from restencil_generator.diagnostics.model import Place, Related, circle_text, did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze import parameter_styles
from restencil_generator.spec.analyze.arguments import ClientArguments
from restencil_generator.spec.analyze.endpoint_rules import check_endpoint
from restencil_generator.spec.analyze.entity_fields import check_body_fields, check_param_fields, exact_filters
from restencil_generator.spec.analyze.expires import written_expires
from restencil_generator.spec.analyze.fields import OF_FIELD
from restencil_generator.spec.analyze.freshness import check_needs
from restencil_generator.spec.analyze.pagination import (
    ANY_TEXT,
    WrittenPagination,
    body_members,
    check_in_body,
    page_field,
    resolved_pagination,
)
from restencil_generator.spec.analyze.raw_endpoint import RawEndpoint
from restencil_generator.spec.analyze.request_response import EffectiveSettings, styled_body
from restencil_generator.spec.analyze.settings import first_given, joined_headers, nearest_auth
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.error_classes import laid_over
from restencil_generator.spec.grammar.key_checks import MEMBERS
from restencil_generator.spec.grammar.keys import defaults
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.names import python_name
from restencil_generator.spec.path_template import list_path, parse_path, route
from restencil_generator.spec.source.nodes import Node, ScalarNode
from restencil_generator.spec.type_info import facts, path_to


class Owner(Protocol):
    """The resource whose endpoints they are."""

    types: Types
    client: ClientArguments
    what: Subject
    key: ScalarNode
    class_name: str
    given: ParsedSection
    custom_collection: d.Reference | None
    follow: bool
    non_filter: list[tuple[str, Node]]

    def non_filter_wires(self, search_params: tuple[d.Field, ...]) -> tuple[str, ...]:
        """The wire names of its non-filter arguments."""
        ...

    def unknown_parameter(self, field: d.Field, what: Subject, known: set[str]) -> None:
        """Notes a path parameter that no path has."""
        ...


@dataclasses.dataclass(slots=True)
class Family:
    """The endpoints of one resource: what each inherits, and from which."""

    resource: Owner
    root: d.Endpoint
    schema: d.EntityRef | d.UnionOf | None
    params: tuple[d.Field, ...]
    search_params: tuple[d.Field, ...]
    pagination_field: str | None
    pagination: WrittenPagination | None
    optimistic: bool
    members: dict[str, Node] | None
    written: dict[str, RawEndpoint]
    examples: dict[str, d.Example]
    is_item: bool = True
    """Whether the resource's path is that of one item of a list."""
    is_partial_named: bool = False
    """Whether the type of bodies of which any part will do has its name."""
    existing: tuple[str, ...] = ()
    clashes: set[Place] = dataclasses.field(default_factory=set[Place])
    said: EffectiveSettings = dataclasses.field(default_factory=EffectiveSettings)
    paginations: dict[str, WrittenPagination | None] = dataclasses.field(
        default_factory=dict[str, "WrittenPagination | None"]
    )

    @property
    def types(self) -> Types:
        """The reader of types, which collects the problems."""
        return self.resource.types

    def endpoints(self) -> dict[str, d.Endpoint]:
        """All endpoints that exist: the standard ones in their order, then the added ones as they are written."""
        standard = self._standard() if self.schema is not None else {}
        added = self._added(standard)
        for name, own in self.written.items():
            if name not in standard and name not in added:
                self._left_out(own)
        self._unknown_examples({*standard, *added})
        found = {name: standard[name] for name in d.STANDARD if name in standard}
        found |= {name: added[name] for name in self.written if name in added}
        return {name: _styled(endpoint) for name, endpoint in found.items()}

    # ------------------------------------------------------------------------------------------------ standard members

    def _standard(self) -> dict[str, d.Endpoint]:
        """The standard members that exist, extenders included."""
        found: dict[str, d.Endpoint] = {}
        root = self.root
        assert self.schema is not None
        if self._wanted("get"):
            found["get"] = self._build("get", root)
        if self._wanted("get_list"):
            self._lists(found)
        for name, method in (("update", "PUT"), ("partial_update", "PATCH")):
            if self._wanted(name):
                body = self._partial(root.body) if name == "partial_update" else root.body
                base = dataclasses.replace(root, method=method, side_effect=True, optimistic=self.optimistic, body=body)
                built = self._build(name, base)
                found[name] = dataclasses.replace(built, body=self._lenient(name, built.body))
        if self._wanted("delete"):
            schema = d.InvalidateOf(self.schema)
            base = dataclasses.replace(
                root, method="DELETE", side_effect=True, schema=schema, optimistic=self.optimistic
            )
            found["delete"] = self._build("delete", base)
        order = ("get", "get_list", *d.EXTENDERS, "update", "partial_update", "delete")
        self.existing = tuple(name for name in order if name in found)
        return found

    def _wanted(self, name: str) -> bool:
        return name not in d.ASKED_FOR if self.members is None else name in self.members

    def _lists(self, found: dict[str, d.Endpoint]) -> None:
        """Adds `get_list`, what hangs on it, and `create`."""
        resource = self.resource
        assert self.schema is not None
        collection = d.CollectionOf(
            d.ListOf(self.schema),
            (),
            resource.non_filter_wires(self.search_params),
            resource.custom_collection,
            follow=resource.follow,
        )
        base = dataclasses.replace(
            self.root,
            name="get_list",
            path=parse_path(list_path(self.root.path.text)),
            schema=collection,
            search_params=self.search_params,
            pagination_field=page_field(self.types, self.pagination_field, self.search_params),
        )
        self.paginations["get_list"] = self.pagination
        listing = self._build("get_list", base)
        if listing.schema == collection:
            # The list's own search parameters say how non-filter arguments are called in JSON.
            told = dataclasses.replace(
                collection, non_filter_arguments=resource.non_filter_wires(listing.search_params)
            )
            listing = dataclasses.replace(listing, schema=told, collection=told)
            listing = dataclasses.replace(listing, exact_filters=exact_filters(self.types, listing))
        named = self._named(listing) or self.members
        if named is None:
            named = {}
            hanging = [name for name in self._fitting(listing) if name not in d.ASKED_FOR]
        else:
            hanging = self._that_fit(named, listing, self.resource.what)
        extenders = {name: self._extender(name, listing) for name in d.EXTENDERS if name in hanging}
        found |= extenders
        found["get_list"] = dataclasses.replace(listing, extenders=extenders)
        if "push" in extenders:
            found["create"] = self._build("create", extenders["push"])
        self._check_non_filter(listing)

    def _named(self, listing: d.Endpoint) -> dict[str, Node] | None:
        """What the spec says hangs on this very list; None where it says nothing."""
        own = self.written.get(listing.name)
        return dict(own.given["members"]) if own is not None and own.given["members"] is not None else None

    def _that_fit(self, named: Mapping[str, Node], listing: d.Endpoint, owner: Subject) -> list[str]:
        """Those of what is named that fit the list they hang on; others are reported."""
        fitting = self._fitting(listing)
        for name, node in named.items():
            if name in d.EXTENDERS and name not in fitting:
                self._not_fitting(name, listing, owner, node)
        return [name for name in named if name in fitting]

    def _fitting(self, listing: d.Endpoint) -> tuple[str, ...]:
        """Which of `push` and its kin a list can have."""
        fitting = _fitting(listing)
        return (*fitting, *d.ASKED_FOR) if self.is_item and _holds_lists(listing) else fitting

    def _extender(self, name: str, listing: d.Endpoint) -> d.Endpoint:
        """`push`, `unshift`, `assign`, `get_page`, `move` or `remove` of a list."""
        if name == "get_page":
            assert listing.schema is not None
            base = dataclasses.replace(listing, schema=d.PageOf(listing.schema), returns=None, optimistic=False)
        else:
            assert listing.collection is not None
            moves = name in d.ASKED_FOR
            body = self._item_body(listing)
            base = dataclasses.replace(
                listing,
                method="PATCH" if moves else "POST",
                path=self.root.path if moves else _path_of_adder(listing, self.root),
                side_effect=True,
                schema=d.AdderOf(listing.collection, cast("d.Adder", name)),
                search_params=self._asked_for(listing),
                body=self._lenient("partial_update", self._partial(body)) if moves else body,
                send_body=False,
                returns=None,
                pagination_field=None,
                pagination=None,
                optimistic=self.optimistic and listing.standard and name in ("push", "unshift"),
            )
        # What the spec writes for `push` and its kin is for those of `get_list`, not of an added list.
        return self._build(name, base, own=self.written.get(name) if listing.standard else None)

    def _asked_for(self, listing: d.Endpoint) -> tuple[d.Field, ...]:
        """The search parameters of what changes a list: those that filter it, sent only where a call gives them."""
        apart = set(self.resource.non_filter_wires(listing.search_params))
        if listing.page_param is not None:
            apart.add(listing.page_param.wire)
        kept = (field for field in listing.search_params if field.wire not in apart)
        return tuple(
            (
                field
                if field.default is d.MISSING
                else dataclasses.replace(
                    field,
                    type=field.type if isinstance(field.type, d.Optional) else d.Optional(field.type),
                    default=d.MISSING,
                )
            )
            for field in kept
        )

    def _item_body(self, listing: d.Endpoint) -> d.Body | None:
        """What is added to a list: where nothing is written, an item of its collection, whatever the resource is of.

        A body by which the list is read is none of its items.
        """
        assert listing.collection is not None
        item = listing.collection.of.item
        if listing.request.in_key:
            return self.root.body if self.root.body != d.Body("json", self.schema) else d.Body("json", item)
        written = listing.has_body or listing.body != d.Body("json", self.schema)
        return listing.body if written or not isinstance(item, d.EntityRef | d.UnionOf) else d.Body("json", item)

    def _not_fitting(self, name: str, listing: d.Endpoint, owner: Subject, node: Node) -> None:
        if listing.collection is None:
            why = f"the schema of {quoted(listing.name)} holds no collection"
        elif name == "get_page":
            why = f"{quoted(listing.name)} has no 'pagination_field'"
        elif name in d.ASKED_FOR and not self.is_item:
            why = "there is no path of an item, which it would change"
        elif name in d.ASKED_FOR:
            why = "the list is a collection of 'values', in which nothing has a place"
        elif isinstance(listing.collection.of, d.ValuesOf):
            why = "the list is a collection of 'values', to which 'assign' adds"
        else:
            why = "the list is no collection of 'values'; 'push' and 'unshift' add to it"
        message = f"the member {quoted(name)} of {owner} does not fit: {why}"
        self.types.report("member-not-fitting", message, node, "remove it")

    def _left_out(self, own: RawEndpoint) -> None:
        types = self.types
        if self.schema is None:
            hint, why = "write its 'path' and 'schema', or choose another name", "is no member of a group"
        elif own.name == "create" or own.name in d.EXTENDERS:
            hint = "add it to 'members'" if self.members is not None and own.name in MEMBERS else ""
            why = "does not exist here" if hint else "does not fit its list"
        else:
            hint, why = "add it to 'members', or choose another name for an endpoint of your own", "is not in 'members'"
            hint += "; one that writes 'path' and 'schema' may have this name"
        message = f"the standard member {quoted(own.name)} of {self.resource.what} {why}, so nothing can override it"
        types.report("member-left-out", message, own.key, hint)

    def _check_non_filter(self, listing: d.Endpoint) -> None:
        fields = (*listing.params, *listing.search_params)
        known = {field.name for field in fields} | {field.python for field in fields}
        for name, node in self.resource.non_filter:
            if name not in known:
                hint = did_you_mean(name, known) or "declare it under 'search_params'"
                message = f"{self.resource.what} has no parameter {quoted(name)} of its list for 'non_filter_arguments'"
                self.types.report("unknown-parameter", message, node, hint)

    def _partial(self, body: d.Body | None) -> d.Body | None:
        """The body of `partial_update`: every field of a mapping may be absent."""
        if body is None or not isinstance(body.type, d.ObjectType) or "partial_update" not in self._names():
            return body
        name = f"{self.resource.class_name}PartialUpdateBody"
        own = self.written.get("partial_update")
        if not self.is_partial_named and (own is None or "body" not in own.given):
            self.is_partial_named = True
            self.types.claim(
                name,
                "typed_dict",
                f"the type of the body of 'partial_update' of {self.resource.what}",
                self.resource.key.place,
                "rename the other one, or use 'class:'",
            )
        return d.Body(body.kind, d.ObjectType(body.type.members, name), partial=True)

    def _lenient(self, name: str, body: d.Body | None) -> d.Body | None:
        """The body of `partial_update` of an entity, of which other bodies must hold some fields: it need not."""
        if name != "partial_update" or body is None or not isinstance(body.type, d.EntityRef | d.UnionOf):
            return body
        entities = (self.types.entities.get(one) for one in d.entities_in(body.type))
        must = any(field.must for entity in entities if entity is not None for field in entity.all_fields)
        return dataclasses.replace(body, partial=True) if must else body

    def _names(self) -> tuple[str, ...]:
        return MEMBERS if self.members is None else tuple(self.members)

    # --------------------------------------------------------------------------------------------------- added members

    def _added(self, standard: Mapping[str, d.Endpoint]) -> dict[str, d.Endpoint]:
        """The added endpoints, each after the one that it extends."""
        found: dict[str, d.Endpoint] = {}
        pending = {name: own for name, own in self.written.items() if name not in standard and _is_own(own)}
        bases: dict[str, str] = {}
        for name, own in pending.items():
            if own.extends is None:
                continue
            if own.extends in pending or own.extends in standard:
                bases[name] = own.extends
            else:
                self._unknown_base(own, (*standard, *pending))
        for name in pending:
            chain = [name]
            while (base := bases.get(chain[-1])) in pending and base not in found and base not in chain:
                assert base is not None
                chain.append(base)
            if base is not None and base in chain:
                circle = chain[chain.index(base) :]
                own = pending[base]
                message = f"{own.what} extends {circle_text(circle)}"
                self.types.report(
                    "extends-cycle",
                    message,
                    own.given.entries["extends"].value,
                    "let one of them extend another member",
                )
                for member in circle:
                    bases.pop(member)
            for member in reversed(chain):
                if member not in found:
                    found[member] = self._added_one(pending[member], bases.get(member), standard, found)
        return found

    def _added_one(
        self, own: RawEndpoint, base: str | None, standard: Mapping[str, d.Endpoint], found: Mapping[str, d.Endpoint]
    ) -> d.Endpoint:
        start = self.root if base is None else standard.get(base) or found[base]
        endpoint = self._build(own.name, start, own=own, standard=False)
        if self.schema is None and base is None and own.path is None and "path" not in own.given:
            self.types.report("missing-key", f"{own.what} needs the key 'path'", own.key, "add 'path: …'")
        named = self._named(endpoint)
        if named is None:
            hanging = list(_fitting(endpoint))
            if self.schema is None:
                hanging = [name for name in hanging if name == "get_page"]
        elif not _has_pages(endpoint):
            message = f"the schema of {own.what} holds no collection that anything could hang on"
            self.types.report("key-not-here", message, own.given.key("members"), "remove it")
            hanging = []
        else:
            hanging = self._that_fit(named, endpoint, own.what)
        extenders = {name: self._extender(name, endpoint) for name in d.EXTENDERS if name in hanging}
        return dataclasses.replace(endpoint, extenders=extenders) if extenders else endpoint

    def _unknown_base(self, own: RawEndpoint, known: tuple[str, ...]) -> None:
        assert own.extends is not None
        name = own.extends.removeprefix("get_list.")
        if name != own.extends and name in d.EXTENDERS:
            hint = f"write {quoted(name)}"
        else:
            hint = did_you_mean(own.extends, known) or f"its members: {', '.join(dict.fromkeys(known))}"
        message = f"{own.what} extends {quoted(own.extends)}, which is no member of {self.resource.what}"
        self.types.report("unknown-endpoint", message, own.given.entries["extends"].value, hint)

    # ----------------------------------------------------------------------------------------------------- one endpoint

    def _build(
        self, name: str, base: d.Endpoint, *, own: RawEndpoint | None = None, standard: bool = True
    ) -> d.Endpoint:
        """An endpoint from the one that it starts from and what the spec writes for it."""
        meant = own is not None or base.standard or name not in d.EXTENDERS
        if own is None and name not in d.EXTENDERS:
            own = self.written.get(name)
        if own is None:
            what = Subject(f"endpoint {quoted(name)}", self.resource.what)
            own = RawEndpoint(name, what, self.resource.key, ParsedSection("endpoint", defaults("endpoint"), {}, {}))
        given = own.given
        if standard and "extends" in given:
            message = f"{own.what} is a standard member, which extends nothing"
            self.types.report("key-not-here", message, given.key("extends"), "remove it, or choose another name")
        path = own.path or base.path
        method, side_effect = self._method(own, base, standard=standard)
        schema = own.schema if "schema" in given else base.schema
        returns = base.returns if "schema" not in given else None
        endpoint = d.Endpoint(
            name=name,
            python=python_name(name, "endpoint"),
            standard=standard,
            extends=None if standard or base is self.root else base.name,
            written=frozenset(given.entries),
            method=method,
            path=path,
            url_prefix=first_given(own.settings.url_prefix, base.url_prefix),
            headers=joined_headers(base.headers, own.settings.headers),
            params=self._path_params(own, path, base),
            search_params=self._search_params(own, path, base),
            body=own.body if "body" in given else base.body,
            send_body=method in d.BODILESS and (own.body is not None if "body" in given else base.send_body),
            schema=schema,
            returns=own.returns if "returns" in given else returns,
            content=given["content"] or base.content,
            side_effect=side_effect,
            pagination_field=None,
            pagination=None,
            collection=find_collection(schema),
            options=_options(self.types, own, base, schema),
            optimistic=base.optimistic,
            base=base.base,
            follow_see_other=base.follow_see_other if given["follow_see_other"] is None else given["follow_see_other"],
            process=given["process"] or base.process,
            update=given["update"] or base.update,
            get_optimistic_response=given["get_optimistic_response"] or base.get_optimistic_response,
            cross_origin_body=(
                base.cross_origin_body if own.settings.cross_origin_body is None else own.settings.cross_origin_body
            ),
            errors=laid_over(base.errors, own.settings.errors),
            header_params=own.headers.over(base.header_params),
            without=self._without(own, path, base),
            search_style=parameter_styles.laid_over(base.search_style, own.settings.styles),
            auth=nearest_auth(base.auth, own.settings.auth),
            response=self.said.response(own, base, schema, self.root, meant=meant),
            expires=written_expires(given) if "expires" in given else base.expires,
            description=given["description"],
            deprecated=given["deprecated"],
            example=self.examples.get(name) if meant else None,
            place=own.key.place,
            places=given.places,
        )
        request = self.said.request(endpoint, own, base, self.root, meant=meant)
        endpoint = dataclasses.replace(endpoint, request=request, body=styled_body(endpoint.body, request.style))
        endpoint = self._paged(endpoint, own, base)
        endpoint = dataclasses.replace(endpoint, exact_filters=exact_filters(self.types, endpoint))
        check_endpoint(self.types, endpoint, own, self.clashes)
        self._check_fields(own, schema)
        return endpoint

    def _check_fields(self, own: RawEndpoint, schema: d.Type | None) -> None:
        """The fields that an endpoint names are those of an entity in its responses, or of the resource's."""
        types = self.types
        schemas = [schema, self.schema]
        check_param_fields(types, own.search_params, own.given.node("search_params"), schemas, "search parameter")
        check_body_fields(types, own.body, own.given.node("body"), schemas)
        names = dict.fromkeys(d.entities_in(schema)) if schema is not None else {}
        entities = [types.entities[name] for name in names if name in types.entities]
        check_needs(types, own.given["options"], entities, own.what, "its schema")

    def _method(self, own: RawEndpoint, base: d.Endpoint, *, standard: bool) -> tuple[str, bool]:
        """The method, and whether a call has a side effect.

        What changes something and inherits no method is a POST; what writes a method has a side effect unless it is
        GET.
        """
        written, side_effect = own.given["method"], own.given["side_effect"]
        if written is not None:
            method = written.upper()
            return method, method != "GET" if side_effect is None else side_effect
        is_first = base is self.root and not standard
        method = "POST" if side_effect and is_first else base.method
        return method, base.side_effect if side_effect is None else side_effect

    def _path_params(self, own: RawEndpoint, path: d.Path, base: d.Endpoint) -> tuple[d.Field, ...]:
        known = {field.name: field for field in (*self.params, *base.params, *own.params)}
        declared = {field.name for field in (*self.params, *own.params)} | {
            field.name for field in base.params if field.of or not isinstance(field.type, d.AnyOf | d.Optional)
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
        names = {parameter.name for parameter in path.parameters}
        check_param_fields(self.types, own.params, own.given.node("params"), [self.schema, own.schema])
        for field in own.params:
            if field.name not in names:
                self.resource.unknown_parameter(field, own.what, names)
        return tuple(found)

    def _param_type(self, name: str) -> d.Type:
        """The type of the field of the same name, of each of the resource's entities that has one; `str | int` where
        none is known, or none that a path can hold.
        """
        found: dict[d.Type, None] = {}
        for entity in () if self.schema is None else facts(self.schema).entities:
            fields = self.types.entities[entity].all_fields if entity in self.types.entities else ()
            through = path_to(self.types.objects, fields, name)
            if not through:
                continue
            known = facts(through[-1].type)
            if not known.in_path:
                return ANY_TEXT
            found[known.bare] = None
        return d.AnyOf(tuple(found)) if len(found) > 1 else next(iter(found), ANY_TEXT)

    def _without(self, own: RawEndpoint, path: d.Path, base: d.Endpoint) -> tuple[str, ...]:
        """What the client gives all requests, and not those of this endpoint: what it has itself, or takes back."""
        client = self.resource.client
        back = client.taken_back(own.headers, base.without)
        names = {parameter.name for parameter in path.parameters}
        names |= {field.wire for field in self._search_params(own, path, base, quietly=True)}
        literal = "".join(part.text if isinstance(part, d.PathText) else "x" for part in path.parts).partition("?")[2]
        names |= {pair.partition("=")[0] for pair in literal.split("&")}
        return tuple(sorted({*back, *(field.wire for field in client.search_params if field.wire in names)}))

    def _search_params(
        self, own: RawEndpoint, path: d.Path, base: d.Endpoint, *, quietly: bool = False
    ) -> tuple[d.Field, ...]:
        in_path = {parameter.name for parameter in path.parameters}
        if "search_params" not in own.given:
            return tuple(field for field in base.search_params if field.wire not in in_path)
        for field in own.search_params:
            if field.wire in in_path and not quietly:
                message = f"the search parameter {quoted(field.name)} of {own.what} is already a parameter of its path"
                self.types.report("parameter-clash", message, field.place, "rename or remove it")
        return own.search_params

    def _paged(self, endpoint: d.Endpoint, own: RawEndpoint, base: d.Endpoint) -> d.Endpoint:
        """An endpoint with its pagination, its own or an inherited one where the schema holds a list."""
        types = self.types
        written = own.pagination or self.paginations.get(base.name)
        if not _has_pages(endpoint):
            for key in ("pagination_field", "pagination"):
                if key in own.given:
                    message = f"the schema of {own.what} holds no collection, and is no list of plain values"
                    types.report(
                        "pagination-without-collection",
                        message,
                        own.given.key(key),
                        "remove it, or write {collection: [Entity]} in the schema",
                    )
            return endpoint
        inherited = base.pagination_field.name if base.pagination_field is not None else None
        name = own.given["pagination_field"] or inherited
        in_body = written is not None and written.in_body
        known = body_members(types, endpoint) if in_body else endpoint.search_params
        field = page_field(types, name, known, written, endpoint)
        self.paginations[endpoint.name] = written
        node = own.given.node("pagination_field") or self.resource.given.node("pagination_field")
        if field is not None and node is not None and not in_body:
            self._check_page_field(field, endpoint, own, node)
        pagination: d.Pagination | None = None
        if written is not None:
            if field is None and written.remove_cursor is None and (own.pagination or endpoint.name == "get_list"):
                message = f"{own.what} has 'pagination' but no 'pagination_field', the parameter that names the page"
                holder = own.given if "pagination" in own.given else self.resource.given
                types.report("missing-key", message, holder.key("pagination"), "add 'pagination_field: …'")
            strict = own.pagination is not None or endpoint.name == "get_list"
            if strict and written.in_body:
                check_in_body(types, written, field, endpoint, own.what, node or written.key)
            pagination = resolved_pagination(types, written, endpoint, own.what, strict=strict)
        return dataclasses.replace(endpoint, pagination_field=field, pagination=pagination)

    def _check_page_field(self, field: d.Field, endpoint: d.Endpoint, own: RawEndpoint, node: Node) -> None:
        in_path = [parameter.name for parameter in endpoint.path.parameters]
        if field.name in in_path or field.wire in in_path:
            message = f"the pagination field {quoted(field.name)} of {own.what} is also a parameter of its path"
            self.types.report("parameter-clash", message, node, "rename one of them")

    def _unknown_examples(self, names: set[str]) -> None:
        for name, example in self.examples.items():
            if name not in names:
                hint = did_you_mean(name, names) or f"its members: {', '.join(sorted(names))}"
                message = f"'examples' of {self.resource.what} names {quoted(name)}, which is no member of it"
                self.types.report("unknown-endpoint", message, example.place, hint)


def _styled(endpoint: d.Endpoint) -> d.Endpoint:
    """An endpoint whose search parameters have the styles that count for them."""
    found = tuple(parameter_styles.styled(field, endpoint.search_style) for field in endpoint.search_params)
    extenders = {name: _styled(one) for name, one in endpoint.extenders.items()}
    return dataclasses.replace(endpoint, search_params=found, extenders=extenders)


def keep_lists_apart(resources: Mapping[str, d.Resource], entities: Mapping[str, d.Entity]) -> dict[str, d.Resource]:
    """Lists of one kind that have the same arguments at different places are different lists.

    One of them is the list of its kind: of those that are a `get_list`, the one in whose resource the entity stands,
    else the one with the shortest path. All others are kept apart by their places.
    """
    kinds: dict[Any, list[tuple[bool, bool, int, str, str]]] = {}
    for name, resource in resources.items():
        for member, endpoint in resource.endpoints.items():
            if endpoint.collection is not None and not isinstance(endpoint.schema, d.AdderOf):
                of = [entities[entity].resource for entity in d.entities_in(endpoint.collection) if entity in entities]
                text = endpoint.path.text
                rank = member != "get_list", of != [name], len(text), text, endpoint.url_prefix
                kinds.setdefault(_kind_of_list(endpoint, entities), []).append(rank)
    places = {kind: min(found)[3:] for kind, found in kinds.items()}

    def kept(resource: d.Resource, endpoint: d.Endpoint) -> d.Endpoint:
        listing = endpoint if not isinstance(endpoint.schema, d.AdderOf) else resource.endpoints.get("get_list")
        if listing is None or listing.collection is None:
            return endpoint
        text, prefix = places[_kind_of_list(listing, entities)]
        if (listing.path.text, listing.url_prefix) == (text, prefix):
            return endpoint
        apart = listing.path.text if listing.path.text != text else listing.url_prefix + text
        extenders = {
            name: dataclasses.replace(one, schema=_apart(one.schema, apart)) for name, one in endpoint.extenders.items()
        }
        return dataclasses.replace(endpoint, schema=_apart(endpoint.schema, apart), extenders=extenders)

    return {
        name: dataclasses.replace(
            resource, endpoints={member: kept(resource, endpoint) for member, endpoint in resource.endpoints.items()}
        )
        for name, resource in resources.items()
    }


def _kind_of_list(endpoint: d.Endpoint, entities: Mapping[str, d.Entity]) -> Any:
    """What lists have in common that are one list where their arguments are equal; None for what is no list."""
    collection = endpoint.collection
    if collection is None:
        return None
    names = d.entities_in(collection)
    tables = tuple(entities[name].key if name in entities else name for name in names)
    return type(collection.of), tables, frozenset(parameter.name for parameter in endpoint.path.parameters)


def _apart(schema: d.Type | None, place: str) -> Any:
    """A schema whose lists are kept apart from others by a place."""
    match schema:
        case d.CollectionOf():
            return dataclasses.replace(schema, apart=place)
        case d.Optional(item) | d.PageOf(item):
            return type(schema)(_apart(item, place))
        case d.AdderOf(of):
            return dataclasses.replace(schema, of=_apart(of, place))
        case d.ObjectType(members):
            inner = tuple(dataclasses.replace(member, type=_apart(member.type, place)) for member in members)
            return dataclasses.replace(schema, members=inner)
        case _:
            return schema


def find_collection(schema: d.Type | None) -> d.CollectionOf | None:
    """The first collection of a schema, depth first through objects; lists and entities are not searched."""
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


def _options(types: Types, own: RawEndpoint, base: d.Endpoint, schema: d.Type | None) -> d.Options:
    """The options of an endpoint. Fields under `needs` are inherited only for entities that have all of them."""
    written = own.settings.options or {}
    options = dataclasses.replace(base.options, **written)
    needs = options.needs
    if isinstance(needs, str) or "needs" in written or schema is None:
        return options
    entities = [types.entities[name] for name in d.entities_in(schema) if name in types.entities]
    fits = all(entity.field(name) is not None for entity in entities for name in needs)
    return options if fits else dataclasses.replace(options, needs="all")


def _is_own(own: RawEndpoint) -> bool:
    """Whether an endpoint that is no member of its resource is one of the spec's own.

    One that is called like a standard member says where it is and what it answers.
    """
    if (own.name in d.STANDARD or own.name in d.EXTENDERS) and own.name not in d.ASKED_FOR:
        return own.path is not None and "schema" in own.given
    return True


def _holds_lists(listing: d.Endpoint) -> bool:
    """Whether the collection of an endpoint is a list, whose members have a place in it."""
    if listing.collection is None or isinstance(listing.schema, d.AdderOf | d.PageOf):
        return False
    return isinstance(listing.collection.of, d.ListOf)


def _path_of_adder(listing: d.Endpoint, root: d.Endpoint) -> d.Path:
    """Where members of a list are created: at the list, but not at the path of a `get_list` that is read by POST."""
    is_read_by_post = listing.request.in_key and listing.standard
    return parse_path(list_path(root.path.text)) if is_read_by_post else listing.path


def _has_pages(endpoint: d.Endpoint) -> bool:
    """Whether the response of an endpoint is or has a list that may come in pages."""
    if isinstance(endpoint.schema, d.AdderOf):
        return False
    return endpoint.collection is not None or d.values_list(endpoint.schema) is not None


def _fitting(listing: d.Endpoint) -> tuple[str, ...]:
    """Which of `push`, `unshift`, `assign`, `get_page` an endpoint can have."""
    if not _has_pages(listing) or isinstance(listing.schema, d.PageOf):
        return ()
    adders: tuple[str, ...] = ()
    if listing.collection is not None:
        adders = ("assign",) if isinstance(listing.collection.of, d.ValuesOf) else ("push", "unshift")
    paged = listing.pagination_field is not None or (
        listing.pagination is not None and listing.pagination.remove_cursor is not None
    )
    return (*adders, "get_page") if paged else adders


def check_requests(types: Types, resources: Mapping[str, d.Resource]) -> None:
    """Reports reading endpoints that would share one cache entry but differ in schema."""
    seen: dict[object, tuple[str, d.Endpoint]] = {}
    for resource in resources.values():
        for endpoint in resource.endpoints.values():
            if endpoint.side_effect:
                continue
            request = (endpoint.method, endpoint.url_prefix, route(endpoint.path))
            what = f"{quoted(endpoint.name)} of resource {quoted(resource.name)}"
            other_what, other = seen.setdefault(request, (what, endpoint))
            if _shape(other.schema) != _shape(endpoint.schema):
                types.report(
                    "same-request",
                    f"{what} and {other_what} read {endpoint.method} {endpoint.path.text} with different schemas, "
                    "and would share one cache entry",
                    endpoint.place,
                    "give one of them another path, or both the same schema",
                    [Related(other.place, "the other one")],
                )


def _shape(schema: d.Type | None) -> d.Type | None:
    """What a schema stores under its key: collections of the same items are alike, whatever their arguments."""
    if isinstance(schema, d.CollectionOf):
        return d.CollectionOf(schema.of)
    if isinstance(schema, d.ObjectType):
        members = [dataclasses.replace(member, type=cast("d.Type", _shape(member.type))) for member in schema.members]
        return d.ObjectType(tuple(members), schema.name)
    return schema
