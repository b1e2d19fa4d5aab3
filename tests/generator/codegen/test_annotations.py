"""Types as annotations: what a read gives, and what a body takes."""

from __future__ import annotations

import pytest
from tests.generator.codegen.lines import has_line, rendered

SPEC = """
enums: {{Kind: [a, b]}}
objects: {{Point: {{x: integer, tags: [string]}}}}
entities:
  Leaf: {{pk: code, fields: {{code: uuid}}}}
  Pair: {{pk: [a, b], fields: {{a: integer, b: integer}}}}
  Thing: {{fields: {{id: integer, kind: string, field: {type}}}}}
resources:
  leaves: {{path: "/l/:code", schema: Leaf}}
  pairs: {{path: "/p/:a/:b", schema: Pair}}
  things: {{path: "/t/:id", schema: Thing}}
"""

LEAF = 'schema=schema.Lazy(".leaves:Leaf", __name__)'

FIELDS: list[tuple[str, str]] = [
    ("string", 'field: str = ""'),
    ("string?", "field: str | None = None"),
    ("integer", "field: int = 0"),
    ("number", "field: float = 0.0"),
    ("boolean", "field: bool = False"),
    ("any", "field: typing.Any = None"),
    ("any?", "field: typing.Any = None"),
    ("datetime", "field: datetime.datetime = restencil.field(required=True)"),
    ("date", "field: datetime.date = restencil.field(required=True)"),
    ("decimal", "field: decimal.Decimal = restencil.field(required=True)"),
    ("uuid?", "field: uuid.UUID | None = None"),
    ("Kind", "field: Kind = restencil.field(required=True)"),
    ("{enum: [x, 1]}", 'field: typing.Literal["x", 1] = restencil.field(required=True)'),
    (
        "{one_of: [{enum: [x, 1]}, integer, {enum: [1, z]}, {const: true}]}",
        'field: typing.Literal["x", 1, "z", True] | int = restencil.field(required=True)',
    ),
    ("{const: link}", 'field: typing.Literal["link"] = "link"'),
    ("[string]", "field: Sequence[str] = restencil.field(default=[])"),
    ('["string?"]', "field: Sequence[str | None] = restencil.field(default=[])"),
    ("{values: integer}", "field: dict[str, int] = restencil.field(default={})"),
    ("Point?", "field: Point | None = None"),
    ("{one_of: [string, integer]}", 'field: str | int = ""'),
    ("Leaf?", f"field: Leaf | None = restencil.field(default=None, {LEAF})"),
    ("Leaf", f"field: Leaf = restencil.field({LEAF}, required=True)"),
    ("[Leaf]", 'field: Sequence[Leaf] = restencil.field(default=[], schema=[schema.Lazy(".leaves:Leaf", __name__)])'),
    (
        "{values: Leaf}",
        "field: dict[str, Leaf] = restencil.field(default={}, "
        'schema=schema.Values(schema.Lazy(".leaves:Leaf", __name__)))',
    ),
    ("{type: Leaf, send: pk}", f'field: Leaf = restencil.field({LEAF}, send="pk", required=True)'),
    ("Thing", "field: Thing = restencil.field(schema=schema.Lazy(lambda: Thing), required=True)"),
    ("{type: Point, default: {x: 5}}", "field: Point = Point(x=5)"),
    (
        "{type: [Point], default: [{x: 1}, {}]}",
        "field: Sequence[Point] = restencil.field(default=[Point(x=1), Point()])",
    ),
]

BODIES: list[tuple[str, str]] = [
    ("string?", "field: str | None"),
    ("[string]", "field: Sequence[str]"),
    ("Point", "field: PointBody | Point"),
    ("[Point]", "field: Sequence[PointBody | Point]"),
    ("{values: Point}", "field: dict[str, PointBody | Point]"),
    ("Leaf", "field: LeafBody | Leaf | uuid.UUID"),
    ("Leaf?", "field: LeafBody | Leaf | uuid.UUID | None"),
    ("[Leaf]", "field: Sequence[LeafBody | Leaf | uuid.UUID]"),
    ("Pair", "field: PairBody | Pair"),
    ("Thing?", "field: ThingBody | Thing | int | None"),
    ("any", "field: typing.Any"),
    ("{values: any}", "field: dict[str, typing.Any]"),
    ("{type: Leaf, send: pk}", "field: Leaf | uuid.UUID"),
    ("{type: Leaf?, send: pk}", "field: Leaf | uuid.UUID | None"),
    ("{type: [Leaf], send: pk}", "field: Sequence[Leaf | uuid.UUID]"),
    ("{one_of: [string, Leaf]}", "field: LeafBody | Leaf | uuid.UUID"),
]


