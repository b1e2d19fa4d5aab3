"""What people are shown of a client: by `help` and by IPython's `?`."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any, cast

import pytest

import restencil
from blog import AsyncBlog, Blog
from restencil import AsyncController, Controller, Endpoint, Manager, NetworkManager, RestEndpoint, schema

CLIENTS = pytest.mark.parametrize("client", [Blog(), AsyncBlog()], ids=["sync", "async"])


@CLIENTS
@pytest.mark.parametrize(
    ("member", "parameters", "said"),
    [
        ("get", "(*, id: 'int') -> 'Article'", "`GET /articles/:id`"),
        ("get_list", "(*, author: 'str | None' = None, order_by: 'str | None' = None)", "`GET /articles`"),
        ("get_list.push", "(*, body: 'ArticleBody', author: 'str | None' = None)", "Creates an entity at the end of"),
        ("get_list.unshift", "(*, body: 'ArticleBody', author: 'str | None' = None)", "at the start of the list"),
        ("get_list.get_page", "(*, cursor: 'int', author: 'str | None' = None", "Fetches one more page"),
        ("create", "(*, body: 'ArticleBody', author: 'str | None' = None) -> 'Article'", "`POST /articles`"),
    ],
)
def test_documentation_strings_help_shows_the_parameters_and_the_text_of_a_member(
    client: Any, member: str, parameters: str, said: str
) -> None:
    """For lists and what hangs on them as for plain members, in both worlds."""
    bound: Any = client.articles
    for name in member.split("."):
        bound = getattr(bound, name)
    assert bound.__name__ == member.rpartition(".")[2]
    assert str(inspect.signature(bound)).startswith(parameters)
    assert said in (inspect.getdoc(bound) or "")
    shown = pydoc.render_doc(bound, renderer=cast(Any, pydoc).plaintext)
    one_line = shown.replace("(\n    ", "(").replace(",\n    ", ", ")  # Python 3.13 lays long signatures out
    assert f"{bound.__name__}{parameters}" in one_line.replace(",\n)", ")")
    assert said in shown


@pytest.mark.parametrize("controller", [Controller(), AsyncController()], ids=["sync", "async"])
def test_documentation_strings_endpoint_without_a_declared_signature_takes_anything(controller: Any) -> None:
    """It shows its method and path, and open parameters; a function has its own text."""
    bound = controller.bind(RestEndpoint(path="/a/:id", method="PUT"))
    assert str(inspect.signature(bound)) == "(*args, **kwargs)"
    assert bound.__doc__ == "`PUT /a/:id`"
    listed = controller.bind(RestEndpoint(path="/a", schema=schema.Collection([schema.Object({})])))
    assert listed.push.__doc__.endswith("`POST /a`")

    def fetched() -> int:
        """Says five."""
        return 5

    own = controller.bind(Endpoint(fetched))
    assert (own.__name__, own.__doc__) == ("fetched", "Says five.")


def test_documentation_strings_other_names_are_as_unknown_as_before() -> None:
    """Nothing else is looked for at the endpoint."""
    with pytest.raises(
        AttributeError, match=r"no attribute 'request'; a bound endpoint has .* \.endpoint to a controller$"
    ):
        _ = cast(Any, Blog().articles.get).request
    with pytest.raises(AttributeError, match="'BoundEndpoint' object has no attribute 'nope'"):
        _ = cast(Any, Blog().articles.get).nope


NAMES = """
    add_listener aclose all_settled bind cached close dispatch expire expire_all explain fetch fetch_if_stale
    fetch_response get get_error get_response invalidate invalidate_all iterate live managers open opened read request
    reset_entire_store resolve retries revalidate set set_error set_response snapshot state store subscribe unsubscribe
    with_options
"""


@pytest.mark.parametrize(("kind", "other"), [(Blog, "aclose"), (AsyncBlog, "close")], ids=["sync", "async"])
def test_documentation_strings_client_shows_its_resources_and_its_operations(kind: type[Any], other: str) -> None:
    """And nothing else: every further name would be taken from the resources of APIs."""
    client = kind()
    for shown in (client, client.with_options(timeout=5000)):
        names = {name for name in dir(shown) if not name.startswith("_")}
        assert names - {"articles", "users"} == set(NAMES.split()) - {other}


def test_documentation_strings_client_reports_its_managers_and_its_retries() -> None:
    """A view tells its own retries."""
    managers = (NetworkManager(), restencil.SubscriptionManager())
    with Controller(managers=managers, retries=2) as controller:
        assert (controller.managers, controller.retries) == (managers, 2)
        assert controller.with_options(retries=0).retries == 0
        assert controller.with_options(timeout=5000).retries == 2


@pytest.mark.parametrize("kind", [Blog, AsyncBlog], ids=["sync", "async"])
def test_documentation_strings_managers_are_given_all_that_a_client_can_do_and_more(kind: type[Any]) -> None:
    """`init` gets the operations, `call_later` and `run_in_background`; it is the same each time the client opens."""
    given: list[Any] = []

    class Curious(Manager):
        def init(self, controller: Any, /) -> None:
            given.append(controller)

    client = kind(managers=[Curious(), NetworkManager()])
    client.open()
    assert len(given) == 1
    assert isinstance(given[0], kind)
    assert given[0].store is client.store
    assert repr(given[0]) == repr(client)
    missing = [name for name in dir(client) if not name.startswith("_") and not hasattr(given[0], name)]
    assert missing == []
    assert callable(given[0].call_later)
    assert callable(given[0].run_in_background)
