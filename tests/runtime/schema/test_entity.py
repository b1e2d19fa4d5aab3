"""Entity classes and instances."""

from __future__ import annotations

import copy
import datetime
import pickle
from typing import Any

import pytest
from tests.runtime.doubles import Desk

from restencil import Entity, MissingFieldError, Record, RestEndpoint, field, schema
from restencil.schema import validate_required
from restencil.schema.record import to_wire


class Author(Entity):
    id: str = ""
    name: str = ""


class Article(Entity, schema={"author": Author, "friend": schema.Lazy(lambda: Article)}):
    id: str = ""
    title: str = ""
    tags: list[str] = []  # the library makes it read-only
    author: Author | None = None
    friend: Article | None = None


get: Any = RestEndpoint(path="/articles/:id", schema=Article)


def read(response: dict[str, Any]) -> Article:
    """The instance that the store hands out for a response."""
    desk = Desk()
    value: Article = desk.answer(get, response, {"id": response["id"]})
    return value


# -- declaration -----------------------------------------------------------------------------------------------------


def test_entity_pk_may_be_made_of_several_fields() -> None:
    """A list of fields gives the compact JSON array of their texts, and nothing if one is absent."""

    class Line(Entity, pk=["order", "number"]):
        order: str = ""
        number: int = 0

    assert Line.__model__.pk({"order": "a", "number": 3}, None, None, ()) == '["a","3"]'
    assert Line.__model__.pk({"order": "a"}, None, None, ()) is None


def test_entity_pk_may_be_a_method_with_the_place(desk: Desk) -> None:
    """`pk(self, parent, key, args)` gets where the record stands and the endpoint's arguments."""

    class Setting(Entity):
        name: str = ""

        def pk(self, parent: Any, key: str | None, args: tuple[Any, ...]) -> str:
            return f"{args[0]['user']}/{self.name}"

    endpoint: Any = RestEndpoint(path="/:user/settings/:name", schema=Setting)
    desk.answer(endpoint, {"name": "theme"}, {"user": 7, "name": "theme"})
    assert desk.pks("Setting") == ["7/theme"]


def test_entity_pk_may_be_a_function_or_come_from_a_mixin() -> None:
    """A class keyword, and a class that is no entity, may give the primary key as well."""

    class Coded:
        def pk(self) -> str:
            return f"c{getattr(self, 'code')}"  # noqa: B009  # whoever mixes it in has the field

    class One(Entity, pk=lambda self: f"f{self.code}"):
        code: str = ""

    class Two(Coded, Entity):
        code: str = ""

    assert One.__model__.pk({"code": "1"}, None, None, ()) == "f1"
    assert Two.__model__.pk({"code": "1"}, None, None, ()) == "c1"
    assert Two.from_js({"code": "2"}).pk() == "c2"


def test_abstract_entity_builds_no_instance() -> None:
    """One without a primary key, or declared abstract, raises when it is built; its subclasses do not."""

    class Base(Entity):
        name: str = ""

    class Declared(Entity, abstract=True):
        id: str = ""

    class Concrete(Declared):
        pass

    for cls in (Base, Declared):
        with pytest.raises(TypeError, match=f"{cls.__name__} is abstract: it has no primary key of its own"):
            cls()
        with pytest.raises(TypeError, match="is abstract"):
            cls.from_js({"id": "1"})
    assert hash(Concrete.from_js({"id": "1"})) == hash(Concrete(id="1"))


def test_entity_settings_may_be_names_of_fields(desk: Desk) -> None:
    """`key`, `schema`, `indexes` and `pk` may be annotated fields; class keywords configure then."""

    class Pref(Entity, key="Pref", pk="code", indexes=("key",), schema={"pk": Author}):
        code: str = ""
        key: str = ""
        schema: str = ""
        indexes: list[str] = []
        pk: Author | None = None

    endpoint: Any = RestEndpoint(path="/prefs/:code", schema=Pref)
    value = desk.answer(
        endpoint,
        {"code": "a", "key": "k", "schema": "s", "indexes": ["i"], "pk": {"id": 1, "name": "Ada"}},
        {"code": "a"},
    )
    assert (value.key, value.schema, value.indexes, value.pk.name) == ("k", "s", ["i"], "Ada")
    assert desk.data(endpoint, {"code": "a"}) is value
    assert desk.get(Pref, {"key": "k"}) is value
    assert hash(value) == hash(desk.data(endpoint, {"code": "a"}))
    assert pickle.loads(pickle.dumps(copy.copy(value.pk))) == value.pk


