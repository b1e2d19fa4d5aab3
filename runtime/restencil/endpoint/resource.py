"""Resources, which are classes of endpoints that share a path template and a schema."""

from __future__ import annotations

import json
import re
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Final, Generic, cast, overload
from urllib import parse as urls
from weakref import WeakSet

from ..base.lazy_imports import import_resources
from ..base.logs import logger
from ..base.values import SCALARS, described, is_mapping, text_of
from ..cache.request import PAGE
from ..cache.staleness import path_of, paths_above
from ..schema.collection import Collection
from ..schema.containers import Union
from ..schema.derived import Deletion
from ..schema.entity import EntitySchema, as_entity, value_at
from ..schema.notation import schema_name, schema_of
from .endpoint import Endpoint
from .options import check_request
from .path import PathTemplate, path_template, shorten_path
from .rest import ListEndpoint, RestEndpoint
from .typing import (
    P2,
    R2,
    Absent,
    Assigns,
    Binder,
    ControllerType,
    Has,
    HasItems,
    PageP,
    PageR,
    PushP,
    PushR,
    UnshiftP,
    UnshiftR,
    is_binder,
)

if TYPE_CHECKING:
    from typing import Never

    from typing_extensions import ParamSpec, TypeVar

    from ..cache.request import Request, UrlResolver
    from ..schema.entity import EntityModel
    from .typing import Awaiting, Blocking

    T = TypeVar("T", covariant=True)
    C2 = TypeVar("C2", bound="Blocking | Awaiting", covariant=True)

    # The defaults are those of members that are not given: each call of them is an error.
    AddP = ParamSpec("AddP", default=[Never])
    AddR = TypeVar("AddR", default=Absent)
    FirstP = ParamSpec("FirstP", default=[Never])
    FirstR = TypeVar("FirstR", default=Absent)
    NextP = ParamSpec("NextP", default=...)
    NextR = TypeVar("NextR", default=Any)
    ListItemR = TypeVar("ListItemR", default=Absent)
else:
    from typing import TypeVar

    T = TypeVar("T", covariant=True)

_SHARED_APART: Final = frozenset(
    {
        "Collection",
        "Endpoint",
        "apart",
        "collection",
        "endpoint",
        "follow",
        "non_filter_argument_keys",
        "pagination",
        "pagination_field",
        "path",
        "schema",
        "search_params",
        "singleton",
    }
)
"""Resource options that members do not inherit unchanged."""

_OF_ONE_LIST: Final = (
    "push_options",
    "unshift_options",
    "assign_options",
    "get_page_options",
    "move_options",
    "remove_options",
)
"""Options of endpoints derived from a list, which a member that extends the list does not inherit."""

_METHODS: Final = {"get": "GET", "get_list": "GET", "update": "PUT", "partial_update": "PATCH", "delete": "DELETE"}
_PAYLOADS: Final = {"update": "merged", "partial_update": "patched", "delete": "params"}


# --- members declared in a class -------------------------------------------------------------------------------------


class Declaration:
    """The declaration of a member: the options given to `rest`, and the resource that contains it."""

    __slots__ = ("extends", "kind", "member", "options", "resource")

    def __init__(self, options: dict[str, Any], kind: type[Any] | None) -> None:
        self.extends: str | None = options.pop("extends", None)
        self.options = options
        self.kind = kind
        self.member = ""
        self.resource: type[Resource[Any]] | None = None

    def in_subclass(self, resource: type[Resource[Any]]) -> Declaration:
        """Return this declaration for a subclass of its resource."""
        copied = Declaration({**self.options, "extends": self.extends}, self.kind)
        copied.resource, copied.member = resource, self.member
        return copied

    def build(self, declared: RestEndpoint[..., Any]) -> RestEndpoint[..., Any]:
        """Build the endpoint with the options inherited from its resource. Raises TypeError for invalid options."""
        resource, given = self.resource, self.options
        base: RestEndpoint[..., Any] | None = None
        if self.extends is not None:
            if resource is None:
                raise TypeError(f"extends={self.extends!r} needs an endpoint that is a member of a Resource class")
            base = _member(resource, self.extends, self.member)
            given = {**{name: None for name in _OF_ONE_LIST if getattr(base, name, None) is not None}, **given}
            if "path" in given:
                given.setdefault("siblings", ResourceContext(resource, self.member))
        else:
            shared: Mapping[str, Any] = resource.__options__ if resource is not None else {}
            standard = given.get("standard") is not False
            given = {name: value for name, value in given.items() if name != "standard"}
            given = {**_inherited(self.member if standard else "", shared, given), **given}
            if resource is not None:
                given.setdefault("siblings", ResourceContext(resource, self.member))
        built = type(declared).assembled(given, base)
        if "name" not in given and resource is not None and self.member:
            built.__dict__.pop("name", None)
            built.__dict__["_naming"] = lambda: f"{_title(resource, built)}.{self.member}"
        return built


