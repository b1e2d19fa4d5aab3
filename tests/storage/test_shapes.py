"""Fingerprints, and the classes that a store knows by them; what changes them is tested over a storage."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restencil import Entity, field
from restencil import entity as declared
from restencil.persistence.schema_fingerprint import SchemaRegistry, fingerprint_of
from restencil.schema import Lazy
from restencil.schema.entity import EntityModel
from restencil.schema.notation import schema_of
from restencil.schema.record import class_record

RUNTIME = Path(__file__).resolve().parents[2] / "runtime"


class User(Entity):
    id: int = 0


def model_of(cls: Any) -> EntityModel:
    """The class record of an entity class."""
    model = class_record(cls)
    assert isinstance(model, EntityModel)
    return model


def entity(
    annotations: Mapping[str, Any] | None = None,
    *,
    name: str = "Item",
    bases: tuple[type, ...] = (Entity,),
    members: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Any:
    """An entity class with these fields, members and class keywords."""
    fields = {"id": int, "title": str} if annotations is None else dict(annotations)
    namespace = {"__module__": __name__, "__annotations__": fields, **dict(members or {})}
    make: Any = type(Entity)
    return make(name, bases, namespace, **keywords)


def printed(*args: Any, **keywords: Any) -> str:
    """The fingerprint of an entity class that is made so."""
    return fingerprint_of(model_of(entity(*args, **keywords)))


USUAL = printed()


def test_shapes_fingerprint_is_the_same_in_every_process() -> None:
    """It has 12 hexadecimal digits, whatever the seed of hashes."""
    code = (
        "from restencil import Entity; from restencil.persistence.schema_fingerprint import fingerprint_of\n"
        "class Item(Entity):\n    id: int = 0\n    title: str = ''\n"
        "print(fingerprint_of(Item.__model__))"
    )
    environment = {**os.environ, "PYTHONPATH": str(RUNTIME), "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == USUAL and len(USUAL) == 12


def test_shapes_subclass_that_is_imported_later_is_known_then() -> None:
    """And so is what it says of its fields."""
    base = entity(key="Late", name="Base")
    registry = SchemaRegistry()
    registry.register_class(model_of(base))
    annotations, ssn = {"ssn": str}, {"ssn": field(default="", persist=False)}
    expected = printed({"id": int, "title": str, "ssn": str}, key="Late", members=ssn)
    assert not registry.readable("Late", expected) and registry.rules("Late").keeps("ssn")
    below = entity(annotations, key="Late", name="Below", bases=(base,), members=ssn)
    assert fingerprint_of(model_of(below)) == expected
    assert registry.readable("Late", expected) and not registry.rules("Late").keeps("ssn")


def test_shapes_subclass_that_is_declared_later_is_known_then() -> None:
    """A class of another library counts from the moment when it is declared an entity."""

    @declared(key="Told")
    @dataclass(frozen=True)
    class Base:
        id: int

    @dataclass(frozen=True)
    class Below(Base):
        more: str

    registry = SchemaRegistry()
    registry.register_class(model_of(Base))
    expected = printed({"id": int, "more": str}, key="Told")
    assert not registry.readable("Told", expected)
    declared(Below, key="Told")
    assert fingerprint_of(model_of(Below)) == expected and registry.readable("Told", expected)


def test_shapes_classes_that_are_looked_up_late_are_looked_up_for_a_row_of_theirs() -> None:
    """What nobody went to cannot have been written by an answer; a row of its table may be there all the same."""
    outer = entity(schema={"title": {"user": Lazy(lambda: User)}}, name="Outer")
    registry = SchemaRegistry()
    registry.register(schema_of(outer))
    assert registry.met("Outer") == [model_of(outer)]
    assert registry.classes("User") == frozenset()
    assert registry.readable("User", fingerprint_of(model_of(User)))
    assert registry.met("User") == [model_of(User)]


def test_shapes_secret_of_a_client_holds_for_all_tables() -> None:
    """Also for those whose rules were asked for before."""
    registry = SchemaRegistry(["App-Id"])
    registry.register(schema_of(User))
    assert not registry.rules("User").keeps("app_id") and registry.rules("User").keeps("key_of_app")
    registry.add_secret("keyOfApp")
    assert not registry.rules("User").keeps("key_of_app") and registry.secrets == {"appid", "keyofapp"}
