"""The generator from Python: functions that give data, write nothing unasked, and raise one kind of error."""

from __future__ import annotations

import doctest
import os
from pathlib import Path

import pytest
from tests.generator.projects import python, restencil

import restencil_generator
from restencil_generator import Cause, Failure, Refused, Spec, SpecError, api, check, generate, load, write

SPECS = Path(__file__).parents[2] / "specs"
BLOG = SPECS / "blog.yaml"
BROKEN = """\
restencil: 1
package: broken
resources:
  posts: {path: /posts/:id, schema: {entity: Post, fields: {id: integer, title: strng, author: Nobody}}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and no memory of earlier runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RESTENCIL_CACHE_DIR", "")
    return tmp_path


def contents(root: Path) -> dict[str, str]:
    return {file.relative_to(root).as_posix(): file.read_text("utf-8") for file in root.rglob("*") if file.is_file()}


def test_api_example_of_the_package_does_what_it_says() -> None:
    """The docstring of `restencil_generator` is run line by line."""
    Path("specs").mkdir()
    Path("specs/blog.yaml").write_text(BLOG.read_text("utf-8"), "utf-8")
    Path("specs/broken.yaml").write_text(BROKEN.replace(", author: Nobody", ""))
    result = doctest.testmod(restencil_generator)
    assert (result.failed, result.attempted > 5) == (0, True)


def test_api_public_names_are_those_of_the_api() -> None:
    """Nothing stands in one list alone, and each name can be had."""
    assert restencil_generator.__all__ == api.__all__ == sorted(api.__all__)
    assert all(getattr(restencil_generator, name) is getattr(api, name) for name in api.__all__)
    assert {*api.__all__} <= {*dir(restencil_generator)}
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        restencil_generator.nothing  # type: ignore[attr-defined]  # noqa: B018 -- that it is not there is the rule


@pytest.mark.parametrize("order", ["sorted(names)", "sorted(names, reverse=True)"])
def test_api_names_are_functions_whatever_was_imported_before(order: str) -> None:
    """No module, such as one of the same name, takes the place of a function once it is imported."""
    code = (
        "import importlib, inspect, pkgutil, restencil_generator\n"
        "names = [module.name for module in pkgutil.iter_modules(restencil_generator.__path__)]\n"
        f"for name in {order}: importlib.import_module(f'restencil_generator.{{name}}')\n"
        "from restencil_generator import check, generate, load, write\n"
        "assert all(map(inspect.isfunction, (check, generate, load, write)))\n"
        "assert restencil_generator.load is load and restencil_generator.check is check\n"
    )
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


# ----------------------------------------------------------------------------------------------------------------- load


def test_api_load_gives_the_declaration() -> None:
    """As data: typed, resolved, frozen; from a path or from its text."""
    spec = load(BLOG)
    assert isinstance(spec, Spec)
    assert load(str(BLOG)) == spec
    assert spec.resources["users"].entities == ("User",)


def test_api_mistakes_are_one_error_that_has_them_all() -> None:
    """Each with its code, its place, what is wrong and what to do; the error's text shows the lines themselves."""
    Path("broken.yaml").write_text(BROKEN)
    with pytest.raises(SpecError) as caught:
        load("broken.yaml")
    found = [(one.code, one.place.file, one.place.line, one.severity) for one in caught.value.problems]
    assert found == [("unknown-type", "broken.yaml", 4, "error")] * 2
    first = caught.value.problems[0]
    assert first.message == "unknown type 'strng' for field 'title' of entity 'Post'"
    assert first.hint == "did you mean 'string'?"
    assert first.place.column == BROKEN.splitlines()[3].index("strng") + 1
    shown = str(caught.value).splitlines()
    assert shown[0] == f"broken.yaml:4:{first.place.column}: error[unknown-type]: {first.message}"
    assert shown[-1] == "2 errors"
    assert isinstance(caught.value, Failure)


