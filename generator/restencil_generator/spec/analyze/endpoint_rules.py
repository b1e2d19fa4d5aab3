"""What has to agree within one endpoint: keys that depend on others, and the names of parameters."""

from __future__ import annotations

from restencil_generator.diagnostics.model import Place, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.raw_endpoint import RawEndpoint
from restencil_generator.spec.analyze.types import Types
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject


def check_endpoint(types: Types, endpoint: d.Endpoint, own: RawEndpoint, clashes: set[Place]) -> None:
    """Reports what does not agree within one endpoint. `clashes` are the places of parameters that were reported."""
    given = own.given
    key = next((key for key in ("content", "schema") if key in given), None)
    if key is not None and endpoint.content not in (None, "json") and endpoint.schema is not None:
        message = f"{own.what} answers with {endpoint.content}, to which no schema applies"
        types.report("content-with-schema", message, given.key(key), "add 'schema: null'")
    if "returns" in given and endpoint.schema is not None and endpoint.process is None and endpoint.base is None:
        message = f"'returns' of {own.what} has no effect: its schema gives the type"
        hint = "add 'process: python:…' or remove it"
        if isinstance(endpoint.schema, d.QueryOf):
            said = endpoint.schema.returns is not None
            hint = "remove it" if said else "move it into the query: {query: …, process: …, returns: …}"
        types.report("returns-without-process", message, given.key("returns"), hint)
    _check_empty(types, endpoint, own)
    _check_request(types, endpoint, own)
    if endpoint.expires and "expires" in given and not endpoint.side_effect:
        message = f"'expires' of {own.what} has no meaning: it changes nothing"
        types.report("key-not-here", message, given.key("expires"), "remove it, or write 'side_effect: true'")
    _check_filters(types, endpoint, own)
    _check_parameters(types, endpoint, own, clashes)


def _check_filters(types: Types, endpoint: d.Endpoint, own: RawEndpoint) -> None:
    """Reports `filter` at parameters that filter no list: there is none, or they name its order or a page."""
    written = [field for field in own.search_params if field.filter is not None]
    if not written or isinstance(endpoint.schema, d.AdderOf | d.PageOf):
        return
    collection = endpoint.collection
    for field in written:
        what = Subject(f"'filter' of search parameter {quoted(field.name)}", own.what)
        if collection is None and not isinstance(endpoint.schema, d.QueryOf | d.AllOf | d.ListOf):
            message = f"{what} has no effect: the response is no list of entities"
        elif endpoint.page_param is not None and field.wire == endpoint.page_param.wire:
            message = f"{what} has no effect: the parameter names a page"
        elif collection is not None and field.wire in collection.non_filter_arguments:
            message = f"{what} has no effect: 'non_filter_arguments' has the parameter"
        else:
            continue
        types.report("key-not-here", message, field.place, "remove it")


def _check_empty(types: Types, endpoint: d.Endpoint, own: RawEndpoint) -> None:
    """What was sent can stand in for the answer of a mutation that brings an entity."""
    response: ParsedSection | None = own.given["response"]
    schema = endpoint.schema.item if isinstance(endpoint.schema, d.Optional) else endpoint.schema
    brings_entity = endpoint.side_effect and isinstance(schema, d.EntityRef | d.UnionOf | d.AdderOf)
    if response is not None and response["empty"] == "merge" and not brings_entity:
        message = f"'empty: merge' of {own.what} needs an entity as schema and a mutation"
        types.report("empty-merge", message, response.key("empty"), "write 'empty: none'")


def _check_request(types: Types, endpoint: d.Endpoint, own: RawEndpoint) -> None:
    """A body is part of a key where a call sends one and has a cached answer."""
    request: ParsedSection | None = own.given["request"]
    if request is None or not request["in_key"]:
        return
    if endpoint.side_effect:
        message = f"'in_key' of the body of {own.what}: it has a side effect, so it has no cached answer"
        hint = "remove it, or write 'side_effect: false' where it only reads"
        types.report("body-in-key", message, request.key("in_key"), hint)
    elif not endpoint.has_body:
        message = f"'in_key' of the body of {own.what}: a call sends none"
        types.report("body-in-key", message, request.key("in_key"), "remove it, or write a 'body'")


def _check_parameters(types: Types, endpoint: d.Endpoint, own: RawEndpoint, clashes: set[Place]) -> None:
    """No two parameters have one name in Python, and none is of the URL and a header at once."""
    pythons: dict[str, d.Field] = {}
    in_url = {field.python for field in (*endpoint.params, *endpoint.search_params)}
    if isinstance(endpoint.schema, d.PageOf) and endpoint.page_param is not None:
        in_url.add(endpoint.page_param.python)
    for param in endpoint.header_params:
        if param.field.python in in_url and param.field.place not in clashes:
            clashes.add(param.field.place)
            what = Subject(f"the header parameter {quoted(param.field.name)}", own.what)
            message = f"{what} is also a parameter of its URL, and a call has one keyword for each"
            hint = "rename one of them, and give the name on the wire as 'wire'"
            types.report("parameter-clash", message, param.field.place, hint)
    for field in (*endpoint.params, *endpoint.search_params):
        first = pythons.setdefault(field.python, field)
        if first is not field and first.wire != field.wire:
            both = f"the parameters {quoted(first.name)} and {quoted(field.name)} of {own.what}"
            message = f"{both} are both {quoted(field.python)} in Python"
            types.report("name-clash", message, field.place, "rename one of them")
