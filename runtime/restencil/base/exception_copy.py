"""Twins of exceptions: an error that is kept is not the one that is raised.

An exception that was raised holds, by its traceback, every frame that it passed and all that these hold; and each time
it is raised again, by whatever thread, its traceback grows. So what is kept, and what is raised to one more caller, is
a copy: of the same class, with the same arguments and attributes.
"""

from __future__ import annotations

from contextlib import suppress
from types import MemberDescriptorType
from typing import Any, TypeVar, cast

E = TypeVar("E", bound=BaseException)

_BUILT_IN = "builtins"


def copy_of(error: E) -> E:
    """Another exception of this class that says the same, and so do its causes; none has a traceback.

    Nothing of the class runs, so that it may be as particular about its arguments as it likes.
    """
    return cast("E", _copy(error, {}))


def kept(error: E) -> E:
    """What is kept of an error: itself, if it was never raised, else a copy."""
    never_raised = error.__traceback__ is None and error.__cause__ is None and error.__context__ is None
    return error if never_raised else copy_of(error)


def copy_with_traceback(error: E) -> E:
    """A copy that is raised instead of an error: with the traceback and the causes that the error has by now."""
    copied = _copy(error, None)
    copied.__cause__, copied.__context__ = error.__cause__, error.__context__
    copied.__suppress_context__ = error.__suppress_context__
    return cast("E", copied.with_traceback(error.__traceback__))


def _copy(error: BaseException, made: dict[int, BaseException] | None) -> BaseException:
    """The copy; with `made`, the copies there are by the ids of their originals, also those of its causes."""
    cls = type(error)
    built_in: Any = next(base for base in cls.__mro__ if base.__module__ == _BUILT_IN)
    arguments: tuple[Any, ...] = built_in.__reduce__(error)[1]
    if isinstance(error, BaseExceptionGroup):
        group: BaseExceptionGroup[BaseException] = cast(Any, error)
        inner = group.exceptions if made is None else [_once(one, made) for one in group.exceptions]
        arguments = (group.message, inner)
    copied: BaseException = built_in.__new__(cls, *arguments)
    if made is not None:
        made[id(cast(object, error))] = copied
    built_in.__init__(copied, *arguments)
    if not isinstance(error, BaseExceptionGroup):
        copied.args = error.args
    for base in cls.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType) and not name.startswith("__"):
                with suppress(AttributeError, TypeError):  # what is not set, and what cannot be
                    value = member.__get__(error)
                    if value is not None:
                        member.__set__(copied, value)
    copied.__dict__.update(error.__dict__)
    if made is not None:
        if error.__cause__ is not None:
            copied.__cause__ = _once(error.__cause__, made)
        if error.__context__ is not None:
            copied.__context__ = _once(error.__context__, made)
        copied.__suppress_context__ = error.__suppress_context__
    return copied


def _once(error: BaseException, made: dict[int, BaseException]) -> BaseException:
    found = made.get(id(error))
    return _copy(error, made) if found is None else found
