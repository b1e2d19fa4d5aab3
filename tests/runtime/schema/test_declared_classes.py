"""Dataclasses, attrs classes, pydantic models and msgspec structs as entities."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import attrs
import msgspec
import pydantic
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from pydantic import ConfigDict
from tests.runtime.servers import Arrived, Reply, Server
from tests.runtime.worlds import controller_of, running

import restencil
from restencil import AsyncController, Controller, Entity, ProcessingError, create_resource, field, foreign_key
from restencil.schema.record import to_wire

if TYPE_CHECKING:
    from fractions import Fraction

MORNING = datetime.datetime(2026, 11, 22, 7, 30, tzinfo=datetime.UTC)


@restencil.entity(key="DataAuthor")
@dataclass(frozen=True)
class DataAuthor:
    id: int
    name: str = ""


@restencil.entity(key="DataArticle")
@dataclass(frozen=True)
class DataArticle:
    id: int
    title: str
    author: DataAuthor | None = None
    created_at: datetime.datetime | None = dataclasses.field(default=None, metadata={"wire": "createdAt"})
    tags: tuple[str, ...] = ()


@restencil.entity(key="AttrsAuthor")
@attrs.frozen
class AttrsAuthor:
    id: int
    name: str = ""


@restencil.entity(key="AttrsArticle")
@attrs.frozen
class AttrsArticle:
    id: int
    title: str
    author: AttrsAuthor | None = None
    created_at: datetime.datetime | None = attrs.field(default=None, alias="createdAt")
    tags: tuple[str, ...] = attrs.field(factory=tuple)


@restencil.entity(key="PydanticAuthor")
class PydanticAuthor(pydantic.BaseModel, frozen=True):
    id: int
    name: str = ""


@restencil.entity(key="PydanticArticle")
class PydanticArticle(pydantic.BaseModel):
    model_config = ConfigDict(frozen=True)
    id: int
    title: str
    author: PydanticAuthor | None = None
    created_at: datetime.datetime | None = pydantic.Field(default=None, alias="createdAt")
    tags: tuple[str, ...] = ()


@restencil.entity(key="StructAuthor")
class StructAuthor(msgspec.Struct, frozen=True):
    id: int
    name: str = ""


@restencil.entity(key="StructArticle")
class StructArticle(msgspec.Struct, frozen=True, rename="camel"):
    id: int
    title: str
    author: StructAuthor | None = None
    created_at: datetime.datetime | None = None
    tags: tuple[str, ...] = ()


class Pair(NamedTuple):
    article: Any
    author: Any


KINDS = {
    "dataclass": Pair(DataArticle, DataAuthor),
    "attrs": Pair(AttrsArticle, AttrsAuthor),
    "pydantic": Pair(PydanticArticle, PydanticAuthor),
    "msgspec": Pair(StructArticle, StructAuthor),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Pair:
    return KINDS[request.param]


AUTHOR = {"id": 3, "name": "Ada"}


def record(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "title": f"T{number}",
        "author": AUTHOR,
        "createdAt": "2026-11-22T07:30:00Z",
        "tags": ["x"],
        "unknown": [1],
    }


class Articles:
    """A server of articles that answers as real ones do."""

    def __init__(self, count: int) -> None:
        self.records = {number: record(number) for number in range(1, count + 1)}
        self.bodies: list[Any] = []

    def __call__(self, request: Arrived) -> Reply:
        number = int(request.target.rpartition("/")[2] or 0) if request.target != "/articles" else 0
        if request.body:
            self.bodies.append(json.loads(request.body))
        if request.method == "DELETE":
            del self.records[number]
            return Reply(status=204, body=b"")
        if request.method in ("PATCH", "PUT"):
            self.records[number] = {**self.records[number], **self.bodies[-1]}
        elif request.method == "POST":
            number = len(self.records) + 1
            self.records[number] = {**record(number), **self.bodies[-1]}
        return Reply(body=json.dumps(self.records[number] if number else list(self.records.values())).encode())


@pytest.fixture(params=[3, 40], ids=["interpreted", "compiled"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Articles, str]]:
    articles = Articles(request.param)
    with Server(articles) as served:
        yield articles, served.url


def resource_of(cls: Any, url: str) -> Any:
    return create_resource(path="/articles/:id", schema=cls, url_prefix=url, optimistic=True)


# -- with a server ---------------------------------------------------------------------------------------------------


def expected(kind: Pair, number: int, title: str | None = None) -> Any:
    return kind.article(
        **{
            "id": number,
            "title": title or f"T{number}",
            "author": kind.author(**AUTHOR),
            ("created_at" if kind.article in (DataArticle, StructArticle) else "createdAt"): MORNING,
            "tags": ("x",),
        }
    )


def test_declared_classes_list_detail_patch_and_delete(kind: Pair, server: tuple[Articles, str]) -> None:
    """Instances are the class's own, one for each entity, rebuilt where they changed and nowhere else."""
    articles, url = server
    resource = resource_of(kind.article, url)
    with Controller() as controller:
        found = controller.read(resource.get_list)
        assert found == [expected(kind, number) for number in articles.records]
        assert type(found[0]) is kind.article
        assert all(one.author is found[0].author for one in found)
        assert controller.read(resource.get, id=1) is found[0]  # from the list, without a request

        changed = controller.fetch(resource.partial_update, {"id": 1}, {"title": "New"})
        assert changed == expected(kind, 1, "New")
        again = controller.read(resource.get_list)
        assert again[0] is changed
        assert (again[1] is found[1], again[0].author is found[0].author) == (True, True)

        made = controller.fetch(resource.get_list.push, {"title": "Made"})
        assert controller.read(resource.get_list)[-1] is made

        controller.fetch(resource.delete, id=2)
        assert [one.id for one in controller.read(resource.get_list)] == list(articles.records)
        assert controller.get(kind.article, id=2) is None


