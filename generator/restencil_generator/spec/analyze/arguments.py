"""Header parameters, arguments of the client, and the servers of the API."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from restencil_generator.diagnostics.model import Place, Related, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.analyze.fields import is_described, read_fields
from restencil_generator.spec.grammar.keys import defaults
from restencil_generator.spec.grammar.patterns import SECRET_HEADERS, URL, parts_entities
from restencil_generator.spec.grammar.value_reader import THE_SPEC, ParsedSection, Subject
from restencil_generator.spec.names import CLIENT_ARGUMENTS
from restencil_generator.spec.source.nodes import MappingNode, Node, ScalarNode, is_null
from restencil_generator.spec.type_info import type_info

if TYPE_CHECKING:
    from restencil_generator.spec.analyze.types import Types

_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")
_HAS_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://").match


@dataclasses.dataclass(frozen=True, slots=True)
class WrittenHeaders:
    """The header parameters of a resource or endpoint, and the names that it resets with null; `clears` resets all."""

    params: tuple[d.HeaderParam, ...] = ()
    back: frozenset[str] = frozenset()
    clears: bool = False

    def over(self, inherited: Iterable[d.HeaderParam]) -> tuple[d.HeaderParam, ...]:
        """Return the effective parameters: these, and the inherited ones that are neither replaced nor reset."""
        found = {} if self.clears else {param.field.name: param for param in inherited}
        found |= {param.field.name: param for param in self.params}
        return tuple(param for name, param in found.items() if name not in self.back)


def read_header_params(
    types: Types, node: Node | None, what: Subject, position: str = "header_param"
) -> WrittenHeaders:
    """Read the header parameters of a level."""
    if node is not None and position == "header_param" and is_null(node):
        return WrittenHeaders(clears=True)
    back: frozenset[str] = frozenset()
    if isinstance(node, MappingNode) and position == "header_param":
        back = frozenset(name for name, entry in node if is_null(entry.value))
        node = _without(node, back)
    found: list[d.HeaderParam] = []
    wires: dict[str, d.Field] = {}
    for field in read_fields(types, node, what, position, "", label=Subject("'header_params'", what)):
        assert isinstance(node, MappingNode)
        param = _header_param(types, field, node.entries[field.name].value, what)
        first = wires.setdefault(field.wire.lower(), field)
        if first is not field and first.wire != field.wire:  # duplicates of one name are already reported
            message = (
                f"the header parameters {quoted(first.name)} and {quoted(field.name)} of {what} are the same header"
            )
            types.report(
                "name-clash", message, field.place, "names of headers ignore case: give one of them another 'wire'"
            )
        if param is not None:
            found.append(param)
    return WrittenHeaders(tuple(found), back)


def _without(node: MappingNode, names: frozenset[str]) -> MappingNode:
    kept = MappingNode(node.file, node.line, node.column)
    kept.entries = {name: entry for name, entry in node if name not in names}
    return kept


def _header_param(types: Types, field: d.Field, node: Node, what: Subject) -> d.HeaderParam | None:
    given: Mapping[str, Node] = {}
    if is_described(node):
        assert isinstance(node, MappingNode)
        given = {key: entry.value for key, entry in node}
    who = f"the header parameter {quoted(field.name)}"
    if field.wire.lower() in SECRET_HEADERS:
        message = f"{who} of {what} is the header {quoted(field.wire)}, which carries a secret"
        types.report("secret-header", message, given.get("wire", field.place), "use 'auth:'")
        return None
    in_key, partition, secret = (_flag(given.get(key)) for key in ("in_key", "partition", "secret"))
    if secret and in_key:
        message = f"{who} is secret, so it cannot be part of a key"
        types.report("secret-in-key", message, given["in_key"], "remove 'in_key'")
    written = partition is not None
    if partition is None:
        partition = in_key is not True and parts_entities(field.wire)
    if in_key is None:
        in_key = not (secret or partition)
    auto = "auto" in given
    if auto and type_info(field.type).bare not in (d.Scalar("string"), d.Scalar("uuid")):
        message = f"'auto' of {who} of {what} generates a UUID, which does not fit its type"
        types.report("key-not-here", message, given["auto"], "write 'type: string' or 'type: uuid'")
    if auto and field.required:
        field = dataclasses.replace(field, type=d.Optional(field.type))
    return d.HeaderParam(field, in_key, partition, bool(secret), "uuid" if auto else None, written)


def _flag(node: Node | None) -> bool | None:
    value = node.value if isinstance(node, ScalarNode) else None
    return value if isinstance(value, bool) else None


# ----------------------------------------------------------------------------------------------------------- the client


@dataclasses.dataclass(frozen=True, slots=True)
class ClientArguments:
    """The arguments of the client, and the servers of the API."""

    header_params: tuple[d.HeaderParam, ...]
    search_params: tuple[d.Field, ...]
    servers: tuple[d.Server, ...]

    @property
    def made(self) -> tuple[d.HeaderParam, ...]:
        """The headers with a generated value, which are therefore also arguments of calls."""
        return tuple(param for param in self.header_params if param.auto is not None)

    def taken_back(self, written: WrittenHeaders, inherited: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return the client headers that an endpoint with these settings does not send."""
        names = {param.field.name: param.field.wire for param in self.header_params if param.auto is None}
        own = names if written.clears else written.back & names.keys()
        back = {*inherited, *(names[name] for name in own)} - {names.get(param.field.name) for param in written.params}
        return tuple(sorted(wire for wire in back if wire))


