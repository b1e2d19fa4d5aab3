"""The reference pages, made from the language's table and from the codes of problems.

`python -m restencil_generator.reference docs/reference` writes them, and `docs/llms.txt`; tests keep what is checked in
equal to that.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from restencil_generator.cli import reference_page
from restencil_generator.diagnostics import explanations
from restencil_generator.spec.grammar import keys, value_kinds
from restencil_generator.spec.grammar.keys import FORMS, PLACES, POSITIONS, SCALARS, Row, form_place, rows

_MADE: Final = "<!-- Made by `python -m restencil_generator.reference`, from {source}. Change it there. -->\n"

_INTRODUCTION: Final = (
    "A spec is YAML 1.2: `on`, `yes`, `012`, `1:30` and `2020-01-01` are texts or plain numbers. A key that stands in "
    "no table below is a mistake. `restencil schema` prints the same as a JSON Schema, for editors.\n"
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
    "Forms of types": tuple(form_place(word) for word in FORMS),
}
"""The order in which the places are told."""


def pages() -> dict[str, str]:
    """The reference pages by the names of their files."""
    return {
        "commands.md": reference_page.page(_MADE.format(source="the options in `cli/main.py`")),
        "language.md": language_page(),
        "problems.md": problems_page(),
    }


def language_page() -> str:
    """Every place of the spec language with its keys, and the types."""
    parts = [
        f"# The spec language, version {keys.VERSION}\n",
        _MADE.format(source="the table in `spec/grammar/keys.py`"),
        _INTRODUCTION,
    ]
    for chapter, places in _CHAPTERS.items():
        parts.append(f"## {chapter}\n")
        if chapter == "Forms of types":
            parts.append(_types())
        parts.extend(_section(place) for place in places)
    return "\n".join(parts)


def problems_page() -> str:
    """Every code that is reported, with its rule; each leads to its page."""
    found = explanations.explained().values()
    parts = [
        "# Problems\n",
        _MADE.format(source="`diagnostics/codes.py`"),
        (
            "What is wrong in a spec, or could be better, has a code, and so has what `restencil check`, `diff` and "
            "`import` find. Codes are stable, so tools may name them. `restencil explain CODE` says of one what stands "
            "here, and on its page.\n"
        ),
    ]
    for kind in explanations.KINDS:
        codes = (
            (f"`{one.code}`" if kind is explanations.CHANGE else f"[`{one.code}`](problems/{one.code}.md)", one.rule)
            for one in found
            if one.kind is kind
        )
        parts += [f"## {kind.title}\n", f"{kind.means}\n", _table(("code", "the rule"), codes)]
    return "\n".join(parts)


def problem_page(code: str, example: tuple[str, str] | None = None) -> str:
    """What is said of a code; with an example, of a spec that has the problem and what is printed for it."""
    head, said = explanations.explained()[code].text.split("\n\n", 1)
    text = f"{head}\n\n{_MADE.format(source='`codes.py` and `explanations.py` of `diagnostics`')}\n{said}"
    if example is not None:
        spec, printed = example
        text += f"\n## Example\n\n<!-- not run: it is wrong -->\n```yaml\n{spec}```\n\n```text\n{printed}```\n"
    return text


# --------------------------------------------------------------------------------------------------------------- parts


def _section(name: str) -> str:
    place = PLACES[name]
    example = textwrap.dedent(place.example).strip()
    known = rows(name).values()
    table = _table(("key", "takes", "where it is not given", "what it is"), map(_cells, known))
    told = [f"- {rule}\n" for rule in map(_rule, place.rules) if rule]
    return f"### {place.title}\n\n{place.help}\n\n```yaml\n{example}\n```\n\n{table}" + (
        "\n" + "".join(told) if told else ""
    )


def _cells(row: Row) -> tuple[str, ...]:
    help = row.help
    if row.position:
        help += f" Only in {POSITIONS[row.position].shown}."
    if row.deprecated:
        help = f"*Deprecated: {row.deprecated}.* {help}"
    return f"`{row.key}`", phrase(row.kind), _absent(row), help


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
        ("written", "what it is", "in Python", "default"),
        (
            (
                f"`{name}`",
                scalar.help,
                f"`{'.'.join(filter(None, scalar.python))}`",
                f"`{json.dumps(scalar.zero)}`" if scalar.honest else "none",
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
        "A `?` behind a word or a name says that null and absence are allowed, a `!` behind the type of a field of an "
        "entity or object that bodies must hold it.\n\n"
        f"{scalars}\nA form is a mapping that has one of the words below, and no key but those of its form. Not every "
        f"type can stand everywhere:\n\n{positions}"
    )


def _table(head: tuple[str, ...], lines: Iterable[tuple[str, ...]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"

    return line(head) + line("---" for _ in head) + "".join(map(line, lines))


def _rule(rule: value_kinds.Rule) -> str:
    match rule:
        case value_kinds.ExactlyOne(keys):
            return f"Exactly one of {_codes(keys, 'and')} is given."
        case value_kinds.OneOrMore(keys):
            return f"{_codes(keys, 'or')} is given." if len(keys) > 1 else f"{_codes(keys, 'or')} is required."
        case value_kinds.OnlyWith(key, other, values):
            return f"`{key}` is given where `{other}` is {_codes(values, 'or')}, and nowhere else."
        case value_kinds.OnlyBeside(key, other):
            return f"`{key}` is given beside `{other}`, and nowhere else."
        case value_kinds.NotBoth(one, other):
            return f"`{one}` and `{other}` are not both true."
        case value_kinds.OnlyWithMapping(key, other):
            return f"`{key}` is given where `{other}` is a mapping, and nowhere else."
        case value_kinds.Together(first, second, instead):
            return f"`{first}` and `{second}` are given together, or `{instead}` without them."
        case value_kinds.OnlyOf(keys, others):
            return f"Without {_codes(keys, 'and')} there is none of {_codes(others, 'and')}."
        case value_kinds.ParameterUnless(key, flag):
            return f"`{key}` has at least one parameter, unless it is written `{flag}: true`."
        case value_kinds.Excludes(key, others):
            return f"Beside `{key}` stands none of {_codes(others, 'and')}."
        case value_kinds.MappingWith(key, other):
            return f"`{key}` is a mapping where `{other}` is given, and a text elsewhere."


def _codes(words: Iterable[str], last: str) -> str:
    *most, final = [f"`{word}`" for word in words]
    return f"{', '.join(most)} {last} {final}" if most else final


# ---------------------------------------------------------------------------------------------------------------- kinds


def phrase(kind: value_kinds.Kind) -> str:
    """What a kind is, for the second column of a table."""
    return KINDS[type(kind)](kind)


def _link(place: str) -> str:
    title = PLACES[place].title
    kept = "".join(char for char in title.lower() if char.isalnum() or char in " -_")
    return f"[{title.lower() if title[0].isalpha() else title}](#{kept.replace(' ', '-')})"


def _duration(kind: value_kinds.Duration) -> str:
    return f"milliseconds, or `500ms`, `30s`, `5m`, `1h`{'; not zero' if kind.least else ''}"


def _words(kind: value_kinds.Texts) -> str:
    return f"a list of {_codes(kind.words, 'and')}" if kind.words else f"a list of {kind.noun}s"


def _fields(kind: value_kinds.Fields) -> str:
    back = "; `null` takes one back, or all" if kind.back else ""
    return f"a mapping from names to types, or to what describes {_link(kind.position)}{back}"


def _or(kinds_: Iterable[value_kinds.Kind]) -> str:
    return ", or ".join(phrase(kind) for kind in kinds_)


def _table_of(kind: value_kinds.Table) -> str:
    return f"a mapping from names to {phrase(kind.values)}"


KINDS: Final[Mapping[type[value_kinds.Kind], Callable[[Any], str]]] = {
    value_kinds.Text: lambda kind: "a text" if kind.empty else "a text that is not empty",
    value_kinds.Flag: lambda kind: "`true` or `false`",
    value_kinds.Yes: lambda kind: "`true`",
    value_kinds.No: lambda kind: "`false`",
    value_kinds.Whole: lambda kind: f"a whole number from {kind.least} on",
    value_kinds.Version: lambda kind: f"`{kind.number}`",
    value_kinds.Duration: _duration,
    value_kinds.Word: lambda kind: _codes(kind.words, "or"),
    value_kinds.Literal: lambda kind: "a text, a whole number, `true` or `false`",
    value_kinds.Code: lambda kind: "`python:package.module:name`",
    value_kinds.Reason: lambda kind: "`true`, `false` or the reason",
    value_kinds.Name: lambda kind: "a name",
    value_kinds.Texts: _words,
    value_kinds.Headers: lambda kind: "a mapping from names of headers to texts",
    value_kinds.Pairs: lambda kind: f"a mapping from {_codes(kind.names, 'or') if kind.names else 'names'} to texts",
    value_kinds.Json: lambda kind: "a mapping" if kind.mapping else "any JSON",
    value_kinds.Section: lambda kind: _link(kind.place),
    value_kinds.OrNull: lambda kind: f"{phrase(kind.kind)}; or `null`",
    value_kinds.Either: lambda kind: _or(kind.kinds),
    value_kinds.Table: _table_of,
    value_kinds.EnumValues: lambda kind: (
        "a list of texts and whole numbers, or a mapping from names of constants to them"
    ),
    value_kinds.EntityName: lambda kind: "a name" if kind.new else "the name of an entity",
    value_kinds.EntityOrChoices: lambda kind: "the name of an entity, or a mapping from values to entities",
    value_kinds.Type: lambda kind: "a type",
    value_kinds.Fields: _fields,
    value_kinds.Members: lambda kind: "a mapping from names to types",
    value_kinds.Names: lambda kind: "a mapping from members to names",
    value_kinds.Alternatives: lambda kind: "a list of two or more types",
    value_kinds.SomeValues: lambda kind: "a list of two or more texts and whole numbers",
    value_kinds.Choices: lambda kind: "a mapping from values to names of entities",
    value_kinds.OneEntity: lambda kind: "the name of an entity, `{entity: …}` or `{union: …}`",
    value_kinds.Items: lambda kind: "`[Entity]` or `{values: Entity}`",
    value_kinds.Source: lambda kind: _or_forms(kind.forms),
    value_kinds.Nest: lambda kind: "a mapping from arguments to fields",
    value_kinds.PathText: lambda kind: "a path such as `/items/:id`",
    value_kinds.Body: lambda kind: (
        f"a name, a mapping of fields, `[X]`, {_or_forms(rows('body'))}, {_codes(keys.BODY_WORDS, 'or')}; or `null`"
    ),
    value_kinds.Errors: lambda kind: (
        f"a mapping from statuses to names of objects, {_link('error_choice')}, `any` or `null`"
    ),
    value_kinds.Use: lambda kind: ("" if kind.whole else "`none`, a scheme, or ")
    + "a list of schemes and of lists of them",
    value_kinds.Response: lambda kind: "a type or a form; or `null`",
}
"""What each kind is called."""


def _or_forms(words: Iterable[str]) -> str:
    return _codes((f"{{{word}: …}}" for word in words), "or")


def language_models(index: str) -> str:
    """The map of the documentation for language models, `llms.txt`, from the page that lists all others."""
    text = re.sub(r"^```.*?^```\n\n", "", index, flags=re.MULTILINE | re.DOTALL)
    title, said, lists = text.split("\n\n", 2)
    return f"{title}\n\n> {' '.join(said.splitlines())}\n\n{lists}"


def main(folder: str) -> None:
    """Writes the pages into a folder, and the map for language models into the one above."""
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
