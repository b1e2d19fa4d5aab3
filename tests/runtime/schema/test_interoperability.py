"""Values in other libraries: plain data, JSON text, printers, `match`, pydantic and FastAPI."""

from __future__ import annotations

import copy
import datetime
import io
import json
import pickle
import warnings
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any

import pytest
from fastapi import Body, FastAPI
from fastapi.testclient import TestClient
from IPython.lib.pretty import pretty as _pretty
from pydantic import BaseModel, TypeAdapter, ValidationError
from rich.console import Console
from tests.patience import python

from blog import Article as BlogArticle
from blog import User as BlogUser
from restencil import Controller, Entity, Record, field, schema

MORNING = datetime.datetime(2026, 11, 22, 7, 30, tzinfo=datetime.UTC)


class Place(Record):
    city: str = ""
    zip_code: str = field(default="", wire="zipCode")


class Author(Entity):
    """Who writes."""

    id: int = 0
    name: str = ""
    home: Place | None = None
    articles: list[Article] = field(default=[], schema=[schema.Lazy(lambda: Article)])


class Article(Entity):
    id: int = 0
    title: str = "untitled"
    created_at: datetime.datetime | None = field(default=None, wire="createdAt")
    price: Decimal = Decimal("1.50")
    body: str = field(required=True)
    author: Author | None = field(default=None, schema=Author)
    tags: list[str] = []


class Leaf(Entity):
    id: int = 0
    size: int = field(default=0, wire="leafSize")


WIRE: dict[str, Any] = {
    "id": 1,
    "title": "T",
    "createdAt": "2026-11-22T07:30:00Z",
    "body": "b",
    "author": {"id": 3, "name": "Ada", "home": {"city": "London", "zipCode": "SW1"}, "articles": [1]},
    "tags": ["x"],
    "extra": {"deep": [1]},
}


pretty: Any = _pretty


def stored(value: Any = WIRE, cls: Any = Article) -> Any:
    controller = Controller()
    controller.set(cls, value, id=value["id"])
    return controller.get(cls, id=value["id"])


# -- plain data and JSON ---------------------------------------------------------------------------------------------


def test_interoperability_deep_dict_is_plain_all_the_way_down() -> None:
    """Python names and values; where data leads back to itself, the inner entity is its primary key alone."""
    article = stored()
    found = article.to_dict(deep=True)
    assert found == {
        "id": 1,
        "title": "T",
        "created_at": MORNING,
        "price": Decimal("1.50"),
        "body": "b",
        "author": {"id": 3, "name": "Ada", "home": {"city": "London", "zip_code": "SW1"}, "articles": [{"id": 1}]},
        "tags": ["x"],
        "extra": {"deep": [1]},
    }
    assert {type(found["tags"]), type(found["author"]["articles"])} == {list}
    assert type(found["extra"]) is dict


def test_interoperability_wire_dict_has_the_names_and_values_of_json() -> None:
    """Shallow, nested entities stay; deep, nothing but JSON is left."""
    article = stored()
    shallow = article.to_dict(wire=True)
    assert (shallow["createdAt"], shallow["price"]) == ("2026-11-22T07:30:00Z", "1.50")
    assert shallow["author"] is article.author
    deep = article.to_dict(deep=True, wire=True)
    assert deep["author"]["home"] == {"city": "London", "zipCode": "SW1"}
    assert json.loads(json.dumps(deep)) == deep


def test_interoperability_json_text_and_back() -> None:
    """`from_json` reads what `to_json` writes, and the two are equal; no store knows of the new one."""
    article = stored()
    again: Any = Article.from_json(article.to_json())
    assert again == article
    assert again.author.home == article.author.home
    assert Article.from_json(article.to_json().encode()) == article


def test_interoperability_text_that_is_no_ascii_stays_readable_in_json() -> None:
    """Letters are written as they are, a lone surrogate escaped."""
    assert "Käse" in stored({**WIRE, "title": "Käse"}).to_json(indent=1)
    assert "\\ud800" in stored({**WIRE, "title": "\ud800"}).to_json(indent=1)


