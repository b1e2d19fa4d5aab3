"""What a spec without mistakes becomes: types, defaults, inheritance, members, endpoints."""

from __future__ import annotations

import textwrap

import pytest

from restencil_generator.spec import model as d
from restencil_generator.spec.load import load_text

INTEGER, STRING = d.Scalar("integer"), d.Scalar("string")

HEAD = "restencil: 1\npackage: shop\n"
ITEM = """
entities:
  Item:
    fields: {id: integer, title: string, owner_name: string?}
"""


def spec(text: str, head: str = HEAD) -> d.Spec:
    """The declaration of a text that must have no mistakes."""
    loaded = load_text(head + textwrap.dedent(text), "shop.yaml")
    assert loaded.declaration is not None, loaded.problems
    return loaded.declaration


def resource(keys: str = "", head: str = HEAD, path: str = "/items/:id") -> d.Resource:
    """A resource of items with more keys."""
    text = (
        ITEM
        + f"resources:\n  items:\n    path: {path}\n    schema: Item\n"
        + textwrap.indent(textwrap.dedent(keys), "    ")
    )
    return spec(text, head).resources["items"]


def endpoint(name: str, keys: str = "", head: str = HEAD, path: str = "/items/:id") -> d.Endpoint:
    """An endpoint of such a resource, by its dotted name."""
    return dict(resource(keys, head, path).all_endpoints())[name]


def field(written: str, head: str = HEAD) -> d.Field:
    """A field of an entity that is written as given."""
    more = "enums: {Status: [open, closed], Level: {low: 1, high: 2}}\nobjects: {Money: {amount: decimal}}\n"
    declared = spec(f"{more}entities:\n  Item: {{fields: {{id: integer, the_field: {written}}}}}\n", head)
    found = declared.entities["Item"].field("the_field")
    assert found is not None
    return found


# -------------------------------------------------------------------------------------------------------------- fields


@pytest.mark.parametrize(
    ("written", "type", "default"),
    [
        ("string", STRING, ""),
        ("integer", INTEGER, 0),
        ("number", d.Scalar("number"), 0.0),
        ("boolean", d.Scalar("boolean"), False),
        ("datetime", d.Scalar("datetime"), d.MISSING),
        ("date", d.Scalar("date"), d.MISSING),
        ("time", d.Scalar("time"), d.MISSING),
        ("decimal", d.Scalar("decimal"), d.MISSING),
        ("uuid", d.Scalar("uuid"), d.MISSING),
        ("any", d.Scalar("any"), None),
        ("string?", d.Optional(STRING), None),
        ("[string]", d.ListOf(STRING), []),
        ("[string?]", d.ListOf(d.Optional(STRING)), []),
        ("{values: integer}", d.ValuesOf(INTEGER), {}),
        ("Status", d.EnumRef("Status"), d.MISSING),
        ("Level", d.EnumRef("Level"), d.MISSING),
        ("Money", d.ObjectRef("Money"), d.MISSING),
        ("Money?", d.Optional(d.ObjectRef("Money")), None),
        ("Item", d.EntityRef("Item"), d.MISSING),
        ("Item?", d.Optional(d.EntityRef("Item")), None),
        ("[Item]", d.ListOf(d.EntityRef("Item")), []),
        ("{collection: [Item], nest: {owner: id}}", None, []),
        ("{collection: {values: Item}, nest: {owner: id}}", None, {}),
        ("{object: {a: string}}", None, d.MISSING),
        ("{const: link}", d.Const("link"), "link"),
        ("{const: 7}", d.Const(7), 7),
        ("{const: true}", d.Const(True), True),
        ("{type: string, optional: true}", d.Optional(STRING), None),
        ("{type: [string], optional: true}", d.Optional(d.ListOf(STRING)), None),
        ("{type: string, default: x}", STRING, "x"),
        ("{type: Item, default: null}", d.Optional(d.EntityRef("Item")), None),
        ("{type: string?, default: x}", d.Optional(STRING), "x"),
        ("{type: Money, default: {amount: 1.5}}", d.ObjectRef("Money"), {"amount": 1.5}),
        ("{type: datetime, default: 2020-01-31T12:00:00}", d.Scalar("datetime"), "2020-01-31T12:00:00"),
        ("{type: decimal, default: 3}", d.Scalar("decimal"), 3),
        ("{type: Status, default: closed}", d.EnumRef("Status"), "closed"),
    ],
)
def test_check_field_has_a_type_and_a_default(written: str, type: d.Type | None, default: d.Json | d.Missing) -> None:
    """A default follows from a type with an honest zero unless it is written; moments, enums and entities have none."""
    found = field(written)
    assert type is None or found.type == type
    assert found.default == default
    assert found.required == (default is d.MISSING)
    assert found.written_default == ("default" in written)


