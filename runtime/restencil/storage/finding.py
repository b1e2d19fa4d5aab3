"""Which namespaces a folder or a server holds."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .inspection import StoredNamespace


def namespaces(where: str | os.PathLike[str]) -> Sequence[StoredNamespace]:
    """What is stored in the folder of a `SQLiteStorage`, or at the URL of a `ValkeyStorage`, by the namespaces' hashes.

        for namespace in restencil.storage.namespaces("cache/news"):
            print(namespace.hash, namespace.summary().bytes)

    Raises `StorageOff` where there is no such folder, `StorageDown` where the server does not answer, ValueError for a
    URL that names none, and ImportError where the package valkey is not installed.
    """
    path = os.fspath(where)
    if "://" in path:
        from .valkey_inspection import namespaces_at

        return namespaces_at(path)
    from .sqlite_inspection import namespaces_of

    return namespaces_of(os.path.abspath(path))
