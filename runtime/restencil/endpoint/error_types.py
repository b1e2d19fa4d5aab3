"""The types of an endpoint's errors for error responses: classes of its package, with the body as typed data."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from ..base.errors import ProcessingError, StatusError
from ..base.values import TUPLE, described, is_mapping
from ..schema.notation import Lazy
from ..schema.record import Record, RecordMeta

DEFAULT: Final = "default"


class ErrorTypes:
    """The types from the options `errors` and `error_classes` of an endpoint, resolved at the first error response."""

    def __init__(self, errors: Mapping[Any, Any] | None, classes: str | None) -> None:
        self._errors = errors or {}
        self._module = classes
        self._classes: dict[str, type[StatusError]] = {}

    def class_of(self, kind: type[StatusError], /) -> type[StatusError]:
        """Return the package's class for an error class of the library; that class itself if there is none.

        Raises ImportError if the module does not exist, and TypeError if its class is not a subclass.
        """
        if self._module is None:
            return kind
        name = kind.__name__
        found = self._classes.get(name)
        if found is None:
            given: Any = getattr(import_module(self._module), name, kind)
            if not (isinstance(given, type) and issubclass(given, kind)):
                raise TypeError(f"{self._module}.{name} is {described(given)}; expected a subclass of restencil.{name}")
            found = self._classes[name] = given
        return found

    def data_of(self, status: int, data: object, /) -> Any:
        """Convert the JSON of a body to the most specific type for its status; None if it does not match."""
        types = {str(key).upper(): value for key, value in self._errors.items()}
        text = str(status)
        given = next((types[key] for key in (text, f"{text[0]}XX", DEFAULT.upper()) if key in types), Any)
        if given is Any or given is None:
            return data
        if not is_mapping(data):
            return None
        from ..schema.validation import one_of

        kinds: list[type[Record]] = [named.raw if isinstance(named, Lazy) else named for named in _each(given)]
        kind = one_of(kinds, data)
        try:
            return None if kind is None else kind.from_js(data)
        except ProcessingError:
            return None


def _each(given: Any) -> tuple[Any, ...]:
    return given if isinstance(given, TUPLE) else (given,)


def check_errors(name: str, value: object, endpoint: Any) -> None:
    """Raise TypeError or ValueError for an invalid option `errors`."""
    what = f"{name} of endpoint {endpoint.label}"
    if not is_mapping(value):
        raise TypeError(f"{what} is {described(value)}; expected a mapping such as {{404: Problem, '5XX': Problem}}")
    for key, given in value.items():
        text = str(key)
        is_status = len(text) == 3 and text[0] in "45" and (text[1:].isdecimal() or text[1:].upper() == "XX")
        if not (is_status or text == DEFAULT):
            raise ValueError(f"{what} has the key {key!r}; expected 400 to 599, '4XX', '5XX' or 'default'")
        for kind in _each(given):
            if not (kind is Any or kind is None or isinstance(kind, RecordMeta | Lazy)):
                raise TypeError(
                    f"{what} has {described(kind)} for {key}; expected a record class, a tuple of them, Any or None"
                )


def check_error_classes(name: str, value: Any, endpoint: Any) -> None:
    """Raise TypeError for an option `error_classes` that is not the name of a module."""
    if not isinstance(value, str) or not value or not all(part.isidentifier() for part in value.split(".")):
        raise TypeError(f"{name} of endpoint {endpoint.label} is {value!r:.80}; expected the name of a module")
