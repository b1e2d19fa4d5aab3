"""Rules of one endpoint: keys that depend on others, its parameters, its pagination, and the fields it refers to."""

from __future__ import annotations

from restencil_generator.diagnostics.model import Place, did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.entity_fields import check_body_fields, check_param_fields
from restencil_generator.spec.analyze.freshness import check_needs
from restencil_generator.spec.analyze.pagination import check_in_body, check_pagination
from restencil_generator.spec.analyze.raw import RawEndpoint, RawResource
from restencil_generator.spec.analyze.resolve import ResolvedEndpoint, has_pages
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject
from restencil_generator.spec.source.nodes import MappingNode


def check_endpoint(types: Types, resource: RawResource, resolved: ResolvedEndpoint, clashes: set[Place]) -> None:
    """Report errors in one endpoint. `clashes` are the places of parameters that are already reported."""
    endpoint, own = resolved.endpoint, resolved.raw
    section = own.section
    if endpoint.standard and "extends" in section:
        message = f"{own.what} is a standard member and cannot have 'extends'"
        types.report("key-not-here", message, section.key("extends"), "remove it, or choose another name")
    if not endpoint.standard and resource.schema is None and endpoint.extends is None and "path" not in section:
        types.report("missing-key", f"{own.what} needs the key 'path'", own.key, "add 'path: …'")
    _check_response(types, endpoint, own)
    _check_request(types, endpoint, own)
    if endpoint.expires and "expires" in section and not endpoint.side_effect:
        message = f"'expires' of {own.what} has no effect: the endpoint changes nothing"
        types.report("key-not-here", message, section.key("expires"), "remove it, or write 'side_effect: true'")
    _check_filters(types, endpoint, own)
    _check_parameters(types, endpoint, own, clashes)
    _check_paths(types, endpoint, own)
    _check_pages(types, resource, resolved)
    _check_fields(types, resource, endpoint, own)


def _check_response(types: Types, endpoint: d.Endpoint, own: RawEndpoint) -> None:
    """Report schema, content and `returns` that contradict each other, and `empty: merge` without an entity."""
    section = own.section
    key = next((key for key in ("content", "schema") if key in section), None)
    if key is not None and endpoint.content not in (None, "json") and endpoint.schema is not None:
        message = f"{own.what} returns {endpoint.content}, so it cannot have a schema"
        types.report("content-with-schema", message, section.key(key), "add 'schema: null'")
    if "returns" in section and endpoint.schema is not None and endpoint.process is None and endpoint.base is None:
        message = f"'returns' of {own.what} has no effect: its schema gives the type"
        hint = "add 'process: python:…' or remove it"
        if isinstance(endpoint.schema, d.QueryOf):
            has_own = endpoint.schema.returns is not None
            hint = "remove it" if has_own else "move it into the query: {query: …, process: …, returns: …}"
        types.report("returns-without-process", message, section.key("returns"), hint)
    response: ParsedSection | None = section["response"]
    schema = endpoint.schema.item if isinstance(endpoint.schema, d.Optional) else endpoint.schema
    brings_entity = endpoint.side_effect and isinstance(schema, d.EntityRef | d.UnionOf | d.AdderOf)
    if response is not None and response["empty"] == "merge" and not brings_entity:
        message = f"'empty: merge' of {own.what} requires a mutation whose schema is an entity"
        types.report("empty-merge", message, response.key("empty"), "write 'empty: none'")


def _check_filters(types: Types, endpoint: d.Endpoint, own: RawEndpoint) -> None:
    """Report `filter` at parameters that filter no list: there is no list, or they are its order or its page."""
    written = [field for field in own.search_params if field.filter is not None]
    if not written or isinstance(endpoint.schema, d.AdderOf | d.PageOf):
        return
    collection = endpoint.collection
    for field in written:
        what = Subject(f"'filter' of search parameter {quoted(field.name)}", own.what)
        if collection is None and not isinstance(endpoint.schema, d.QueryOf | d.AllOf | d.ListOf):
            message = f"{what} has no effect: the response is not a list of entities"
        elif endpoint.page_param is not None and field.wire == endpoint.page_param.wire:
            message = f"{what} has no effect: the parameter selects a page"
        elif collection is not None and field.wire in collection.non_filter_arguments:
            message = f"{what} has no effect: 'non_filter_arguments' contains the parameter"
        else:
            continue
        types.report("key-not-here", message, _key_of(own, field, "filter"), "remove it")


def _key_of(own: RawEndpoint, field: d.Field, key: str) -> Place:
    """Return the place of a key of a search parameter."""
    params = own.section.node("search_params")
    described = params.get(field.name) if isinstance(params, MappingNode) else None
    return described.entries[key].key.place if isinstance(described, MappingNode) else field.place