class ResourceContext:
    """The context of a member in its resource: the other members, as far as reads and mutations need them.

    An `endpoint` with another path than the member that it extends is the member itself.
    """

    def __init__(
        self, resource: type[Resource[Any]], member: str, endpoint: RestEndpoint[..., Any] | None = None
    ) -> None:
        self._resource = resource
        self._member = member
        self._endpoint = endpoint

    def moved(self, endpoint: RestEndpoint[..., Any]) -> ResourceContext:
        """Return the context of an endpoint that extends this member and has another path."""
        return ResourceContext(self._resource, self._member, endpoint)

    def in_subclass(self, resource: type[Resource[Any]], member: str) -> ResourceContext | None:
        """Return the context of an endpoint of this context as a member of a subclass; None for any other class."""
        return ResourceContext(resource, member) if issubclass(resource, self._resource) else None

    @cached_property
    def _get(self) -> RestEndpoint[..., Any] | None:
        return _rest_member(self._resource, "get")

    @cached_property
    def _reads(self) -> list[RestEndpoint[..., Any]]:
        """The members that read something at a path with parameters."""
        members = [_rest_member(self._resource, name) for name in endpoints_of(self._resource)]
        return [one for one in members if one is not None and one.path_names and not one.side_effect]

    @cached_property
    def _own(self) -> RestEndpoint[..., Any] | None:
        return _rest_member(self._resource, self._member) if self._endpoint is None else self._endpoint

    @cached_property
    def path_names(self) -> tuple[str, ...]:
        """The names of the path parameters of this member."""
        return () if self._own is None else tuple(sorted(path_template(self._own.path).names))

    def item_key(self, args: tuple[object, ...]) -> str | None:
        """Return the key of `get` for the path parameters of a call; None if there is none."""
        get, params = self._get, self._params(args)
        if get is None or not path_template(get.path).names.issuperset(params):
            return None
        return _key(get, params)

    def is_of_item(self, path: str) -> bool:
        """Return whether a path is that of one item of the resource, and not of a part or another view of it."""
        if self._endpoint is None and self._member in _METHODS and self._member != "get_list":
            return True
        get = self._get
        return path in (self._resource.__options__.get("path"), None if get is None else get.path)

    @cached_property
    def _key_name(self) -> str | None:
        """The last parameter of the path of `get`; None if there is none."""
        names = [] if self._get is None else [*_heads(self._get.path)]
        return names[-1] if names else None

    @property
    def item_schema(self) -> Any:
        """The schema of one item of the resource."""
        return self._resource.__options__.get("schema")

    @property
    def list_schema(self) -> Any:
        """The schema of the list of the resource; None without a list."""
        listing = _rest_member(self._resource, "get_list")
        return None if listing is None else listing.schema

    @property
    def title(self) -> str:
        """The name of the member with its resource, for messages: `articles.get`."""
        name = self._resource.__name__
        return f"{re.sub(r'(?<=[a-z0-9])(?=[A-Z])', '_', name).lower()}.{self._member}"

    @property
    def resource(self) -> str:
        """The qualified name of the resource class, with its module."""
        return f"{self._resource.__module__}.{self._resource.__qualname__}"

    def is_item(self, url: str) -> bool:
        """Return whether `get` of the resource can have this URL."""
        return self._get is not None and _params_within(self._get, path_of(url)) is not None

    def _gets(self) -> Iterator[RestEndpoint[..., Any]]:
        """Yield the `get` of each loaded resource of the package."""
        for resource in list(_resources.get(_package_of(self._resource), (self._resource,))):
            get = _rest_member(resource, "get")
            if get is not None:
                yield get

    def _found_otherwise(self) -> frozenset[str]:
        """Return the tables with records that a `get` of the package reads without their primary key."""
        package = _package_of(self._resource)
        known = _tables_found_otherwise.get(package)
        if known is None:
            known = frozenset(table for get in self._gets() for table in get.rules.found_otherwise)
            _tables_found_otherwise[package] = known
        return known

    def items_at(self, paths: Sequence[str]) -> dict[str, list[tuple[Request, list[tuple[str, str]]]]]:
        """Return for a path, and those above it, each request of `get` in the package and the records that it names."""
        import_resources(_package_of(self._resource), paths[0])
        found: dict[str, list[tuple[Request, list[tuple[str, str]]]]] = {path: [] for path in paths}
        for get in self._gets():
            for path in paths:
                params = _params_within(get, path)
                request = None if params is None else _request_of(get, params)
                if request is not None:
                    found[path].append((request, _records_named_by(request)))
        return found

    def get_requests(self, table: str, pk: str, record: Mapping[str, object] | None = None) -> Iterator[Request]:
        """Yield the requests of `get` for a record, from all resources of the package.

        If `get` is read with a body, the request has its key and path, but cannot be sent.
        If its path has several parameters, their values are fields of the `record`; `path_params` may map their names.
        """
        for get in self._gets():
            if get.rules.reach is None or table not in get.rules.tables:
                continue
            for model in get.rules.reach.models.get(table, ()):
                params = _params_of(get, model, pk, record)
                request = None if None in params.values() else _request_of(get, params)
                found = () if request is None else get.rules.entity_args(request.args)
                if request is not None and found and model.node.lenient_pk(found[0], found) == pk:
                    yield request

    def other_paths(self, table: str, path: str, record: Mapping[str, object] | None = None) -> set[str]:
        """Return the paths of a record of a table that do not contain its primary key, such as `/users/name/:name`.

        If the `record` is not known, or not its values in the path, it is the part before the last parameter, in which
        other parameters have their values in the `path` of a request.
        """
        finders = [one for one in self._reads if table in one.rules.found_otherwise]
        if table in self._found_otherwise():
            finders += [get for get in self._gets() if table in get.rules.found_otherwise]
        return {_path_of_record(one, table, record) or _above_record(one, path) for one in finders}

    def expired_reads(
        self, args: tuple[object, ...], names: Sequence[str], locator: UrlResolver | None
    ) -> tuple[set[tuple[str, str]], set[str]]:
        """Return the places of the reads that a mutation expires by these names, and the tables that become stale.

        A place has the path parameters of the mutation that also belong to the read. A parameter does if both paths are
        equal up to it: `:id` of `/orders/:id/pay` and of `/orders/:id` is the same order, and `:id` of `/users/:id` is
        not. All records of a table become stale if a read of one record has no such parameter. A name is a member,
        `resource.member`, or a resource of the client for all its reading endpoints; the name of the own resource
        means all its records, as `self` means the one. An unknown name is logged as a warning.
        """
        given = {name: text_of(value) for name, value in self._params(args).items()}
        heads = {} if self._own is None else _heads(self._own.path)
        places: set[tuple[str, str]] = set()
        tables: set[str] = set()
        for name in names:
            found = self._reading(name, locator)
            if found is None:
                logger.warning(
                    "expires of %s has %r, which is not a member or resource; fix the name or remove it",
                    self.title,
                    name,
                )
            is_own = locator is not None and locator.resource(name) is self._resource
            for endpoint in found or ():
                values: list[str] = []
                for param, head in _heads(endpoint.path).items():
                    names_one = is_own and param == self._key_name
                    if names_one or param not in given or heads.get(param) != head:
                        break
                    values.append(given[param])
                places.add(_place(endpoint, values))
                entity = as_entity(schema_of(endpoint.schema))
                if entity is not None and not values:
                    tables.add(entity.table_key)
        return places, tables

    def read_places(self, path: str) -> list[tuple[str, str]]:
        """Return the places of a read with this path: its endpoint, with none, some or all of its path parameters."""
        own = self._own
        if own is None:
            return []
        params = _place_template(own).params_of(urls.urlsplit(path).path) or {}
        values = [params[name] for name in takewhile(params.__contains__, _heads(own.path))]
        return [_place(own, values[:count]) for count in range(len(values) + 1)]

    def _reading(self, name: str, locator: UrlResolver | None) -> list[RestEndpoint[..., Any]] | None:
        """Return the reading endpoints for a name; None for an unknown name."""
        own = _rest_member(self._resource, name)
        if own is not None:
            return [] if own.side_effect else [own]
        owner, _, member = name.partition(".")
        resource = None if locator is None else locator.resource(owner)
        if resource is None:
            return None
        members = [member] if member else list(endpoints_of(resource))
        found = [one for one in (_rest_member(resource, name) for name in members) if one is not None]
        return [one for one in found if not one.side_effect] if found else None

    def lists_test(self, args: tuple[object, ...]) -> Callable[[str], bool]:
        """Return a predicate for the keys of lists at the path of a call; of lists at any path if it is not known."""
        listing = _rest_member(self._resource, "get_list")
        if listing is None:
            return lambda key: False
        names, params = path_template(listing.path).names, self._params(args)
        key = _key(listing, {name: value for name, value in params.items() if name in names})
        if key is None:
            return listing.test_key
        return lambda other: other.partition(PAGE)[0] == key or other.startswith(f"{key}?")

    def params_of(self, url: str) -> dict[str, str] | None:
        """Return the parameters with which `get` has the path of this URL; None without `get` or for another path."""
        get = self._get
        return None if get is None else path_template(get.path).params_of(urls.urlsplit(url).path)

    def _params(self, args: tuple[object, ...]) -> dict[str, Any]:
        given: Any = args[0] if args and is_mapping(args[0]) else {}
        return {name: given[name] for name in self.path_names if given.get(name) is not None}


