r"""Path templates: grammar, filling, matching and shortening.

    template  = { literal | escape | param }
    param     = ":" name [ "?" ]
    name      = one or more of A-Z a-z 0-9 _
    escape    = "\" any-char            → that character, literally
    literal   = any char except \ : ?  and the reserved ( ) { } * +

A `/` or `.` right before a parameter is its prefix: it is emitted only together with the parameter. Each template is
compiled once to a Python function that fills it; tracebacks show its source.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias
from urllib import parse as urls

from ..base.code import function_of
from ..base.errors import MissingParameterError, PathTemplateError
from ..base.values import described, is_items, is_mapping, scalar_text

RESERVED: Final = frozenset("(){}*+")
PATH_SAFE: Final = "-_.!~*'()"
DOT_SEGMENTS: Final = (".", "..")

_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
# The beginning of a path that is neither rooted nor a URL.
_begins_with_name: Final = re.compile(r"(?!\w+\\:)[\w:]").match
# Text that needs no escaping in a path, and is not a dot segment.
_plain: Final = re.compile(r"[A-Za-z0-9_!~*'()-][A-Za-z0-9_.!~*'()-]*").fullmatch
# Text that needs no escaping in a query string.
_plain_search: Final = re.compile(r"[A-Za-z0-9*._-]*").fullmatch


class Param(NamedTuple):
    """A parameter of a template, with the prefix that is emitted together with it."""

    name: str
    prefix: str
    optional: bool


def parse(template: str) -> list[str | Param]:
    """Parse a template to its parts in order: literal text and parameters.

    Raises PathTemplateError, with template and position, if the text violates the grammar.
    """
    parts: list[str | Param] = []
    literal: list[tuple[str, bool]] = []  # character, and whether it was escaped
    position = 0

    def flush() -> None:
        if literal:
            parts.append("".join(character for character, _ in literal))
            literal.clear()

    while position < len(template):
        character = template[position]
        if character == "\\":
            if position + 1 == len(template):
                raise PathTemplateError(
                    template, position, "a backslash at the end escapes nothing; write \\\\ for one"
                )
            literal.append((template[position + 1], True))
            position += 2
        elif character == ":":
            found = _NAME.match(template, position + 1)
            if found is None:
                raise PathTemplateError(
                    template, position, "':' is not followed by a parameter name; write \\: for a literal colon"
                )
            prefix = ""
            if literal and literal[-1] in (("/", False), (".", False)):
                prefix = literal.pop()[0]
            flush()
            if not prefix and parts and isinstance(parts[-1], Param):
                raise PathTemplateError(
                    template,
                    position,
                    f"parameters {parts[-1].name!r} and {found[0]!r} are adjacent; put text between them",
                )
            position = found.end()
            optional = template.startswith("?", position)
            parts.append(Param(found[0], prefix, optional))
            position += optional
        elif character == "?":
            raise PathTemplateError(
                template, position, "'?' does not follow a parameter name; write \\? for a literal one"
            )
        elif character in RESERVED:
            raise PathTemplateError(
                template, position, f"{character!r} is reserved; write \\{character} for a literal one"
            )
        else:
            literal.append((character, False))
            position += 1
    flush()
    return parts


def shorten_path(path: str) -> str:
    """Return the template of a resource's list: the path up to its last parameter, with or without a final slash.

    It ends with a slash if the path does: `/books/:id/` becomes `/books/`, and `/books/:id` becomes `/books`.

    Raises ValueError for a path without a parameter.
    """
    last = -1
    position = 0
    while position < len(path):
        if path[position] == "\\":
            position += 1
        elif path[position] == ":":
            last = position
        position += 1
    if last < 0:
        raise ValueError(
            f"the path of a resource needs a parameter, such as '/articles/:id', or singleton=True: {path!r}"
        )
    shortened = path[:last]
    # An escaped slash is removed together with its backslash.
    for tail in ("\\/", "/"):
        if shortened.endswith(tail):
            shortened = shortened.removesuffix(tail)
            break
    if path.endswith("/"):
        return f"{shortened}/"
    return shortened or ("/" if path.startswith("/") else "")


def search_text(name: str, value: object) -> str:
    """Convert the value of a query parameter to a string, lists joined with commas. Raises TypeError for a dict."""
    if is_items(value):
        return ",".join("" if item is None else search_text(name, item) for item in value)
    text = scalar_text(value)
    if text is None:
        raise TypeError(
            f"query parameter {name!r} is {described(value)}, which cannot be encoded in a query string; "
            "pass a scalar or a list, or override search_to_string to encode nested values"
        )
    return text


def _search_quoted(name: str, text: str) -> str:
    if _plain_search(text):
        return text
    try:
        return urls.quote_plus(text, safe="*").replace("~", "%7E")
    except UnicodeEncodeError:
        raise ValueError(
            f"query parameter {name!r} contains a lone surrogate, which UTF-8 cannot encode; remove it from {text!r}"
        ) from None


def search_string(params: Mapping[str, Any]) -> str:
    """Encode parameters as `application/x-www-form-urlencoded`, sorted by code points of names, without None."""
    pairs: list[str] = []
    for name in sorted(params):
        value = params[name]
        if value is not None:
            pairs.append(pair_of(name, value if type(value) is str else search_text(name, value)))
    return "&".join(pairs)


def pair_of(name: str, text: str) -> str:
    """Encode the name and the value of one query parameter."""
    return f"{_search_quoted(name, name)}={_search_quoted(name, text)}"


Filler: TypeAlias = Callable[[Mapping[str, Any], str], str]


class PathTemplate:
    """A parsed template: `names` are its parameters, `fill` returns a path, `matches` compares one with it."""

    __slots__ = (
        "_ends",
        "_joined",
        "_matches",
        "_segments_with_params",
        "exact",
        "filler",
        "has_query",
        "kinds",
        "leads",
        "names",
        "parts",
        "rooted",
        "template",
        "whole",
    )

    def __init__(self, template: str, kinds: Mapping[str, str] | None = None) -> None:
        self.template = template
        self.kinds: Mapping[str, str] = kinds or {}
        """Parameters that are not a single string: `list`, or `slashes` for one that may contain several segments."""
        self.parts: Final = parse(template)
        self.names = frozenset(part.name for part in self.parts if isinstance(part, Param))
        self.has_query = any(isinstance(part, str) and "?" in part for part in self.parts)
        first, *others = self._segments()
        self.rooted = template.startswith("/")
        """Whether the path begins with a slash."""
        self._joined = _begins_with_name(template) is not None
        """Whether a slash is between the URL prefix and the path, which has none."""
        self.leads = _has_param(first)
        """Whether the first segment, which continues the last segment of the URL prefix, contains a parameter."""
        segments = [segment for segment in (first, *others) if _has_param(segment)]
        self.whole = tuple(
            dict.fromkeys(
                segment[0].name
                for segment in segments
                if len(segment) == 1 and isinstance(segment[0], Param) and not segment[0].optional
            )
        )
        """Required parameters that are a whole segment of the path."""
        self._segments_with_params = segments
        optional = any(isinstance(part, Param) and part.optional for part in self.parts)
        self.exact = -1 if optional else len(self.names)
        """The number of parameters that the path uses; -1 if some are optional."""
        self.filler: Filler | None = None
        """The compiled function behind `fill`, after its first use."""
        self._matches: Callable[[str], object] | None = None
        self._ends: Callable[[str], re.Match[str] | None] | None = None

    def place(self, prefix: str) -> str:
        """Return the URL prefix with or without a final slash, so that one slash is between it and the path.

        A path that is a URL, or begins with another character than that of a name, continues the prefix as it is.
        """
        if prefix.endswith("/"):
            return prefix[:-1] if self.rooted else prefix
        return f"{prefix}/" if self._joined and prefix else prefix

    def fill(self, params: Mapping[str, object], head: str = "") -> str:
        """Return the path for these parameters; others are ignored. `head` is the beginning of its first segment.

        Raises MissingParameterError, TypeError for a container, and ValueError for a value that would change the route:
        one that makes a whole segment `.` or `..`, or contains a control character or a lone surrogate.
        """
        if self.filler is None:
            # At first use: most endpoints of a large package are never called.
            self.filler = _compiled(self, self._segments_with_params)
        return self.filler(params, head)

    def refuse_empty(self, params: Mapping[str, object]) -> None:
        """Raise ValueError if a required parameter that is a whole segment is empty: `/a/` is another route."""
        for name in self.whole:
            value = params.get(name)
            if name in self.kinds:
                continue  # its encoder raises the error
            if type(value) is str:
                empty = not value
            else:
                empty = value is not None and type(value) is not int and scalar_text(value) == ""
            if empty:
                _refuse_empty(name, self.template)

    def matches(self, text: str) -> bool:
        """Return whether the template has this path, without the query string of the URL, for some parameters."""
        matches = self._matches
        if matches is None:
            matches = self._matches = re.compile(self._pattern(), re.DOTALL | re.IGNORECASE).fullmatch
        return matches(text) is not None

    def params_of(self, path: str) -> dict[str, str] | None:
        """Return the parameters, as strings, with which the template is the end of this path; None if it is not."""
        ends = self._ends
        if ends is None:
            ends = self._ends = re.compile(f".*?{self._pattern(groups=True)}", re.DOTALL | re.IGNORECASE).fullmatch
        found = ends(path)
        if found is None or self.has_query:
            return None
        names = [part.name for part in self.parts if isinstance(part, Param)]
        pairs = zip(names, found.groups(), strict=True)
        return {name: urls.unquote(text) for name, text in pairs if text is not None}

    def _pattern(self, *, groups: bool = False) -> str:
        pattern: list[str] = []
        in_query = False
        segments = self._segments_with_params
        for part in self.parts:
            if isinstance(part, str):
                in_query = in_query or "?" in part
                pattern.append(re.escape(part))
                continue
            # Only a value that is a whole segment must not be empty.
            value = "[^/#?&]*" if in_query else "[^/#?]+" if [part] in segments else "[^/#?]*"
            if self.kinds.get(part.name) == "slashes":
                value = "[^#?]+?"
            if groups:
                value = f"({value})"
            prefix = re.escape(part.prefix)
            pattern.append(f"(?:{prefix}{value})?" if part.optional else f"{prefix}{value}")
        return "".join(pattern) + ("(?:&.*|/)?" if self.has_query else "/?")

    def _segments(self) -> list[list[str | Param]]:
        """Return the segments of the path, each with its text and parameters, without the slash before it.

        The path ends at a literal `?`.
        """
        segments: list[list[str | Param]] = [[]]
        for part in self.parts:
            if isinstance(part, Param):
                if part.prefix == "/":
                    segments.append([])
                segments[-1].append(part)
                continue
            path, query, _ = part.partition("?")
            first, *others = path.split("/")
            if first:
                segments[-1].append(first)
            segments.extend([text] if text else [] for text in others)
            if query:
                break
        return segments


@lru_cache(maxsize=4096)
def path_template(template: str, kinds: tuple[tuple[str, str], ...] = ()) -> PathTemplate:
    """Return the parsed template from a cache; `kinds` are those of its parameters. Raises PathTemplateError."""
    if not isinstance(template, str):  # pyright: ignore[reportUnnecessaryIsInstance] - it comes from users
        raise TypeError(f"a path template is {described(template)}; expected a string such as '/articles/:id'")
    return PathTemplate(template, dict(kinds))


def check_path_params(name: str, value: Any, endpoint: Any) -> None:
    """Raise TypeError for an invalid option `path_params`."""
    if not is_mapping(value):
        raise TypeError(f"{name} of endpoint {endpoint.label} is {described(value)}; expected a dict of parameters")
    for parameter, kind in value.items():
        if not isinstance(kind, str) or not kind:
            raise TypeError(
                f"{parameter!r} in {name} of endpoint {endpoint.label} is {described(kind)}; expected 'list', "
                "'slashes' or the name of a field"
            )


def kinds_of(path_params: object) -> tuple[tuple[str, str], ...]:
    """Return the parameters in the option `path_params` that are `list` or `slashes`, sorted, each with its kind."""
    given: Mapping[str, Any] = path_params if is_mapping(path_params) else {}
    return tuple(sorted((name, kind) for name, kind in given.items() if isinstance(kind, str) and kind in _KINDS))


def fields_of(path_params: Any) -> dict[str, str]:
    """Return the fields, with dots for nested ones, that the option `path_params` maps parameters to."""
    given: Mapping[str, Any] = path_params if is_mapping(path_params) else {}
    return {name: kind for name, kind in given.items() if isinstance(kind, str) and kind not in _KINDS}


def outer_params_of(endpoint: Any) -> frozenset[str]:
    """Return the path parameters before the last one, which are not the primary key unless mapped to a field."""
    path: str | None = getattr(endpoint, "path", None)
    if path is None:
        return frozenset()
    *outer, _ = [part.name for part in path_template(path).parts if isinstance(part, Param)] or [""]
    return frozenset(outer) - fields_of(endpoint.path_params).keys()


def names_entity(endpoint: Any) -> bool:
    """Return whether a call may identify an entity: by an item's path, a parameter at its end, or mapped fields."""
    path: str | None = getattr(endpoint, "path", None)
    if path is None or endpoint.search_fields or endpoint.body_fields:
        return True
    parts = path_template(path.rstrip("/")).parts
    is_of_item = endpoint.siblings is not None and endpoint.siblings.is_of_item(path)
    return is_of_item or (bool(parts) and isinstance(parts[-1], Param))


