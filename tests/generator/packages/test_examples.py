"""The packages of the example specs: typed, importable, and at work."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import importlib
import io
import operator
import os
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.effort import IS_NIGHT
from tests.generator.projects import python
from tests.mocked import mocked

import restencil
from restencil_generator.api import load
from restencil_generator.spec import model as d

pytestmark = pytest.mark.usefixtures("made")

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
SPECS = sorted((ROOT / "specs").glob("*.yaml"))
NAMES = [path.stem for path in SPECS]
EXACT = ["blog", "market"]
"""The packages that are checked in; the others are made by the tests."""


def checked(*command: str, cwd: Path = ROOT, **variables: str) -> str:
    """What a new Python prints with these arguments; it must succeed, and print nothing on stderr."""
    done = python(*command, cwd=cwd, env={**os.environ, **variables})
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-3000:]
    return done.stdout


def path_of(*folders: Path) -> str:
    """What PYTHONPATH is for the packages of these folders."""
    return os.pathsep.join(map(str, (*folders, GOLDEN, ROOT / "runtime")))


def isolated(code: str, *folders: Path) -> str:
    """What this code prints in a new Python that makes errors of warnings."""
    return checked("-W", "error", "-c", code, PYTHONPATH=path_of(*folders))


# ------------------------------------------------------------------------------------------------------------ the files


def test_examples_package_of_a_hundred_resources_has_a_module_each(hundred_folder: Path) -> None:
    """One module per resource, the client, the package, and what belongs to it; each can be imported."""
    files = {path.name for path in (hundred_folder / "hundred").iterdir() if path.is_file()}
    parts = {f"part{number:02}s.py" for number in range(100)}
    assert files == {*parts, "__init__.py", "_client.py", "manifest.sha256", "py.typed"}
    isolated("from hundred import *; import hundred; assert len(hundred.__all__) == 302", hundred_folder)


def test_examples_resource_takes_at_most_120_lines_and_5_kb(hundred_folder: Path) -> None:
    """Ten fields, two relations and all members, with the client's and the package's share."""
    files = {path.name: path.read_text() for path in (hundred_folder / "hundred").glob("*.py")}
    assert sum(text.count("\n") for text in files.values()) <= 120 * 100
    assert sum(len(text.encode()) for text in files.values()) <= 5_000 * 100
    assert all(text.count("\n") <= 120 for name, text in files.items() if name.startswith("part"))


# ------------------------------------------------------------------------------------------------------ types and style


def test_examples_mypy_has_nothing_to_say(made: Path, hundred_folder: Path) -> None:
    """mypy --strict: at night with its defaults, as in a user's project, and of all packages.

    By day as in this project, which is stricter, of those that `make types` does not look at; it checked the runtime.
    """
    names = [*NAMES, "hundred"] if IS_NIGHT else [name for name in NAMES if name not in EXACT]
    defaults = ("--strict", "--config-file=", "--python-version=3.11", "--cache-dir=.mypy_cache/golden")
    command = ("-m", "mypy", *(defaults if IS_NIGHT else ()), *(f"--package={name}" for name in names))
    checked(*command, MYPYPATH=path_of(made, hundred_folder))


def test_examples_ruff_and_black_have_nothing_to_say(made: Path, hundred_folder: Path) -> None:
    """Both with their defaults; black takes seconds for a hundred files that are laid out alike."""
    folders = [str((GOLDEN if name in EXACT else made) / name) for name in NAMES]
    wide = str(hundred_folder / "hundred")
    checked("-m", "ruff", "check", "--no-cache", "--isolated", "--target-version", "py311", *folders, wide, cwd=made)
    checked("-m", "black", "--check", "--quiet", *folders, *([wide] if IS_NIGHT else []), cwd=made)


@pytest.mark.slow  # as it has pyright
def test_examples_pyright_has_nothing_to_say(made: Path, hundred_folder: Path) -> None:
    """pyright in its strict mode."""
    checked("-m", "pyright", "tests/golden", str(made), str(hundred_folder))


# --------------------------------------------------------------------------------------------------------------- import


@pytest.mark.parametrize("name", NAMES)
def test_examples_package_imports_without_a_warning(name: str, made: Path) -> None:
    """Every module imports with warnings as errors, and has what it says it has."""
    folder = (GOLDEN if name in EXACT else made) / name
    modules = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    code = (
        f"import importlib, {name}\nfor module in {modules!r}:\n    m = importlib.import_module('{name}.' + module)\n"
    )
    isolated(f"{code}    [getattr(m, exported) for exported in getattr(m, '__all__', ())]\n", made)


def test_examples_modules_of_a_package_hide_nothing_from_its_init(made: Path) -> None:
    """An imported module is an attribute of its package, and so a name in `__init__`, which works all the same."""
    printed = isolated(
        "import warnings, awkward.importlib, awkward.getattr\n"
        "warnings.simplefilter('ignore')\n"
        "print([type(getattr(awkward, name)).__name__ for name in awkward.__all__].count('module'))\n"
        "print(len(dir(awkward)) > len(awkward.__all__))\n"
        "try:\n"
        "    awkward.nothing\n"
        "except AttributeError as error:\n"
        "    print(error)\n",
        made,
    )
    assert printed == "0\nTrue\nmodule 'awkward' has no attribute 'nothing'\n"


def test_examples_field_called_like_its_type_holds_values_of_it() -> None:
    """The member hides the class where it stands, and the package means the class all the same."""
    awkward: Any = importlib.import_module("awkward")

    record = awkward.Callable.from_dict({"Id": 1, "Atlas": {"Zone": {"Inner": {"X": 7}}}, "Callable": {"Id": 2}})
    assert record.Atlas.Zone.Inner and record.Atlas.Zone.Inner.x == 7
    assert (record.scores, record.votes) == ([1, None], {"up": 1})
    default = awkward.Atlas()
    assert (default.Zone.Inner.x, [zone.Inner for zone in default.zones]) == (1, [None])


@pytest.mark.parametrize("path", SPECS, ids=NAMES)
def test_examples_package_exports_every_name_of_the_spec(path: Path) -> None:
    """`__all__` is the namespace of the spec: all of it and nothing else; `dir()` shows it."""
    spec = load(path)
    package = importlib.import_module(spec.package)
    assert set(package.__all__) == set(spec.namespace)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match=f"module '{spec.package}' has no attribute 'Nothing'"):
        package.Nothing  # noqa: B018


def test_examples_importing_a_package_imports_none_of_its_modules(hundred_folder: Path) -> None:
    """Modules are imported when one of their names is used, and no others."""
    isolated(
        "import sys, hundred\n"
        "assert [m for m in sys.modules if m.startswith('hundred.')] == []\n"
        "used = {m for m in sys.modules if m.split('.')[0] == 'restencil'}\n"
        "assert used == {'restencil', 'restencil.base', 'restencil.base.lazy_imports'}, used\n"
        "hundred.Part07\n"
        "assert sorted(m for m in sys.modules if m.startswith('hundred.')) == ['hundred.part07s']\n"
        "client = hundred.Everything()\n"
        "client.part33s\n"
        "assert 'hundred.part33s' in sys.modules and 'hundred.part34s' not in sys.modules\n",
        hundred_folder,
    )


def test_examples_what_is_deprecated_warns_when_it_is_used() -> None:
    """A deprecated entity or resource warns where it is imported, a deprecated endpoint where it is called."""
    shop: Any = importlib.import_module("shop")

    with pytest.warns(DeprecationWarning, match="Ledger is deprecated: Moves to another service"):
        shop.Ledger  # noqa: B018
    client = shop.Shop(url_prefix="http://127.0.0.1:9")
    with pytest.warns(DeprecationWarning, match="old_search"), pytest.raises(restencil.NetworkError):
        client.products.old_search.fetch(q="x")


# -------------------------------------------------------------------------------------------- over HTTP, with the mock


@pytest.fixture(scope="module")
def serve() -> Iterator[object]:
    """`serve(name)` gives the address of the mock server of a spec, by name or path; each is started once."""
    running: dict[str, str] = {}
    with contextlib.ExitStack() as ends:

        def address(name: str) -> str:
            if name not in running:
                spec = name if name.endswith(".yaml") else f"specs/{name}.yaml"
                running[name] = ends.enter_context(mocked(spec, auth=False))
            return running[name]

        yield address


Serve = Callable[[str], str]
"""What the fixture `serve` gives."""


def test_examples_todo_at_work(serve: Serve) -> None:
    """Create, update and delete show in the list without another request for it."""
    todo: Any = importlib.import_module("todo")
    with todo.TodoClient(url_prefix=serve("todo")) as client:
        before = client.todos.get_list()
        made = client.todos.get_list.push(body={"title": "Test it", "due": datetime.date(2030, 2, 1)})
        assert made.due == datetime.date(2030, 2, 1)
        assert client.todos.get_list() == [*before, made]
        client.todos.partial_update(id=made.id, body={"done": True})
        assert client.todos.get(id=made.id).done
        client.todos.delete(id=made.id)
        assert client.todos.get_list() == before
        assert [todo.id for todo in client.todos.get_list.iterate()] == [todo.id for todo in before]


def test_examples_blog_at_work(serve: Serve) -> None:
    """Relations, optional objects, dates; the same in the asynchronous world."""
    from blog import AsyncBlog, Blog

    with Blog(url_prefix=serve("blog"), token="t") as client:
        users = client.users.get_list()
        assert users[0].joined_at == datetime.datetime(1843, 7, 10, 9, tzinfo=datetime.UTC)
        assert users[0].address and users[0].address.city == "London"
        article = client.articles.get_list()[0]
        assert client.articles.get(id=article.id) is article
        assert article.author is client.users.get(id=article.author.id)
        assert client.articles.publish(id=article.id).id == article.id
        assert client.articles.search(q="a")["total"] >= 0

    async def world() -> None:
        async with AsyncBlog(url_prefix=serve("blog")) as client:
            articles = await client.articles.get_list()
            assert (await client.articles.get(id=articles[0].id)) is articles[0]
            found = [item.id async for item in client.articles.get_list.iterate()]
            assert found[: len(articles)] == [article.id for article in articles]

    asyncio.run(world())


def test_examples_shop_at_work(serve: Serve) -> None:
    """Pages, money, files, forms, hand-written functions, nested collections, values collections."""
    shop: Any = importlib.import_module("shop")

    with shop.Shop(url_prefix=serve("shop"), token="t") as client:
        lamp = client.products.get(id=1)
        assert lamp.price == shop.Money(amount=Decimal("19.90"), currency="EUR")
        assert lamp.category and lamp.category.slug == "light"
        assert lamp.opens_at == datetime.time(8, 30)
        chair = client.products.get_list.push(body={"sku": "CD-34", "name": "Chair", "rating": 4.0})
        assert chair.rating == 4.0
        assert chair in list(client.products.get_list.iterate())
        assert client.products.search(words="lamp")["total"] >= 1
        assert isinstance(client.products.photo(id=1), bytes)
        assert isinstance(client.products.manual(id=1, format="txt"), str)
        assert client.products.attach(id=1, body={"title": "a", "file": b"content"})["size"] > 0
        named = ("b.txt", io.BytesIO(b"content"), "text/plain")
        assert client.products.attach(id=1, body={"title": "b", "file": named})["size"] > 0
        client.products.set_photo(id=1, body=io.BytesIO(b"a picture"))
        assert isinstance(client.products.rate(id=1, body={"stars": 4}), int)
        assert all(isinstance(price, shop.Money) for price in client.products.price_history(id=1))
        assert all(product.price.amount < 10 for product in client.products.bargains())
        assert len(list(client.categories.get_list.iterate())) > 0
        order = client.orders.get_list(customer=1)[0]
        assert all(line.order_id == order.id for line in order.lines)
        assert client.orders.cancel(customer=1, id=order.id, body={"reason": "test"}).id == order.id
        with pytest.warns(DeprecationWarning, match="Moves to another service"):
            assert len(client.ledgers.get_list()) > 0


def test_examples_feed_at_work(serve: Serve) -> None:
    """Unions give their entities, partial entities share one table, hand-written discriminators."""
    feed: Any = importlib.import_module("feed")

    with feed.Feed(url_prefix=serve("feed"), token="k") as client:
        items = client.items.get_list()
        assert {type(item) for item in items} <= {feed.Post, feed.Link, feed.Poll}
        assert client.items.get(id=items[0].id) is items[0]
        assert items[0].author.id == client.accounts.get(id=items[0].author.id).id
        assert isinstance(client.items.timeline()["unread"], int)
        assert all(isinstance(item, feed.Post | feed.Poll) for item in client.items.by_shape())
        assert set(client.items.everything()) >= {item for item in items if isinstance(item, feed.Post | feed.Link)}
        post = next(item for item in items if isinstance(item, feed.Post))
        assert client.items.react(id=post.id, account=1, body={"reaction": feed.REACTION_LIKE})["item"].id == post.id
        made = client.items.get_list.push(body={"type": "post", "text": "hello"})
        assert isinstance(made, feed.Post) and made.text == "hello"
        assert type(client.accounts.get_list()[0]) is feed.AccountSummary
        assert client.sessions.log_in(body={"handle": "x", "password": "y"}).token


def test_examples_awkward_at_work(serve: Serve) -> None:
    """Keywords, built-ins and members of the runtime as names of parameters, fields, endpoints and classes."""
    awkward: Any = importlib.import_module("awkward")

    with awkward.Awkward(url_prefix=serve("awkward"), token="s") as client:
        found = client.class_.get(id=1)
        assert (found.list, found.str) == (["\u202e"], '"""\\')
        client.class_.get_list(self="x", in_="y", class_="z", str="s", body_="b", list=["a", "b"])
        assert client.class_.extend_(id=1, body={"from_": "a", "list": [1], "to": {"int": 3}}).id == 1
        assert isinstance(client.class_.raise_(self=1, class_=2)["result"], awkward.Class)
        assert client.functools.get_list()[0].kind == 'it\'s "derived"'
        entity = client.Entities.get_list()[0]
        assert client.Entities.get(key=entity.key) is entity
        assert isinstance(client.typing_extensions.get_list()[0].datetime, datetime.datetime)


