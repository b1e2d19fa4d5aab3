"""Advice about specs without mistakes."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from restencil.persistence.row_codec import SECRETS as KEPT_OUT
from restencil_generator.diagnostics.codes import ADVICE
from restencil_generator.diagnostics.model import Problem
from restencil_generator.lint.registry import CHECKS
from restencil_generator.lint.run import lint
from restencil_generator.lint.secrets import SECRETS
from restencil_generator.spec import model as d
from restencil_generator.spec.load import Loaded, load_spec, load_text
from restencil_generator.spec.page_styles import STYLES, PageStyle
from restencil_generator.spec.validate_value import validation_errors

ROOT = Path(__file__).parents[3]
HEAD = "restencil: 1\npackage: shop\n"
ITEM = "entities:\n  Item:\n    fields: {id: integer, title: string, order_by: string}\n"


def loaded(text: str, head: str = HEAD) -> Loaded:
    found = load_text(head + textwrap.dedent(text), "shop.yaml")
    assert found.declaration is not None, found.problems
    return found


def advice(text: str, head: str = HEAD) -> list[tuple[str, str]]:
    """Codes and messages of the advice about a string, hand-written code aside."""
    return [(problem.code, problem.message) for problem in lint(loaded(text, head), import_hooks=False)]


def of_resource(keys: str, head: str = HEAD, entities: str = ITEM) -> list[tuple[str, str]]:
    """The advice about a resource of items with more keys."""
    text = entities + "resources:\n  items:\n    path: /items/:id\n    schema: Item\n"
    return advice(text + textwrap.indent(textwrap.dedent(keys), "    "), head)


def test_lint_registry_every_code_of_advice_has_a_check() -> None:
    """The registry names a check for each code of advice; those of hand-written code need its import."""
    of_hooks = {"hook-missing", "hook-kind", "hook-arity"}
    assert {check.code for check in CHECKS} == set(ADVICE) - of_hooks


def test_lint_example_of_the_project_is_as_advised() -> None:
    """Nothing is to be said about specs/blog.yaml."""
    assert lint(load_spec(ROOT / "specs" / "blog.yaml")) == ()


def test_lint_spec_with_mistakes_gets_no_advice() -> None:
    """The mistakes come first."""
    assert lint(load_text("restencil: 1\n")) == ()


def test_lint_advice_is_a_warning_with_a_place_and_a_known_code() -> None:
    """It keeps nothing from being generated."""
    (problem,) = lint(loaded("enums: {Lost: [a]}\n"))
    assert (problem.severity, problem.place.line, problem.code in ADVICE) == ("warning", 3, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("enums: {Lost: [a]}\n", [("unused", "nothing uses the enum 'Lost'")]),
        ("objects: {Lost: {a: string}}\n", [("unused", "nothing uses the object 'Lost'")]),
        (ITEM, [("unused", "nothing uses the entity 'Item'")]),
        (
            "auth: {schemes: {token: {bearer: true}, key: {header: X}}, use: [token]}\n",
            [("unused", "no request uses the scheme 'key'")],
        ),
    ],
)
def test_lint_what_nothing_uses_is_left_over(text: str, expected: list[tuple[str, str]]) -> None:
    """An enum, object or entity that no type names."""
    assert advice(text) == expected


def test_lint_package_should_not_hide_the_standard_library() -> None:
    """`import calendar` would then find the wrong one."""
    assert advice("", "restencil: 1\npackage: calendar\n") == [
        ("stdlib-package", "the package 'calendar' hides the module of Python's standard library")
    ]


def test_lint_secret_should_travel_encrypted() -> None:
    """Plain http is for loopback."""
    assert advice("auth: {bearer: true}\nurl_prefix: http://shop.example\n") == [
        ("plain-http", "the secret of the spec travels in the clear: http://shop.example")
    ]
    assert advice("auth: {bearer: true}\nurl_prefix: http://localhost:8000\n") == []
    assert advice("auth: {schemes: {machine: {oauth2: {token_url: http://localhost:9000/token}}}}\n") == [
        ("plain-http", "the secrets of scheme 'machine' travel in the clear: http://localhost:9000/token")
    ]
    assert advice("url_prefix: http://shop.example\n") == []


def test_lint_url_that_is_not_encrypted_is_marked_where_it_stands() -> None:
    """The spec's and a resource's own, each at the line that is to be changed."""
    text = "auth: {bearer: true}\nurl_prefix: http://shop.example\n" + ITEM + "resources:\n"
    text += "  items:\n    path: /items/:id\n    schema: Item\n    url_prefix: http://items.example\n"
    found = lint(loaded(text))
    assert [(problem.message.rpartition(" ")[2], problem.place.line, problem.place.column) for problem in found] == [
        ("http://shop.example", 4, 13),
        ("http://items.example", 12, 17),
    ]


def test_lint_prefix_and_a_path_should_have_a_slash_between_them() -> None:
    """Else they are one word in the URL; told once for a resource, and for each endpoint with a path of its own."""
    resources = "resources: {items: {path: items/:id, schema: Item, endpoints: {hot: {path: hot, schema: [Item]}}}}\n"
    assert advice("url_prefix: https://shop.example/api\n" + ITEM + resources) == [
        (
            "glued-path",
            "there is no slash between the prefix and the path of resource 'items': https://shop.example/apiitems/:id",
        ),
        (
            "glued-path",
            "there is no slash between the prefix and the path of 'hot' of resource 'items': https://shop.example/apihot",
        ),
    ]
    assert advice("url_prefix: https://shop.example/api/\n" + ITEM + resources) == []
    assert advice(ITEM + resources) == []


def test_lint_header_should_not_look_like_a_secret() -> None:
    """Names such as X-Api-Key belong to `auth`."""
    assert advice("headers: {X-Api-Key: abc, X-Part: shop}\n") == [
        ("secret-looking", "the header 'X-Api-Key' of the spec looks like a secret, which is never written in a spec")
    ]


def test_lint_entities_that_share_a_table_should_extend_one_another() -> None:
    """Else their records are merged by accident."""
    text = """
        entities:
          A: {key: Same, fields: {id: integer, b: B?}}
          B: {key: Same, fields: {id: integer, a: A?}}
        """
    assert advice(text) == [
        ("shared-key", "the entities 'B' and 'A' share the table 'Same', but neither extends the other")
    ]


def test_lint_nested_collection_should_say_whose_it_is() -> None:
    """Without `nest` all lists of one response are one."""
    entities = "entities:\n  Item: {fields: {id: integer, parts: {collection: [Item]}}}\n"
    assert of_resource("", entities=entities) == [
        (
            "nested-collection",
            "the collection 'parts' of entity 'Item' has no 'nest': all lists of one response are one list",
        )
    ]


def test_lint_what_others_need_should_be_fetched_alone() -> None:
    """An invalid required relation makes its holder unusable, so something must bring it back."""
    entities = "entities:\n  Item: {fields: {id: integer, maker: Maker}}\n  Maker: {fields: {id: integer}}\n"
    assert of_resource("", entities=entities) == [
        (
            "never-fetched-alone",
            "entity 'Item' needs 'Maker' in 'maker', but no endpoint reads one alone: "
            + "once it is invalid, nothing brings it back",
        )
    ]
    assert of_resource("endpoints: {maker: {path: /m, schema: Maker}}", entities=entities) == []
    assert of_resource("", entities=entities.replace("maker: Maker", "maker: Maker?")) == []


def test_lint_entity_in_an_object_is_a_copy() -> None:
    """It is decoded and no more; what only bodies hold is no copy of anything."""
    entities = "objects: {Line: {maker: Maker?, n: integer}}\nentities:\n  Maker: {fields: {id: integer}}\n"
    told = [
        (
            "entity-in-object",
            "the object 'Line' holds the entity 'Maker' in 'maker': an entity in an object is a copy, which no table "
            "knows",
        )
    ]
    with_lines = entities + "  Item: {fields: {id: integer, lines: [Line]}}\n"
    assert of_resource("endpoints: {maker: {path: /m, schema: Maker}}", entities=with_lines) == told
    plain = entities + "  Item: {fields: {id: integer}}\n"
    assert (
        of_resource("endpoints: {maker: {path: /m, schema: Maker}, l: {path: /l, schema: Line}}", entities=plain)
        == told
    )
    sent = "endpoints: {maker: {path: /m, schema: Maker}, l: {method: POST, path: /l, body: Line, schema: Maker}}"
    assert of_resource(sent, entities=plain) == []
    in_place = "endpoints: {maker: {path: /m, schema: Maker}, l: {path: /l, schema: {maker: Maker?}}}"
    assert of_resource(in_place, entities=plain.replace("objects: {Line: {maker: Maker?, n: integer}}\n", "")) == []


def test_lint_every_entity_of_a_union_should_have_its_discriminator() -> None:
    """One that has not is known by its place alone."""
    text = """
        entities:
          A: {fields: {id: integer, kind: {const: a}}}
          B: {fields: {id: integer}}
        resources:
          all: {path: '/all/:id', schema: {union: {a: A, b: B}, attribute: kind}}
        """
    assert advice(text) == [("union-field", "entity 'B' of a union lacks 'kind', which distinguishes it")]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "endpoints: {update: {options: {poll_frequency: 1m}}}",
            "'poll_frequency' of 'update' of resource 'items' has no effect: it changes something",
        ),
        (
            "endpoints: {get: {get_optimistic_response: 'python:m:f'}}",
            "'get_optimistic_response' of 'get' of resource 'items' has no effect: it changes nothing",
        ),
        (
            "pagination_field: page\nendpoints: {get_list: {schema: [Item]}}",
            "'pagination_field' of resource 'items' has no effect: no list holds a collection",
        ),
    ],
)
def test_lint_what_is_written_should_have_an_effect(keys: str, message: str) -> None:
    """An option at an endpoint that cannot use it is a misunderstanding."""
    assert of_resource(keys) == [("no-effect", message)]


def test_lint_inherited_option_is_no_misunderstanding() -> None:
    """The resource's polling reaches its mutations, where it simply does nothing."""
    assert of_resource("options: {poll_frequency: 1m}") == []


