"""Looks into storages from outside: which namespaces a folder or a server holds, and what is in them.

Looking changes nothing, not even a last use.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from .namespace import NamespaceSummary, StoredLease, StoredNamespace, StoredTable

__all__ = ["NamespaceSummary", "StoredLease", "StoredNamespace", "StoredTable", "namespaces"]


def namespaces(where: str | os.PathLike[str]) -> Sequence[StoredNamespace]:
    """Gives what is stored in the folder of a `SQLiteStorage`, or at the URL of a `ValkeyStorage`, by namespace hash.

        for namespace in namespaces("cache/news"):
            print(namespace.hash, namespace.summary().bytes)

    Raises `StorageOff` where there is no such folder, `StorageDown` where the server does not answer, ValueError for a
    URL that names none, and ImportError where the package valkey is not installed.
    """
    path = os.fspath(where)
    if "://" in path:
        from .valkey import namespaces_at

        return namespaces_at(path)
    from .sqlite import namespaces_of

    return namespaces_of(os.path.abspath(path))