def encode_value(value: object, name: str, template: str) -> str:
    """Percent-encode the value of a parameter. Raises TypeError for containers, and ValueError for unsafe text."""
    text = scalar_text(value)
    if text is None:
        raise TypeError(f"parameter {name!r} of {template!r} is {described(value)}; expected a string or a number")
    for character in text:
        if not character.isprintable() and unicodedata.category(character) == "Cc":
            raise ValueError(
                f"parameter {name!r} of {template!r} contains the control character {character!r}; "
                f"remove it from {text!r}"
            )
    try:
        return urls.quote(text, safe=PATH_SAFE)
    except UnicodeEncodeError:
        raise ValueError(
            f"parameter {name!r} of {template!r} contains a lone surrogate, which UTF-8 cannot encode; remove it from "
            f"{text!r}"
        ) from None


def _refuse_empty(name: str, template: str) -> NoReturn:
    raise ValueError(f"parameter {name!r} of {template!r} is empty, so the URL would match another route; pass a value")


def _encode_list(value: object, name: str, template: str) -> str:
    """Encode a list parameter: its percent-encoded items, joined with commas. Raises ValueError if it is empty."""
    if not is_items(value):
        return encode_value(value, name, template) or _refuse_empty(name, template)
    text = ",".join(encode_value(item, name, template) for item in value)
    return text or _refuse_empty(name, template)