def test_declared_classes_optimistic_update_shows_an_instance_before_the_response(kind: Pair) -> None:
    """It is built from the record and the body, and no default of the class counts as an answer."""

    @restencil.entity(key=kind.article.__name__)
    @dataclass(frozen=True)
    class Tagged:
        id: int
        tags: Any

    with Server(lambda request: Reply(held=True, body=b"{}")) as served:
        resource = resource_of(kind.article, served.url)

        async def run() -> None:
            async with AsyncController() as controller:
                given = {name: value for name, value in record(1).items() if name != "tags"}
                controller.set(kind.article, given, id=1)
                task = asyncio.create_task(controller.fetch(resource.partial_update, {"id": 1}, {"title": "Soon"}))
                await asyncio.sleep(0)
                shown = controller.get(kind.article, id=1)
                assert (shown.title, shown.author) == ("Soon", kind.author(**AUTHOR))
                assert controller.get(Tagged, id=1) is None
                task.cancel()

        asyncio.run(run())


# -- what it does ----------------------------------------------------------------------------------------------------


def stored(cls: Any, value: Mapping[str, Any], controller: Controller | None = None) -> Any:
    controller = controller or Controller()
    controller.set(cls, value, id=value["id"])
    return controller.get(cls, id=value["id"])


def test_declared_classes_class_of_a_third_party_is_declared_by_a_call(controller: Controller) -> None:
    """The function gives the class back."""

    @dataclass(frozen=True)
    class Theirs:
        uid: str

    assert restencil.entity(Theirs, pk="uid") is Theirs
    controller.set(Theirs, {"uid": "a"}, uid="a")
    assert controller.get(Theirs, uid="a") == Theirs("a")


