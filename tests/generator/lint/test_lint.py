"""The registry of advice, and advice about hand-written code; tests/generator/advice shows what else is advised."""

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
    """The registry names a check for each code of advice; those of hand-written code need its import."""
    of_hooks = {"hook-missing", "hook-kind", "hook-arity"}
    assert {check.code for check in CHECKS} == set(ADVICE) - of_hooks


def test_lint_example_of_the_project_is_as_advised() -> None:
    """Nothing is to be said about specs/blog.yaml."""
    assert lint(load_spec(ROOT / "specs" / "blog.yaml")) == ()


def test_lint_spec_with_mistakes_gets_no_advice() -> None:
    """The mistakes come first."""
    assert lint(load_text("restencil: 1\n")) == ()


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
            "'endpoint' of resource 'items': shop_hooks:Other is not a class that extends RestEndpoint",
        ),
        (
            "collection: python:shop_hooks:Base\nmembers: [get_list]\n",
            "hook-kind",
            "'collection' of 'get_list' of resource 'items': shop_hooks:Base is not a class that extends Collection",
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


def test_lint_knows_the_names_that_the_runtime_keeps_out() -> None:
    """Both have one list."""
    assert SECRETS == KEPT_OUT
