"""Inference of `auth`, `servers` and `url_prefix`."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from restencil_generator.diagnostics.model import quoted
from restencil_generator.openapi.document.json_types import is_table
from restencil_generator.openapi.document.model import Document, Finding, Requirement, SecurityScheme, Server, Where
from restencil_generator.openapi.infer.names.inflection import snake_case
from restencil_generator.openapi.infer.names.types import member_names, spare_names
from restencil_generator.openapi.spec_tree import Value
from restencil_generator.spec.grammar.patterns import HTTP_WORD, SCOPE
from restencil_generator.spec.names import CLIENT_ARGUMENTS

_PLACES: Final = ("header", "query", "cookie")
_WORD: Final = re.compile(r"(Token|Bearer|Api-?Key|Key|JWT|Bot|OAuth|SSWS|GenieKey)", re.IGNORECASE)
"""Words before keys in headers."""
_LOOPBACK: Final = re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\])(:|/|\Z)")

Use = tuple[tuple[str, ...], ...]
"""Alternatives of schemes that are required together; an empty one requires nothing."""


class Access:
    """The security schemes of a document in the spec language, and their use by operations."""

    def __init__(self, document: Document, package: str) -> None:
        self.document = document
        self.package = package
        self.names: dict[str, str] = {}
        self.forms: dict[str, dict[str, Value]] = {}
        self.checks: list[str] = []
        self.top = self._top()
        used = [scheme for use in (self.top, *self._others()) for both in use for scheme in both]
        if not used and document.schemes and not self.top and not document.security:
            used = list(document.schemes)
            self.checks.append("check: no operation asks for it")
        self.used_by_none = bool(self.checks)
        declared = sum(operation.security is not None for operation in document.operations)
        self.silent = not document.security and 0 < declared < len(document.operations) - declared
        """Whether neither the document nor most operations declare security: then its absence means nothing."""
        if self.silent and not self.used_by_none:
            count = len(document.operations) - declared
            self.checks.append(f"check: {count} operations do not say whether they ask for it")
        self._undeclared(used)
        kept = [scheme for scheme in document.schemes if scheme in used]
        for scheme in kept:
            form = self._form(document.schemes[scheme])
            if form is not None:
                self.forms[scheme] = form
        taken = member_names(self.forms, "parameter")
        self.names = {
            scheme: f"{name}_auth" if name in CLIENT_ARGUMENTS - {"token"} else name for scheme, name in taken.items()
        }
        if self.used_by_none:
            self.top = tuple((scheme,) for scheme in self.forms)

    def _top(self) -> Use:
        if self.document.security or not self.document.operations:
            return _use(self.document.security)
        declared = [operation.security for operation in self.document.operations]
        counted = Counter(_use(each) for each in declared if each is not None)
        if not counted:
            return ()
        return max(counted, key=lambda use: (counted[use], use))

    def _others(self) -> Iterable[Use]:
        for operation in self.document.operations:
            if operation.security is not None:
                yield _use(operation.security)

    def _form(self, scheme: SecurityScheme) -> dict[str, Value] | None:
        """Convert a scheme to the spec language; returns None, with a finding, if it is not supported."""
        signed = _is_signed(scheme)
        is_named = scheme.place == "query" or re.fullmatch(HTTP_WORD, scheme.parameter) is not None
        if scheme.type == "apiKey" and scheme.place in _PLACES and scheme.parameter and is_named and not signed:
            prefix = self._prefix(scheme) if scheme.place == "header" else ""
            return {scheme.place: scheme.parameter, **({"prefix": prefix} if prefix else {})}
        if scheme.type == "http" and scheme.scheme in ("basic", "bearer"):
            return {scheme.scheme: True}
        if scheme.type == "oauth2":
            for flow in scheme.flows:
                safe = flow.token_url.startswith("https://") or _LOOPBACK.match(flow.token_url)
                if flow.kind == "clientCredentials" and safe:
                    oauth2: dict[str, Value] = {"token_url": flow.token_url, "grant": "client_credentials"}
                    wanted = self._scopes(scheme.name)
                    valid = [scope for scope in flow.scopes if re.fullmatch(SCOPE.regex, scope)]
                    if scopes := [scope for scope in valid if scope in wanted] or valid:
                        oauth2["scopes"] = list[Value](scopes)
                    return {"oauth2": oauth2}
            return {"bearer": True}
        if scheme.type == "openIdConnect":
            return {"bearer": True}
        does = f"signs requests ({'AWS4' if signed else scheme.scheme or scheme.type})"
        if scheme.type == "apiKey" and not signed:
            does = "does not define the header, cookie or query parameter of its key"
        elif scheme.type == "mutualTLS":
            does = "requires a certificate of the client (mutualTLS)"
        message = f"the scheme '{scheme.name}' {does}; use an `endpoint: python:`"
        self.document.findings.append(Finding("auth-not-carried", message, scheme.where))
        return None

    def _prefix(self, scheme: SecurityScheme) -> str:
        """Return the prefix of a key in a header, from an extension, the format or the description."""
        fern = scheme.extensions.get("x-fern-header")
        if is_table(fern) and isinstance(fern.get("prefix"), str):
            return _spaced(fern["prefix"])
        if _WORD.fullmatch(scheme.bearer_format):
            return _spaced(scheme.bearer_format)
        examples = [value for key, value in scheme.extensions.items() if "example" in key and isinstance(value, str)]
        for text in (scheme.description, *examples):
            found = re.search(rf"{re.escape(scheme.parameter)}\W{{1,8}}{_WORD.pattern}\s+\W*\w", text) or (
                re.search(rf"[`'\"]{_WORD.pattern}(?:\s+[<{{$\[\w]|\s*[`'\"])", text)
            )
            if found is not None:
                return _spaced(found[1])
        if scheme.parameter.lower() == "authorization":
            self.checks.append("check: does a word such as 'Bearer ' stand before the key?")
        return ""

    @functools.cached_property
    def keys(self) -> frozenset[tuple[str, str]]:
        """The places and names, in lower case, of the parameters in which schemes send their keys."""
        schemes = (self.document.schemes[name] for name in self.forms)
        return frozenset((each.place, each.parameter.lower()) for each in schemes if each.type == "apiKey")

    def _undeclared(self, used: Iterable[str]) -> None:
        """Report schemes that operations name and the document does not declare."""
        for name in dict.fromkeys(used):
            if name not in self.document.schemes:
                message = f"the scheme {quoted(name)} is named, but not declared; no credentials are sent for it"
                where = Where(self.document.source, "/security" if self.document.security else "")
                self.document.findings.append(Finding("auth-not-carried", message, where))

    def _scopes(self, scheme: str) -> set[str]:
        """Return the scopes that the document and its operations require."""
        requirements = [self.document.security, *(operation.security or () for operation in self.document.operations)]
        return {scope for each in requirements for requirement in each for scope in requirement.get(scheme, ())}

    def auth(self) -> tuple[Value, str]:
        """Return the top-level `auth` and its comment; null if there is none."""
        prefix = self.package.upper()
        use = self.carried(self.top)
        if not self.forms:
            return None, ""
        if len(self.forms) == 1:
            scheme, form = next(iter(self.forms.items()))
            if "oauth2" not in form and all(len(both) <= 1 for both in use) and () not in use:
                return {**form, "env": f"{prefix}_TOKEN"}, "; ".join([scheme, *self.checks])
        schemes: dict[str, Value] = {}
        for scheme, form in self.forms.items():
            name = self.names[scheme]
            middle = "" if len(self.forms) == 1 else f"_{name.upper()}"
            env: Value = f"{prefix}{middle or '_TOKEN'}"
            if "oauth2" in form:
                env = {"client_id": f"{prefix}{middle}_CLIENT_ID", "client_secret": f"{prefix}{middle}_CLIENT_SECRET"}
            schemes[name] = {**form, "env": env}
        return {"schemes": schemes, "use": self.written(use)}, "; ".join(dict.fromkeys(self.checks))

    def carried(self, use: Use) -> Use:
        """Return the supported alternatives, with an empty one at the end."""
        kept = [both for both in use if both and all(scheme in self.forms for scheme in both)]
        found = tuple(dict.fromkeys(kept))
        return (*found, ()) if () in use else found

    def written(self, use: Use) -> Value:
        """Return alternatives in the spec language."""
        found: list[Value] = []
        for both in use:
            names: list[Value] = [self.names[scheme] for scheme in both]
            found.append(names[0] if len(names) == 1 else names or "none")
        return found

    def own(self, security: tuple[Requirement, ...] | None) -> Value:
        """Return the `auth` of an operation if it differs from that of the document, else an empty string."""
        whole, use = self.carried(self.top), self.carried(_use(security or ()))
        missing = security is None and not self.document.security and bool(self.top)
        if missing and (self.silent or self.used_by_none):
            return ""
        if (security is None and not missing) or not self.forms:
            return ""
        if use == whole and not missing:
            return ""
        asks = [both for both in use if both]
        if not asks:
            return "none" if missing or not security or () in use or () in _use(security) else ""
        if len(self.forms) == 1 and "oauth2" not in next(iter(self.forms.values())) and () not in whole:
            return ""
        return self.names[use[0][0]] if len(use) == 1 and len(use[0]) == 1 else self.written(use)


def _spaced(prefix: str) -> str:
    return f"{prefix.rstrip()} " if prefix.strip() else ""


def _is_signed(scheme: SecurityScheme) -> bool:
    """Return whether requests are signed as for Amazon."""
    declared = scheme.extensions.get("x-amazon-apigateway-authtype")
    return scheme.scheme.startswith("aws4") or (isinstance(declared, str) and declared.lower() == "awssigv4")


def _use(security: tuple[Requirement, ...]) -> Use:
    return tuple(dict.fromkeys(tuple(requirement) for requirement in security))


def servers_of(document: Document) -> dict[str, Value]:
    """Return the top-level `url_prefix` or `servers`."""
    found = [server for server in map(_with_scheme, document.servers) if is_usable(server)]
    unique = list({server.url: server for server in found}.values())
    if not unique:
        return {}
    if len(unique) == 1 and not unique[0].variables:
        return {"url_prefix": unique[0].url}
    named: dict[str, Value] = {}
    types: dict[str, Value] = {}
    for server in unique:
        name = next(name for name in _server_names(server) if name not in named)
        named[name] = server.url if not server.variables else _with_variables(server, name, types)
    return {"servers": named}


def variables_of(top: Mapping[str, Value]) -> set[str]:
    """Return the names of the variables of servers at the top level of a spec, which are arguments of the client."""
    servers = top.get("servers")
    each = [server for server in servers.values() if isinstance(server, dict)] if isinstance(servers, dict) else []
    return {name for server in each if isinstance(named := server["variables"], dict) for name in named}


def _with_scheme(server: Server) -> Server:
    """Replace a variable in place of the scheme by its default, since a spec has no variable there."""
    for variable in server.variables:
        if server.url.startswith(f"{{{variable.name}}}://"):
            others = tuple(other for other in server.variables if other is not variable)
            url = f"{variable.default}{server.url.removeprefix(f'{{{variable.name}}}')}"
            return dataclasses.replace(server, url=url, variables=others)
    return server


def is_usable(server: Server) -> bool:
    """Return whether requests can be sent to a server: its URL has a host."""
    text = server.url
    for variable in server.variables:
        text = text.replace(f"{{{variable.name}}}", "x")
    return bool(re.match(r"https?://[^/\s{}]+", text)) and "{" not in text and not re.search(r"[\s?#]", text)


def _server_names(server: Server) -> Iterable[str]:
    host = re.sub(r"^https?://|\{[^}]*\}", "", server.url).partition("/")[0].partition(":")[0]
    label = snake_case(server.name or server.description, "")
    for word in ("production", "sandbox", "staging", "development", "testing", "test", "local", "beta", "demo", "mock"):
        if word in label.split("_"):
            label = word
            break
    label = label.removesuffix("_server").removesuffix("_environment")
    if label and len(label.split("_")) <= 3:
        yield label
    labels = [snake_case(label) for label in host.split(".") if label]
    for count in range(1, len(labels) + 1):
        yield "_".join(labels[:count]) or "default"
    path = snake_case(re.sub(r"^https?://", "", server.url))
    yield path
    yield f"{server.url.partition(':')[0]}_{path}"
    yield "default"
    yield from spare_names("default", "_other")


def _with_variables(server: Server, owner: str, types: dict[str, Value]) -> dict[str, Value]:
    """Return a server with its variables. `types` are those of other servers: a name has one type in all of them."""
    names = member_names((variable.name for variable in server.variables), "parameter")
    url, variables = server.url, dict[str, Value]()
    for variable in server.variables:
        name = names[variable.name]
        name = f"{name}_part" if name in CLIENT_ARGUMENTS else name
        type: Value = {"enum": list(variable.enum)} if len(variable.enum) > 1 else "string"
        name = f"{owner}_{name}" if types.setdefault(name, type) != type else name
        url = url.replace(f"{{{variable.name}}}", f"{{{name}}}")
        values: dict[str, Value] = {"type": type, "default": variable.default}
        if variable.enum and variable.default not in variable.enum:
            values["default"] = variable.enum[0]
        if variable.description.strip():
            values["description"] = variable.description.strip()
        variables[name] = values
    return {"url": url, "variables": variables}
