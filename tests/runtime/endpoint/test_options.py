"""What of an endpoint is overridden is decided once, and options have their defaults."""

from __future__ import annotations

from typing import Any

import pytest

from restencil import Endpoint, RestEndpoint
from restencil.endpoint.options import HOOKS, RESERVED, UNSET


def _own(*args: Any) -> Any:
    return args[-1] if args else None


def test_options_that_are_not_set_have_their_defaults() -> None:
    """On endpoints of every kind; what is derived from other options is there as well."""
    endpoint = RestEndpoint(path="/a")
    for name, value in UNSET.items():
        assert getattr(endpoint, name) == value == getattr(Endpoint(_own), name)
    derived = ("name", "side_effect", "path", "method", "url_prefix", "request_init")
    assert all(hasattr(endpoint, name) for name in derived)


def test_no_option_may_hide_a_member_of_an_endpoint() -> None:
    """Each reserved word is a member that is no hook."""
    endpoint = RestEndpoint(path="/a")
    for name in RESERVED:
        assert name in dir(RestEndpoint) or name in vars(endpoint), name
        assert name not in HOOKS.union(UNSET)
        with pytest.raises(TypeError, match=f"'{name}' is a member of every endpoint, not an option"):
            endpoint.extend(**{name: 1})
