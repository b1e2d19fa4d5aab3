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


def test_check_next_cursor_in_a_member_called_last_is_in_the_response() -> None:
    """Only a path that begins with `last.` leads into the last item."""
    keys = """
        pagination_field: cursor
        pagination: {style: cursor, next: last}
        endpoints: {get_list: {schema: {items: {collection: [Item]}, last: string?}}}
        """
    pagination = resource(keys).endpoints["get_list"].pagination
    assert pagination is not None
    assert pagination.next == d.Next("response", ("last",))


def test_check_order_of_schemes_counts_where_no_use_is_written() -> None:
    """With `use` it is layout, as the order of keys is; that of alternatives always counts."""

    def digest(names: str, use: str = "") -> str:
        written = ", ".join(f"{name}: {{header: {name}}}" for name in names)
        return spec(f"auth: {{schemes: {{{written}}}{use}}}\n").digest

    assert digest("ab") != digest("ba")
    assert digest("ab", ", use: [a, b]") == digest("ba", ", use: [a, b]") == digest("ab")
    assert digest("ab", ", use: [b, a]") == digest("ba")
    assert digest("ab", ", use: [[b, a]]") == digest("ab", ", use: [[a, b]]")


# --------------------------------------------------------------------------------------------------------------- hints

POSTS = """\
restencil: 1
package: x
resources:
  posts:
    path: /posts/:id
    schema: {entity: Post, fields: {id: integer, title: string}}
"""


@pytest.mark.parametrize("name", ["_page", "page-number", "page[number]"])
def test_check_pagination_field_that_is_no_name_is_shown_the_way(name: str) -> None:
    """A search parameter has the API's name on the wire."""
    (problem,) = load_text(f"{POSTS}    pagination_field: '{name}'\n").problems
    assert problem.code == "bad-name"
    params, field = problem.hint[problem.hint.index("search_params: ") :].split(", pagination_field: ")
    wire = params.replace(f"wire: {name}", f"wire: '{name}'")
    found = declared(f"{POSTS}    {wire}\n    pagination_field: {field}\n").resources["posts"].endpoints["get_list"]
    assert found.pagination_field and found.pagination_field.wire == name
