"""What a generated client gives all its requests: headers and search parameters, and the server that they go to.

Values come from its arguments, else from the environment, which is read when they are first needed, else they are the
spec's. None of them is part of a key, so that all clients of one package before one store have to agree in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib import parse as urls
from weakref import WeakKeyDictionary

from ..base.calls import HIDDEN, WITHOUT, ClientParam, Server, header_text
from ..base.transport import has_scheme, origin_of
from ..base.values import scalar_text
from ..endpoint.styles import styled_string
from ..schema.record import to_wire

if TYPE_CHECKING:
    from ..base.transport import RequestInit
    from ..cache.store import Store
    from ..http.auth import Api

_HOST: Final = re.compile(r"[A-Za-z0-9.-]+").fullmatch
_VARIABLE: Final = re.compile(r"\{([^{}]*)\}")

_served: Final[WeakKeyDictionary[Store, dict[Any, tuple[Any, str]]]] = WeakKeyDictionary()
"""What the clients of each package before a store were given, and how the first of them was called."""


class Parameters:
    """The values of the arguments of one client, which is of the class `kind`."""

    def __init__(self, kind: str, api: Api, given: Mapping[str, Any], server: str | None) -> None:
        self._kind = kind
        self._params = api.params
        self._given = given
        self._server = _server_of(kind, api, server)
        self._is_default = server is None or server == next(iter(api.servers), None)
        self._variables: Mapping[str, ClientParam] = {}
        if self._server is not None:
            self._variables = self._server.variables
        self._check(api)
        self._sent: tuple[dict[str, str], dict[str, Any]] | None = None
        self._url: str | None = None
        for name, param in {**self._params, **self._variables}.items():
            if given.get(name) is not None:
                self._text_of(name, param)

    def _check(self, api: Api) -> None:
        every = {name for server in api.servers.values() for name in server.variables}
        for name in self._given.keys() & every:
            if name not in self._variables and self._given[name] is not None:
                owners = [own for own, server in api.servers.items() if name in server.variables]
                raise TypeError(
                    f"{name} of {self._kind} is a variable of the server {owners[0]!r}, which is not the one that was "
                    f"chosen; give server={owners[0]!r}"
                )
        for name, param in self._params.items():
            if param.required and param.env is None and self._given.get(name) is None:
                raise TypeError(f"{self._kind} needs the argument {name!r}")

    # the server

    @property
    def moves(self) -> bool:
        """Whether the URL of the spec is not where requests go."""
        return self._server is not None and not (self._is_default and not self._variables)

    def url(self) -> str:
        """Where the chosen server is. Raises ValueError for a variable that has no value."""
        if self._url is None:
            assert self._server is not None
            host_ends = self._server.url.find("/", self._server.url.find("://") + 3)
            pieces: list[str] = []
            position = 0
            for found in _VARIABLE.finditer(self._server.url):
                pieces.append(self._server.url[position : found.start()])
                in_host = host_ends < 0 or found.start() < host_ends
                pieces.append(self._variable(found[1], in_host=in_host))
                position = found.end()
            self._url = "".join((*pieces, self._server.url[position:]))
        return self._url

    def _variable(self, name: str, *, in_host: bool) -> str:
        param = self._variables[name]
        text = self._value(name, param)
        if text is None:
            raise self._missing(name, param)
        shown = scalar_text(text)
        if not shown or (in_host and not _HOST(shown)):
            expected = "letters, digits, '.' and '-'" if in_host else "a string that is not empty"
            raise ValueError(
                f"{name} of {self._kind} is {shown!r}, which is part of the URL of a server: give {expected}"
            )
        return shown if in_host else urls.quote(shown, safe="")

    # what is sent

    def add_to(self, url: str, init: RequestInit, home: str) -> tuple[str, RequestInit]:
        """A request with what the client gives all that go to its API, which is at `home`.

        Raises ValueError for an argument that is needed and found nowhere.
        """
        if not self._params or not _is_at(url, home):
            return url, init
        if self._sent is None:
            self._sent = self._values()
        headers, query = self._sent
        without: Collection[str] = init.get(WITHOUT) or ()
        own: Mapping[str, Any] = init.get("headers") or {}
        present = {name.lower() for name in own}.union(without)
        added = {name: text for name, text in headers.items() if name.lower() not in present}
        if added:
            init = {**init, "headers": {**own, **added}}
        return (_with_query(url, query, self._styles(), without) if query else url), init

    def _styles(self) -> dict[str, str]:
        return {param.name: param.style for param in self._params.values() if param.style is not None}

    def _values(self) -> tuple[dict[str, str], dict[str, Any]]:
        headers: dict[str, str] = {}
        query: dict[str, Any] = {}
        for name, param in self._params.items():
            value = self._value(name, param)
            if value is None:
                if param.required:
                    raise self._missing(name, param)
            elif param.kind == "header":
                headers[param.name] = header_text(value, f"{name} of {self._kind}", secret=param.secret)
            else:
                query[param.name] = value
        return headers, query

    def _value(self, name: str, param: ClientParam) -> Any:
        value = self._given.get(name)
        if value is None and param.env is not None:
            value = os.environ.get(param.env) or None
        return to_wire(param.default if value is None else value)

    def _missing(self, name: str, param: ClientParam) -> ValueError:
        fix = f"give {self._kind} {name}=…"
        if param.env is not None:
            fix += f", or set the environment variable {param.env}"
        return ValueError(f"the argument {name!r} of {self._kind} has no value: {fix}")

    def _text_of(self, name: str, param: ClientParam) -> None:
        """Refuses a value that cannot be sent, at once."""
        if param.kind == "header":
            header_text(self._value(name, param), f"{name} of {self._kind}", secret=param.secret)
        elif param.kind == "variable" and self._server is not None:
            host_ends = self._server.url.find("/", self._server.url.find("://") + 3)
            at = self._server.url.find(f"{{{name}}}")
            self._variable(name, in_host=host_ends < 0 or at < host_ends)
        else:
            styled_string({param.name: self._value(name, param)}, self._styles())

    # agreement

    def agree(self, store: Store, package: Any, server: str | None) -> None:
        """Raises ValueError where another client of the package was given something else before the same store."""
        every = {**self._params, **self._variables}
        values = {name: self._value(name, param) for name, param in every.items()}
        mark = (None if self._is_default else server, tuple((name, repr(value)) for name, value in values.items()))
        shown = [f"server={server!r}"] if server is not None else []
        for name, value in values.items():
            if value is not None and value != to_wire(every[name].default):
                shown.append(f"{name}={HIDDEN if every[name].secret else repr(value)}")
        called = f"{self._kind}({', '.join(shown)})"
        with store.lock:
            known, first = _served.setdefault(store, {}).setdefault(package, (mark, called))
        if known != mark:
            raise ValueError(f"this store already serves {first}; give {called} a Store of its own")


def _server_of(kind: str, api: Api, server: str | None) -> Server | None:
    if not api.servers:
        if server is not None:
            raise TypeError(f"the API of {kind} has one server, so that there is none to choose")
        return None
    if server is None:
        return next(iter(api.servers.values()))
    if server not in api.servers:
        raise ValueError(f"server of {kind} is one of {', '.join(map(repr, api.servers))}, not {server!r}")
    return api.servers[server]


def _is_at(url: str, home: str) -> bool:
    """Whether a URL leads to the API itself."""
    if not has_scheme(url):
        return True
    try:
        return bool(home) and origin_of(url) == origin_of(home)
    except ValueError:
        return False


def _with_query(url: str, query: Mapping[str, Any], styles: Mapping[str, str], without: Collection[str]) -> str:
    address, _, present = url.partition("?")
    names = {urls.unquote_plus(pair.partition("=")[0]) for pair in present.split("&")}
    added = {name: value for name, value in query.items() if name not in names and name not in without}
    text = styled_string(added, styles)
    if not text:
        return url
    return f"{address}?{present}&{text}" if present else f"{address}?{text}"


def variables_of(api: Api) -> frozenset[str]:
    """The arguments that the servers of an API have."""
    return frozenset(name for server in api.servers.values() for name in server.variables)
