"""One worker of `make demo-shared`: it has a store over the shared storage, and does what it is told, line by line.

Usage: shared_worker.py UPSTREAM STORAGE. A line of JSON comes in for each order, and one goes out when it is done.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from restencil import Controller, Entity, Store, ValkeyStorage, create_resource


class Article(Entity):
    """What everybody reads."""

    id: int = 0
    title: str = ""


articles: Any = create_resource(path="/articles/:id", schema=Article, data_expiry_length="10m")


def main(upstream: str, storage: str) -> None:
    # The timeout allows for eight workers on two cores: who gives up waiting for the storage asks for itself.
    shared = ValkeyStorage(storage, namespace="demo", principal=None, timeout=5_000)
    with Store(storage=shared) as store, Controller(store, base_url=upstream) as controller:
        for line in sys.stdin:
            order = json.loads(line)
            done = DOES[order.pop("do")](controller, **order)
            print(json.dumps(done), flush=True)


def read(controller: Controller, first: int, count: int) -> dict[str, str]:
    """Reads so many articles, from one of them on and round again; their titles by id."""
    ids = [(first + step) % count for step in range(count)]
    return {str(id): controller.read(articles.get, id=id).title for id in ids}


def change(controller: Controller, id: int, title: str) -> str:
    """Changes an article, and shows what it has then."""
    controller.fetch(articles.partial_update, {"id": id}, {"title": title})
    return title_of(controller, id)


def await_title(controller: Controller, id: int, title: str) -> bool:
    """Waits until an article has this title, without asking for it; False where it does not come."""
    changed = threading.Event()
    remove = controller.store.add_listener(changed.set)
    try:
        for _ in range(100):
            if title_of(controller, id) == title:
                return True
            changed.wait(0.3)
            changed.clear()
        return False
    finally:
        remove()


def title_of(controller: Controller, id: int) -> str:
    article = controller.cached(articles.get, id=id)
    return "" if article is None else str(article.title)


def stats(controller: Controller) -> dict[str, Any]:
    """What the storage is doing for this worker."""
    found = controller.store.storage_stats()
    return {
        "state": found.state,
        "saved": found.requests_saved,
        "loaded": found.loaded_rows,
        "breaks": found.breaks,
        "errors": found.errors,
    }


DOES: dict[str, Any] = {"read": read, "change": change, "await_title": await_title, "stats": stats}

if __name__ == "__main__":
    main(*sys.argv[1:])