@pytest.mark.parametrize("name", ["schema", "key", "indexes", "title", "merge", "process", "validate", "from_js"])
def test_entity_what_the_library_read_cannot_be_rebound(name: str) -> None:
    """Settings, fields and hooks stay as they are after the class was made; the error says what to do."""

    class Fixed(Entity):
        id: str = ""
        title: str = ""

    with pytest.raises(AttributeError, match=f"Fixed.{name} is fixed when the class is created; declare a subclass"):
        setattr(Fixed, name, {})
    with pytest.raises(AttributeError, match="is fixed"):
        delattr(Fixed, name)


def test_entity_other_attributes_of_a_class_may_be_set() -> None:
    """What the library does not read is the user's."""

    class Free(Entity):
        id: str = ""

    setattr(Free, "note", 1)  # noqa: B010  # no type checker knows it
    assert vars(Free)["note"] == 1


# -- instances -------------------------------------------------------------------------------------------------------


def test_entity_instances_of_the_store_are_read_only() -> None:
    """Neither members nor the containers in them can be changed, with and without relations."""
    for value in (
        read({"id": "1", "tags": ["a"], "more": {"x": [1]}}),
        Desk().answer(RestEndpoint(path="/a/:id", schema=Author), {"id": "1", "more": {"x": [1]}}, {"id": "1"}),
    ):
        more = value.to_dict()["more"]
        with pytest.raises(TypeError, match="read-only"):
            more["y"] = 1
        with pytest.raises(TypeError, match="read-only"):
            more["x"].append(2)
        with pytest.raises(AttributeError, match="read-only"):
            setattr(value, "id", "2")  # noqa: B010  # type checkers refuse it as well


# -- equality and hash -----------------------------------------------------------------------------------------------


def test_entity_entities_compare_by_class_pk_and_fields() -> None:
    """Equal fields of the same class are equal, whichever store they are from."""

    class Special(Author):
        pass

    assert read({"id": "1", "title": "A"}) == read({"id": "1", "title": "A"})
    assert read({"id": "1", "title": "A"}) != read({"id": "1", "title": "B"})
    assert read({"id": "1"}) != read({"id": "2"})
    assert Author.from_js({"id": "1"}) != Special.from_js({"id": "1"})
    assert Author(id="1") == Author.from_js({"id": "1"})
    assert Author(id="1") != "1"


def test_entity_entities_hash_by_class_and_pk() -> None:
    """Other fields do not count for the hash; without a primary key there is none."""
    one, two = read({"id": "1", "title": "A"}), read({"id": "1", "title": "B"})
    assert hash(one) == hash(two)
    assert len({one, two}) == 2
    assert hash(Author(id="1")) != hash(Article(id="1"))
    with pytest.raises(TypeError, match="unhashable: this Author has no primary key"):
        hash(Author())


# -- required fields -------------------------------------------------------------------------------------------------


class Post(Entity):
    id: str = ""
    author: Author = field(schema=schema.Lazy(lambda: Author), required=True)
    title: str = field(required=True)


post: Any = RestEndpoint(path="/posts/:id", schema=Post)


class Stop(Entity):
    id: int = 0
    name: str = field(required=True)
    opened: datetime.datetime = field(required=True, wire="openedAt")


