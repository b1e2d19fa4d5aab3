"""Builds the endpoints and resources that a case describes, and the named functions that it gives them.

Most named functions become plain options. Those that need the endpoint itself, or the library's own hook applied to
it, become methods of a subclass that read their rule from the endpoint; so they hold for whatever is derived from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from tests.conformance.definitions import Definitions, Json, collection_options, non_filter
from tests.libraries import httpx

from restencil import AbortOptimistic, RestEndpoint, create_resource, schema, soft_on_server_error

Hook = Callable[..., Any]

FUNCTIONS = frozenset(
    {
        "error_policy",
        "fetch_response",
        "get_headers",
        "get_optimistic_response",
        "get_request_init",
        "key",
        "parse_response",
        "process",
        "search_to_string",
        "update",
        "url",
    }
)
"""Options whose value in a case names a function."""


class Endpoints:
    """The endpoints and resources of one case, found by their dotted path."""

    def __init__(
        self, case: Mapping[str, Json], definitions: Definitions, recording: type[RestEndpoint[..., Any]] | None = None
    ) -> None:
        self._case = case
        self._definitions = definitions
        self._root: type[RestEndpoint[..., Any]] = recording or RestEndpoint
        self._late = frozenset(_late_hooks(case))
        self._specs: dict[str, Json] = dict(case.get("endpoints", {}))
        if "endpoint" in case:
            self._specs["E"] = case["endpoint"]
        self._built: dict[str, Any] = {}
        for name in [*case.get("resources", {}), *self._specs]:
            self._named(name)

    def find(self, ref: str) -> Any:
        """The endpoint or resource that a dotted path names; AttributeError where a member does not exist."""
        name, *members = ref.split(".")
        found = self._named(name)
        for member in members:
            found = getattr(found, member)
        return found

    def _named(self, name: str) -> Any:
        if name not in self._built:
            resources: Mapping[str, Json] = self._case.get("resources", {})
            if name in resources:
                self._built[name] = self._resource(resources[name])
            elif name in self._specs:
                self._built[name] = self._endpoint(self._specs[name])
            else:
                raise LookupError(f"no endpoint or resource called {name!r}")
        return self._built[name]

    def _endpoint(self, spec: Mapping[str, Json]) -> Any:
        if "from" not in spec:
            options = {name: value for name, value in spec.items() if name != "endpoint_class"}
            return self._class(spec.get("endpoint_class"))(**self.options(options))
        base = self.find(spec["from"])
        if "extend" in spec:
            return base.extend(**self.options(spec["extend"]))
        rule: str | Mapping[str, list[str]] = spec["paginated"]
        if isinstance(rule, str):
            return base.paginated(rule)
        removed = rule["remove"]

        def without(*args: Any) -> tuple[dict[str, Any]]:
            first: Mapping[str, Any] = (args[0] if args else None) or {}
            return ({name: value for name, value in first.items() if name not in removed},)

        return base.paginated(without)

    def _resource(self, spec: Mapping[str, Json]) -> Any:
        special = ("endpoint_class", "collection_class", "extend")
        options = self.options({name: value for name, value in spec.items() if name not in special})
        cls = self._class(spec.get("endpoint_class"))
        if cls is not RestEndpoint:
            options["Endpoint"] = cls
        if "collection_class" in spec:
            options["Collection"] = _collection_class(spec["collection_class"])
        resource: Any = create_resource(**options)
        for step in spec.get("extend", ()):
            resource = self._extended(resource, step)
        return resource

    def _extended(self, resource: Any, step: Mapping[str, Json]) -> Any:
        if step["form"] == "batch":
            return resource.extend({name: self.options(options) for name, options in step["overrides"].items()})
        if step["form"] == "add":
            return resource.extend(step["name"], self.options(step["options"]))
        members: Mapping[str, Json] = step["members"]

        def added(base: Any) -> dict[str, Any]:
            made: dict[str, Any] = {}
            for name, member in members.items():
                source: Any = base
                for part in member["from"].split("."):
                    source = getattr(source, part)
                made[name] = source.extend(**self.options(member.get("options", {})))
            return made

        return resource.extend(added)

    def options(self, spec: Mapping[str, Json]) -> dict[str, Any]:
        """The options of a case as keywords: schemas built, functions found by their names."""
        made: dict[str, Any] = {}
        for name, value in spec.items():
            if name == "schema":
                made[name] = self._definitions.schema(value)
            elif name in FUNCTIONS and value is not None:
                if name in self._late:
                    made[_rule_of(name)] = value
                else:
                    made[name] = self._function(name, value)
            else:
                made[name] = value
        return made

    # -- classes -------------------------------------------------------------------------------------------------

    def _class(self, spec: Mapping[str, Json] | None) -> type[RestEndpoint[..., Any]]:
        cls = self._root
        if spec is not None:
            members = {
                name: self._method(name, value) if name in FUNCTIONS and value is not None else value
                for name, value in spec.items()
            }
            if "schema" in spec:
                members["schema"] = self._definitions.schema(spec["schema"])
            cls = type("CaseEndpoint", (cls,), members)
        if self._late:
            cls = type("LateEndpoint", (cls,), {hook: self._dispatching(hook) for hook in self._late})
        return cls

    def _method(self, hook: str, rule: Json) -> Hook:
        """A method of a class body: the hook with the endpoint first."""
        bound = self._bound(hook, rule)
        if bound is not None:
            return bound
        function = self._function(hook, rule)
        if inspect.iscoroutinefunction(function):

            async def awaited(endpoint: Any, *args: Any) -> Any:
                return await function(*args)

            return awaited
        return lambda endpoint, *args: function(*args)

    def _dispatching(self, hook: str) -> Hook:
        """A method that does what the endpoint's rule for this hook says, and without a rule what the class says."""
        attribute = _rule_of(hook)

        def method(endpoint: Any, *args: Any) -> Any:
            rule = getattr(endpoint, attribute, None)
            if rule is not None:
                return self._method(hook, rule)(endpoint, *args)
            above = next(cls for cls in type(endpoint).__mro__ if hook in vars(cls) and vars(cls)[hook] is not method)
            return vars(above)[hook](endpoint, *args)

        return method

    def _base(self, hook: str) -> Hook:
        """The library's own hook, as a function of endpoint and arguments."""
        found: Hook = getattr(self._root, hook)
        return found

    # -- functions -----------------------------------------------------------------------------------------------

    def _bound(self, hook: str, rule: Json) -> Hook | None:
        """The functions that need the endpoint or the library's own hook; they take the endpoint first."""
        if not _needs_endpoint(hook, rule):
            return None
        base = self._base(hook)
        name, _, rest = rule.partition(":")
        made = _BOUND[hook].get(name)
        if made is None:
            raise LookupError(f"no function {rule!r} for {hook}")
        return made(base, rest)

    def _function(self, hook: str, rule: Json) -> Hook:
        """The functions that need nothing but their arguments."""
        if hook == "get_optimistic_response":
            return self._optimistic(rule)
        if hook == "update":
            return self._update(rule)
        name, _, rest = rule.partition(":")
        if hook == "get_headers" and name.endswith("token_box"):
            return _token_box(self._case.get("token"), asynchronous=name.startswith("async_"))
        made = _PLAIN[hook].get(name)
        if made is None:
            raise LookupError(f"no function {rule!r} for {hook}")
        return made(rest)

    def _optimistic(self, rule: str | Mapping[str, Json]) -> Hook:
        if isinstance(rule, str):
            return _OPTIMISTIC[rule]
        increment = rule["increment"]
        ref, field, by = increment["endpoint"], increment["field"], increment["by"]

        def incremented(snapshot: Any, *args: Any) -> Any:
            data = snapshot.get_response(self.find(ref), *args[:1]).data
            if data is None:
                raise snapshot.abort
            members = self._definitions.members(data)
            return {**members, field: members[field] + by}

        return incremented

    def _update(self, rules: str | list[Mapping[str, Json]]) -> Hook:
        if rules == "fail":
            return _fails
        steps: list[Mapping[str, Json]] = [rules_of for rules_of in rules if isinstance(rules_of, dict)]

        def update(result: Any, *args: Any) -> dict[str, Hook]:
            return {self.find(step["endpoint"]).key(*step.get("args", ())): _updater(step, result) for step in steps}

        return update


