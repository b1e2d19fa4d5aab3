"""Clients of one API, as the generator writes them: token, place, what is said of them."""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import Any

import pytest
from tests.libraries import httpx
from tests.runtime.clients import Asked, as_json
from tests.runtime.worlds import client_of, opened, running

import restencil
from restencil import Api, AsyncController, Auth, Controller, Endpoint, Entity, RestEndpoint, Store, create_resource

PREFIX = "https://api.blog.example/v1"


class User(Entity, key="User"):
    id: str = ""


Users: Any = create_resource(url_prefix=PREFIX, path="/users/:id", schema=User)


class Blog(Controller):
    """As a generated client."""

    _api = Api(PREFIX, Auth.header("Access-Token", env="BLOG_TOKEN"))

    @cached_property
    def users(self) -> Any:
        return Users(self)


class AsyncBlog(AsyncController):
    _api = Api(PREFIX, Auth.header("Access-Token"))

    @cached_property
    def users(self) -> Any:
        return Users(self)


def asked(status: int = 200) -> Asked:
    """Answers with a record of the id that is asked for."""
    return Asked(lambda request: as_json({"id": request.url.path.rpartition("/")[2]}, status), base_url="")


OWN = "http://127.0.0.1:8001/api"


def test_controller_client_what_does_not_fit_is_reported_with_the_address_of_the_client(asynchronous: bool) -> None:
    """A response that does not fit its schema names method and address as asked, not as the spec has them."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=["nothing", "of the kind"])

    client = client_of(asynchronous, transport=httpx.MockTransport(answer))
    with opened(asynchronous, OWN, client=client) as (blog, run), pytest.raises(restencil.ProcessingError) as caught:
        run(blog.users.get(id="7"))
    assert str(caught.value).startswith(
        f"GET {OWN}/users/7: 200 OK: the response does not fit its schema (Entity of User): "
    )
    assert "blog.example" not in str(caught.value)


def test_controller_client_explain_names_the_address_of_the_client() -> None:
    """Of a client that looks elsewhere, and of one with a base URL; `key` is what the store knows it by."""
    with Blog(client=asked().sync, token="t", url_prefix=OWN) as blog:
        explanation = blog.users.get.explain(id="7")
        assert (explanation.request, explanation.key) == (f"GET {OWN}/users/7", f"GET {PREFIX}/users/7")
        assert str(explanation).startswith(f"GET {OWN}/users/7: fetches and waits")
        page: Any = create_resource(url_prefix=PREFIX, path="/users/:id", schema=User, pagination_field="page")
        assert blog.explain(page.get_list.get_page, page="2").request == f"GET {OWN}/users?page=2"
    plain: Any = create_resource(path="/users/:id", schema=User)
    with Controller(base_url="http://u:p@there.example/") as controller:
        assert controller.explain(plain.get, id="7").request == "GET http://there.example/users/7"
        assert controller.explain(plain.get, None).request == ""
    with Controller(client=httpx.Client(base_url="http://there.example")) as controller:
        assert controller.explain(plain.get, id="7").request == "GET http://there.example/users/7"
    with Controller() as controller:
        assert controller.explain(plain.get, id="7").request == "GET /users/7"
        counted: Any = Endpoint(lambda: 1, name="one")
        assert controller.explain(counted).request == "one []"


def client_with(auth: Auth | None) -> type[Controller]:
    class Client(Controller):
        _api = Api(PREFIX, auth)

    return Client


def test_controller_client_token_goes_out_with_every_request_and_is_read_each_time() -> None:
    server, tokens = asked(), iter(["one", None, "three"])
    with Blog(client=server.sync, token=lambda: next(tokens)) as blog:
        for number in "123":
            blog.users.get(id=number)
    assert server.sent("access-token") == ["one", None, "three"]


def test_controller_client_401_of_a_request_without_its_credential_is_reported(asynchronous: bool) -> None:
    """In the text of the error; other errors, and a 401 that a credential got, say nothing of it."""

    def refusal(status: int, token: Any) -> str:
        server = asked(status)

        client: Any = server.of(asynchronous)
        blog: Any = (AsyncBlog if asynchronous else Blog)(client=client, token=token)
        with pytest.raises(restencil.NetworkError) as caught, running(blog) as run:
            run(blog.users.get(id="1"))
        assert caught.value.status == status
        return str(caught.value)

    lacking = "; the request was sent without the credential that its API requires (header): "
    helping = "" if asynchronous else ", or set the environment variable BLOG_TOKEN"
    assert refusal(401, None).endswith(f"{lacking}pass token=… to the client{helping}")
    assert refusal(401, lambda: None).endswith(f"{lacking}pass token=… to the client{helping}")
    assert "credential" not in refusal(403, None) + refusal(401, "s3cret")


UPLOADS = "https://uploads.blog.test/v2"
Uploads: Any = create_resource(url_prefix=UPLOADS, path="/users/:id", schema=User)


def test_controller_client_url_prefix_leaves_endpoints_with_a_prefix_of_their_own() -> None:
    """`url_prefix` replaces the prefix of the spec alone; `url_prefixes` replaces those of single endpoints."""
    server = asked()
    with Blog(client=server.sync, url_prefix="http://here") as blog:
        blog.fetch(Users.get, id=1)
        blog.fetch(Uploads.get, id=1)
        assert [str(request.url) for request in server.requests] == ["http://here/users/1", f"{UPLOADS}/users/1"]
    server = asked()
    with Blog(client=server.sync, url_prefixes={UPLOADS: "http://there/up/"}) as blog:
        blog.fetch(Users.get, id=1)
        blog.fetch(Uploads.get, id=1)
        assert [str(request.url) for request in server.requests] == [f"{PREFIX}/users/1", "http://there/up/users/1"]
        assert Uploads(blog).get.url(id=1) == "http://there/up/users/1"
        assert Uploads(blog).get.key(id=1) == f"GET {UPLOADS}/users/1"
        assert blog.cached(Uploads.get, id=1) is not None


def test_controller_client_url_prefixes_apply_once() -> None:
    """What replaces one prefix is not replaced again, and the longest prefix counts."""
    server = asked()
    moved = {UPLOADS: f"{PREFIX}/moved", f"{UPLOADS}/users": UPLOADS}
    with Blog(client=server.sync, url_prefix=f"{PREFIX}/api", url_prefixes=moved) as blog:
        blog.fetch(Users.get, id=1)
        blog.fetch(Uploads.get, id=1)
        other: Any = RestEndpoint(path="/a", url_prefix=UPLOADS)
        blog.fetch(other)
    found = [str(request.url) for request in server.requests]
    assert found == [f"{PREFIX}/api/users/1", f"{UPLOADS}/1", f"{PREFIX}/moved/a"]


def test_controller_client_url_prefixes_are_checked() -> None:
    """A replacement has a scheme, and what it replaces is a prefix of the spec's endpoints."""

    class Declared(Controller):
        _api = Api(url_prefix=PREFIX, url_prefixes=(UPLOADS,))

    with Declared(url_prefixes={UPLOADS: "http://there"}):
        pass
    with pytest.raises(ValueError, match="has 'https://x.test', which is not the prefix of an endpoint; expected"):
        Declared(url_prefixes={"https://x.test": "http://there"})
    with pytest.raises(
        ValueError, match="'https://uploads.blog.test/v2' in url_prefixes of Blog is 'there', which has"
    ):
        Blog(url_prefixes={UPLOADS: "there"})
    with pytest.raises(ValueError, match="the prefix of the spec itself; pass url_prefix"):
        Blog(url_prefixes={PREFIX: "http://there"})
    with pytest.raises(TypeError, match="url_prefixes of Blog is a str; expected a dict"):
        Blog(url_prefixes="http://there")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="it cannot use token, url_prefix or url_prefixes; use a generated"):
        Controller(url_prefixes={UPLOADS: "http://there"})
    store = Store()
    Blog(store, url_prefixes={UPLOADS: "http://there"})
    with pytest.raises(ValueError, match="this store has data of"):
        Blog(store)
    with pytest.raises(ValueError, match=f"the client sends requests to '{PREFIX}, {UPLOADS} at http://elsewhere'"):
        Blog(store, url_prefixes={UPLOADS: "http://user:s3cret@elsewhere"})