def _encode_segments(value: object, name: str, template: str) -> str:
    """Percent-encode a parameter except its slashes. Raises ValueError if it would address another route."""
    text = encode_value(value, name, template).replace("%2F", "/")
    for segment in text.split("/"):
        if segment in ("", *DOT_SEGMENTS):
            what = "an empty segment" if not segment else f"the segment {segment!r}"
            raise ValueError(
                f"parameter {name!r} of {template!r} has {what}, so the URL would match another route; remove it from "
                f"{text!r}"
            )
    return text


_KINDS: Final[Mapping[str, Callable[[Any, str, str], str]]] = {"list": _encode_list, "slashes": _encode_segments}


def _refuse_dots(names: tuple[str, ...], template: str, segment: str) -> NoReturn:
    raise ValueError(
        f"parameter {names[-1]!r} of {template!r} would result in the path segment {segment!r}, which HTTP libraries "
        "resolve to another route; pass another value"
    )


def _missing(name: str, template: str) -> NoReturn:
    raise MissingParameterError(name, template)


def _has_param(segment: list[str | Param]) -> bool:
    return any(isinstance(part, Param) for part in segment)


def _could_be_dots(segment: list[str | Param]) -> bool:
    literal = "".join(part if isinstance(part, str) else part.prefix.replace("/", "") for part in segment)
    return literal in ("", ".", "..")