def test_lint_key_not_in_path_ambiguous_path_names_the_field() -> None:
    """An outer parameter with the key's name is never the key of what the path leads to."""
    text = """
        entities: {Export: {fields: {id: integer, title: string}}}
        resources:
          exports: {path: "/projects/:id/exports/:export_pk", schema: Export, members: [get, get_list, delete]}
        """
    message = (
        "the path of 'get' of resource 'exports' ends with ':export_pk', which is not the primary key 'id' of entity "
        "'Export'; ':id' before it is that of something else: the cache finds the entity by this URL alone"
    )
    assert advice(text) == [("key-not-in-path", message)]
    (problem,) = lint(load_text(HEAD + textwrap.dedent(text)), import_hooks=False)
    assert problem.hint == "write 'params: {export_pk: {field: id}}' if it is the field 'id'"
    assert problem.place.line == 6
    mapped = text.replace("schema:", "params: {export_pk: {field: id}}, schema:")
    assert advice(mapped) == []


@pytest.mark.parametrize(
    ("path", "keys", "found"),
    [
        ("/items/:id", "", False),
        ("/shops/:shop/items/:id", "", False),
        ("/items/:item", "", True),
        ("/items/:item", "params: {item: {field: id}}", False),
        ("/items/:item/last", "", False),
        ("/items/by-name/:name", "", True),
        ("/items/by-name/:name", "params: {name: {field: name}}", False),
    ],
)
def test_lint_key_not_in_path_last_parameter_counts(path: str, keys: str, found: bool) -> None:
    """It is the key, or `field` says which field it is; a path that ends otherwise says nothing about records."""
    text = f"""
        entities: {{Item: {{fields: {{id: integer, name: string}}}}}}
        resources:
          items:
            path: /items/:id
            schema: Item
            members: [get]
            endpoints: {{one: {{path: "{path}", {keys}}}}}
        """
    assert [code for code, _ in advice(text)] == ["key-not-in-path"] * found


