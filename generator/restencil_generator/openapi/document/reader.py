"""Reader of OpenAPI documents of all versions.

`read` raises `Failure` if there is no document: the source cannot be read, is neither JSON nor YAML, or is not OpenAPI.
Errors in the contents of a document never raise; they are findings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from restencil_generator.diagnostics.model import quoted
from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document.coverage import count
from restencil_generator.openapi.document.files import File, Files
from restencil_generator.openapi.document.json_schema import malformed, shape
from restencil_generator.openapi.document.json_types import is_list, is_table, texts
from restencil_generator.openapi.document.model import (
    Document,
    Finding,
    Flow,
    Part,
    SecurityScheme,
    Server,
    ServerVariable,
    Where,
)
from restencil_generator.openapi.document.operations import Operations, Whole, requirements
from restencil_generator.openapi.document.pointer import child, objects_in, within
from restencil_generator.openapi.document.refs import References
from restencil_generator.openapi.document.schemas import Schemas
from restencil_generator.openapi.document.select import Choice
from restencil_generator.openapi.options import Options

_VERSION: Final = re.compile(r"3\.(\d+)(?:\.\d+)?(?:-.*)?\Z|3\Z")
_NEWEST: Final = 2

_LOOKS_LIKE: Final = (
    ("asyncapi", "an AsyncAPI {} document"),
    ("arazzo", "an Arazzo {} document"),
    ("overlay", "an Overlay {} document; pass it with --overlay"),
    ("openrpc", "an OpenRPC {} document"),
    ("swaggerVersion", "a Swagger {} document"),
    ("restencil", "a spec of restencil"),
)
"""The keys of documents other than OpenAPI; `{}` is their version."""

_GUESSES: Final = (
    ({"info", "item"}, "a Postman collection"),
    ({"__schema"}, "a GraphQL schema"),
    ({"discoveryVersion"}, "a Google API discovery document"),
    ({"$schema", "properties"}, "a JSON Schema"),
    ({"_type", "resources"}, "an Insomnia export"),
    ({"log"}, "an HTTP archive"),
    ({"apiVersion", "kind"}, "a Kubernetes manifest"),
    ({"dependencies"}, "a package.json"),
    ({"title", "types"}, "a RAML document"),
)


def read(files: Files, findings: Iterable[Finding] = (), choice: Choice | None = None) -> Document:
    """Read a document with the selected operations.

    `findings` are those of earlier steps, such as overlays. Raises `Failure` if it is not an OpenAPI document, or if no
    operation is selected.
    """
    return _Reader(files, list(findings)).document(choice or Choice(Options()))


def version_of(tree: object, name: str) -> tuple[str, bool, int]:
    """Return the version of a document, whether it is 2.0, and the minor version of 3 as which it is read.

    Raises `Failure`, with a guess of what it is, if it is not an OpenAPI document.
    """
    if not is_table(tree):
        raise Failure(f"{name}: not OpenAPI: it holds {shape(tree)}, not an object")
    written = tree.get("openapi", tree.get("swagger"))
    if written is None:
        raise Failure(_not_openapi(tree, name))
    version = str(written).strip() if isinstance(written, str | int | float) else shape(written)
    if version in ("2", "2.0", "2.0.0"):
        return version, True, 0
    match = _VERSION.match(version)
    if match is None:
        raise Failure(
            f"{name}: not OpenAPI 2.0 or 3: its version is {quoted(version)}; restencil imports 2.0 to 3.{_NEWEST}"
        )
    return version, False, int(match[1] or 0)


def _not_openapi(tree: Mapping[str, Any], name: str) -> str:
    for key, what in _LOOKS_LIKE:
        if isinstance(tree.get(key), str | int | float):
            version = ".".join(str(tree[key]).split(".")[:2])
            return f"{name} is {what.format(version)}; restencil imports OpenAPI"
    found = ", ".join(sorted(tree)[:6]) or "nothing"
    guess = next((f"; {what}?" for words, what in _GUESSES if words <= tree.keys()), "")
    return f"{name}: not OpenAPI: it has neither 'openapi' nor 'swagger' (found: {found}{guess})"


class _Reader:
    """Reader of one document."""

    def __init__(self, files: Files, findings: list[Finding]) -> None:
        self._files = files
        self._tree = files.source.value
        self._root = Part(self._tree, Where(files.source.name, ""))
        self._seen = set(findings)
        self._findings = findings
        self._version, self._old, minor = version_of(self._tree, files.source.name)
        if minor > _NEWEST:
            message = f"OpenAPI {self._version} is newer than 3.{_NEWEST}; it is read as 3.{_NEWEST}"
            self._report(Finding("version-newer", message, within(self._root.where, "openapi"), "note"))
        for file in files.all:
            for code, pointer, message in file.text.oddities:
                self._report(Finding(code, message, Where(file.name, pointer)))
        self._references = References(files, self._report)
        self._schemas = Schemas(self._references, self._report, modern=not self._old and minor >= 1)

    def _report(self, finding: Finding) -> None:
        if finding not in self._seen:
            self._seen.add(finding)
            self._findings.append(finding)

    def document(self, choice: Choice) -> Document:
        """Read the document; its schemas are read on demand."""
        tree, root = self._tree, self._root
        info = tree.get("info")
        info = info if is_table(info) else {}
        whole = Whole(self._old, texts(tree.get("consumes")), texts(tree.get("produces")), self._servers)
        operations = Operations(self._references, self._schemas, self._report, whole, choice)
        read = operations.read(child(root, tree.get("paths"), "paths"))
        counted = count(tree)
        return Document(
            source=root.where.file,
            version=self._version,
            title=_plain(info.get("title")),
            release=_plain(info.get("version")),
            description=_plain(info.get("description")) or _plain(info.get("summary")),
            operations=tuple(read),
            schema_reader=self._schemas.read,
            tree=tree,
            found=operations.found,
            servers=self._all_servers(),
            security=requirements(tree.get("security")) or (),
            schemes=self._schemes(),
            tags=_tags(tree.get("tags")),
            findings=self._findings,
            left_out=operations.left_out,
            not_carried=counted.not_carried,
            names_required=counted.names_required or self._others_name_required(),
        )

    def _others_name_required(self) -> bool:
        """Return whether a directly or indirectly referenced file declares required properties."""
        seen, todo = {self._root.where.file}, [self._files.source]
        while todo:
            file = todo.pop()
            if count(file.value).names_required:
                return True
            references = (each.get("$ref") for _, each in objects_in(file.value))
            for reference in references:
                target = reference.partition("#")[0] if isinstance(reference, str) else ""
                found = self._files.follow(file.name, target) if target else file
                if isinstance(found, File) and found.name not in seen:
                    seen.add(found.name)
                    todo.append(found)
        return False

    # ---------------------------------------------------------------------------------------------------------- servers

    def _all_servers(self) -> tuple[Server, ...]:
        if self._old:
            return self._old_servers()
        servers = self._servers(self._root)
        if not servers and "servers" not in self._tree:
            return self._against("/", within(self._root.where, "openapi"), "the document has no server")
        return servers

    def _servers(self, part: Part) -> tuple[Server, ...]:
        """Return the servers declared in a part."""
        written = part.value.get("servers") if not self._old else None
        found: list[Server] = []
        for index, value in enumerate(written if is_list(written) else ()):
            each = child(part, value, "servers", index)
            if not is_table(value) or not isinstance(value.get("url"), str):
                self._report(malformed(each.where, "a server with `url`", value))
                continue
            for server in self._server(each):
                if all(server.url != known.url for known in found):
                    found.append(server)
        return tuple(found)

    def _server(self, part: Part) -> tuple[Server, ...]:
        url: str = part.value["url"].strip()
        written = part.value.get("variables")
        table: Mapping[str, Any] = written if is_table(written) else {}
        names = list(dict.fromkeys(re.findall(r"\{([^{}]*)\}", url)))
        variables = tuple(_variable(name, table.get(name)) for name in names)
        absolute = re.match(r"(?:https?|\{[^{}]*\})://", url, re.IGNORECASE)
        if not absolute:
            if url.startswith("//"):
                url = f"https:{url}"
            elif re.match(r"[\w{}-]+(?:\.[\w{}-]+)+(?:[:/]|\Z)", url):  # a host without a scheme
                url = f"https://{url}"
            else:
                found = self._against(url or "/", within(part.where, "url"), f"the server {quoted(url)} is relative")
                if not found:
                    return ()
                url = found[0].url
        if re.search(r"[\s\x00-\x20\x7f]", url):
            self._report(
                Finding("malformed", f"{quoted(url)} is not a valid URL; it is ignored", within(part.where, "url"))
            )
            return ()
        return (
            Server(
                url=url.rstrip("/"),
                name=_plain(part.value.get("name")),
                description=_plain(part.value.get("description")),
                variables=variables,
            ),
        )

    def _against(self, url: str, where: Where, why: str) -> tuple[Server, ...]:
        """Resolve a server's URL against the URL of the source."""
        address = self._files.address
        if address is None:
            message = f"{why}, and the URL of the document is not known; the server is left out"
            self._report(Finding("server-relative", message, where, hint="pass `url_prefix` to the client"))
            return ()
        absolute = urljoin(address, url).rstrip("/")
        message = f"{why}; resolved against the URL of the document it is {absolute}"
        self._report(Finding("server-relative", message, where, "note"))
        return (Server(absolute),)

    def _old_servers(self) -> tuple[Server, ...]:
        host, base = _plain(self._tree.get("host")).strip(), _plain(self._tree.get("basePath")).strip()
        schemes = [name.lower() for name in texts(self._tree.get("schemes")) if name.lower() in ("http", "https")]
        base = f"/{base.strip('/')}" if base.strip("/") else ""
        if not host:
            why = f"the document has no host (basePath: {quoted(base or '/')})"
            return self._against(base or "/", within(self._root.where, "basePath" if base else "swagger"), why)
        address = self._files.address
        if not schemes and address is not None:
            schemes = [urlsplit(address).scheme]
        scheme = "https" if "https" in schemes or not schemes else schemes[0]
        if re.search(r"[\s/]", host.removesuffix("/").removeprefix("https://").removeprefix("http://")):
            self._report(Finding("malformed", f"{quoted(host)} is not a valid host", within(self._root.where, "host")))
            return ()
        host = host.removesuffix("/")
        return (Server(f"{host}{base}" if "://" in host else f"{scheme}://{host}{base}"),)

    # ---------------------------------------------------------------------------------------------------------- schemes

    def _schemes(self) -> dict[str, SecurityScheme]:
        root = self._root
        if self._old:
            table = child(root, self._tree.get("securityDefinitions"), "securityDefinitions")
        else:
            components = self._tree.get("components")
            written = components.get("securitySchemes") if is_table(components) else None
            table = child(root, written, "components", "securitySchemes")
        found: dict[str, SecurityScheme] = {}
        for name, value in table.value.items() if is_table(table.value) else ():
            each = self._references.table(child(table, value, name), "a security scheme")
            if each is not None:
                found[name] = _scheme(name, each)
        return found