def test_declared_classes_response_that_misses_a_required_field_is_an_error_to_who_requested_it(kind: Pair) -> None:
    """It names the field."""
    with Server(lambda request: Reply(body=b'{"id": 1}')) as served, Controller() as controller:
        with pytest.raises(ProcessingError, match=r"Article '?1'? cannot be built: the response has no 'title'"):
            controller.fetch(resource_of(kind.article, served.url).get, id=1)


@pytest.mark.parametrize("name", ["pydantic", "msgspec", "dataclass", "attrs"])
def test_declared_classes_value_that_does_not_fit_is_an_error(name: str) -> None:
    """It says which entity cannot be built, and what the class said."""
    with pytest.raises(ProcessingError, match=r"Article '?1'?"):
        stored(KINDS[name].article, {**record(1), "createdAt": "soon"})


@pytest.mark.parametrize("count", [3, 40])
def test_declared_classes_list_with_a_value_that_does_not_fit_raises_until_another_comes(
    kind: Pair, count: int, asynchronous: bool
) -> None:
    """Each reader hears of it, without further requests; other reads go on, and a better answer ends it."""
    articles = Articles(count)
    articles.records[2]["createdAt"] = "soon"
    controller = controller_of(asynchronous)
    with Server(articles) as server, running(controller) as run:
        resource = resource_of(kind.article, server.url)
        for _ in range(3):
            with pytest.raises(ProcessingError, match=r"Article '?2'?"):
                run(controller.read(resource.get_list))
        asked = len(server.arrived)
        with pytest.raises(ProcessingError, match=r"Article '?2'?"):
            run(controller.read(resource.get_list))
        assert len(server.arrived) == asked
        assert run(controller.read(resource.get, id=1)) == expected(kind, 1)
        controller.set(kind.article, record(2), id=2)
        assert run(controller.read(resource.get_list))[1] == expected(kind, 2)


def test_declared_classes_validators_of_the_class_run_once_for_each_changed_record(controller: Controller) -> None:
    """And not on write."""
    built: list[int] = []

    def check(self: Any, attribute: Any, value: int) -> None:
        built.append(value)
        if value < 0:
            raise ValueError("too small")

    @restencil.entity
    @attrs.frozen
    class Counted:
        id: int
        size: int = attrs.field(default=0, validator=check)

    controller.set(Counted, {"id": 1, "size": 5}, id=1)
    assert built == []
    assert controller.get(Counted, id=1) is controller.get(Counted, id=1)
    assert built == [5]
    controller.set(Counted, {"id": 1, "size": -1}, id=1)
    with pytest.raises(ProcessingError, match="Counted '1' cannot be built from the response: too small"):
        controller.get(Counted, id=1)


def test_declared_classes_json_names_of_the_decorator_win() -> None:
    """Over aliases and metadata."""

    @restencil.entity(wire={"title": "headline"})
    @dataclass(frozen=True)
    class Renamed:
        id: int
        title: str = dataclasses.field(default="", metadata={"wire": "name"})

    @restencil.entity(wire={"title": "headline"})
    class Model(pydantic.BaseModel, frozen=True):
        id: int
        title: str = pydantic.Field(default="", alias="name")

    for cls in (Renamed, Model):
        found = stored(cls, {"id": 1, "headline": "T"})
        assert found.title == "T"
        assert to_wire(found) == {"id": 1, "headline": "T"}


def crossed_classes() -> list[Any]:
    """One of each kind, with a field whose JSON name is the Python name of another."""

    @dataclass(frozen=True)
    class Data:
        id: int
        title: str = ""
        name: str = ""

    @attrs.frozen
    class Attrs:
        id: int
        title: str = ""
        name: str = ""

    class Model(pydantic.BaseModel, frozen=True):
        id: int
        title: str = ""
        name: str = ""

    class Struct(msgspec.Struct, frozen=True):
        id: int
        title: str = ""
        name: str = ""

    return [Data, Attrs, Model, Struct]


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("name", ["title", "other"])
def test_declared_classes_json_name_may_be_the_name_of_another_field(place: int, name: str) -> None:
    """Nothing is mixed up, neither read nor written; what the server calls like a field is not that field."""
    cls = restencil.entity(crossed_classes()[place], wire={"title": "subtitle", "name": name})
    found = stored(cls, {"id": 1, "subtitle": "S", name: "N"})
    assert (found.title, found.name) == ("S", "N")
    assert to_wire(found) == {"id": 1, "subtitle": "S", name: "N"}
    assert stored(cls, {"id": 1, "title": "T"}).title == ""


