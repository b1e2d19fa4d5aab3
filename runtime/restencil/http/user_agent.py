"""The `User-Agent` of requests, from the call, the client's argument, the HTTP client, the spec, or the default."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..base.calls import flaw_in
from ..base.values import described

if TYPE_CHECKING:
    from .auth import Api
    from .library import Library

VERSION: Final = "0.1.0"
"""The version of this library."""

_GENERATED: Final = "_client"
"""The module of a generated package that contains its clients."""
_NO_TOKEN: Final = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Agent(NamedTuple):
    """The `User-Agent` of a client's requests, unless a call sets one.

    `given` is the argument of the client, which takes precedence over the user's HTTP client; `declared` is from the
    spec. False keeps the one of the HTTP client, and None means not set. `product` is the package and its version.
    """

    given: Any = None
    declared: Any = None
    product: str = ""

    def replacement(self, default: str | None, library: Library) -> str | None:
        """Return the `User-Agent` that replaces the one of the HTTP client; None keeps it."""
        if self.given is not None:
            return self.given or None
        if default != library.user_agent:
            return None
        if self.declared is not None:
            return self.declared or None
        python = f"python/{sys.version_info.major}.{sys.version_info.minor}"
        return f"{self.product} restencil/{VERSION} {python} {library.name}/{library.version}".lstrip()


NOBODY: Final = Agent()
"""The default, without a package."""


def agent_of(kind: type, api: Api | None, given: object) -> Agent:
    """Return the agent of a client of this class.

    Raises TypeError for a `User-Agent` that is neither a string nor False, and ValueError for one that cannot be sent.
    """
    _check(given, f"user_agent of {kind.__name__}")
    if api is None:
        return NOBODY if given is None else Agent(given)
    _check(api.user_agent, f"user_agent of the API of {kind.__name__}")
    name = api.name or _package_of(kind)
    product = "/".join(_NO_TOKEN.sub("-", part) for part in (name, api.version or "") if part) if name else ""
    return Agent(given, api.user_agent, product)


def _package_of(kind: type) -> str:
    """Return the name of the generated package of a client's class or its bases; an empty string without one."""
    home = next((base for base in kind.__mro__ if vars(base).get("_api") is not None), kind)
    package, _, module = home.__module__.rpartition(".")
    return package.rpartition(".")[2] if module == _GENERATED else ""


def _check(text: object, what: str) -> None:
    if text is None or text is False:
        return
    if not isinstance(text, str):
        raise TypeError(f"{what} is {described(text)}; expected a string, or False for the default of the HTTP library")
    flaw = flaw_in(text)
    if not text.strip():
        raise ValueError(f"{what} is empty; pass False for the default of the HTTP library")
    if flaw is not None:
        raise ValueError(f"{what} cannot be sent: it has {flaw}; remove it from {text!r}")