_resources: Final[dict[str, WeakSet[type[Resource[Any]]]]] = {}
"""The strict resource classes, such as those of generated packages, by package."""
_tables_found_otherwise: Final[dict[str, frozenset[str]]] = {}
"""By package, what `ResourceContext._found_otherwise` returns until another resource is loaded."""


def _package_of(resource: type) -> str:
    return resource.__module__.rpartition(".")[0] or resource.__module__


def _place_template(endpoint: RestEndpoint[..., Any]) -> PathTemplate:
    """Return the template of the paths of requests, which are compared without a slash at their end."""
    return path_template(endpoint.path.rstrip("/"))


def _params_within(get: RestEndpoint[..., Any], path: str) -> dict[str, str] | None:
    """Return the parameters with which `get` has a path, below its `url_prefix`; None if it cannot have it."""
    template = _place_template(get)
    own = _without_prefix(get, template, path)
    return None if own is None else template.params_of(own)


def _without_prefix(endpoint: RestEndpoint[..., Any], template: PathTemplate, path: str) -> str | None:
    """Return a path without the prefix of an endpoint, if a template matches the rest of it; else None."""
    prefix = path_template(endpoint.path).place(endpoint.url_prefix)
    own = path.removeprefix(prefix)
    return own if path.startswith(prefix) and template.matches(own) else None


def _params_of(
    get: RestEndpoint[..., Any], model: EntityModel, pk: str, record: Mapping[str, object] | None
) -> dict[str, Any]:
    """Return the path parameters of `get` for a record; the value is None if it is not known."""
    names = path_template(get.path).names
    if len(names) == 1:
        return dict.fromkeys(names, pk)
    filled = {field.param: name for name, field in model.fields.items() if field.param is not None}
    fields = {**filled, **(get.rules.params.fields or {})}
    found = {name: value_at(record or {}, model.wire_path(fields.get(name, name))) for name in names}
    return {name: value if type(value) in SCALARS else None for name, value in found.items()}


