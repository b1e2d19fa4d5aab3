"""What a spec without mistakes becomes: types, defaults, inheritance, members, endpoints."""

from __future__ import annotations

import textwrap

import pytest
from tests.generator.declared import declared

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
    return declared(head + textwrap.dedent(text))


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


def test_check_deprecation_is_a_flag_or_a_reason() -> None:
    """`true` is deprecation without a reason, `false` is none."""
    assert field("{type: string, deprecated: true}").deprecated == ""
    assert field("{type: string, deprecated: false}").deprecated is None


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


# ------------------------------------------------------------------------------------------------------------- members


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


def test_check_order_of_schemes_counts_where_no_use_is_written() -> None:
    """With `use` it is layout, as the order of keys is; that of alternatives always counts."""

    def digest(names: str, use: str = "") -> str:
        written = ", ".join(f"{name}: {{header: {name}}}" for name in names)
        return spec(f"auth: {{schemes: {{{written}}}{use}}}\n").digest

    assert digest("ab") != digest("ba")
    assert digest("ab", ", use: [a, b]") == digest("ba", ", use: [a, b]") == digest("ab")
    assert digest("ab", ", use: [b, a]") == digest("ba")
    assert digest("ab", ", use: [[b, a]]") == digest("ab", ", use: [[a, b]]")


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
