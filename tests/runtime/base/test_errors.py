"""What errors have in common, and the names that the package exports."""

from __future__ import annotations

import copy
import pickle

import pytest

import restencil
from restencil import schema
from restencil.base import errors


def test_errors_are_also_the_builtin_ones_that_they_are() -> None:
    """So that plain `except ValueError` works."""
    assert issubclass(errors.PathTemplateError, ValueError)
    assert issubclass(errors.MissingParameterError, (TypeError, ValueError))
    assert issubclass(errors.MissingFieldError, AttributeError)
    assert issubclass(errors.HookScopeError, RuntimeError)
    assert issubclass(errors.ParseError, errors.NetworkError)
    assert issubclass(errors.UnexpectedContentError, errors.NetworkError)


MADE = [
    errors.PathTemplateError("/a:", 2, "bad"),
    errors.MissingParameterError("id", "/a/:id"),
    errors.NetworkError("m", status=404, url="u"),
    errors.ParseError("m", status=400),
    errors.ProcessingError("m", response={"a": 1}),
    errors.InvalidDataError("m"),
    errors.MissingFieldError("Article", "1", "author"),
    errors.AbortError("m"),
]


@pytest.mark.parametrize("error", MADE, ids=lambda error: type(error).__name__)
def test_errors_can_be_copied_and_pickled(error: Exception) -> None:
    """They travel between processes with all they know."""
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert (str(again), vars(again)) == (str(error), vars(error))


def test_errors_every_public_name_is_there_and_nothing_else_is() -> None:
    """PEP 562: names are imported at first use; a wrong one is an AttributeError."""
    for name in restencil.__all__:
        assert getattr(restencil, name) is not None
    assert set(restencil.__all__) <= set(dir(restencil))
    assert restencil.schema is schema
    with pytest.raises(AttributeError, match="module 'restencil' has no attribute 'Nothing'"):
        _ = restencil.Nothing