def test_lint_key_not_in_path_compound_key() -> None:
    """The last parameter is a part of the key; what the others are not is another matter."""
    text = """
        entities: {Line: {pk: [order, number], fields: {order: integer, number: integer}}}
        resources: {lines: {path: "/orders/:order/lines/:%s", schema: Line, members: [get]}}
        """
    assert advice(text % "number") == []
    assert [code for code, _ in advice(text % "no")] == ["key-not-in-path"]


@pytest.mark.parametrize(
    ("member", "fits"),
    [
        ("title: string", True),
        ("title: integer", False),
        ("title: [string]", False),
        ("due: string", True),
        ("state: string", True),
        ("points: number", True),
        ("points: any", True),
        ("owner: integer", True),
        ("owner: string", False),
        ("owner: {object: {id: integer}}", True),
        ("assignees: [integer]", True),
        ("assignees: [string]", False),
        ("labels: [string]", False),
        ("labels: {one_of: [string, boolean]}", False),
        ("other: string", True),
        ("login: {type: string, field: owner}", False),
    ],
)
def test_lint_body_member_misfit_compares_json_kinds(member: str, fits: bool) -> None:
    """A member is compared with the field of its name; a reference may be sent as its key."""
    text = f"""
        enums: {{State: [open, closed]}}
        objects: {{Label: {{name: string}}}}
        entities:
          User: {{fields: {{id: integer, login: string}}}}
          Issue:
            fields:
              {{id: integer, title: string, due: date?, state: State, points: integer, owner: User?, assignees: [User],
              labels: [Label]}}
        resources:
          users: {{path: /users/:id, schema: User, members: [get]}}
          issues:
            {{path: /issues/:id, schema: Issue, members: [get, partial_update], optimistic: true, body: {{{member}}}}}
        """
    found = advice(text)
    assert [code for code, _ in found] == ([] if fits else ["body-member-misfit"])


def test_lint_body_member_misfit_names_member_and_field() -> None:
    """The message says what does not fit and what follows."""
    text = """
        entities: {Item: {fields: {id: integer, tags: [integer]}}}
        resources: {items: {path: /items/:id, schema: Item, members: [update], optimistic: %s, body: {tags: [string]}}}
        """
    message = (
        "the body member 'tags' of 'update' of resource 'items' has another type than the field 'tags' of entity "
        "'Item': it does not show before the server has responded"
    )
    assert advice(text % "true") == [("body-member-misfit", message)]
    assert advice(text % "false") == []


