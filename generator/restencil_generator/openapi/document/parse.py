"""Parsing of JSON and YAML into plain values, and search for the lines of pointers.

Parsing keeps no places. They are found afterwards, for all findings at once, by another pass over the file that only
follows the requested pointers.
"""

from __future__ import annotations

import bisect
import codecs
import contextlib
import dataclasses
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable
from json import JSONDecodeError
from typing import Any, Final, Literal, TypeAlias

from restencil_generator.diagnostics.model import Place, Source, visible
from restencil_generator.exceptions import Failure
from restencil_generator.openapi.document.json_types import is_list, is_table
from restencil_generator.openapi.document.pointer import keys, objects_in, token
from restencil_generator.spec.load import NodeBuilder
from restencil_generator.spec.source.build import Builder
from restencil_generator.spec.source.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode
from restencil_generator.spec.source.yaml import LINE_BREAK, NotYaml, parse

Form: TypeAlias = Literal["json", "yaml"]

MAX_DEPTH: Final = 500
"""Maximum depth of nested objects and lists."""

MAX_NODES_BY_ALIAS: Final = 1_000_000
"""The maximum number of nodes that the aliases of a YAML file may expand to."""

_TWICE: Final = "duplicate-key"
_BREAK: Final = {"json": re.compile(r"\r\n|[\r\n]"), "yaml": LINE_BREAK}


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """A parsed file. `oddities` are `(code, pointer, message)`, `digest` is the SHA-256 of its bytes."""

    file: str
    text: str
    form: Form
    value: Any
    oddities: tuple[tuple[str, str, str], ...] = ()
    digest: str = ""

    @property
    def source(self) -> Source:
        """The lines, for excerpts."""
        return Source(self.file, tuple(_BREAK[self.form].split(self.text)))


_HTML: Final = re.compile(r"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html)", re.IGNORECASE | re.DOTALL)


class Unreadable(Failure):
    """The file is neither JSON nor YAML, or is too large; the message gives the position."""


def read_text(content: bytes, file: str) -> Text:
    """Parse JSON or YAML, whichever the content is. Raises `Unreadable` with file and line."""
    read = _parsed(_decoded(content, file), file)
    return dataclasses.replace(read, digest=hashlib.sha256(content).hexdigest())


def _parsed(text: str, file: str) -> Text:
    begin = text.lstrip()[:1]
    if not begin:
        raise Unreadable(f"{file}: is empty; expected an OpenAPI document")
    if begin == "<":
        raise Unreadable(f"{file}:1:1: neither JSON nor YAML: it looks like {'HTML' if _HTML.match(text) else 'XML'}")
    if begin not in "{[":
        return _yaml(text, file)
    try:
        return _json(text, file)
    except JSONDecodeError as error:
        try:
            return _yaml(text, file)
        except Unreadable as refused:
            if "aliases" in str(refused):
                raise
            line, column = _position(text, error.pos)
            raise Unreadable(f"{file}:{line}:{column}: neither JSON nor YAML: {error.msg}") from error


def _decoded(content: bytes, file: str) -> str:
    encoding = "utf-8-sig"
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        encoding = "utf-32"
    elif content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line, column = _position(content[: error.start].decode(encoding, "replace"), None)
        byte = f"byte 0x{content[error.start]:02x}" if error.start < len(content) else "its end"
        name = encoding.removesuffix("-sig").upper()
        raise Unreadable(
            f"{file}:{line}:{column}: neither JSON nor YAML: {byte} is not allowed in {name}; save it as UTF-8"
        ) from error


def _position(text: str, index: int | None) -> tuple[int, int]:
    lines = LINE_BREAK.split(text if index is None else text[:index])
    return len(lines), len(lines[-1]) + 1


# ----------------------------------------------------------------------------------------------------------------- JSON

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_HUGE: Final = re.compile(r"[0-9][eE]\+?[0-9]{3}|[0-9]{400}")


def _json(text: str, file: str) -> Text:
    twice: list[tuple[dict[str, Any], str]] = []

    def entered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice.extend((made, key) for key, count in counts.items() if count > 1)
        return made

    huge = _HUGE.search(text) is not None
    decoder = json.JSONDecoder(
        object_pairs_hook=entered,
        parse_constant=str,
        parse_int=_scalar if huge else None,
        parse_float=_scalar if huge else None,
        strict=False,
    )
    try:
        value = decoder.decode(text)
    except RecursionError as error:
        raise _too_deep(text, file) from error
    if _depth(value) > MAX_DEPTH:
        raise _too_deep(text, file)
    if _SURROGATE.search(text):
        value = _without_surrogates(value)
    places = {id(holder): pointer for pointer, holder in objects_in(value)} if twice else {}
    oddities = tuple(
        (_TWICE, f"{places.get(id(holder), '')}/{token(key)}", _duplicate_key_message(key)) for holder, key in twice
    )
    return Text(file, text, "json", value, oddities)