def test_declared_classes_model_is_read_by_the_aliases_that_it_validates_and_kept_under_them() -> None:
    """Those that it is written with may be others; nothing is lost on the way into the store, also not in relations."""

    @restencil.entity()
    class Writer(pydantic.BaseModel, frozen=True):
        id: int
        name: str = pydantic.Field(default="", validation_alias="inName", serialization_alias="outName")

    @restencil.entity()
    class Text(pydantic.BaseModel, frozen=True):
        id: int
        title: str = pydantic.Field(default="", serialization_alias="outTitle")
        kind: str = pydantic.Field(default="", validation_alias=pydantic.AliasChoices("kind1", "kind2"))
        writer: Writer | None = None
        readers: list[Writer] = []

    sent = {
        "id": 1,
        "title": "T",
        "kind1": "K",
        "writer": {"id": 2, "inName": "W"},
        "readers": [{"id": 3, "inName": "R"}],
    }
    made = Text.model_validate(sent)
    assert to_wire(made) == sent
    for value in (made, sent):
        found = stored(Text, value if isinstance(value, dict) else to_wire(value))
        assert found == made
    controller = Controller()
    controller.set(Text, made, id=1)
    assert controller.get(Text, id=1) == made
    assert controller.get(Writer, id=3) == Writer.model_validate({"id": 3, "inName": "R"})


def test_declared_classes_relations_are_read_from_the_annotations() -> None:
    """Of lists, maps, optional ones and annotated ones; entities of the library too."""

    class Own(Entity):
        id: int = 0
        name: str = ""

    @restencil.entity
    @dataclass(frozen=True)
    class Shelf:
        id: int
        first: Annotated[DataAuthor, "said of it"]
        all: list[DataAuthor]
        by_name: dict[str, DataAuthor]
        own: Own | None = None
        never: DataAuthor | None = None

    Shelf.__annotations__.update({"first": Annotated[DataAuthor, "x"], "own": Own | None, "all": list[DataAuthor]})
    ada = {"id": 3, "name": "Ada"}
    found = stored(Shelf, {"id": 1, "first": ada, "all": [3, {"id": 4}], "by_name": {"a": 3}, "own": {"id": 9}})
    assert (found.first, found.all, found.by_name) == (
        DataAuthor(3, "Ada"),
        [DataAuthor(3, "Ada"), DataAuthor(4)],
        {"a": DataAuthor(3, "Ada")},
    )
    assert found.first is found.all[0] is found.by_name["a"]
    assert (found.own, found.never) == (Own(id=9), None)


def test_declared_classes_required_relation_to_what_is_not_known_makes_the_record_invalid() -> None:
    """An optional one is None."""

    @restencil.entity(schema={"author": DataAuthor})
    @dataclass(frozen=True)
    class Needs:
        id: int
        author: DataAuthor

    assert stored(Needs, {"id": 1, "author": 99}) is None
    assert stored(DataArticle, {"id": 1, "title": "T", "author": 99}) == DataArticle(1, "T")


def test_declared_classes_values_without_identity_are_built_too() -> None:
    """A dataclass or attrs class in a field, in lists and maps, from the object that came."""

    @dataclass(frozen=True)
    class Place:
        city: str
        since: datetime.date | None = None

    @restencil.entity(schema={})
    @dataclass(frozen=True)
    class Person:
        id: int
        home: Any
        places: Any = ()

    Person.__annotations__.update({"home": Place | None, "places": list[Place]})
    found = stored(Person, {"id": 1, "home": {"city": "C", "since": "2026-11-22"}, "places": [{"city": "D"}]})
    assert found.home == Place("C", datetime.date(2026, 11, 22))
    assert found.places == [Place("D")]
    assert to_wire(found)["home"] == {"city": "C", "since": "2026-11-22"}


