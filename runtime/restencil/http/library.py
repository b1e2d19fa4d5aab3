"""The HTTP libraries httpx and httpx2: the choice of one, and the names that restencil uses of it.

No other file refers to them. A `Library` contains names of one of them, and subclasses of its classes, so that all
objects passed to a client are from its own library. Neither is imported before the first client is opened, because
the import takes long. Type checkers read the names as those of httpx; httpx2 has the same.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from ..base.errors import NetworkError
from ..base.values import described

if TYPE_CHECKING:
    import ssl

    import httpx

Client: TypeAlias = "httpx.Client"
AsyncClient: TypeAlias = "httpx.AsyncClient"
AnyClient: TypeAlias = "httpx.Client | httpx.AsyncClient"
RawRequest: TypeAlias = "httpx.Request"
RawResponse: TypeAlias = "httpx.Response"
Url: TypeAlias = "httpx.URL"

T = TypeVar("T")

LIBRARIES: Final = ("httpx", "httpx2")
"""The libraries, in the order in which they are tried without a name."""

_INSTALLED_BY: Final = {"httpx": "pip install httpx", "httpx2": "pip install 'restencil[httpx2]'"}


class Library:
    """The names of one HTTP library that restencil uses."""

    def __init__(self, module: Any) -> None:
        self.name: str = module.__name__
        self.version: str = module.__version__
        #: The `User-Agent` of the library.
        self.user_agent = f"python-{self.name}/{self.version}"
        #: The name of the package that opens its connections.
        self.core = core = self.name.replace("httpx", "httpcore")
        #: Loggers that log the URL of each request, or the headers of each response.
        self.loggers = (
            self.name,
            *(f"{core}.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")),
            "hpack.hpack",
            "hpack.table",
        )

        self.Client: type[httpx.Client] = module.Client
        self.AsyncClient: type[httpx.AsyncClient] = module.AsyncClient
        self.URL: type[httpx.URL] = module.URL
        #: Parses a URL, with a cache for repeated requests (benchmark "direct call"). Raises `InvalidURL`.
        self.parsed_url: Callable[[str], httpx.URL] = lru_cache(maxsize=512)(module.URL)
        self.Headers: type[httpx.Headers] = module.Headers
        self.Cookies: type[httpx.Cookies] = module.Cookies
        self.Request: type[httpx.Request] = module.Request
        self.Response: type[httpx.Response] = module.Response
        self.ByteStream: type[httpx.ByteStream] = module.ByteStream
        self.SyncByteStream: type[httpx.SyncByteStream] = module.SyncByteStream
        self.AsyncByteStream: type[httpx.AsyncByteStream] = module.AsyncByteStream
        self.BaseTransport: type[httpx.BaseTransport] = module.BaseTransport
        self.AsyncBaseTransport: type[httpx.AsyncBaseTransport] = module.AsyncBaseTransport
        self.MockTransport: type[httpx.MockTransport] = module.MockTransport
        self.create_ssl_context: Callable[[], ssl.SSLContext] = module.create_ssl_context
        self.use_client_default: Any = module.USE_CLIENT_DEFAULT

        #: The error for an invalid URL.
        self.InvalidURL: type[Exception] = module.InvalidURL
        self.RequestError: type[httpx.RequestError] = module.RequestError
        self.TransportError: type[Exception] = module.TransportError
        #: The connection errors of the library by name; those of its core have the same names.
        self.transport_errors: dict[str, type[Exception]] = {
            name: kind
            for name, kind in cast("dict[str, Any]", vars(module)).items()
            if isinstance(kind, type) and issubclass(kind, module.TransportError)
        }
        self.DecodingError: type[Exception] = module.DecodingError
        self.ResponseNotRead: type[Exception] = module.ResponseNotRead
        self.TimeoutException: type[Exception] = module.TimeoutException
        self.ReadTimeout: type[httpx.ReadTimeout] = module.ReadTimeout
        self.ConnectError: type[httpx.ConnectError] = module.ConnectError
        #: The name of a timeout in messages, by the class of its error.
        self.timeouts: dict[type[BaseException], str] = {
            module.ConnectTimeout: "connect",
            module.ReadTimeout: "read",
            module.WriteTimeout: "write",
            module.PoolTimeout: "pool",
        }
        #: Errors while a request is sent or its response is read, which are converted to NetworkError.
        self.failures: tuple[type[Exception], ...] = (
            NetworkError,
            module.RequestError,
            module.StreamError,
            module.InvalidURL,
            OSError,
            UnicodeError,
        )
        #: Errors for a URL that cannot be requested; that for an invalid host name is a UnicodeError.
        self.unreachable: tuple[type[Exception], ...] = (module.UnsupportedProtocol, module.InvalidURL, UnicodeError)

        self._subclasses: dict[type, Any] = {}

    def subclass(self, form: type[T], base: type) -> type[T]:
        """Return the class `form` as a subclass of a class of this library, created once."""
        made = self._subclasses.get(form)
        if made is None:
            made = self._subclasses[form] = type(form.__name__, (form, base), {"__doc__": form.__doc__})
        return cast("type[T]", made)

    def __repr__(self) -> str:
        return f"<{self.name} {self.version}>"


_libraries: Final[dict[str, Library]] = {}
_lock: Final = threading.Lock()


def _library(name: str) -> Library:
    """Return the library of this name, whose module was imported already."""
    found = _libraries.get(name)
    if found is None:
        with _lock:
            found = _libraries[name] = _libraries.get(name) or Library(sys.modules[name])
    return found


# --- which library ---------------------------------------------------------------------------------------------------


def library_behind(thing: object) -> Library | None:
    """Return the library with the class of an object, or with one of its base classes; None if it is from neither.

    It compares the modules of the classes without an import: the library of a client is imported already, and the name
    of one may be an alias of the other (`httpx2.alias_httpx()`).
    """
    for kind in thing.__class__.__mro__:
        name = kind.__module__.partition(".")[0]
        if name in LIBRARIES and name in sys.modules:
            return _library(sys.modules[name].__name__)
    return None


def library_of(thing: object) -> Library:
    """Return the library of a client or a response. Raises TypeError for an object of neither library."""
    library = library_behind(thing)
    if library is None:
        raise TypeError(f"found {described(thing)}; expected an object of httpx or httpx2")
    return library


def check_name(name: str, source: str) -> None:
    """Raise ValueError for the name of an unknown library; `source` is the argument or variable with the name."""
    if name not in LIBRARIES:
        raise ValueError(f"{source} is {name!r}; expected 'httpx' or 'httpx2'")


def library_named(name: str | None) -> Library:
    """Import and return the library of this name; without a name httpx, or httpx2 if httpx is not installed.

    Raises ImportError, with the command that installs it, if it is not installed.
    """
    for wanted in LIBRARIES if name is None else (name,):
        try:
            module = import_module(wanted)
        except ModuleNotFoundError as error:
            if error.name != wanted:
                raise  # one of its own dependencies is missing
        else:
            return _library(module.__name__)
    if name is None:
        raise ImportError(
            f"requests need httpx or httpx2, but neither is installed; {_INSTALLED_BY['httpx']}", name="httpx"
        )
    raise ImportError(f"requests need {name}, which is not installed; {_INSTALLED_BY[name]}", name=name)


def is_asynchronous(client: object) -> bool:
    """Return whether a client is an `AsyncClient`, not a `Client`. Raises TypeError for anything else."""
    library = library_behind(client)
    if library is not None:
        if isinstance(client, library.Client):
            return False
        if isinstance(client, library.AsyncClient):
            return True
    raise TypeError(
        f"client is {described(client)}; expected a Client or an AsyncClient of httpx or httpx2, or of a subclass"
    )


def check_client(client: object, *, blocking: bool) -> None:
    """Raise TypeError for a client of the other kind, or for an object that is not a client."""
    if is_asynchronous(client) is blocking:
        given, wanted = ("an AsyncClient", "a Client") if blocking else ("a Client", "an AsyncClient")
        other = "asynchronous" if blocking else "synchronous"
        raise TypeError(
            f"client is {given} of {library_of(client).name}; expected {wanted}, or use the {other} controller or "
            "client"
        )
