"""Storages for tests: a busy machine makes reads slow, and none of them is given up for that."""

from __future__ import annotations

import os
from typing import Any

from restencil import SQLiteStorage, ValkeyStorage
from tests.patience import PATIENCE

_LONG = PATIENCE * 1_000


def sqlite_storage(path: str | os.PathLike[str], *, principal: str | None = None, **options: Any) -> SQLiteStorage:
    """A folder of SQLite, whose reads take as long as they take."""
    return SQLiteStorage(path, principal=principal, **{"timeout": _LONG, **options})


def valkey_storage(url: str, *, principal: str | None = None, **options: Any) -> ValkeyStorage:
    """A server whose answers are waited for, however late they come; for tests in which none is cut off."""
    given: dict[str, Any] = {"namespace": "test", "timeout": _LONG, **options}
    return ValkeyStorage(url, principal=principal, **given)
