"""Requests in the cache: key, arguments, and rules of the endpoint."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TypeAlias

from ..base.response import status_line
from ..base.transport import public_url
from ..base.values import UNDEFINED, Sentinel, is_mapping, text_of
from ..schema.entity import as_entity, first_model, params_to_fields, value_at
from ..schema.notation import schema_of
from ..schema.protocol import definitions
from .reach import Reach, reach_of, tables_not_named_by, tables_of
from .staleness import path_of

if TYPE_CHECKING:
    from ..schema.entity import EntityModel
    from ..schema.protocol import Schema
    from .plan import ListPlan, MutationPlan, PersistencePolicy, ReadPolicy, ResponsePlan

Identity: TypeAlias = tuple[str, str, *tuple[Hashable, ...]]
"""The key, the URL and other values that distinguish a request from others in flight."""

CONTENT: Final = " content="
"""Separates the key of a call from its content type in the key of a stored result that is not JSON."""

PAGE: Final = " page "
"""Separates the key of a list from the URL of a page in the key of a stored page."""


class HasVaryKey(Protocol):
    """The options of a view, as far as the cache uses them."""

    @property
    def vary_key(self) -> tuple[Hashable, ...]:
        """Distinguishes requests with the same key and URL that must not share a response."""
        ...


class HasHeaders(HasVaryKey, Protocol):
    """The options of one call, as far as the cache uses them."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the call, by name."""
        ...


class Arguments(tuple[Any, ...]):
    """Bound arguments of a call with additions: `own` are the arguments of the call itself, `options` its options.

    The additions are the query parameters of a view, and headers of the call that are part of its key.
    """

    own: tuple[Any, ...]
    options: HasHeaders | None

    def __new__(cls, args: tuple[Any, ...], own: tuple[Any, ...], options: HasHeaders | None = None) -> Self:
        """Create it from positional arguments in wire form."""
        made = super().__new__(cls, args)
        made.own = own
        made.options = options
        return made

    def replaced(self, args: tuple[object, ...]) -> Arguments:
        """Return other arguments with the same own arguments and options."""
        return Arguments(args, self.own, self.options)


def call_args(args: tuple[object, ...]) -> tuple[Any, ...]:
    """Return bound arguments without additions of a view, which do not identify the entity."""
    return args.own if isinstance(args, Arguments) else args