async def test_controller_client_async_client_takes_a_coroutine_function() -> None:
    async def token() -> str:
        await asyncio.sleep(0)
        return "later"

    server = asked()
    async with AsyncBlog(client=server.asynchronous, token=token) as blog:
        assert (await blog.users.get(id="1")).id == "1"
    assert server.requests[0].headers["access-token"] == "later"


def test_controller_client_synchronous_client_rejects_a_coroutine_function() -> None:
    async def token() -> str:
        return "later"

    with Blog(client=asked().sync, token=token) as blog:
        with pytest.raises(TypeError, match="token function of this client returned an awaitable"):
            blog.users.get(id="1")


def test_controller_client_token_without_auth_and_a_controller_without_an_api_are_mistakes() -> None:
    with pytest.raises(TypeError, match="declares no auth, so it cannot use a token"):
        client_with(None)(token="x")
    with pytest.raises(TypeError, match="Controller has no API, so it cannot use"):
        Controller(token="x")
    with pytest.raises(TypeError, match="Controller has no API, so it cannot use"):
        Controller(url_prefix="http://x")


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("sekret\n", "a line break or another control character"),
        ("sekret\x00", "a line break or another control character"),
        ("sekrét", "a character outside ASCII"),
        (" sekret", "space at its beginning or end"),
        ("sekret\ud800", "has a lone surrogate"),
        (b"sekret", "is of type bytes; pass a string"),
    ],
)
def test_controller_client_token_that_cannot_be_sent_shows_in_no_error_nor_in_what_led_to_it(
    token: Any, text: str
) -> None:
    with Blog(token=token, client=asked().sync) as blog, pytest.raises((ValueError, TypeError)) as caught:
        blog.users.get(id="7")
    assert text in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert "sekr" not in repr(error)
        error = error.__cause__ or error.__context__


