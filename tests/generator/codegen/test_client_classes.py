"""The clients of a package: what they say of the API, and the arguments that only they have."""

from __future__ import annotations

import pytest
from tests.generator.codegen.lines import has_line, has_lines, has_part, rendered

RESOURCES = "resources: {things: {path: /t/:id, schema: {entity: Thing, fields: {id: integer}}, members: [get]}}\n"

API: list[tuple[str, str]] = [
    ("url_prefix: https://x.example", '_API = restencil.Api(url_prefix="https://x.example")'),
    ("auth: {bearer: true}", "_API = restencil.Api(auth=restencil.Auth.bearer())"),
    ("auth: {header: X-Key}", '_API = restencil.Api(auth=restencil.Auth.header("X-Key"))'),
    ("auth: {bearer: true, env: TOKEN}", '_API = restencil.Api(auth=restencil.Auth.bearer(env="TOKEN"))'),
    ("version: 1.2.0", '_API = restencil.Api(version="1.2.0")'),
    ("user_agent: false", "_API = restencil.Api(user_agent=False)"),
    ("user_agent: shop client/2", '_API = restencil.Api(user_agent="shop client/2")'),
    ("request_id: X-Trace", '_API = restencil.Api(request_id="X-Trace")'),
    ("inert_headers: [X-Reason, X-Actor]", '_API = restencil.Api(inert_headers=("X-Reason", "X-Actor"))'),
]


@pytest.mark.parametrize(("settings", "line"), API, ids=[settings for settings, _ in API])
def test_client_classes_api_has_what_the_spec_says(settings: str, line: str) -> None:
    """Nothing is written that the spec does not say."""
    has_line(rendered(f"{settings}\n{RESOURCES}")["_client.py"], line)


def test_client_without_arguments_of_its_own_is_two_lines() -> None:
    """The synchronous and the asynchronous one."""
    text = rendered(RESOURCES)["_client.py"]
    has_lines(text, "class Made(_Resources[restencil.Controller], restencil.Controller):", "_api = _API")
    has_lines(text, "class AsyncMade(_Resources[restencil.AsyncController], restencil.AsyncController):", "_api = _API")


def test_client_classes_arguments_of_the_spec_are_keywords_of_the_client() -> None:
    """Between `store` and the options of all clients, for type checkers alone."""
    text = rendered(f"header_params: {{x_tenant: {{type: string, wire: X-Tenant}}}}\n{RESOURCES}")["_client.py"]
    has_line(text, "if typing.TYPE_CHECKING:")
    has_part(text, "def __init__(self, store: restencil.Store | None = None, *, x_tenant: str, **options: ")
    has_part(text, 'params={"x_tenant": restencil.ClientParam.header("X-Tenant", required=True)}')


def test_client_classes_resource_of_a_client_is_imported_when_it_is_used() -> None:
    """The attribute has the type of the resource for the client's controller."""
    text = rendered(RESOURCES)["_client.py"]
    has_line(text, 'things: Things[restencil.ControllerType] = restencil.lazy_resource(".things:Things")')
