"""A process of its own over files: it reads and writes what it is told on its standard input, line by line."""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.storages import PatientStore, sqlite_storage

from restencil import Controller, Entity, Store, create_resource


class Article(Entity):
    """What is read."""

    id: str = ""
    title: str = ""


Articles = create_resource(schema=Article, path="/articles/:id")


def main(folder: str) -> None:
    """`cached`, `answer [..]`, `get ID`, `reset`, `stats`, `end`: each is answered with one line of JSON."""
    storage = sqlite_storage(folder, write_behind=5, poll=20)
    with PatientStore(storage=storage) as store:
        controller = Controller(store, base_url="http://api.test")
        for line in sys.stdin:
            print(json.dumps(_answer(controller, store, *line.strip().split(" ", 1))), flush=True)


def _answer(controller: Controller, store: Store, order: str, rest: str = "") -> Any:
    match order:
        case "answer":
            controller.set_response(Articles.get_list, json.loads(rest))
            return store.flush()
        case "get":
            found = controller.cached(Articles.get, id=rest)
            return None if found is None else found.title
        case "reset":
            return controller.reset_entire_store()
        case "resets":
            return store.resets
        case _:
            listed = controller.cached(Articles.get_list)
            return None if listed is None else [article.title for article in listed]


if __name__ == "__main__":
    main(sys.argv[1])
