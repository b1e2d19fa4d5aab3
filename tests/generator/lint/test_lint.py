"""The registry of advice; tests/generator/advice shows what is advised."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from restencil.persistence.row_codec import SECRETS as KEPT_OUT
from restencil_generator.diagnostics.codes import ADVICE
from restencil_generator.lint.registry import CHECKS
from restencil_generator.lint.run import lint
from restencil_generator.lint.secrets import SECRETS
from restencil_generator.spec.load import Loaded, load_spec, load_text
from restencil_generator.spec.page_styles import STYLES, PageStyle

ROOT = Path(__file__).parents[3]
HEAD = "restencil: 1\npackage: shop\n"
ITEM = "entities:\n  Item:\n    fields: {id: integer, title: string, order_by: string}\n"


def loaded(text: str, head: str = HEAD) -> Loaded:
    found = load_text(head + textwrap.dedent(text), "shop.yaml")
    assert found.declaration is not None, found.problems
    return found


def test_lint_registry_every_code_of_advice_has_a_check() -> None:
    """The registry names a check for each code of advice."""
    assert {check.code for check in CHECKS} == set(ADVICE)


def test_lint_example_of_the_project_is_as_advised() -> None:
    """Nothing is to be said about specs/blog.yaml."""
    assert lint(load_spec(ROOT / "specs" / "blog.yaml")) == ()


@pytest.mark.parametrize("style", STYLES.values(), ids=list(STYLES))
def test_lint_start_has_an_effect_where_pages_are_counted(style: PageStyle) -> None:
    """`start` is the first number; styles that send none have no use for it."""
    following = ", next: next" if style.needs_next else ""
    spec = loaded(f"""{ITEM}
resources:
  items:
    path: /items/:id
    schema: Item
    pagination_field: p
    pagination: {{style: {style.name}, start: 0{following}}}
    endpoints: {{get_list: {{schema: {{items: {{collection: [Item]}}, next: string?}}}}}}
