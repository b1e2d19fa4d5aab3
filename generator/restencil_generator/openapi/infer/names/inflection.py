"""Conversion to snake_case and PascalCase; singular and plural; words with a meaning in many APIs."""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import Final

GLOBAL: Final = frozenset(["id", "uuid", "guid", "uid", "sid", "gid", "oid", "arn", "urn", "identifier", "pk"])
"""Names of properties that identify records in a whole API, whatever their parent."""

KEY_WORDS: Final = [
    "uuid",
    "guid",
    "uid",
    "key",
    "slug",
    "code",
    "name",
    "number",
    "login",
    "username",
    "user_name",
    "token",
    "email",
    "hash",
    "symbol",
    "sku",
    "handle",
    "isbn",
    "iban",
    "ean",
    "address",
    "iso_code",
    "short_name",
    "ref",
    "reference",
    "title",
    "domain",
    "hostname",
    "path",
    "label",
]
"""Names of properties that often identify records, in order of likelihood."""

SIGNS: Final = {
    "+": "plus", "-": "dash", ".": "dot", "/": "slash", ":": "colon", "@": "at", "$": "dollar", "#": "hash",
    "%": "percent", "&": "and", "*": "star", "!": "bang", "~": "tilde", "=": "equals", "<": "less", ">": "greater",
    "|": "pipe", "?": "question", "^": "caret", ",": "comma", ";": "semicolon", "(": "open", ")": "close",
    "[": "open", "]": "close", "{": "open", "}": "close", "_": "underscore", " ": "space", "'": "quote", '"': "quote",
    "\\": "backslash",
}  # fmt: skip
"""The names of punctuation characters, for names that differ only by them."""

_PLURAL_ACRONYM: Final = re.compile(r"([A-Z]{2,})s(?![a-z])")
_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAK: Final = re.compile(r"[\W_]+")

_ONE: Final = {
    "people": "person", "children": "child", "men": "man", "women": "woman", "mice": "mouse", "feet": "foot",
    "indices": "index", "matrices": "matrix", "vertices": "vertex", "criteria": "criterion", "analyses": "analysis",
    "bases": "base", "caches": "cache", "databases": "database", "leases": "lease", "purchases": "purchase",
    "releases": "release", "licenses": "license", "responses": "response", "houses": "house", "cases": "case",
    "phases": "phase", "uses": "use", "causes": "cause", "expenses": "expense", "courses": "course", "movies": "movie",
    "series": "series", "species": "species", "news": "news", "media": "media", "data": "data", "metadata": "metadata",
    "moves": "move", "leaves": "leave", "archives": "archive", "drives": "drive", "slaves": "slave",
    "warehouses": "warehouse", "browses": "browse", "exercises": "exercise", "invoices": "invoice", "axes": "axis",
    "status": "status", "statuses": "status", "aliases": "alias", "buses": "bus", "bonuses": "bonus", "ties": "tie",
    "cookies": "cookie", "pies": "pie", "quizzes": "quiz", "geese": "goose", "headquarters": "headquarters",
    "https": "https", "dns": "dns", "sms": "sms", "aws": "aws", "gps": "gps", "tos": "tos", "ios": "ios", "os": "os",
    "rss": "rss", "kubernetes": "kubernetes", "settings": "setting", "apis": "api",
}  # fmt: skip
_MANY: Final = {one: many for many, one in _ONE.items()}


def shortened(name: str) -> str:
    """Shorten a name to the limits of file names and YAML keys: 200 characters of ASCII, or 60 of others."""
    return name[:200] if name.isascii() else name[:60]


@functools.lru_cache(maxsize=100_000)
def snake_case(name: str, default: str = "value") -> str:
    """Convert a name of a document to Python: `userId` → `user_id`, `+1` → `plus_1`, `2fa` → `n2fa`.

    Punctuation separates words. `default` is returned if nothing is left.
    """
    text = unicodedata.normalize("NFKC", name)
    if text[:1] in "+-" and text[1:2].isdigit():
        text = f"{'plus' if text[0] == '+' else 'minus'} {text[1:]}"
    text = text.replace("OAuth", "Oauth")
    text = _PLURAL_ACRONYM.sub(lambda match: match[1].capitalize() + "s", text)
    text = _BREAK.sub("_", _BOUNDARY.sub("_", text)).strip("_").lower()
    if not text.isascii():
        text = "".join(char for char in unicodedata.normalize("NFKC", text) if f"x{char}".isidentifier())
        text = text.strip("_")
    text = shortened(text).rstrip("_")
    if not text:
        return default
    return text if text.isidentifier() else f"n{text}" if f"n{text}".isidentifier() else default


def spelled(name: str) -> str:
    """Convert a name with words for punctuation, if names differ only by it: `t-` → `t_dash`, `a.b` → `a_dot_b`."""
    return snake_case("".join(f" {SIGNS[char]} " if char in SIGNS and char != "_" else char for char in name))


@functools.lru_cache(maxsize=100_000)
def pascal_case(name: str) -> str:
    """Return the name of a class: `blog_posts` → `BlogPosts`, `HTTPError` stays, `2fa` → `N2fa`."""
    text = unicodedata.normalize("NFKC", name)
    parts = [part for part in _BREAK.split(text) if part]
    joined = "".join(part[:1].upper() + part[1:] for part in parts)
    joined = "".join(char for char in joined if f"x{char}".isidentifier())
    joined = shortened(joined)
    if not joined:
        return "Value"
    return joined if joined.isidentifier() else f"N{joined}"


@functools.lru_cache(maxsize=20_000)
def singular(word: str) -> str:
    """Return the singular of a word: `users` → `user`, `categories` → `category`. Only the last part changes."""
    head, _, last = word.rpartition("_")
    return f"{head}_{_singular(last)}" if head else _singular(last)


@functools.lru_cache(maxsize=20_000)
def plural(word: str) -> str:
    """Return the plural of a word: `store` → `stores`, `category` → `categories`."""
    head, _, last = word.rpartition("_")
    if _singular(last) != last and last not in _MANY:
        return word
    many = _MANY.get(last) or _plural(last)
    return f"{head}_{many}" if head else many


def _singular(word: str) -> str:
    if word in _ONE:
        return _ONE[word]
    if len(word) <= 3 and word != "ids":
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes", "uses")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _plural(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")
