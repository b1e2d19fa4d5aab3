"""The documentation uses standard terms: words and phrases that readers do not search for are banned here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.conventions.imports import ROOT

BANNED: Final = {
    "a text": "a string",
    "advice": "a warning",
    "anew": "again",
    "answer": "response",
    "answered": "got a response, responded",
    "answers": "responses",
    "are told": "get, know",
    "are wanted": "are expected",
    "as a rule": "usually",
    "ask anew": "send a request",
    "asked for": "requested",
    "asks for": "requests",
    "asks the network": "sends a request",
    "beside": "next to, in addition to, compared with",
    "both worlds": "synchronous code and asyncio",
    "brings": "contains, returns",
    "brought": "contained, returned",
    "carries on": "continues, maintains the code",
    "carry on": "continue, maintain the code",
    "does no harm": "has no effect",
    "doubted": "unverified, stale",
    "drawn": "rendered",
    "for whoever": "use this page to",
    "go on": "continue, resume",
    "goes on": "continues, resumes",
    "habit": "convention",
    "habits": "conventions",
    "hand out": "return",
    "handed out": "returned",
    "hands out": "returns",
    "honest": "meaningful, correct",
    "in short": "overview, summary",
    "in the place of": "instead of",
    "in vain": "without success",
    "is gone": "is removed, is deleted",
    "is here still": "is still in the store",
    "is no part of": "is not part of",
    "is told": "gets, knows",
    "is wanted": "is expected",
    "laid over": "merged with, applied to",
    "lies in": "is stored in",
    "look into": "inspect, read",
    "looking into": "inspecting",
    "looks into": "inspects",
    "made anew": "created again",
    "made up": "generated, sample",
    "makes up": "predicts, generates",
    "mistake": "error",
    "mistakes": "errors",
    "moments": "datetimes",
    "moving here": "migrating",
    "no answer in time": "timeout",
    "nobody here knows": "restencil does not know",
    "nothing is said": "by default",
    "nothing to say": "no issues",
    "odd": "unusual, malformed",
    "of one's own": "your own",
    "of their own": "their own",
    "of yours": "your",
    "on the wire": "in requests and responses",
    "one truth": "consistent data",
    "plain code": "synchronous code",
    "put together": "built, combined",
    "puts together": "builds, combines",
    "refused": "rejected",
    "refuses": "rejects",
    "room": "module",
    "rooms": "modules",
    "say nothing": "by default",
    "says nothing": "by default",
    "serves for": "is used for",
    "show nowhere": "are not shown",
    "showing who asks": "authentication",
    "shows at once": "is visible immediately",
    "shows nowhere": "is not shown",
    "stand in": "are in",
    "standing in": "in",
    "stands among": "is under, is one of",
    "stands in": "is in",
    "strongest first": "the first of these that is set",
    "take apart": "normalize, split",
    "taken apart": "normalized, split",
    "taken back": "rolled back",
    "takes apart": "normalizes, splits",
    "takes back": "rolls back",
    "texts": "strings, text",
    "that is there": "that exists",
    "the house": "the project, the code",
    "the wing": "the layer",
    "there and back": "round trip",
    "to be had": "available",
    "to come by": "to get",
    "told": "said, reported, passed",
    "under way": "in progress",
    "vouch": "confirm",
    "vouches": "confirms",
    "what can go wrong": "error handling",
    "what is there": "the data in the store, the content",
    "where nothing": "by default",
    "who asks": "authentication, the caller",
    "who follows": "use this page to",
    "whoever": "everyone who, you",
    "whole number": "integer",
    "whole numbers": "integers",
    "will do": "is accepted, is sufficient",
    "wing": "layer",
    "wings": "layers",
    "without a word": "by default, silently",
    "word by word": "comparison",
    "world": "synchronous code, asyncio",
    "worlds": "synchronous code and asyncio",
}
"""Words and phrases, each with what to write instead. The table may only grow."""

PAGES: Final = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_NO_PROSE: Final = re.compile(
    r"^```.*?^```$"  # code
    r"|<!--.*?-->"
    r"|`[^`\n]+(?:\n[^`\n]+)?`"  # code in a line, which may be broken once
    r"|(?<=\])\([^)\s]+\)",  # where links lead
    re.MULTILINE | re.DOTALL,
)
_PHRASES: Final = re.compile(
    r"\b(?:" + "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in sorted(BANNED, reverse=True)) + r")\b",
    re.IGNORECASE,
)


class Found(NamedTuple):
    """A banned word or phrase, the number of its line, and what to write instead."""

    line: int
    phrase: str
    instead: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.phrase!r}: write {self.instead}"


def banned_words_of(text: str) -> Iterator[Found]:
    """Find the banned words in titles and prose of a Markdown text, but not in its code."""
    prose = _NO_PROSE.sub(lambda left_out: "\n" * left_out[0].count("\n") or " ", text)
    for match in _PHRASES.finditer(prose):
        phrase = " ".join(match[0].lower().split())
        yield Found(prose.count("\n", 0, match.start()) + 1, phrase, BANNED[phrase])


def page_name(page: Path) -> str:
    """Return the path of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


def test_docs_pages_have_no_banned_word() -> None:
    """A page uses none of the banned words and phrases, and the failure says what to write instead."""
    found = [f"{page_name(page)}: {one}" for page in PAGES for one in banned_words_of(page.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_banned_words_are_found_in_titles_and_prose_only() -> None:
    """Titles, paragraphs and tables are searched, also across line ends; code and link targets are not."""
    text = "# Showing who asks\n\nIt goes\non. `told`\n\n```python\ntold = 1\n```\n\n[Wings](told.md)\n\n| a | odd |\n"
    assert [(one.line, one.phrase) for one in banned_words_of(text)] == [
        (1, "showing who asks"),
        (3, "goes on"),
        (10, "wings"),
        (12, "odd"),
    ]


def test_banned_words_are_sorted_and_have_replacements() -> None:
    """The table is in alphabetical order, and no replacement is itself a banned word."""
    assert list(BANNED) == sorted(BANNED)
    for phrase, instead in BANNED.items():
        assert instead and not list(banned_words_of(instead)), f"{phrase!r} is replaced by {instead!r}"
