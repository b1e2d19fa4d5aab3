"""Loading: files and folders, YAML 1.2, and the digest of what was loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.generator.declared import declared
from tests.generator.projects import environment, python

from restencil_generator.api import load
from restencil_generator.spec.load import Loaded, load_spec, load_text
from restencil_generator.spec.model import Json

ROOT = Path(__file__).parents[3]
BLOG = ROOT / "specs" / "blog.yaml"
EVERYTHING = Path(__file__).parents[1] / "loading" / "everything.yaml"

HEAD = "restencil: 1\npackage: p\n"
SMALL = """\
restencil: 1
package: shop
entities:
  Item:
    fields:
      id: integer
      title: string
resources:
  items:
    path: /items/:id
    schema: Item
"""


def codes(loaded: Loaded) -> list[str]:
    return [problem.code for problem in loaded.problems]


def digest(text: str, file: str = "shop.yaml") -> str:
    return declared(text, file).digest


def test_load_spec_that_uses_the_whole_language_loads_without_a_problem() -> None:
    """Every key, type, option and form is known."""
    loaded = load_spec(EVERYTHING)
    assert loaded.problems == () and loaded.declaration


def test_load_spec_knows_its_file_by_name_alone() -> None:
    """No folder of the machine shows in a declaration, and the files that were read are told."""
    loaded = load_spec(BLOG)
    assert loaded.declaration and loaded.declaration.file == "blog.yaml"
    assert loaded.files == (BLOG,)


# --------------------------------------------------------------------------------------------------------------- files


def test_load_files_of_a_folder_and_below_it_are_merged_sorted_by_path(tmp_path: Path) -> None:
    """One table may be spread over files, whose order changes nothing; names that begin with a dot are passed over."""
    head, tail = SMALL.split("resources:\n")
    files = {
        "spec.yaml": head,
        "resources/items.yml": "resources:\n" + tail,
        "notes.txt": "no spec",
        "parts.yaml": "entities:\n  Part: {fields: {id: integer, of: Item}}\n",
        ".imported/shop.yaml": SMALL,
        "resources/.items.yaml": SMALL,
        "resources/.old/items.yaml": SMALL,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".#spec.yaml").symlink_to("somebody@somewhere")  # how an editor locks a file
    loaded = load_spec(tmp_path)
    assert loaded.problems == ()
    read = [file.relative_to(tmp_path).as_posix() for file in loaded.files]
    assert read == ["parts.yaml", "resources/items.yml", "spec.yaml"]
    assert loaded.declaration and list(loaded.declaration.entities) == ["Item", "Part"]
    whole = SMALL.replace("entities:\n", "entities:\n  Part: {fields: {id: integer, of: Item}}\n")
    assert loaded.declaration.digest == digest(whole, tmp_path.name)


def test_load_file_that_does_not_parse_leaves_the_others_unjudged(tmp_path: Path) -> None:
    """What other files refer to may stand in the broken file, so only the broken one is reported."""
    (tmp_path / "a.yaml").write_text(SMALL.replace("title: string", "title: Nowhere"))
    (tmp_path / "b.yaml").write_text("objects: [")
    assert codes(load_spec(tmp_path)) == ["yaml-syntax"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", b"---\n", b"\xef\xbb\xbf", b"null\n", b"~"])
def test_load_file_that_holds_nothing_is_empty(tmp_path: Path, content: bytes) -> None:
    """Comments, a byte order mark or null are no spec, and nothing is loaded."""
    (tmp_path / "spec.yaml").write_bytes(content)
    loaded = load_spec(tmp_path / "spec.yaml")
    assert codes(loaded) in (["empty-spec"], ["wrong-type"]) and loaded.declaration is None


def test_load_byte_order_mark_and_crlf_change_nothing(tmp_path: Path) -> None:
    """A spec saved by another editor gives the same declaration and the same places."""
    (tmp_path / "shop.yaml").write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert load(tmp_path / "shop.yaml").digest == digest(SMALL)
    wrong = SMALL.replace("title: string", "title: strng").replace("\n", "\r\n")
    (problem,) = load_text(wrong).problems
    assert (problem.place.line, problem.place.column) == (7, 14)


def test_load_without_the_c_parser_one_clear_message_is_given(tmp_path: Path) -> None:
    """A PyYAML without its C parser is told apart from a mistake in the spec."""
    (tmp_path / "yaml").mkdir()
    (tmp_path / "yaml" / "__init__.py").write_text("class YAMLError(Exception): ...\n")
    (tmp_path / "shop.yaml").write_text(SMALL)
    code = "from restencil_generator.spec.load import load_spec; print(load_spec('shop.yaml').problems[0].message)"
    path = os.pathsep.join([str(tmp_path), str(ROOT / "generator")])
    done = python("-c", code, cwd=tmp_path, env=environment(PYTHONPATH=path))
    said = "PyYAML is missing, or was built without its C parser, which the spec language needs\n"
    assert done.stdout == said, done.stderr


# ---------------------------------------------------------------------------------------------------------------- YAML


def value_of(text: str) -> Json:
    """What a default says, as the loader reads it."""
    spec = declared(f"{HEAD}objects: {{O: {{f: {{type: any, default: [{text}]}}}}}}")
    default = spec.objects["O"].fields[0].default
    assert isinstance(default, list)
    return default[0]


STRINGS = "on yes No y 1_000 1:30 2020-01-01 2020-01-01T00:00:00Z 1.2.3 tRUE nULL 0b1 = << 0x . 1e a?"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, text) for text in STRINGS.split()),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("+7", 7),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("-1.5E-2", -0.015),
        ("true", True),
        ("TRUE", True),
        ("'true'", "true"),
        ("'12'", "12"),
        ("null", None),
        ("~", None),
        ('"\\u00e9"', "é"),
    ],
)
def test_load_scalars_follow_the_core_schema_of_yaml_1_2(text: str, value: Json) -> None:
    """`on`, `yes`, `1:30` and dates are texts, and there are no leading-zero octals."""
    read = value_of(text)
    assert read == value
    assert type(read) is type(value)


def test_load_question_mark_ends_a_plain_scalar_in_a_flow_mapping() -> None:
    """`{a: string?}` is what it looks like."""
    assert load_text("{restencil: 1, package: p, objects: {O: {f: string?}}}").problems == ()


def test_load_aliases_represent_what_they_name() -> None:
    """An anchor is written once and used where it is named."""
    objects = declared(f"{HEAD}objects:\n  A: &fields {{x: string, y: integer}}\n  B: *fields\n").objects
    assert objects["A"].fields == objects["B"].fields


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "[" * 70 + "]" * 70])
def test_load_deep_nesting_is_rejected_and_overflows_nothing(text: str) -> None:
    """A text of nothing but brackets is one problem."""
    assert codes(load_text(text)) == ["yaml-depth"]


def test_load_lines_are_counted_as_the_parser_counts_them() -> None:
    """The Unicode line ends that YAML knows do not shift the excerpts."""
    loaded = load_text("restencil: 1\npackage: p\ndescription: |\n  one\u2028  two\x85  three\ntitel: x\n")
    (problem,) = loaded.problems
    assert loaded.sources["spec.yaml"].line(problem.place.line) == "titel: x"


def test_load_string_with_a_lone_surrogate_is_a_problem() -> None:
    """What cannot be encoded is refused with its place."""
    (problem,) = load_text("restencil: 1\npackage: p\ntitle: \ud800\n").problems
    assert problem.code == "yaml-syntax" and "U+D800" in problem.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a: 1\nentities\n  User: x\n", "write 'key: value', with a colon and a space after the key"),
        ("a: 1\npackage:x\nb: 2\n", "write 'key: value', with a colon and a space after the key"),
        ("a:\n  b: 1\n c: 2\n", "check the indentation and the quotes of this line and the one before"),
        ("a:\n    b: 1\n   c: 2\n", "check the indentation and the quotes of this line and the one before"),
        ("a: {b: 'x}\n", "close the quotes"),
    ],
)
def test_load_yaml_syntax_error_has_a_hint(text: str, hint: str) -> None:
    """The words of the parser do not say what to change; the hint does."""
    (problem,) = load_text(text).problems
    assert (problem.code, problem.hint) == ("yaml-syntax", hint)


# -------------------------------------------------------------------------------------------------------------- digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("id: integer", "id: integer   # a comment"),
        ("\n", "\r\n"),
        ("      title: string\n", "      title: {type: string}\n"),
        ("      title: string\n", "      'title': \"string\"\n"),
        ("package: shop\n", "package: shop\n\n\n"),
        ("    path: /items/:id\n    schema: Item\n", "    schema: Item\n    path: /items/:id\n"),
        ("restencil: 1\npackage: shop\n", "package: shop\nrestencil: 1\n"),
        ("    fields:\n      id: integer\n      title: string\n", "    fields: {id: integer, title: string}\n"),
    ],
)
def test_load_digest_does_not_count_what_has_no_meaning(old: str, new: str) -> None:
    """Comments, line ends, layout, quotes and the order of keys leave the digest as it is."""
    assert digest(SMALL.replace(old, new)) == digest(SMALL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("      id: integer\n      title: string\n", "      title: string\n      id: integer\n"),
        ("title: string", "title: string?"),
        ("title: string", "title: {type: string, default: x}"),
        ("title: string", "title: {type: string, default: ''}"),
        ("title: string", "title: {type: string, description: x}"),
        ("title: string", "name: string"),
        ("/items/:id", "/things/:id"),
        ("schema: Item\n", "schema: Item\n    optimistic: true\n"),
        ("schema: Item\n", "schema: Item\n    members: [get]\n"),
        ("schema: Item\n", "schema: Item\n    endpoints: {get: {description: x}}\n"),
        ("schema: Item\n", "schema: Item\n    endpoints: {push: {description: x}}\n"),
        ("schema: Item\n", "schema: Item\n    endpoints: {other: {}}\n"),
        ("schema: Item\n", "schema: Item\n    examples: {get: {response: {id: 1}}}\n"),
        ("package: shop\n", "package: shop\noptions: {timeout: 30s}\n"),
        ("package: shop\n", "package: shop\nwire_names: camelCase\n"),
        ("package: shop\n", "package: shop\nauth: {bearer: true}\n"),
    ],
)
def test_load_digest_counts_what_has_a_meaning(old: str, new: str) -> None:
    """Whatever can change the output changes the digest, the order of fields included."""
    assert digest(SMALL.replace(old, new)) != digest(SMALL)


def test_load_digest_tells_true_from_one() -> None:
    """They are equal to Python, and another JSON value."""
    typed = [SMALL.replace("title: string", f"title: {{type: any, default: {value}}}") for value in ("true", "1")]
    assert digest(typed[0]) != digest(typed[1])


def test_load_durations_count_by_their_length() -> None:
    """`30s` is `30000`."""
    assert digest(SMALL + "    options: {timeout: 30s}\n") == digest(SMALL + "    options: {timeout: 30000}\n")