def test_lint_whole_list_should_not_be_polled_often() -> None:
    """Pages are for that."""
    assert of_resource("endpoints: {get_list: {options: {poll_frequency: 5s}}}") == [
        (
            "poll-whole-list",
            "'get_list' of resource 'items' fetches the whole list every 5000 ms while someone watches it",
        )
    ]
    assert of_resource("pagination_field: page\nendpoints: {get_list: {options: {poll_frequency: 5s}}}") == []
    assert of_resource("endpoints: {get_list: {options: {poll_frequency: 5m}}}") == []


def test_lint_where_there_are_pages_the_next_one_should_be_found() -> None:
    """`page`, `offset` and `skip` explain themselves; other fields need `pagination`."""
    assert of_resource("pagination_field: cursor") == [
        ("no-iterate", "'get_list' of resource 'items' has pages, but nothing says how 'iterate()' finds the next one")
    ]
    assert of_resource("pagination_field: skip") == []


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_lint_start_has_an_effect_where_pages_are_counted(style: PageStyle) -> None:
    """`start` is the first number; styles that send none have no use for it."""
    following = ", next: next" if style.needs_next else ""
    keys = f"pagination_field: p\npagination: {{style: {style.name}, start: 0{following}}}\n"
    if style.needs_next:
        keys += "endpoints: {get_list: {schema: {items: {collection: [Item]}, next: string?}}}\n"
    found = [code for code, _ in of_resource(keys)]
    assert found == ([] if style.is_counted else ["no-effect"])


def test_lint_search_parameter_should_have_a_string() -> None:
    """A mapping has none, unless an endpoint class encodes it."""
    keys = "search_params: {where: {values: string}}\nmembers: [get_list]\n"
    assert of_resource(keys) == [
        ("search-type", "the search parameter 'where' of 'get_list' of resource 'items' has no text in a URL")
    ]
    assert of_resource(keys + "endpoint: python:m:Base\n") == []


def test_lint_post_is_not_sent_again() -> None:
    """Retries of one endpoint that may not be repeated say nothing; those of a whole resource speak of its reads."""
    assert of_resource("endpoints: {create: {options: {retries: 2}}, partial_update: {options: {retries: 1}}}") == [
        (
            "retries-no-effect",
            "'create' of resource 'items' has 'retries', which has no effect: a POST is not sent again, since it may "
            "have been carried out",
        ),
        (
            "retries-no-effect",
            "'partial_update' of resource 'items' has 'retries', which has no effect: a PATCH is not sent again, since "
            "it may have been carried out",
        ),
    ]
    assert (
        of_resource("options: {retries: 2}\nendpoints: {get: {options: {retries: 3}}, create: {deprecated: x}}") == []
    )
    assert of_resource("endpoints: {create: {options: {retries: 0}}, update: {options: {retries: 2}}}") == []


def test_lint_search_parameter_should_be_none_of_the_path() -> None:
    """That of a resource which its list's path has as well is never sent."""
    text = (
        "resources:\n  items:\n    path: /shops/:shop_id/items/:id\n    search_params: {shop_id: integer?}\n"
        "    schema: {entity: Item, fields: {id: integer, shop_id: integer}}\n"
    )
    assert advice(text) == [
        (
            "shadowed-parameter",
            "the search parameter 'shop_id' of resource 'items' is never sent with 'get_list': its path has a "
            "parameter of that name",
        )
    ]


def test_lint_search_parameter_of_a_list_should_name_a_field() -> None:
    """By its own name or that on the wire; pages, their size and what filters nothing are no fields."""
    assert of_resource("search_params: {title: string?, heading: string?, by: {type: string?, wire: order_by}}") == [
        (
            "search-no-field",
            "the search parameter 'heading' of 'get_list' of resource 'items' names no field of 'Item': a list "
            "requested with it does not know which records it holds and is fetched again",
        )
    ]
    named = "search_params: {a: {type: string?, field: title}, b: {type: string?, filter: unknown}}"
    assert of_resource(named) == []
    keys = "search_params: {sort: {type: string?, wire: _sort}, page: integer?, limit: integer?}\n"
    pages = "pagination_field: page\npagination: {style: page, size: {param: limit, value: 5}}\n"
    assert of_resource(keys + pages + "collection: {non_filter_arguments: [sort]}\n") == []


