"""What a failed merge leaves in specs, generated files and manifests, and packages whose spec is gone."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.effort import examples
from tests.generator.declared import declared
from tests.generator.projects import SPEC, enter, restencil

from restencil_generator.cli.main import run
from restencil_generator.codegen.header import HEADER
from restencil_generator.output.drift import Cause, compare
from restencil_generator.output.manifest import MANIFEST, Package, assemble
from restencil_generator.output.write import Refused, publish
from restencil_generator.spec.load import load_text
from restencil_generator.spec.source.conflict_markers import is_conflict_marker


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the spec of a blog, its package in `src`, and a configuration."""
    enter(tmp_path, monkeypatch)
    Path("pyproject.toml").write_text('[tool.restencil]\nspecs = ["specs/*.yaml"]\nout = "src"\n')
    restencil("generate")
    return tmp_path


def conflicting(path: Path, line: str) -> int:
    """Makes a line of a file the subject of a conflict; the number of the line with the first marker."""
    text = path.read_text()
    number = text[: text.index(line)].count("\n") + 1
    both = f"<<<<<<< HEAD\n{line}\n=======\n{line.replace('title', 'name')}\n>>>>>>> topic\n"
    path.write_text(text.replace(line + "\n", both, 1))
    return number


# -------------------------------------------------------------------------------------------------------------- markers


@pytest.mark.parametrize("line", ["", "=======", "<<<<<<<<", "<<<<<<<HEAD", " <<<<<<< a", "<<<<<< HEAD", ">>> x", "|"])
def test_conflicts_other_lines_are_no_markers(line: str) -> None:
    """A line under a heading is none, nor is a prompt."""
    assert not is_conflict_marker(line)


# ---------------------------------------------------------------------------------------------------------------- specs


@pytest.mark.parametrize("command", ["generate", "check"])
def test_conflict_in_a_spec_is_named_where_it_begins(command: str) -> None:
    """Exit code 2 with file, line, and what to do; not a riddle of the YAML parser."""
    number = conflicting(Path("specs/blog.yaml"), SPEC.splitlines()[4])
    assert restencil(command, code=2).err.splitlines() == [
        f"specs/blog.yaml:{number}:1: error[merge-conflict]: this is a conflict marker of an unfinished merge",
        f"    {number} | <<<<<<< HEAD",
        "      | ^^^^^^^^^^^^ resolve the conflict, remove the markers, then run `restencil generate`",
        f"specs/blog.yaml:{number + 4}:1: note: it ends here",
        f"    {number + 4} | >>>>>>> topic",
        "      | ^^^^^^^^^^^^^",
        "1 error",
    ]


def test_each_conflict_of_a_spec_is_reported_once() -> None:
    """Two conflicts are two problems; a marker that was forgotten is one as well."""
    one = "<<<<<<< a\nx: 1\n||||||| base\nx: 0\n=======\nx: 2\n>>>>>>> b\n"
    for text, lines in ((one + one, [6, 13]), (">>>>>>> b\n", [6])):
        found = [(p.code, p.place.line) for p in load_text(SPEC + text).problems]
        assert found == [("merge-conflict", line) for line in lines]


def test_conflicts_string_of_a_spec_may_have_markers() -> None:
    """What stands within a text, indented as YAML wants it, is the user's own."""
    declared(SPEC + "description: |\n  <<<<<<< HEAD\n  >>>>>>> topic\n")


# ---------------------------------------------------------------------------------------------------- generated files


def test_conflict_in_a_generated_file_is_named() -> None:
    """`check` shows file and line and the way out; `generate` refuses and says it too; `--force` is that way."""
    posts = Path("src/blog/posts.py")
    before = posts.read_text()
    number = conflicting(posts, next(line for line in before.splitlines() if "title" in line))
    assert restencil("check", code=1).out.splitlines() == [
        f"src/blog/posts.py:{number}: merge conflict: this is a conflict marker of an unfinished merge",
        "src/blog: 1 of 5 files differ from specs/blog.yaml; `restencil generate --force` writes them",
    ]
    assert restencil("generate", code=2).err.splitlines() == [
        f"restencil: src/blog/posts.py:{number}: merge conflict: this is a conflict marker of an unfinished merge",
        "nothing was written. Resolve the conflicts in the specs, then use --force to generate these files again",
    ]
    restencil("generate", "--force")
    assert posts.read_text() == before


def test_conflict_in_the_first_line_of_a_generated_file_is_one() -> None:
    """The header may be what the sides disagree about: the file is no foreign one for that."""
    posts = Path("src/blog/posts.py")
    assert conflicting(posts, posts.read_text().splitlines()[0]) == 1
    Path("src/blog", MANIFEST).unlink()
    assert "src/blog/posts.py:1: merge conflict" in restencil("check", code=1).out