@pytest.mark.parametrize(
    ("written", "zero"),
    [
        ("string", ""),
        ("boolean", False),
        ("any", None),
        ("datetime", "1970-01-01T00:00:00Z"),
        ("date", "1970-01-01"),
        ("time", "00:00:00"),
        ("decimal", "0"),
        ("uuid", "00000000-0000-0000-0000-000000000000"),
        ("[string]", []),
        ("{values: integer}", {}),
        ("{collection: [Item], nest: {owner: id}}", []),
        ("Status", "open"),
        ("Level", 1),
        ("Money", {}),
        ("Item", d.MISSING),
    ],
)
def test_check_spec_may_say_what_absent_fields_give(written: str, zero: d.Json | d.Missing) -> None:
    """`absent: zero` makes up the zero of every kind, `absent: raise` of none; defaults and `?` go before it."""
    assert field(written, f"{HEAD}absent: zero\n").default == zero
    assert field(written, f"{HEAD}absent: raise\n").default is d.MISSING
    for absent in ("zero", "raise"):
        assert field("string?", f"{HEAD}absent: {absent}\n").default is None
        assert field("{type: decimal, default: 3}", f"{HEAD}absent: {absent}\n").default == 3
        assert field("{const: link}", f"{HEAD}absent: {absent}\n").default == "link"


def test_check_field_says_what_is_written_about_it() -> None:
    """Wire name, description, deprecation, hooks and whether it is read-only."""
    found = field(
        "{type: string, wire: theF, description: D, deprecated: no longer, read_only: true,"
        " decode: 'python:m.n:f', encode: 'python:m:g'}"
    )
    assert (found.wire, found.description, found.deprecated, found.read_only) == ("theF", "D", "no longer", True)
    assert (str(found.decode), str(found.encode)) == ("python:m.n:f", "python:m:g")
    assert found.place.line == 6


def test_check_deprecation_is_a_flag_or_a_reason() -> None:
    """`true` is deprecation without a reason, `false` is none."""
    assert field("{type: string, deprecated: true}").deprecated == ""
    assert field("{type: string, deprecated: false}").deprecated is None


def test_check_names_are_final() -> None:
    """Python and wire names are those that the output uses."""
    found = spec(
        "objects: {O: {class: string, merge: string, order_by: string, id: string}}\n",
        HEAD + "wire_names: camelCase\n",
    ).objects["O"]
    assert [(f.name, f.python, f.wire) for f in found.fields] == [
        ("class", "class_", "class"),
        ("merge", "merge_", "merge"),
        ("order_by", "order_by", "orderBy"),
        ("id", "id", "id"),
    ]


def test_check_union_takes_its_values_as_the_discriminator_holds_them() -> None:
    """Keys are texts in JSON; whether they are numbers the field decides. The wire name is that of the field."""
    declared = spec("""
        entities:
          A: {fields: {id: integer, kind: {const: 1, wire: k}}}
          B: {fields: {id: integer, kind: {const: 2, wire: k}}}
          C: {fields: {id: integer, on: boolean, one: {union: {'1': A, 2: B}, attribute: kind}}}
          D: {fields: {id: integer, text: string, other: {union: {1: D}, attribute: text}}}
        """)
    one = declared.entities["C"].field("one")
    other = declared.entities["D"].field("other")
    assert one is not None
    assert one.type == d.UnionOf((d.Choice(1, "A"), d.Choice(2, "B")), "kind", "k")
    assert other is not None
    assert other.type == d.UnionOf((d.Choice("1", "D"),), "text", "text")


def test_check_nested_collection_says_which_argument_takes_which_field() -> None:
    """Arguments are in wire names, path parameters keep theirs."""
    declared = spec(
        """
        entities:
          User: {fields: {id: integer, todos: {collection: [Todo], nest: {user_id: id, the_kind: id}}}}
          Todo: {fields: {id: integer}}
        resources:
          todos: {path: '/users/:user_id/todos/:id', schema: Todo}
        """,
        HEAD + "wire_names: camelCase\n",
    )
    todos = declared.entities["User"].field("todos")
    assert todos is not None
    assert isinstance(todos.type, d.CollectionOf)
    assert todos.type.nest == (d.Nest("user_id", "id"), d.Nest("theKind", "id"))


# ------------------------------------------------------------------------------------------------------------ entities