def test_lint_what_is_deprecated_should_not_be_used() -> None:
    """By entities, resources and endpoints that are not deprecated themselves."""
    text = """
        entities:
          Old: {deprecated: use New, fields: {id: integer}}
          New: {fields: {id: integer, old: Old?, older: {type: Old?, deprecated: true}}}
          Newer: {extends: Old}
        resources:
          news:
            path: /news/:id
            schema: New
            endpoints: {a: {path: /a, deprecated: true}, b: {extends: a, path: /b}}
          olds: {path: '/olds/:id', schema: Old}
          gone: {path: '/gone/:id', schema: Newer, deprecated: true}
        """
    found = lint(loaded(text), import_hooks=False)
    assert [(problem.code, problem.message, problem.hint) for problem in found] == [
        ("deprecated-use", "field 'old' of entity 'New' uses entity 'Old', which is deprecated", "use New"),
        ("deprecated-use", "entity 'Newer' uses entity 'Old', which is deprecated", "use New"),
        ("deprecated-use", "'b' of resource 'news' extends 'a', which is deprecated", ""),
        ("deprecated-use", "resource 'olds' uses entity 'Old', which is deprecated", "use New"),
    ]


# ------------------------------------------------------------------------------------------------------------ examples


@pytest.mark.parametrize(
    ("examples", "messages"),
    [
        ("get: {params: {id: 1}, response: {id: 1, title: x, orderBy: y}}", []),
        ("get: {params: {id: 1}, response: {id: 1, order_by: y}}", []),
        ("get_list: {params: {sortKey: x}, response: [{id: 1}]}", []),
        ("delete: {params: {id: 1}, response: null}", []),
        ("push: {body: {title: x}, response: {id: 1}}", []),
        ("get: {response: {id: x}}", ["response.id: an integer is expected, this is 'x'"]),
        ("get: {response: {titel: x}}", ["response.titel: entity 'Item' has no field 'titel'"]),
        (
            "get: {response: {order_by: x, orderBy: y}}",
            ["response.orderBy: the field 'order_by' is given twice, by both its names"],
        ),
        ("get_list: {response: [{id: 1}, {id: 2, title: 3}]}", ["response.1.title: a string is expected, this is 3"]),
        ("get_list: {response: {id: 1}}", ["response: a list is expected, this is a mapping"]),
        ("get: {params: {ident: 1}}", ["the parameter 'id' is missing", "the endpoint has no parameter 'ident'"]),
        ("get: {body: {title: x}}", ["it has a body, but the endpoint takes none"]),
        ("push: {body: {titel: x}}", ["body.titel: entity 'Item' has no field 'titel'"]),
    ],
)
def test_lint_example_should_fit(examples: str, messages: list[str]) -> None:
    """Parameters, body and response, under Python or wire names, each part at its place."""
    told = "collection: {non_filter_arguments: [sort_key]}\n"
    keys = f"search_params: {{sort_key: string?}}\n{told}examples: {{{examples}}}\n"
    found = of_resource(keys, HEAD + "wire_names: camelCase\n")
    assert [code for code, _ in found] == ["example-misfit"] * len(messages)
    assert [message.partition("does not fit: ")[2] for _, message in found] == messages


def test_lint_misfit_is_marked_where_it_stands() -> None:
    """The key of an unknown field, the value of another type."""
    text = ITEM + "resources:\n  items:\n    path: /items/:id\n    schema: Item\n    examples:\n"
    text += "      get: {response: {id: 1, titel: x, title: 2}}\n"
    places = [(problem.place.line, problem.place.column) for problem in lint(loaded(text))]
    assert places == [(11, 31), (11, 48)]


def spec_with(text: str) -> d.Spec:
    found = loaded(text, HEAD + "wire_names: camelCase\n").declaration
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("format", "value", "expected"),
    [
        ("unix", "1700000000", ""),
        ("unix", "1700000000.25", ""),
        ("unix_ms", "1700000000000", ""),
        ("rfc2822", "'Tue, 14 Nov 2023 22:13:20 GMT'", ""),
        ("unix", "'2023-11-14T22:13:20Z'", ""),
        ("rfc2822", "'2023-11-14T22:13:20Z'", ""),
        ("unix", "yesterday", "seconds since 1970 such as 1580472000, or a date with a time such as "),
        ("unix_ms", "true", "milliseconds since 1970 such as 1580472000000, or a date with a time such as "),
        ("rfc2822", "5", "a date such as 'Fri, 31 Jan 2020 12:00:00 GMT', or a date with a time such as "),
    ],
)
def test_lint_examples_datetime_with_format_takes_both_forms(format: str, value: str, expected: str) -> None:
    """An example may have what the API sends, or RFC 3339 string."""
    item = f"entities:\n  Item:\n    fields: {{id: integer, at: {{type: datetime, format: {format}}}}}\n"
    found = of_resource(f"examples: {{get: {{response: {{id: 1, at: {value}}}}}}}\n", entities=item)
    texts = [text for code, text in found if code == "example-misfit"]
    assert len(texts) == bool(expected)
    assert all(f"at: {expected}" in text for text in texts)


def test_lint_unknown_value_of_an_enum_is_no_misfit_in_an_example() -> None:
    """Enums are open: a server may know more values."""
    spec = spec_with("enums: {Status: [a]}\n" + ITEM)
    assert list(validation_errors(spec, d.EnumRef("Status"), "zz", "example")) == []
    assert [misfit.message for misfit in validation_errors(spec, d.EnumRef("Status"), True, "example")] == [
        "enum 'Status' has no value true"
    ]


