"""What is given in a wrong place, or in a wrong form, is told where it is given."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.worlds import running
from tests.storages import PatientStore, sqlite_storage

import restencil
import restencil.testing
from restencil import Api, AsyncController, Auth, Controller, MemoryStorage, RestEndpoint, Schemes, SQLiteStorage, Store
from restencil.testing import Answer, FakeClock, MockServer


def on_disk(**times: Any) -> Any:
    """A storage on disk; its folder is not made."""
    return SQLiteStorage("nowhere", principal=None, **times)


def on_a_server(**times: Any) -> Any:
    """A storage on a server that nobody asks."""
    return restencil.ValkeyStorage("valkey://localhost", namespace="test", principal=None, **times)


MAKERS = pytest.mark.parametrize("make", [on_disk, on_a_server, MemoryStorage], ids=["sqlite", "valkey", "memory"])


@MAKERS
def test_arguments_times_of_storages_are_written_as_everywhere(make: Callable[..., Any]) -> None:
    """A number is milliseconds; a text with its unit and a timedelta are taken as well."""
    storage = make(max_age="24h", write_behind="20ms", lease_wait=timedelta(seconds=3))
    assert (storage.max_age, storage.write_behind, storage.lease_wait) == (86_400_000, 20, 3_000)
    assert make(max_age=inf).max_age == inf


@MAKERS
@pytest.mark.parametrize(
    "times",
    [{"max_age": "1 day"}, {"max_age": 0}, {"max_age": nan}, {"write_behind": -1}, {"lease_wait": None}],
    ids=["text", "zero", "nan", "negative", "none"],
)
def test_arguments_times_that_are_none_are_rejected(make: Callable[..., Any], times: dict[str, Any]) -> None:
    """The text says which, what was found, and the forms that there are."""
    (name,) = times
    with pytest.raises(ValueError, match=rf"^{name} is .*; expected milliseconds, . or more, a string such as '30s'"):
        make(**times)


@pytest.mark.parametrize("timeout", ["soon", -1, nan, None, True], ids=["text", "negative", "nan", "none", "bool"])
def test_arguments_store_waits_for_a_time_or_rejects(timeout: Any) -> None:
    """`flush` and `close` take times as all else does, with and without a storage."""
    for store in (Store(), Store(storage=MemoryStorage())):
        for call in (store.flush, store.close):
            with pytest.raises(ValueError, match=r"^timeout is .*; expected milliseconds, 0 or more"):
                call(timeout)
        assert store.flush("1s") and store.flush(timedelta(seconds=1)) and store.flush(inf)
        store.close("100ms")


@pytest.mark.parametrize("kind", [Controller, AsyncController], ids=["sync", "async"])
def test_arguments_storage_given_as_a_store_is_reported_its_place(kind: Any) -> None:
    """A client takes a store; the text shows how the two go together."""
    with pytest.raises(TypeError, match=r"is a MemoryStorage; expected a restencil\.Store; pass the storage to a"):
        kind(MemoryStorage())
    with pytest.raises(
        TypeError, match=r"store of .*Controller is a str; expected .*SQLiteStorage\('cache', principal=N"
    ):
        kind("cache")


def test_arguments_store_takes_a_storage_and_no_class_or_path() -> None:
    """What was found is named so that it is not what is expected."""
    for given, found in (("cache", "a str"), (SQLiteStorage, "the class SQLiteStorage")):
        with pytest.raises(TypeError, match=rf"^storage is {found}; expected a storage, such as SQLiteStorage\("):
            Store(storage=given)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("data", [5, None, ["a"]], ids=["int", "none", "list"])
def test_arguments_dump_is_text_or_bytes(data: Any) -> None:
    """All else is a StorageError, as data that is no dump."""
    with pytest.raises(restencil.StorageError, match="^invalid dump: it is (an int|None|a list); pass the result of"):
        Store.load(data)


@pytest.mark.skipif(os.name == "nt", reason="a file in the place of a folder is another error there")
def test_arguments_what_is_not_used_was_not_flushed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`flush` says False where nothing reaches the storage."""
    (tmp_path / "file").write_text("")
    server = restencil.testing.MockServer(respond=lambda request: restencil.testing.Answer(json={"id": "1"}))
    thing: Any = restencil.RestEndpoint(path="/things/:id", schema=Thing)
    with caplog.at_level(logging.ERROR, "restencil"), closing(server.client()) as client:
        with Store(storage=SQLiteStorage(tmp_path / "file", principal=None)) as store:
            with Controller(store, client=client, base_url="http://api.test") as controller:
                controller.read(thing, {"id": "1"})
            assert store.storage_stats().state == "off" and not store.flush()