""")
    found = [problem.code for problem in lint(spec)]
    assert found == ([] if style.is_counted else ["no-effect"])


def test_lint_endpoint_called_create_is_one_of_its_own() -> None:
    """Without a list, or in a group, `create` inherits from its resource, and lint has nothing to look up."""
    found = load_text(
        "restencil: 1\npackage: shop\nurl_prefix: https://shop.example\nresources:\n"
        "  calls:\n    endpoints:\n      create: {method: POST, path: /calls}\n"
    )
    assert lint(found) == ()


def at_items(keys: str) -> str:
    """A spec whose resource `items` has these keys, written in braces."""
    fields = "{id: integer, title: string, state: State, due: datetime, owner: User}"
    return (
        "enums: {State: [open]}\nobjects: {Meta: {uid: integer}}\nentities:\n"
        f"  User: {{pk: meta.uid, fields: {{meta: Meta}}}}\n  Item: {{fields: {fields}}}\n"
        f"resources:\n  items: {{path: /items/:id, schema: Item, {keys}}}\n"
    )


def with_entities(entities: str, resources: str = "") -> str:
    """A spec with these entities and resources, written in braces."""
    objects = (
        "{A: {kind: {const: 1}}, B: {kind: {const: true}}, C: {c: string},"
        " D: {c: string, d: {type: string, write_only: true}}}"
    )
    return f"objects: {objects}\nentities: {{{entities}}}\nresources: {{{resources}}}\n"


NUMBERED = "Item: {pk: [owner, number], fields: {owner: {type: string, param: owner}, number: integer}}"
BY_SLUG = "items: {path: '/items/:slug', schema: {entity: Item, fields: {id: integer}}"
OPTIMISTIC = "members: [update], optimistic: true, endpoints: {update: {body: "
POST = "endpoints: {a: {method: POST, path: /a, "


@pytest.mark.parametrize(
    ("code", "text"),
    [
        pytest.param(
            "body-shares-key",
            at_items(f"endpoint: 'python:m:C', {POST}side_effect: false, body: {{q: string}}, schema: [Item]}}}}"),
            id="an endpoint class makes the key",
        ),
        pytest.param(
            "no-effect",
            at_items(
                f"{POST}get_optimistic_response: 'python:m:f'}}, b: {{extends: a, side_effect: false, path: /b}}}}"
            ),
            id="a read inherits what it cannot use",
        ),
        pytest.param(
            "shared-key",
            with_entities("A1: {abstract: true, key: K, fields: {id: integer}}, B1: {key: K, fields: {id: integer}}"),
            id="an abstract entity has no table",
        ),
        pytest.param(
            "shared-key",
            with_entities("A1: {fields: {id: integer}}, B1: {extends: A1, key: A1}, C1: {extends: B1, key: A1}"),
            id="an entity extends one that extends another",
        ),
        pytest.param(
            "nested-collection",
            with_entities("Item: {fields: {id: integer, parts: {collection: [Item], nest: {item: id}}}}"),
            id="a collection has nest",
        ),
        pytest.param(
            "example-misfit",
            at_items("endpoints: {get: {process: 'python:m:f'}}, examples: {get: {response: {id: x}}}"),
            id="a function processes the response",
        ),
        pytest.param(
            "example-misfit",
            at_items("endpoint: 'python:m:C', examples: {get: {response: {id: x}}}"),
            id="an endpoint class reads the response",
        ),
        pytest.param("example-misfit", at_items("examples: {delete: {response: gone}}"), id="any response of a delete"),
        pytest.param(
            "header-in-key",
            at_items(f"{POST}header_params: {{x_request_id: string}}}}}}"),
            id="a change has no key",
        ),
        pytest.param(
            "header-partitions",
            "header_params: {x_tenant: {type: string, optional: true, auto: uuid}}",
            id="the client makes the value",
        ),
        pytest.param(
            "secret-looking",
            at_items(
                f"{POST}header_params: {{k_token: {{type: string, optional: true, in_key: false, auto: uuid}}}}}}}}"
            ),
            id="the client makes the key",
        ),
        pytest.param(
            "key-not-in-path", with_entities("", f"{BY_SLUG}, singleton: true}}"), id="there is one for each path"
        ),
        pytest.param(
            "delete-cannot-find-entity",
            with_entities("", f"{BY_SLUG}, members: [delete]}}"),
            id="key-not-in-path says it of a delete",
        ),
        pytest.param(
            "key-not-in-path",
            with_entities(
                "Item: {fields: {id: {type: integer, param: number}}}",
                "items: {path: '/items/:number', schema: Item, members: [get]}",
            ),
            id="the pk is from the path",
        ),
        pytest.param(
            "body-member-misfit", at_items(f"{OPTIMISTIC}{{form: {{title: integer}}}}}}}}"), id="text of forms"
        ),
        pytest.param("body-member-misfit", at_items(f"{OPTIMISTIC}{{due: number}}}}}}"), id="a number as datetime"),
        pytest.param("body-member-misfit", at_items(f"{OPTIMISTIC}{{owner: integer}}}}}}"), id="a pk in an object"),
        pytest.param(
            "search-no-field",
            at_items("search_params: {q: string?}, collection: 'python:m:C'"),
            id="a collection class decides",
        ),
        pytest.param(
            "stored-credential",
            at_items("endpoints: {revoke: {path: /token, method: DELETE, schema: Item}}"),
            id="a delete returns none",
        ),
        pytest.param(
            "stored-credential",
            "resources: {a: {endpoints: {told: {path: /token, content: text}}}}",
            id="text is no record",
        ),
        pytest.param(
            "union-order",
            with_entities("Item: {fields: {id: integer, a: {one_of: [A, B]}}}"),
            id="1 and true are two constants",
        ),
        pytest.param(
            "unused",
            "auth: {schemes: {token: {bearer: true}, key: {header: X}}, use: [token]}\n"
            + at_items(f"{POST}auth: [key]}}}}"),
            id="an endpoint uses a scheme",
        ),
    ],
)
def test_lint_has_nothing_to_say_where(code: str, text: str) -> None:
    """Each is next to what the code is about, and is none of it."""
    assert [problem.message for problem in lint(loaded(text)) if problem.code == code] == []


@pytest.mark.parametrize(
    ("code", "text", "message"),
    [
        pytest.param(
            "key-not-in-path",
            with_entities("", f"{BY_SLUG}, members: [delete]}}"),
            "the path of 'delete' of resource 'items' ends with ':slug'",
            id="a delete invalidates another key",
        ),
        pytest.param(
            "example-misfit",
            at_items("examples: {delete: {response: {title: 1}}}"),
            "the example of 'delete' of resource 'items' does not fit: response.title",
            id="a delete returns the record",
        ),
        pytest.param(
            "body-member-misfit",
            at_items(f"{OPTIMISTIC}{{state: integer}}}}}}"),
            "the body member 'state' of 'update' of resource 'items' has another type",
            id="an enum has the types of its members",
        ),
        pytest.param(
            "param-out-of-reach",
            with_entities(
                NUMBERED,
                "items: {path: '/:owner/:number', schema: Item, endpoints: {mine: {path: /m, schema: [Item]},"
                " ours: {path: /m, method: POST, side_effect: false, schema: [Item]}}}",
            ),
            "'mine' of resource 'items' returns 'Item', whose field 'owner'",
            id="two endpoints have one path",
        ),
        pytest.param(
            "search-no-field",
            at_items(
                "members: [get_list], endpoints: {clear: {method: POST, path: /c, schema: any}}, "
                "search_params: {a: string?, b: string?, c: string?, d: string?, e: string?}"
            ),
            "lists of resource 'items' that are requested with 'a', 'b', 'c' and 2 more are requested again after each "
            "change of 'Item'",
            id="a change without a record is one of the resource",
        ),
        pytest.param(
            "plain-http",
            "auth: {bearer: true}\n"
            + with_entities(
                "Item: {fields: {id: integer}}",
                ", ".join(
                    f"{name}: {{path: /{name}/:id, schema: Item, url_prefix: 'http://x.example'}}" for name in "xy"
                ),
            ),
            "the secret of resource 'x' is sent unencrypted: http://x.example",
            id="two resources have one prefix",
        ),
        pytest.param(
            "secret-looking",
            "headers: {X-Token: a}\n" + at_items("headers: {X-Token: b}"),
            "the header 'X-Token' of the spec looks like a secret",
            id="a resource overwrites a header",
        ),
        pytest.param(
            "secret-not-stored",
            with_entities("Item: {fields: {id: integer, password: {type: string, wire: x1}}}"),
            "the field 'password' of entity 'Item' has the name of a secret",
            id="the name in Python counts",
        ),
        pytest.param(
            "stored-credential",
            "resources: {a: {endpoints: {told: {path: /token}}}}",
            "'told' of resource 'a' seems to return a credential",
            id="a response without a schema is kept",
        ),
        pytest.param(
            "union-order",
            with_entities("Item: {fields: {id: integer, a: {one_of: [[string], [integer], [boolean]]}}}"),
            "a list and a list of a union cannot be distinguished",
            id="three lists are one finding",
        ),
        pytest.param(
            "union-order",
            with_entities("Item: {fields: {id: integer, a: {one_of: [D, C]}}}"),
            "'D' and 'C' of a union cannot be distinguished",
            id="no response has what is only written",
        ),
    ],
)
def test_lint_reports_once(code: str, text: str, message: str) -> None:
    """One finding for all that have one cause."""
    (found,) = [problem.message for problem in lint(loaded(text)) if problem.code == code]
    assert found.startswith(message)


def test_lint_parameter_of_an_example_is_proposed() -> None:
    """By the names of the endpoint's parameters."""
    hints = [problem.hint for problem in lint(loaded(at_items("examples: {get: {params: {idd: 1}}}")))]
    assert "did you mean 'id'?" in hints


def test_lint_knows_the_names_that_the_runtime_keeps_out() -> None:
    """Both have one list."""
    assert SECRETS == KEPT_OUT
