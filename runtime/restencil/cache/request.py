"""A request as the cache sees it: its key, its arguments, and the rules of its endpoint."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, TypeAlias

from ..base.response_details import status_line
from ..base.transport import public_url
from ..base.values import is_mapping
from ..schema.entity import as_entity, first_model, params_to_fields
from ..schema.notation import schema_of
from ..schema.protocol import definitions
from .reach import Reach, reach_of, tables_of
from .staleness import path_of

if TYPE_CHECKING:
    from ..schema.entity import EntityModel
    from ..schema.protocol import Schema
    from .plan import ListPlan, MutationPlan, PersistencePolicy, ReadPolicy, ResponsePlan

Identity: TypeAlias = tuple[str, str, *tuple[Hashable, ...]]
"""Key, URL and what else sets a request apart from others in flight."""

CONTENT: Final = " content="
"""Separates, in the key of a stored result, the key of the call from a content other than JSON."""

PAGE: Final = " page "
"""Stands between the key of a list and the URL of a page in the key under which the page is kept."""


class HasVaryKey(Protocol):
    """What the cache knows of what a view says of its calls."""

    @property
    def vary_key(self) -> tuple[Hashable, ...]:
        """Sets requests apart that are not to share a response, though key and URL are the same."""
        ...


class HasHeaders(HasVaryKey, Protocol):
    """What the cache knows of what one call says beside its arguments."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers that the call gives, by name."""
        ...


class Arguments(tuple[Any, ...]):
    """Bound arguments of a call that says more: `own` are those that it was given, `options` what it says beside them.

    A view adds search parameters, and headers of the call that are part of its key stand among the others.
    """

    own: tuple[Any, ...]
    options: HasHeaders | None

    def __new__(cls, args: tuple[Any, ...], own: tuple[Any, ...], options: HasHeaders | None = None) -> Self:
        """All arguments are positional and in wire form."""
        made = super().__new__(cls, args)
        made.own = own
        made.options = options
        return made

    def replaced(self, args: tuple[Any, ...]) -> Arguments:
        """Other arguments with the same own arguments and options."""
        return Arguments(args, self.own, self.options)


