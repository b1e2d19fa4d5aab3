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


def test_lint_knows_the_names_that_the_runtime_keeps_out() -> None:
    """Both have one list."""
    assert SECRETS == KEPT_OUT