def _compiled(template: PathTemplate, segments: list[list[str | Param]]) -> Filler:
    """Compile the template to a function without loops.

    Measured by the benchmarks "cached read of one entity" and "direct call".
    """
    lines = ["def fill(params, head):"]
    variables: dict[str, str] = {}
    optional = {part.name for part in template.parts if isinstance(part, Param) and part.optional}
    required = {part.name for part in template.parts if isinstance(part, Param) and not part.optional}
    for part in template.parts:
        if not isinstance(part, Param) or part.name in variables:
            continue
        variable = variables[part.name] = f"v{len(variables)}"
        name = repr(part.name)
        if part.name in template.kinds:
            lines += [
                f"    {variable} = params.get({name})",
                f"    if {variable} is not None:",
                f"        {variable} = encode_{template.kinds[part.name]}({variable}, {name}, template)",
                "    else:",
                f"        missing({name}, template)" if part.name in required else "        pass",
            ]
            continue
        lines += [
            f"    {variable} = params.get({name})",
            f"    if type({variable}) is int:",
            f"        {variable} = str({variable})",
            f"    elif {variable} is None:",
            f"        missing({name}, template)" if part.name in required else "        pass",
            f"    elif type({variable}) is not str or not plain({variable}):",
            f"        {variable} = encode({variable}, {name}, template)",
        ]

    def expression(parts: list[str | Param], slashes: bool) -> str:
        pieces: list[str] = []
        for part in parts:
            if isinstance(part, str):
                pieces.append(repr(part))
                continue
            prefix = part.prefix if slashes or part.prefix != "/" else ""
            variable = variables[part.name]
            text = f"{prefix!r} + {variable}" if prefix else variable
            pieces.append(f"('' if {variable} is None else {text})" if part.name in optional else text)
        return " + ".join(pieces) or "''"

    for number, segment in enumerate(segments):
        if not _could_be_dots(segment):
            continue
        names = tuple(part.name for part in segment if isinstance(part, Param))
        # If all parameters are absent, the dots are part of the template.
        given = " or ".join("True" if name in required else f"{variables[name]} is not None" for name in names)
        head = "head + " if number == 0 and template.leads else ""
        lines += [
            f"    segment = {head}{expression(segment, slashes=False)}",
            f"    if segment in DOTS and ({given}):",
            f"        dots({names!r}, template, segment)",
        ]
    lines.append(f"    return {expression(template.parts, slashes=True)}")
    source = "\n".join(lines) + "\n"
    filename = f"<path template {template.template!r}>"
    scope: dict[str, Any] = {
        "template": template.template,
        "plain": _plain,
        "encode": encode_value,
        "missing": _missing,
        "dots": _refuse_dots,
        "DOTS": DOT_SEGMENTS,
        **{f"encode_{kind}": encode for kind, encode in _KINDS.items()},
    }
    # Every name in the source is written by this function; text of the template is inserted only as literals.
    fill: Filler = function_of(source, "fill", filename, scope)
    return fill
