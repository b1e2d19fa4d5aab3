"""Foreign classes (dataclasses, attrs, pydantic, msgspec): their fields, their instances, and the members of these.

They are detected by their class attributes. None of these libraries is imported here: if there is a class, its library
was imported already.
"""

from __future__ import annotations

import dataclasses
import datetime
import sys
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from ..base.values import UNDEFINED, kind_of


class Kind:
    """The classes of one library: how to list their fields and create instances."""

    title: ClassVar[str]
    frozen_by: ClassVar[str]
    converts: ClassVar[bool] = False
    """Whether the library itself decodes JSON values when it creates instances."""

    @staticmethod
    def fields(declared: object) -> Iterable[tuple[str, str, str | None, Any]]:
        """Yield each field as its name, its name in `build`, its JSON name or None, and its default."""
        raise NotImplementedError

    @staticmethod
    def written(declared: object) -> dict[str, str]:
        """Map serialized names to field names, if instances are serialized under other names than in `build`."""
        return {}

    @staticmethod
    def is_frozen(declared: object) -> bool:
        """Whether instances are immutable."""
        raise NotImplementedError

    @staticmethod
    def build(declared: Any, members: dict[str, Any]) -> Any:
        """Create an instance. Errors of the class are not caught."""
        return declared(**members)

    @staticmethod
    def members(value: Any, encode: Callable[[Any], Any], mode: str) -> Any:
        """Return the members of an instance; see `members_of`."""
        raise NotImplementedError


class Made:
    """Marks the default of a field with a default factory."""


class Dataclass(Kind):
    """Dataclasses; `metadata={"wire": …}` sets the JSON name of a field."""

    title = "dataclass"
    frozen_by = "@dataclass(frozen=True)"

    @staticmethod
    def fields(declared: Any) -> Iterable[tuple[str, str, str | None, Any]]:
        for found in dataclasses.fields(declared):
            if found.init:
                default = UNDEFINED if found.default is dataclasses.MISSING else found.default
                if found.default_factory is not dataclasses.MISSING:
                    default = Made
                yield found.name, found.name, found.metadata.get("wire"), default

    @staticmethod
    def is_frozen(declared: Any) -> bool:
        return bool(declared.__dataclass_params__.frozen)

    @staticmethod
    def members(value: Any, encode: Callable[[Any], Any], mode: str) -> Any:
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


class Attrs(Kind):
    """Classes of attrs; `metadata={"wire": …}` sets the JSON name of a field, by default its alias."""

    title = "attrs class"
    frozen_by = "@attrs.frozen"

    @staticmethod
    def fields(declared: Any) -> Iterable[tuple[str, str, str | None, Any]]:
        for found in declared.__attrs_attrs__:
            if found.init:
                alias = getattr(found, "alias", None) or found.name.lstrip("_")
                default = UNDEFINED if found.default is sys.modules["attr"].NOTHING else found.default
                if type(default).__name__ == "Factory":
                    default = Made
                yield found.name, alias, found.metadata.get("wire") or alias, default

    @staticmethod
    def is_frozen(declared: object) -> bool:
        properties = getattr(declared, "__attrs_props__", None)
        if properties is not None:
            return bool(properties.is_frozen)
        return getattr(declared.__setattr__, "__name__", "") == "_frozen_setattrs"

    @staticmethod
    def members(value: Any, encode: Callable[[Any], Any], mode: str) -> Any:
        fields = kind_of(value).__attrs_attrs__
        return {getattr(field, "alias", None) or field.name: getattr(value, field.name) for field in fields}