# --------------------------------------------------------------------------------------------------------------- hooks

HOOKS = '''
import restencil

print("imported code may print")


class Base(restencil.RestEndpoint):
    """A base class."""


class Collection(restencil.schema.Collection):
    """A collection."""


class Other:
    """No endpoint."""


def one(value):
    return value


def two(value, params):
    return value


def any_number(*args):
    return args


def three(value, params, body):
    return value


text = "no function"
'''


def hooks(tmp_path: Path, keys: str, code: str = HOOKS) -> list[Problem]:
    """The advice about the hand-written code that a resource names."""
    (tmp_path / "shop_hooks.py").write_text(code)
    text = ITEM + "resources:\n  items:\n    path: /items/:id\n    schema: Item\n" + textwrap.indent(keys, "    ")
    return list(lint(loaded(text), python_path=[tmp_path, ROOT / "runtime"]))


@pytest.mark.parametrize(
    "keys",
    [
        "endpoint: python:shop_hooks:Base\n",
        "collection: python:shop_hooks:Collection\n",
        "endpoints: {get: {process: 'python:shop_hooks:two'}}\n",
        "endpoints: {update: {process: 'python:shop_hooks:three'}}\n",
        "endpoints: {get: {process: 'python:shop_hooks:any_number'}}\n",
        "endpoints: {a: {path: /a, process: 'python:shop_hooks:one'}}\n",
        "options: {error_policy: 'python:shop_hooks:one'}\n",
    ],
)
def test_lint_hand_written_code_that_fits_is_fine(tmp_path: Path, keys: str) -> None:
    """Classes of the right kind, functions that take what they are called with."""
    assert hooks(tmp_path, keys) == []


@pytest.mark.parametrize(
    ("keys", "code", "message"),
    [
        (
            "endpoint: python:shop_hooks:Nothing\n",
            "hook-missing",
            "'endpoint' of resource 'items': shop_hooks has no Nothing",
        ),
        (
            "endpoint: python:no_such_module:Base\n",
            "hook-missing",
            "'endpoint' of resource 'items': no_such_module cannot be imported: ModuleNotFoundError: "
            + "No module named 'no_such_module'",
        ),
        (
            "endpoint: python:shop_hooks:Other\n",
            "hook-kind",
            "'endpoint' of resource 'items': shop_hooks:Other is no class that extends RestEndpoint",
        ),
        (
            "collection: python:shop_hooks:Base\nmembers: [get_list]\n",
            "hook-kind",
            "'collection' of 'get_list' of resource 'items': shop_hooks:Base is no class that extends Collection",
        ),
        (
            "endpoints: {get: {process: 'python:shop_hooks:text'}}\n",
            "hook-kind",
            "'process' of 'get' of resource 'items': text cannot be called",
        ),
        (
            "endpoints: {get: {process: 'python:shop_hooks:one'}}\n",
            "hook-arity",
            "'process' of 'get' of resource 'items': one(value) is called with 2 arguments: "
            + "too many positional arguments",
        ),
        (
            "endpoints: {update: {process: 'python:shop_hooks:two'}}\n",
            "hook-arity",
            "'process' of 'update' of resource 'items': two(value, params) is called with 3 arguments: "
            + "too many positional arguments",
        ),
        (
            "endpoints: {a: {path: /a, process: 'python:shop_hooks:two'}}\n",
            "hook-arity",
            "'process' of 'a' of resource 'items': two(value, params) is called with 1 argument: "
            + "missing a required argument: 'params'",
        ),
    ],
)
def test_lint_hand_written_code_that_does_not_fit_is_reported(
    tmp_path: Path, keys: str, code: str, message: str
) -> None:
    """What is missing, what is something else, what takes another number of arguments."""
    (problem,) = hooks(tmp_path, keys)
    assert (problem.code, problem.message) == (code, message)
    assert problem.place.line > 0


def test_lint_what_many_name_and_is_missing_is_reported_once(tmp_path: Path) -> None:
    """A module that cannot be imported is one thing to do, with every place that names something of it."""
    keys = (
        "endpoint: python:no_such_module:Base\nendpoints:\n"
        "  get: {process: 'python:no_such_module:one'}\n"
        "  a: {path: /a, process: 'python:no_such_module:two'}\n"
    )
    (problem,) = hooks(tmp_path, keys)
    assert problem.message.startswith("'endpoint' of resource 'items': no_such_module cannot be imported: ")
    assert problem.hint == "write it, or correct the references"
    assert [(related.place.line - problem.place.line, related.message) for related in problem.related] == [
        (2, "'process' of 'get' of resource 'items' names it too"),
        (3, "'process' of 'a' of resource 'items' names it too"),
    ]


