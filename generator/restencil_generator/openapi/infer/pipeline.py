"""The pipeline of inference: names, entities, resources, shared settings.

Steps: `resources` analyzes the paths, `names` names the results, and `schema_types` converts schemas to types. This
module builds the spec: entities first, then each resource, then the settings that most of them share.
"""

from __future__ import annotations

import dataclasses
import functools
import keyword
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from restencil_generator.openapi.document.containment import contained
from restencil_generator.openapi.document.model import Document, Finding, LeftOut, Operation, Where
from restencil_generator.openapi.infer import hoist
from restencil_generator.openapi.infer.auth_servers import servers_of, variables_of
from restencil_generator.openapi.infer.calls import Call
from restencil_generator.openapi.infer.context import Endpoint, ImportContext
from restencil_generator.openapi.infer.endpoints import Endpoints
from restencil_generator.openapi.infer.entities import EntityTable
from restencil_generator.openapi.infer.examples import Examples
from restencil_generator.openapi.infer.item_paths import Paths
from restencil_generator.openapi.infer.names.endpoints import identity_of, name_endpoints, name_resources, once
from restencil_generator.openapi.infer.names.inflection import pascal_case, singular, snake_case
from restencil_generator.openapi.infer.names.types import member_names, type_names
from restencil_generator.openapi.infer.previous_choices import NOTHING, PreviousChoices
from restencil_generator.openapi.infer.resources import Entity, KeyCounts, Own, Resource
from restencil_generator.openapi.infer.schema_usage import plain_name
from restencil_generator.openapi.options import Options
from restencil_generator.openapi.spec_tree import NodePath, Origin, Tree, Value
from restencil_generator.spec.names import CLIENT_ARGUMENTS

MEMBERS: Final = ("get", "get_list", "push", "unshift", "assign", "get_page", "update", "partial_update", "delete")

RESOURCE_KEYS: Final = (
    "class", "description", "deprecated", "path", "singleton", "schema", "url_prefix", "members", "params",
    "header_params", "search_params", "collection", "pagination_field", "pagination", "body", "request", "response",
    "errors", "auth", "optimistic", "options", "endpoints", "examples",
)  # fmt: skip
"""The keys of a resource in their written order."""

ENDPOINT_KEYS: Final = (
    "description", "deprecated", "method", "path", "url_prefix", "headers", "params", "header_params", "search_params",
    "body", "request", "schema", "response", "content", "side_effect", "members", "pagination_field", "pagination",
    "expires", "auth", "errors", "options",
)  # fmt: skip
"""The keys of an endpoint in their written order."""


@dataclasses.dataclass(frozen=True, slots=True)
class Inferred:
    """The spec of a document, and the results of the analysis."""

    tree: Tree
    keys: KeyCounts
    operations: Mapping[NodePath, Operation]
    """The operation of each endpoint and member; for a member, the path of its name."""
    counts: Mapping[str, int]
    """The numbers of resources, groups, entities, objects and enums."""


def infer(document: Document, options: Options, package: str, last: PreviousChoices = NOTHING) -> Inferred:
    """Infer the spec of a document. Choices of the last import are kept."""
    return _Writer(ImportContext(document, options, package, last)).infer()