def test_interoperability_entity_that_is_not_known_is_its_primary_key_in_json() -> None:
    """Rather than null, which would say that there is none."""
    article = stored({"id": 1, "author": 7})
    assert article.author is None
    assert json.loads(article.to_json())["author"] == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", r"expected a JSON object for Leaf, found a list: \[1\]"),
        ("1", "expected a JSON object for Leaf, found an int: 1"),
        ('{"id": 1, "size": 2}', r"'size' is the Python name of a field of Leaf: from_json reads JSON names"),
        ("{", "Expecting property name|JSON"),
    ],
)
def test_interoperability_from_json_rejects_what_is_no_such_object(text: str, message: str) -> None:
    """The text of the error says what was found."""
    with pytest.raises(ValueError, match=message):
        Leaf.from_json(text)


# -- printers, match, copies -----------------------------------------------------------------------------------------


def test_interoperability_rich_shows_fields_in_order_and_entities_by_key() -> None:
    """Plain nested objects are gone into, entities are not."""
    console = Console(file=io.StringIO(), width=60)
    console.print(stored())
    text = console.file.getvalue()  # type: ignore[attr-defined]  # the file is the StringIO above
    assert "author=<Author 3>," in text
    assert text.index("id=1") < text.index("title='T'") < text.index("body='b'")
    assert list(dict(stored().__rich_repr__())) == list(stored().to_dict())


def test_interoperability_ipython_shows_fields_in_order_and_entities_by_key() -> None:
    """Long ones on lines of their own."""
    lines = pretty(stored()).splitlines()
    assert lines[0] == "Article(id=1,"
    assert "        author=<Author 3>," in lines
    assert pretty(stored().author, max_width=120) == (
        "Author(id=3, name='Ada', home=Place(city='London', zip_code='SW1'), articles=[<Article 1>])"
    )


def test_interoperability_match_goes_by_keyword_alone() -> None:
    """A positional pattern would mean something else as soon as a field came in between."""
    match stored():
        case Article(title="T", author=Author(name=name)):
            assert name == "Ada"
        case _:
            pytest.fail("no match")
    assert Article.__match_args__ == ()


def test_interoperability_pickle_knows_no_store_and_has_what_it_refers_to() -> None:
    """Circles close again; a copy is the instance itself."""
    article = stored()
    again = pickle.loads(pickle.dumps(article))
    assert again == article
    assert again.author.articles[0] is again
    assert copy.copy(article) is article
    assert copy.deepcopy(article) is article


# -- pydantic --------------------------------------------------------------------------------------------------------

adapter: TypeAdapter[Article] = TypeAdapter(Article)


@pytest.mark.parametrize("name", ["createdAt", "created_at"])
def test_interoperability_pydantic_takes_dicts_by_both_names(name: str) -> None:
    """Unknown members are ignored, nested dicts become instances, and what comes is read-only."""
    found = adapter.validate_python(
        {"id": "1", name: "2026-11-22T07:30:00Z", "body": "b", "author": {"id": 3}, "tags": ["x"], "more": 1}
    )
    assert found == Article(id=1, created_at=MORNING, body="b", author=Author(id=3), tags=["x"])
    assert isinstance(found.author, Author)
    assert "more" not in found.to_dict()
    with pytest.raises(TypeError, match="read-only"):
        found.tags.append("y")


def test_interoperability_pydantic_reads_datetimes_without_a_zone_as_answers_are_read() -> None:
    """They are UTC."""
    found = adapter.validate_json('{"createdAt": "2026-11-22T07:30:00", "body": ""}')
    assert found.created_at == MORNING


def test_interoperability_pydantic_says_which_member_does_not_fit() -> None:
    """The error has the member's place, and the class's name."""
    with pytest.raises(ValidationError, match="Article") as caught:
        adapter.validate_python({"id": "x", "author": {"id": "y"}})
    assert {error["loc"] for error in caught.value.errors()} == {("id",), ("body",), ("author", "id")}