def _late_hooks(spec: Json) -> Iterator[str]:
    """The hooks for which some option outside a class body names a function that needs the endpoint."""
    if isinstance(spec, list):
        for item in spec:
            yield from _late_hooks(item)
    elif isinstance(spec, dict):
        for name, value in spec.items():
            if name in FUNCTIONS and _needs_endpoint(name, value):
                yield name
            elif name not in ("endpoint_class", "definitions", "steps", "expect", "response", "server"):
                yield from _late_hooks(value)


def _needs_endpoint(hook: str, rule: Json) -> bool:
    return isinstance(rule, str) and rule.partition(":")[0] in _BOUND.get(hook, {})


def _rule_of(hook: str) -> str:
    return f"case_{hook}"


def _collection_class(spec: Mapping[str, Json]) -> type[Any]:
    members: dict[str, Any] = {}
    for name, function in collection_options(spec).items():
        if name == "non_filter_argument_keys":
            rule = non_filter(spec[name])
            accepts: Callable[[str], bool] = rule.__contains__ if isinstance(rule, list) else rule
            members[name] = _method_of(accepts)
        else:
            members[name] = _method_of(function)
    return type("CaseCollection", (schema.Collection,), members)


def _method_of(function: Callable[..., Any]) -> Hook:
    return lambda collection, *args: function(*args)