def test_controller_client_store_remembers_where_its_client_asks() -> None:
    """Two places of one API share no store silently; the same place, with or without a slash at its end, is one."""
    store = restencil.Store()
    Blog(store, url_prefix="https://one.test/")
    Blog(store, url_prefix="https://one.test")
    with pytest.raises(ValueError, match="this store has data of 'https://one.test', .*share=True"):
        Blog(store, url_prefix="https://two.test")
    Blog(store, url_prefix="https://two.test", share=True)
    with pytest.raises(ValueError, match="'https://one.test', but the client sends requests to 'https://two.test'"):
        AsyncBlog(store, url_prefix="https://two.test")


def test_store_remembers_where_relative_urls_lead() -> None:
    """Of controllers by their base URL, or that of the user's client; of clients whose API has no place of its own."""

    class Placeless(Controller):
        _api = Api()

    store = restencil.Store()
    Controller(store)
    Controller(store, base_url="https://one.test")
    Controller(store, client=httpx.Client(base_url="https://one.test"))
    with pytest.raises(ValueError, match="'https://one.test', but the client sends requests to 'https://two.test'"):
        AsyncController(store, client=httpx.AsyncClient(base_url="https://two.test"))
    Controller(store, base_url="https://two.test", share=True)
    Placeless(store, base_url="https://three.test")
    with pytest.raises(ValueError, match="has data of 'https://three.test'"):
        Placeless(store, url_prefix="https://four.test")


def test_controller_client_prefix_without_scheme_is_rejected() -> None:
    """No request could be sent."""
    with pytest.raises(ValueError, match="url_prefix of Blog is 'one.test', which has no scheme"):
        Blog(url_prefix="one.test")
