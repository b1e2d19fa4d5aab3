"""What is imported when it is first used: packages, resources of a client, schemas and functions by name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from restencil import Controller, Entity, Resource, lazy_function, lazy_resource, schema

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
    assert repr(Client.things) == "lazy_resource('.test_lazy_packages:Things')"
