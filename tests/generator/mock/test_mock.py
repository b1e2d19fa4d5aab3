"""The mock server behaves as the API that a spec declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.generator.declared import declared
from tests.generator.mock.served import Api, ids, spec_text

from restencil_generator.api import load
from restencil_generator.mock import CannotServe
from restencil_generator.spec import model as d
from restencil_generator.spec.member_names import to_wire
from restencil_generator.spec.model import PathText

BLOG = spec_text("blog")


@pytest.fixture
def blog() -> Api:
    """A fresh blog."""
    return Api(BLOG)


# ----------------------------------------------------------------------------------------------------------- first data


NAMES = spec_text("names")


def test_mock_example_goes_out_under_wire_names() -> None:
    """At every depth; unknown members and misfits stay as they are."""
    spec = declared(NAMES)
    union = d.UnionOf((d.Choice("a", "A"), d.Choice("b", "B")), "the_kind", "theKind")
    assert to_wire(spec, d.EntityRef("B"), {"an_a": {"the_size": {"unit_name": "m"}}, "other_x": 1}) == {
        "anA": {"theSize": {"unitName": "m"}},
        "other_x": 1,
    }
    assert to_wire(spec, d.ListOf(union), [{"the_kind": "a", "all_sizes": [{"unit_name": "m"}]}, 3]) == [
        {"theKind": "a", "allSizes": [{"unitName": "m"}]},
        3,
    ]
    assert to_wire(spec, d.EntityRef("A"), {"by_name": {"unit_name": {"unit_name": "m"}}}) == {
        "byName": {"unit_name": {"unitName": "m"}}
    }
    assert to_wire(spec, union, {"theKind": "zz", "the_size": 1}) == {"theKind": "zz", "the_size": 1}
    assert to_wire(spec, d.EntityRef("A"), "1") == "1"


def test_mock_examples_are_the_first_data(blog: Api) -> None:
    """What the spec shows as a response is what the server starts with, and all of it."""
    assert blog.get("/users") == [
        {"id": 1, "username": "ada", "email": "ada@blog.example", "joinedAt": "1843-07-10T09:00:00Z", "address": None},
        {"id": 2, "username": "grace", "email": None, "joinedAt": "1944-07-02T08:30:00Z", "address": None},
    ]


WEATHER = spec_text("weather")


def test_mock_example_is_where_the_arguments_of_its_call_say() -> None:
    """What only the path tells of a record comes from the `params` beside the response."""
    api = Api("""
            restencil: 1
            package: hub
            resources:
              issues:
                path: /repos/:owner/issues/:number
                schema:
                  entity: Issue
                  pk: [owner, number]
                  fields: {owner: {type: string, param: owner}, number: integer, title: string}
                examples:
                  get_list: {params: {owner: ada}, response: [{number: 1, title: First}]}
            """)
    assert api.get("/repos/ada/issues/1")["title"] == "First"
    assert [issue["number"] for issue in api.get("/repos/ada/issues")] == [1]
    assert api.get("/repos/bo/issues") == []


def test_mock_examples_may_show_one_record_twice_without_its_whole_key() -> None:
    """A part of the key that only the path has is made up, and two examples of one name are one record."""
    api = Api("""
            restencil: 1
            package: hub
            resources:
              teams:
                path: /companies/:company/teams/:slug
                schema:
                  entity: Team
                  pk: [company, slug]
                  fields: {company: {type: string, param: company}, slug: string, title: string}
                examples:
                  get_list: {response: [{slug: red, title: One}, {slug: red, title: Two}]}
            """)
    (team,) = api.get("/companies/team-1/teams")
    assert (team["slug"], team["title"]) == ("red", "Two")


def test_mock_page_member_that_is_an_object_has_the_cursor_inside() -> None:
    """A member called `next_page` is what its type says, and null on the last page."""
    tasks = ", ".join(f"{{id: {number}}}" for number in range(1, 16))
    api = Api(f"""
            restencil: 1
            package: hub
            objects: {{NextPage: {{offset: string, path: string?}}}}
            resources:
              tasks:
                path: /tasks/:id
                schema: {{entity: Task, fields: {{id: integer}}}}
                pagination_field: offset
                pagination: {{style: cursor, next: next_page.offset}}
                endpoints:
                  get_list: {{schema: {{data: {{collection: [Task]}}, next_page: NextPage?}}}}
                examples: {{get_list: {{response: {{data: [{tasks}], next_page: {{offset: shown}}}}}}}}
            """)
    first = api.get("/tasks")
    last = api.get(f"/tasks?offset={first['next_page']['offset']}")
    assert [task["id"] for task in (*first["data"], *last["data"])] == [*range(1, 16)]
    assert last["next_page"] is None


def test_mock_made_up_records_whose_pk_names_their_owner_hang_below_one() -> None:
    """By a `nest`, by the name of the owner's pk, or by the owner's name."""
    sites = "sites: {collection: [Place], nest: {station_code: code}}"
    nested = WEATHER.replace("{code: string}", f"{{code: string, {sites}}}")
    for api in (Api(WEATHER), Api(nested)):
        assert [reading["station"] for reading in api.get("/stations/station-2/readings")] == ["station-2"]
        assert api.get("/stations/station-2/places") == [{"station_code": "station-2", "number": 2}]
    assert Api(nested).get("/stations/station-2")["sites"] == [{"station_code": "station-2", "number": 2}]


def test_mock_datetimes_in_a_pk_are_datetimes_and_new_ones_differ() -> None:
    """They are made up by their type, like any other field."""
    api = Api(WEATHER)
    assert api.get("/stations/station-2/readings")[0]["at"] == "2024-01-02T09:00:00Z"
    made = [api.send("POST", "/stations/station-2/readings", {"celsius": 1}, 201) for _ in range(2)]
    assert [reading["at"] for reading in made] == ["2024-01-06T09:00:00Z", "2024-01-07T09:00:00Z"]


def test_mock_without_examples_data_is_made_up_by_type_and_is_the_same_in_every_run(blog: Api) -> None:
    """Made-up records have every field under its wire name, of its type, and relations to records that exist."""
    first = blog.get("/articles/1")
    assert first == Api(BLOG).get("/articles/1")
    shown = (first["title"], first["status"], first["author"]["username"], first["postedAt"])
    assert shown == ("Title 1", "draft", "ada", "2024-01-01T09:00:00Z")
    assert all(isinstance(tag, str) for tag in first["tags"])
    assert all(isinstance(count, int) for count in first["views"].values())
    assert {"id", "body", "author"} == {*first["comments"][0]}


def test_mock_made_up_objects_end() -> None:
    """An object that may hold itself, in whatever way, is not made inside of itself."""
    api = Api("""
