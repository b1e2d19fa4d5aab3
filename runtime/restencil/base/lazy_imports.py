"""Lazy imports: of objects named by a string, of packages of such objects, and of modules of the standard library."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import ModuleType

__all__ = [
    "LazyModule",
    "asyncio",
    "check_reference",
    "find",
    "import_resources",
    "lazy_package",
    "lazy_resource",
    "running_loop",
    "sqlite3",
]

# --- objects named by a string, and packages of them -----------------------------------------------------------------


def check_reference(reference: str, *, relative: bool = False) -> None:
    """Raise ValueError for a string that is not `"package.module:name"` or, if `relative`, `".module:name"`."""
    module, colon, name = reference.partition(":")
    if not (module.strip(".") and colon and name) or (module.startswith(".") and not relative):
        raise ValueError(f"the reference is {reference!r}; expected the form 'package.module:name'")


def find(reference: str, asking: str = "") -> Any:
    """Import the object `"package.module:name"`; `".module:name"` is relative to the package of the module `asking`.

    The name may be dotted. Raises ImportError if the module does not exist or does not have the name.
    """
    path, _, name = reference.partition(":")
    module: ModuleType = import_module(path, asking.rpartition(".")[0])
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            who = f", as {asking} does" if asking else ""
            message = f"cannot import name {name!r} from {module.__name__!r}{who}"
            raise ImportError(message, name=name, path=getattr(module, "__file__", None)) from error
    return found


def lazy_package(
    package: str, modules: Mapping[str, Iterable[str]], *, deprecated: Mapping[str, str] | None = None
) -> None:
    """Add the names of its modules to a package; a module is imported when one of its names is first used.

        lazy_package(__name__, {"users": ("User", "Users")}, deprecated={"Users": "Ask the directory."})

    Call it in the `__init__` of the package. Each use of a deprecated name warns; the reason may be empty.
    """
    module_of = {name: module for module, names in modules.items() for name in names}
    reasons = deprecated or {}
    namespace = vars(sys.modules[package])

    def look_up(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if name in reasons:
            import warnings

            reason = reasons[name]
            text = f"{name} is deprecated" + (f": {reason}" if reason else "")
            warnings.warn(text, DeprecationWarning, stacklevel=2)
        value = find(f"{package}.{module_of[name]}:{name}", package)
        if name not in reasons:
            namespace[name] = value
        return value

    def list_names() -> list[str]:
        return sorted({*namespace, *module_of})

    # PEP 562. Defined here and not in the module, so that they work whatever names the module has.
    namespace["__getattr__"], namespace["__dir__"] = look_up, list_names


class LazyResource:
    """A descriptor of client classes that returns a resource bound to the client."""

    __slots__ = ("_asking", "_name", "_path", "_reference")

    def __init__(self, reference: str, path: str | None = None) -> None:
        check_reference(reference, relative=True)
        self._reference = reference
        self._path = path
        self._asking = self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._asking, self._name = owner.__module__, name
        if self._path is not None:
            words = [part for part in self._path.lower().split("/") if _is_word(part)]
            by_word = _lazy_resources.setdefault(owner.__module__.rpartition(".")[0], {})
            by_word.setdefault(words[-1] if words else "", []).append(self)

    def load(self) -> Any:
        """Import the class of the resource."""
        return find(self._reference, self._asking)

    def __get__(self, client: object, owner: type | None = None) -> Any:
        if client is None:
            return self
        # As this is no data descriptor, the instance attribute takes precedence from now on.
        bound = client.__dict__[self._name] = self.load()(client)
        return bound

    def __repr__(self) -> str:
        return f"lazy_resource({self._reference!r})"


_is_word: Final = re.compile(r"[\w.~-]+", re.ASCII).fullmatch

_lazy_resources: Final[dict[str, dict[str, list[LazyResource]]]] = {}
"""By package and by the last literal part of the path of their `get`, the resources that no change has imported."""


def import_resources(package: str, path: str) -> None:
    """Import the resources of a package whose `get` may have this path, or one above it, used or not."""
    by_word = _lazy_resources.get(package, {})
    for word in ("", *path.lower().split("/")):
        for resource in by_word.pop(word, ()):
            with suppress(Exception):  # it is raised where the resource is used, and not by the change of another one
                resource.load()


def lazy_resource(reference: str, path: str | None = None) -> Any:
    """Declare a resource of a client: `orders: Orders[Controller] = lazy_resource(".orders:Orders", "/orders/:id")`.

    `".orders:Orders"` is in the package of the client's module, `"shop.orders:Orders"` is absolute. The class is
    imported, and the resource created, on first use. With the `path` of its `get`, the class is also imported by a
    change at or below such a path, which makes its records stale. Raises ValueError for a reference of another form.
    """
    return LazyResource(reference, path)


# --- modules of the standard library that only some programs need ----------------------------------------------------
#
# Blocking code never needs asyncio, and only a storage in a folder needs sqlite3. (Benchmark: import of a package.)


class LazyModule:
    """A module that is imported when one of its names is first used: `sqlite3 = LazyModule("sqlite3")`."""

    def __init__(self, module: str) -> None:
        self.__module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__module), name)
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    import asyncio
    import sqlite3
else:
    asyncio = LazyModule("asyncio")
    sqlite3 = LazyModule("sqlite3")


def running_loop() -> AbstractEventLoop | None:
    """Return the running asyncio event loop of this thread; None if there is none."""
    if "asyncio" not in sys.modules:
        return None
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
