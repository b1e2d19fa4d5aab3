"""Hook-based resources: endpoints obtained anew within a scope."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.runtime.clients import Asked

from restencil import Entity, HookScopeError, RestEndpoint, create_resource, hook_scope, hookify_resource, use_endpoint


class Article(Entity):
    id: int = 0


INIT = {"headers": {"Z": "9"}}
ARTICLES = create_resource(path="/a/:id", schema=Article, request_init=INIT).extend("extra", path="/x")


def test_hook_of_an_endpoint_can_obtain_none(asynchronous: bool, asked: Asked) -> None:
    """`get_headers` must not call use functions; the scope is closed while a hook runs."""
    hooked = hookify_resource(ARTICLES, dict)

    class Api(RestEndpoint):
        def get_headers(self, headers: dict[str, str]) -> dict[str, str]:
            hooked.use_get()
            return headers

    endpoint = Api(path="/a", client=asked.of(asynchronous))
    with hook_scope(), pytest.raises(HookScopeError, match="use_get was called from a hook of an endpoint"):
        asyncio.run(endpoint()) if asynchronous else endpoint()
    with hook_scope():
        hooked.use_get()
    with pytest.raises(
        HookScopeError, match=r"^use_get was called outside of a scope; call it within `with hook_scope"
    ):
        hooked.use_get()


def test_hooks_use_endpoint_is_memoized_on_endpoint_and_values() -> None:
    """The token from a context: one endpoint for one token in one scope; unhashable values count by equality."""
    get: Any = ARTICLES.get
    with hook_scope():
        first = use_endpoint(get, access_token="a", request_init={"headers": {}})
        assert use_endpoint(get, access_token="a", request_init={"headers": {}}) is first
        assert use_endpoint(get, access_token="b", request_init={"headers": {}}) is not first
        assert use_endpoint(ARTICLES.update, access_token="a") is not first
        assert first.access_token == "a"
    with hook_scope():
        assert use_endpoint(get, access_token="a", request_init={"headers": {}}) is not first
