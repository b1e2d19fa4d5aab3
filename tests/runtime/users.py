"""The users that most tests of clients read."""

from __future__ import annotations

from typing import Any

from restencil import Entity, create_resource


class User(Entity, key="User"):
    id: str = ""
    name: str = ""


Users: Any = create_resource(path="/users/:id", schema=User)