def test_interoperability_pydantic_rejects_to_make_an_abstract_entity() -> None:
    """An instance of a subclass passes."""

    class Shape(Entity, abstract=True):
        id: int = 0

    class Square(Shape):
        side: int = 0

    shapes: TypeAdapter[Shape] = TypeAdapter(Shape)
    square = Square(id=1)
    assert shapes.validate_python(square) is square
    with pytest.raises(ValidationError, match="Shape is abstract: give an instance of a subclass"):
        shapes.validate_python({"id": 1})


def test_interoperability_pydantic_writes_json_names_by_alias() -> None:
    """By default it writes Python names, as of all models; what is lacking and has no default is left out."""
    article = stored({"id": 1, "createdAt": "2026-11-22T07:30:00Z"})
    assert adapter.dump_python(article, by_alias=True, mode="json") == {
        "id": 1,
        "title": "untitled",
        "createdAt": "2026-11-22T07:30:00Z",
        "price": "1.50",
        "author": None,
        "tags": [],
    }
    assert adapter.dump_python(article, exclude_unset=True) == {"id": 1, "created_at": MORNING}
    assert adapter.dump_python(article, include={"id"}) == {"id": 1}
    assert adapter.dump_python(stored(), exclude={"author": {"articles", "home"}})["author"] == {"id": 3, "name": "Ada"}


def test_interoperability_default_that_was_read_is_still_unset() -> None:
    """Reading changes nothing of what is written."""

    class Made(Entity):
        id: int = 0
        labels: list[str] = field(default_factory=lambda: ["new"])

    made = stored({"id": 1}, Made)
    kinds: TypeAdapter[Made] = TypeAdapter(Made)
    assert kinds.dump_python(made) == {"id": 1, "labels": ["new"]}
    assert made.labels == ["new"]
    assert kinds.dump_python(made, exclude_unset=True) == {"id": 1}
    assert kinds.dump_python(Made(id=1), exclude_unset=True) == {"id": 1}


