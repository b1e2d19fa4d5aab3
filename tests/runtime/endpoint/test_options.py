"""What of an endpoint is overridden is decided once, and options are what their table says."""

from __future__ import annotations

from typing import Any

import pytest

from restencil import Endpoint, RestEndpoint
from restencil.endpoint.options import HOOKS, OPTIONS, RESERVED, UNSET


def _own(*args: Any) -> Any:
    return args[-1] if args else None


def test_options_each_fact_follows_from_what_is_overridden() -> None:
    """Each override closes the ways that depend on it, and no other."""

    def plan(**options: Any) -> Any:
        return RestEndpoint(path="/a/:id", **options).plan

    assert plan(process=_own).own_process and not plan(process=_own).decodes
    assert plan(fetch=_own).own_fetch and not plan(fetch=_own).decodes
    assert not plan(key=_own).key_is_address and plan(key=_own).is_standard
    assert not plan(test_key=_own).is_test_stable and plan(test_key=_own).is_standard
    assert plan(url=_own).template is None and RestEndpoint(path=":id").plan.template is None
    assert not plan(content="stream").is_standard and plan(content="json").is_standard
    for special in ({"deprecated": ""}, {"wire": {"a": "b"}}, {"method": "POST"}):
        assert not plan(**special).keywords_are_params


def test_options_endpoint_knows_its_keys_where_all_that_makes_and_reports_them_is_the_librarys() -> None:
    """Then its test is true of the key of each of its requests, and need not be asked."""
    assert RestEndpoint(path="/a/:id").rules.read.exact_key_match
    for own in ("key", "test_key", "url"):
        assert not RestEndpoint(path="/a/:id", **{own: _own}).rules.read.exact_key_match


def test_options_that_are_methods_where_they_are_not_set_are_methods_of_the_endpoint() -> None:
    """The table names no hook that does not exist."""
    for name in HOOKS:
        assert callable(getattr(RestEndpoint, name)), name
    for name, option in OPTIONS.items():
        assert option.http or option.kind != "hook" or name == "url" or hasattr(Endpoint, name)


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