@pytest.mark.parametrize(("name", "code"), [("two", "hook-arity"), ("nothing", "hook-missing")])
def test_lint_what_fails_alike_in_one_endpoint_is_shown_at_each_place(tmp_path: Path, name: str, code: str) -> None:
    """Two references that serve for the same and name the same function are two lines to correct."""
    union = f"{{union: {{x: Item}}, attribute: 'python:shop_hooks:{name}'}}"
    found = hooks(tmp_path, f"endpoints:\n  a:\n    path: /a\n    schema:\n      b: {union}\n      c: {union}\n")
    assert {problem.code for problem in found} == {code}
    places = [place for problem in found for place in (problem.place, *(other.place for other in problem.related))]
    assert [place.line for place in places] == [14, 15]


def test_lint_code_that_ends_the_interpreter_is_reported(tmp_path: Path) -> None:
    """Importing hand-written code can end its own process only."""
    (problem,) = hooks(tmp_path, "endpoint: python:shop_hooks:Base\n", "import os\nos._exit(0)\n")
    assert problem.message == "'endpoint' of resource 'items': its import ended the interpreter"


def test_lint_reference_is_judged_once(tmp_path: Path) -> None:
    """What many endpoints inherit is one problem at one place."""
    assert len(hooks(tmp_path, "options: {error_policy: 'python:shop_hooks:two'}\n")) == 1


def test_lint_code_is_imported_on_request_only(tmp_path: Path) -> None:
    """Nothing of it enters this process, and nothing at all is imported if that is not wanted."""
    before = sys.modules.get("shop_hooks")
    hooks(tmp_path, "endpoint: python:shop_hooks:Base\n")
    assert sys.modules.get("shop_hooks") is before
    text = ITEM + "resources: {items: {path: '/i/:id', schema: Item, endpoint: 'python:nowhere:Base'}}\n"
    assert lint(loaded(text), import_hooks=False) == ()


def test_lint_endpoint_called_create_is_one_of_its_own() -> None:
    """Without a list, or in a group, `create` inherits from its resource, and lint has nothing to look up."""
    found = load_text(
        "restencil: 1\npackage: shop\nurl_prefix: https://shop.example\nresources:\n"
        "  calls:\n    endpoints:\n      create: {method: POST, path: /calls}\n"
    )
    assert lint(found) == ()


# -- types -------------------------------------------------------------------------------------------------------------

UNIONS = """
objects:
  A: {a: string}
  B: {a: string, b: string}
  C: {kind: {const: c}, a: string}
  O: {b: string?}
entities:
  Item: {fields: {id: integer, one: ONE}}
resources:
  items: {path: /items/:id, schema: Item}
"""


@pytest.mark.parametrize(
    ("union", "expected"),
    [
        ("{one_of: [[string], [integer]]}", ["a list and a list"]),
        ("{one_of: [A, B]}", ["'A' and 'B'"]),
        ("{one_of: [B, A]}", []),
        ("{one_of: [A, C, {values: integer}]}", []),
        ("{one_of: [{values: integer}, A]}", ["a mapping and 'A'"]),
        ("{one_of: [O, A]}", ["'O' and 'A'"]),
        ("{one_of: [A, B], attribute: a}", []),
    ],
)
def test_lint_types_of_a_union_that_cannot_be_distinguished_are_advised_against(
    union: str, expected: list[str]
) -> None:
    """Two lists, and an object each of whose values is taken for one that is written before it."""
    found = [message for code, message in advice(UNIONS.replace("ONE", union)) if code == "union-order"]
    tail = "of a union cannot be distinguished: the first one written is taken"
    assert found == [f"{pair} {tail}" for pair in expected]


def test_lint_type_of_a_union_has_the_field_that_reports_it_apart() -> None:
    """As the entities of the form `union` have."""
    found = [message for _, message in advice(UNIONS.replace("ONE", "{one_of: [C, A], attribute: kind}"))]
    assert "object 'A' of a union lacks 'kind', which distinguishes it" in found


def test_lint_response_whose_path_misses_what_a_field_comes_from_is_advised_against() -> None:
    """Once for each path, however many members it has."""
    found = advice("""
        entities:
          Issue: {pk: [owner, number], fields: {owner: {type: string, param: owner}, number: integer}}
        resources:
          issues:
            path: /repos/:owner/issues/:number
            schema: Issue
            endpoints: {mine: {path: /issues, schema: {issues: [Issue]}}}
        """)
    assert found == [
        (
            "param-out-of-reach",
            "'mine' of resource 'issues' returns 'Issue', whose field 'owner' comes from the path parameter "
            "'owner', which its path lacks: a record that has no such member has no pk",
        )
    ]