def test_interoperability_pydantic_writes_the_kind_that_a_value_is_of() -> None:
    """Of a union each kind gets its own fields, also where a required one is lacking."""
    article = stored({"id": 1, "author": {"id": 3}})
    either: TypeAdapter[Author | Article | None] = TypeAdapter(Author | Article | None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "title" in either.dump_python(article)
        assert "home" in either.dump_python(article.author)
        assert either.dump_json(None) == b"null"


def test_interoperability_pydantic_writes_entities_where_no_type_is_reported(controller: Controller) -> None:
    """In a sequence that is no list of its own (the lists of a client are typed so), in `Any`, in a map."""

    class Page(BaseModel):
        items: Sequence[Article]
        other: Any = None

    controller.set([Article], [WIRE, {"id": 2, "body": "c", "author": 3}])
    found = controller.get(schema.All(Article))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page = Page(items=found, other={"one": found[0]})
        assert page.items[0] is found[0]
        written = json.loads(page.model_dump_json(by_alias=True))
    assert [one["createdAt"] for one in written["items"]] == ["2026-11-22T07:30:00Z", None]
    assert written["other"]["one"] == written["items"][0]
    assert written["items"][1]["author"]["articles"][0]["author"] == {"id": 3}


def test_interoperability_nothing_looks_like_a_pydantic_model_where_pydantic_is_not() -> None:
    """Other libraries ask for its marks."""
    code = (
        "import restencil; A = type('A', (restencil.Entity,), {'__annotations__': {'id': int}, 'id': 0});"
        "print(hasattr(A(id=1), '__pydantic_serializer__'), hasattr(A, '__pydantic_serializer__'))"
    )
    assert python("-c", code, check=True).stdout.strip() == "False False"


def test_interoperability_value_of_another_kind_than_its_field_says_is_written_with_a_warning() -> None:
    """The server decides what it sends; pydantic warns of it as of every model."""
    with pytest.warns(UserWarning, match="Expected `int`"):
        assert TypeAdapter(Leaf).dump_python(stored({"id": 1, "leafSize": "big"}, Leaf))["size"] == "big"


def test_interoperability_importing_the_library_imports_none_of_them() -> None:
    """Nor does a class that is made; asking for the core schema imports `pydantic_core` alone."""
    code = (
        "import restencil, sys; A = type('A', (restencil.Entity,), {'__annotations__': {'id': int}, 'id': 0});"
        "names = {'pydantic', 'pydantic_core', 'fastapi', 'attrs', 'attr', 'msgspec', 'rich', 'IPython'};"
        "A(id=1).to_json(); before = names & set(sys.modules);"
        "H = type('H', (), {'generate_schema': lambda self, kind: {'type': 'any'}});"
        "A.__get_pydantic_core_schema__(A, H()); print(before, names & set(sys.modules))"
    )
    assert python("-c", code, check=True).stdout.strip() == "set() {'pydantic_core'}"


# -- FastAPI ---------------------------------------------------------------------------------------------------------

ADA = {"id": 2, "username": "ada", "joinedAt": "1843-07-10T09:00:00Z", "address": {"street": "s"}}


def application() -> FastAPI:
    app = FastAPI()
    controller = Controller()
    controller.set(
        BlogArticle,
        {"id": 1, "title": "T", "author": ADA, "comments": [{"id": 5, "body": "x", "author": 2}], "more": 1},
        id=1,
    )

    @app.get("/articles/{id}", response_model=BlogArticle)
    def one(id: int) -> Any:
        return controller.get(BlogArticle, id=id)

    @app.get("/articles")
    def many() -> Sequence[BlogArticle]:
        found: Sequence[BlogArticle] = controller.get(schema.All(BlogArticle))
        return found

    return app


def test_fastapi_responds_with_entities() -> None:
    """`response_model` and return types give JSON names, nested entities whole, and nothing undeclared."""
    client = TestClient(application())
    author = {
        "id": 2,
        "username": "ada",
        "email": None,
        "address": {"street": "s", "city": ""},
        "joinedAt": "1843-07-10T09:00:00Z",
    }
    expected = {
        "id": 1,
        "title": "T",
        "status": "draft",
        "author": author,
        "tags": [],
        "views": {},
        "comments": [{"id": 5, "body": "x", "author": author}],
    }
    assert client.get("/articles/1").json() == expected
    assert client.get("/articles").json() == [expected]


def test_interoperability_fastapi_documents_a_generated_class() -> None:
    """The OpenAPI document names each class, resolves what is imported for type checkers alone, and has enums."""
    document = application().openapi()
    answer = document["paths"]["/articles/{id}"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/Article"}
    own = {name: found for name, found in document["components"]["schemas"].items() if "Validation" not in name}
    assert {name: found.get("required") for name, found in own.items()} == {
        "Address": None,
        "Article": ["author"],
        "Comment": ["author"],
        "User": ["joinedAt"],
    }
    assert own["Article"]["description"] == "A text with a title, by one author."
    article, user = own["Article"]["properties"], own["User"]["properties"]
    assert list(article) == ["id", "title", "status", "author", "tags", "views", "comments"]
    assert article["author"] == {"$ref": "#/components/schemas/User"}
    assert article["comments"]["items"] == {"$ref": "#/components/schemas/Comment"}
    assert (article["status"]["enum"], article["title"]["default"]) == (["draft", "published", "archived"], "untitled")
    assert article["views"]["additionalProperties"] == {"type": "integer"}
    assert user["joinedAt"] == {"type": "string", "format": "date-time", "title": "Joinedat"}
    assert user["address"] == {"anyOf": [{"$ref": "#/components/schemas/Address"}, {"type": "null"}]}


def test_interoperability_fastapi_takes_an_entity_as_body_where_it_is_reported_so() -> None:
    """As of every class that is no model: `Annotated[User, Body()]`."""
    app = FastAPI()

    async def create(user: BlogUser) -> dict[str, Any]:
        return {"name": user.username, "made": type(user).__name__}

    create.__annotations__["user"] = Annotated[BlogUser, Body()]
    app.post("/users")(create)
    client = TestClient(app)
    assert client.post("/users", json=ADA).json() == {"name": "ada", "made": "User"}
    refused = client.post("/users", json={"id": "x"})
    assert refused.status_code == 422
    assert {tuple(error["loc"]) for error in refused.json()["detail"]} == {("body", "id"), ("body", "joinedAt")}