def test_check_entity_inherits_fields_pk_indexes_and_validation() -> None:
    """An overriding field keeps the place of the one that it overrides."""
    declared = spec("""
        entities:
          Base:
            abstract: true
            pk: code
            indexes: [kind]
            validate: python:m:check
            fields: {code: string, kind: string, note: string?}
          Link: {extends: Base, fields: {url: string, kind: {const: link}, note: string}}
          Deep: {extends: Link}
        """)
    link, deep = declared.entities["Link"], declared.entities["Deep"]
    assert [field.name for field in link.all_fields] == ["code", "kind", "note", "url"]
    assert [field.name for field in link.fields] == ["url", "kind", "note"]
    assert (link.pk, link.pk_written, link.indexes, link.indexes_written) == (("code",), False, ("kind",), False)
    assert (str(link.validate), link.validate_written) == ("python:m:check", False)
    assert deep.all_fields == link.all_fields
    assert deep.extends == "Link"
    kind = deep.field("kind")
    assert kind is not None
    assert kind.type == d.Const("link")


def test_check_key_is_the_one_written_on_the_nearest_entity_above() -> None:
    """Without one written anywhere above, each entity has its own name."""
    declared = spec("""
        entities:
          A: {fields: {id: integer}}
          B: {extends: A}
          C: {extends: B, key: Shared}
          D: {extends: C}
          E: {extends: D, key: Own}
        """)
    assert {name: entity.key for name, entity in declared.entities.items()} == {
        "A": "A",
        "B": "B",
        "C": "Shared",
        "D": "Shared",
        "E": "Own",
    }


def test_check_pk_may_have_several_fields() -> None:
    """A list gives the JSON array of the texts, also with one field."""
    declared = spec("""
        entities:
          Node: {pk: [host, port], fields: {host: string, port: integer}}
          One: {pk: [id], fields: {id: integer}}
          Plain: {fields: {id: integer}}
        """).entities
    assert (declared["Node"].pk, declared["Node"].pk_is_list) == (("host", "port"), True)
    assert (declared["One"].pk, declared["One"].pk_is_list) == (("id",), True)
    assert (declared["Plain"].pk, declared["Plain"].pk_is_list) == (("id",), False)


def test_check_entity_may_be_declared_in_place() -> None:
    """In a resource's schema, in an endpoint's and in a field; it knows its resource."""
    declared = spec("""
        resources:
          items:
            path: /items/:id
            schema:
              entity: Item
              fields: {id: integer, part: {entity: Part, fields: {id: integer}}}
            endpoints:
              report: {path: /report, schema: {rows: [{entity: Row, fields: {id: integer}}]}}
        """).entities
    assert {name: entity.resource for name, entity in declared.items()} == {
        "Item": "items",
        "Part": "items",
        "Row": "items",
    }


# ------------------------------------------------------------------------------------------------------------- members


def test_check_all_members_that_fit_exist_by_default() -> None:
    """`get_page` needs a pagination field, `assign` a collection of values."""
    assert resource().members == ("get", "get_list", "push", "unshift", "update", "partial_update", "delete")
    assert "get_page" in resource("pagination_field: page").members
    values = resource("endpoints: {get_list: {schema: {collection: {values: Item}}}}")
    assert values.members == ("get", "get_list", "assign", "update", "partial_update", "delete")
    assert list(values.endpoints) == ["get", "get_list", "update", "partial_update", "delete"]


def test_check_create_comes_with_push() -> None:
    """It is its plain name, and follows an overridden list."""
    found = resource("endpoints: {get_list: {path: /all}, push: {method: PUT}}").endpoints
    assert (found["create"].path.text, found["create"].method) == ("/all", "PUT")
    assert found["create"].schema == found["get_list"].extenders["push"].schema
    assert "create" not in resource("members: [get, get_list, unshift]").endpoints


def test_check_members_are_those_requested() -> None:
    """In the standard order, whatever the order in the list."""
    found = resource("members: [delete, get]")
    assert found.members == ("get", "delete")
    assert list(found.endpoints) == ["get", "delete"]
    assert resource("members: []").members == ()


@pytest.mark.parametrize(
    ("name", "method", "path", "side_effect", "has_body"),
    [
        ("get", "GET", "/items/:id", False, False),
        ("get_list", "GET", "/items", False, False),
        ("get_list.push", "POST", "/items", True, True),
        ("get_list.unshift", "POST", "/items", True, True),
        ("get_list.get_page", "GET", "/items", False, False),
        ("create", "POST", "/items", True, True),
        ("update", "PUT", "/items/:id", True, True),
        ("partial_update", "PATCH", "/items/:id", True, True),
        ("delete", "DELETE", "/items/:id", True, False),
    ],
)
def test_check_standard_members_follow_the_table(
    name: str, method: str, path: str, side_effect: bool, has_body: bool
) -> None:
    """Method, path, side effect and body."""
    found = endpoint(name, "pagination_field: page")
    assert (found.method, found.path.text, found.side_effect, found.has_body) == (method, path, side_effect, has_body)
    assert found.standard