# -- functions of the cases, by hook and name ------------------------------------------------------------------------


def _picked(path: str) -> Hook:
    def pick(value: Any, *args: Any) -> Any:
        for part in path.split("."):
            value = value[part]
        return value

    return pick


def _keyed(field: str) -> Hook:
    return lambda value, *args: {item[field]: item for item in value}


def _token_box(token: str | None, *, asynchronous: bool) -> Hook:
    def with_token(headers: Mapping[str, str]) -> dict[str, str]:
        return {**headers, "Access-Token": token} if token else dict(headers)

    async def with_token_later(headers: Mapping[str, str]) -> dict[str, str]:
        return with_token(headers)

    return with_token_later if asynchronous else with_token


def _add_header(rest: str) -> Hook:
    name, _, value = rest.partition(":")
    return lambda headers: {**headers, name: value}


def _async_add_header(rest: str) -> Hook:
    add = _add_header(rest)

    async def later(headers: Mapping[str, str]) -> Any:
        return add(headers)

    return later


def _canned(text: str) -> Hook:
    return lambda url, init: httpx.Response(200, text=text, headers={"Content-Type": "application/json"})


def _brackets(params: Mapping[str, Any]) -> str:
    def pairs(name: str, value: Any) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict):
            for inner in sorted(value):
                yield from pairs(f"{name}[{inner}]", value[inner])
        elif isinstance(value, (list, tuple)):
            items: list[Any] | tuple[Any, ...] = value
            for place, item in enumerate(items):
                yield from pairs(f"{name}[{place}]", item)
        elif value is not None:
            yield name, {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)

    found = [pair for name in sorted(params) for pair in pairs(name, params[name])]
    return "&".join(f"{quote(name, safe=_KEPT)}={quote(text, safe=_KEPT)}" for name, text in found)


_KEPT = "-_.!~*'()"


def _text_of_response(rest: str) -> Hook:
    return lambda response: response.text


def _soft_at(rest: str) -> Hook:
    return lambda error: "soft" if getattr(error, "status", 0) == int(rest) else None


def _soft_from(rest: str) -> Hook:
    return lambda error: "soft" if (getattr(error, "status", None) or 0) >= int(rest) else None


_PLAIN: dict[str, dict[str, Callable[[str], Hook]]] = {
    "process": {
        "wrap_value": lambda rest: lambda value, *args: {"wrapped": value},
        "pick": _picked,
        "count": lambda rest: lambda value, *args: {"count": len(value)},
        "key_by": _keyed,
        "merge_params": lambda rest: lambda value, *args: {**args[0], **value},
        "add_body": lambda rest: lambda value, *args: {**value, "sent": args[-1]},
        "arg_count": lambda rest: lambda value, *args: {"value": value, "args": len(args)},
        "null_to_params": lambda rest: lambda value, *args: args[0] if value is None else value,
    },
    "get_headers": {
        "add_header": _add_header,
        "async_add_header": _async_add_header,
        "drop_header": lambda rest: lambda headers: {name: text for name, text in headers.items() if name != rest},
        "unchanged": lambda rest: lambda headers: headers,
    },
    "search_to_string": {"brackets": lambda rest: _brackets},
    "parse_response": {"text": _text_of_response},
    "fetch_response": {"canned_json": _canned},
    "key": {"const": lambda rest: lambda *args: rest},
    "error_policy": {
        "soft_always": lambda rest: lambda error: "soft",
        "hard_always": lambda rest: lambda error: None,
        "soft_if_status_ge": _soft_from,
        "soft_if_status": _soft_at,
        "soft_on_server_error": lambda rest: soft_on_server_error,
    },
    "get_request_init": {},
    "url": {},
}


