"""Storages for tests, and stores over them: none of them gives up since the machine is busy."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from restencil import SQLiteStorage, Store, ValkeyStorage
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from restencil.base.durations import Duration

_LONG = PATIENCE * 1_000


class PatientStore(Store):
    """A store that ends when all is written, however late that is; for storages that answer."""

    def flush(self, timeout: Duration = _LONG) -> bool:
        return super().flush(timeout)

    def close(self, timeout: Duration = _LONG) -> None:
        super().close(timeout)

    async def aclose(self, timeout: Duration = _LONG) -> None:  # noqa: ASYNC109 - in ms, as everywhere
        await super().aclose(timeout)


@contextmanager
def patience_by_default() -> Generator[None]:
    """The storages and stores of programs, such as those of the documentation, are as patient as these."""
    times: Any = SQLiteStorage.__init__.__kwdefaults__  # those of a function that has some
    with patch.dict(times, timeout=_LONG), patch.object(Store.close, "__defaults__", (_LONG,)):
        yield


def sqlite_storage(path: str | os.PathLike[str], *, principal: str | None = None, **options: Any) -> SQLiteStorage:
    """A folder of SQLite, whose reads take as long as they take."""
    return SQLiteStorage(path, principal=principal, **{"timeout": _LONG, **options})


def valkey_storage(url: str, *, principal: str | None = None, **options: Any) -> ValkeyStorage:
    """A server whose answers are waited for, however late they come; for tests in which none is cut off."""
    given: dict[str, Any] = {"namespace": "test", "timeout": _LONG, **options}
    return ValkeyStorage(url, principal=principal, **given)