def test_check_schemas_of_standard_members_follow_the_table() -> None:
    """The entity, its collection, adders, a page, an invalidation."""
    item = d.EntityRef("Item")
    collection = d.CollectionOf(d.ListOf(item))
    found = {name: one.schema for name, one in resource("pagination_field: page").all_endpoints()}
    assert found == {
        "get": item,
        "get_list": collection,
        "get_list.push": d.AdderOf(collection, "push"),
        "get_list.unshift": d.AdderOf(collection, "unshift"),
        "get_list.get_page": d.PageOf(collection),
        "create": d.AdderOf(collection, "push"),
        "update": item,
        "partial_update": item,
        "delete": d.InvalidateOf(item),
    }


def test_check_optimistic_applies_to_mutations_of_the_resource() -> None:
    """Not to reads, not to `assign`, and to an added endpoint only through what it extends."""
    found = resource("""
        optimistic: true
        pagination_field: page
        endpoints:
          rename: {extends: update, path: '/items/:id/name'}
          other: {method: POST, path: /other}
          more: {extends: get_list, path: /more}
        """)
    optimistic = {name for name, one in found.all_endpoints() if one.optimistic}
    assert optimistic == {
        "get_list.push",
        "get_list.unshift",
        "create",
        "update",
        "partial_update",
        "delete",
        "rename",
    }


# ----------------------------------------------------------------------------------------------------------- endpoints


def test_check_added_endpoint_starts_from_the_resource() -> None:
    """Path, schema and options of the resource, no search parameters, and no pagination of the list."""
    keys = """
        members: [get_list]
        search_params: {author: string?}
        pagination_field: page
        options: {timeout: 5s}
        endpoints:
          other: {path: /other, schema: {items: {collection: [Item]}}}
          same: {}
        """
    found = endpoint("other", keys)
    assert (found.extends, found.standard, found.method) == (None, False, "GET")
    assert (found.options.timeout, found.search_params, found.pagination_field) == (5000, (), None)
    assert list(found.extenders) == ["push", "unshift"]
    assert endpoint("same", keys).path.text == "/items/:id"
    assert endpoint("same", keys).schema == d.EntityRef("Item")


def test_check_endpoint_inherits_from_what_it_extends() -> None:
    """Given keys win; a chain may be of any length and in any order."""
    found = resource(
        """
        search_params: {author: string?}
        pagination_field: cursor
        pagination: {style: cursor, next: last.owner_name}
        endpoints:
          a: {extends: b, method: POST, description: A}
          b: {extends: c, options: {timeout: 1s}, headers: {X-B: b}, deprecated: true, process: 'python:m:f'}
          c: {extends: get_list, path: /c/:author, options: {retries: 3}, headers: {X-C: c}}
        """,
        HEAD + "wire_names: camelCase\n",
    ).endpoints["a"]
    assert (found.path.text, found.method, found.side_effect, found.extends) == ("/c/:author", "POST", True, "b")
    assert (found.options.timeout, found.options.retries) == (1000, 3)
    assert found.headers == {"X-B": "b", "X-C": "c"}
    assert str(found.process) == "python:m:f"
    assert (found.description, found.deprecated) == ("A", None)
    assert [field.name for field in found.params] == ["author"]
    assert found.search_params == ()
    assert found.pagination_field is not None
    assert found.pagination == d.Pagination("cursor", d.Next("last", ("ownerName",)))
    assert found.written == {"extends", "method", "description"}


def test_check_inherited_pagination_is_dropped_where_the_schema_holds_no_collection() -> None:
    """It would have nothing to add pages to."""
    keys = """
        pagination_field: page
        pagination: {style: page}
        endpoints:
          search: {extends: get_list, path: /search, schema: {results: [Item], total: integer}}
          wrapped: {extends: get_list, path: /wrapped, schema: {results: {collection: [Item]}, total: integer}}
        """
    search, wrapped = endpoint("search", keys), endpoint("wrapped", keys)
    assert (search.pagination_field, search.pagination, search.collection, search.extenders) == (None, None, None, {})
    assert wrapped.pagination_field is not None
    assert wrapped.collection == d.CollectionOf(d.ListOf(d.EntityRef("Item")))
    assert list(wrapped.extenders) == ["push", "unshift", "get_page"]
    assert wrapped.extenders["get_page"].schema == d.PageOf(wrapped.schema or d.Scalar("any"))


def test_check_side_effects_follow_the_rule_of_the_runtime() -> None:
    """A written flag wins, then a method written here, then what is inherited."""
    keys = """
        endpoints:
          a: {path: /a, method: POST}
          b: {path: /b, method: POST, side_effect: false}
          c: {extends: b, path: /c}
          e: {extends: b, path: /e, method: PUT}
          f: {extends: update, path: /f}
          g: {extends: update, path: /g, method: get}
        """
    effects = {name: endpoint(name, keys).side_effect for name in "abcefg"}
    assert effects == {"a": True, "b": False, "c": False, "e": True, "f": True, "g": False}
    assert endpoint("g", keys).method == "GET"