def _access_token(base: Hook, rest: str) -> Hook:
    def get_headers(endpoint: Any, headers: Mapping[str, str]) -> dict[str, str]:
        token = getattr(endpoint, "access_token", None)
        return {**headers, "Access-Token": token} if token else dict(headers)

    return get_headers


def _with_init(base: Hook, name: str, value: str) -> Hook:
    return lambda endpoint, body=None: _then(base(endpoint, body), lambda init: {**init, name: value})


def _wrapped_body(base: Hook, name: str) -> Hook:
    return lambda endpoint, body=None: base(endpoint, None if body is None else {name: body})


def _default_param(base: Hook, rest: str) -> Hook:
    name, _, value = rest.partition(":")
    return lambda endpoint, params=None, *more: base(endpoint, {name: value, **(params or {})}, *more)


def _upper(base: Hook, rest: str) -> Hook:
    def search_to_string(endpoint: Any, params: Mapping[str, Any]) -> str:
        texts = [base(endpoint, {name: value}) for name, value in params.items()]
        return "&".join(text for text in texts if text).upper()

    return search_to_string


def _then(value: Any, go_on: Callable[[Any], Any]) -> Any:
    """What follows from a value that may be an awaitable."""
    if not inspect.isawaitable(value):
        return go_on(value)

    async def later() -> Any:
        return go_on(await value)

    return later()


def _with_status(base: Hook, rest: str) -> Hook:
    return lambda endpoint, response: _then(
        base(endpoint, response), lambda value: {"status": response.status_code, "value": value}
    )


def _header_total(base: Hook, rest: str) -> Hook:
    return lambda endpoint, response: _then(
        base(endpoint, response), lambda value: {"total": response.headers.get("X-Total"), "value": value}
    )


_BOUND: dict[str, dict[str, Callable[[Hook, str], Hook]]] = {
    "get_headers": {"access_token": _access_token},
    "get_request_init": {
        "credentials": lambda base, rest: _with_init(base, "credentials", rest),
        "add_init": lambda base, rest: _with_init(base, *rest.split(":", 1)),
        "wrap_body": _wrapped_body,
    },
    "url": {
        "prepend": lambda base, rest: lambda endpoint, *params: rest + base(endpoint, *params),
        "append": lambda base, rest: lambda endpoint, *params: base(endpoint, *params) + rest,
        "default_param": _default_param,
    },
    "search_to_string": {"upper": _upper},
    "parse_response": {"with_status": _with_status, "header_total": _header_total},
    "fetch_response": {
        "append_to_url": lambda base, rest: lambda endpoint, url, init: base(endpoint, url + rest, init)
    },
    "key": {"prefix": lambda base, rest: lambda endpoint, *args: rest + base(endpoint, *args)},
}


def _aborts(snapshot: Any, *args: Any) -> Any:
    raise AbortOptimistic


def _fails(*args: Any) -> Any:
    raise RuntimeError("the case wants this function to fail")


_OPTIMISTIC: dict[str, Hook] = {
    "params": lambda snapshot, *args: args[0],
    "body": lambda snapshot, *args: args[-1],
    "params_and_body": lambda snapshot, *args: {**args[0], **args[1]},
    "abort": _aborts,
    "fail": _fails,
}


def _updater(step: Mapping[str, Json], result: Any) -> Hook:
    operation: str = step["op"]
    if operation == "fail":
        return _fails

    def changed(current: Any) -> list[Any]:
        if operation == "replace":
            return [result]
        return [*(current or ()), result] if operation == "append" else [result, *(current or ())]

    member: str | None = step.get("member")
    if member is None:
        return changed
    return lambda current: {**(current or {}), member: changed((current or {}).get(member))}
