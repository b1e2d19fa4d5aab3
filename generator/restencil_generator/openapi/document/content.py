"""Selection of the media type of a body or response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from restencil_generator.openapi.document.json_schema import malformed
from restencil_generator.openapi.document.json_types import is_list, is_table
from restencil_generator.openapi.document.model import Content, ContentKind, Finding, Part, Where
from restencil_generator.openapi.document.pointer import child, within
from restencil_generator.openapi.document.refs import References
from restencil_generator.openapi.document.schemas import Schemas

_EVENTS: Final = "text/event-stream"
_STREAMS: Final = (
    "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonl", "application/x-jsonlines",
    "application/json-seq", "application/geo+json-seq", "application/stream+json", "application/x-json-stream",
)  # fmt: skip
_TEXTS: Final = (
    "application/xml", "application/yaml", "application/x-yaml", "application/javascript", "application/graphql",
    "application/sql", "application/toml", "application/jwt", "application/x-javascript",
)  # fmt: skip

_IN_RESPONSES: Final[Sequence[ContentKind]] = ("json", "stream", "sse", "form", "text", "bytes", "multipart")
_SENT: Final[Sequence[ContentKind]] = ("json", "multipart", "form", "text", "bytes", "stream", "sse")


def kind_of(media: str) -> ContentKind:
    """Return the kind of a media type."""
    plain = media.partition(";")[0].strip().lower()
    kind, _, sub = plain.partition("/")
    if plain == _EVENTS:
        return "sse"
    if plain in _STREAMS:
        return "stream"
    if sub.endswith("json") or plain in ("json", "*/*", "*", "application/*", ""):
        return "json"
    if plain == "application/x-www-form-urlencoded":
        return "form"
    if kind == "multipart":
        return "multipart"
    return "text" if kind == "text" or sub.endswith(("+xml", "+yaml")) or plain in _TEXTS else "bytes"


def _is_xml(media: str) -> bool:
    return media.partition(";")[0].strip().lower().endswith("xml")


class Contents:
    """Reader of `content`, and of its equivalent in Swagger 2.0."""

    def __init__(self, references: References, schemas: Schemas, report: Callable[[Finding], None]) -> None:
        self._references = references
        self._schemas = schemas
        self._report = report

    def read(self, part: Part) -> list[Content]:
        """Return the contents that `content` of a body, a response or a parameter lists."""
        written = part.value.get("content")
        if written is None:
            return []
        if not is_table(written):
            self._report(malformed(part.where, "an object of media types", written))
            return []
        found: list[Content] = []
        for media, value in written.items():
            each = self._references.follow(child(part, value, "content", media))
            if each is None or not is_table(each.value):
                each = Part({}, within(part.where, "content", media))
            found.append(self._content(media, each))
        return found

    def of(self, types: Iterable[str], schema: Part) -> list[Content]:
        """Return the contents with one schema and several media types."""
        return [Content(media, self._kind(media, schema), schema) for media in types]

    def _content(self, media: str, part: Part) -> Content:
        value: dict[str, Any] = part.value
        kind = kind_of(media)
        key = "schema"
        if "itemSchema" in value:
            key = "itemSchema"
            kind = "sse" if kind == "sse" else "stream"
        schema = child(part, value[key], key) if key in value else None
        if schema is None and kind == "json":
            schema = Part({}, within(part.where, "schema"), made=True)
        elif schema is not None and kind == "json":
            kind = self._kind(media, schema)
        encoding = value.get("encoding")
        return Content(
            type=media,
            kind=kind,
            schema=schema,
            examples=tuple(self._examples(value, part)),
            encoding={name: each for name, each in encoding.items() if is_table(each)} if is_table(encoding) else {},
        )

    def _examples(self, value: Mapping[str, Any], part: Part) -> list[Any]:
        found = [value["example"]] if "example" in value else []
        named = value.get("examples")
        if is_list(named):
            return [*found, *named]
        for name, each in named.items() if is_table(named) else ():
            if is_table(each) and "$ref" in each:
                target = self._references.follow(child(part, each, "examples", name))
                each = None if target is None else target.value
            if is_table(each) and "value" in each:
                found.append(each["value"])
        return found

    def _kind(self, media: str, schema: Part) -> ContentKind:
        kind = kind_of(media)
        if kind != "json":
            return kind
        read = self._schemas.read(schema)
        # A file without a declared media type.
        return "bytes" if read.type == "string" and read.format == "binary" else kind

    def rank(self, content: Content | None) -> int:
        """Return the rank of a response's content; the lowest is preferred."""
        return len(_IN_RESPONSES) if content is None else _IN_RESPONSES.index(content.kind)

    def sent(self, contents: Sequence[Content], where: Where) -> Content | None:
        """Return the content of a request body to use."""
        if not contents:
            return None
        chosen = min(contents, key=lambda content: _SENT.index(content.kind))
        file = self.file(contents)
        self._left_out(chosen, [content for content in contents if content is not file], where)
        return chosen

    def file(self, contents: Sequence[Content]) -> Content | None:
        """Return the multipart alternative to a JSON body, for sending files."""
        if all(content.kind != "json" for content in contents):
            return None
        return next((content for content in contents if content.kind == "multipart" and content.schema), None)

    def of_response(self, contents: Sequence[Content], where: Where) -> tuple[Content | None, Content | None]:
        """Return the content of a response to use, and the event stream among the alternatives."""
        if not contents:
            return None, None
        chosen = min(contents, key=self.rank)
        stream = (
            next((content for content in contents if content.kind == "sse"), None) if chosen.kind == "json" else None
        )
        self._left_out(chosen, [content for content in contents if content is not stream], where)
        return chosen, stream

    def _left_out(self, chosen: Content, contents: Sequence[Content], where: Where) -> None:
        others = [one.type for one in contents if one is not chosen and not (one.kind == chosen.kind == "json")]
        if others:
            message = f"{', '.join(others[:5])} next to {chosen.type}: only {chosen.type} is read"
            self._found("content-left-out", message, where)
        if chosen.kind == "text" and _is_xml(chosen.type):
            self._found("xml-as-text", f"{chosen.type} is read and written as text", where)

    def _found(self, code: str, message: str, where: Where) -> None:
        self._report(Finding(code, message, where))