def test_check_settings_are_laid_over_those_above() -> None:
    """Spec, resource, endpoint; headers by name without case; null takes an option back."""
    head = HEAD + textwrap.dedent("""
        url_prefix: https://a.example
        endpoint: python:m:Base
        headers: {X-A: spec, X-B: spec}
        options: {timeout: 10s, retries: 2, error_policy: soft}
        """)
    keys = """
        headers: {x-a: resource}
        options: {retries: null, error_policy: 'python:m:policy'}
        endpoints:
          get: {headers: {X-a: endpoint}, options: {timeout: 1h}, url_prefix: ''}
        """
    found, other = endpoint("get", keys, head), endpoint("update", keys, head)
    assert found.headers == {"X-a": "endpoint", "X-B": "spec"}
    assert other.headers == {"x-a": "resource", "X-B": "spec"}
    assert (found.options.timeout, found.options.retries) == (3_600_000, None)
    assert str(found.options.error_policy) == "python:m:policy"
    assert (found.url_prefix, other.url_prefix) == ("", "https://a.example")
    assert str(found.base) == "python:m:Base"


def test_check_path_parameter_is_what_its_field_is() -> None:
    """Unless `params` says more, and a text or number where there is no such field; an optional one may be left out."""
    text = """
        entities:
          Item: {fields: {id: uuid, day: date?, title: string}}
        resources:
          items:
            path: /items/:day/:title/:owner/:id
            schema: Item
            params: {title: {type: string, description: T}}
            endpoints:
              other: {path: '/o/:id?', params: {id: integer}}
        """
    found = spec(text).resources["items"].endpoints
    assert [field.type for field in found["get"].params] == [
        d.Scalar("date"),
        STRING,
        d.AnyOf((STRING, INTEGER)),
        d.Scalar("uuid"),
    ]
    (one,) = found["other"].params
    assert (one.type, one.required) == (d.Optional(INTEGER), False)


def test_check_parameters_are_named_for_python_and_for_the_wire() -> None:
    """Search parameters follow `wire_names`, path parameters never."""
    found = endpoint(
        "get_list",
        """
        search_params: {order_by: string?, class: string, body: {type: string, wire: theBody}}
        pagination_field: next_page
        """,
        HEAD + "wire_names: camelCase\n",
        "/owners/:owner_id/items/:id",
    )
    assert [(field.python, field.wire) for field in (*found.params, *found.search_params)] == [
        ("owner_id", "owner_id"),
        ("order_by", "orderBy"),
        ("class_", "class"),
        ("body_", "theBody"),
    ]
    assert found.pagination_field is not None
    assert (found.pagination_field.python, found.pagination_field.wire) == ("next_page", "nextPage")


def test_check_pagination_field_may_be_a_declared_search_parameter() -> None:
    """Then it has its type and its wire name, and is required where a page is asked for."""
    found = endpoint(
        "get_list", "search_params: {page: {type: integer?, wire: p}}\npagination_field: page"
    ).pagination_field
    assert found is not None
    assert (found.type, found.wire, found.required) == (INTEGER, "p", True)


@pytest.mark.parametrize(
    ("next", "found", "text"),
    [
        ("last.id", d.Next("last", ("id",)), "last.id"),
        ("last.owner_name", d.Next("last", ("ownerName",)), "last.ownerName"),
        ("header:X-Next", d.Next("header", ("X-Next",)), "header:X-Next"),
        ("page_info.end_cursor", d.Next("response", ("pageInfo", "endCursor")), "pageInfo.endCursor"),
        ("extra.end_cursor", d.Next("response", ("extra", "endCursor")), "extra.endCursor"),
        ("last", d.Next("response", ("last",)), "last"),
    ],
)
def test_check_next_cursor_is_found_by_wire_names(next: str, found: d.Next, text: str) -> None:
    """A path in the response, a header, or a field of the last item."""
    keys = f"""
        pagination_field: cursor
        pagination: {{style: cursor, next: '{next}', size: {{param: per_page, value: 25}}}}
        endpoints:
          get_list:
            schema: {{items: {{collection: [Item]}}, page_info: {{end_cursor: string?}}, extra: any, last: string?}}
        """
    pagination = endpoint("get_list", keys, HEAD + "wire_names: camelCase\n").pagination
    assert pagination is not None
    assert pagination.next == found
    assert str(pagination.next) == text
    assert pagination.size is not None
    assert (pagination.size.param.wire, pagination.size.value) == ("perPage", 25)