def _duplicate_key_message(key: str) -> str:
    return f"the key '{visible(key[:60])}' is given twice; the last one is used"


_BRACKET: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"


def _too_deep(text: str, file: str) -> Unreadable:
    depth = at = 0
    for match in _BRACKET.finditer(text):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth > MAX_DEPTH:
            at = match.start()
            break
    line, column = _position(text, at)
    return Unreadable(f"{file}:{line}:{column}: {_TOO_DEEP}")


def _depth(value: Any) -> int:
    depth = 0
    level: list[Any] = [value] if is_table(value) or is_list(value) else []
    while level:
        depth += 1
        level = [
            inner
            for holder in level
            for inner in (holder.values() if is_table(holder) else holder)
            if is_table(inner) or is_list(inner)
        ]
    return depth


def _without_surrogates(value: Any) -> Any:
    """Return a value without unpaired surrogates, which cannot be encoded."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if is_table(value):
        return {_without_surrogates(key): _without_surrogates(inner) for key, inner in value.items()}
    if is_list(value):
        return [_without_surrogates(inner) for inner in value]
    return value


# ----------------------------------------------------------------------------------------------------------------- YAML


def _yaml(text: str, file: str) -> Text:
    builder = _Values(file)
    try:
        parse(text, file, builder.build)
    except NotYaml as error:
        problem, place = error.problem, error.problem.place
        at = f":{place.line}:{place.column}" if place.line else ""
        why = "" if problem.code in ("yaml-alias", "yaml-depth") else "neither JSON nor YAML: "
        raise Unreadable(f"{file}{at}: {why}{problem.message.removeprefix('the YAML does not parse: ')}") from error
    return Text(file, text, "yaml", builder.roots[0] if builder.roots else None, tuple(builder.oddities))


_MERGE: Final = object()
"""The unquoted key `<<`."""

_NONE: Final = object()


class _Values(Builder):
    """Builder of plain values."""

    MAX_DEPTH = MAX_DEPTH
    MAX_NODES_BY_ALIAS = MAX_NODES_BY_ALIAS

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.oddities: list[tuple[str, str, str]] = []
        self._scalars: dict[str, Any] = {}
        # The open collections, each with: its key without a value, and the mappings merged into it.
        self._keys: list[Any] = []
        self._merges: list[list[Any]] = []

    def is_done(self) -> bool:
        """Report another document."""
        self.oddities.append(("malformed", "", "a second document begins; only the first is read"))
        return True

    def scalar(self, event: Any) -> Any:
        """Return the value of a scalar; tags other than that of strings are ignored."""
        text: str = event.value
        if event.style or event.tag in ("!", "tag:yaml.org,2002:str"):
            return text
        if text not in self._scalars:
            self._scalars[text] = _scalar(text)
        return self._scalars[text]

    def collection(self, event: Any, *, is_mapping: bool) -> Any:
        """Return an empty object or list."""
        return {} if is_mapping else []

    def place(self, node: Any, event: Any) -> None:
        """Add a value to the innermost open collection, as an item, a key or a value."""
        if not self.stack:
            self.roots.append(node)
            return
        holder = self.stack[-1]
        if is_list(holder):
            holder.append(node)
            return
        key = self._keys[-1]
        if key is not _NONE:
            self._keys[-1] = _NONE
            if key is _MERGE:
                self._merges[-1].append(node)
            elif key is not None:
                self._enter(holder, key, node)
        elif is_table(node) or is_list(node):
            self._keys[-1] = None  # values of such keys are ignored
        else:
            text = getattr(event, "value", node if isinstance(node, str) else str(node))
            self._keys[-1] = _MERGE if text == "<<" and not getattr(event, "style", "") else text

    def _enter(self, holder: dict[str, Any], key: str, value: Any) -> None:
        if key in holder:
            parts = [
                str(len(each)) if is_list(each) else str(at)
                for each, at in zip(self.stack[:-1], self._keys[:-1], strict=True)
            ]
            self.oddities.append(
                (_TWICE, "".join(f"/{token(part)}" for part in (*parts, key)), _duplicate_key_message(key))
            )
            del holder[key]
        holder[key] = value

    def opened(self, node: Any, event: Any) -> None:
        """Begin a collection. It is added where it ends: the pointer of a duplicate key has the keys around it."""
        self._keys.append(_NONE)
        self._merges.append([])

    def closed(self, node: Any, event: Any) -> None:
        """Add a collection, with what is merged into it."""
        self._keys.pop()
        for merged in self._merges.pop():
            for each in merged if is_list(merged) else [merged]:
                if is_table(each):
                    for key, inner in each.items():
                        node.setdefault(key, inner)
        self.place(node, event)


def _scalar(text: str) -> Any:
    """Return the value of an unquoted scalar; numbers that JSON cannot represent stay strings."""
    value = ScalarNode("", 0, 0, 0, 0, text, True).value
    return value if not isinstance(value, float) or math.isfinite(value) else text


# --------------------------------------------------------------------------------------------------------------- places

_Wanted: TypeAlias = "dict[str, _Wanted]"
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_Span: TypeAlias = tuple[int, int]


def places(read: Text, pointers: Iterable[str]) -> dict[str, Place]:
    """Find the positions of pointers in a file: a scalar, to the key of an object or list, or to an item of a list; at
    least to the nearest part above."""
    every = dict.fromkeys(pointers)
    wanted: _Wanted = {}
    for pointer in every:
        inner = wanted
        for key in keys(pointer):
            inner = inner.setdefault(key, {})
    found = _json_places(read, wanted) if read.form == "json" else _yaml_places(read, wanted)
    return {pointer: _nearest(pointer, found, read.file) for pointer in every}


def _nearest(pointer: str, found: dict[str, Place], file: str) -> Place:
    while pointer and pointer not in found:
        pointer = pointer.rpartition("/")[0]
    return found.get(pointer) or Place(file, 1, 1, 1, 2)


def _json_places(read: Text, wanted: _Wanted) -> dict[str, Place]:
    text = read.text
    found: dict[str, _Span] = {}
    decoder = json.JSONDecoder(strict=False, parse_constant=str, parse_int=str, parse_float=str)

    def space(at: int) -> int:
        return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty text as well

    def value(at: int, wanted: _Wanted, pointer: str) -> int:
        """Scan the value that begins here, and return its end."""
        if not wanted or text[at] not in "{[":
            return decoder.raw_decode(text, at)[1]
        closing, index = "}" if text[at] == "{" else "]", 0
        at = space(at + 1)
        while text[at] != closing:
            start = at
            if closing == "}":
                key, at = decoder.raw_decode(text, at)
                end = at
                at = space(space(at) + 1)
            else:
                key, end, index = str(index), at + 1, index + 1
            inner = wanted.get(key)
            if inner is None:
                at = decoder.raw_decode(text, at)[1]
            else:
                inner_pointer = f"{pointer}/{token(key)}"
                begin, at = at, value(at, inner, inner_pointer)
                found[inner_pointer] = (start, end) if text[begin] in "{[" else (begin, at)
            at = space(at)
            if text[at] == ",":
                at = space(at + 1)
        return at + 1

    value(space(0), wanted, "")
    starts = [0, *(match.end() for match in _BREAK["json"].finditer(text))]
    return {pointer: _place(read.file, starts, span) for pointer, span in found.items()}


def _place(file: str, starts: list[int], span: _Span) -> Place:
    line = bisect.bisect_right(starts, span[0])
    column = span[0] - starts[line - 1] + 1
    return Place(file, line, column, line, column + span[1] - span[0])


class _Nodes(NodeBuilder):
    """Builder of the nodes of a document, for their places."""

    MAX_DEPTH = MAX_DEPTH
    MAX_NODES_BY_ALIAS = MAX_NODES_BY_ALIAS

    def enter(self, mapping: MappingNode, key: ScalarNode, value: Node) -> None:
        """Add a key with its value; of two equal keys the last is used."""
        mapping.entries[key.text] = Entry(key, value)


def _yaml_places(read: Text, wanted: _Wanted) -> dict[str, Place]:
    builder = _Nodes(read.file, [])
    with contextlib.suppress(NotYaml):  # there may be errors after the first document
        parse(read.text, read.file, builder.build)
    found: dict[str, Place] = {}
    pending: list[tuple[Node, str, _Wanted]] = [(builder.roots[0], "", wanted)] if builder.roots else []
    while pending:
        node, pointer, inner = pending.pop()
        parts = dict[str, tuple[Node, Node]]()
        if isinstance(node, MappingNode):
            parts = {key: (entry.key, entry.value) for key, entry in node}
        elif isinstance(node, SequenceNode):
            parts = {str(index): (item, item) for index, item in enumerate(node.items)}
        for key in inner.keys() & parts.keys():
            begin, part = parts[key]
            at = f"{pointer}/{token(key)}"
            found[at] = _first_line(part if isinstance(part, ScalarNode) else begin)
            pending.append((part, at, inner[key]))
    return found


def _first_line(node: Node) -> Place:
    """Return the place of a scalar on one line, or of the first character of anything else."""
    is_whole = isinstance(node, ScalarNode) and node.end_line == node.line and node.end_column > node.column
    last = node.end_column if is_whole else node.column + 1
    return Place(node.file, node.line + 1, node.column + 1, node.line + 1, last + 1)