def test_declared_classes_hooks_see_records_in_wire_form(controller: Controller) -> None:
    """`process` makes the record, `validate` says what is unusable, `merge` joins two."""

    def process(value: Any, parent: Any, key: str | None, args: tuple[Any, ...]) -> Mapping[str, Any] | None:
        return {**value, "title": value.get("title", "").upper()}

    def validate(record: Mapping[str, Any]) -> str | None:
        return "no" if record.get("title") == "BAD" else None

    def merge(existing: Mapping[str, Any], incoming: Mapping[str, Any]) -> Mapping[str, Any]:
        return {**existing, **incoming, "merged": True}

    @restencil.entity(process=process, validate=validate, merge=merge)
    class Hooked(pydantic.BaseModel, frozen=True):
        id: int
        title: str = ""
        merged: bool = False

    assert stored(Hooked, {"id": 1, "title": "a"}, controller) == Hooked(id=1, title="A")
    assert stored(Hooked, {"id": 1, "title": "b"}, controller) == Hooked(id=1, title="B", merged=True)
    with pytest.raises(ProcessingError, match="Hooked '1' is not valid: no"):
        stored(Hooked, {"id": 1, "title": "bad"}, controller)


def test_declared_classes_entity_of_the_library_can_refer_to_such_a_class(kind: Pair, controller: Controller) -> None:
    """Both ways of reading build it, and JSON has its members."""

    class Shelf(Entity):
        id: int = 0
        best: Any = field(default=None, schema=kind.article)
        all: Any = field(default=[], schema=[kind.article])

    many = [record(number) for number in range(1, 41)]
    for number in range(1, 41):
        controller.set(Shelf, {"id": number, "best": record(1), "all": many}, id=number)
    shelves: list[Any] = [controller.get(Shelf, id=number) for number in range(1, 41)]
    for shelf in shelves:
        assert shelf.best == expected(kind, 1)
        assert shelf.best is shelf.all[0] is controller.get(kind.article, id=1)
    shelf = shelves[-1]
    assert json.loads(shelf.to_json())["best"]["author"] == AUTHOR
    assert foreign_key(shelf, "best") == 1


@pytest.mark.parametrize("name", ["dataclass", "pydantic"])
def test_declared_classes_pydantic_writes_them_inside_of_entities(name: str) -> None:
    """As the classes that they are."""
    cls = KINDS[name].article

    class Shelf(Entity):
        id: int = 0
        best: Any = field(default=None, schema=cls)

    written = pydantic.TypeAdapter(Shelf).dump_python(stored(Shelf, {"id": 1, "best": record(1)}), by_alias=True)
    assert (written["best"]["title"], written["best"]["author"]) == ("T1", AUTHOR)


def test_declared_classes_instance_keeps_no_key_of_what_is_not_known(kind: Pair) -> None:
    """The error says how to have it."""
    with pytest.raises(TypeError, match=r"has no keys of entities that are not in the store: remove 'author' from"):
        foreign_key(expected(kind, 1), "author")


def test_declared_classes_model_can_refer_to_one_that_is_declared_later() -> None:
    """Its annotations are looked up when they are first needed."""
    found = stored(Early, {"id": 1, "late": {"id": 2, "early": {"id": 3}}})
    assert found == Early(id=1, late=Late(id=2, early=Early(id=3)))


