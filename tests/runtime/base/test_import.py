"""What takes long to import is imported when it is first used: a program that starts pays for what it does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.patience import python

from restencil import Controller, Entity, Resource, lazy_function, lazy_resource, schema
from restencil.base.lazy_imports import LazyModule

GOLDEN = Path(__file__).resolve().parents[2] / "golden"

HEAVY = (
    "asyncio",
    "http.cookiejar",
    "httpx",
    "httpx2",
    "orjson",
    "restencil.http.abort",
    "restencil.http.build",
    "restencil.http.exchange",
    "restencil.cache.explanation",
    "restencil.cache.inspect_state",
    "restencil.client.coalescing",
    "restencil.client.live",
    "restencil.client.paging",
    "restencil.client.retry",
    "restencil.client.timers",
    "restencil.endpoint.envelopes",
    "restencil.endpoint.header_partitions",
    "restencil.schema.classes",
    "restencil.schema.foreign",
    "restencil.schema.keys",
    "restencil.schema.plain",
    "restencil.schema.pydantic",
    "ssl",
)


def loaded(code: str) -> set[str]:
    """The modules that are there after this code has run in an interpreter of its own, with the golden packages."""
    code = f"import sys; before = set(sys.modules); {code}; print(*set(sys.modules) - before)"
    environment = {**os.environ, "PYTHONPATH": str(GOLDEN)}
    return set(python("-W", "error", "-c", code, cwd=GOLDEN, env=environment, check=True).stdout.split())


def test_import_plugin_costs_tests_that_do_not_use_it_nothing() -> None:
    """Neither the library nor what it needs is imported before one of the fixtures is used."""
    there = loaded("import restencil.testing.pytest_plugin")
    own = {name for name in there if name.startswith("restencil")}
    assert own == {"restencil", "restencil.testing", "restencil.testing.pytest_plugin"} and "httpx" not in there


def test_importing_the_library_imports_none_of_its_modules() -> None:
    """`import restencil` costs next to nothing."""
    assert {name for name in loaded("import restencil") if name.startswith("restencil.")} == set()


@pytest.mark.parametrize(
    "code",
    [
        "import blog; blog.Blog().articles.get.cached(id=1)",
        "import blog; blog.Blog().articles.get_list.cached(author='1')",
        "import blog; blog.AsyncBlog().articles.get.cached(id=1)",
        "import restencil; restencil.RestEndpoint(path='/a/:id').key(id=1)",
    ],
)
def test_import_nothing_heavy_is_imported_before_the_first_request(code: str) -> None:
    """Client, key and cached read cost no HTTP client, no event loop and nothing else that a request needs."""
    assert loaded(code).intersection(HEAVY) == set()


def test_import_blocking_code_never_imports_asyncio_by_itself() -> None:
    """Writing to a store and reading from it ask for the running loop, which is not there without asyncio."""
    written = "import blog; b = blog.Blog(); b.set(blog.User, {'id': '1', 'name': 'Ann'}); b.users.get.cached(id=1)"
    assert "asyncio" not in loaded(written)


@pytest.mark.parametrize("chosen", ["httpx", "httpx2"])
def test_request_imports_one_http_library(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first client that is opened brings the library with it that was chosen, and not the other one."""
    monkeypatch.setenv("RESTENCIL_HTTP", chosen)
    there = loaded("from restencil.http.transport import SyncTransport; SyncTransport().client.close()")
    assert there & {"httpx", "httpx2"} == {chosen}


def test_import_of_a_package_only_the_resource_in_use_is_imported() -> None:
    """A client imports the resource that is asked for, and no other one."""
    there = loaded("import market; market.Market().reviews.get_list.cached()")
    assert {name for name in there if name.startswith("market.") and "._" not in name} == {"market.reviews"}


def test_import_late_module_gives_what_the_module_has() -> None:
    """Names are looked up once and kept; a wrong one is the module's own error."""
    text = LazyModule("string")
    assert text.digits == "0123456789"
    assert "digits" in vars(text)
    with pytest.raises(AttributeError, match="module 'string' has no attribute 'nothing'"):
        _ = text.nothing


