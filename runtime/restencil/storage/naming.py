"""Name a namespace by a hash of its principal and location, so that its name reveals neither."""

from __future__ import annotations

import hashlib
from typing import Any

from ..base.json_text import encode_json
from ..base.values import described


def namespace_hash(namespace: str, principal: str | None, place: str) -> str:
    """Return the name of a namespace in files and keys, 32 hexadecimal digits; `namespace` is `""` for a path.

    The hash hides the principal, but does not protect it from being guessed.
    """
    text = encode_json(["restencil/1", namespace, principal, place], str)
    return str(hashlib.blake2b(text.encode(), digest_size=16).hexdigest())


def check_principal(principal: Any) -> None:
    """Raise ValueError for an invalid principal; the message does not contain it."""
    if principal is None or (isinstance(principal, str) and principal):
        return
    found = "empty" if principal == "" else described(principal)
    raise ValueError(
        f"principal is {found}; expected a string that is not empty, such as the id of an account, or None if everyone "
        "who can open the storage may see all data"
    )