restencil: 1
package: woods
objects:
  Node: {name: string, next: Node?, children: [Node], by_name: {values: Node}, other: Leaf?}
  Leaf: {node: Node?}
resources: {trees: {path: "/trees/:id", schema: {entity: Tree, fields: {id: integer, root: Node}}}}
""")
    ended: dict[str, Any] = {"next": None, "children": [], "by_name": {}, "other": {"node": None}}
    assert api.get("/trees/1")["root"] == {"name": "Name 1", **ended}


def test_mock_no_comment_belongs_to_two_articles(blog: Api) -> None:
    """Lists of relations divide a table among their owners."""
    nested = [comment["id"] for article in blog.get("/articles") for comment in article["comments"]]
    assert len(nested) == len({*nested}) > 0


# -------------------------------------------------------------------------------------------------------------- reading


def test_mock_search_parameter_filters_by_a_field(blog: Api) -> None:
    """A parameter that is called like a field leaves the records with that value."""
    found = blog.get("/articles?status=published")
    assert found
    assert {article["status"] for article in found} == {"published"}


@pytest.mark.parametrize("author", ["2", "grace"])
def test_mock_search_parameter_filters_by_a_relation(blog: Api, author: str) -> None:
    """A parameter that is called like a relation means its pk or one of its strings."""
    assert {article["author"]["id"] for article in blog.get(f"/articles?author={author}")} == {2}


def test_mock_argument_that_is_no_field_filters_nothing(blog: Api) -> None:
    """It orders or searches on the real server."""
    assert ids(blog.get("/articles?orderBy=-id")) == [*range(1, 11)]


def test_mock_id_that_does_not_exist_is_a_404_in_json(blog: Api) -> None:
    """Every method on a missing record answers 404 with an error that says what is missing."""
    missing = {"error": "not_found", "message": "there is no Article with id='999'"}
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        answer = blog(method, "/articles/999")
        assert (answer.status_code, answer.json()) == (404, missing)
    assert blog("POST", "/articles/999/publish").status_code == 404


def test_mock_path_that_the_spec_does_not_have_is_a_404(blog: Api) -> None:
    """An unknown path gets the way to the list of all."""
    assert blog.refused(404, "GET", "/nothing/here") == "the spec has no endpoint at /nothing/here; GET / lists all"
    assert "GET /articles/:id" in blog.get("/")["endpoints"]


def test_mock_wrong_method_is_a_405_that_names_the_right_ones(blog: Api) -> None:
    """A path that exists answers 405 with Allow to a method that it does not have."""
    assert blog.refused(405, "DELETE", "/articles") == "/articles accepts GET, HEAD, POST, not DELETE"
    assert blog("DELETE", "/articles").headers["Allow"] == "GET, HEAD, POST"


def test_mock_path_of_url_prefix_may_be_there_or_not(blog: Api) -> None:
    """Clients may keep the spec's prefix and change its host, or replace it whole."""
    assert blog.get("/v1/articles/3") == blog.get("/articles/3")


def test_mock_path_of_a_url_prefix_of_its_own_is_that_behind_the_one_of_the_spec() -> None:
    """The part that a resource adds has to be there."""
    own = "{path: '/a/:id', url_prefix: 'https://a.example/v1/own', schema: {entity: Item, fields: {id: integer}}}"
    api = Api(f"restencil: 1\npackage: x\nurl_prefix: https://a.example/v1\nresources: {{items: {own}}}\n")
    for url, status in (("/own/a/1", 200), ("/v1/own/a/1", 200), ("/v1/a/1", 404)):
        assert api("GET", url).status_code == status, url


def test_mock_head_is_get_without_a_body(blog: Api) -> None:
    """HEAD answers as GET does and sends nothing."""
    answer = blog("HEAD", "/articles/1")
    assert (answer.status_code, answer.content) == (200, b"")


