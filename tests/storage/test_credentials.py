"""A storage without a principal, and a client with a credential: it works, and is told once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.worlds import running
from tests.storages import PatientStore, sqlite_storage

from restencil import Api, AsyncController, Auth, Controller, RestEndpoint, Schemes, Store
from restencil.testing import Answer, FakeClock, MockServer

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