def read_client_arguments(types: Types, given: ParsedSection) -> ClientArguments:
    """Read the client arguments of a spec."""
    headers = read_header_params(types, given.node("header_params"), THE_SPEC, "client_header").params
    label = Subject("'search_params'", THE_SPEC)
    search = read_fields(types, given.node("search_params"), THE_SPEC, "client_param", "", label=label)
    servers = _servers(types, given.node("servers"))
    taken: dict[str, tuple[str, d.Field]] = {}
    named = [("header parameter", param.field) for param in headers if param.auto is None]
    named += [("search parameter", field) for field in search]
    for noun, field in named:
        _claim(types, taken, noun, "the spec", field)
    for server in servers:
        for field in server.variables:
            first = taken.get(field.python)
            if first is None or first[0] != "variable" or first[1].type != field.type:
                _claim(types, taken, "variable", f"server {quoted(server.name)}", field)
    headers = tuple(
        param if param.auto is not None else dataclasses.replace(param, in_key=False, partition=False)
        for param in headers
    )
    return ClientArguments(headers, search, servers)


def _claim(types: Types, taken: dict[str, tuple[str, d.Field]], noun: str, of: str, field: d.Field) -> None:
    """Reserve a name among the arguments of the client, and report a name that is taken."""
    if field.python in CLIENT_ARGUMENTS:
        message = f"the {noun} {quoted(field.name)} of {of} is already an argument of every client"
        types.report("taken-name", message, field.place, "choose another name, and give this one as 'wire'")
    elif field.python in types.schemes:
        message = f"the {noun} {quoted(field.name)} of {of} and the scheme of 'auth' are both {quoted(field.python)} "
        types.report("name-clash", f"{message}as argument of the client", field.place, "rename one of them")
    known, first = taken.setdefault(field.python, (noun, field))
    if first is not field:
        message = f"the {noun} {quoted(field.name)} of {of} and the {known} {quoted(first.name)} are both "
        message += f"{quoted(field.python)} as argument of the client"
        types.report("name-clash", message, field.place, "rename one of them", [Related(first.place, "the other one")])


def _servers(types: Types, node: Node | None) -> tuple[d.Server, ...]:
    if not isinstance(node, MappingNode):
        return ()  # `collect` reports another type
    if not node.entries:
        types.report("wrong-type", "'servers' is empty", node, "add one, such as 'production: https://…'")
    found = (_server(types, name, entry.key, entry.value) for name, entry in node)
    return tuple(server for server in found if server is not None)


def _server(types: Types, name: str, key: ScalarNode, node: Node) -> d.Server | None:
    what = Subject(f"server {quoted(name)}")
    if not isinstance(node, MappingNode):
        given = ParsedSection("server", defaults("server"), {}, {})
        at, url = node, types.text(node, what, empty=False)
    else:
        given = types.section("server", node, what, key)
        at, url = given.node("url") or node, given["url"]
    variables = read_fields(types, given.node("variables"), what, "server_variable", "")
    if not name:
        types.report("wrong-type", "the name of a server must not be empty", key)
    if url is None:
        return None
    if at is node and not re.fullmatch(URL.regex, url):
        types.report("bad-url", f"the URL of {what} contains a space or a control character", at)
    if not _HAS_SCHEME(url):
        message = f"the URL of {what} is {quoted(url)}, which has no scheme"
        rest = url.partition("://")[2] or url.lstrip("/")
        types.report("bad-url", message, at, f"write https://{rest}")
    _check_variables(types, what, url, variables, at)
    return d.Server(name, url, variables, given["description"], given["deprecated"], key.place)


def _check_variables(types: Types, what: Subject, url: str, variables: tuple[d.Field, ...], at: Node) -> None:
    """Report variables of a server that are not in its URL, or that are not declared."""
    named = list(dict.fromkeys(_VARIABLE.findall(url)))
    for field in variables:
        if field.name not in named:
            place: Place = field.place
            message = f"the URL of {what} has no '{{{field.name}}}'"
            types.report("server-variable", message, place, "write it into the URL, or remove the variable")
    known = {field.name for field in variables}
    for name in named:
        if name not in known:
            message = f"the variable {quoted(name)} is not declared"
            types.report("server-variable", message, at, f"add 'variables: {{{name}: string}}'", near=(name, known))