class _Writer:
    def __init__(self, context: ImportContext) -> None:
        self.context = context
        self.table = EntityTable(context)
        self.paths = Paths(context)
        self.endpoints = Endpoints(context)
        self.examples = Examples(context)

    def infer(self) -> Inferred:
        document, tree = self.context.document, self.context.tree
        self.context.resources, findings = name_resources(
            self.context.found.resources, self.context.given, self.context.package
        )
        document.findings += findings
        self._streams()
        ids = once(operation.operation_id for operation in document.operations)
        for resource in self.context.resources:
            name_endpoints(resource, self.context.given, ids)
        self._reserve()
        self._name_entities()
        resources: dict[str, Value] = {}
        written = {resource.name: self._resource(resource) for resource in self.context.resources}
        entities = self.table.entities()
        top = self._top(self.context.style)
        hoist.errors(tree, top, [each for _, endpoints in written.values() for each in endpoints], self.context.last)
        hoist.envelopes(top, written, self.context.last)
        for resource in self.context.resources:
            resources[resource.name] = self._finished(resource, *written[resource.name])
        top["options"] = {"retries": 2}
        tree.value = {key: value for key, value in top.items() if value not in (None, {}, "")}
        self._tables(entities, resources)
        self._notes()
        return Inferred(tree, self.context.found.keys, self.context.operations, self._counts())

    def _notes(self) -> None:
        """Report guessed primary keys, and documents without resources."""
        document, resources = self.context.document, self.context.resources
        for resource in resources:
            entity = resource.entity
            if entity is None or entity.key.rule not in (6, 8) or not resource.members:
                continue
            names = [name for name, _ in self.context.key_fields(entity)]
            if entity.key.rule == 6:
                code, how = "pk-guessed", f"guessed: '{names[-1]}'"
            else:
                code, how = "pk-from-path", f"that of its path: {', '.join(repr(name) for name in names)}"
            message = f"the primary key of {resource.name} is {how} (set `pk`, and delete the comment)"
            where = next(iter(resource.members.values())).operation.where
            document.findings.append(Finding(code, message, where, "note"))
        if document.operations and all(resource.kind == "group" for resource in resources):
            message = "no path identifies a record; all operations are endpoints of groups"
            document.findings.append(Finding("no-resources", message, Where(document.source, ""), "note"))

    def _streams(self) -> None:
        """Split operations with both JSON and an event stream or a form with files into two endpoints."""
        for resource in self.context.resources:
            for call in [*resource.members.values(), *(own.call for own in list(resource.own))]:
                if call.operation.result.stream is not None:
                    resource.own.append(Own(call, stream=True))
                body = call.operation.body
                if body is not None and body.file is not None:
                    form = dataclasses.replace(body, content=body.file, file=None, is_file=True)
                    sent = dataclasses.replace(call.operation, body=form)
                    resource.own.append(Own(dataclasses.replace(call, operation=sent)))

    def _reserve(self) -> None:
        client = pascal_case(self.context.package)
        modules = [resource.name for resource in self.context.resources]
        self.context.names.reserve((client, f"Async{client}", *modules))
        for resource in self.context.resources:
            name = pascal_case(resource.name)
            while name in self.context.names.taken or keyword.iskeyword(name):
                name += "Resource"
            resource.class_name = name
            self.context.names.reserve([name])
            members = [*resource.members, *(own.name for own in resource.own), ""]
            for member in members:
                start = name + pascal_case(member) if member else name
                self.context.names.reserve(
                    f"{start}{ending}"
                    for ending in ("Body", "Result", "Search", "Error", "PartialUpdateBody", "Schema")
                )

    def _name_entities(self) -> None:
        named_first = sorted(self.context.resources, key=lambda each: each.entity is None or not each.entity.wanted)
        for resource in named_first:
            entity = resource.entity
            if entity is None:
                continue
            literals = () if resource.route is None else resource.route.literals
            own = [pascal_case(singular(resource.name)), pascal_case("_".join(map(singular, literals)))]
            for each in entity.choices or [entity]:
                if not each.name:
                    names = type_names(each.wanted) if each.wanted else own
                    each.name = self.context.names.claim(each.identity, *names)
        for entity in self.context.found.entities:
            for at, each in self.context.found.by_schema.items():
                if each is entity and not entity.choices:
                    self.context.types.entities[at] = entity
            self._copies(entity)
            entity.names = member_names(entity.record.members, "field")

    def _copies(self, entity: Entity) -> None:
        """Treat nullable copies of an entity's component as the entity."""
        for source in entity.record.sources:
            for copy in self.context.survey.named.get(plain_name(source.name), ()) if source.name else ():
                same = copy.properties.keys() == source.properties.keys()
                if same and copy.at not in self.context.found.by_schema:
                    self.context.types.entities.setdefault(copy.at, entity)

    def _resource(self, resource: Resource) -> tuple[dict[str, Value], list[Endpoint]]:
        """Return the declarations of a resource, except inherited and shared settings, and its endpoints."""
        path: NodePath = ("resources", resource.name)
        values: dict[str, Value] = {}
        self.context.tree.origins[path] = Origin(resource.identity, *self._where(resource))
        if resource.class_name != pascal_case(resource.name):
            values["class"] = resource.class_name
        endpoints: list[Endpoint] = []
        if resource.kind == "group":
            self.context.tree.comments[path] = f"a group: {resource.label}"
            description = self._tag_description(resource)
            if description:
                values["description"] = description
        else:
            self.paths.item(resource, values)
            for name, call in list(resource.members.items()):
                made = self._contained(call, functools.partial(self.endpoints.member, resource, name, call))
                if made is None:
                    del resource.members[name]
                else:
                    endpoints.append(made)
        for own in list(resource.own):
            made = self._contained(own.call, functools.partial(self.endpoints.own, resource, own))
            if made is None:
                resource.own.remove(own)
            else:
                endpoints.append(made)
        return values, endpoints

    def _contained(self, call: Call, make: Callable[[], Endpoint]) -> Endpoint | None:
        """Return an endpoint; None, with a finding, if inference fails."""
        document, operation = self.context.document, call.operation
        made = contained(document.findings.append, operation.text, operation.where, make, None)
        if made is None:
            document.left_out.append(LeftOut(operation.text, "making an endpoint of it failed", operation.where))
        return made

    def _where(self, resource: Resource) -> tuple[str, str]:
        call = next(iter([*resource.members.values(), *(own.call for own in resource.own)]))
        return call.operation.where.pointer, call.operation.where.file

    def _tag_description(self, resource: Resource) -> str:
        for own in resource.own:
            for tag in own.call.operation.tags:
                if snake_case(tag) == resource.name and tag in self.context.document.tags:
                    return self.context.document.tags[tag].strip()
        return ""

    def _top(self, style: str) -> dict[str, Value]:
        document = self.context.document
        tree, package = self.context.tree, self.context.package
        source = document.source.rpartition("/")[2] or document.source
        tree.head = [
            f'Imported by restencil from {source}. Edits survive the next import; "check:" marks what was guessed.'
        ]
        if not document.names_required and self.context.options.required is None:
            tree.head.append("check: the document names no required property")
        top: dict[str, Value] = {"restencil": 1, "package": package}
        if document.title.strip():
            top["title"] = " ".join(document.title.split())
        if document.description.strip():
            top["description"] = document.description.strip()
        top |= servers_of(document)
        if style != "as_is":
            top["wire_names"] = style
        auth, comment = self.context.access.auth()
        if auth is not None:
            top["auth"] = auth
            if comment:
                tree.comments[("auth",)] = comment
        if self.context.parameters.search_style:
            found = self.context.parameters.search_style
            top["search_style"] = found["lists"] if set(found) == {"lists"} else dict(found)
        variables = variables_of(top)
        headers = self.context.parameters.header_params(self.context.parameters.client_headers.values(), variables)
        if headers:
            top["header_params"] = {
                f"{name}_header" if name in CLIENT_ARGUMENTS else name: value for name, value in headers.items()
            }
        queries = self.context.parameters.client_queries.values()
        top["search_params"] = self.context.parameters.search_params(
            queries, {*headers, *variables}, sends_defaults=True
        )[0]
        return top

    def _finished(self, resource: Resource, values: dict[str, Value], endpoints: list[Endpoint]) -> dict[str, Value]:
        """Return a resource as it is written, with its endpoints in order."""
        path: NodePath = ("resources", resource.name)
        if resource.kind != "group":
            self._of_list(resource, values, endpoints)
        table: dict[str, Value] = {}
        for each in sorted(endpoints, key=lambda each: (MEMBERS.index(each.name) if each.member else 100, each.name)):
            at = (*path, "endpoints", each.name)
            self._noted(at, each)
            if not each.values and () in each.comments:  # it is not written, so the path gets its comment
                found = (self.context.tree.comments.get((*path, "path")), f"{each.comments[()]} ({each.name})")
                self.context.tree.comments[(*path, "path")] = "; ".join(filter(None, found))
            if each.values:
                table[each.name] = _ordered(each.values, ENDPOINT_KEYS)
        if table:
            values["endpoints"] = table
        examples: dict[str, Value] = {}
        for each in endpoints:
            where, none = each.call.operation.where, dict[str, Value]()
            what = f"the example of {each.call.operation.text}"
            of = functools.partial(self.examples.of, each)
            if example := contained(self.context.document.findings.append, what, where, of, none):
                examples[each.name] = example
        if examples:
            values["examples"] = dict(sorted(examples.items()))
        return _ordered(values, RESOURCE_KEYS)

    def _noted(self, at: NodePath, endpoint: Endpoint) -> None:
        """Record the origin of an endpoint, and its comments."""
        operation = endpoint.call.operation
        self.context.operations[at] = operation
        self.context.tree.origins[at] = Origin(
            identity_of(endpoint.call), operation.where.pointer, operation.where.file
        )
        if endpoint.ignore:
            response = endpoint.values.get("response")
            endpoint.values["response"] = {**(response if isinstance(response, dict) else {}), "ignore": True}
        for key, comment in endpoint.comments.items():
            self.context.tree.comments[(*at, *key)] = comment

    def _of_list(self, resource: Resource, values: dict[str, Value], endpoints: list[Endpoint]) -> None:
        """Move the settings of a list from its endpoint to the resource."""
        members = self._written_members(resource, endpoints)
        if members is not None:
            values["members"] = members
        listing = next((each for each in endpoints if each.name == "get_list" and each.member), None)
        if listing is None:
            return
        for key in ("search_params", "collection", "pagination_field", "pagination"):
            if key in listing.values:
                values[key] = listing.values.pop(key)
                for at in [each for each in listing.comments if each[:1] == (key,)]:
                    self.context.tree.comments["resources", resource.name, *at] = listing.comments.pop(at)

    def _written_members(self, resource: Resource, endpoints: list[Endpoint]) -> Value:
        """Return `members`, None if all that fit exist."""
        has = set(resource.members)
        listing = next((each for each in endpoints if each.name == "get_list" and each.member), None)
        if resource.kind == "singleton":
            names = [name for name in MEMBERS if name in has]
            return None if set(names) == {"get", "update", "partial_update", "delete"} else list(names)
        values = resource.listing is not None and resource.listing.values
        if listing is not None and resource.summary is not None:
            if "push" in has:
                has |= {"assign"} if values else {"unshift"}
                has -= {"push"} if values else set()
            if "pagination_field" in listing.values:
                has.add("get_page")
        fitting = {"get", "get_list", "update", "partial_update", "delete"}
        fitting |= {"assign"} if values else {"push", "unshift"}
        fitting |= {"get_page"} if listing is not None and "pagination_field" in listing.values else set()
        return None if fitting <= has else [name for name in MEMBERS if name in has]

    def _tables(self, entities: dict[str, Value], resources: dict[str, Value]) -> None:
        tree, types = self.context.tree, self.context.types
        for name, table in (
            ("enums", types.enums),
            ("objects", types.objects),
            ("entities", entities),
            ("resources", resources),
        ):
            if table:
                tree.value[name] = dict(sorted(table.items()))
        tree.origins |= types.origins
        tree.comments |= types.checks

    def _counts(self) -> dict[str, int]:
        groups = sum(resource.kind == "group" for resource in self.context.resources)
        return {
            "resources": len(self.context.resources) - groups,
            "groups": groups,
            "entities": len(self.context.tree.value.get("entities") or {}),  # type: ignore[arg-type]  # it is a mapping
            "objects": len(self.context.types.objects),
            "enums": len(self.context.types.enums),
        }


def _ordered(values: Mapping[str, Value], keys: Iterable[str]) -> dict[str, Value]:
    return {key: values[key] for key in keys if key in values}
