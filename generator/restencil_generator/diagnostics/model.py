"""The model of problems: an error or warning with its place in a spec and the fix.

Every stage that checks a spec collects `Problem`s and continues, so that one run reports everything. This module has
the model, the order, the limit, and the search for similar names; `format` prints problems as text, JSON, GitHub
workflow commands and SARIF.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

LIMIT = 50
"""Maximum number of problems that one run prints; the others are counted."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Place:
    """A range of characters in a file; the end is exclusive.

    Lines and columns count from 1, columns in characters. Line 0 means the file as a whole.
    """

    file: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a problem, such as the first definition of a duplicate name."""

    place: Place
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """An error or warning about a spec.

    `code` is stable and in kebab-case; `message` says what was found and what was expected; `hint` says what to do next
    and is shown after the carets. `near` is an unknown name with the known names, from which `with_nearest` completes
    the hint if the problem is shown.
    """

    code: str
    message: str
    place: Place
    hint: str = ""
    related: tuple[Related, ...] = ()
    severity: Severity = "error"
    near: tuple[str, Collection[str]] | None = dataclasses.field(default=None, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """The contents of one file of a spec, kept for excerpts.

    `lines` are the lines as the YAML parser counts them, without line breaks.
    """

    file: str
    lines: tuple[str, ...]

    def line(self, number: int) -> str | None:
        """Return the line with this number, counted from 1; None if there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None


Sources: TypeAlias = Mapping[str, Source]


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """The problems that are printed, and the number of the others."""

    shown: tuple[Problem, ...]
    omitted: int

    @property
    def total(self) -> int:
        """The number of all problems, printed or not."""
        return len(self.shown) + self.omitted


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by file, line, column, code and message, and remove duplicates."""
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda problem: (problem.place, problem.code, problem.message))


def select(problems: Iterable[Problem], limit: int = LIMIT) -> Selection:
    """Select the first `limit` problems in order; if there are more, errors come first."""
    ordered = in_order(problems)
    if len(ordered) <= limit:
        return Selection(tuple(ordered), 0)
    errors = [problem for problem in ordered if problem.severity == "error"]
    others = [problem for problem in ordered if problem.severity != "error"]
    return Selection(tuple(in_order([*errors, *others][:limit])), len(ordered) - limit)


def with_nearest(ordered: Iterable[Problem], limit: int = LIMIT) -> Iterator[Problem]:
    """Yield problems in order, with a similar name in the hints of the first `limit`.

    Comparing a word with the thousands of names of a large spec is slow, so it is only done for problems that are
    shown.
    """
    for index, problem in enumerate(ordered):
        if problem.near is None:
            yield problem
        else:
            hint = did_you_mean(*problem.near) if index < limit else ""
            yield dataclasses.replace(problem, hint=hint or problem.hint, near=None)


def has_errors(problems: Iterable[Problem]) -> bool:
    """Return whether any of the problems is an error, which prevents generation."""
    return any(problem.severity == "error" for problem in problems)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that `word` is probably a misspelling of, or None if none is similar.

    Words that differ only in case or separators come first (`createdAt`, `created-at` → `created_at`), then the most
    similar word, then a word that contains it (`list` → `get_list`). Ties are resolved alphabetically, so the result is
    the same on every run.
    """
    words: Sequence[str] = sorted(set(known))
    if len(word) > 80:
        return None
    plain = _plain(word)
    for candidate in words:
        if candidate != word and _plain(candidate) == plain:
            return candidate
    others = [candidate for candidate in words if candidate != word]
    close = difflib.get_close_matches(word, others, n=len(others) or 1, cutoff=0.7)
    if close:
        likeness = {candidate: difflib.SequenceMatcher(a=candidate, b=word).ratio() for candidate in close}
        return max(sorted(close), key=lambda candidate: likeness[candidate])
    return next((candidate for candidate in others if len(word) > 3 and word in candidate), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the hint `did you mean 'string'?`, or an empty string if no known word is similar."""
    found = nearest(word, known)
    return f"did you mean {quoted(found)}?" if found is not None else ""


def quoted(text: str, limit: int = 60) -> str:
    """Put a string in single quotes, on one line, with control characters escaped, shortened to `limit` characters."""
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return "'" + visible(shown) + "'"


def visible(text: str) -> str:
    """Escape the characters of a string that are not printable, so that it cannot control a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def listed(words: Iterable[str], last: str = "or") -> str:
    """Join quoted words as a phrase: `'a', 'b' or 'c'`."""
    texts = [quoted(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}" if texts else ""


def circle_text(circle: Sequence[str]) -> str:
    """Describe a cycle for messages, from its first element: itself, or the chain, shortened in the middle."""
    if len(circle) == 1:
        return "itself"
    names = [*circle, circle[0]]
    shown_names = names if len(names) <= 8 else [*names[:6], "…", names[-1]]
    return f"itself: {' → '.join(visible(name[:60]) for name in shown_names)}"


def _plain(word: str) -> str:
    return word.replace("_", "").replace("-", "").replace(".", "").casefold()