def _check_request(types: Types, endpoint: d.Endpoint, own: RawEndpoint) -> None:
    """Report `in_key` unless a call has a body and a cached response."""
    request: ParsedSection | None = own.section["request"]
    if request is None or not request["in_key"]:
        return
    if endpoint.side_effect:
        message = (
            f"'in_key' of the body of {own.what} has no effect: responses of endpoints with side effects are not cached"
        )
        hint = "remove it, or write 'side_effect: false' where it only reads"
        types.report("body-in-key", message, request.key("in_key"), hint)
    elif not endpoint.has_body:
        message = f"'in_key' of the body of {own.what} has no effect: the endpoint sends no body"
        types.report("body-in-key", message, request.key("in_key"), "remove it, or write a 'body'")


def _check_parameters(types: Types, endpoint: d.Endpoint, own: RawEndpoint, clashes: set[Place]) -> None:
    """Report parameters with the same Python name, or that are in the URL and a header at once."""
    pythons: dict[str, d.Field] = {}
    in_url = {field.python for field in (*endpoint.params, *endpoint.search_params)}
    if isinstance(endpoint.schema, d.PageOf) and endpoint.page_param is not None:
        in_url.add(endpoint.page_param.python)
    for param in endpoint.header_params:
        if param.field.python in in_url and param.field.place not in clashes:
            clashes.add(param.field.place)
            what = Subject(f"the header parameter {quoted(param.field.name)}", own.what)
            message = (
                f"{what} is also a parameter of its URL, but keyword arguments of a call must have different names"
            )
            hint = "rename one of them, and give its name in requests as 'wire'"
            types.report("parameter-clash", message, param.field.place, hint)
    for field in (*endpoint.params, *endpoint.search_params):
        first = pythons.setdefault(field.python, field)
        if first is not field and first.wire != field.wire:
            both = f"the parameters {quoted(first.name)} and {quoted(field.name)} of {own.what}"
            message = f"{both} are both {quoted(field.python)} in Python"
            types.report("name-clash", message, field.place, "rename one of them")


def _check_paths(types: Types, endpoint: d.Endpoint, own: RawEndpoint) -> None:
    """Report `params` that are not in the path, and `search_params` that are."""
    in_path = {parameter.name for parameter in endpoint.path.parameters}
    for field in own.params:
        if field.name not in in_path:
            report_unknown_parameter(types, field, own.what, in_path)
    for field in own.search_params:
        if field.wire in in_path:
            message = f"the search parameter {quoted(field.name)} of {own.what} is already a parameter of its path"
            types.report("parameter-clash", message, field.place, "rename or remove it")


def report_unknown_parameter(types: Types, field: d.Field, what: Subject, known: set[str]) -> None:
    """Report a path parameter that is in no path."""
    hint = did_you_mean(field.name, known) or "name a parameter of the path, or move it to 'search_params'"
    message = f"'params' of {what} has {quoted(field.name)}, which is not a parameter of its path"
    types.report("unknown-parameter", message, field.place, hint)


def _check_pages(types: Types, resource: RawResource, resolved: ResolvedEndpoint) -> None:
    """Report pagination without a list, or without a parameter for the page."""
    endpoint, own = resolved.endpoint, resolved.raw
    section = own.section
    if not has_pages(endpoint):
        message = f"the schema of {own.what} contains neither a collection nor a list of plain values"
        hint = "remove it, or write {collection: [Entity]} in the schema"
        for key in ("pagination_field", "pagination"):
            if key in section:
                types.report("pagination-without-collection", message, section.key(key), hint)
        return
    field, written = endpoint.pagination_field, resolved.pagination
    node = section.node("pagination_field") or resource.section.node("pagination_field")
    in_path = [parameter.name for parameter in endpoint.path.parameters]
    in_body = written is not None and written.in_body
    if field is not None and node is not None and not in_body and (field.name in in_path or field.wire in in_path):
        message = f"the pagination field {quoted(field.name)} of {own.what} is also a parameter of its path"
        types.report("parameter-clash", message, node, "rename one of them")
    if written is None or not (own.pagination or endpoint.name == "get_list"):
        return
    if field is None and node is None and written.remove_cursor is None:
        message = f"{own.what} has 'pagination' but no 'pagination_field', the parameter that names the page"
        holder = section if "pagination" in section else resource.section
        types.report("missing-key", message, holder.key("pagination"), "add 'pagination_field: …'")
    if written.in_body:
        check_in_body(types, written, field, endpoint, own.what, node or written.key)
    check_pagination(types, written, endpoint, own.what)


def _check_fields(types: Types, resource: RawResource, endpoint: d.Endpoint, own: RawEndpoint) -> None:
    """Report references to fields that are neither in an entity of the responses nor in that of the resource."""
    section, schemas = own.section, [endpoint.schema, resource.schema]
    check_param_fields(types, own.params, section.node("params"), [resource.schema, own.schema])
    check_param_fields(types, own.search_params, section.node("search_params"), schemas, "search parameter")
    check_body_fields(types, own.body, section.node("body"), schemas)
    names = dict.fromkeys(d.entities_in(endpoint.schema)) if endpoint.schema is not None else {}
    entities = [types.entities[name] for name in names if name in types.entities]
    check_needs(types, section["options"], entities, own.what, "its schema")
