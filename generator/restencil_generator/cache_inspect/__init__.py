"""Read-only inspection of the storages of caches: which namespaces a folder or server has, and their contents.

Inspecting changes nothing, not even the times of last use; only `reset` writes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from .namespace import NamespaceSummary, StoredLease, StoredNamespace, StoredTable

__all__ = ["NamespaceSummary", "StoredLease", "StoredNamespace", "StoredTable", "namespaces"]


def namespaces(where: str | os.PathLike[str]) -> Sequence[StoredNamespace]:
    """Return the namespaces in the folder of a `SQLiteStorage`, or at the URL of a `ValkeyStorage`, sorted by hash.

        for namespace in namespaces("cache/news"):
            print(namespace.hash, namespace.summary().bytes)

    Raises `StorageOff` if the folder does not exist, `StorageDown` if the server does not respond, ValueError for an
    invalid URL, and ImportError if the package valkey is not installed.
    """
    path = os.fspath(where)
    if "://" in path:
        from .valkey import namespaces_at

        return namespaces_at(path)
    from .sqlite import namespaces_of

    return namespaces_of(os.path.abspath(path))
