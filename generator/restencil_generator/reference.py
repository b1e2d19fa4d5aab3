"""Generator of the reference pages, from the table of the language and the codes of diagnostics.

`python -m restencil_generator.reference docs/reference` writes the pages and `docs/llms.txt`; a test compares the
committed files with the result.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from restencil_generator.cli import reference_page
from restencil_generator.diagnostics import explanations
from restencil_generator.spec.grammar import keys
from restencil_generator.spec.grammar.keys import SECTIONS, Row, rows
from restencil_generator.spec.grammar.type_words import FORMS, POSITIONS, SCALARS, form_section

_MADE: Final = "<!-- Made by `python -m restencil_generator.reference`, from {source}. Change it there. -->\n"

_INTRODUCTION: Final = (
    "A spec is YAML 1.2: `on`, `yes`, `1:30` and `2020-01-01` are strings, and `012` is the integer 12. A key that is "
    "in no table below is an error. `python:package.module:name` refers to [your own "
    "code](../how-to/spec.md#your-own-code). `restencil schema` prints the language as a JSON Schema, [for "
    "editors](../how-to/spec.md#editor-support).\n"
)

_CHAPTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "The spec": (
        "spec",
        "auth",
        "scheme",
        "oauth2",
        "client_header",
        "client_param",
        "server",
        "server_variable",
        "freshness",
        "server_freshness",
        "concurrency",
        "search_style",
        "redirects",
        "options",
    ),
    "Entities": ("entity", "entity_field", "object_field"),
    "Resources and endpoints": (
        "resource",
        "endpoint",
        "path_param",
        "search_param",
        "header_param",
        "body",
        "body_field",
        "form_field",
        "file_field",
        "collection",
        "pagination",
        "page_size",
        "request",
        "response",
        "error_choice",
        "example",
    ),
    "Types": tuple(form_section(word) for word in FORMS),
}
"""The order of the sections on the page."""

_AUTHENTICATION: Final = "[Authentication](../how-to/authentication.md)"
_BODIES: Final = "[Request and response bodies](../how-to/request-and-response-bodies.md)"
_CACHE_HEADERS: Final = "[ETags, Cache-Control and lost updates](../how-to/conditional-requests.md)"
_CLIENT: Final = "[Parameters of the client, and servers](../how-to/parameters.md#parameters-of-the-client-and-servers)"
_FILES: Final = "[File uploads, downloads and streaming](../how-to/files.md)"
_FILTERS: Final = "[Filtered and sorted lists](../how-to/filtered-lists.md)"
_PAGES: Final = "[Pagination styles](../how-to/pagination-styles.md)"
_PARAMETERS: Final = "[Query parameters, path parameters and headers](../how-to/parameters.md)"
_SPEC: Final = "[Writing a spec](../how-to/spec.md)"
_TYPES: Final = "[Union types, field options and primary keys](../how-to/union-types-and-primary-keys.md)"

_GUIDES: Final[Mapping[str, str]] = {
    "spec": _SPEC,
    "auth": _AUTHENTICATION,
    "scheme": _AUTHENTICATION,
    "oauth2": _AUTHENTICATION,
    "client_header": _CLIENT,
    "client_param": _CLIENT,
    "server": _CLIENT,
    "server_freshness": _CACHE_HEADERS,
    "concurrency": _CACHE_HEADERS,
    "search_style": _PARAMETERS,
    "options": f"[Semantics](semantics.md), [Retries and timeouts](../how-to/retries.md), {_CACHE_HEADERS}",
    "entity": f"{_TYPES}, [Summary and detail responses](../how-to/summary-and-detail.md)",
    "entity_field": _TYPES,
    "resource": f"{_SPEC}, {_FILTERS}, [Optimistic updates](../how-to/optimistic-updates.md)",
    "endpoint": f"{_BODIES}, [Optimistic updates](../how-to/optimistic-updates.md), {_FILES}",
    "path_param": _PARAMETERS,
    "search_param": f"{_PARAMETERS}, {_FILTERS}",
    "header_param": _PARAMETERS,
    "body": f"{_BODIES}, {_FILES}",
    "file_field": _FILES,
    "collection": _FILTERS,
    "pagination": _PAGES,
    "request": _BODIES,
    "response": _BODIES,
    "error_choice": "[Error handling](../how-to/error-handling.md)",
    "example": "[Mock server](../how-to/mock-server.md)",
    "one_of_form": _TYPES,
    "collection_form": _FILTERS,
    "query_form": "[Filtering on the client](../how-to/filtered-lists.md#filtering-on-the-client)",
}
"""The guides to a section of the language."""


def pages() -> dict[str, str]:
    """Return the reference pages by file name."""
    return {
        "commands.md": reference_page.page(_MADE.format(source="the options of the modules in `cli`")),
        "language.md": language_page(),
        "problems.md": problems_page(),
    }


def language_page() -> str:
    """Return the page with all sections of the spec language, their keys, and the types."""
    parts = [
        f"# The spec language, version {keys.VERSION}\n",
        _MADE.format(source="the table in `spec/grammar/keys.py`"),
        _INTRODUCTION,
    ]
    for chapter, places in _CHAPTERS.items():
        parts.append(f"## {chapter}\n")
        if chapter == "Types":
            parts.append(_types())
        parts.extend(_section(place) for place in places)
    return "\n".join(parts)


def problems_page() -> str:
    """Return the page that lists all codes with their rules and links to their own pages."""
    found = explanations.explained().values()
    parts = [
        "# Problems\n",
        _MADE.format(source="`diagnostics/codes.py`"),
        (
            "Every error and warning about a spec has a code, and so has every finding of `restencil check`, `diff` "
            "and `import`. Codes are stable, so tools may rely on them. `restencil explain CODE` prints the rule and "
            "the explanation of a code.\n"
        ),
    ]
    for kind in explanations.KINDS:
        codes = (
            (f"`{one.code}`" if kind is explanations.CHANGE else f"[`{one.code}`](problems/{one.code}.md)", one.rule)
            for one in found
            if one.kind is kind
        )
        parts += [f"## {kind.title}\n", f"{kind.means}\n", _table(("code", "rule"), codes)]
    return "\n".join(parts)


def problem_page(code: str, example: tuple[str, str] | None = None) -> str:
    """Return the page of a code; `example` is a spec with the error and the printed message."""
    head, rest = explanations.explained()[code].text.split("\n\n", 1)
    text = f"{head}\n\n{_MADE.format(source='`codes.py` and `explanations.py` of `diagnostics`')}\n{rest}"
    if example is not None:
        spec, printed = example
        text += f"\n## Example\n\n<!-- not run: it is wrong -->\n```yaml\n{spec}```\n\n```text\n{printed}```\n"
    return text


# --------------------------------------------------------------------------------------------------------------- parts


def _section(name: str) -> str:
    place = SECTIONS[name]
    example = textwrap.dedent(place.example).strip()
    known = rows(name).values()
    table = _table(("key", "value", "default", "description"), map(_cells, known))
    rules = [f"- {rule.doc()}\n" for rule in place.rules]
    guides = f" See {_GUIDES[name]}." if name in _GUIDES else ""
    return f"### {place.title}\n\n{place.help}{guides}\n\n```yaml\n{example}\n```\n\n{table}" + (
        "\n" + "".join(rules) if rules else ""
    )


def _cells(row: Row) -> tuple[str, ...]:
    help = row.help
    if row.position:
        help += f" Only in {POSITIONS[row.position].shown}."
    return f"`{row.key}`", row.kind.doc(_link), _absent(row), help


def _absent(row: Row) -> str:
    if row.required:
        return "**required**"
    if row.otherwise:
        return row.otherwise
    if row.default in (None, ""):
        return ""
    return f"`{row.default if isinstance(row.default, str) else json.dumps(row.default)}`"


def _types() -> str:
    scalars = _table(
        ("type", "description", "Python", "value of a missing field"),
        (
            (
                f"`{name}`",
                scalar.help,
                f"`{'.'.join(filter(None, scalar.python))}`",
                f"`{json.dumps(scalar.zero)}`" if scalar.honest else "an error" if scalar.word else "",
            )
            for name, scalar in SCALARS.items()
        ),
    )
    positions = _table(
        ("where", "forms", "names of", "lists"),
        (
            (
                position.shown,
                ", ".join(f"`{word}`" for word in FORMS if word in position.forms) or "none",
                ", ".join(
                    {"enum": "enums", "object": "objects", "entity": "entities"}[kind] for kind in position.named
                ),
                "yes" if position.lists else "no",
            )
            for position in POSITIONS.values()
        ),
    )
    return (
        "A type is a word, the name of an enum, an object or an entity, a list `[X]` of another type, or a form. "
        "A `?` after a word or a name allows null and absence, a `!` after the type of a field of an entity or object "
        "means that bodies require it. A field that is missing in all responses is an empty list for `[X]`, an empty "
        "mapping for `{values: X}`, and an error for enums, objects and entities, unless the field has a `default`; "
        "`absent` of the spec changes this.\n\n"
        f"{scalars}\nA form is a mapping that has one of the words below, and no keys except those of its form. Not "
        f"every type is allowed everywhere:\n\n{positions}"
    )


def _table(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"

    return line(head) + line("---" for _ in head) + "".join(map(line, lines))


def _link(section: str) -> str:
    title = SECTIONS[section].title
    kept = "".join(char for char in title.lower() if char.isalnum() or char in " -_")
    return f"[{title.lower() if title[0].isalpha() else title}](#{kept.replace(' ', '-')})"


def language_models(index: str) -> str:
    """Return `llms.txt`, the index of the documentation for language models, made from the index page."""
    text = re.sub(r"^```.*?^```\n\n", "", index, flags=re.MULTILINE | re.DOTALL)
    title, introduction, lists = text.split("\n\n", 2)
    return f"{title}\n\n> {' '.join(introduction.splitlines())}\n\n{lists}"


def main(folder: str) -> None:
    """Write the reference pages into a folder, and `llms.txt` into its parent folder."""
    index = Path(folder).parent / "index.md"
    if index.exists():
        text = language_models(index.read_text("utf-8"))
        index.with_name("llms.txt").write_text(text, encoding="utf-8", newline="\n")
    for name, text in pages().items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
