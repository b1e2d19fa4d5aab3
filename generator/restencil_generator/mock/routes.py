"""Routing of requests to endpoints: path templates as regular expressions, the most literal first."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from restencil_generator.spec import model as d

Query = Sequence[tuple[str, str]]

_PLACEHOLDER = "\0"


@dataclasses.dataclass(frozen=True, slots=True)
class Route:
    """One endpoint and the pattern of its requests.

    `prefix` is before its path; `names` are the parameters in the order of the pattern's groups; `literals` are the
    constant query arguments of the template, `holes` those that are parameters: argument name → parameter name.
    """

    resource: d.Resource
    name: str
    endpoint: d.Endpoint
    prefix: str
    pattern: re.Pattern[str]
    names: tuple[str, ...]
    literals: tuple[tuple[str, str], ...]
    holes: Mapping[str, str]
    rank: tuple[int, ...]

    def match(self, path: str, query: Query) -> dict[str, str] | None:
        """Return the path parameters if path and query match this template, else None."""
        found = self.pattern.fullmatch(path)
        if found is None or any(pair not in query for pair in self.literals):
            return None
        texts = zip(self.names, found.groups(), strict=True)
        params = {name: unquote(text) for name, text in texts if text is not None}
        arguments = dict(query)
        for argument, name in self.holes.items():
            if argument in arguments:
                params[name] = arguments[argument]
        return params


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A route, the values of its path parameters, and the query arguments that are not part of its template."""

    route: Route
    params: Mapping[str, str]
    query: Query


class Routes:
    """All routes of a spec."""

    def __init__(self, spec: d.Spec) -> None:
        self._routes = sorted(_routes(spec), key=lambda route: route.rank)

    def find(self, method: str, path: str, query: Query) -> Found | frozenset[str]:
        """Return the route of a request; if there is none, the methods with that path (empty for an unknown path).

        `path` is percent-encoded, as it was sent. A HEAD request has the route of GET.
        """
        path = _normal(path)
        methods: set[str] = set()
        for route in self._routes:
            params = route.match(path, query)
            if params is None:
                continue
            served = route.endpoint.method
            if served in (method, "GET" if method == "HEAD" else method):
                taken = {*route.holes, *(name for name, _ in route.literals)}
                return Found(route, params, [pair for pair in query if pair[0] not in taken])
            methods.add(served)
        return frozenset(methods | {"HEAD"} if "GET" in methods else methods)

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)


def _routes(spec: d.Spec) -> Iterator[Route]:
    for resource in spec.resources.values():
        for name, endpoint in resource.all_endpoints():
            prefix = urlsplit(endpoint.url_prefix).path.rstrip("/")
            # The path of url_prefix is optional, so that url_prefix="http://127.0.0.1:8000" works; of a resource's own
            # url_prefix only the part after that of the spec is required.
            own = endpoint.url_prefix.removeprefix(spec.url_prefix) if spec.url_prefix else ""
            behind = own.rstrip("/") if own != endpoint.url_prefix else ""
            for before in dict.fromkeys(("", behind, prefix)):
                yield _route(resource, name, endpoint, before)


def _route(resource: d.Resource, name: str, endpoint: d.Endpoint, prefix: str) -> Route:
    path, _, query = _flat(endpoint.path).partition("?")
    parameters = list(endpoint.path.parameters)
    in_path = parameters[: path.count(_PLACEHOLDER)]
    in_query = parameters[len(in_path) :]

    wide = {field.name for field in endpoint.params if field.slashes}
    # Literals are normalized like `_normal`, then every placeholder becomes a group.
    pattern = ""
    pieces = _literal(prefix + _without_host(path)).split(_PLACEHOLDER)
    for piece, parameter in zip(pieces, [*in_path, None], strict=True):
        pattern += re.escape(piece)
        if parameter is not None:
            group = re.escape(parameter.prefix) + ("(.+?)" if parameter.name in wide else "([^/]+?)")
            pattern += f"(?:{group})?" if parameter.optional else group

    literals: list[tuple[str, str]] = []
    holes: dict[str, str] = {}
    rest = iter(in_query)
    for argument, text in parse_qsl(query, keep_blank_values=True):
        if _PLACEHOLDER in text:
            holes[argument] = next(rest).name
        else:
            literals.append((argument, text))
    return Route(
        resource=resource,
        name=name,
        endpoint=endpoint,
        prefix=prefix,
        pattern=re.compile(pattern or "/"),
        names=tuple(parameter.name for parameter in in_path),
        literals=tuple(literals),
        holes=holes,
        rank=(len(in_path), -len("".join(pieces)), -len(literals), -len(holes)),
    )


def filled(path: d.Path, values: Mapping[str, str]) -> str | None:
    """Return a path with these values of its parameters; None if a required one is missing."""
    text = ""
    for part in path.parts:
        if isinstance(part, d.PathText):
            text += quote(part.text, safe="/%:@!$&'()*+,;=~-._")
        elif value := values.get(part.name):
            text += part.prefix + quote(value, safe="")
        elif not part.optional:
            return None
    return text.partition("?")[0]


def _flat(path: d.Path) -> str:
    """Return the template with a placeholder for each parameter, without prefixes of optional parameters."""
    return "".join(part.text if isinstance(part, d.PathText) else _PLACEHOLDER for part in path.parts)


def _without_host(path: str) -> str:
    """Return the path of a template, which may be a whole URL."""
    return urlsplit(path).path if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path) else path


def _literal(text: str) -> str:
    return _PLACEHOLDER.join(_normal(quote(piece, safe="/%")) for piece in text.split(_PLACEHOLDER))


def _normal(path: str) -> str:
    """Return a percent-encoded path in a canonical form, with its slashes."""
    return "/".join(quote(unquote(segment), safe="") for segment in path.split("/"))
