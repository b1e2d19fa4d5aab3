"""HTTP endpoints: from a path template and arguments to a request, from an answer to a value (§2, §3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, NotRequired, TypedDict, cast, overload

from ..base.errors import ParseError, UnexpectedContentError
from ..base.json_text import decode_json, encode_json
from ..base.lazy import dataclasses
from ..base.steps import PLAIN, Flow, Outcome, current_transport, is_awaitable, run, run_async
from ..base.values import described, is_list, is_mapping, is_sequence, kind_of
from ..http.transport import (
    AsyncTransport,
    Form,
    Multipart,
    StreamedResponse,
    SyncTransport,
    content_of,
    content_type_of,
    is_binary,
    is_file,
    text_of,
    url_of,
)
from ..schema.collection import Collection, find_collection, paginated_schema
from ..schema.containers import Object, Values
from ..schema.entity import entity_of
from ..schema.notation import Lazy, body_model
from ..schema.protocol import Schema
from ..schema.record import Record, RecordMeta, to_wire
from .endpoint import ANY, Assigns, Binder, Endpoint, Has, P, PageP, PageR, PushP, PushR, R, UnshiftP, UnshiftR
from .path import PathTemplate, path_template, search_string

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import ParamSpec, TypeVar

    from ..client.controller import AsyncController, Controller
    from .bound import AsyncBoundList, BoundList
else:
    from typing import ParamSpec, TypeVar

P2 = ParamSpec("P2")
R2 = TypeVar("R2")

JSON_TYPE: Final = "application/json"
_CONTENTS: Final = (None, "json", "text", "bytes", "stream")
_BODY_FORMATS: Final = (None, "json", "form", "multipart", "bytes", "text")
_SERVER_ERROR: Final = 500
_PARTS: Final = (
    "fetch",
    "fetch_response",
    "flow",
    "get_headers",
    "get_request_init",
    "has_body",
    "parse_response",
    "process",
    "request_url",
    "search_to_string",
    "url",
)
"""What the lifecycle calls, and users may override."""


class RestGenerics(TypedDict):
    """The type parameters of an endpoint written as a mapping of its options; typing only (§15.1)."""

    path: str
    schema: NotRequired[Any]
    method: NotRequired[str]
    body: NotRequired[Any]
    search_params: NotRequired[Any]
    process: NotRequired[Callable[..., Any]]


def always_soft(error: BaseException) -> str | None:
    """The error policy "every error keeps stale data in use" (§3.7)."""
    return "soft"


def soft_on_server_error(error: BaseException) -> str | None:
    """The error policy "a status of 500 or more keeps stale data in use" (§3.7)."""
    status = getattr(error, "status", None)
    return "soft" if isinstance(status, int) and status >= _SERVER_ERROR else None


class RestEndpoint(Endpoint[P, R]):
    """One HTTP operation: `RestEndpoint(path="/articles/:id", method="GET", schema=Article, **options)` (§3).

    | option | meaning |
    |---|---|
    | `path`, `url_prefix` | template (§2), and the text put before it |
    | `method` | `GET` by default, `POST` where `side_effect=True` is given alone |
    | `schema` | where entities are in the answer; None: no schema |
    | `body` | `None` disables the body; a record class or `schema.Object` gives the names and conversions of a body |
    | `body_format` | how a body is sent: `json`, `form`, `multipart`, `bytes`, `text`; by default what its type says |
    | `request_init` | `headers`, `credentials`, `timeout` (ms), `redirect`; other members reach `fetch_response` |
    | `content` | `json`, `text`, `bytes` or `stream` instead of what the answer's content type says |
    | `timeout` | milliseconds, for each step of a request and for the whole of its answer |
    | `signal` | an `AbortController().signal` |
    | `client` | an `httpx.Client` or `httpx.AsyncClient` for direct calls |
    | `wire` | keyword names that are other names in the URL, as `{"order_by": "orderBy"}` |

    The methods below may be overridden in a subclass or given as options; `get_request_init`, `get_headers`,
    `fetch_response`, `parse_response`, `process` and `fetch` may be coroutine functions, for the asynchronous client.

    Raises PathTemplateError for a bad template and ValueError for options that contradict each other.
    """

    path: str
    url_prefix: str
    method: str
    request_init: Mapping[str, Any]

    _template: PathTemplate
    _quick: PathTemplate | None
    _plain: bool
    _own_key: bool
    _bare_init: Mapping[str, Any] | None
    _has_body: bool
    _own_process: bool
    _model: Any

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)

    # -- construction -------------------------------------------------------------------------------------------------

    def _configure(self, options: dict[str, Any], given: Mapping[str, Any], base: Endpoint[..., Any] | None) -> None:
        members = self.__dict__
        kind = type(self)
        path = options["path"] if options.get("path") is not None else getattr(kind, "path", None)
        if path is None:
            raise TypeError(f"{kind.__name__} needs a path, such as path='/articles/:id'")
        members["_template"] = path_template(path)
        super()._configure({**options, "path": path}, given, base)
        members["method"] = self._resolve_method(given, base)
        unset: dict[str, Any] = {"url_prefix": "", "request_init": {}}
        for name, default in unset.items():
            if options.get(name) is None:
                members.pop(name, None)
                if not hasattr(kind, name):
                    members[name] = default
        members["_has_body"] = self.method not in ("GET", "DELETE") and self.body is not None
        members["_own_process"] = options.get("process") is not None or kind.process is not RestEndpoint.process
        members["lasting_test"] = options.get("test_key") is None and kind.test_key is RestEndpoint.test_key
        members["decodes"] = not self._own_process and all(
            options.get(name) is None and getattr(kind, name) is getattr(RestEndpoint, name)
            for name in ("parse_response", "fetch", "flow")
        )
        # Where nobody overrides a part of the lifecycle, it is gone through without asking each part what it gives.
        members["_plain"] = options.get("content") != "stream" and all(
            options.get(name) is None and getattr(kind, name) is getattr(RestEndpoint, name) for name in _PARTS
        )
        members["_bare_init"] = None
        members["_own_key"] = "key" not in members and kind.key is RestEndpoint.key
        members["_model"] = ANY
        own_body = kind.has_body is not RestEndpoint.has_body
        plain = "url" not in members and kind.url is RestEndpoint.url and not own_body
        members["_quick"] = self._template if plain and not self._template.leads else None
        special = self.deprecated is not None or self._defaults or self.wire or self._has_body or own_body
        members["_bare"] = not special
        content, body_format = self.content, self.body_format
        if content not in _CONTENTS:
            raise ValueError(f"content of endpoint {self.label} is one of json, text, bytes, stream, not {content!r}")
        if content not in (None, "json") and self._has_schema():
            raise ValueError(
                f"endpoint {self.label} has a schema and content={content!r}; a schema needs JSON: give schema=None"
            )
        if body_format not in _BODY_FORMATS:
            raise ValueError(
                f"body_format of endpoint {self.label} is one of {', '.join(filter(None, _BODY_FORMATS))}, "
                f"not {body_format!r}"
            )
        self._resolve_optimistic(options)

    def _resolve_method(self, given: Mapping[str, Any], base: Endpoint[..., Any] | None) -> str:
        method = given.get("method")
        if method is None:
            if isinstance(base, RestEndpoint):
                return base.method
            method = getattr(type(self), "method", None)
        if method is None:
            return "POST" if self._explicit_side_effect(given) else "GET"
        return str(method).upper()

    def _explicit_side_effect(self, given: Mapping[str, Any]) -> Any:
        explicit = given.get("side_effect")
        return getattr(type(self), "side_effect", None) if explicit is None else explicit

    def _resolve_side_effect(self, given: Mapping[str, Any], base: Endpoint[..., Any] | None) -> bool:
        method = given.get("method")
        if given.get("side_effect") is None and method is None and base is None:
            explicit = getattr(type(self), "side_effect", None)
            method = getattr(type(self), "method", None)
            if explicit is not None:
                return bool(explicit)
        if given.get("side_effect") is None and method is not None:
            return str(method).upper() != "GET"
        return super()._resolve_side_effect(given, base)

    def _own_name(self, options: Mapping[str, Any]) -> str:
        prefix = options.get("url_prefix")
        return str((getattr(type(self), "url_prefix", "") if prefix is None else prefix) + options["path"])

    def _resolve_optimistic(self, options: Mapping[str, Any]) -> None:
        """`optimistic=True` gives the standard members of a resource their payload (§4.3)."""
        payload = options.get("optimistic_payload")
        wanted = payload is not None and options.get("optimistic") and self.side_effect
        if wanted and "get_optimistic_response" not in options:
            build = getattr(self, f"_optimistic_{payload}")
            self.__dict__["get_optimistic_response"] = build

    @property
    def label(self) -> str:
        """Method and path, for messages: what may hold a secret is left out."""
        return f"{self.method} {self.path!r}"

    def _has_schema(self) -> bool:
        return self.schema is not None and not isinstance(self.schema, str)

    # -- arguments ----------------------------------------------------------------------------------------------------

    @property
    def has_body(self) -> bool:
        """False for GET and DELETE and where `body=None` is configured, else true; overridable (§3.2)."""
        return self._has_body

    def _bound_body(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        body = args[-1]
        if body is None:
            return args
        wired = self._to_wire(body)
        return args if wired is body else (*args[:-1], wired)

    def _to_wire(self, body: Any) -> Any:
        if type(body) is not dict:
            if isinstance(body, str | bytes):
                return body
            if hasattr(body, "__dataclass_fields__") and not isinstance(body, type):
                body = {field.name: getattr(body, field.name) for field in dataclasses.fields(body)}
            if not isinstance(body, Mapping | list | tuple | Record):
                return body
        model = self._body_model()
        form = self.body_format
        if isinstance(body, Multipart) or (form == "multipart" and is_mapping(body)):
            return Multipart(_multipart_to_wire(body, model))
        if isinstance(body, Form) or (form == "form" and isinstance(body, Mapping | Record)):
            return Form(to_wire(body, model))
        return to_wire(body, model)

    def _body_model(self) -> Any:
        model = self._model
        if model is ANY:
            model = self.__dict__["_model"] = _model_of(self.body, self.schema)
        return model

    def _params(self, args: tuple[Any, ...]) -> Any:
        """The URL parameters among bound arguments (§3.3)."""
        params = args[0] if args else None
        return {} if not params or (len(args) == 1 and self.has_body) else params

    # -- URL and key --------------------------------------------------------------------------------------------------

    def url(self, /, *args: Any, **keywords: Any) -> str:
        """`url_prefix`, the filled template, and the other parameters as search string (§2.3).

        Raises MissingParameterError, TypeError for a parameter without text or parameters that are no mapping, and
        ValueError for a value that would change the route.
        """
        # One argument, the dict of parameters; typed so that an override may name it as it likes.
        url_params: Any = args[0] if args else None
        if keywords or (url_params is None and self._defaults):
            url_params = self.bind_args(args if url_params is not None else (), keywords)[0]
        params = cast("dict[str, Any]", {} if url_params is None else url_params)
        if type(params) is not dict and not is_mapping(params):
            raise TypeError(
                f"the parameters of endpoint {self.name!r} are a dict, not {described(url_params)}; give them by name, "
                "or as one dict"
            )
        template = self._template
        prefix = self.url_prefix
        url = prefix + (template.filler or template.fill)(params, prefix.rpartition("/")[2] if template.leads else "")
        names = template.names
        if len(params) != template.exact and not names.issuperset(params):
            search = {name: value for name, value in params.items() if name not in names}
            text = self._text("search_to_string", self.search_to_string(search))
            if text:
                url += ("&" if template.has_query else "?") + text
        return url

    def search_to_string(self, search_params: Mapping[str, Any]) -> str:
        """The search string of these raw values: form encoding, sorted by name, None dropped (§2.4)."""
        return search_string(search_params)

    def key(self, /, *args: P.args, **kwargs: P.kwargs) -> str:
        """The method, a space and the URL; the body never enters it (§2.5)."""
        bound: tuple[Any, ...] = args
        if kwargs or (not args and self._defaults):
            bound = self.bind_args(args, kwargs)
        given: Any = bound[0] if bound else None
        quick = self._quick
        if (
            quick is not None
            and kind_of(given) is dict
            and len(given) == quick.exact
            and quick.filler is not None
            and (len(bound) > 1 or not self._has_body)
        ):
            # Every parameter fills the template, and nobody overrides how: what `url` would come to.
            return f"{self.method} {self.url_prefix}{quick.filler(given, '')}"
        return f"{self.method} {self.url({} if not given or (len(bound) == 1 and self.has_body) else given)}"

    def test_key(self, key: str) -> bool:
        """True when the key is this endpoint's for some arguments (§2.5)."""
        start = f"{self.method} {self.url_prefix}"
        if not key.startswith(start):
            return False
        rest = key[len(start) :]
        return self._template.matches(rest if self._template.has_query else rest.partition("?")[0])

    def request_url(self, args: tuple[Any, ...]) -> str:
        """The URL of a call with these bound arguments.

        Raises what `url` raises, and ValueError for `""` where a required parameter is a whole segment (§2.2).
        """
        params: Any = args[0] if args and (len(args) != 1 or not self.has_body) else None
        quick = self._quick
        if quick is not None and quick.filler is not None and type(params) is dict:
            given = cast("dict[str, Any]", params)
            if len(given) == quick.exact:
                # As in `key`: what `url` would come to.
                if quick.whole:
                    quick.refuse_empty(given)
                return self.url_prefix + quick.filler(given, "")
        if not params:
            params = {}
        template = self._template
        if template.whole and is_mapping(params):
            template.refuse_empty(params)
        return self.url(params)

    def address(self, args: tuple[Any, ...]) -> tuple[str, str]:
        """`key` and `request_url` of a call with these bound arguments: together, the identity of a request (§9.2)."""
        url = self.request_url(args)
        return (f"{self.method} {url}", url) if self._own_key else super().address(args)

    # -- lifecycle ----------------------------------------------------------------------------------------------------

    def flow(self, args: tuple[Any, ...]) -> Flow:
        """The whole lifecycle for bound arguments (§3.4), for `flow.run` and `flow.run_async`."""
        if "fetch" in self.__dict__ or type(self).fetch is not RestEndpoint.fetch:
            return super().flow(args)
        return self._lifecycle(args)

    def fetch(self, *args: Any) -> Any:
        """Runs the lifecycle (§3.4) within the call that is under way; an override may call it."""
        transport = current_transport()
        if transport is None:
            raise _outside(self, "fetch")
        if isinstance(transport, AsyncTransport):
            return run_async(self._lifecycle(args), transport)
        return run(self._lifecycle(args), transport)

    def _lifecycle(self, args: tuple[Any, ...]) -> Flow:
        url = self.request_url(args)
        init = self.get_request_init(args[-1] if args and self.has_body else None)
        if type(init) not in PLAIN and is_awaitable(init):
            init = yield Outcome(self.name, "get_request_init", init)
        response = self.fetch_response(url, init)
        if is_awaitable(response):
            response = yield Outcome(self.name, "fetch_response", response)
        value = self.parse_response(response)
        if type(value) not in PLAIN and is_awaitable(value):
            value = yield Outcome(self.name, "parse_response", value)
        value = self.process(value, *args)
        if type(value) not in PLAIN and is_awaitable(value):
            value = yield Outcome(self.name, "process", value)
        return value

    def perform(self, args: tuple[Any, ...], transport: SyncTransport, url: str | None = None) -> Any:
        """Runs the whole lifecycle for bound arguments, blocking where it waits; `url` is `request_url`, if known."""
        if not self._plain:
            return super().perform(args, transport)
        if url is None:
            url = self.request_url(args)
        return self._answer(transport.send(url, self._plain_init(args), timeout=self.timeout))

    async def perform_async(self, args: tuple[Any, ...], transport: AsyncTransport, url: str | None = None) -> Any:
        """Runs the whole lifecycle for bound arguments, awaiting where it waits; `url` is `request_url`, if known."""
        if not self._plain:
            return await super().perform_async(args, transport)
        if url is None:
            url = self.request_url(args)
        return self._answer(await transport.send(url, self._plain_init(args), timeout=self.timeout))

    def _plain_init(self, args: tuple[Any, ...]) -> Mapping[str, Any]:
        """`get_request_init` where no hook is overridden, and so nobody who could change what is given."""
        if self._has_body or self.request_init or self.signal is not None:
            return cast("Mapping[str, Any]", self.get_request_init(args[-1] if args and self._has_body else None))
        init = self._bare_init
        if init is None or init["method"] != self.method:
            init = self.__dict__["_bare_init"] = self.get_request_init()
        return init

    def _answer(self, response: Any) -> Any:
        """The value of an answer that was read, where no hook is overridden."""
        return None if response.status_code == 204 else self._parsed(response, response.content)

    def get_request_init(self, body: Any = None) -> Any:
        """What is sent: `request_init` overlaid with `method`, `signal` and `body`, and the headers (§3.4).

        A JSON body is encoded to text. Raises TypeError for a body that has no JSON form.
        """
        request_init = self.request_init
        init: dict[str, Any] = {**request_init, "method": self.method, "signal": self.signal, "body": None}
        as_json = True
        if body is not None and not (type(body) is str and not body):
            as_json = self._is_json(body)
            init["body"] = self._encoded(body) if as_json else body
        own = request_init.get("headers")
        headers: dict[str, str] = {"Content-Type": JSON_TYPE} if as_json else {}
        if own:
            own = dict(own)
            if any(name.lower() == "content-type" for name in own):
                headers.clear()
            headers.update(own)
        sent = self.get_headers(headers)
        if type(sent) is not dict and is_awaitable(sent):
            transport = current_transport()
            if not isinstance(transport, SyncTransport):
                return _with_headers(init, sent)
            Outcome(self.name, "get_headers", sent).run(transport)
        init["headers"] = sent
        return init

    def _is_json(self, body: Any) -> bool:
        if self.body_format == "json":
            return True
        if isinstance(body, Form | Multipart | str | bytes | bytearray | memoryview):
            return False
        if isinstance(body, Mapping | list | tuple | Record):
            return True
        return not (hasattr(body, "read") or hasattr(body, "__next__") or hasattr(body, "__aiter__"))

    def _encoded(self, body: Any) -> str:
        try:
            return encode_json(to_wire(body), lambda item: to_wire(item))
        except (TypeError, ValueError) as error:
            raise type(error)(f"the body of endpoint {self.name!r} cannot be sent as JSON: {error}") from error

    def get_headers(self, headers: dict[str, str]) -> Any:
        """The headers that go out, from those of the request so far; identity by default (§3.4)."""
        return headers

    def fetch_response(self, url: str, init: Mapping[str, Any]) -> Any:
        """Sends the request and returns the answer (§3.4).

        Raises NetworkError for a final status outside 200–299 and for failures on the way, AbortError where the
        signal is aborted, ValueError for a relative URL without a base URL.
        """
        transport = current_transport()
        if transport is None:
            raise _outside(self, "fetch_response")
        return transport.send(url, init, timeout=self.timeout, stream=self.content == "stream")

    def parse_response(self, response: Any) -> Any:
        """The value of an answer: JSON, text, bytes or None, as status, content type and options say (§3.4).

        Raises ParseError (400) for malformed JSON, UnexpectedContentError (404) for text or binary content where the
        endpoint has a schema.
        """
        if response.status_code == 204:
            return None
        if self.content == "stream":
            return StreamedResponse(response, current_transport())
        content = content_of(response)
        if isinstance(content, bytes):
            return self._parsed(response, content)
        return self._parsed_later(response, content)

    async def _parsed_later(self, response: Any, content: Awaitable[bytes]) -> Any:
        return self._parsed(response, await content)

    def _parsed(self, response: Any, content: bytes) -> Any:
        wanted = self.content
        kind = content_type_of(response)
        if wanted == "json" or (wanted is None and "json" in kind):
            try:
                return decode_json(content)
            except ValueError as error:
                url = url_of(response)
                raise ParseError(
                    (
                        f"{url}: the answer is not JSON ({error}), though its content type is {kind or 'missing'!r}"
                        if content
                        else f"{url}: the answer is empty where JSON was expected"
                    ),
                    status=400,
                    response=response,
                    url=url,
                ) from error
        if wanted == "bytes":
            return content
        binary = wanted is None and is_binary(kind)
        if not self._has_schema() or self._own_process or wanted == "text":
            return content if binary else text_of(response, content)
        raise self._unexpected(response, kind, None if binary else text_of(response, content))

    def _unexpected(self, response: Any, kind: str, text: str | None) -> UnexpectedContentError:
        url = url_of(response)
        start = f"{url}: endpoint {self.name!r} has a schema and expected JSON, but the answer is "
        if text is None:
            rest = f"binary content of type {kind!r}; give schema=None to get its bytes"
        elif "html" in kind or text.lstrip()[:15].lower().startswith(("<!doctype html", "<html")):
            rest = f"HTML; the route may not exist on the server. It begins with: {text[:300]}"
        elif _is_json_text(text):
            rest = (
                f"JSON text with the content type {kind or 'missing'!r}; let the server send "
                "'application/json', or give content='json'"
            )
        else:
            rest = f"text of type {kind or 'missing'!r}; give schema=None or a process that makes an object of it"
        return UnexpectedContentError(start + rest, status=404, response=response, url=url)

    def process(self, value: Any, *args: Any) -> Any:
        """The result, from the parsed value and the bound arguments; identity by default (§3.4)."""
        return value

    # -- optimistic payloads of the standard members (§4.3) -----------------------------------------------------------

    def _params_and_body(self, args: tuple[Any, ...]) -> tuple[Mapping[str, Any], Any]:
        return self._params(args), args[-1] if args and self.has_body else None

    def _as_record(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """URL parameters as members of a record: those of the path have Python names, the fields may not (§5.3.0)."""
        return cast("Mapping[str, Any]", to_wire(params, entity_of(self.schema)))

    def _optimistic_merged(self, snapshot: Any, *args: Any) -> Any:
        params, body = self._params_and_body(args)
        params = self._as_record(params)
        if is_sequence(body):
            return [{**params, **item} for item in body]
        return {**params, **body} if is_mapping(body) else {**params}

    def _optimistic_entries(self, snapshot: Any, *args: Any) -> Any:
        # What is assigned are the members of the body; parameters beside them would be entries of the map.
        return self._params_and_body(args)[1] or {}

    def _optimistic_patched(self, snapshot: Any, *args: Any) -> Any:
        params, body = self._params_and_body(args)
        current = snapshot.get(self.schema, params)
        if current is None:
            raise snapshot.abort
        return {**self._as_record(params), **to_wire(current), **(body if is_mapping(body) else {})}

    def _optimistic_params(self, snapshot: Any, *args: Any) -> Any:
        return self._params(args)

    # -- collections --------------------------------------------------------------------------------------------------

    def _collection(self, member: str) -> Collection:
        found = find_collection(self.schema)
        if found is None:
            raise ValueError(
                f"Missing Collection: {member} of endpoint {self.name!r} needs a Collection in its schema, "
                f"which is {self.schema!r}; declare it as Collection([S])"
            )
        return found

    def _adder(self, member: str) -> Any:
        known = self._derived.get(member)
        if known is None:
            schema: Any = getattr(self._collection(member), member)
            removal = member in ("remove", "move")
            options: dict[str, Any] = {
                "method": "PATCH" if removal else "POST",
                "schema": schema,
                "name": f"{self.name}.{member if removal else 'create'}",
                "signature": self._signature_of(member),
            }
            if removal:
                options["path"] = self.item_path or self.path
            else:
                options["optimistic_payload"] = "entries" if member == "assign" else "merged"
            options.update(getattr(self, f"{member}_options", None) or {})
            known = self._derived[member] = self.extend(**options)
        return known

    def _signature_of(self, member: str) -> Any:
        return (self.signatures or {}).get(member)

    @property
    def push(self) -> RestEndpoint[..., Any]:
        """POST that adds what is created at the end of the collection (§3.9). Raises ValueError without a list."""
        return cast("RestEndpoint[..., Any]", self._adder("push"))

    @property
    def unshift(self) -> RestEndpoint[..., Any]:
        """POST that adds what is created at the start of the collection (§3.9). Raises ValueError without a list."""
        return cast("RestEndpoint[..., Any]", self._adder("unshift"))

    @property
    def assign(self) -> RestEndpoint[..., Any]:
        """POST that adds entries to a collection of values (§3.9). Raises ValueError without one."""
        return cast("RestEndpoint[..., Any]", self._adder("assign"))

    @property
    def remove(self) -> RestEndpoint[..., Any]:
        """PATCH that takes the entity out of the collection (§5.8.5). Raises ValueError without one."""
        return cast("RestEndpoint[..., Any]", self._adder("remove"))

    @property
    def move(self) -> RestEndpoint[..., Any]:
        """PATCH that moves the entity between collections (§5.8.5). Raises ValueError without one."""
        return cast("RestEndpoint[..., Any]", self._adder("move"))

    @property
    def get_page(self) -> RestEndpoint[..., Any]:
        """Fetches a further page, found through `pagination_field`, and appends it (§3.9, §5.8.6).

        `pagination={"remove_cursor": function}` gives the function form of `paginated`. Raises AttributeError without
        either, ValueError without a collection.
        """
        field = self.pagination_field
        if is_mapping(self.pagination) and self.pagination.get("remove_cursor") is not None:
            field = self.pagination["remove_cursor"]
        if field is None:
            raise AttributeError(
                f"endpoint {self.name!r} has no get_page: set pagination_field to the search parameter of the page"
            )
        known = self._derived.get("get_page")
        if known is None:
            known = self.paginated(field).extend(
                signature=self._signature_of("get_page"), **(getattr(self, "get_page_options", None) or {})
            )
            self._derived["get_page"] = known
        return cast("RestEndpoint[..., Any]", known)

    def paginated(self, cursor: str | Callable[..., Any]) -> RestEndpoint[..., Any]:
        """An endpoint whose answers are pages, appended to this endpoint's collection (§5.8.6).

        `cursor` is the search parameter that names a page, or a function that gives, for a page's arguments, the list
        of arguments of the list. Pages are kept under the list's key. Raises ValueError without a collection.
        """
        remove_cursor = _field_remover(cursor) if isinstance(cursor, str) else cursor
        base = cast("RestEndpoint[..., Any]", self)

        def key(*args: Any) -> str:
            return base.key(*remove_cursor(*args))

        return cast(
            "RestEndpoint[..., Any]",
            self.extend(schema=paginated_schema(self.schema, remove_cursor), key=key, name=f"{self.name}.get_page"),
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.method} {self.path}>"


class ListEndpoint(RestEndpoint[P, R], Generic[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]):
    """A `RestEndpoint` whose schema holds a Collection, typed: what `push` (or `assign`), `get_page` and `unshift` take
    and give.

    At run time it is a `RestEndpoint`; each has what its schema and options allow.
    """

    if TYPE_CHECKING:

        @property
        def push(self: ListEndpoint[Any, Any, P2, Has[R2], Any, Any]) -> RestEndpoint[P2, R2]: ...
        @property
        def unshift(self: ListEndpoint[Any, Any, Any, Any, Any, Any, P2, Has[R2]]) -> RestEndpoint[P2, R2]: ...
        @property
        def assign(self: ListEndpoint[Any, Any, P2, Assigns[R2], Any, Any]) -> RestEndpoint[P2, R2]: ...
        @property
        def get_page(self: ListEndpoint[Any, Any, Any, Any, P2, Has[R2]]) -> RestEndpoint[P2, R2]: ...
        @overload
        def __get__(self, instance: None, owner: Any, /) -> Self: ...
        @overload
        def __get__(
            self, instance: Binder[Controller], owner: Any, /
        ) -> BoundList[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]: ...
        @overload
        def __get__(
            self, instance: Binder[AsyncController], owner: Any, /
        ) -> AsyncBoundList[P, R, PushP, PushR, PageP, PageR, UnshiftP, UnshiftR]: ...
        @overload
        def __get__(self, instance: object, owner: Any, /) -> Self: ...
        def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...


def _outside(endpoint: RestEndpoint[..., Any], hook: str) -> RuntimeError:
    return RuntimeError(f"{hook} of endpoint {endpoint.name!r} was called outside of a call; call the endpoint itself")


async def _with_headers(init: dict[str, Any], headers: Any) -> dict[str, Any]:
    init["headers"] = await headers
    return init


def _is_json_text(text: str) -> bool:
    try:
        decode_json(text.encode("utf-8", "replace"))
    except ValueError:
        return False
    return True


def _field_remover(field: str) -> Callable[..., tuple[Any, ...]]:
    def remove(*args: Any) -> tuple[Any, ...]:
        first = args[0] if args else None
        if not is_mapping(first):
            return ()
        return ({name: value for name, value in first.items() if name != field},)

    return remove


# --- bodies ----------------------------------------------------------------------------------------------------------


def _model_of(body: Any, schema: Any) -> Any:
    """What names and converts the members of a body: a record class, an `Object`, or None (§5.3.0)."""
    if isinstance(body, Lazy):
        body = body.raw
    if is_sequence(body) and len(body) == 1:
        return _model_of(body[0], None)
    if isinstance(body, RecordMeta | Object | Values):
        return body
    if body is dict:
        return None
    if body is not ANY and isinstance(body, Schema):
        return body_model(body)
    return body_model(schema)


def _multipart_to_wire(body: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Files stay what they are; only names and texts have a wire form."""
    names = list(body)
    placed = to_wire(dict.fromkeys(names), model)
    texts = to_wire({name: value for name, value in body.items() if not _holds_file(value)}, model)
    renamed = dict(zip(placed, names, strict=True))
    return {wire: body[name] if _holds_file(body[name]) else texts[wire] for wire, name in renamed.items()}


def _holds_file(value: Any) -> bool:
    return any(map(_holds_file, value)) if is_list(value) else is_file(value)