@pytest.mark.parametrize(
    ("written", "body"),
    [
        ("null", None),
        ("any", d.Body("any")),
        ("bytes", d.Body("bytes")),
        ("Item", d.Body("json", d.EntityRef("Item"))),
        ("[Item]", d.Body("json", d.ListOf(d.EntityRef("Item")))),
        ("[string]", d.Body("json", d.ListOf(STRING))),
    ],
)
def test_check_body_is_written_in_several_ways(written: str, body: d.Body | None) -> None:
    """`null` disables it, names and lists give its type."""
    found = endpoint("send", f"endpoints: {{send: {{method: POST, path: /send, body: {written}}}}}")
    assert found.body == body
    assert found.has_body == (body is not None)


@pytest.mark.parametrize(
    ("written", "kind", "names"),
    [
        ("{title: string}", "json", ["title"]),
        ("{values: string, union: integer}", "json", ["values", "union"]),
        ("{form: {title: string}}", "form", ["title"]),
        ("{multipart: {file: bytes, title: string}}", "multipart", ["file", "title"]),
        ("{form: string}", "json", ["form"]),
        ("{form: {title: string}, other: string}", None, []),
        ("{form: {type: string}}", "form", ["type"]),
        ("{}", "json", []),
    ],
)
def test_check_every_key_of_a_body_is_a_field_but_a_form_alone(
    written: str, kind: str | None, names: list[str]
) -> None:
    """`form` and `multipart` wrap the fields where they stand alone with a mapping."""
    text = ITEM + "resources:\n  items:\n    path: /items/:id\n    schema: Item\n    endpoints:\n"
    loaded = load_text(f"{HEAD}{text}      send: {{method: POST, path: /send, body: {written}}}\n")
    if kind is None:
        assert [problem.code for problem in loaded.problems] == ["object-not-here"]
        return
    assert loaded.declaration is not None, loaded.problems
    body = loaded.declaration.resources["items"].endpoints["send"].body
    assert body is not None
    assert body.kind == kind
    assert isinstance(body.type, d.ObjectType)
    assert [field.name for field in body.type.members] == names
    assert body.type.name == "ItemsSendBody"


def test_check_body_of_the_resource_goes_to_its_mutations() -> None:
    """For a partial update all of its fields may be absent, under a type of its own."""
    keys = "body: {title: string, note: string?}"
    push, partial = endpoint("get_list.push", keys).body, endpoint("partial_update", keys).body
    assert push is not None
    assert partial is not None
    assert isinstance(push.type, d.ObjectType)
    assert isinstance(partial.type, d.ObjectType)
    assert (push.type.name, push.partial) == ("ItemsBody", False)
    assert (partial.type.name, partial.partial) == ("ItemsPartialUpdateBody", True)
    assert push.type.members == partial.type.members
    assert [field.required for field in push.type.members] == [True, False]


def test_check_types_of_bodies_are_named_where_a_body_needs_them() -> None:
    """The entity, what it holds, and nothing else; read-only fields are left out."""
    declared = spec("""
        objects: {Used: {a: string}, Unused: {a: string}, Hidden: {a: string}}
        entities:
          Item: {fields: {id: integer, one: Used, other: Other?, hidden: {type: Hidden, read_only: true}}}
          Other: {fields: {id: integer}}
          Lone: {fields: {id: integer}}
        resources:
          items: {path: '/items/:id', schema: Item, members: [update]}
          lones: {path: '/lones/:id', schema: Lone, members: [get]}
        """)
    assert {name: entity.body_name for name, entity in declared.entities.items()} == {
        "Item": "ItemBody",
        "Lone": None,
        "Other": "OtherBody",
    }
    assert {name: one.body_name for name, one in declared.objects.items()} == {
        "Hidden": None,
        "Unused": None,
        "Used": "UsedBody",
    }


def test_check_objects_in_place_have_names_of_their_own() -> None:
    """After the resource and endpoint, or the entity and field, and the members on the way."""
    declared = spec("""
        entities:
          Item: {fields: {id: integer, size: {object: {unit: {object: {name: string}}}}}}
        resources:
          items:
            path: /items/:id
            schema: Item
            endpoints:
              search: {path: /search, schema: {rows: [Item], meta: {total: integer}}}
              ping: {path: /ping, schema: null, returns: {object: {ok: boolean}}}
        """)
    typed_dicts = {name for name, kind in declared.namespace.items() if kind == "typed_dict"}
    assert typed_dicts == {
        "ItemBody",
        "ItemSize",
        "ItemSizeUnit",
        "ItemsPingResult",
        "ItemsSearchResult",
        "ItemsSearchResultMeta",
    }


def test_check_resource_has_a_class_and_the_spec_a_client() -> None:
    """Their names are derived or written, and all are part of one namespace."""
    declared = spec(
        "client: Api\nenums: {Diet: {meat: m}}\n"
        + ITEM
        + "resources: {items: {path: '/i/:id', schema: Item, class: Stock}}\n"
    )
    assert (declared.client, declared.async_client) == ("Api", "AsyncApi")
    assert declared.resources["items"].class_name == "Stock"
    assert declared.namespace == {
        "Api": "client",
        "AsyncApi": "client",
        "DIET_MEAT": "constant",
        "Diet": "enum",
        "Item": "entity",
        "ItemBody": "typed_dict",
        "Stock": "resource",
    }