def test_declared_classes_strings_that_are_values_are_no_names() -> None:
    """Literals, and what is said beside a type."""

    @restencil.entity
    class Marked(pydantic.BaseModel, frozen=True):
        id: int
        status: Literal["draft", "live"] = "draft"
        notes: list[Annotated[Literal["a"], "said"]] = []

    assert stored(Marked, {"id": 1, "status": "live", "notes": ["a"]}).status == "live"


def test_declared_classes_model_that_refers_to_what_is_nowhere_has_to_be_reported() -> None:
    """pydantic itself could not use it."""

    @restencil.entity
    class Lost(pydantic.BaseModel, frozen=True):
        id: int
        part: Fraction | None = None

    with pytest.raises(ProcessingError, match="the type of field 'part' of Lost is unknown"):
        stored(Lost, {"id": 1})


def test_declared_classes_circle_in_the_data_says_what_to_do(controller: Controller) -> None:
    """Frozen instances cannot refer to one another; nothing of the attempt stays."""
    controller.set(Comment, {"id": 1, "parent": {"id": 2, "parent": 1}}, id=1)
    for _ in range(40):
        with pytest.raises(
            ProcessingError,
            match=r"Comment '1' refers to itself, but an instance of Comment is created after .*\(schema=",
        ):
            controller.get(Comment, id=1)
    controller.set(Comment, {"id": 2, "parent": None}, id=2)
    assert controller.get(Comment, id=1) == Comment(1, Comment(2))


def test_declared_classes_what_is_nested_too_deep_is_an_error() -> None:
    """Not a key where an instance should be."""
    nested: dict[str, Any] = {"id": 100}
    for number in range(99, 0, -1):
        nested = {"id": number, "parent": nested}
    with pytest.raises(ProcessingError, match="is nested 64 entities deep"):
        stored(Comment, nested)


def test_declared_classes_lists_in_instances_are_read_only() -> None:
    """All readers share them; pydantic and msgspec make their own."""
    found = stored(Person, {"id": 1, "names": ["a"]})
    with pytest.raises(TypeError, match="read-only"):
        found.names.append("b")


@restencil.entity
class Early(pydantic.BaseModel, frozen=True):
    id: int
    late: Late | None = None


@restencil.entity
class Late(pydantic.BaseModel, frozen=True):
    id: int
    early: Early | None = None


@restencil.entity
@dataclass(frozen=True)
class Person:
    id: int
    names: list[str]


@restencil.entity
@dataclass(frozen=True)
class Comment:
    id: int
    parent: Comment | None = None


# -- FastAPI ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dataclass", "pydantic"])
def test_declared_classes_fastapi_takes_them_as_the_classes_that_they_are(name: str, controller: Controller) -> None:
    """The OpenAPI document is that of the class itself."""
    cls = KINDS[name].article
    controller.set(cls, record(1), id=1)
    app, plain = FastAPI(), FastAPI()
    for each in (app, plain):

        @each.get("/article", response_model=cls)
        def article() -> Any:
            return controller.get(cls, id=1)

    answer = TestClient(app).get("/article").json()
    assert (answer["title"], answer["author"]) == ("T1", AUTHOR)
    properties = app.openapi()["components"]["schemas"][cls.__name__]["properties"]
    assert list(properties) == ["id", "title", "author", answer_name(answer), "tags"]
    assert app.openapi() == plain.openapi()


def answer_name(answer: Mapping[str, Any]) -> str:
    return "createdAt" if "createdAt" in answer else "created_at"


# -- bad input -------------------------------------------------------------------------------------------------------


def test_declared_classes_class_of_no_known_kind_is_rejected() -> None:
    """Also the right kind in the wrong order, and classes that are entities already."""

    class Plain:
        id = 1

    with pytest.raises(TypeError, match="Plain is not a dataclass, attrs class, pydantic model or msgspec struct"):
        restencil.entity(Plain)
    with pytest.raises(TypeError, match=r"put @entity above the decorator that turns it into one"):

        @dataclass(frozen=True)
        @restencil.entity(pk="id")
        class Wrong:
            id: int

    class Own(Entity):
        id: int = 0

    with pytest.raises(TypeError, match="Own is an entity"):
        restencil.entity(Own)
    with pytest.raises(TypeError, match=r"DataAuthor is an entity \(or object\) already"):
        restencil.entity(DataAuthor)
    with pytest.raises(TypeError, match="is not a dataclass"):
        restencil.entity(pydantic.RootModel[int])


