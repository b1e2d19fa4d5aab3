"""What of an endpoint is overridden is decided once, and options are what their table says."""

from __future__ import annotations

from typing import Any

import pytest

from restencil import Endpoint, RestEndpoint
from restencil.endpoint.options import OPTIONS, RESERVED, UNSET


def _own(*args: Any) -> Any:
    return args[-1] if args else None


def test_options_that_are_not_set_read_as_the_table_says() -> None:
    """On endpoints of every kind; what is derived from other options is there as well."""
    endpoint = RestEndpoint(path="/a")
    for name, value in UNSET.items():
        assert getattr(endpoint, name) == value == getattr(Endpoint(_own), name)
    derived = {name for name, option in OPTIONS.items() if option.kind == "derived"}
    assert all(hasattr(endpoint, name) for name in derived)


def test_no_option_may_hide_a_member_of_an_endpoint() -> None:
    """Each reserved word is a member that is no hook."""
    endpoint = RestEndpoint(path="/a")
    for name in RESERVED:
        assert name in dir(RestEndpoint) or name in vars(endpoint), name
        assert name not in OPTIONS
        with pytest.raises(TypeError, match=f"'{name}' is a member of every endpoint, not an option"):
            endpoint.extend(**{name: 1})