def test_check_collection_of_a_resource_reaches_every_collection_in_its_schemas() -> None:
    """Its class and its non-filter arguments belong to the list, wrapped or not."""
    keys = """
        search_params: {order_by: string?}
        collection: {non_filter_arguments: [order_by]}
        endpoints:
          wrapped: {path: /wrapped, schema: {items: {collection: [Item]}}}
          own: {path: /own, schema: {collection: [Item], non_filter_arguments: [page_no]}}
        """
    head = HEAD + "wire_names: camelCase\n"
    arguments = {name: endpoint(name, keys, head).collection for name in ("get_list", "wrapped", "own")}
    assert {name: found.non_filter_arguments for name, found in arguments.items() if found is not None} == {
        "get_list": ("orderBy",),
        "wrapped": ("orderBy",),
        "own": ("pageNo",),
    }
    custom = endpoint("get_list", "collection: python:m:Mine").collection
    assert custom is not None
    assert str(custom.custom) == "python:m:Mine"


def test_check_tables_are_sorted_and_ordered_parts_are_not() -> None:
    """Order has a meaning in fields and the like alone."""
    declared = spec("""
        enums: {Z: [b, a], A: [x]}
        objects: {Y: {b: string, a: string}, B: {c: string}}
        entities: {X: {fields: {z: string, id: integer}}, C: {fields: {id: integer}}}
        resources:
          zs: {path: '/z/:id', schema: X, endpoints: {y: {path: /y}, b: {path: /b}}}
          as: {path: '/a/:id', schema: C}
        """)
    assert [list(table) for table in (declared.enums, declared.objects, declared.entities, declared.resources)] == [
        ["A", "Z"],
        ["B", "Y"],
        ["C", "X"],
        ["as", "zs"],
    ]
    assert list(declared.resources["zs"].endpoints)[-2:] == ["b", "y"]
    assert [member.value for member in declared.enums["Z"].members] == ["b", "a"]
    assert [field.name for field in declared.objects["Y"].fields] == ["b", "a"]
    assert [field.name for field in declared.entities["X"].fields] == ["z", "id"]


def test_check_examples_are_kept_with_their_places() -> None:
    """Of standard members, of what hangs on the list, and of added ones."""
    found = resource("""
        examples:
          get: {params: {id: 1}, response: {id: 1, title: x}}
          push: {body: {title: y}}
        """)
    endpoints = dict(found.all_endpoints())
    example = endpoints["get"].example
    assert example is not None
    assert (example.params, example.body, example.response) == ({"id": 1}, d.MISSING, {"id": 1, "title": "x"})
    assert example.places[("response", "title")].line == 13
    pushed = endpoints["get_list.push"].example
    assert pushed is not None
    assert pushed.body == {"title": "y"}
    assert endpoints["create"].example is None


def test_check_auth_says_how_the_secret_is_sent() -> None:
    """`auth` without schemes has one, called `token`; the name is that of the header, cookie or parameter."""

    def short(kind: d.AuthKind, parameter: str = "", prefix: str = "", env: str | None = None) -> d.Auth:
        return d.Auth((d.Scheme("token", kind, parameter, prefix, env),), (("token",),), short=True)

    assert spec("auth: {header: X-Token, env: TOKEN}\n").auth == short("header", "X-Token", env="TOKEN")
    assert spec("auth: {header: X-Token, prefix: 'Bot '}\n").auth == short("header", "X-Token", "Bot ")
    assert spec("auth: {bearer: true}\n").auth == short("bearer")
    assert spec("auth: {query: api_key}\n").auth == short("query", "api_key")
    assert spec("").auth is None


SCHEMES = """
auth:
  schemes:
    token: {bearer: true, env: SHOP_TOKEN}
    app: {cookie: app, prefix: "Bot ", deprecated: use token}
    machine:
      oauth2:
        token_url: https://auth.shop.example/token?x=1
        scopes: [write, read]
        client_auth: body
        params: {b: x, a: y}
      env: {client_secret: SHOP_SECRET, client_id: SHOP_ID}
"""