@pytest.mark.parametrize(("type", "line"), FIELDS, ids=[type for type, _ in FIELDS])
def test_annotations_field_has_the_annotation_of_its_type(type: str, line: str) -> None:
    """What a read gives, with the default that follows from the type."""
    has_line(rendered(SPEC.format(type=type))["things.py"], line)


@pytest.mark.parametrize(("type", "line"), BODIES, ids=[type for type, _ in BODIES])
def test_annotations_body_takes_what_can_be_sent_for_a_field(type: str, line: str) -> None:
    """TypedDicts and instances of objects and entities, and the keys of entities."""
    has_line(rendered(SPEC.format(type=type))["things.py"], line)


CALLS: list[tuple[str, str]] = [
    ("{method: POST, body: any, schema: null}", "def a(self, *, body: typing.Any) -> typing.Any:"),
    ("{method: POST, body: bytes, schema: null}", "def a(self, *, body: restencil.Content) -> typing.Any:"),
    ("{method: POST, body: {multipart: {file: bytes}}, schema: null}", "file: restencil.File"),
    (
        "{method: POST, body: [Leaf], schema: null}",
        "def a(self, *, body: Sequence[LeafBody | Leaf | uuid.UUID]) -> typing.Any:",
    ),
    ("schema: {union: {a: Thing, b: Leaf}, attribute: kind}", "def a(self) -> Thing | Leaf:"),
    ("schema: {all: Leaf}", "def a(self) -> Sequence[Leaf]:"),
    ("schema: {invalidate: Leaf}", "def a(self) -> Leaf | None:"),
    ("schema: {values: Leaf}", "def a(self) -> dict[str, Leaf]:"),
    ("schema: null", "def a(self) -> typing.Any:"),
    ("{schema: null, content: text}", "def a(self) -> str:"),
    ("{schema: null, content: bytes}", "def a(self) -> bytes:"),
    ("{schema: null, content: stream}", "def a(self) -> restencil.StreamedResponse:"),
    ("{schema: null, returns: {values: [integer]}}", "def a(self) -> dict[str, Sequence[int]]:"),
    ('{schema: {values: Leaf}, process: "python:m:f", returns: [string]}', "def a(self) -> Sequence[str]:"),
    ('{schema: {query: {all: Leaf}, process: "python:m:f"}}', "def a(self) -> typing.Any:"),
    ('{schema: {query: {all: Leaf}, process: "python:m:f", returns: integer?}}', "def a(self) -> int | None:"),
    ("schema: {object: {b: Leaf}}", "def a(self) -> ThingsAResult:"),
]


@pytest.mark.parametrize(("settings", "line"), CALLS, ids=[settings for settings, _ in CALLS])
def test_annotations_call_has_the_types_of_its_body_and_result(settings: str, line: str) -> None:
    """The result is that of its schema, of `returns`, or of its content."""
    endpoint = "{path: /a, " + settings.strip("{").removesuffix("}" if settings.startswith("{") else "") + "}"
    more = f"\n    endpoints: {{a: {endpoint}}}\n"
    spec = SPEC.format(type="string").replace(
        'things: {path: "/t/:id", schema: Thing}', "things:\n    path: /t/:id\n    schema: Thing" + more
    )
    has_line(rendered(spec)["things.py"], line)


PARAMETERS: list[tuple[str, str]] = [
    ("limit: {type: integer, default: 20}", "def get_list(self, *, limit: int = 20) -> Sequence[Thing]:"),
    ("must: string", "def get_list(self, *, must: str) -> Sequence[Thing]:"),
    ("kind: Kind?", "def get_list(self, *, kind: Kind | None = None) -> Sequence[Thing]:"),
    ("at: date", "def get_list(self, *, at: datetime.date) -> Sequence[Thing]:"),
    ("a: string?, b: string", "def get_list(self, *, b: str, a: str | None = None) -> Sequence[Thing]:"),
    (
        'day: {type: date, default: "2020-01-01"}',
        "def get_list(self, *, day: datetime.date = datetime.date(2020, 1, 1)) -> Sequence[Thing]:",
    ),
]


@pytest.mark.parametrize(("params", "line"), PARAMETERS, ids=[params for params, _ in PARAMETERS])
def test_annotations_search_parameter_is_a_keyword(params: str, line: str) -> None:
    """What must be given first, then what has a default."""
    spec = SPEC.format(type="string").replace("schema: Thing}", f"schema: Thing, search_params: {{{params}}}}}")
    has_line(rendered(spec)["things.py"], line)