def _scheme(name: str, part: Part) -> SecurityScheme:
    value: dict[str, Any] = part.value
    kind, scheme = _plain(value.get("type")), _plain(value.get("scheme")).lower()
    if kind == "basic":
        kind, scheme = "http", "basic"
    return SecurityScheme(
        name=name,
        type=kind,
        where=part.where,
        parameter=_plain(value.get("name")),
        place=_plain(value.get("in")),
        scheme=scheme,
        bearer_format=_plain(value.get("bearerFormat")),
        description=_plain(value.get("description")),
        flows=tuple(_flows(value)),
        extensions={key: inner for key, inner in value.items() if key.startswith("x-")},
    )


_OLD_FLOWS: Final = {"application": "clientCredentials", "accessCode": "authorizationCode"}


def _flows(value: Mapping[str, Any]) -> Iterable[Flow]:
    old = _plain(value.get("flow"))
    if old:
        yield _flow(_OLD_FLOWS.get(old, old), value)
    flows = value.get("flows")
    for kind, each in flows.items() if is_table(flows) else ():
        if is_table(each):
            yield _flow(kind, each)


def _flow(kind: str, value: Mapping[str, Any]) -> Flow:
    scopes = value.get("scopes")
    return Flow(kind, _plain(value.get("tokenUrl")), tuple(scopes) if is_table(scopes) else ())


def _variable(name: str, value: object) -> ServerVariable:
    if not is_table(value):
        return ServerVariable(name, "")
    enum = value.get("enum")
    values = tuple(_plain(each) for each in enum) if is_list(enum) else ()
    return ServerVariable(name, _plain(value.get("default")), values, _plain(value.get("description")))


def _tags(value: object) -> dict[str, str]:
    """Return the descriptions of tags."""
    found: dict[str, str] = {}
    for each in value if is_list(value) else ():
        if is_table(each) and isinstance(each.get("name"), str):
            found.setdefault(each["name"], _plain(each.get("description")))
    return found


def _plain(value: object) -> str:
    """Return a string, or a number as a string; any other value counts as absent."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)