def test_check_auth_may_have_several_schemes() -> None:
    """Schemes are sorted by name; without `use` each counts alone, in the order in which they are written."""
    oauth2 = d.OAuth2(
        "https://auth.shop.example/token?x=1",
        scopes=("write", "read"),
        client_auth="body",
        params={"a": "y", "b": "x"},
        env={"client_id": "SHOP_ID", "client_secret": "SHOP_SECRET"},
    )
    schemes = (
        d.Scheme("app", "cookie", "app", "Bot ", deprecated="use token"),
        d.Scheme("machine", "oauth2", oauth2=oauth2),
        d.Scheme("token", "bearer", env="SHOP_TOKEN"),
    )
    assert spec(SCHEMES).auth == d.Auth(schemes, (("token",), ("app",), ("machine",)))
    used = spec(SCHEMES + "  use: [[token, app], machine, none]\n").auth
    assert used == d.Auth(schemes, (("app", "token"), ("machine",), ()))


def test_check_order_of_schemes_counts_where_no_use_is_written() -> None:
    """With `use` it is layout, as the order of keys is; that of alternatives always counts."""

    def digest(names: str, use: str = "") -> str:
        written = ", ".join(f"{name}: {{header: {name}}}" for name in names)
        return spec(f"auth: {{schemes: {{{written}}}{use}}}\n").digest

    assert digest("ab") != digest("ba")
    assert digest("ab", ", use: [a, b]") == digest("ba", ", use: [a, b]") == digest("ab")
    assert digest("ab", ", use: [b, a]") == digest("ba")
    assert digest("ab", ", use: [[b, a]]") == digest("ab", ", use: [[a, b]]")


def test_check_level_may_say_what_its_requests_show() -> None:
    """The nearest level counts; `none` is no credential, and null takes back what is inherited."""
    found = spec(SCHEMES + """
resources:
  articles:
    path: /articles/:id
    schema: {entity: Article, fields: {id: integer}}
    auth: [machine, [token, app]]
    endpoints:
      get_list: {auth: none}
      create: {auth: token}
      update: {auth: null}
      again: {extends: get_list, path: /again}
      log_in: {auth: none, method: POST, path: /login, body: {user: string}, schema: null}
  others: {path: "/others/:id", schema: {entity: Other, fields: {id: integer}}}
""").resources
    articles, others = found["articles"].endpoints, found["others"]
    assert found["articles"].auth == (("machine",), ("app", "token"))
    assert {name: one.auth for name, one in articles.items()} == {
        "get": (("machine",), ("app", "token")),
        "get_list": ((),),
        "create": (("token",),),
        "update": None,
        "partial_update": (("machine",), ("app", "token")),
        "delete": (("machine",), ("app", "token")),
        "again": ((),),
        "log_in": ((),),
    }
    assert articles["get_list"].extenders["push"].auth == ((),)
    assert others.auth is None
    assert others.endpoints["get"].auth is None


def test_check_endpoint_may_say_that_it_shows_nothing_without_schemes() -> None:
    """`auth: none` needs no scheme to be named, and the only one is called `token`."""
    text = """
resources:
  articles:
    path: /articles/:id
    schema: {entity: Article, fields: {id: integer}}
    auth: none
    endpoints: {get: {auth: token}}
"""
    found = spec("auth: {bearer: true}\n" + text).resources["articles"].endpoints
    assert (found["get"].auth, found["get_list"].auth) == ((("token",),), ((),))


def test_check_all_mistakes_are_found_in_one_run() -> None:
    """A mistake in one part keeps none in another from being found."""
    text = """
        restencil: 1
        package: shop
        wire_names: camel
        auth: {}
        enums: {A: []}
        objects: {B: {x: strng}}
        entities:
          C: {pk: no, fields: {id: integer}}
          D: {extends: Nobody}
        resources:
          e: {schema: C}
          f: {path: '/f/:', schema: Nothing, endpoints: {g: {extends: h}, i: {options: {timeout: x}}}}
        """
    codes = {problem.code for problem in load_text(textwrap.dedent(text)).problems}
    assert codes == {
        "auth-kind",
        "bad-duration",
        "bad-path",
        "missing-key",
        "pk-not-a-field",
        "unknown-entity",
        "unknown-type",
        "unknown-value",
        "wrong-type",
    }


def test_check_what_a_pagination_is_reported_is_in_wire_names() -> None:
    """Paths in the response, by the names of the schema; `size` is one where it is a text."""
    found = endpoint(
        "get_list",
        """
        pagination_field: page
        pagination: {style: url, next: links.next, more: page_info.has_more, total: total_count,
                     size: page_size, start: 0}
        endpoints:
          get_list:
            schema:
              links: {object: {next: string?}}
              page_info: {object: {has_more: boolean}}
              total_count: integer
              page_size: integer
              items: {collection: [Item]}
        """,
        HEAD + "wire_names: camelCase\n",
    ).pagination
    assert found is not None
    assert found.style == "url" and found.next == d.Next("response", ("links", "next"))
    assert (found.more, found.total) == (
        d.Next("response", ("pageInfo", "hasMore")),
        d.Next("response", ("totalCount",)),
    )
    assert (found.length, found.size, found.start) == (d.Next("response", ("pageSize",)), None, 0)
