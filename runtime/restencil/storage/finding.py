"""Which namespaces a folder holds."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .inspection import StoredNamespace


def namespaces(where: str | os.PathLike[str]) -> Sequence[StoredNamespace]:
    """What is stored in the folder of a `SQLiteStorage`, by the hashes of the namespaces.

        for namespace in restencil.storage.namespaces("cache/news"):
            print(namespace.hash, namespace.summary().bytes)

    Raises `StorageOff` where there is no such folder.
    """
    from .sqlite_inspection import namespaces_of

    return namespaces_of(os.path.abspath(where))