class Thing(restencil.Entity):
    """What is read."""

    id: str = ""


# -- credentials


API = "https://api.test"
SECRET = "canary-9c2e"
PLAIN: RestEndpoint[..., Any] = RestEndpoint(url_prefix=API, path="/plain/:id")
TOLD = (
    "a client of this store sends a credential, and its SQLiteStorage has principal=None: all who can open the storage "
    "see the responses to that credential; if that is not intended, pass principal=<account id> to the storage "
    "(logged once)"
)
ONE = Api(url_prefix=API, auth=Auth.bearer(env="CRED_TOKEN"))
SEVERAL = Api(url_prefix=API, auth=Schemes({"key": Auth.header("X-Key", env="CRED_KEY")}, use=(("key",),)))

Told = Callable[[], list[str]]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Told:
    """What was said of it; the secret never is, at any level."""
    caplog.set_level(logging.DEBUG)

    def found() -> list[str]:
        said = [(record.levelname, record.getMessage()) for record in caplog.records]
        assert all(SECRET not in text for _, text in said)
        return [text for level, text in said if level == "WARNING" and "principal" in text]

    return found


def _asked(store: Store, api: Api, *, asynchronous: bool = False, view: Any = None, **given: Any) -> None:
    server = MockServer(FakeClock(), respond=lambda _: Answer(json={"a": 1}))
    kind: Any = type("News", (AsyncController if asynchronous else Controller,), {"_api": api})
    client = kind(store, client=server.async_client() if asynchronous else server.client(), **given)
    with running(client) as run:
        asking = client if view is None else client.with_options(**view)
        assert [run(asking.fetch(PLAIN, id=id)) for id in "12"] == [{"a": 1}] * 2


@pytest.mark.parametrize(
    ("api", "given"), [(ONE, {"token": SECRET}), (SEVERAL, {"key": lambda: SECRET})], ids=["one scheme", "several"]
)
def test_credential_over_a_storage_of_no_one_is_reported_once(
    api: Api, given: dict[str, Any], asynchronous: bool, tmp_path: Path, told: Told
) -> None:
    """Once for each store, however many clients ask; what is asked is answered."""
    with PatientStore(storage=sqlite_storage(tmp_path)) as store:
        for _ in range(2):
            _asked(store, api, asynchronous=asynchronous, **given)
        assert told() == [TOLD]
    with PatientStore(storage=sqlite_storage(tmp_path)) as store:
        _asked(store, api, asynchronous=asynchronous, **given)
        assert told() == [TOLD] * 2


@pytest.mark.parametrize(("api", "name"), [(ONE, "CRED_TOKEN"), (SEVERAL, "CRED_KEY")])
def test_credentials_one_from_the_environment_is_reported_as_well(
    api: Api, name: str, tmp_path: Path, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent like one that was given."""
    monkeypatch.setenv(name, SECRET)
    with PatientStore(storage=sqlite_storage(tmp_path)) as store:
        _asked(store, api)
    assert told() == [TOLD]


def test_credentials_view_with_a_token_of_its_own_fills_no_storage(tmp_path: Path, told: Told) -> None:
    """So it is not told; one whose answers are the client's is."""
    with PatientStore(storage=sqlite_storage(tmp_path)) as store:
        _asked(store, ONE, view={"token": SECRET})
        assert told() == []
        _asked(store, ONE, view={"token": SECRET, "vary": False})
        assert told() == [TOLD]


def test_credentials_nothing_is_reported_where_all_is_well(tmp_path: Path, told: Told) -> None:
    """With a principal, without a storage, and where no credential is sent."""
    with PatientStore(storage=sqlite_storage(tmp_path, principal="ann")) as store:
        _asked(store, ONE, token=SECRET)
    _asked(Store(), ONE, token=SECRET)
    with PatientStore(storage=sqlite_storage(tmp_path)) as store:
        _asked(store, Api(url_prefix=API))
        _asked(store, ONE)
    assert told() == []
