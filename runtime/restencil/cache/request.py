"""A request as the cache sees it: its key, its arguments, and the rules of its endpoint."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeAlias

from ..base.response_details import status_line
from ..base.transport import public_url
from ..base.values import is_mapping
from ..schema.entity import EntitySchema, first_model, params_to_fields
from ..schema.notation import schema_of
from ..schema.protocol import definitions
from .plan import BY_HAND, FreshnessPolicy
from .reach import Reach, reach_of, tables_of
from .staleness import path_of

if TYPE_CHECKING:
    from ..schema.entity import EntityModel
    from ..schema.protocol import Schema
    from .validators import Concurrency

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

    def get_request(self, table: str, pk: str, /) -> Request | None:
        """The request of `get` for a record, of any resource of the package; None where there is none."""
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


class Rules:
    """What holds for all requests of one endpoint, as far as the cache minds; lengths are in milliseconds.

    `raw_schema` is the schema as it was written; `owns_response` says that a response was decoded for its call alone,
    so that its objects may become records as they are; `has_body` that the last argument is a body. `needs` are the
    fields that an entity from other responses must have; `path_names` are the parameters that identify the entity
    (None: all). `strict_shape`, `replace` and `empty` decide how a response is stored, `siblings` are the other
    requests of the same entity. `raw_returns` is
    a schema that says, where there is no other, what a response is decoded to; nothing of it goes into tables.
    """

    def __init__(
        self,
        *,
        raw_schema: Any = None,
        method: str = "",
        side_effect: bool = False,
        invalid_if_stale: bool = False,
        data_expiry_length: float | None = None,
        error_expiry_length: float | None = None,
        error_policy: Callable[[BaseException], Any] | None = None,
        get_optimistic_response: Callable[..., Any] | None = None,
        update: Callable[..., Any] | None = None,
        owns_response: bool = False,
        exact_key_match: bool = False,
        list_key: Callable[..., str] | None = None,
        total: tuple[str, ...] = (),
        needs: str | Iterable[str] = (),
        policy: FreshnessPolicy = BY_HAND,
        pages: bool = False,
        exact_filters: Iterable[str] | None = None,
        outer_params: frozenset[str] = frozenset(),
        names_entity: bool = True,
        path_names: frozenset[str] | None = None,
        validate: str | None = None,
        has_body: bool = False,
        strict_shape: bool = False,
        replace: bool = False,
        empty: str | None = None,
        siblings: ResourceInfo | None = None,
        expires: str | Iterable[str] = (),
        raw_returns: Any = None,
        param_fields: Mapping[str, str] | None = None,
        body_fields: Mapping[str, str] | None = None,
        persist: bool | int | None = None,
        processes: bool = False,
        is_stored: bool = True,
        conditional: bool = False,
        freshness: tuple[float, float] | None = None,
        concurrency: Concurrency | None = None,
        stages: tuple[Callable[[Any], None], ...],
    ) -> None:
        self.raw_schema = raw_schema
        self.param_fields = param_fields or None
        """By parameter of another name: the field, dotted if it is nested in an object."""
        self.body_fields = body_fields or None
        """By member of the body: the field, dotted if it is nested in an object."""
        self.method = method
        """That of HTTP, for messages."""
        self.side_effect = side_effect
        self.invalid_if_stale = invalid_if_stale
        self.data_expiry_length = data_expiry_length
        self.error_expiry_length = error_expiry_length
        self.error_policy = error_policy
        self.get_optimistic_response = get_optimistic_response
        self.update = update
        self.owns_response = owns_response
        self.exact_key_match = exact_key_match
        """Whether the endpoint's test is true of the key of each of its requests."""
        self.total = total
        """Where a response says how many items its list has in all, if it does: names in JSON."""
        self.has_body = has_body
        self.strict_shape = strict_shape
        self.replace = replace
        self.empty = empty
        self.siblings = siblings
        self.expires = () if isinstance(expires, str) else tuple(expires)
        """What turns stale after success, by name."""
        self.policy = policy if expires != "nothing" else policy._replace(marks_changes=False)
        """Where the rule of freshness is generous with requests, and where it is sparing."""
        self.pages = pages
        """Whether its lists are pages of longer ones."""
        self.exact_filters = None if exact_filters is None else frozenset(exact_filters)
        """The arguments of a list that decide exactly what is in it; None: those that are fields of the entity."""
        self.outer_params = outer_params
        """Path parameters before the last one, which name something else than the entity."""
        self.names_entity = names_entity
        """Whether a call says which entity it reads; else the server chooses it, as at `/runs/latest`."""
        self.raw_returns = raw_returns
        self.persist = 1 if persist is None else int(persist)
        """Whether a storage keeps what is answered, 0 or 1; from 1 on the number is part of its shape."""
        self.processes = processes
        """Whether a function of the user's makes of a response what fits the schema."""
        self.is_stored = is_stored
        """Whether results are stored, found and shared; a stream that is read once is not."""
        self.list_key = list_key
        """Of an endpoint whose responses are pages of a list: the key of the list, from a page's arguments."""
        self.is_optimistic = side_effect and get_optimistic_response is not None
        """Whether a fetch shows at once what it is expected to bring."""
        self.needs: str | tuple[str, ...] = needs if isinstance(needs, str) else tuple(needs)
        """The fields that an entity must have to be whole: `"all"` that it declares, or these."""
        self.path_names = path_names
        self.validate = validate
        """What becomes of answers that do not fit what is declared; None: what the store says."""
        self.conditional = conditional
        """Whether requests are conditional (If-None-Match, If-Modified-Since) when validators are known."""
        self.freshness = freshness
        """Where data lives as long as the server says: for how long at least, and at most; None: as the client says."""
        self.concurrency = concurrency
        """How mutations tell what they were made for, if they do."""
        self.stages = stages
        """The stages of its responses; each takes a `Transaction`, which this module cannot import."""
        self._judged: dict[Callable[[Schema | None], int], tuple[int, int]] = {}
        self._demands: dict[EntityModel, tuple[frozenset[str], frozenset[str] | None]] = {}

    @cached_property
    def schema(self) -> Schema | None:
        """The schema of `raw_schema`, resolved at first use."""
        return schema_of(self.raw_schema)

    def analyze(self, judge: Callable[[Schema | None], int]) -> int:
        """What is judged of the schema, asked once as long as no schema is redefined."""
        found = self._judged.get(judge)
        if found is None or found[0] != definitions.count:
            found = self._judged[judge] = definitions.count, judge(self.schema)
        return found[1]

    def required_fields(self, model: EntityModel) -> tuple[frozenset[str], frozenset[str] | None]:
        """What an entity that came with other responses has to fulfil to answer a request without asking.

        The names in JSON that its record must have, and the parameters that say no more than which entity is meant.
        """
        found = self._demands.get(model)
        if found is None:
            needed = self._needed(model)
            telling = (
                None if self.path_names is None else self.path_names | model.telling | {*(self.param_fields or ())}
            )
            found = self._demands[model] = needed, telling
        return found

    def _needed(self, model: EntityModel) -> frozenset[str]:
        if self.needs == "all":
            return frozenset(field.in_json for field in model.fields.values())
        if self.needs == "required":
            fields = model.fields.values()
            return frozenset(field.in_json for field in fields if field.required or field.default_value() is not None)
        if self.policy.counts_whole and model is not first_model(self.schema):
            return frozenset(field.in_json for field in model.fields.values())
        return frozenset(model.to_json.get(name, name) for name in self.needs if name in model.fields)

    @cached_property
    def reach(self) -> Reach | None:
        """What results of the endpoint can show; None if that is not known in advance."""
        return reach_of(self.schema, is_choice=not self.names_entity)

    @cached_property
    def known_params(self) -> frozenset[str] | None:
        """The parameters that only say which entity is meant, as records call them; None if all do."""
        if self.path_names is None:
            return None
        reach = self.reach
        models = () if reach is None else (model for table in tables_of(self.schema) for model in reach.models[table])
        return self.path_names.union(*(model.telling for model in models))

    @cached_property
    def lookup_fields(self) -> Mapping[str, str]:
        """The parameters by which an entity is found that are fields of it and no primary key, each with its field."""
        schema = self.schema
        if not isinstance(schema, EntitySchema):
            return {}
        own = (self.path_names or frozenset()) - self.outer_params - schema.model.telling
        return {**{name: name for name in own if name in schema.model.fields}, **(self.param_fields or {})}

    @cached_property
    def resource(self) -> str | None:
        """The name of the resource that the endpoint belongs to; None where there is none."""
        return None if self.siblings is None else self.siblings.resource

    def params_to_fields(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """URL parameters as a record tells them: under the names of the fields that they are.

        A path parameter before the last one is no primary key, even if it has its name.
        """
        if self.outer_params:
            params = self._without_outer(params)
        return params if self.param_fields is None else params_to_fields(params, self.param_fields, self.schema)

    def _without_outer(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        model = first_model(self.schema)
        if model is None or model.pk_name is None:
            return params
        outer = self.outer_params & {model.pk_name, model.to_python.get(model.pk_name, model.pk_name)}
        return {name: value for name, value in params.items() if name not in outer} if outer else params

    def entity_args(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Bound arguments whose URL parameters are those that a record tells."""
        is_untold = self.param_fields is None and not self.outer_params
        if is_untold or not args or not is_mapping(args[0]) or (len(args) == 1 and self.has_body):
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
        return f"{self.rules.method} {public_url(url if self.locator is None else self.locator.address(url))}".lstrip()

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