class EndpointLike(Protocol):
    """The interface of an endpoint for the cache, which creates the requests of calls."""

    @property
    def name(self) -> str:
        """The name that messages use."""
        ...

    @property
    def view_options(self) -> HasVaryKey | None:
        """The options of the view for all its calls; None if there is no view."""
        ...

    def bind_args(self, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> tuple[Any, ...]:
        """Convert positional and keyword arguments to the positional arguments of a request."""
        ...

    def request(self, args: tuple[Any, ...], /) -> Request:
        """Return the request of a call with these bound arguments."""
        ...

    def request_url(self, args: tuple[Any, ...], /) -> str:
        """Return the URL of a request, which distinguishes requests with the same key."""
        ...


class UrlResolver(Protocol):
    """A client: it resolves URLs and has resources."""

    def resource(self, name: str, /) -> Any:
        """Return the client's resource of this name; None if there is none."""
        ...

    def address(self, url: str, /) -> str:
        """Return the absolute URL that a request to this URL is sent to."""
        ...


class ResourceInfo(Protocol):
    """The other endpoints of a resource, as far as they matter for the response of a mutation."""

    @property
    def path_names(self) -> Sequence[str]:
        """The path parameters of the mutation."""
        ...

    def item_key(self, args: tuple[Any, ...], /) -> str | None:
        """Return the key of `get` for the same path; None if there is none."""
        ...

    @property
    def item_schema(self) -> Any:
        """The schema of one item, as it was declared."""
        ...

    @property
    def list_schema(self) -> Any:
        """The schema of the resource's list, as it was declared; None if there is none."""
        ...

    @property
    def resource(self) -> str:
        """The name of the resource, the same in all processes."""
        ...

    def is_item(self, url: str, /) -> bool:
        """Return whether a URL is the URL of one item of the resource, so that `get` requests it."""
        ...

    def items_at(self, paths: Sequence[str], /) -> Mapping[str, list[tuple[Request, list[tuple[str, str]]]]]:
        """Return for a path, and those above it, each request of `get` in the package and the records that it names."""
        ...

    def get_requests(self, table: str, pk: str, record: Mapping[str, Any] | None = None, /) -> Iterator[Request]:
        """Yield the `get` requests for a record, of all resources of the package.

        Path parameters before the primary key are taken from fields of the `record`.
        """
        ...

    def other_paths(self, table: str, path: str, record: Mapping[str, Any] | None = None, /) -> set[str]:
        """Return the paths of a record of a table that do not contain its primary key, such as `/users/name/:name`.

        If the `record` is not known, or not its values in the path, it is the part before the last parameter, in which
        other parameters have their values in the `path` of a request.
        """
        ...

    def expired_reads(
        self, args: tuple[Any, ...], names: Sequence[str], locator: UrlResolver | None, /
    ) -> tuple[set[tuple[str, str]], set[str]]:
        """Return what a mutation expires by these names: the places of reads, and tables with all their records.

        A place has the path parameters that the read shares with the mutation.
        """
        ...

    def read_places(self, path: str, /) -> Iterable[tuple[str, str]]:
        """Return the places of a read with this path: its endpoint, with none, some or all of its path parameters.

        A place is the method and path template of the endpoint, and the values of its first parameters as JSON.
        """
        ...

    def lists_test(self, args: tuple[Any, ...], /) -> Callable[[str], bool]:
        """Return a test for the keys of lists with the same path."""
        ...


class EntityParams(NamedTuple):
    """How the parameters of a request identify an entity."""

    fields: Mapping[str, str] | None = None
    """The field by parameter with another name; dotted if it is nested in an object."""
    path_names: frozenset[str] | None = None
    """The parameters that identify the entity; None: all."""
    outer: frozenset[str] = frozenset()
    """Path parameters before the last one, which identify something other than the entity."""
    names_entity: bool = True
    """Whether a call identifies the entity that it reads; else the server chooses it, as for `/runs/latest`."""


class Rules:
    """The rules of an endpoint for the cache: its response schema, how requests identify an entity, and its plans.

    `raw_schema` is the schema as it was declared; `raw_returns` is, if there is no schema, the declared type that
    responses are decoded to without normalization. `siblings` are the other endpoints of the same resource.

    An endpoint is `strict` if what is uncertain is requested again, as in all generated packages: the freshness of a
    record is that of its last complete response; only its own response provides members besides lists, and which entity
    of several tables a record is; lists follow a mutation only by exact filters, and are stale otherwise; what a
    mutation and an overlapping request both touched is stale; a call returns the data of its own response; an open live
    read refetches data when it expires.
    """

    def __init__(
        self,
        *,
        raw_schema: Any,
        raw_returns: Any,
        side_effect: bool,
        strict: bool,
        siblings: ResourceInfo | None,
        params: EntityParams,
        read: ReadPolicy,
        response: ResponsePlan,
        mutation: MutationPlan,
        lists: ListPlan,
        persistence: PersistencePolicy,
    ) -> None:
        self.raw_schema = raw_schema
        self.raw_returns = raw_returns
        self.side_effect = side_effect
        self.strict = strict
        self.siblings = siblings
        self.params = params
        self.read = read
        self.response = response
        self.mutation = mutation
        self.lists = lists
        self.persistence = persistence
        self.is_optimistic = side_effect and mutation.get_optimistic_response is not None
        """Whether a fetch shows an optimistic response at once."""
        self._analyses: dict[Callable[[Schema | None], int], tuple[int, int]] = {}
        self._required: dict[EntityModel, frozenset[str]] = {}

    @cached_property
    def schema(self) -> Schema | None:
        """The schema of `raw_schema`, resolved at first use."""
        return schema_of(self.raw_schema)

    def analyze(self, judge: Callable[[Schema | None], int]) -> int:
        """Return the result of `judge` for the schema, cached until a schema is redefined."""
        found = self._analyses.get(judge)
        if found is None or found[0] != definitions.count:
            found = self._analyses[judge] = definitions.count, judge(self.schema)
        return found[1]

    def required_fields(self, model: EntityModel) -> frozenset[str]:
        """Return the JSON names that the record of an entity must have to be used for a request."""
        found = self._required.get(model)
        if found is None:
            found = self._required[model] = self._needed(model)
        return found

    def with_nulls(self, model: EntityModel, record: dict[str, Any]) -> dict[str, Any]:
        """Return a record with null in omitted fields, for a server that omits fields that are null.

        This is the meaning of `needs="required"` for records with all required fields; in other records, an optional
        field may be omitted for other reasons, as in a summary.
        """
        required = self.required_fields(model)
        if not required <= record.keys():
            return record
        absent = [field.in_json for field in model.fields.values() if field.in_json not in record]
        return {**record, **dict.fromkeys(absent)} if absent else record

    def _needed(self, model: EntityModel) -> frozenset[str]:
        if self.read.needs == "all":
            return frozenset(field.in_json for field in model.fields.values())
        if self.read.needs == "required":
            fields = model.fields.values()
            return frozenset(field.in_json for field in fields if field.required or field.default_value() is not None)
        if self.strict and model is not first_model(self.schema):
            return frozenset(field.in_json for field in model.fields.values())
        return frozenset(model.to_json.get(name, name) for name in self.read.needs if name in model.fields)

    @cached_property
    def resource_item(self) -> Schema | None:
        """The schema of one item of the endpoint's resource; None if there is none."""
        schema = None if self.siblings is None else schema_of(self.siblings.item_schema)
        return None if schema is None else schema.subject

    @cached_property
    def item(self) -> Schema | None:
        """The schema of the entity that a request is about: that of its response, or else an item of its resource."""
        subject = None if self.schema is None else self.schema.subject
        return subject if subject is not None and subject.entities else self.resource_item

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables of the entities at the top of the schema."""
        return tables_of(self.schema)

    @cached_property
    def found_otherwise(self) -> frozenset[str]:
        """The tables whose records its path finds without their primary key, such as `/users/name/:name`."""
        fields = self.params.fields or {}
        named = frozenset(fields.get(name, name) for name in self.params.path_names or ())
        if not named or self.schema is None or self.reach is None:
            return frozenset()
        return tables_not_named_by(self.schema, named)

    @cached_property
    def reach(self) -> Reach | None:
        """The entities and lists that results of the endpoint can show; None if they are not known in advance."""
        names_key = not self.strict or self.side_effect or bool(self.params.fields)
        params = None if names_key else self.params.path_names
        return reach_of(self.schema, is_choice=not self.params.names_entity, params=params)

    @cached_property
    def item_tables(self) -> tuple[str, ...]:
        """The tables of the entity of the resource."""
        return tables_of(self.resource_item)

    @cached_property
    def has_values(self) -> bool:
        """Whether results contain something that no mark of the resource's records or lists concerns.

        That is a value beside them, or all of a result that contains no record of the resource's entity.
        """
        reach, schema, tables = self.reach, self.schema, self.item_tables
        if reach is None:
            return False
        if schema is not None and any(path != self.lists.total for path in schema.plain_members):
            return True
        return reach.models.keys().isdisjoint(tables) if tables else not reach.models

    @cached_property
    def known_params(self) -> frozenset[str] | None:
        """The parameters that only identify the entity; None if all do."""
        if self.params.path_names is None:
            return None
        entities = () if self.schema is None else self.schema.entities.values()
        telling: Iterable[frozenset[str]] = (entity.model.telling for entity in entities)
        return self.params.path_names.union(self.params.fields or (), *telling)

    @cached_property
    def named_fields(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """By table of the result, the parameters that are fields of the entity and not its key, with their paths."""
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for entity in () if self.schema is None else self.schema.entities.values():
            model: EntityModel = entity.model
            own = (self.params.path_names or frozenset()) & model.fields.keys() - {*model.pk_fields}
            fields = {**{name: name for name in own}, **(self.params.fields or {})}
            if fields:
                paths = {name: model.wire_path(at) for name, at in fields.items()}
                found.setdefault(entity.table_key, {}).update(paths)
        return found

    def names_another(self, args: tuple[Any, ...], table: str, record: Mapping[str, object]) -> bool:
        """Return whether a record has another value in a field that the URL names: `/posts/2/comments/1` names post 2.

        The parent of a record may change, and so may the field that it was looked up by.
        """
        params: Any = args[0] if args else None
        fields = self.named_fields.get(table)
        if not fields or not is_mapping(params):
            return False
        values = ((params.get(name), value_at(record, path)) for name, path in fields.items())
        known = ((given, value) for given, value in values if given is not None and value is not None)
        return any(text_of(given) != text_of(value) for given, value in known)

    @cached_property
    def deletes(self) -> bool:
        """Whether a success means that the record of the request is deleted, regardless of the response's content."""
        schema = self.schema
        return schema is not None and schema.removes and (self.strict or schema.takes_anything)

    @cached_property
    def completed_model(self) -> EntityModel | None:
        """The model of records whose omitted response fields are filled from the request body; None if none are."""
        schema = self.schema
        is_update = self.mutation.method in ("PUT", "PATCH") and as_entity(schema) is not None
        if schema is None or not (is_update or schema.is_creation) or schema.subject is None:
            return None
        return next((entity.model for entity in schema.subject.entities.values()), None)

    @cached_property
    def resource(self) -> str | None:
        """The name of the endpoint's resource; None if there is none."""
        return None if self.siblings is None else self.siblings.resource

    def params_to_fields(self, params: Mapping[str, object]) -> Mapping[str, Any]:
        """Return URL parameters under the names of the corresponding fields of records.

        A path parameter before the last one is not the primary key, even if it has its name.
        """
        if self.params.outer:
            params = self._without_outer(params)
        return params if self.params.fields is None else params_to_fields(params, self.params.fields, self.schema)

    def _without_outer(self, params: Mapping[str, object]) -> Mapping[str, Any]:
        model = first_model(self.schema)
        if model is None or model.pk_name is None:
            return params
        outer = self.params.outer & {model.pk_name, model.to_python.get(model.pk_name, model.pk_name)}
        return {name: value for name, value in params.items() if name not in outer} if outer else params

    def entity_args(self, args: tuple[object, ...]) -> tuple[Any, ...]:
        """Return bound arguments with URL parameters under the names of fields, as by `params_to_fields`."""
        is_untold = self.params.fields is None and not self.params.outer
        if is_untold or not args or not is_mapping(args[0]) or (len(args) == 1 and self.mutation.has_body):
            return args
        found = (self.params_to_fields(args[0]), *args[1:])
        if isinstance(args, Arguments):
            return Arguments(found, self.entity_args(args.own), args.options)
        return found

    @cached_property
    def returns(self) -> Schema | None:
        """The schema of `raw_returns`, resolved at first use."""
        return schema_of(self.raw_returns)


class Request:
    """One call of an endpoint: `args` are its positional, bound arguments.

    An `inactive` request, whose only argument is None, has no key and is never sent. `locator` is the client that sends
    the request.
    """

    __slots__ = ("_item_key", "_url", "answer", "args", "endpoint", "inactive", "key", "locator", "needs_body", "rules")

    def __init__(
        self,
        endpoint: EndpointLike,
        rules: Rules,
        args: tuple[Any, ...],
        key: str,
        url: str | None = None,
        inactive: bool = False,
    ) -> None:
        self.endpoint = endpoint
        self.rules = rules
        self.args = args
        self.key = key
        self.inactive = inactive
        self.locator: UrlResolver | None = None
        self.answer: Any = None
        """The HTTP response that is being written; None if a response is set by hand."""
        self.needs_body = False
        """Whether the caller reads the HTTP response itself, so that the request must not be conditional."""
        self._url = url
        self._item_key: str | None | Sentinel = UNDEFINED

    @property
    def url(self) -> str:
        """The URL of the request, which distinguishes requests with the same key.

        Raises the errors of building a URL.
        """
        found = self._url
        if found is None:
            self._url = found = self.endpoint.request_url(self.args)
        return found

    @property
    def item_key(self) -> str | None:
        """The key of the `get` of its resource for the same path; None if there is none."""
        found = self._item_key
        if isinstance(found, Sentinel):
            siblings = self.rules.siblings
            self._item_key = found = None if siblings is None else siblings.item_key(self.args)
        return found

    @property
    def path(self) -> str | None:
        """The URL without its query; None if it is empty or cannot be built."""
        try:
            return path_of(self.url) or None
        except Exception:  # a user's hook failed, or the arguments have no URL
            return None

    @property
    def selects_representation(self) -> bool:
        """Whether it reads records with search arguments, such as a language, that may select another form of them."""
        rules, schema = self.rules, self.rules.schema
        if rules.side_effect or not rules.strict or schema is None:
            return False
        if schema.entities:
            return bool(self.other_arguments)
        params: Any = self.args[0] if self.args else None
        return is_mapping(params) and any(params.get(name) is not None for name in rules.read.representation)

    @property
    def other_arguments(self) -> list[str]:
        """The arguments that neither identify the record nor select its class: additional query parameters."""
        params: Any = self.args[0] if self.args else None
        known = self.rules.known_params
        if known is None or not is_mapping(params) or params.keys() <= known:
            return []
        attribute = None if self.rules.schema is None else self.rules.schema.attribute
        names = (name for name, value in params.items() if value is not None)
        return [name for name in names if name not in known and name != attribute]

    @property
    def label(self) -> str:
        """The method and absolute URL, for messages; the key if there is no URL."""
        try:
            url = self.url
        except Exception:  # a user's hook failed, or the arguments have no URL; the key exists already
            return self.key
        if not url:
            return self.key
        address = public_url(url if self.locator is None else self.locator.address(url))
        return f"{self.rules.mutation.method} {address}".lstrip()

    @property
    def label_with_status(self) -> str:
        """The method, URL and status line, for messages."""
        return self.label if self.answer is None else f"{self.label}: {status_line(self.answer)}"

    @property
    def identity(self) -> Identity:
        """The key, the URL and vary keys of view and call: requests with equal identities can share a response."""
        view, options = self.endpoint.view_options, self.options
        if view is None and options is None:
            return self.key, self.url
        varied = (() if view is None else view.vary_key) + (() if options is None else options.vary_key)
        return (self.key, self.url, *varied)

    @property
    def options(self) -> HasHeaders | None:
        """The options of the call besides its arguments; None if there are none."""
        return self.args.options if isinstance(self.args, Arguments) else None

    def __repr__(self) -> str:
        return f"<Request {self.key or '(inactive)'}>"