def test_entity_required_field_says_what_would_contain_it(desk: Desk) -> None:
    """The error names entity, field and its name in JSON; a reference says what it refers to."""
    stop = desk.answer(RestEndpoint(path="/stops/:id", schema=Stop), {"id": 1, "name": "x"}, {"id": 1})
    with pytest.raises(MissingFieldError) as caught:
        stop.opened  # noqa: B018
    assert str(caught.value) == (
        "Stop '1' has no value for its required field 'opened': no response had it so far ('openedAt' in JSON); fetch "
        "the whole record, for example with `get`; declare it optional if the API may leave it out"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    unknown = desk.answer(post, {"id": "2", "title": "x", "author": "nobody"}, {"id": "2"})
    with pytest.raises(MissingFieldError, match="'author': it refers to 'nobody', which is not in the store") as caught:
        unknown.author  # noqa: B018
    assert (caught.value.owner, caught.value.pk, caught.value.field) == ("Post", "2", "author")
    assert "author" not in unknown.to_dict() and unknown == pickle.loads(pickle.dumps(unknown))


@pytest.mark.parametrize("uses", [1, 40])
def test_entity_nothing_but_reading_an_absent_field_raises(uses: int, desk: Desk) -> None:
    """`repr`, equality, `to_dict` and a pattern leave an absent field out, in lists of any length."""
    stops = desk.answer(RestEndpoint(path="/stops", schema=[Stop]), [{"id": n, "name": "x"} for n in range(uses)])
    for stop in stops:
        assert stop.to_dict() == {"id": stop.id, "name": "x"}
        assert repr(stop) == f"Stop(id={stop.id}, name='x')"
        assert stop == Stop.from_js({"id": stop.id, "name": "x"})
        assert stop != Stop.from_js({"id": stop.id, "name": "x", "openedAt": "2026-11-21T10:00:00Z"})
        match stop:
            case Stop(opened=_):
                raise AssertionError("it has no moment")
            case Stop(name=name):
                assert name == "x"
            case _:
                raise AssertionError("it is a stop")


# -- wire form -------------------------------------------------------------------------------------------------------


class Size(Record):
    width_mm: int = field(default=0, wire="widthMm")


class Part(Entity, key="Part", pk="part_no", indexes=("made_by",), wire={"part_no": "partNo", "made_by": "madeBy"}):
    part_no: str = ""
    made_by: str = ""
    made_at: datetime.datetime | None = field(default=None, wire="madeAt")
    size: Size | None = None
    sizes: list[Size] = []
    twin: Part | None = field(default=None, schema=schema.Lazy(lambda: Part), wire="twinPart")


part: Any = RestEndpoint(path="/parts/:partNo", schema=Part)
PART = {
    "partNo": "p1",
    "madeBy": "acme",
    "madeAt": "2026-11-21T10:00:00Z",
    "size": {"widthMm": 3},
    "sizes": [{"widthMm": 4}],
    "twinPart": {"partNo": "p2"},
}


def test_entity_tables_hold_wire_form_and_instances_python_form(desk: Desk) -> None:
    """JSON names and values are stored as they came; names and values of Python exist on instances alone."""
    value = desk.answer(part, PART, {"partNo": "p1"})
    assert desk.table("Part")["p1"] == {**PART, "twinPart": "p2"}
    assert (value.part_no, value.made_by, value.made_at) == (
        "p1",
        "acme",
        datetime.datetime(2026, 11, 21, 10, tzinfo=datetime.UTC),
    )
    assert value.size == Size(width_mm=3)
    assert value.sizes[0].width_mm == 4
    assert value.twin is desk.get(Part, {"partNo": "p2"})
    assert list(value.to_dict()) == ["part_no", "made_by", "made_at", "size", "sizes", "twin"]


def test_entity_arguments_are_in_wire_form(desk: Desk) -> None:
    """A primary key or an indexed field in arguments has its JSON name; path parameters may have the field's own."""
    value = desk.answer(part, PART, {"partNo": "p1"})
    assert desk.get(Part, {"partNo": "p1"}) is value
    assert desk.get(Part, {"madeBy": "acme"}) is value
    assert desk.get(Part, {"part_no": "p1"}) is value
    assert desk.get(Part, {"made_by": "acme"}) is None


def test_entity_body_becomes_wire_form_once() -> None:
    """Names go through `wire`, values through `encode`, nested objects and relations too; wire form passes."""
    body = {
        "part_no": "p1",
        "made_at": datetime.datetime(2026, 11, 21, 10, tzinfo=datetime.UTC),
        "size": {"width_mm": 3},
        "sizes": [Size(width_mm=4)],
        "twin": {"part_no": "p2"},
        "other": {"width_mm": 1},
    }
    wire = {
        "partNo": "p1",
        "madeAt": "2026-11-21T10:00:00Z",
        "size": {"widthMm": 3},
        "sizes": [{"widthMm": 4}],
        "twinPart": {"partNo": "p2"},
        "other": {"width_mm": 1},
    }
    assert to_wire(body, Part) == wire
    assert to_wire(wire, Part) == wire
    assert to_wire([body], [Part]) == [wire]


def test_entity_given_as_a_value_is_stored_by_its_members(desk: Desk) -> None:
    """`set_response` with instances is the same as with the dicts of what was set, and it finds them."""
    desk.answer(part, PART, {"partNo": "p1"})
    value = desk.data(part, {"partNo": "p1"}).replace(made_by="other", twin=Part(part_no="p9"))
    assert desk.given(part, value, {"partNo": "p1"}) is desk.data(part, {"partNo": "p1"})
    assert desk.table("Part")["p1"] == {**PART, "madeBy": "other", "twinPart": "p9"}
    assert desk.pks("Part") == ["p1", "p2", "p9"] or desk.pks("Part") == ["p2", "p1", "p9"]


@pytest.mark.parametrize("uses", [1, 40])
def test_entity_what_does_not_decode_is_left_out_of_lists(uses: int, caplog: pytest.LogCaptureFixture) -> None:
    """The others of the list are there, in the fetch and in reads; the log says it once for each field of the class."""

    class Slot(Entity):
        id: int = 0
        at: datetime.date | None = None

    slots: Any = RestEndpoint(path="/slots", schema=[Slot])
    slot: Any = RestEndpoint(path="/slots/:id", schema=Slot)
    desk = Desk()
    response = [{"id": n, "at": "2026-11-21" if n % 2 else ""} for n in range(2 * uses)]
    kept = [n for n in range(2 * uses) if n % 2]
    assert [found.id for found in desk.answer(slots, response)] == kept
    assert [found.id for found in desk.data(slots)] == kept
    assert not desk.read(slot, {"id": 0}).found and desk.read(slot, {"id": 1}).found
    assert [found.id for found in desk.get(schema.All(Slot))] == kept
    logged = [record.getMessage() for record in caplog.records]
    assert len(logged) == 1
    assert logged[0].startswith("Slot 0 is left out: field 'at' of Slot '0' does not decode: ''")
    desk.answer(slots, [{"id": 0, "at": "2026-11-22"}])
    assert desk.data(slot, {"id": 0}).at == datetime.date(2026, 11, 22)


class Span(Record):
    at: datetime.date | None = None


class Shift(Entity):
    id: int = 0
    at: datetime.date | None = None
    span: Span | None = None
    spans: list[Span] = field(default=[])


def test_entity_field_of_a_record_in_it_is_named_where_it_does_not_decode(caplog: pytest.LogCaptureFixture) -> None:
    """With its place and the entity, also if a field of that name did not decode before; long values are cut."""

    shifts: Any = RestEndpoint(path="/shifts", schema=[Shift])
    desk = Desk()
    bad = {"at": "x" * 300}
    response = [{"id": 1, **bad}, {"id": 2, "span": bad}, {"id": 3, "spans": [{}, bad]}, {"id": 4, "span": bad}]
    assert desk.answer(shifts, response) == []
    logged = [record.getMessage() for record in caplog.records]
    assert [text.partition(" does not decode: 'xxx")[0] for text in logged] == [
        "Shift 1 is left out: field 'at' of Shift '1'",
        "Shift 2 is left out: field 'span.at' of Shift '2'",
        "Shift 3 is left out: field 'spans.at' of Shift '3'",
    ]
    assert max(map(len, logged)) < 400
    assert all(text.endswith("give the field the type that the server sends, or a decode function") for text in logged)


# -- validate_required -----------------------------------------------------------------------------------------------


def test_entity_validate_required_reports_the_first_absent_field() -> None:
    """Fields are looked at in order; present ones count also when they are null."""
    assert validate_required({"a": None, "b": 1}, {"a": "", "b": ""}) is None
    assert validate_required({"b": 1}, {"a": "", "b": "", "c": ""}) == "missing required field 'a'"


def test_entity_pk_that_only_returns_a_field_keys_by_that_field_in_any_module() -> None:
    """Which imports a module has does not change how its entities are keyed."""
    scope: dict[str, Any] = {"Entity": Entity}
    source = "class Page(Entity):\n    slug: str = ''\n    def pk(self): return self.slug\n"
    exec(compile(source, "pages.py", "exec", dont_inherit=True), scope)
    assert scope["Page"].__model__.pk({"slug": "a"}, None, None, ()) == "a"
    assert scope["Page"].__model__.pk({}, None, None, ()) is None


def test_entity_read_only_of_an_entity_names_fields() -> None:
    """A name in the class keyword `read_only` that is no field is a TypeError when the class is made."""
    with pytest.raises(TypeError, match="Page: 'sulg' of read_only is not a field"):

        class Page(Entity, read_only=("sulg",)):  # pyright: ignore[reportUnusedClass] - making it is what fails
            slug: str = ""