def test_import_logger_is_quiet_where_no_one_asked_to_see() -> None:
    """Records of the library go nowhere by themselves."""
    code = "from restencil.base.logs import logger; logger.error('seen by no one'); logger.warning('nor this')"
    done = python("-c", code, check=True)
    assert (done.stdout, done.stderr) == ("", "")


# -- lazy packages


INIT = """
import restencil
restencil.lazy_package(__name__, {"users": ("User", "Users"), "old": ("Old",)}, deprecated={"Old": "", "User": "Ask."})
"""


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A package `away` with the modules `users` and `old`."""
    folder = tmp_path / "away"
    folder.mkdir()
    (folder / "__init__.py").write_text(INIT)
    (folder / "users.py").write_text("class User: pass\nclass Users:\n    class Inner: pass\n")
    (folder / "old.py").write_text("raise RuntimeError('broken')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import away as package  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]  # made above

    yield package
    for name in [name for name in sys.modules if name.split(".")[0] == "away"]:
        del sys.modules[name]


def test_lazy_packages_package_imports_the_module_of_the_name_that_is_used(away: Any) -> None:
    """The others are left alone, and a name that was asked for is there from then on."""
    assert "away.users" not in sys.modules
    found = away.Users
    assert found is sys.modules["away.users"].Users
    assert vars(away)["Users"] is found
    assert "away.old" not in sys.modules


def test_lazy_packages_deprecated_name_warns_at_each_use(away: Any) -> None:
    """With its reason where there is one, at the place that uses it."""
    for _ in range(2):
        with pytest.warns(DeprecationWarning, match=r"^User is deprecated: Ask\.$") as warned:
            _ = away.User
        assert warned[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="^Old is deprecated$"), pytest.raises(RuntimeError, match="broken"):
        _ = away.Old


def test_lazy_packages_name_that_a_module_misses_is_an_import_error(away: Any) -> None:
    """It tells the name, the module, and who refers to it."""
    missing = schema.Lazy(".users:Nobody", "away.orders")
    with pytest.raises(ImportError, match="cannot import name 'Nobody' from 'away.users', as away.orders does") as told:
        _ = missing.raw
    assert told.value.name == "Nobody"
    with pytest.raises(ModuleNotFoundError, match="No module named 'away.orders'"):
        _ = schema.Lazy(".orders:Order", "away.users").raw


@pytest.mark.parametrize("text", ["users", ":User", "users:", ".:User", ""])
def test_lazy_packages_reference_names_a_module_and_something_in_it(text: str) -> None:
    """What has another form is refused where it is written."""
    for refused in (lazy_function, schema.Lazy, lazy_resource):
        with pytest.raises(ValueError, match="expected the form 'package.module:name'"):
            refused(text)
    with pytest.raises(ValueError, match="the reference is .*; expected the form"):
        lazy_function(".users:User")


def test_lazy_packages_schema_may_be_named(away: Any) -> None:
    """Beside the module that asks, or anywhere; it is looked up once."""
    assert schema.Lazy(".users:Users", "away.orders").raw is away.Users
    lazy = schema.Lazy("away.users:Users.Inner")
    assert lazy.raw is lazy.raw is away.Users.Inner
    assert repr(schema.Lazy(".users:Users", "away.orders")) == "Lazy('.users:Users')"


class Thing(Entity):
    """What there is."""

    id: int = 0


class Things(Resource, path="/things/:id", schema=Thing):
    """A resource beside the client."""


class Client(Controller):
    """A client whose resource is looked up by its name."""

    things: Any = lazy_resource(f".{__name__.rpartition('.')[2]}:Things")


def test_lazy_packages_client_makes_each_of_its_resources_once() -> None:
    """Each client has its own; on the class stands what makes it."""
    one, other = Client(), Client()
    assert isinstance(one.things, Things)
    assert one.things is one.things is not other.things
    assert one.things.controller is one
    assert "things" in dir(Client())
    assert repr(Client.things) == "lazy_resource('.test_import:Things')"