# -------------------------------------------------------------------------------------------------------------- writing


def test_mock_what_is_created_shows_in_lists_and_under_its_id(blog: Api) -> None:
    """POST answers 201 with the whole record: a new id, defaults, relations filled in."""
    new = blog.send("POST", "/articles", {"title": "Hello", "tags": ["a"], "author": {"id": 2}}, 201)
    assert (new["id"], new["status"], new["author"]["username"], new["tags"]) == (26, "draft", "grace", ["a"])
    assert blog.get("/articles/26") == new
    assert 26 in ids(blog.get("/articles?cursor=20"))


def test_mock_new_record_gets_what_its_list_requests(blog: Api) -> None:
    """What is posted to a filtered list is found there."""
    new = blog.send("POST", "/articles?author=2&status=archived", {"title": "Old"}, 201)
    assert new["status"] == "archived"
    assert new["id"] in ids(blog.get("/articles?author=2&status=archived&cursor=20"))


def test_mock_list_body_creates_each(blog: Api) -> None:
    """Several at once are answered by several."""
    new = blog.send("POST", "/articles", [{"title": "A"}, {"title": "B"}], 201)
    assert [(one["id"], one["title"]) for one in new] == [(26, "A"), (27, "B")]


def test_mock_patch_changes_what_it_names_and_put_replaces(blog: Api) -> None:
    """PUT sets what the body lacks to its default; ids and read-only fields stay under both."""
    before = blog.get("/articles/4")
    patched = blog.send("PATCH", "/articles/4", {"title": "New", "id": 77})
    assert patched == {**before, "title": "New"}
    put = blog.send("PUT", "/articles/4", {"title": "Newer"})
    assert put == {**before, "title": "Newer", "status": "draft", "tags": [], "views": {}, "comments": put["comments"]}
    assert blog.get("/articles/4") == put


def test_mock_change_shows_wherever_the_record_is_nested(blog: Api) -> None:
    """There is one copy of each record."""
    blog.send("PATCH", "/users/1", {"username": "lovelace"})
    assert blog.get("/articles/1")["author"]["username"] == "lovelace"


def test_mock_what_is_deleted_is_gone_everywhere(blog: Api) -> None:
    """DELETE answers 204; the record leaves lists, its own path, and relations to it."""
    assert blog.send("DELETE", "/articles/3", status=204) is None
    assert blog("GET", "/articles/3").status_code == 404
    assert ids(blog.get("/articles"))[:3] == [1, 2, 4]
    blog.send("DELETE", "/users/1", status=204)
    assert "author" not in blog.get("/articles/1")


def test_mock_action_without_a_body_returns_its_record(blog: Api) -> None:
    """What publish changes is not known: it returns the record as it is."""
    before = blog.get("/articles/1")
    assert blog.send("POST", "/articles/1/publish") == before


def test_mock_records_below_another_one_are_those_of_its_list(blog: Api) -> None:
    """A path below a record reads and extends what belongs to the record."""
    before = blog.get("/articles/2/comments")
    assert before == blog.get("/articles/2")["comments"]
    new = blog.send("POST", "/articles/2/comments", {"body": "First!"}, 201)
    assert blog.get("/articles/2/comments") == [*before, new]
    assert new not in blog.get("/articles/1/comments")
    assert blog("GET", "/articles/999/comments").status_code == 404


