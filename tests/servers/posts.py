"""The data that tests against json-server begin with: ten posts, of which every third is done, and four comments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.servers.comparing import DIRECTLY


def empty(file: Path) -> Path:
    """A database without posts."""
    file.write_text(json.dumps({"posts": [], "comments": []}), "utf-8")
    return file


def fill(address: str, key: type[int] | type[str]) -> None:
    """Puts the posts and comments there, in place of all others."""
    for table in ("comments", "posts"):
        for row in DIRECTLY.get(f"{address}/{table}").json():
            DIRECTLY.delete(f"{address}/{table}/{row['id']}")
    for number in range(1, 11):
        post: dict[str, Any] = {"id": key(number), "title": f"Post {number}", "views": number, "done": number % 3 == 0}
        DIRECTLY.post(f"{address}/posts", json={**post, "note": "n"}).raise_for_status()
    for number in range(1, 5):
        comment = {"id": key(number), "text": f"Comment {number}", "postId": key(1 + number % 2)}
        DIRECTLY.post(f"{address}/comments", json=comment).raise_for_status()
