"""Editing of one entry of a YAML mapping; only this module imports ruamel.yaml.

It edits one entry at a time, never a whole file: ruamel.yaml keeps the meaning of a file, but not every byte of it.
"""

from __future__ import annotations

import dataclasses
import functools
import io
import re
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from restencil_generator.exceptions import Failure

WIDTH: Final = 120
"""Maximum length of a line."""


@dataclasses.dataclass(frozen=True, slots=True)
class Put:
    """The value of another entry, as in its source."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Inside:
    """Changes inside a mapping: its keys in order, each with the change to its value (None: unchanged).

    A value that is not a mapping becomes one, with the old value at the key `old`.
    """

    entries: Mapping[str, Patch | None]
    old: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Items:
    """The items of a list: existing ones by their index, others as strings."""

    items: tuple[int | str, ...]


Patch: TypeAlias = Put | Inside | Items


def patched(text: str, patch: Patch, width: int = WIDTH) -> str:
    """Return an entry (`key: value`, without indentation and comments after values) with its value changed.

    A mapping between braces that becomes wider than `width` gets a line for each of its entries. Raises `Failure` if
    ruamel.yaml is not installed.
    """
    entry = _load(text)
    key = next(iter(entry))
    entry[key] = _changed(entry[key], patch)
    result = _dump(entry, text)
    if max(map(len, result.splitlines())) > width >= max(map(len, text.splitlines())):
        value = entry[key]
        if hasattr(value, "items") and value.fa.flow_style():
            value.fa.set_block_style()
            result = _dump(entry, text)
    return result


def _changed(value: Any, patch: Patch) -> Any:
    match patch:
        case Put(text):
            return next(iter(_load(text).values()))
        case Items(items):
            return _with_items(value, items)
        case Inside(entries, old):
            return _inside(value, entries, old)


def _inside(value: Any, entries: Mapping[str, Patch | None], old: str) -> Any:
    if not hasattr(value, "items"):
        given, value = value, _new_mapping()
        if old and old in entries:
            value[old] = given
    names = {str(name): name for name in value}
    changed = {
        name: value[names[name]] if patch is None else _changed(value[names[name]] if name in names else None, patch)
        for name, patch in entries.items()
    }
    for name in list(value):
        del value[name]
    for name, inner in changed.items():
        value[names.get(name, _key(name))] = inner
    return value


def _with_items(value: Any, items: tuple[int | str, ...]) -> Any:
    kept = list(value)
    new = [kept[item] if isinstance(item, int) else next(iter(_load(f"- {item}\n"))) for item in items]
    indexes = [item for item in items if isinstance(item, int)]
    if indexes == list(range(len(kept))) and list(items[: len(kept)]) == indexes:
        value.extend(new[len(kept) :])  # if items are only added, comments after the others stay
        return value
    value[:] = new
    return value


def _key(name: str) -> Any:
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    return name if re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*", name) else DoubleQuotedScalarString(name)


# -------------------------------------------------------------------------------------------------------- ruamel.yaml


def _new_mapping() -> Any:
    from ruamel.yaml.comments import CommentedMap

    made: Any = CommentedMap()
    made.fa.set_flow_style()
    return made


def _load(text: str) -> Any:
    return _yaml().load(text)


def _dump(value: Any, before: str) -> str:
    yaml = _yaml()
    dash = re.search(r"\n( *)- ", before)
    offset = len(dash.group(1)) if dash else 2
    yaml.indent(mapping=2, sequence=offset + 2, offset=offset)
    stream = io.StringIO()
    yaml.dump(value, stream)
    return stream.getvalue()


def _yaml() -> Any:
    """Return a reader and writer that treats all scalars as strings, so that they are written unchanged."""
    made = _library().YAML(typ="rt")
    made.Resolver = _resolver()
    made.width = 1_000_000
    made.preserve_quotes = True
    made.allow_unicode = True
    made.brace_single_entry_mapping_in_flow_sequence = True
    return made


def _library() -> Any:
    try:
        import ruamel.yaml
    except ImportError as error:
        raise Failure(
            "merging upstream changes requires ruamel.yaml, which is not installed. Install it with\n\n"
            "    pip install 'restencil[import]'"
        ) from error
    return ruamel.yaml


@functools.cache
def _resolver() -> Any:
    library = _library()
    from ruamel.yaml.nodes import ScalarNode
    from ruamel.yaml.tag import Tag

    text, nothing = Tag(suffix="tag:yaml.org,2002:str"), Tag(suffix="tag:yaml.org,2002:null")

    base: Any = library.resolver.VersionedResolver

    class Texts(base):  # type: ignore[misc]  # the library is not typed
        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            if kind is not ScalarNode:
                return base.resolve(self, kind, value, implicit)
            return nothing if value == "" and implicit and implicit[0] else text

    return Texts
