"""Output formats of problems: text, JSON, GitHub workflow commands and SARIF."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import quote

from restencil_generator.diagnostics.explanations import explained
from restencil_generator.diagnostics.model import LIMIT, Place, Problem, Selection, Sources, in_order, select, visible

Format: TypeAlias = Literal["text", "json", "github", "sarif"]

WIDTH: Final = 100
"""Maximum number of characters of a line that an excerpt shows."""

_COLORS: Final = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1;36m"}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}


def render(
    problems: Iterable[Problem], sources: Sources, format: Format = "text", *, color: bool = False, limit: int = LIMIT
) -> str:
    """Format the first `limit` problems in order, and the number of the others.

    `sources` are the contents of files for excerpts. The result ends with a newline; without problems `text` and
    `github` are empty, while `json` and `sarif` are complete documents with an empty list.
    """
    selection = select(problems, limit)
    match format:
        case "text":
            return _text(selection, sources, color)
        case "json":
            return dump(document(selection))
        case "github":
            return github(selection)
        case "sarif":
            return dump(sarif(selection))


def summary(problems: Iterable[Problem]) -> str:
    """Return the number of problems of each severity: `3 errors, 1 warning`."""
    counts = dict.fromkeys(("error", "warning", "note"), 0)
    for problem in problems:
        counts[problem.severity] += 1
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for word, count in counts.items() if count)


def brief(problems: Iterable[Problem], *, color: bool = False, limit: int = LIMIT) -> str:
    """Format the first `limit` problems in order, one line each without excerpts; the others are counted by code."""
    ordered = in_order(problems)
    lines: list[str] = []
    for problem in ordered[:limit]:
        label = f"{problem.severity}[{problem.code}]"
        if color:
            label = f"{_COLORS[problem.severity]}{label}{_PLAIN}"
        hint = f" ({visible(problem.hint)})" if problem.hint else ""
        lines.append(f"{where(problem.place)}: {label}: {visible(problem.message)}{hint}")
    rest = Counter(problem.code for problem in ordered[limit:])
    if rest:
        lines.append("not shown: " + ", ".join(f"{count} {code}" for code, count in sorted(rest.items())))
    return "".join(f"{line}\n" for line in lines)


# ----------------------------------------------------------------------------------------------------------------- text


def _text(selection: Selection, sources: Sources, color: bool) -> str:
    if not selection.shown:
        return ""
    lines: list[str] = []
    for problem in selection.shown:
        label = f"{problem.severity}[{problem.code}]"
        head = f"{where(problem.place)}: "
        if color:
            label = f"{_COLORS[problem.severity]}{label}{_PLAIN}"
            head = f"{_BOLD}{head}{_PLAIN}"
        lines.append(f"{head}{label}: {visible(problem.message)}")
        paint = _COLORS[problem.severity] if color else ""
        lines.extend(_excerpt(problem.place, visible(problem.hint), sources, paint))
        for related in problem.related:
            lines.append(f"{where(related.place)}: note: {visible(related.message)}")
            lines.extend(_excerpt(related.place, "", sources, _COLORS["note"] if color else ""))
    count = summary(selection.shown)
    if selection.omitted:
        count += f"; {selection.omitted} more not shown"
    return "\n".join([*lines, count, ""])


def where(place: Place) -> str:
    """Return a place as messages show it: `specs/blog.yaml:31:16`."""
    file = visible(place.file)
    return f"{file}:{place.line}:{place.column}" if place.line else file


def _excerpt(place: Place, hint: str, sources: Sources, paint: str) -> Iterator[str]:
    """Yield the source line of a place with its number, and carets under the place, followed by the hint."""
    source = sources.get(place.file)
    line = source.line(place.line) if source is not None else None
    if line is None:
        if hint:
            yield f"      = {hint}"
        return
    start = min(place.column - 1, len(line))
    end = place.end_column - 1 if place.end_line == place.line else len(line.rstrip())
    end = max(min(end, len(line)), start + 1)
    first, last = _window(line, start, end)
    shown, widths = _printable(line, first, last)
    pad = sum(widths[: start - first])
    length = max(1, sum(widths[start - first : end - first]))
    head, tail = "…" if first else "", "…" if last < len(line) else ""
    carets = "^" * length
    if paint:
        carets = f"{paint}{carets}{_PLAIN}"
    yield f"{place.line:>5} | {head}{shown}{tail}".rstrip()
    yield f"      | {' ' * (len(head) + pad)}{carets}{' ' if hint else ''}{hint}"


def _window(line: str, start: int, end: int) -> tuple[int, int]:
    """Return the range of a line that is shown: all of it, or the part around the place."""
    if len(line) <= WIDTH:
        return 0, len(line)
    first = max(0, min(start - WIDTH // 3, len(line) - WIDTH))
    if start <= WIDTH * 2 // 3 and end <= WIDTH:
        first = 0
    return first, min(len(line), first + WIDTH)


def _printable(line: str, first: int, last: int) -> tuple[str, list[int]]:
    """Return a part of a line as it is printed, and the width of each of its characters."""
    texts = [" " if char == "\t" else visible(char) for char in line[first:last]]
    return "".join(texts), [_width(text) for text in texts]


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


# ----------------------------------------------------------------------------------------------------------------- JSON


def dump(document: Any) -> str:
    """Format a document as indented JSON with a final newline."""
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def document(selection: Selection) -> dict[str, Any]:
    """Return problems as one JSON document."""
    problems = [as_json(problem) for problem in selection.shown]
    return {"version": 1, "total": selection.total, "omitted": selection.omitted, "problems": problems}


def as_json(problem: Problem) -> dict[str, Any]:
    """Return a problem as a part of a JSON document."""
    return {
        "code": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        "hint": problem.hint,
        "help": f"restencil explain {problem.code}",
        **_json_place(problem.place),
        "related": [{"message": related.message, **_json_place(related.place)} for related in problem.related],
    }


def _json_place(place: Place) -> dict[str, Any]:
    if not place.line:
        return {"file": place.file}
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


# --------------------------------------------------------------------------------------------------------------- GitHub


def github(selection: Selection) -> str:
    """Return problems as workflow commands of GitHub, one per line."""
    lines = [_command(problem) for problem in selection.shown]
    if selection.omitted:
        lines.append(f"::notice title=restencil::{selection.omitted} more problems not shown")
    return "".join(line + "\n" for line in lines)


def _command(problem: Problem) -> str:
    place = problem.place
    properties: dict[str, object] = {"file": place.file}
    if place.line:
        properties |= {"line": place.line, "col": place.column, "endLine": place.end_line}
        if place.end_line == place.line:
            properties["endColumn"] = place.end_column
    properties["title"] = f"restencil {problem.code}"
    shown = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    text = problem.message + (f" ({problem.hint})" if problem.hint else "")
    text += "".join(f"\n{related.message}: {where(related.place)}" for related in problem.related)
    return f"::{_COMMANDS[problem.severity]} {shown}::{_data(text)}"


def _data(text: str) -> str:
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# ---------------------------------------------------------------------------------------------------------------- SARIF


def sarif(selection: Selection) -> dict[str, Any]:
    """Return problems as a SARIF document, which explains each code."""
    used = sorted({problem.code for problem in selection.shown})
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "restencil",
                "rules": [_sarif_rule(code) for code in used],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [
            {
                "ruleId": problem.code,
                "ruleIndex": used.index(problem.code),
                "level": problem.severity,
                "message": {"text": problem.message + (f" ({problem.hint})" if problem.hint else "")},
                "locations": [{"physicalLocation": _location(problem.place)}],
                "relatedLocations": [
                    {"id": number, "message": {"text": related.message}, "physicalLocation": _location(related.place)}
                    for number, related in enumerate(problem.related)
                ],
            }
            for problem in selection.shown
        ],
    }
    if selection.omitted:
        run["properties"] = {"omitted": selection.omitted}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def _sarif_rule(code: str) -> dict[str, Any]:
    known = explained().get(code)
    if known is None:
        return {"id": code, "shortDescription": {"text": code}}
    return {
        "id": code,
        "shortDescription": {"text": known.rule},
        "help": {"text": known.text, "markdown": known.text},
    }


def _location(place: Place) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(place.file, safe="/-_.~", errors="replace")}}
    if place.line:
        location["region"] = {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
        }
    return location
