"""Texts of documents: JSON or YAML, whatever the name says; what is neither; and where in a text something stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from restencil_generator.openapi.document.parse import Unreadable, places, read_text
from restencil_generator.openapi.document.pointer import pointer


def value(text: str | bytes) -> Any:
    return read_text(text.encode() if isinstance(text, str) else text, "api.json").value


@pytest.mark.parametrize(
    ("text", "form"), [('{"a": 1}', "json"), ("a: 1", "yaml"), ("\n {a: 1}", "yaml"), ('{"a": 1,}', "yaml")]
)
def test_parse_text_tells_what_it_is(text: str, form: str) -> None:
    """JSON or YAML is told by the text, not by the name."""
    read = read_text(text.encode(), "api.json")
    assert (read.value, read.form) == ({"a": 1}, form)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_parse_byte_order_marks_tell_the_encoding(encoding: str) -> None:
    """UTF-8 with and without its mark, UTF-16 with one."""
    assert value('{"a": "ä"}'.encode(encoding)) == {"a": "ä"}


def test_parse_scalars_of_yaml_are_those_of_json() -> None:
    """`NO`, dates and `on` are texts, keys too; numbers that JSON cannot hold are texts."""
    text = "a: NO\non: 2020-01-01\nc: on\n200: {0x10: 1.5}\nd: .inf\ne: ~\nf: true\ng: !x 1\nh: !!str 1\ni: '1'\n"
    assert value(text) == {
        "a": "NO", "on": "2020-01-01", "c": "on", "200": {"0x10": 1.5}, "d": ".inf", "e": None, "f": True,
        "g": 1, "h": "1", "i": "1",
    }  # fmt: skip


def test_parse_merge_keys_are_merged() -> None:
    """`<<` brings what is not written, the first of several first; in quotes it is a key."""
    text = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], x: 3}\nd: {<<: *a}\ne: {'<<': *a}\n"
    read = value(text)
    assert read["c"] == {"x": 3, "y": 1, "z": 2}
    assert (read["d"], read["e"]) == ({"x": 1, "y": 1}, {"<<": {"x": 1, "y": 1}})


@pytest.mark.parametrize("text", ['{"p": {"a": 1, "b": 2, "a": 3}}', "p:\n  a: 1\n  b: 2\n  a: 3\n"])
def test_parse_last_of_two_equal_keys_is_kept(text: str) -> None:
    """It is a finding, at the key."""
    read = read_text(text.encode(), "f")
    assert read.value == {"p": {"a": 3, "b": 2}}
    assert read.oddities == (("duplicate-key", "/p/a", "the key 'a' is given twice; the last one is used"),)


def test_parse_numbers_and_characters_that_no_file_can_hold() -> None:
    """Numbers without end stay texts, halves of characters are replaced, control characters stay."""
    assert value('{"a": NaN, "b": 1e999, "c": "\\ud83d", "d": "\x01", "e": 1' + "0" * 5000 + "}") == {
        "a": "NaN", "b": "1e999", "c": "\ufffd", "d": "\x01", "e": "1" + "0" * 5000
    }  # fmt: skip


def aliases() -> str:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    return "\n".join(lines + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f: is empty; expected an OpenAPI document"),
        (" \n", "f: is empty; expected an OpenAPI document"),
        ("<!DOCTYPE html><html></html>", "f:1:1: neither JSON nor YAML: it looks like HTML"),
        ("<a/>", "f:1:1: neither JSON nor YAML: it looks like XML"),
        ('{\n "a": }}', "f:2:7: neither JSON nor YAML: Expecting value"),
        ("a: 1\nb: [", "f:3:1: neither JSON nor YAML: did not find expected node content while parsing a flow node"),
        (b"a: 1\nb: \xff", "f:2:4: neither JSON nor YAML: byte 0xff is not allowed in UTF-8; save it as UTF-8"),
        ("a: *b", "f:1:4: there is no anchor &b before this alias"),
        ("a: &a [*a]", "f:1:8: the alias *a refers to a node that contains it"),
        (aliases(), "f:6:45: the aliases represent more than 1,000,000 nodes"),
        ("[" * 600 + "]" * 600, "f:1:501: nested more than 500 levels deep"),
        ("[" * 90_000, "f:1:501: nested more than 500 levels deep"),
        ("- " * 600, "f:1:1001: collections are nested more than 500 deep"),
    ],
)
def test_parse_what_is_no_document_is_told_with_its_line(text: str | bytes, said: str) -> None:
    """Nothing but one error, with file, line and column where there is one."""
    with pytest.raises(Unreadable) as raised:
        read_text(text.encode() if isinstance(text, str) else text, "f")
    assert str(raised.value) == said


TEXTS = {
    "json": '{"a": {"b": [1, {"c": null}],\n "x/y~": "[{\\""}}',
    "yaml": "a:\n  b:\n  - 1\n  - c: ~\n  x/y~: |\n    text\n",
}


@pytest.mark.parametrize(
    ("form", "found"),
    [
        ("json", {"/a": (1, 2, 5), "/a/b/1": (1, 17, 18), "/a/b/1/c": (1, 23, 27), "/a/x~1y~0": (2, 10, 16)}),
        ("yaml", {"/a": (1, 1, 2), "/a/b/1": (4, 5, 6), "/a/b/1/c": (4, 8, 9), "/a/x~1y~0": (5, 9, 10)}),
    ],
)
def test_parse_pointers_lead_to_lines(form: str, found: dict[str, tuple[int, int, int]]) -> None:
    """A scalar, the key of a container, or the item of a list; what is not there is at the nearest part above."""
    read = read_text(TEXTS[form].encode(), "f")
    shown = {key: (at.line, at.column, at.end_column) for key, at in places(read, [*found, "/a/no", ""]).items()}
    assert shown == {**found, "/a/no": found["/a"], "": (1, 1, 2)}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def parts_of(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(path, value), *(each for key, inner in items for each in parts_of(inner, (*path, key)))]


@given(_VALUES, st.sampled_from([None, 2]))
@settings(max_examples=examples(15))
def test_parse_every_part_of_a_json_text_is_found(tree: Any, indent: int | None) -> None:
    """The text at a place is the scalar, or the key that the pointer ends in."""
    text = json.dumps({"root": tree}, indent=indent)
    read = read_text(text.encode(), "f")
    lines = text.split("\n")
    for path, inner in parts_of({"root": tree})[1:]:
        at = places(read, [pointer(path)])[pointer(path)]
        shown = lines[at.line - 1][at.column - 1 : at.end_column - 1]
        if not isinstance(inner, dict | list):
            assert json.loads(shown) == inner
        elif isinstance(path[-1], str):
            assert json.loads(shown) == path[-1]