def test_examples_ring_of_relations_at_work(
    serve: Serve, hundred_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ring of relations through a hundred modules: each is imported when its entity is met."""
    monkeypatch.syspath_prepend(str(hundred_folder))
    package = importlib.import_module("hundred")
    with package.Everything(url_prefix=serve(str(hundred_folder / "hundred.yaml"))) as client:
        part = client.part00s.get(id=1)
        assert type(part.next) is package.Part01
        assert type(part.before[0]) is package.Part99
        assert isinstance(part.price, Decimal)


@pytest.mark.parametrize("name", NAMES)
def test_examples_mock_answers_with_what_the_spec_declares(name: str, serve: Serve) -> None:
    """A store that checks every answer against the declared kinds takes all that is read without arguments."""
    spec = load(ROOT / "specs" / f"{name}.yaml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        made: Any = getattr(importlib.import_module(spec.package), spec.client)
        token = {} if spec.auth is None else {"token": "a:b"}
        read = 0
        with made(url_prefix=serve(name), store=restencil.Store(validate="strict"), **token) as client:
            for resource in spec.resources.values():
                for dotted, endpoint in resource.all_endpoints():
                    open_fields = (*endpoint.params, *endpoint.search_params)
                    is_page = isinstance(endpoint.schema, d.PageOf)
                    if not (
                        endpoint.side_effect
                        or endpoint.has_body
                        or is_page
                        or any(field.required for field in open_fields)
                    ):
                        operator.attrgetter(f"{resource.python}.{dotted}")(client)()
                        read += 1
        assert read