def call_args(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Bound arguments without what a view added: that says how something is asked for, and nothing of what it is."""
    return args.own if isinstance(args, Arguments) else args


class EndpointLike(Protocol):
    """What the cache knows of an endpoint: that it can be asked for the requests that its calls are."""

    @property
    def name(self) -> str:
        """The name that messages use."""
        ...

    @property
    def view_options(self) -> HasVaryKey | None:
        """What a view says of each of its calls; None where there is no view."""
        ...

    def bind_args(self, args: tuple[Any, ...], kwargs: dict[str, Any], /) -> tuple[Any, ...]:
        """Arguments in either form as the positional ones of a request."""
        ...

    def request(self, args: tuple[Any, ...], /) -> Request:
        """The request of a call with these bound arguments."""
        ...

    def request_url(self, args: tuple[Any, ...], /) -> str:
        """What tells requests under one key apart."""
        ...


class UrlResolver(Protocol):
    """A client, which may look for its API in a place of its own, and has resources."""

    def resource(self, name: str, /) -> Any:
        """The resource of the client that has this name; None where there is none."""
        ...

    def address(self, url: str, /) -> str:
        """Where a request to this URL really goes, in full."""
        ...


class ResourceInfo(Protocol):
    """The other members of a resource, as far as the answer of a mutation concerns them."""

    @property
    def path_names(self) -> Sequence[str]:
        """The parameters of the mutation's path."""
        ...

    def item_key(self, args: tuple[Any, ...], /) -> str | None:
        """The key of `get` for the same path; None where there is none."""
        ...

    @property
    def item_schema(self) -> Any:
        """What one item is, as it was written."""
        ...

    @property
    def list_schema(self) -> Any:
        """What the list of the resource is, as it was written; None where there is none."""
        ...

    @property
    def resource(self) -> str:
        """The name of the resource, the same in all processes."""
        ...

    def is_item(self, url: str, /) -> bool:
        """Whether a URL is the address of one item of the resource, that of its `get`."""
        ...

    def items_at(self, path: str, /) -> Iterable[tuple[EntityModel, str]]:
        """The records whose `get` has this path, in any resource of the package: class record and primary key."""
        ...

    def get_request(self, table: str, pk: str, record: Mapping[str, Any] | None = None, /) -> Request | None:
        """The request of `get` for a record, of any resource of the package; None where there is none.

        Path parameters before the key are fields of the `record`.
        """
        ...

    def stale_tests(
        self, args: tuple[Any, ...], names: Sequence[str], locator: UrlResolver | None, /
    ) -> Iterable[Callable[[str], bool]]:
        """Tell the keys of what reads under these names, where the path has what the mutation's path has."""
        ...

    def stale_tables(self, names: Sequence[str], locator: UrlResolver | None, /) -> set[str]:
        """The tables of the entities that endpoints under these names read one record of, requested or not."""
        ...

    def lists_test(self, args: tuple[Any, ...], /) -> Callable[[str], bool]:
        """Tells the keys of the lists under the same path."""
        ...


class EntityParams(NamedTuple):
    """How the parameters of a request name an entity."""

    fields: Mapping[str, str] | None = None
    """By parameter of another name: the field, dotted if it is nested in an object."""
    path_names: frozenset[str] | None = None
    """The parameters that identify the entity; None: all."""
    outer: frozenset[str] = frozenset()
    """Path parameters before the last one, which name something else than the entity."""
    names_entity: bool = True
    """Whether a call says which entity it reads; else the server chooses it, as at `/runs/latest`."""


class Rules:
    """What the cache knows of an endpoint: the schema of its responses, how its requests name an entity, and its plans.

    `raw_schema` is the schema as it was declared; `raw_returns` declares, if there is no schema, what a response is
    decoded to, without tables. `siblings` are the other requests of the same entity.
    """

    def __init__(
        self,
        *,
        raw_schema: Any,
        raw_returns: Any,
        side_effect: bool,
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
        self.siblings = siblings
        self.params = params
        self.read = read
        self.response = response
        self.mutation = mutation
        self.lists = lists
        self.persistence = persistence
        self.is_optimistic = side_effect and mutation.get_optimistic_response is not None
        """Whether a fetch shows at once what it is expected to bring."""
        self._analyses: dict[Callable[[Schema | None], int], tuple[int, int]] = {}
        self._required: dict[EntityModel, tuple[frozenset[str], frozenset[str] | None]] = {}

    @cached_property
    def schema(self) -> Schema | None:
        """The schema of `raw_schema`, resolved at first use."""
        return schema_of(self.raw_schema)

    def analyze(self, judge: Callable[[Schema | None], int]) -> int:
        """What is judged of the schema, asked once as long as no schema is redefined."""
        found = self._analyses.get(judge)
        if found is None or found[0] != definitions.count:
            found = self._analyses[judge] = definitions.count, judge(self.schema)
        return found[1]

    def required_fields(self, model: EntityModel) -> tuple[frozenset[str], frozenset[str] | None]:
        """What an entity that came with other responses has to fulfil to answer a request without asking.

        The names in JSON that its record must have, and the parameters that say no more than which entity is meant.
        """
        found = self._required.get(model)
        if found is None:
            needed = self._needed(model)
            telling = (
                None
                if self.params.path_names is None
                else self.params.path_names | model.telling | {*(self.params.fields or ())}
            )
            found = self._required[model] = needed, telling
        return found

    def with_nulls(self, model: EntityModel, record: dict[str, Any]) -> dict[str, Any]:
        """A record of a server that leaves out what is null, with null in the fields that it leaves out.

        That is what `needs="required"` says of records that have all required fields; else an optional field may be
        left out for other reasons, as in a summary.
        """
        required = self.required_fields(model)[0]
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
        if self.read.counts_whole and model is not first_model(self.schema):
            return frozenset(field.in_json for field in model.fields.values())
        return frozenset(model.to_json.get(name, name) for name in self.read.needs if name in model.fields)

    @cached_property
    def reach(self) -> Reach | None:
        """What results of the endpoint can show; None if that is not known in advance."""
        return reach_of(self.schema, is_choice=not self.params.names_entity)

    @cached_property
    def known_params(self) -> frozenset[str] | None:
        """The parameters that only say which entity is meant, as records call them; None if all do."""
        if self.params.path_names is None:
            return None
        reach = self.reach
        models = () if reach is None else (model for table in tables_of(self.schema) for model in reach.models[table])
        return self.params.path_names.union(*(model.telling for model in models))

    @cached_property
    def lookup_fields(self) -> Mapping[str, str]:
        """The parameters by which an entity is found that are fields of it and no primary key, each with its field."""
        entity = as_entity(self.schema)
        if entity is None:
            return {}
        own = (self.params.path_names or frozenset()) - self.params.outer - entity.model.telling
        return {**{name: name for name in own if name in entity.model.fields}, **(self.params.fields or {})}

    @cached_property
    def deletes(self) -> bool:
        """Whether a success means that the record of the request is gone, whatever the response contains."""
        schema = self.schema
        return schema is not None and schema.removes and (self.mutation.invalidation_removes or schema.takes_anything)

    @cached_property
    def completed_model(self) -> EntityModel | None:
        """The class of the records whose gaps in a response are filled with what was sent; None if none are."""
        schema = self.schema
        is_update = self.mutation.method in ("PUT", "PATCH") and as_entity(schema) is not None
        if schema is None or not (is_update or schema.is_creation) or schema.subject is None:
            return None
        return next((entity.model for entity in schema.subject.entities.values()), None)

    @cached_property
    def outer_fields(self) -> frozenset[str]:
        """The path parameters before the last one that are fields of the entity, and not its primary key."""
        entity = as_entity(self.schema)
        return frozenset() if entity is None else self.params.outer & entity.model.fields.keys() - entity.model.telling

    @cached_property
    def resource(self) -> str | None:
        """The name of the resource that the endpoint belongs to; None where there is none."""
        return None if self.siblings is None else self.siblings.resource

    def params_to_fields(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """URL parameters as a record tells them: under the names of the fields that they are.

        A path parameter before the last one is no primary key, even if it has its name.
        """
        if self.params.outer:
            params = self._without_outer(params)
        return params if self.params.fields is None else params_to_fields(params, self.params.fields, self.schema)

    def _without_outer(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        model = first_model(self.schema)
        if model is None or model.pk_name is None:
            return params
        outer = self.params.outer & {model.pk_name, model.to_python.get(model.pk_name, model.pk_name)}
        return {name: value for name, value in params.items() if name not in outer} if outer else params

    def entity_args(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Bound arguments whose URL parameters are those that a record tells."""
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
    """One call of an endpoint: `args` are positional and bound; `endpoint` made it, and the cache asks it nothing else.

    An `inactive` request wants nothing: its only argument is None. It has no key. `locator` is the client that asks.
    """

    __slots__ = ("_url", "answer", "args", "endpoint", "inactive", "key", "locator", "needs_body", "rules")

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
        """The HTTP answer that is being written; None where a response is written by hand."""
        self.needs_body = False
        """Whether the caller reads the HTTP response itself, so that it is never sent on condition of a change."""
        self._url = url

    @property
    def url(self) -> str:
        """Where the request goes, and what tells requests under one key apart. Raises what building a URL raises."""
        found = self._url
        if found is None:
            self._url = found = self.endpoint.request_url(self.args)
        return found

    @property
    def path(self) -> str | None:
        """The address without its query; None where there is none."""
        try:
            return path_of(self.url) or None
        except Exception:  # a user's own hook failed, or no request can be made of it
            return None

    @property
    def label(self) -> str:
        """What is asked, for messages: method and address, which is that of the client; else the key."""
        try:
            url = self.url
        except Exception:  # no request can be made of it, or a user's own hook failed: the key was made before
            return self.key
        if not url:
            return self.key
        address = public_url(url if self.locator is None else self.locator.address(url))
        return f"{self.rules.mutation.method} {address}".lstrip()

    @property
    def label_with_status(self) -> str:
        """What is asked and how it was answered, for messages."""
        return self.label if self.answer is None else f"{self.label}: {status_line(self.answer)}"

    @property
    def identity(self) -> Identity:
        """Key, URL and what a view or the call varies: requests that agree in all of these can share one response."""
        view, options = self.endpoint.view_options, self.options
        if view is None and options is None:
            return self.key, self.url
        varied = (() if view is None else view.vary_key) + (() if options is None else options.vary_key)
        return (self.key, self.url, *varied)

    @property
    def options(self) -> HasHeaders | None:
        """What the call says beside its arguments; None if it says nothing."""
        return self.args.options if isinstance(self.args, Arguments) else None

    def __repr__(self) -> str:
        return f"<Request {self.key or '(inactive)'}>"
