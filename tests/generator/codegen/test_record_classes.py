"""Classes of entities and objects: their bases and options, their fields, and the TypedDicts of bodies."""

from __future__ import annotations

import pytest
from tests.generator.codegen.lines import has_line, has_lines, rendered

HEADS: list[tuple[str, str]] = [
    ("Thing: {fields: {id: integer}}", "class Thing(restencil.Entity):"),
    ("Thing: {key: things, fields: {id: integer}}", 'class Thing(restencil.Entity, key="things"):'),
    ("Thing: {pk: code, fields: {code: uuid}}", 'class Thing(restencil.Entity, pk="code"):'),
    ("Thing: {pk: [a, b], fields: {a: string, b: string}}", 'class Thing(restencil.Entity, pk=["a", "b"]):'),
    ("Thing: {indexes: [a], fields: {id: integer, a: string}}", 'class Thing(restencil.Entity, indexes=("a",)):'),
    ("Thing: {abstract: true, fields: {id: integer}}", "class Thing(restencil.Entity, abstract=True):"),
    ("Thing: {persist: false, fields: {id: integer}}", "class Thing(restencil.Entity, persist=False):"),
    (
        "Thing: {fields: {id: {type: integer, read_only: true}}}",
        'class Thing(restencil.Entity, read_only=("id",)):',
    ),
    ("Thing: {persist: true, fields: {id: integer}}", "class Thing(restencil.Entity):"),
    (
        "Thing: {fields: {id: integer, ssn: {type: string, write_only: true, persist: false}}}",
        'class Thing(restencil.Entity, write_only={"ssn": restencil.field()}):',
    ),
    ("{Base: {key: things, fields: {id: integer}}, Thing: {extends: Base, fields: {}}}", "class Thing(Base):"),
    (
        "{Base: {persist: false, fields: {id: integer}}, Thing: {extends: Base, persist: false, fields: {}}}",
        "class Thing(Base):",
    ),
    (
        "{Base: {persist: false, fields: {id: integer}}, Thing: {extends: Base, persist: 3, fields: {}}}",
        "class Thing(Base, persist=3):",
    ),
]

FIELDS: list[tuple[str, str]] = [
    ("{type: string, wire: theField}", 'field: str = restencil.field(default="", wire="theField")'),
    ("{type: datetime, format: unix}", 'field: datetime.datetime = restencil.field(format="unix", required=True)'),
    (
        '{type: string, decode: "python:m:f"}',
        'field: str = restencil.field(default="", decode=restencil.lazy_function("m:f"))',
    ),
    ("{type: string, persist: false}", 'field: str = restencil.field(default="", persist=False)'),
    ("{type: string?, persist: true}", "field: str | None = restencil.field(default=None, persist=True)"),
    ("{type: integer, default: 7}", "field: int = 7"),
    ("{type: number, default: 1}", "field: float = 1.0"),
    ("{type: number, default: 1e30}", "field: float = 1e30"),
    ("{type: [integer], default: [1, 2]}", "field: Sequence[int] = restencil.field(default=[1, 2])"),
    ('{type: date, default: "2024-02-03"}', "field: datetime.date = datetime.date(2024, 2, 3)"),
    ('{type: time, default: "23:59:00"}', "field: datetime.time = datetime.time(23, 59)"),
    (
        '{type: datetime, default: "2024-02-03T04:05:06.5+02:00"}',
        "field: datetime.datetime = datetime.datetime(2024, 2, 3, 4, 5, 6, 500000, "
        "tzinfo=datetime.timezone(datetime.timedelta(minutes=120)))",
    ),
    ('{type: decimal, default: "1.50"}', 'field: decimal.Decimal = decimal.Decimal("1.50")'),
    ("{type: decimal, default: 0}", "field: decimal.Decimal = decimal.Decimal(0)"),
    (
        "{type: uuid, default: 12345678-1234-5678-1234-567812345678}",
        'field: uuid.UUID = uuid.UUID("12345678-1234-5678-1234-567812345678")',
    ),
    ("{type: string?, default: null}", "field: str | None = None"),
    ('{type: string, default: "a\\"b"}', "field: str = 'a\"b'"),
]


def entities(text: str) -> str:
    """The module of the entities of a spec without resources."""
    found = text if text.startswith("{") else f"{{{text}}}"
    return rendered(f"entities: {found}\n")["_entities.py"]


@pytest.mark.parametrize(("text", "line"), HEADS, ids=[text for text, _ in HEADS])
def test_record_classes_head_of_an_entity_has_its_options(text: str, line: str) -> None:
    """Only what is not inherited and not the usual."""
    has_line(entities(text), line)


@pytest.mark.parametrize(("field", "line"), FIELDS, ids=[field for field, _ in FIELDS])
def test_record_classes_field_has_its_options_and_its_default(field: str, line: str) -> None:
    """A plain default is written as it is; options, lists and dicts are those of `restencil.field`."""
    has_line(entities(f"Thing: {{fields: {{id: integer, field: {field}}}}}"), line)


def test_record_classes_docstring_of_a_field_is_below_it() -> None:
    """With the note that it is deprecated."""
    text = entities("Thing: {fields: {id: integer, a: {type: string, description: First., deprecated: Use b.}}}")
    has_lines(text, 'a: str = ""', '"""First.', "Deprecated: Use b.", '"""')