def test_mock_malformed_json_is_a_400(blog: Api) -> None:
    """A body that does not parse is rejected with the parser's reason, and nothing is created."""
    answer = blog("POST", "/articles", content=b'{"title": ', headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (400, "bad_request")
    assert answer.json()["message"].startswith("the body is not valid JSON: ")
    assert blog("GET", "/articles/26").status_code == 404


def test_mock_values_of_a_wrong_type_are_a_422(blog: Api) -> None:
    """The refusal names each place and what is expected there, and nothing is changed."""
    answer = blog("PATCH", "/articles/1", json={"title": 5, "author": {"joinedAt": "today"}, "unknown": 1})
    assert answer.status_code == 422 and answer.json() == {
        "error": "unprocessable_content",
        "message": "title: expected a string, not 5; author.joinedAt: expected a date with a time such as "
        "'2020-01-31T12:00:00Z', not 'today'",
    }
    assert blog.get("/articles/1")["title"] == "Title 1"


NEEDY = spec_text("needy")


@pytest.mark.parametrize(
    ("method", "path", "body", "missing"),
    [
        ("POST", "/shops", {"name": "a", "secret": "b"}, []),
        ("POST", "/shops", {"name": "a"}, ["secret"]),
        ("POST", "/shops", None, ["name", "secret"]),
        ("PUT", "/shops/1", {"secret": "b"}, ["name"]),
        ("PATCH", "/shops/1", {}, []),
        ("PATCH", "/shops/1", {"place": {"city": "c"}}, ["place.street"]),
        ("PATCH", "/shops/1", {"owner": {"id": 7}}, []),
        ("PATCH", "/shops/1", {"owner": {}}, ["owner.name"]),
        ("PATCH", "/shops/1", {"at": {}}, ["at.street"]),
        ("PATCH", "/shops/1", {"at": "there"}, []),
        ("POST", "/many", [{"name": "a", "secret": "b"}, {}], ["1.name", "1.secret"]),
        ("POST", "/maybe", None, []),
    ],
)
def test_mock_body_without_what_it_must_hold_is_a_422(method: str, path: str, body: Any, missing: list[str]) -> None:
    """Each member that is missing is named; a change may lack those of the record itself."""
    options = {} if body is None else {"json": body}
    if missing:
        told = [f"{place}: is required" for place in missing]
        assert Api(NEEDY).refused(422, method, path, **options) == "; ".join(told)
    else:
        assert Api(NEEDY)(method, path, **options).is_success


@pytest.mark.parametrize(
    ("format", "written", "sent"),
    [
        ("unix", "1700000000", 1700000000),
        ("unix", "'2023-11-14T22:13:20Z'", 1700000000),
        ("unix_ms", "1700000000000", 1700000000000),
        ("rfc2822", "'Tue, 14 Nov 2023 22:13:20 GMT'", "Tue, 14 Nov 2023 22:13:20 GMT"),
        ("rfc2822", "'2023-11-14T22:13:20Z'", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ],
)
def test_mock_seed_example_datetime_is_served_in_its_format(format: str, written: str, sent: str | int) -> None:
    """Both forms that an example may have come out as the API sends them, and bodies take only this form."""
    api = Api(f"""
restencil: 1
package: log
entities: {{Event: {{fields: {{id: integer, at: {{type: datetime, format: {format}}}}}}}}}
resources:
  events: {{path: '/events/:id', schema: Event, examples: {{get: {{response: {{id: 1, at: {written}}}}}}}}}
""")
    assert api("GET", "/events/1").json() == {"id": 1, "at": sent}
    assert api("PATCH", "/events/1", json={"at": sent}).status_code == 200
    assert api("PATCH", "/events/1", json={"at": "2023-11-14T22:13:20Z"}).status_code == 422


@pytest.mark.parametrize("body", ["x", 5, True])
def test_mock_body_that_is_no_object_is_a_422(blog: Api, body: Any) -> None:
    """A record is a JSON object."""
    assert blog.refused(422, "PATCH", "/articles/1", json=body).endswith(("expected a JSON object", "not true"))


def test_mock_what_the_spec_does_not_know_is_kept(blog: Api) -> None:
    """Members of a body that nothing declares come back, as from a server that is ahead of the spec."""
    assert blog.send("PATCH", "/articles/1", {"mood": [1]})["mood"] == [1]


def test_mock_what_only_a_body_declares_is_no_part_of_the_record() -> None:
    """The spec says of such a member that it is sent, and of the entity that it has none: in lists and alone."""
    api = Api("""
restencil: 1
package: accounts
objects: {Invitation: {name: string, host: string}}
resources:
  users:
    path: /users/:id
    schema: {entity: User, fields: {id: integer, name: string}}
    body: {name: string, password: string}
    endpoints:
      ban: {method: POST, path: "/users/:id/ban", body: {reason: string, name: string}, schema: User}
      invite: {method: POST, path: /invitations, body: [Invitation], schema: [User]}
""")
    assert api.send("POST", "/users", {"name": "ada", "password": "secret"}, 201) == {"id": 6, "name": "ada"}
    assert api.send("PATCH", "/users/6", {"password": "other"}) == {"id": 6, "name": "ada"}
    assert api.send("POST", "/users/6/ban", {"reason": "spam", "name": "x"}) == {"id": 6, "name": "x"}
    assert api.send("POST", "/invitations", [{"name": "bo", "host": "ada"}], 201) == [{"id": 7, "name": "bo"}]
    assert api.get("/users/6") == {"id": 6, "name": "x"}


def test_mock_what_reports_the_records_of_a_union_apart_is_kept() -> None:
    """Also of those that do not have it as a field."""
    api = Api("""
restencil: 1
package: feed
entities: {Link: {fields: {id: integer, kind: string}}, Post: {fields: {id: integer}}}
resources:
  items:
    path: /items/:id
    schema: {union: {link: Link, post: Post}, attribute: kind}
    body: {kind: string}
""")
    assert api.send("POST", "/items", {"kind": "post"}, 201)["kind"] == "post"


# ---------------------------------------------------------------------------------------------------------------- pages

PAGES = """
restencil: 1
package: pages
entities: {{Item: {{fields: {{id: integer, name: string}}}}}}
resources:
  items:
    path: /items/:id
    schema: Item
    pagination_field: {field}
    pagination: {pagination}
    endpoints: {{get_list: {{schema: {schema}}}}}
"""
LIST = "{collection: [Item]}"
WRAPPER = "{items: {collection: [Item]}, total: integer, page: integer, meta: {next: string?, has_more: boolean}}"


def test_mock_cursor_survives_the_deletion_of_its_item(blog: Api) -> None:
    """Ids that count up say where to go on."""
    blog.send("DELETE", "/articles/10", status=204)
    assert ids(blog.get("/articles?cursor=10"))[0] == 11


def test_mock_cursor_of_no_list_is_a_400(blog: Api) -> None:
    """A cursor that was never handed out is rejected."""
    assert blog.refused(400, "GET", "/articles?cursor=zzz") == "cursor is not an item of this list: 'zzz'"


def test_mock_cursor_that_several_items_have_is_the_last_of_them() -> None:
    """Else a page would begin with what the one before it ended with."""
    api = Api(PAGES.format(field="after", pagination="{style: cursor, next: last.name}", schema=LIST))
    for pk in (10, 11):
        api.send("PATCH", f"/items/{pk}", {"name": "x"})
    assert ids(api.get("/items?after=x"))[0] == 12


def test_mock_cursor_in_the_response_is_where_the_spec_says() -> None:
    """`next: meta.next` is filled until the last page, where it is null."""
    pagination = "{style: cursor, next: meta.next, more: meta.has_more, total: total}"
    api = Api(PAGES.format(field="cursor", pagination=pagination, schema=WRAPPER))
    seen: list[int] = []
    url = "/items"
    for _ in range(9):
        page = api.get(url)
        seen += ids(page["items"])
        assert page["total"] == 25
        assert page["meta"]["has_more"] is (page["meta"]["next"] is not None)
        if page["meta"]["next"] is None:
            break
        url = f"/items?cursor={page['meta']['next']}"
    assert seen == [*range(1, 26)]


def test_mock_cursor_in_a_header() -> None:
    """`next: header:X-Next` is sent until the last page."""
    api = Api(PAGES.format(field="after", pagination='{style: cursor, next: "header:X-Next"}', schema=LIST))
    answer = api("GET", "/items")
    assert ids(api.get(f"/items?after={answer.headers['X-Next']}")) == [*range(11, 21)]
    last = api("GET", f"/items?after={api('GET', '/items?after=' + answer.headers['X-Next']).headers['X-Next']}")
    assert ids(last.json()) == [*range(21, 26)]
    assert "X-Next" not in last.headers


def test_mock_pages_by_number() -> None:
    """The first page is 1, a size of the spec counts, and the client may ask for another one."""
    pagination = "{style: page, size: {param: limit, value: 4}}"
    api = Api(PAGES.format(field="page", pagination=pagination, schema=LIST))
    assert ids(api.get("/items")) == ids(api.get("/items?page=1")) == [1, 2, 3, 4]
    assert ids(api.get("/items?page=7")) == [25]
    assert api.get("/items?page=8") == []
    assert ids(api.get("/items?page=2&limit=10")) == [*range(11, 21)]
    api = Api(PAGES.format(field="page", pagination=pagination, schema=WRAPPER))
    page = api.get("/items?page=3")
    assert ids(page.pop("items")) == [9, 10, 11, 12]
    assert page.keys() == {"total", "page", "meta"}


def test_mock_pages_by_link() -> None:
    """A Link header leads on, with the query that was asked for, until the last page."""
    api = Api(PAGES.format(field="page", pagination="{style: link}", schema=LIST))
    answer = api("GET", "/items?name=&x=1")
    assert answer.json() == []
    url: str | None = "/items?x=1"
    seen: list[int] = []
    while url is not None:
        answer = api("GET", url)
        seen += ids(answer.json())
        assert "x=1" in answer.headers["Link"]
        assert ("prev" in answer.links) == (len(seen) > 10)
        url = answer.links.get("next", {}).get("url")
    assert seen == [*range(1, 26)]


# --------------------------------------------------------------------------------------------------------- other shapes

SHAPES = spec_text("shapes")


@pytest.fixture
def shapes() -> Api:
    """A spec with what the blog does not have."""
    return Api(SHAPES)


def test_mock_union_lists_all_kinds_and_creates_the_one_that_a_body_names(shapes: Api) -> None:
    """Records of a union have one numbering, so that an id names one of them."""
    feed = shapes.get("/feed")
    assert {item["kind"] for item in feed} == {"link", "post"}
    assert len({item["id"] for item in feed}) == len(feed)
    new = shapes.send("POST", "/feed", {"kind": "post", "text": "hi"}, 201)
    assert shapes.get(f"/feed/{new['id']}") == new
    assert 'one of "link", "post", not \'zz\'' in shapes.refused(422, "POST", "/feed", json={"kind": "zz"})


def test_mock_nested_collection_is_the_list_that_its_nest_describes(shapes: Api) -> None:
    """What is added under the one is seen under the other."""
    new = shapes.send("POST", "/owners/2/tasks", {"done": False}, 201)
    assert new["ownerId"] == 2
    assert new in shapes.get("/owners/2")["tasks"]
    assert shapes.get("/owners/2")["tasks"] == shapes.get("/owners/2/tasks")
    assert shapes("GET", f"/owners/1/tasks/{new['id']}").status_code == 404


def test_mock_action_finds_its_record(shapes: Api) -> None:
    """An action on a record below another one finds it by both ids."""
    task = shapes.get("/owners/1/tasks")[0]
    assert shapes.send("POST", f"/owners/1/tasks/{task['id']}/complete")["id"] == task["id"]
    assert shapes("POST", f"/owners/4/tasks/{task['id']}/complete").status_code == 404


def test_mock_pk_of_several_fields(shapes: Api) -> None:
    """Every part is a parameter of the path; what is posted below a part gets it."""
    new = shapes.send("POST", "/repos/h.example", {"name": "a/b"}, 201)
    assert new["host"] == "h.example"
    assert shapes.get("/repos/h.example/a%2Fb") == new
    refused = shapes.refused(422, "POST", "/repos/h.example", json={"name": "a/b"})
    assert refused == 'a record of Repo with the pk \'["h.example","a/b"]\' exists already'


def test_mock_cycle_ends(shapes: Api) -> None:
    """A record inside itself shows its plain fields only."""
    shapes.send("PATCH", "/nodes/1", {"parent": {"id": 1}, "children": []})
    assert shapes.get("/nodes/1") == {"id": 1, "parent": {"id": 1}, "children": []}


def test_mock_uuid_pk(shapes: Api) -> None:
    """New ids are of the type of the pk, and not used yet."""
    before = [pref["code"] for pref in shapes.get("/prefs")]
    new = shapes.send("POST", "/prefs", {"value": {"deep": [1]}}, 201)
    assert len(new["code"]) == 36
    assert new["code"] not in before
    assert shapes.get(f"/prefs/{new['code']}")["value"] == {"deep": [1]}


def test_mock_path_without_parameters_answers_with_one_record(shapes: Api) -> None:
    """/me is the first one."""
    assert shapes.get("/me") == shapes.get("/prefs")[0]


def test_mock_response_without_entities_is_its_example_or_made_up(shapes: Api) -> None:
    """Members of the body that the response has too come back."""
    assert shapes.get("/stats") == {"count": 3, "since": "2020-01-01T00:00:00Z"}
    assert shapes.send("POST", "/login", {"name": "ada"}) == {"token": "Token 1", "name": "ada"}


def test_mock_forms_are_read_by_the_types_of_their_fields(shapes: Api) -> None:
    """A urlencoded form gives numbers where the spec says so; of a file the name is kept."""
    assert shapes("POST", "/form", data={"name": "ada", "age": "36"}).json() == {"name": "ada", "age": 36}
    sent = shapes("POST", "/upload", data={"name": "ada"}, files={"file": ("a.txt", b"x")})
    assert sent.json() == {"name": "ada", "file": "a.txt"}


def test_mock_text_bytes_and_nothing(shapes: Api) -> None:
    """`content` decides the type of the response; a mutation without schema answers 204."""
    text = shapes("GET", "/motd")
    assert (text.text, text.headers["Content-Type"]) == ("hello", "text/plain; charset=utf-8")
    assert shapes("GET", "/blob").headers["Content-Type"] == "application/octet-stream"
    assert shapes("POST", "/ping").status_code == 204


VALUES = spec_text("values")


def test_mock_collection_of_values_is_a_mapping() -> None:
    """assign takes and returns new entries; a record that came without a key is under its pk."""
    api = Api(VALUES)
    assert [*api.get("/settings")] == ["1", "2", "3", "4", "5"]
    new = api.send("POST", "/settings", {"theme": {"text": "dark"}}, 201)
    assert new == {"theme": {"id": 6, "text": "dark"}} == {"theme": api.get("/settings")["theme"]}
    refused = api.refused(422, "POST", "/settings", json={"theme": {"text": 1}})
    assert refused == "theme.text: expected a string, not 1"


PARTS = spec_text("parts")


def test_mock_list_of_summaries_shows_their_fields_only() -> None:
    """Partial entities share a table: the list has the part, the record the whole."""
    api = Api(PARTS)
    assert api.get("/papers")[0] == {"id": 1, "title": "Title 1"}
    assert api.get("/papers/1") == {"id": 1, "title": "Title 1", "text": "Text 1"}
    api.send("PATCH", "/papers/1", {"text": "new"})
    assert api.get("/papers")[0] == {"id": 1, "title": "Title 1"}


def test_mock_endpoint_that_invalidates_answers_with_what_it_removed() -> None:
    """Only the standard delete returns nothing: others need the id in their answer."""
    api = Api(PARTS)
    assert api.send("POST", "/papers/2/archive") == {"id": 2, "title": "Title 2", "text": "Text 2"}
    assert api("GET", "/papers/2").status_code == 404


PLAIN_BODIES = spec_text("plain_bodies")


@pytest.fixture
def plain() -> Api:
    """An API whose bodies are no records."""
    return Api(PLAIN_BODIES)


def test_mock_body_that_is_no_record_changes_nothing(plain: Api) -> None:
    """What it means nobody has declared, so it is accepted as it is."""
    before = plain.get("/articles/1")
    assert plain.send("POST", "/articles/1/touch", [1, "two"]) == before


def test_mock_bytes_are_remembered_at_their_address(plain: Api) -> None:
    """What was sent is what is answered from then on, until it is deleted."""
    made_up = plain("GET", "/articles/1/cover").content
    assert plain("PUT", "/articles/1/cover", content=b"\x00cover").status_code == 204
    assert plain("GET", "/articles/1/cover").content == b"\x00cover"
    assert plain("GET", "/articles/2/cover").content == made_up
    plain("DELETE", "/articles/1/cover")
    assert plain("GET", "/articles/1/cover").content == made_up


def test_mock_cursor_deep_in_the_response_stands_there_alone(plain: Api) -> None:
    """The path of `next` begins at the response, not at each object inside of it."""
    page = plain.get("/articles")
    assert ({*page}, {*page["meta"]}, {*page["meta"]["page"]}) == ({"items", "meta"}, {"page", "total"}, {"next"})
    following = plain.get(f"/articles?cursor={page['meta']['page']['next']}")
    assert ids(following["items"]) == [*range(11, 21)]


# ---------------------------------------------------------------------------------------------------- auth, CORS, specs

MINIMAL = """
restencil: 1
package: {package}
auth: {auth}
resources: {{items: {{path: /items/:id, schema: {{entity: Item, fields: {{id: integer}}}}}}}}
"""


@pytest.mark.parametrize(
    ("auth", "options"),
    [
        ("{header: Access-Token}", {"headers": {"Access-Token": "x"}}),
        ("{bearer: true}", {"headers": {"Authorization": "Bearer x"}}),
        ("{basic: true}", {"headers": {"Authorization": "Basic YTpi"}}),
        ("{cookie: session}", {"headers": {"Cookie": "session=x"}}),
        ("{query: api_key}", {"params": {"api_key": "x"}}),
    ],
)
def test_mock_any_credential_of_the_specs_kind_will_do(auth: str, options: dict[str, Any]) -> None:
    """Without one the response is a 401 that says what is missing; create_app(auth=False) asks for none."""
    api = Api(MINIMAL.format(package="api", auth=auth))
    refused = api("GET", "/items")
    assert refused.status_code == 401
    assert "is missing" in refused.json()["message"]
    assert "WWW-Authenticate" in refused.headers
    assert api("GET", "/items", **options).status_code == 200
    assert Api(MINIMAL.format(package="api", auth=auth), auth=False)("GET", "/items").status_code == 200


SCHEMES = spec_text("schemes")


def test_mock_any_alternative_with_all_its_credentials_will_do() -> None:
    """The schemes of an inner list are needed together, a prefix belongs to it; `none` needs nothing."""
    api = Api(SCHEMES)
    key = {"X-Key": "Key x"}
    refused = api("GET", "/items", headers=key)
    assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, 'Bearer realm="mock"')
    assert refused.json()["message"].startswith(
        "the header Authorization: Bearer …, or the query argument app and the header X-Key: Key … is missing; "
    )
    assert api("GET", "/items", headers={"X-Key": "x"}, params={"app": "y"}).status_code == 401
    assert api("GET", "/items", headers=key, params={"app": "y"}).status_code == 200
    assert api("GET", "/items", headers={"Authorization": "Bearer x"}).status_code == 200
    assert api("POST", "/login").status_code == 204
    assert api("GET", "/open").status_code == 200
    assert api("GET", "/nowhere").status_code == 401


def test_mock_token_url_gives_tokens_where_that_is_requested() -> None:
    """With `auth_server` its path answers as RFC 6749 says, to any credentials that are not empty."""
    assert Api(SCHEMES)("POST", "/token", data={"grant_type": "client_credentials"}).status_code == 401
    api = Api(SCHEMES, auth_server=True)
    shown = {"Authorization": "Basic YTpi"}
    given = api("POST", "/token", data={"grant_type": "client_credentials"}, headers=shown)
    assert given.json() == {"access_token": "token-1", "token_type": "Bearer", "expires_in": 3600}
    refused = api("POST", "/token", data={"grant_type": "client_credentials"})
    assert (refused.status_code, refused.json()) == (401, {"error": "invalid_client"})
    odd = api("POST", "/token", data={"grant_type": "password"}, headers=shown)
    assert (odd.status_code, odd.json()) == (400, {"error": "unsupported_grant_type"})
    assert api("GET", "/token").status_code == 405
    assert api("GET", "/items", headers={"Authorization": "Bearer token-1"}).status_code == 200


def test_mock_token_url_takes_a_secret_in_the_body_and_gives_the_scopes() -> None:
    """Where the spec says so."""
    spec = SCHEMES.replace('/token"}', '/token", client_auth: body, scopes: [read, write]}')
    api = Api(spec, auth_server=True)
    form = {"grant_type": "client_credentials", "client_id": "a", "client_secret": "b"}
    assert api("POST", "/token", data=form).json()["scope"] == "read write"


@pytest.mark.parametrize(
    "origin", ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:8080", "http://a.localhost"]
)
def test_mock_cors_pages_of_this_machine_may_call(blog: Api, origin: str) -> None:
    """Preflights are answered without a credential, and headers of responses can be read."""
    api = Api(MINIMAL.format(package="api", auth="{bearer: true}"))
    preflight = api("OPTIONS", "/items", headers=PREFLIGHT | {"Origin": origin})
    assert preflight.status_code == 200
    assert preflight.headers["Access-Control-Allow-Origin"] == origin
    assert "PATCH" in preflight.headers["Access-Control-Allow-Methods"]
    assert preflight.headers["Access-Control-Allow-Headers"] == "Authorization"
    answer = blog("GET", "/articles", headers={"Origin": origin})
    assert answer.headers["Access-Control-Allow-Origin"] == origin
    assert answer.headers["X-Total-Count"] == "25"


PREFLIGHT = {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "Authorization"}


@pytest.mark.parametrize(
    "origin",
    ["http://page.test", "http://localhost.page.test", "http://127.0.0.1.page.test", "http://127.0.0.999", "null"],
)
def test_mock_cors_no_other_origin_is_reflected(blog: Api, origin: str) -> None:
    """Pages from elsewhere can read nothing, and their preflights fail."""
    preflight = blog("OPTIONS", "/articles", headers=PREFLIGHT | {"Origin": origin})
    assert preflight.status_code == 400
    for answer in (preflight, blog("GET", "/articles", headers={"Origin": origin})):
        assert "Access-Control-Allow-Origin" not in answer.headers


@pytest.mark.parametrize(
    "browser", [{"Origin": "http://page.test"}, {"Origin": "http://localhost"}, {"Sec-Fetch-Site": "none"}]
)
@pytest.mark.parametrize(
    "kind", ["text/plain", "Text/Plain; charset=UTF-8", "", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_mock_content_type_json_as_text_from_a_browser_is_rejected(browser: dict[str, str], kind: str) -> None:
    """A page of any origin may send text without a preflight, so it is no JSON here; nothing is changed."""
    api = Api(MINIMAL.format(package="api", auth="{bearer: true}"), auth=False)
    before = api.get("/items")
    headers = browser | ({"Content-Type": kind} if kind else {})
    sent = f"as {kind.partition(';')[0].lower()}" if kind else "without a content type"
    message = f"the body came from a browser {sent}; send it with the header Content-Type: application/json"
    assert api.refused(415, "POST", "/items", content='{"id": 77}', headers=headers) == message
    assert api.get("/items") == before


@pytest.mark.parametrize(
    "headers",
    [{"Content-Type": "text/plain"}, {"Content-Type": "application/json", "Origin": "http://localhost:3000"}, {}],
)
def test_mock_content_type_other_clients_and_json_are_read(headers: dict[str, str]) -> None:
    """Programs may send what they like, and browsers JSON that says so."""
    api = Api(MINIMAL.format(package="api", auth="{bearer: true}"), auth=False)
    assert api("POST", "/items", content='{"id": 77}', headers=headers).status_code == 201


def test_mock_several_specs_stand_under_the_names_of_their_packages() -> None:
    """One server, two APIs, each with its own data."""
    api = Api(MINIMAL.format(package="one", auth="{bearer: true}"), BLOG)
    assert api("GET", "/one/items").status_code == 401
    assert api.get("/blog/articles/1")["id"] == 1
    assert api.get("/") == {"apis": {"/one": "one", "/blog": "blog"}}
    assert api.refused(404, "GET", "/three") == "no API at /three; there are /one, /blog"


def test_mock_two_specs_of_one_package_are_rejected() -> None:
    """One would hide the other."""
    said = r"shop\.yaml: another spec has the same package 'blog'; serve them separately"
    with pytest.raises(CannotServe, match=said):
        Api(BLOG, BLOG)


def test_mock_requests_are_logged(blog: Api) -> None:
    """One line each: method, path with query, status."""
    blog("GET", "/articles?status=draft")
    blog("GET", "/articles/999")
    assert blog.log == ["GET /articles?status=draft 200", "GET /articles/999 404"]


SPECS = sorted((Path(__file__).resolve().parents[3] / "specs").iterdir())


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_mock_every_endpoint_of_every_example_spec_answers(path: Path) -> None:
    """Whatever is declared is served: each endpoint answers plain calls with a success or a refusal in JSON."""
    declaration = load(path)
    api = Api(declaration, auth=False)
    for resource in declaration.resources.values():
        for name, endpoint in resource.all_endpoints():
            parts = endpoint.path.parts
            url = "".join(part.text if isinstance(part, PathText) else f"{part.prefix}1" for part in parts)
            bodies: tuple[Any, ...] = (None, {}, {"name": "x"}, []) if endpoint.has_body else (None,)
            for body, answer in [(body, api(endpoint.method, url, json=body)) for body in bodies]:
                where = (resource.name, name, body, answer.text)
                assert answer.status_code in (200, 201, 204, 404, 422), where
                # The first text of a declared error is its message; of one that is not declared it is called so.
                assert answer.is_success or any(isinstance(part, str) for part in answer.json().values()), where
                assert name != "get_list" or answer.json(), "a list has something to show"


# -------------------------------------------------------------------------------------------------- fields of arguments

RPC = spec_text("fields_of_arguments")


def test_mock_field_of_a_search_parameter_selects_records() -> None:
    """Lists and single records are found by the field, whatever the parameter is called."""
    api = Api(RPC)
    assert api.get("/runs/get?run=b")["status"] == "open"
    assert [one["info"]["run_id"] for one in api.get("/runs?run=a")] == ["a"]
    assert api("GET", "/runs/get?run=c").status_code == 404


def test_mock_field_of_a_body_member_names_the_record() -> None:
    """A change in RPC style is that of the record that the body names; another one is not touched."""
    api = Api(RPC)
    changed = api("POST", "/runs/update", json={"run": "b", "status": "closed"})
    assert (changed.status_code, changed.json()["info"], changed.json()["status"]) == (200, {"run_id": "b"}, "closed")
    assert api.get("/runs/get?run=a")["status"] == "done"
    assert api("POST", "/runs/delete", json={"run": "a"}).status_code in (200, 204)
    assert [one["info"]["run_id"] for one in api.get("/runs")] == ["b"]
    refused = api.refused(404, "POST", "/runs/update", json={"run": "a", "status": "x"})
    assert refused == "there is no Run with info.run_id='a'"
