"""Problems: what is wrong (or could be better) in a spec, where, and what to do about it.

Every stage that checks a spec collects `Problem`s and goes on, so that one run reports everything. This module holds
the model, the order, the cap and the search for the nearest right word; `format.py` turns problems into text, JSON,
GitHub workflow commands and SARIF.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

Severity: TypeAlias = Literal["error", "warning", "note"]

LIMIT = 50
"""How many problems one run prints; the rest is counted."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Place:
    """A stretch of text in a file, from its first character up to (not including) its end.

    Lines and columns count from 1, columns in characters. Line 0 means the file as a whole.
    """

    file: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a problem, such as the first definition of a name given twice."""

    place: Place
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """One thing to change in a spec.

    `code` is stable and in kebab-case; `message` says what was found and what was expected; `hint` says what to do next
    and is shown behind the carets. `near` is a word and the many known ones among which the nearest is yet to be found:
    `with_nearest` does so for the problems that are shown.
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
    """The text of one file of a spec, kept for excerpts.

    `lines` are the lines as the marks of the YAML parser count them, without their ends.
    """

    file: str
    lines: tuple[str, ...]

    def line(self, number: int) -> str | None:
        """The line with this number, counted from 1; None where the file has none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None


Sources: TypeAlias = Mapping[str, Source]


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """The problems that are printed, and how many are not."""

    shown: tuple[Problem, ...]
    omitted: int

    @property
    def total(self) -> int:
        """How many problems there are, those that are not printed included."""
        return len(self.shown) + self.omitted


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems by file, line, column, then code and message; a problem that was reported twice is listed once."""
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda problem: (problem.place, problem.code, problem.message))


def select(problems: Iterable[Problem], limit: int = LIMIT) -> Selection:
    """The first `limit` problems in order, errors before everything else when not all fit."""
    ordered = in_order(problems)
    if len(ordered) <= limit:
        return Selection(tuple(ordered), 0)
    errors = [problem for problem in ordered if problem.severity == "error"]
    others = [problem for problem in ordered if problem.severity != "error"]
    return Selection(tuple(in_order([*errors, *others][:limit])), len(ordered) - limit)


def with_nearest(ordered: Iterable[Problem], limit: int = LIMIT) -> Iterator[Problem]:
    """Problems in order, with the nearest word in the hints of the first `limit`.

    Comparing a word with the thousands of names of a large spec takes long, so it is done only for what is shown.
    """
    for index, problem in enumerate(ordered):
        if problem.near is None:
            yield problem
        else:
            hint = did_you_mean(*problem.near) if index < limit else ""
            yield dataclasses.replace(problem, hint=hint or problem.hint, near=None)


def has_errors(problems: Iterable[Problem]) -> bool:
    """Whether any of the problems is an error, so that nothing can be generated."""
    return any(problem.severity == "error" for problem in problems)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is most likely a slip of, or None when none is near.

    Equal words in another case or with other separators come first (`createdAt`, `created-at` → `created_at`), then the
    most similar one, then one that contains the word (`list` → `get_list`). Ties go to the first in alphabetical order,
    so that the result is the same on every run.
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
    """The hint `did you mean 'string'?`, or an empty string when no known word is near."""
    found = nearest(word, known)
    return f"did you mean {quoted(found)}?" if found is not None else ""


def quoted(text: str, limit: int = 60) -> str:
    """A string of a spec in single quotes, on one line, without control characters, shortened to `limit` characters."""
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return "'" + visible(shown) + "'"


def visible(text: str) -> str:
    """A string with an escape for each character that does not print, so it cannot disturb a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def listed(words: Iterable[str], last: str = "or") -> str:
    """Words in quotes as a phrase: `'a', 'b' or 'c'`."""
    texts = [quoted(word) for word in words]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}" if texts else ""


def circle_text(circle: Sequence[str]) -> str:
    """What the first of a circle extends, for a message: itself, and how; the middle of a long way is left out."""
    if len(circle) == 1:
        return "itself"
    names = [*circle, circle[0]]
    shown_names = names if len(names) <= 8 else [*names[:6], "…", names[-1]]
    return f"itself: {' → '.join(visible(name[:60]) for name in shown_names)}"


def _plain(word: str) -> str:
    return word.replace("_", "").replace("-", "").replace(".", "").casefold()
