"""One process over a storage that others share, and what it reads."""

from __future__ import annotations

from typing import Any, TypeVar

from tests.storage.others import Other
from tests.storages import PatientStore

from restencil import Controller, Entity, MemoryStorage, create_resource, field
from restencil.testing import Answer, FakeClock, MockServer

T = TypeVar("T")


class Author(Entity):
    """Whom articles refer to."""

    id: str = ""
    name: str = ""


class Article(Entity, indexes=("slug",)):
    """What most tests read."""

    id: str = ""
    title: str = ""
    slug: str = ""
    author: Any = field(default=None, schema=Author)


Articles = create_resource(schema=Article, path="/articles/:id", search_params=("slug",))
ANN = {"id": "a1", "name": "Ann"}
FIRST = {"id": "1", "title": "A", "slug": "a", "author": ANN}
SECOND = {"id": "2", "title": "B", "slug": "b", "author": ANN}


class Here:
    """This process: a store over the storage, a server that counts, and the clock of all."""

    def __init__(self, clock: FakeClock, **options: Any) -> None:
        self.clock = clock
        self.storage = MemoryStorage(**options)
        self.other = Other(self.storage, clock, clock)
        self.server = MockServer(clock, respond=self._respond)
        self.answers: dict[str, Any] = {}
        self.begin()

    def begin(self, **options: Any) -> None:
        """The process starts (again): nothing is in memory."""
        self.store: Any = PatientStore(
            clock=self.clock, scheduler=self.clock, storage=self.storage.another(), **options
        )
        self.controller = Controller(self.store, client=self.server.client(), base_url="http://api.test")

    def _respond(self, request: Any) -> Answer:
        path = str(request.url).removeprefix("http://api.test")
        if path not in self.answers:
            return Answer(404, json={})
        return Answer(json=self.answers[path])

    def turn(self) -> None:
        """A turn of the thread that looks at the log."""
        tier: Any = self.store._persistence
        tier.look()

    @property
    def asked(self) -> int:
        return len(self.server.requests)


def one(found: T | None) -> T:
    """What was found."""
    assert found is not None
    return found


def titles(articles: Any) -> list[str]:
    """What a list shows."""
    return [article.title for article in articles]