def test_lint_path_that_names_the_pk_by_other_words_finds_what_is_deleted() -> None:
    """`field` of a parameter and `param` of a field say which field a parameter is."""
    found = advice("""
        objects: {Meta: {name: string}}
        entities:
          Pod: {pk: meta.name, fields: {meta: Meta}}
          Issue: {pk: [of, number], fields: {of: {type: string, param: owner}, number: integer}}
        resources:
          pods: {path: "/pods/:pod", schema: Pod, params: {pod: {field: meta.name}}}
          issues: {path: "/repos/:owner/issues/:number", schema: Issue}
        """)
    assert found == []


@pytest.mark.parametrize(
    ("param", "expected"),
    [
        (
            "api_token: string?",
            [("secret-looking", "the header parameter 'api_token' of 'get' of resource 'items' looks ")],
        ),
        ("api_token: {type: string, secret: true}", []),
        (
            "if_none_match: string?",
            [("header-in-key", "the header parameter 'if_none_match' of 'get' of resource 'items'")],
        ),
        (
            "x_request_id: string?",
            [("header-in-key", "the header parameter 'x_request_id' of 'get' of resource 'items' ")],
        ),
        ("x_request_id: {type: string, in_key: false}", []),
        (
            "tenant: string?",
            [("header-partitions", "the header parameter 'tenant' of 'get' of resource 'items' has a st")],
        ),
        ("tenant: {type: string, partition: true}", []),
        ("tenant: {type: string, partition: false}", []),
    ],
)
def test_lint_headers_that_are_arguments_are_looked_at(param: str, expected: list[tuple[str, str]]) -> None:
    """Those that look like secrets, that no two calls have in common, and that have a store of their own unasked."""
    found = of_resource(f"header_params: {{{param}}}\n")
    assert [
        (code, message[: len(start)]) for (code, message), (_, start) in zip(found, expected, strict=True)
    ] == expected


def test_lint_styled_search_parameter_has_a_string() -> None:
    """An object with a style can be sent; without one it has no text."""
    entities = "objects: {Range: {a: integer}}\n" + ITEM
    keys = "search_params: {range: {type: Range, optional: true%s}}\ncollection: {non_filter_arguments: [range]}\n"
    assert "search-type" in [code for code, _ in of_resource(keys % "", entities=entities)]
    assert of_resource(keys % ", style: deep", entities=entities) == []


def test_lint_what_a_storage_leaves_out_by_its_name_is_named() -> None:
    """Fields of entities and objects, keys too; not where the spec says `persist`, and not of bodies."""
    text = """
        auth: {query: app_id}
        objects: {Card: {number: string, token: string}}
        entities:
          Base: {fields: {id: integer, apiKey: string, appId: string, secret: {type: string, persist: true}}}
          Below: {extends: Base, fields: {card: Card, password: {type: string, write_only: true}}}
          Never: {persist: false, fields: {id: integer, token: string}}
          NorThis: {extends: Never, fields: {sig: string}}
          Session: {pk: token, fields: {token: string}}
        resources:
          a: {path: /a/:id, schema: Below}
          b: {path: /b/:id, schema: NorThis}
          c: {path: /c/:token, schema: Session, options: {persist: true}}
        """
    lost = "has the name of a secret, so no storage keeps it, and what lacks it there is fetched anew"
    assert [found for found in advice(text) if found[0] == "secret-not-stored"] == [
        ("secret-not-stored", f"the field 'token' of object 'Card' {lost}"),
        ("secret-not-stored", f"the field 'apiKey' of entity 'Base' {lost}"),
        ("secret-not-stored", f"the field 'appId' of entity 'Base' {lost}"),
        (
            "secret-not-stored",
            "the pk 'token' of entity 'Session' has the name of a secret, so no storage keeps these entities",
        ),
    ]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("endpoints: {login: {path: /session, method: POST, schema: any}}", ["login"]),
        ("endpoints: {enter: {path: /oauth2/token, method: POST, schema: any}}", ["enter"]),
        ("endpoints: {newAuth: {path: /x, method: POST, schema: any, options: {persist: false}}}", []),
        ("endpoints: {newAuth: {path: /x, method: POST, schema: any}}", ["newAuth"]),
        ("endpoints: {authors: {path: /authors, schema: any}}", []),
        ("endpoints: {token: {path: /token, method: DELETE}}", []),
        ("endpoints: {one: {path: /token, schema: any}, two: {path: /token, method: POST, schema: any}}", ["one"]),
    ],
)
def test_lint_endpoints_that_seem_to_answer_with_credentials_are_named(keys: str, told: list[str]) -> None:
    """By the words of their path or name; once for a path, and not where the spec says `persist`."""
    text = "resources:\n  things:\n    " + keys + "\n"
    found = [message.split("'")[1] for code, message in advice(text) if code == "stored-credential"]
    assert [name.replace("new_auth", "newAuth") for name in found] == told


def test_lint_knows_the_names_that_the_runtime_keeps_out() -> None:
    """Both have one list."""
    assert SECRETS == KEPT_OUT