def _path_of_record(endpoint: RestEndpoint[..., Any], table: str, record: Mapping[str, object] | None) -> str | None:
    """Return the path with which an endpoint reads a record by its fields; None if not all are known."""
    fields = endpoint.rules.params.fields or {}
    if record is None or not endpoint.path_names <= fields.keys():
        return None
    for schema in endpoint.rules.schema.entities.values() if endpoint.rules.schema is not None else ():
        if schema.table_key == table:
            values = {name: value_at(record, schema.model.wire_path(fields[name])) for name in endpoint.path_names}
            request = _request_of(endpoint, values) if all(type(one) in SCALARS for one in values.values()) else None
            return None if request is None else request.path
    return None


def _above_record(endpoint: RestEndpoint[..., Any], path: str) -> str:
    """Return an endpoint's path before its last parameter, with the values of the path of another endpoint."""
    above = endpoint.path.rpartition("/:")[0]
    template = path_template(above)
    for one in (path, *paths_above(path)):
        if _without_prefix(endpoint, template, one) is not None:
            return one
    return (template.place(endpoint.url_prefix) + above.partition("/:")[0]).rstrip("/")


def _heads(path: str) -> dict[str, str]:
    """Return the beginning of a path up to each parameter, including it, by parameter name."""
    return {found.group(1): path[: found.end()] for found in re.finditer(r"(?<!\\):(\w+)", path)}


def _place(endpoint: RestEndpoint[..., Any], values: list[str]) -> tuple[str, str]:
    """Return the place of the reads of an endpoint with these values of its first path parameters, for marks."""
    return f"{endpoint.method} {endpoint.path}", json.dumps(values)