class Pydantic(Kind):
    """Models of pydantic; the JSON name of a field is its validation alias, even if its serialization alias differs."""

    title = "pydantic model"
    frozen_by = "model_config = ConfigDict(frozen=True)"
    converts = True

    @staticmethod
    def fields(declared: Any) -> Iterable[tuple[str, str, str | None, Any]]:
        for name, found in declared.model_fields.items():
            aliases = (found.validation_alias, found.alias)
            alias = next((alias for alias in aliases if isinstance(alias, str)), None)
            if alias is None and found.validation_alias is not None:  # AliasChoices: the first that is a string
                choices = getattr(found.validation_alias, "choices", ())
                alias = next((choice for choice in choices if isinstance(choice, str)), None)
            default = UNDEFINED if found.is_required() else found.default
            yield name, alias or name, alias, Made if found.default_factory is not None else default

    @staticmethod
    def written(declared: Any) -> dict[str, str]:
        return {found.serialization_alias or name: name for name, found in declared.model_fields.items()}

    @staticmethod
    def is_frozen(declared: Any) -> bool:
        return bool(declared.model_config.get("frozen"))

    @staticmethod
    def build(declared: Any, members: dict[str, Any]) -> Any:
        return declared.model_validate(members)

    @staticmethod
    def members(value: Any, encode: Callable[[Any], Any], mode: str) -> Any:
        return value.model_dump(mode=mode, by_alias=True, exclude_unset=True)


class Struct(Kind):
    """Structs of msgspec; the JSON name of a field is its encoded name."""

    title = "msgspec struct"
    frozen_by = "class Article(msgspec.Struct, frozen=True)"
    converts = True

    @staticmethod
    def fields(declared: Any) -> Iterable[tuple[str, str, str | None, Any]]:
        names, encoded, defaults = (
            declared.__struct_fields__,
            declared.__struct_encode_fields__,
            declared.__struct_defaults__,
        )
        none = sys.modules["msgspec"].NODEFAULT
        found = [none] * (len(names) - len(defaults)) + list(defaults)
        for name, alias, default in zip(names, encoded, found, strict=True):
            made = type(default).__name__ == "Factory"
            yield name, alias, alias, UNDEFINED if default is none else Made if made else default

    @staticmethod
    def is_frozen(declared: Any) -> bool:
        return bool(declared.__struct_config__.frozen)

    @staticmethod
    def build(declared: object, members: dict[str, Any]) -> Any:
        return sys.modules["msgspec"].convert(members, declared)

    @staticmethod
    def members(value: Any, encode: Callable[[Any], Any], mode: str) -> Any:
        kept = (bytes, datetime.datetime)
        return sys.modules["msgspec"].to_builtins(value, builtin_types=kept, enc_hook=encode)


def _kind_of(cls: object) -> type[Kind] | None:
    if hasattr(cls, "__attrs_attrs__"):
        return Attrs
    if hasattr(cls, "__dataclass_fields__"):
        return Dataclass
    if hasattr(cls, "__pydantic_validator__") and hasattr(cls, "model_dump"):
        return Pydantic
    return Struct if hasattr(cls, "__struct_encode_fields__") else None


def kind_of_class(cls: object) -> type[Kind] | None:
    """Return the `Kind` of a foreign class; None if it is of no such library or cannot be an entity."""
    return _kind_of(cls) if isinstance(cls, type) and not getattr(cls, "__pydantic_root_model__", False) else None


def kind_of_instance(value: object) -> type[Kind] | None:
    """Return the `Kind` of a foreign instance; None for others, and for streams, which may be of an attrs class."""
    cls = kind_of(value)
    is_stream = any(callable(getattr(cls, name, None)) for name in ("read", "__next__", "__aiter__"))
    return None if is_stream else _kind_of(cls)


def members_of(value: Any, encode: Callable[[Any], Any], mode: str = "json") -> Any:
    """Return the members of a foreign instance; `UNDEFINED` for all other values.

    Members of a pydantic model are named by alias, unset ones are omitted, and `mode` is passed to `model_dump`.
    Members of a msgspec struct have their encoded names; `encode` converts values that msgspec cannot encode.
    """
    kind = kind_of_instance(value)
    return UNDEFINED if kind is None else kind.members(value, encode, mode)