def test_api_file_that_is_not_there_is_a_mistake_too() -> None:
    """Whoever loads has one kind of error to catch."""
    said = r"nowhere\.yaml: error\[unreadable-file\]: cannot be read: No such file or directory"
    with pytest.raises(SpecError, match=said):
        load("nowhere.yaml")


def test_api_pipe_in_the_folder_of_a_spec_is_not_waited_for(folder: Path) -> None:
    """It is a mistake, as is any file there that cannot be read."""
    (folder / "spec").mkdir()
    (folder / "spec" / "blog.yaml").write_bytes(BLOG.read_bytes())
    os.mkfifo(folder / "spec" / "pipe.yaml")
    with pytest.raises(SpecError, match=r"spec/pipe\.yaml: error\[unreadable-file\]: .*: it is not a regular file"):
        load("spec")


# ------------------------------------------------------------------------------------------------------------- generate


def test_api_generate_gives_strings_and_writes_nothing(folder: Path) -> None:
    """They are what the command writes, byte for byte, from a path and from what was loaded."""
    files = generate(BLOG)
    assert contents(folder) == {}
    assert generate(load(BLOG)) == files
    assert list(files)[-1] == "manifest.sha256"
    restencil("generate", BLOG, "--out", "src")
    assert contents(folder / "src" / "blog") == files


def test_api_templates_of_your_own_are_named_by_their_folder() -> None:
    """A template in it replaces the built-in one of its name."""
    Path("templates").mkdir()
    Path("templates/base.py.jinja").write_text(
        '{# restencil-context: 3 #}\n{% extends "builtin/base.py.jinja" %}\n'
        "{% block header %}\n# mine\n{% endblock %}\n"
    )
    files = generate(BLOG, templates="templates")
    assert files != generate(BLOG)
    assert all("# mine" in text for path, text in files.items() if path.endswith(".py"))
    write(BLOG, "src", templates=Path("templates"))
    assert check(BLOG, "src", templates="templates") == []
    assert {one.cause for one in check(BLOG, "src")} == {Cause.GENERATOR_CHANGED}


# ------------------------------------------------------------------------------------------------------ check and write


def test_api_check_says_why_each_file_differs(folder: Path) -> None:
    """As data, from nothing there to all as it should be, and it writes nothing."""
    assert {one.cause for one in check(BLOG, "src")} == {Cause.MISSING}
    assert contents(folder) == {}
    write(BLOG, "src")
    assert check(BLOG, "src") == []
    Path("src/blog/users.py").write_text("mine = 1\n")
    (difference,) = check(load(BLOG), Path("src"))
    assert (difference.path, difference.cause, difference.owned) == ("users.py", Cause.EDITED, False)
    assert (difference.current, difference.expected) == (b"mine = 1\n", generate(BLOG)["users.py"])
    assert difference.reason == "differs from what was generated"


def test_api_write_says_what_it_did() -> None:
    """The first time all files are written, the second time none."""
    files = generate(BLOG)
    first, second = write(BLOG, "src"), write(BLOG, "src")
    assert (first.written, first.removed, first.unchanged) == (tuple(sorted(files)), (), 0)
    assert (second.written, second.removed, second.unchanged) == ((), (), len(files))


def test_api_what_was_edited_by_hand_is_not_written_over_unasked() -> None:
    """The refusal has the differences that stand in the way as data."""
    write(BLOG, "src")
    edited = Path("src/blog/users.py")
    edited.write_text(edited.read_text("utf-8") + "mine = 1\n", "utf-8")
    with pytest.raises(Refused) as caught:
        write(BLOG, "src")
    ((directory, (difference,)),) = caught.value.differences.items()
    assert (directory, difference.path, difference.cause) == (Path("src/blog"), "users.py", Cause.EDITED)
    assert write(BLOG, "src", force=True).written == ("users.py",)
    assert check(BLOG, "src") == []