def mutable_classes() -> list[Any]:
    @dataclass
    class Data:
        id: int

    @attrs.define
    class Attrs:
        id: int

    class Model(pydantic.BaseModel):
        id: int

    class Struct(msgspec.Struct):
        id: int

    return [Data, Attrs, Model, Struct]


@pytest.mark.parametrize(
    ("place", "hint"), list(enumerate([r"frozen=True", "attrs.frozen", "ConfigDict", "frozen=True"]))
)
def test_declared_classes_class_whose_instances_can_change_is_rejected(place: int, hint: str) -> None:
    """All readers share one; whoever promises not to touch it may have it."""
    cls = mutable_classes()[place]
    with pytest.raises(
        TypeError, match=rf"are mutable, but shared by all readers: make the .*{hint}.*allow_mutable=True"
    ):
        restencil.entity(cls)
    assert restencil.entity(cls, allow_mutable=True) is cls
    assert stored(cls, {"id": 1}).id == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pk": "uid"}, "pk of Data has 'uid', which is not a field; expected one of id, name, other"),
        ({"pk": ["id", "uid"]}, "pk of Data has 'uid'"),
        ({"pk": lambda self: self.id}, "pk of Data is .*; expected names of fields"),
        ({"indexes": ["slug"]}, "indexes of Data has 'slug'"),
        ({"wire": {"nam": "n"}}, "wire of Data has 'nam'"),
        ({"schema": {"autor": DataAuthor}}, "schema of Data has 'autor'"),
        ({"wire": {"name": "other"}}, "two fields of Data have the same JSON name 'other'"),
        ({"pk": []}, r"pk of Data: expected a field, or a list of them, found \(\)"),
        ({"key": ""}, "key of Data: expected a string, the name of the table, found ''"),
        ({"key": 5}, "key of Data: expected a string, the name of the table, found 5"),
        ({"wire": ["name"]}, r"wire of Data: expected a mapping from fields, found \['name'\]"),
        ({"wire": {"name": 5}}, r"wire\['name'\] of Data: expected a string, the name in JSON, found 5"),
        ({"schema": ["name"]}, r"schema of Data: expected a mapping from fields, found \['name'\]"),
        ({"process": 5}, "process of Data: expected a function, found 5"),
        ({"validate": "id"}, "validate of Data: expected a function, found 'id'"),
        ({"merge": True}, "merge of Data: expected a function, found True"),
    ],
)
def test_declared_classes_names_that_fit_nothing_are_rejected(options: dict[str, Any], message: str) -> None:
    """At decoration; the error names what there is."""

    @dataclass(frozen=True)
    class Data:
        id: int
        name: str = ""
        other: str = ""

    with pytest.raises(TypeError, match=message):
        restencil.entity(Data, **options)


def test_declared_classes_relation_that_cannot_be_read_has_to_be_said() -> None:
    """A name that exists for type checkers alone, and a choice of several entities."""

    @restencil.entity
    @dataclass(frozen=True)
    class Hidden:
        id: int
        part: Fraction | None = None

    with pytest.raises(ProcessingError, match=r"the type of field 'part' of Hidden is unknown: .*\(schema="):
        stored(Hidden, {"id": 1})

    @restencil.entity
    @dataclass(frozen=True)
    class Several:
        id: int
        either: DataAuthor | AttrsAuthor | None = None

    with pytest.raises(ProcessingError, match=r"the field 'either' of Several refers to one of several entities"):
        stored(Several, {"id": 1})
