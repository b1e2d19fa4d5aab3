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
    "answer(ed|s)?": "response, responses, responded",
    "are told": "get, know",
    "are wanted": "are expected",
    "as a rule": "usually",
    "ask anew": "send a request",
    "ask(ed|s) for": "requested, requests",
    "asks the network": "sends a request",
    "beside": "next to, in addition to, compared with",
    "both worlds": "synchronous code and asyncio",
    "br(ings|ought)": "contains, returns, contained, returned",
    "carr(ies|y) on": "continue, maintain the code",
    "does no harm": "has no effect",
    "doubted": "unverified, stale",
    "drawn": "rendered",
    "for whoever": "use this page to",
    "go(es)? on": "continue, resume",
    "habits?": "convention",
    "hand(ed|s)? out": "return",
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
    "look(ing|s)? into": "inspect, read",
    "made anew": "created again",
    "made up": "generated, sample",
    "makes up": "predicts, generates",
    "mistakes?": "error",
    "moments": "datetimes",
    "moving here": "migrating",
    "no answer in time": "timeout",
    "nobody here knows": "restencil does not know",
    "nothing is said": "by default",
    "nothing to say": "no issues",
    "odd": "unusual, malformed",
    "of (one's|their) own": "your own, their own",
    "of yours": "your",
    "on the wire": "in requests and responses",
    "one truth": "consistent data",
    "plain code": "synchronous code",
    "puts? together": "build, combine",
    "refuse[ds]": "rejected, rejects",
    "rooms?": "module",
    "says? nothing": "by default",
    "serves for": "is used for",
    "showing who asks": "authentication",
    "shows at once": "is visible immediately",
    "shows? nowhere": "is not shown",
    "stand(ing|s)? in": "are in, is in",
    "stands among": "is under, is one of",
    "strongest first": "the first of these that is set",
    "take(n|s)? apart": "normalize, split",
    "takes? back|taken back": "rolled back, rolls back",
    "texts": "strings",
    "that is there": "that exists",
    "the house": "the project, the code",
    "the wing": "the layer",
    "there and back": "round trip",
    "to be had": "available",
    "to come by": "to get",
    "told": "said, reported, passed",
    "under way": "in progress",
    "vouch(es)?": "confirm",
    "what can go wrong": "error handling",
    "what is there": "the data in the store, the content",
    "where nothing": "by default",
    "who asks": "authentication, the caller",
    "who follows": "use this page to",
    "whoever": "everyone who, you",
    "whole numbers?": "integer",
    "will do": "is accepted, is sufficient",
    "wings?": "layer",
    "without a word": "by default, silently",
    "word by word": "comparison",
    "worlds?": "synchronous code, asyncio",
}
"""Words and phrases as regular expressions, each with what to write instead. The table may only grow."""

PAGES: Final = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_NO_PROSE: Final = re.compile(
    r"^```.*?^```$"  # code
    r"|<!--.*?-->"
    r"|`[^`\n]+(?:\n[^`\n]+)?`"  # code in a line, which may be broken once
    r"|(?<=\])\([^)\s]+\)",  # where links lead
    re.MULTILINE | re.DOTALL,
)
_PHRASES: Final = re.compile(
    r"\b(?:" + "|".join(phrase.replace(" ", r"\s+") for phrase in sorted(BANNED, reverse=True)) + r")\b", re.IGNORECASE
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
        instead = next(instead for banned, instead in BANNED.items() if re.fullmatch(banned, phrase))
        yield Found(prose.count("\n", 0, match.start()) + 1, phrase, instead)


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
