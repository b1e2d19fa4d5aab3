"""The commands that explain specs: `lint`, `explain` and `schema`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from restencil_generator.cli.console import Console, Exit
from restencil_generator.cli.options import command, format_option, specs_alone
from restencil_generator.exceptions import Failure

if TYPE_CHECKING:
    from restencil_generator.project.config import Project


@command("Report errors and warnings in specs.", specs_alone, format_option)
def lint(console: Console, project: Callable[[], Project]) -> Exit:
    """Report errors in specs, and warnings about specs and caching.

    The exit code is 1 if there are warnings, and 2 if a spec has errors.

    \b
    Examples:
      restencil lint
      restencil lint specs/blog.yaml --format json
    """
    from restencil_generator.diagnostics.model import has_errors
    from restencil_generator.lint.run import advise

    specs = project().specs
    advice = advise(specs)
    console.problems(advice.problems, advice.sources)
    if not advice.problems and console.form == "text":
        many = len(specs)
        console.say(f"{many} {'spec' if many == 1 else 'specs'} checked, {console.style('no issues', 'green')}")
    if has_errors(advice.problems):
        return Exit.INVALID
    return Exit.FINDINGS if advice.problems else Exit.SUCCESS


@command("Explain the code of an error or warning.", click.argument("code", metavar="CODE"))
def explain(console: Console, code: str) -> Exit:
    """Explain the code of an error, warning or change: its rule, its cause, and how to fix it.

    Codes are in brackets after `error`, `warning` or `note`, and in the output of --format json and sarif.

    \b
    Examples:
      restencil explain unknown-type
      restencil explain enum-value-removed
    """
    from restencil_generator.diagnostics.explanations import explained
    from restencil_generator.diagnostics.model import did_you_mean

    known = explained()
    if code not in known:
        hint = did_you_mean(code, known) or "codes are in brackets after 'error', 'warning' or 'note'"
        raise Failure(f"there is no code {code!r}; {hint}")
    console.say(known[code].text, end="")
    return Exit.SUCCESS


@command("Print the JSON Schema of the spec language.")
def schema(console: Console) -> Exit:
    """Print the JSON Schema (draft 2020-12) of the spec language, for completion in editors.

    \b
    Examples:
      restencil schema > restencil.schema.json
    \b
    Then add this first line to a spec:
      # yaml-language-server: $schema=../restencil.schema.json
    """
    from restencil_generator.spec.grammar.json_schema import schema_text

    console.say(schema_text(), end="")
    return Exit.SUCCESS