def _args_of(endpoint: RestEndpoint[..., Any], params: dict[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of a call with these parameters and without a body."""
    return (params, None) if endpoint.has_body else (params,)


def _request_of(get: RestEndpoint[..., Any], params: dict[str, Any]) -> Request | None:
    """Return the request of a call with these path parameters; None if they are not valid."""
    try:
        return get.request(_args_of(get, params))
    except (TypeError, ValueError):
        return None


def _records_named_by(request: Request) -> list[tuple[str, str]]:
    """Return the records that the arguments of a `get` identify, one for each table that its result may be of."""
    rules = request.rules
    args = rules.entity_args(request.args)
    models: Mapping[str, tuple[EntityModel, ...]] = {} if rules.reach is None else rules.reach.models
    named = ((table, model.node.lenient_pk(args[0], args)) for table in rules.tables for model in models.get(table, ()))
    return [(table, pk) for table, pk in named if pk is not None]


def _key(endpoint: RestEndpoint[..., Any], params: dict[str, Any]) -> str | None:
    try:
        return endpoint.key(*_args_of(endpoint, params))
    except (TypeError, ValueError):
        return None


def _title(resource: type[Resource[Any]], endpoint: RestEndpoint[..., Any]) -> str:
    """Return the prefix of the names of a resource's endpoints: the name of its schema class, or its own."""
    raw = resource.__options__.get("schema")
    schema = schema_of(raw if raw is not None else endpoint.schema)
    return resource.__name__ if schema is None else schema.title


def _member(resource: type[Resource[Any]], reference: str, user: str) -> RestEndpoint[..., Any]:
    """Return the member that member `user` extends; `reference` has dots for derived endpoints.

    Raises TypeError if it does not exist or extends `user` itself.
    """
    name, *derived = reference.split(".")
    found = _as_declared(resource, name)
    declaration = found.__dict__.get("_declaration") if found is not None else None
    if found is None or (declaration is not None and _chain_returns(resource, declaration, user)):
        problem = "does not exist" if found is None else f"extends {user!r} in turn"
        raise TypeError(f"{resource.__name__}.{user} extends {name!r}, which {problem}; extend another member")
    found = getattr(resource, name)
    for step in derived:
        found = getattr(found, step)
    return cast("RestEndpoint[..., Any]", found)


def _rest_member(resource: type[Resource[Any]], name: str) -> RestEndpoint[..., Any] | None:
    found: Any = getattr(resource, name, None)
    return cast("RestEndpoint[..., Any]", found) if isinstance(found, RestEndpoint) else None


def _as_declared(resource: type[Resource[Any]], name: str) -> RestEndpoint[..., Any] | None:
    """Return a member from its class without building it."""
    for kind in resource.__mro__:
        found = kind.__dict__.get(name)
        if isinstance(found, RestEndpoint):
            return cast("RestEndpoint[..., Any]", found)
        if found is not None:
            break
    return _rest_member(resource, name)


def _chain_returns(resource: type[Resource[Any]], declaration: Declaration, user: str) -> bool:
    seen: set[str] = set()
    step: Declaration | None = declaration
    while step is not None and step.extends is not None:
        name = step.extends.partition(".")[0]
        if name == user or name in seen:
            return True
        seen.add(name)
        following = _as_declared(resource, name)
        step = following.__dict__.get("_declaration") if following is not None else None
    return False


def _inherited(member: str, shared: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a member without `extends` that follow from its resource and from its name."""
    options = {name: value for name, value in shared.items() if name not in _SHARED_APART}
    path, schema = shared.get("path"), shared.get("schema")
    is_list = member == "get_list"
    if path is not None and "path" not in given:
        options["path"] = shorten_path(path) if is_list else path
    if member in _METHODS:
        options["method"] = _METHODS[member]
    if "schema" not in given and "schema" in shared:
        options["schema"] = _member_schema(member, schema, shared)
    if is_list:
        for name in ("pagination_field", "pagination"):
            if name in shared:
                options[name] = shared[name]
        if path is not None:
            options["item_path"] = path
    if member == "delete":
        options["process"] = delete_result
    if shared.get("strict") and "replace" not in options and member == "update":
        options["replace"] = True
    if shared.get("strict") and "empty" not in options and member in ("update", "partial_update"):
        options["empty"] = "merge"
    if member in _PAYLOADS:
        options["optimistic_payload"] = _PAYLOADS[member]
    return options


def _member_schema(member: str, schema: Any, shared: Mapping[str, Any]) -> Any:
    if schema is None:
        return None
    if member == "get_list":
        kind: Any = shared.get("Collection") or shared.get("collection") or Collection
        if not (isinstance(kind, type) and issubclass(kind, Collection)):
            raise TypeError(f"the collection class of a list is {kind!r}; expected Collection or a subclass of it")
        names = ("non_filter_argument_keys", "follow", "apart")
        given = {name: shared[name] for name in names if shared.get(name) is not None}
        if shared.get("strict") and kind is Collection:
            given.setdefault("follow", True)
        return kind([schema], **given)
    if member == "delete" and isinstance(schema_of(schema), EntitySchema | Union):
        return Deletion(schema)
    return schema


def delete_result(value: object, *args: object) -> Any:
    """Implement `process` of `delete`: return the response if it has content, else the URL parameters."""
    if isinstance(value, str | dict | list) and value:
        return cast(Any, value)
    return args[0] if args and args[0] is not None else {}


def _declared(options: dict[str, Any], function: Callable[..., object] | None, *, is_list: bool = False) -> Any:
    kind: type[Any] | None = options.pop("endpoint", None)
    _check_kind(kind)
    if options.get("path") is not None:
        check_request(options["path"], options)
        path_template(options["path"])
    if function is not None:
        options["signature"] = function
    declaration = Declaration(options, kind)
    return _unbuilt(kind or (ListEndpoint if is_list else RestEndpoint), declaration, function)


def _check_kind(kind: object) -> None:
    if kind is not None and not (isinstance(kind, type) and issubclass(kind, RestEndpoint)):
        raise TypeError(f"the class of an endpoint is {kind!r}; expected RestEndpoint or a subclass of it")


def _unbuilt(
    kind: type[Any], declaration: Declaration, function: Callable[..., object] | None
) -> RestEndpoint[..., Any]:
    endpoint: RestEndpoint[..., Any] = object.__new__(kind)
    endpoint.__dict__["_declaration"] = endpoint.__dict__["_declared"] = declaration
    if function is not None:
        endpoint.__dict__["__doc__"] = function.__doc__
        endpoint.__dict__["__module__"] = function.__module__
        endpoint.__dict__["__qualname__"] = function.__qualname__
    return endpoint


def rest(**options: Any) -> Callable[[Callable[Concatenate[Any, P2], R2]], RestEndpoint[P2, R2]]:
    """Turn a method of a `Resource` class into an endpoint; its signature types the calls, its body is never run.

        class Articles(Resource[ControllerType], path="/articles/:id", schema=Article):
            @rest()
            def get(self, *, id: int) -> Article: ...

    Accepts every option of `RestEndpoint`, and `endpoint` (the class of the endpoint), `extends` (the member whose
    options it inherits, with dots for derived endpoints: `"get_list"`, `"get_list.push"`) and `deprecated` (a reason,
    which may be empty: calls raise a DeprecationWarning). A default in the signature that is not None is sent if a call
    with keywords omits the parameter.

    Without `extends` a member inherits these options, where later ones override earlier ones:

    1. the options in the class line of the resource and of its base classes, except `path`, `schema`, `endpoint`,
       `collection`, `non_filter_argument_keys`, `pagination_field`, `pagination` and `search_params`, which the next
       rule uses;
    2. options by its name: `get` GET, `get_list` GET on the shortened path with `Collection([S])` (of the class
       `collection`, with `non_filter_argument_keys`) and the pagination options, `update` PUT, `partial_update` PATCH,
       `delete` DELETE with `Invalidate(S)` and a `process` that returns the URL parameters if the response is empty;
       every other member has the resource's path and schema;
    3. the options given here; the value None overrides too.

    With `optimistic=True` the standard mutations show their expected result at once. The name of an endpoint is the
    name of the resource's schema class, a dot, and the member's name.

    Raises PathTemplateError for an invalid template. Options that depend on the resource are checked at first use.
    """

    def declare(function: Callable[Concatenate[Any, P2], R2]) -> RestEndpoint[P2, R2]:
        return cast("RestEndpoint[P2, R2]", _declared(dict(options), function))

    return declare


class _ListDeclarator(Generic[PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]):
    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options

    def __call__(
        self, function: Callable[Concatenate[Any, P2], R2], /
    ) -> ListEndpoint[P2, R2, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]:
        return cast(
            "ListEndpoint[P2, R2, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]",
            _declared(dict(self._options), function, is_list=True),
        )


@overload
def rest_list(
    *,
    push: Callable[Concatenate[Any, AddP], AddR],
    get_page: Callable[Concatenate[Any, NextP], NextR],
    items: Callable[[Any], ListItemR] | None = None,
    unshift: types.EllipsisType = ...,
    **options: Any,
) -> _ListDeclarator[AddP, Has[AddR], NextP, HasItems[NextR, ListItemR], AddP, Has[AddR]]: ...
@overload
def rest_list(
    *,
    push: Callable[Concatenate[Any, AddP], AddR],
    unshift: types.EllipsisType = ...,
    get_page: None = None,
    **options: Any,
) -> _ListDeclarator[AddP, Has[AddR], [], Absent, AddP, Has[AddR]]: ...
@overload
def rest_list(
    *,
    push: Callable[Concatenate[Any, AddP], AddR] | None = None,
    unshift: Callable[Concatenate[Any, FirstP], FirstR] | None,
    get_page: Callable[Concatenate[Any, NextP], NextR],
    items: Callable[[Any], ListItemR] | None = None,
    **options: Any,
) -> _ListDeclarator[AddP, Has[AddR], NextP, HasItems[NextR, ListItemR], FirstP, Has[FirstR]]: ...
@overload
def rest_list(
    *,
    push: Callable[Concatenate[Any, AddP], AddR] | None = None,
    unshift: Callable[Concatenate[Any, FirstP], FirstR] | None,
    get_page: None = None,
    **options: Any,
) -> _ListDeclarator[AddP, Has[AddR], [], Absent, FirstP, Has[FirstR]]: ...
@overload
def rest_list(
    *,
    assign: Callable[Concatenate[Any, AddP], AddR] | None = None,
    get_page: Callable[Concatenate[Any, NextP], NextR],
    items: Callable[[Any], ListItemR] | None = None,
    push: None = None,
    **options: Any,
) -> _ListDeclarator[AddP, Assigns[AddR], NextP, HasItems[NextR, ListItemR], [], Absent]: ...
@overload
def rest_list(
    *,
    assign: Callable[Concatenate[Any, AddP], AddR] | None = None,
    get_page: None = None,
    push: None = None,
    **options: Any,
) -> _ListDeclarator[AddP, Assigns[AddR], [], Absent, [], Absent]: ...
def rest_list(**options: Any) -> Any:
    """Turn a method of a `Resource` class into a list endpoint, like `rest`.

    `push` (or `assign`, for a collection of values) and `get_page` are methods whose signatures type the endpoints
    derived from the list; without them, these do not exist for type checkers. If the list is a member of an object,
    `items` is a method that returns the type of its items, for `iterate` and `pages`.

    `unshift` has the signature of `push` by default; it may be another method or None. `move` and `remove`, which send
    requests to the item's path, may be methods too. `push_options`, `unshift_options`, `assign_options`,
    `get_page_options`, `move_options` and `remove_options` are options of those endpoints; a member that extends the
    list does not inherit them.
    """
    options.pop("items", None)
    signatures = {name: options.pop(name, None) for name in ("push", "assign", "get_page", "move", "remove")}
    unshift = options.pop("unshift", ...)
    signatures["unshift"] = signatures["push"] if unshift is ... else unshift
    options["signatures"] = signatures
    return _ListDeclarator[Any, Any, Any, Any, Any, Any](options)


def push_of(endpoint: ListEndpoint[Any, Any, P2, Has[R2], Any, Any]) -> RestEndpoint[P2, R2]:
    """Return a member that is `push` of the list: `create = push_of(get_list)`.

    A subclass that overrides `get_list` gets the `push` of its own list. `push_of(get_list).extend(timeout=5_000)` sets
    options of this member only.
    """
    return cast("RestEndpoint[P2, R2]", _Create())


class _Create:
    """The member `create` of a resource, which is `push` of its list under another name."""

    __slots__ = ("_made", "_name", "_options")

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._name = "create"
        self._options = dict(options or {})
        # One for each list endpoint, because subclasses may override the list.
        self._made: dict[int, tuple[Any, RestEndpoint[..., Any]]] = {}

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def extend(self, **options: object) -> _Create:
        """Return this member with more options, over those of the list's `push`."""
        return _Create({**self._options, **options})

    def __get__(self, instance: object, owner: type[Resource[Any]]) -> Any:
        listing = _rest_member(owner, "get_list")
        if listing is None:
            raise AttributeError(f"{owner.__name__} has no {self._name}: it has no get_list")
        made = self._made.get(id(listing))
        if made is None:
            try:
                pushed = listing.push
            except ValueError as error:
                raise AttributeError(f"{owner.__name__} has no {self._name}: {error}") from error
            created = pushed.extend(**{"name": f"{listing.name.rpartition('.')[0]}.{self._name}", **self._options})
            created.__dict__["_member"] = self._name
            made = self._made[id(listing)] = listing, created
        if not is_binder(instance):
            return made[1]
        bound = instance.__dict__[self._name] = instance.controller.bind(made[1])
        return bound


# --- resources -------------------------------------------------------------------------------------------------------


class Resource(Binder[ControllerType]):
    """Base of resource classes: `class Articles(Resource[ControllerType], path="/articles/:id", schema=Article)`.

    The class line accepts `path`, `schema`, `url_prefix`, `endpoint` (class of the members), `collection` (class of the
    list's schema), `non_filter_argument_keys`, `pagination_field`, `pagination`, `optimistic`, and every option of an
    endpoint; members are declared with `rest` and `rest_list`. `Articles.get` is an endpoint, and
    `Articles(controller).get` is the same endpoint bound to a controller.

    With `singleton=True` there is one record at the path, which needs no parameter and is never shortened, and there is
    no list. A resource without path and schema is a group of endpoints that have their own.

    Options in the class line of a subclass apply to inherited members too, under those given at the members:
    `class News(Articles, path="/news/:id")`.

    `strict=True`, which generated packages set, changes these defaults for real servers: unknown keywords are errors
    (`strict_keywords`), responses of another shape are errors (`strict_shape`), entities leave and join the resource's
    own lists as they change (`follow`), `update` replaces the record (`replace`), and the value of a response without
    content is the request body, or None (`empty`).
    """

    __options__: ClassVar[Mapping[str, Any]] = {}

    if not TYPE_CHECKING:
        create = _Create()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__()
        cls.__options__ = {**cls.__options__, **options}
        if options.get("path") is not None:
            check_request(options["path"], options)
            template = path_template(options["path"]).template
            if not cls.__options__.get("singleton"):
                shorten_path(template)
        if cls.__options__.get("strict"):
            _resources.setdefault(_package_of(cls), WeakSet()).add(cls)
            _tables_found_otherwise.pop(_package_of(cls), None)
        _check_kind(cls.__options__.get("endpoint"))
        for name, member in list(cls.__dict__.items()):
            if isinstance(member, RestEndpoint):
                _add_member(cls, name, cast("RestEndpoint[..., Any]", member))
        if options:
            for name, member in _inherited_members(cls).items():
                _inherit_member(cls, name, member)

    @classmethod
    def extend(cls, first: object = None, options: Mapping[str, object] | None = None, /, **keywords: object) -> Any:
        """Return a new resource with changed or added members; this one is unchanged.

        | form | call |
        |---|---|
        | batch | `extend({"get": {…}})` or `extend(get={…})`: each member with these options over its own |
        | add | `extend("current", {"path": "/me"})` or `extend("current", path="/me")`: `get` with these options |
        | function | `extend(lambda base: {"search": base.get_list.extend(…)})`: a dict of members |

        Raises ValueError for an unknown member in a batch, and TypeError for other invalid arguments.
        """
        if isinstance(first, str):
            return cls._with({first: cls._added(first, {**_options_of(first, options or {}), **keywords})})
        if callable(first):
            if options is not None or keywords:
                raise TypeError("extend got a function together with options; pass only the function")
            made = first(cls)
            if not isinstance(made, Mapping):
                raise TypeError(f"the function passed to extend returned {described(made)}; expected a dict of members")
            return cls._with(dict(cast("Mapping[str, Any]", made)))
        if first is not None and not isinstance(first, Mapping):
            raise TypeError(
                f"extend got {described(first)}; expected a dict of members, a member's name with options, or a "
                "function"
            )
        batch: dict[str, Any] = {**(first or {}), **keywords}
        present = endpoints_of(cls)
        members: dict[str, Any] = {}
        for name, overrides in batch.items():
            if name not in present:
                raise ValueError(
                    f"{cls.__name__} has no member {name!r} to extend; it has {', '.join(present)}. "
                    f"To add one: extend({name!r}, path=…)"
                )
            members[name] = present[name].extend(**_options_of(name, overrides))
        return cls._with(members)

    @classmethod
    def _added(cls, name: str, options: Mapping[str, object]) -> Any:
        present = endpoints_of(cls)
        base = present.get(name) or present.get("get")
        if base is not None:
            return base.extend(**options)
        return _declared(dict(options), None)

    @classmethod
    def _with(cls, members: Mapping[str, object]) -> Any:
        return types.new_class(cls.__name__, (cls,), exec_body=lambda namespace: namespace.update(members))


def _add_member(resource: type[Resource[Any]], name: str, member: RestEndpoint[..., Any]) -> None:
    """Make an endpoint in the body of a resource class a member of it."""
    declaration: Declaration | None = member.__dict__.get("_declaration")
    if declaration is not None:
        declaration.resource, declaration.member = resource, name
        kind: type[Any] | None = resource.__options__.get("endpoint")
        if kind is not None and declaration.kind is None:
            _set_member(resource, name, _unbuilt(kind, declaration, declaration.options.get("signature")))
        return
    siblings = member.siblings
    inherited = _inherited_members(resource).values()
    if not isinstance(siblings, ResourceContext) or any(member is one for one in inherited):
        return
    context = siblings.in_subclass(resource, name)
    if context is not None:
        _set_member(resource, name, type(member).assembled({"siblings": context}, member))


def _inherit_member(resource: type[Resource[Any]], name: str, member: RestEndpoint[..., Any]) -> None:
    """Declare a member of a base class anew, so that it has the options in the class line of the resource.

    Raises TypeError for one that was extended from another member, whose own options are not known.
    """
    declared: Declaration | None = member.__dict__.get("_declared")
    if declared is not None:
        declaration = declared.in_subclass(resource)
        kind: type[Any] = declaration.kind or resource.__options__.get("endpoint") or type(member)
        _set_member(resource, name, _unbuilt(kind, declaration, declaration.options.get("signature")))
    elif isinstance(member.siblings, ResourceContext):
        raise TypeError(
            f"the options in the class line of {resource.__name__} cannot apply to its inherited member {name!r}, "
            f"which extend() created from another member; derive {resource.__name__} from a class without it, and call "
            "extend() on that"
        )


def _set_member(resource: type[Resource[Any]], name: str, member: RestEndpoint[..., Any]) -> None:
    member.__dict__["_member"] = name
    setattr(resource, name, member)


def _inherited_members(resource: type[Resource[Any]]) -> dict[str, RestEndpoint[..., Any]]:
    """Return the endpoints that a resource class inherits, without building them."""
    inherited = {name: found for kind in reversed(resource.__mro__[1:]) for name, found in kind.__dict__.items()}
    return {
        name: found
        for name, found in inherited.items()
        if isinstance(found, RestEndpoint) and name not in resource.__dict__
    }


def _options_of(member: str, options: object) -> Mapping[str, Any]:
    if not isinstance(options, Mapping):
        raise TypeError(
            f"the options of member {member!r} are {described(options)}; expected a dict, such as {{'path': '/me'}}"
        )
    return cast("Mapping[str, Any]", options)


def endpoints_of(resource: object) -> dict[str, Endpoint[..., Any]]:
    """Return the endpoints of a resource class by name, in declaration order, including `create` if there is one."""
    return dict(_endpoints(resource if isinstance(resource, type) else type(resource)))


def _endpoints(resource: type) -> Iterator[tuple[str, Endpoint[..., Any]]]:
    seen: set[str] = set()
    for kind in reversed(resource.__mro__):
        for name, member in kind.__dict__.items():
            if name in seen or name.startswith("_") or not isinstance(member, Endpoint | _Create):
                continue
            seen.add(name)
            found = getattr(resource, name, None)
            if isinstance(found, Endpoint):
                yield name, cast("Endpoint[..., Any]", found)


class StandardMembers(Generic[T]):
    """The members of a resource of `create_resource` for type checkers; further members are Any."""

    if TYPE_CHECKING:
        get: RestEndpoint[..., T]
        get_list: ListEndpoint[..., Sequence[T], ..., Has[T], ..., HasItems[Sequence[T], Absent]]
        create: RestEndpoint[..., T]
        update: RestEndpoint[..., T]
        partial_update: RestEndpoint[..., T]
        delete: RestEndpoint[..., T | None]

        def __getattr__(self, name: str) -> Any: ...


if TYPE_CHECKING:

    class BoundMembers(Resource[C2], StandardMembers[T], Generic[C2, T]):
        """A resource of `create_resource`, bound to a controller."""


class ResourceClass(StandardMembers[T], Generic[T]):
    """The result of `create_resource` for type checkers: a class whose standard members accept any arguments.

    At run time it is a subclass of `Resource`.
    """

    if TYPE_CHECKING:

        @overload
        def __call__(self, controller: Blocking, /) -> BoundMembers[Blocking, T]: ...
        @overload
        def __call__(self, controller: Awaiting, /) -> BoundMembers[Awaiting, T]: ...
        def __call__(self, controller: Any, /) -> Any: ...
        def extend(
            self, first: object = None, options: Mapping[str, object] | None = None, /, **keywords: object
        ) -> ResourceClass[T]: ...


@overload
def create_resource(
    *,
    path: str,
    schema: type[R2],
    url_prefix: str | None = None,
    Endpoint: type[RestEndpoint[..., Any]] | None = None,  # noqa: N803 - it is a class
    Collection: type[object] | None = None,  # noqa: N803 - it is a class
    pagination_field: str | None = None,
    optimistic: bool = False,
    **options: object,
) -> ResourceClass[R2]: ...
@overload
def create_resource(
    *,
    path: str,
    schema: object,
    url_prefix: str | None = None,
    Endpoint: type[RestEndpoint[..., Any]] | None = None,  # noqa: N803 - it is a class
    Collection: type[object] | None = None,  # noqa: N803 - it is a class
    pagination_field: str | None = None,
    optimistic: bool = False,
    **options: object,
) -> ResourceClass[Any]: ...
def create_resource(*, path: str, schema: Any, **options: Any) -> Any:
    """Create a resource with all standard members: `create_resource(path="/articles/:id", schema=Article)`.

    Members: `get`, `get_list` (with `push`, `unshift` and, given `pagination_field`, `get_page`), `create`, `update`,
    `partial_update`, `delete`. Every option of an endpoint applies to all of them. Other options: `Endpoint` and
    `Collection` (classes to use), `optimistic=True` (mutations show their expected result at once),
    `non_filter_argument_keys`, `singleton=True` (one record at this path, and no list).

    Raises ValueError for a path without a parameter, and PathTemplateError for an invalid one.
    """
    for word in ("endpoint", "collection"):
        if isinstance(options.get(word), type):
            warnings.warn(
                f"create_resource(…, {word}={options[word].__name__}): did you mean {word.capitalize()}=?", stacklevel=2
            )
    _check_kind(options.get("Endpoint"))
    kind: type[Any] = options.pop("Endpoint", None) or RestEndpoint
    shared = {name: value for name, value in options.items() if name not in ("endpoint", "collection")}
    apart: dict[str, Any] = {name: options[name] for name in ("endpoint", "collection") if name in options}
    members: dict[str, Any] = {}
    for name in _METHODS:
        if name == "get_list" and options.get("singleton"):
            continue
        listed = ListEndpoint if name == "get_list" and kind is RestEndpoint else kind
        members[name] = _unbuilt(listed, Declaration({**apart}, kind), None)
    resource = types.new_class(
        f"{schema_name(schema)}Resource",
        (Resource,),
        {"path": path, "schema": schema, **shared},
        lambda namespace: namespace.update(members),
    )
    for name in members:
        # Builds the member, so that invalid options raise here and not at the first call.
        _ = getattr(resource, name).method
    return resource
