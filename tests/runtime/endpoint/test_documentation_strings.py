"""What people are shown of a client: by `help`, by IPython's `?`, and by an editor when they point at a call."""

from __future__ import annotations

import inspect
import json
import pydoc
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.patience import PATIENCE

from blog import Articles, AsyncBlog, Blog
from restencil import (
    AsyncController,
    BoundEndpoint,
    BoundList,
    Controller,
    Endpoint,
    Manager,
    NetworkManager,
    RestEndpoint,
    SubscriptionManager,
    schema,
)

ROOT = Path(__file__).resolve().parents[3]
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
    assert f"{bound.__name__}{parameters}" in shown
    assert said in shown


def test_documentation_strings_unbound_member_shows_the_same() -> None:
    """`help(Articles.get)` is what `help(blog.articles.get)` is."""
    shown = pydoc.render_doc(Articles.get, renderer=cast(Any, pydoc).plaintext)
    assert "get(*, id: 'int') -> 'Article'\n    `GET /articles/:id`" in shown


def test_documentation_strings_classes_of_bound_endpoints_have_their_own_text() -> None:
    """What a member says hides nothing of its class."""
    assert (BoundEndpoint.__doc__ or "").startswith("An endpoint of a Controller.")
    assert (BoundList.__doc__ or "").startswith("A list endpoint of a Controller")
    assert "self" not in inspect.signature(BoundEndpoint).parameters


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
    managers = (NetworkManager(), SubscriptionManager())
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


# --- an editor -------------------------------------------------------------------------------------------------------

TEXT = """\
from blog import AsyncBlog, Blog

def use(blog: Blog, other: AsyncBlog) -> None:
    blog.articles.get(id=1)
    other.users.get(id=1)
    blog.articles.get_list(author="ada")
"""


class LanguageServer:
    """pyright's language server, spoken to over its standard input and output."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pyright.langserver", "--stdio"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> LanguageServer:
        uri = self._folder.as_uri()
        self.ask(
            "initialize",
            {"processId": None, "rootUri": uri, "capabilities": {}, "workspaceFolders": [{"uri": uri, "name": "w"}]},
        )
        self._send({"method": "initialized", "params": {}})
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate(timeout=PATIENCE)

    def open(self, file: Path) -> None:
        """The editor shows a file."""
        document = {"uri": file.as_uri(), "languageId": "python", "version": 1, "text": file.read_text("utf-8")}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def hover(self, file: Path, line: int, character: int) -> str:
        """What the editor shows where the mouse rests."""
        found = self.ask(
            "textDocument/hover",
            {"textDocument": {"uri": file.as_uri()}, "position": {"line": line, "character": character}},
        )
        return str(found["contents"]["value"]) if found else ""

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._count += 1
        number = self._count
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == number and "method" not in message:
                return message["result"]
            if "id" in message and "method" in message:  # it asks in turn: for settings, of which there are none
                items: list[Any] = (message.get("params") or {}).get("items") or []
                self._send({"id": message["id"], "result": [None for _ in items] if items else None})

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the language server has gone"
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LanguageServer, Path]]:
    """A language server with one file open."""
    folder = tmp_path_factory.mktemp("editor")
    paths = [str(ROOT / "runtime"), str(ROOT / "tests" / "golden")]
    (folder / "pyrightconfig.json").write_text(json.dumps({"extraPaths": paths}))
    file = folder / "use.py"
    file.write_text(TEXT)
    with LanguageServer(folder) as running:
        running.open(file)
        yield running, file


@pytest.mark.parametrize(
    ("line", "after", "shown"),
    [
        (3, "blog.articles.g", ["BoundEndpoint[(*, id: int), Article]", "`GET /articles/:id`"]),
        (4, "other.users.g", ["AsyncBoundEndpoint[(*, id: int), User]", "blog.users.get(id=1)"]),
        (5, "blog.articles.get_l", ["author: str | None", "Sequence[Article]"]),
        (3, "blog.art", ["articles", "Articles[Controller]"]),
    ],
)
def test_documentation_strings_editor_shows_the_parameters(
    server: tuple[LanguageServer, Path], line: int, after: str, shown: list[str]
) -> None:
    """Pointing at a member gives its keywords and what the call gives, as pyright's language server tells editors."""
    running, file = server
    column = TEXT.splitlines()[line].index(after) + len(after)
    text = running.hover(file, line, column)
    assert [part for part in shown if part not in text] == [], text