def test_conflict_in_the_manifest_is_named_and_mended() -> None:
    """The manifest is written anew without `--force` where the files are right."""
    manifest = Path("src/blog", MANIFEST)
    before = manifest.read_text()
    conflicting(manifest, before.splitlines()[0])
    (problem,) = restencil("check", "--format", "json", code=1).document["problems"]
    assert (problem["code"], problem["file"], problem["line"]) == ("merge-conflict", f"src/blog/{MANIFEST}", 1)
    assert problem["hint"] == "`restencil generate` writes it"
    restencil("generate")
    assert manifest.read_text() == before


def test_conflicts_text_that_looks_like_a_conflict_and_was_generated_is_none(tmp_path: Path) -> None:
    """A file as the manifest has it was not merged, whatever a description says."""

    def package(line: str) -> Package:
        return assemble("x", "x.yaml", line * 64, {"a.py": f'{HEADER}x.yaml\n"""\n<<<<<<< {line}\n"""\n'}, {})

    publish(package("a"), tmp_path / "x")
    found = {one.path: one.cause for one in compare(package("b"), tmp_path / "x")}
    assert found == dict.fromkeys(("a.py", MANIFEST), Cause.SPEC_CHANGED)


def test_conflicts_foreign_file_with_markers_is_foreign(tmp_path: Path) -> None:
    """What restencil never wrote is not written over, not even by force."""
    package = assemble("x", "x.yaml", "a" * 64, {"a.py": f"{HEADER}x.yaml\n"}, {})
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a.py").write_text("<<<<<<< HEAD\nmine\n>>>>>>> b\n")
    with pytest.raises(Refused, match="foreign file"):
        publish(package, tmp_path / "x", force=True)


# ------------------------------------------------------------------------------------------------------ orphan packages


def test_conflicts_package_whose_spec_is_gone_is_reported() -> None:
    """`check` of a whole project names the folder, what it was made from, and what to do about it."""
    Path("specs/shop.yaml").write_text(SPEC.replace("package: blog", "package: shop"))
    restencil("generate")
    restencil("check")
    Path("specs/shop.yaml").unlink()
    assert restencil("check", code=1).out.splitlines() == [
        "src/shop: orphan package: no spec of the configuration has this package; it was generated from shop.yaml",
        "src/shop: remove the folder, or restore its spec (see `specs` in [tool.restencil])",
        "src/blog: up to date (5 files)",
    ]
    (problem,) = restencil("check", "--format", "json", "--diff", code=1).document["problems"]
    assert (problem["code"], problem["file"]) == ("orphan-package", "src/shop")
    Path("src/shop/__init__.py").write_text("")
    assert "it was generated from a spec with an unknown name\n" in restencil("check", code=1).out


def test_conflicts_specs_named_one_by_one_say_nothing_of_other_packages() -> None:
    """Other folders in the folder of packages belong to specs that nobody asked about."""
    Path("specs/shop.yaml").write_text(SPEC.replace("package: blog", "package: shop"))
    restencil("generate")
    restencil("check", "specs/blog.yaml")


def test_conflicts_folders_that_are_no_packages_are_no_orphans() -> None:
    """Beside packages stand other things: folders without a manifest, and those with one of somebody else."""
    Path("src/other").mkdir()
    Path("src/sums").mkdir()
    Path("src/sums", MANIFEST).write_text(f"{'a' * 64}  image.iso\n")
    Path("src/file").write_text("x")
    restencil("check")


# ---------------------------------------------------------------------------------------------------------------- fuzz


def test_conflicts_check_answers_whatever_is_in_the_package() -> None:
    """Files that are cut, doubled, joined or noise, the manifest among them: a cause for each, and never a crash."""
    package = Path("src/blog")
    right = {path.name: path.read_bytes() for path in package.iterdir()}
    chance = random.Random(11)
    for _ in range(examples(15)):
        for name, content in right.items():
            cut = chance.randrange(len(content) + 1)
            noise = chance.randbytes(chance.randrange(9))
            marks = b"<<<<<<< a\n" + content[:cut] + b"\n>>>>>>> b\n"
            shapes = [content, content, content[:cut], content[:cut] + noise + content[cut:], noise, content * 2, marks]
            (package / name).write_bytes(chance.choice([*shapes, content.replace(b"\n", b"\r\n")]))
        same = all((package / name).read_bytes() == content for name, content in right.items())
        assert "internal error" not in restencil("check", code=0 if same else 1).err
    assert run(["generate", "--force"]) in (0, 2)
