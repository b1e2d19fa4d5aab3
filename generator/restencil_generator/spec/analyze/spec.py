"""Analysis of a whole spec: from its nodes to the resolved model, or to all of its errors.

Invalid parts are reported and left out, and the analysis continues, so that one run finds all errors. The steps are in
the order of their dependencies: names first, then enums, objects and entities, then resources.
"""

from __future__ import annotations

import dataclasses

from restencil_generator.diagnostics.model import Place, Problem, has_errors, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze import auth, errors, package_names, settings
from restencil_generator.spec.analyze.arguments import read_client_arguments
from restencil_generator.spec.analyze.entities import Entities, object_circles
from restencil_generator.spec.analyze.fields import read_fields
from restencil_generator.spec.analyze.freshness import check_needs
from restencil_generator.spec.analyze.parameter_styles import laid_over as styles_over
from restencil_generator.spec.analyze.parameter_styles import styled
from restencil_generator.spec.analyze.resources import read_resources
from restencil_generator.spec.analyze.symbols import collect, table
from restencil_generator.spec.analyze.type_forms import distinct_values, enum_value
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.digest import digest
from restencil_generator.spec.error_classes import laid_over
from restencil_generator.spec.grammar.keys import DOCUMENTS, VERSION
from restencil_generator.spec.grammar.value_reader import THE_SPEC, ParsedSection, Subject
from restencil_generator.spec.names import constant_name, is_identifier, pascal_case
from restencil_generator.spec.source.nodes import Entry, MappingNode, Node, SequenceNode


def check(root: MappingNode, file: str, problems: list[Problem]) -> d.Spec | None:
    """Return the resolved model of a spec's nodes; None or incomplete if an error was reported."""
    types = Types(problems)
    if (key := next((key for key in DOCUMENTS if key in root.entries), None)) and "restencil" not in root.entries:
        types.report(
            "openapi-document",
            "this is an OpenAPI document, not a spec",
            root.entries[key].key,
            "run `restencil import FILE` to create a spec from it",
        )
        return None
    begin = Place(root.file, root.line + 1, root.column + 1, root.line + 1, root.column + 2)
    given = types.section("spec", root, THE_SPEC, begin)
    types.wire = given["wire_names"]
    types.absent = given["absent"]
    client = _client(types, given)
    credentials = auth.read_auth(types, given["auth"])
    nodes = collect(types, given)
    top = settings.settings(given, types, THE_SPEC)
    for name, entry in table(given, "enums"):
        types.enums[name] = _enum(types, name, entry)
    for name, entry in table(given, "objects"):
        fields = read_fields(types, entry.value, Subject(f"object {quoted(name)}"), "object_field", name)
        types.objects[name] = d.Object(name, fields, place=entry.key.place)
    Entities(types).read()
    object_circles(types)
    client_arguments = read_client_arguments(types, given)
    servers = client_arguments.servers
    if servers:
        top = dataclasses.replace(top, url_prefix=servers[0].url, url_place=servers[0].place)
    check_needs(types, given["options"], [], THE_SPEC, "a spec")
    resources = read_resources(types, top, client_arguments, nodes)
    for task in types.later:
        task()
    package_names.name_bodies(types, resources)
    raises_own = errors.claim_classes(types, resources, given.node("errors"))
    namespace = package_names.namespace(types)
    if has_errors(types.problems):
        return None
    spec = d.Spec(
        file=file,
        language=VERSION,
        package=given["package"],
        client=client,
        async_client=f"Async{client}",
        digest="",
        title=given["title"],
        description=given["description"],
        version=given["version"] or "",
        user_agent=given["user_agent"],
        request_id=given["request_id"] or "",
        inert_headers=tuple(name for name, _ in given["inert_headers"] or ()),
        errors=laid_over({}, top.errors),
        request=settings.laid_on(d.Request(), top.request),
        response=settings.laid_on(d.Response(), top.response),
        url_prefix=top.url_prefix or "",
        wire_names=types.wire,
        auth=credentials,
        base=top.base,
        headers=top.headers or {},
        options=d.Options(**(top.options or {})),
        enums=types.enums,
        objects=types.objects,
        entities=dict(sorted(types.entities.items())),
        resources=resources,
        namespace=namespace,
        has_errors=raises_own,
        servers=servers,
        header_params=client_arguments.header_params,
        search_params=tuple(
            styled(one, styles_over(d.NO_STYLES, top.styles)) for one in client_arguments.search_params
        ),
        cross_origin_body=top.cross_origin_body is True,
        place=root.place,
        places=given.places,
        url_place=top.url_place,
    )
    return dataclasses.replace(spec, digest=digest(spec))


def _client(types: Types, given: ParsedSection) -> str:
    """Return the name of the client, and reserve it in the package with the name of its asynchronous form."""
    written = "client" in given
    node = given.node("client" if written else "package")
    name: str | None = given["client"] if written else pascal_case(given["package"])
    if name and node is not None:
        hint = "give the client another name with 'client:'"
        types.claim(name, "client", "the client", node.place, hint)
        types.claim(f"Async{name}", "client", "the asynchronous client", node.place, hint)
    return name or ""


# --------------------------------------------------------------------------------------------------------------- enums


def _enum(types: Types, name: str, entry: Entry) -> d.Enum:
    node = entry.value
    what = Subject(f"enum {quoted(name)}")
    members: list[tuple[d.EnumMember, Node]] = []
    if isinstance(node, SequenceNode):
        members = _listed_members(types, node, what)
    elif isinstance(node, MappingNode):
        members = _named_members(types, node, what, name)
    else:
        types.wrong(what, "a list of its values, or a mapping from constants to them", node)
    if isinstance(node, SequenceNode | MappingNode) and not (
        node.items if isinstance(node, SequenceNode) else node.entries
    ):
        types.report("wrong-type", f"{what} needs at least one value", node)
    distinct_values(types, ((member.value, item) for member, item in members), what)
    return d.Enum(name, tuple(member for member, _ in members), entry.key.place)


def _listed_members(types: Types, node: SequenceNode, what: Subject) -> list[tuple[d.EnumMember, Node]]:
    values = [(enum_value(types, item, what), item) for item in node.items]
    return [(d.EnumMember(value, place=item.place), item) for value, item in values if value is not None]


def _named_members(types: Types, node: MappingNode, what: Subject, enum: str) -> list[tuple[d.EnumMember, Node]]:
    members: list[tuple[d.EnumMember, Node]] = []
    for key, inner in node:
        value = enum_value(types, inner.value, what)
        if not is_identifier(f"x{key}") or key.startswith("_"):
            types.name(inner.key, f"a constant of {what}")
        elif value is not None:
            constant = constant_name(enum, key)
            types.claim(constant, "constant", f"a constant of {what}", inner.key.place)
            members.append((d.EnumMember(value, constant, inner.value.place), inner.value))
    return members
