"""Packages on disk: ownership, causes, publication."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.effort import IS_NIGHT
from tests.patience import PATIENCE, eventually

from restencil_generator.codegen.header import HEADER
from restencil_generator.exceptions import Failure
from restencil_generator.output.drift import Cause, compare, diff, read_manifest
from restencil_generator.output.manifest import MANIFEST, Manifest, Package, assemble, digest
from restencil_generator.output.write import Refused, publish

SPEC = "a" * 64
OTHER_SPEC = "b" * 64


def package(files: dict[str, str], spec: str = SPEC) -> Package:
    generated = {path: f"{HEADER}blog.yaml\n{text}" for path, text in files.items()}
    return assemble("blog", "blog.yaml", spec, generated, {})


OLD = package({"__init__.py": "x = 1\n", "users.py": "y = 1\n", "tags.py": "z = 1\n"})
NEW = package({"__init__.py": "x = 1\n", "users.py": "y = 2\n", "posts.py": "w = 1\n"}, OTHER_SPEC)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The folder of a published package."""
    publish(OLD, tmp_path / "blog")
    return tmp_path / "blog"


def causes(found: Package, target: Path) -> dict[str, Cause]:
    return {difference.path: difference.cause for difference in compare(found, target)}


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


# ------------------------------------------------------------------------------------------------------------- manifest


def test_write_manifest_is_in_the_format_of_sha256sum(target: Path) -> None:
    """`sha256sum -c manifest.sha256` agrees in the folder of the package."""
    printed = subprocess.check_output(["sha256sum", "-c", MANIFEST], cwd=target, text=True, timeout=PATIENCE)
    assert printed.splitlines() == ["__init__.py: OK", "tags.py: OK", "users.py: OK"]


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "a/../../b.py", MANIFEST, "..\\x.py"])
def test_write_manifest_that_leads_out_of_the_package_is_not_used(path: str) -> None:
    """A path that leads out of the folder, or to the manifest itself, makes the whole manifest unusable."""
    assert Manifest.parse(f"# spec sha256:{SPEC}\n{digest('x')}  {path}\n") is None


def test_write_manifest_with_a_merge_conflict_owns_nothing(target: Path) -> None:
    """A line that is none of a manifest makes it unusable: nothing is owned, so nothing is replaced."""
    text = (target / MANIFEST).read_text()
    (target / MANIFEST).write_text("<<<<<<< ours\n" + text)
    assert read_manifest(target) == Manifest()
    assert causes(NEW, target)["users.py"] is Cause.EDITED
    with pytest.raises(Refused):
        publish(NEW, target)


# --------------------------------------------------------------------------------------------------------------- causes


def test_write_another_spec_is_reported(target: Path) -> None:
    """An unmodified file that the new spec gives otherwise, or is new in it: spec changed; gone from it: orphan."""
    changed = dict.fromkeys(("manifest.sha256", "posts.py", "users.py"), Cause.SPEC_CHANGED)
    assert causes(NEW, target) == {**changed, "tags.py": Cause.ORPHAN}


@pytest.mark.parametrize("edit", ["y=1\n", "y = (\n    1\n)\n", "y = 1  # a note\n"])
def test_write_edit_of_the_layout_alone_is_distinguished(target: Path, edit: str) -> None:
    """Same syntax tree, other layout or comments: formatting only; it is still not ours to replace."""
    (target / "users.py").write_text(f"{HEADER}blog.yaml\n{edit}")
    assert causes(OLD, target) == {"users.py": Cause.FORMATTING}
    with pytest.raises(Refused, match="formatting only"):
        publish(OLD, target)


def test_write_docstring_that_is_indented_otherwise_is_layout(tmp_path: Path) -> None:
    """It says the same."""
    documented = package({"a.py": 'class A:\n    """One.\n\n    Two.\n    """\n'})
    publish(documented, tmp_path / "blog")
    (tmp_path / "blog/a.py").write_text('class A:\n  """One.\n\n  Two.\n  """\n')
    assert causes(documented, tmp_path / "blog") == {"a.py": Cause.FORMATTING}


def test_write_line_ends_of_a_checkout_are_formatting_and_ours(target: Path) -> None:
    """A file whose LF became CRLF in a checkout is unmodified: it is told as formatting, and replaced."""
    for name in ("users.py", MANIFEST):
        (target / name).write_bytes((target / name).read_bytes().replace(b"\n", b"\r\n"))
    found = compare(OLD, target)
    assert [(one.path, one.cause, one.owned) for one in found] == [
        (path, Cause.FORMATTING, True) for path in (MANIFEST, "users.py")
    ]
    assert found[1].reason == "the code is the same, the line ends differ"
    publish(OLD, target)
    assert compare(OLD, target) == []


def test_write_difference_of_the_manifest_alone_is_reported(target: Path) -> None:
    """A spec with another digest that gives the same files differs in the manifest."""
    files = {**OLD.files, MANIFEST: OLD.files[MANIFEST].replace(SPEC, OTHER_SPEC)}
    same = Package(OLD.name, OLD.source, OTHER_SPEC, files)
    assert causes(same, target) == {MANIFEST: Cause.SPEC_CHANGED}


def test_write_another_generator_is_reported(target: Path) -> None:
    """A file that the same spec gives now; a manifest that is none was edited."""
    more = {"__init__.py": "x = 1\n", "users.py": "y = 1\n", "tags.py": "z = 1\n", "posts.py": "w = 1\n"}
    assert causes(package(more), target) == dict.fromkeys((MANIFEST, "posts.py"), Cause.GENERATOR_CHANGED)
    (target / MANIFEST).write_text("nonsense\n")
    assert causes(OLD, target) == {MANIFEST: Cause.EDITED}


def test_write_diff_goes_from_the_disk_to_the_spec(target: Path) -> None:
    """`diff` shows what publication would change, with `/dev/null` for files that come or go."""
    found = {difference.path: difference for difference in compare(NEW, target)}
    changed = ["@@ -1,2 +1,2 @@", " # Generated by restencil from blog.yaml", "-y = 1", "+y = 2"]
    assert diff(found["users.py"], target).splitlines()[2:] == changed
    (target / "users.py").write_text(f"{HEADER}blog.yaml\ny = 1")
    (edited,) = compare(OLD, target)
    assert diff(edited, target).splitlines()[-3:] == ["-y = 1", "\\ No newline at end of file", "+y = 1"]
    assert diff(found["tags.py"], target).splitlines()[1] == "+++ /dev/null"
    assert diff(found["posts.py"], target).splitlines()[0] == "--- /dev/null"


# ------------------------------------------------------------------------------------------------------------ ownership


def test_write_what_restencil_owns_is_replaced_and_removed(target: Path) -> None:
    """Publication replaces, adds and removes owned files and says so."""
    done = publish(NEW, target)
    assert (done.written, done.removed) == (("manifest.sha256", "posts.py", "users.py"), ("tags.py",))
    assert done.unchanged == 1
    assert contents(target) == dict(NEW.files)


def test_write_files_that_would_not_change_are_not_touched(target: Path) -> None:
    """An unchanged file keeps its inode and its time; a second publication touches nothing at all."""
    before = (target / "__init__.py").stat()
    time.sleep(0.02)
    publish(NEW, target)
    after = (target / "__init__.py").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    folder = target.stat()
    publish(NEW, target)
    assert (target.stat().st_mtime_ns, target.stat().st_ino) == (folder.st_mtime_ns, folder.st_ino)


def test_write_edited_orphan_is_rejected(target: Path) -> None:
    """An orphan that was edited is not removed without `force`."""
    (target / "tags.py").write_text("mine = True\n")
    with pytest.raises(Refused, match=r"tags\.py: edited by hand"):
        publish(NEW, target)
    publish(NEW, target, force=True)
    assert not (target / "tags.py").exists()


def test_write_unknown_files_are_left_alone(target: Path) -> None:
    """What is not in the manifest stays: files, folders, links, with their content."""
    (target / "notes.md").write_text("mine")
    (target / "extra").mkdir()
    (target / "extra" / "deep.txt").write_text("mine too")
    (target / "link").symlink_to("notes.md")
    (target / "folder").symlink_to("extra")
    inode = (target / "notes.md").stat().st_ino
    publish(NEW, target)
    assert (target / "notes.md").stat().st_ino == inode
    assert (target / "extra" / "deep.txt").read_text() == "mine too"
    assert os.readlink(target / "link") == "notes.md"
    assert os.readlink(target / "folder") == "extra"


def test_write_compiled_files_of_changed_modules_go(target: Path) -> None:
    """A compiled file of a changed module is not carried over: it might be taken for that of the new text."""
    cache = target / "__pycache__"
    cache.mkdir()
    for name in ("users", "__init__", "tags"):
        (cache / f"{name}.cpython-311.pyc").write_bytes(b"old")
    publish(NEW, target)
    assert [path.name for path in cache.iterdir()] == ["__init__.cpython-311.pyc"]


def test_write_files_that_are_there_already_are_adopted(tmp_path: Path) -> None:
    """A file with exactly the text that belongs there is no obstacle, whoever wrote it."""
    folder = tmp_path / "blog"
    folder.mkdir()
    (folder / "users.py").write_text(OLD.files["users.py"])
    publish(OLD, folder)
    assert contents(folder) == dict(OLD.files)


def test_write_error_names_the_package_and_the_folder_to_write_to(tmp_path: Path) -> None:
    """The system's reason is reported for the package, without the temporary name that it is about."""
    folder = tmp_path / ("b" * 250)  # the temporary name beside it is longer than file systems allow
    with pytest.raises(Failure) as stopped:
        publish(OLD, folder)
    assert str(stopped.value) == (
        f"{folder}: cannot be written: File name too long; "
        f"check the permissions and free space of {tmp_path}, or choose another --out"
    )
    assert list(tmp_path.iterdir()) == []


def test_write_folder_where_a_file_belongs_is_rejected(target: Path) -> None:
    """A folder in the place of a generated file is a clear failure."""
    (target / "posts.py").mkdir()
    with pytest.raises(Failure, match=r"posts\.py is a folder; a generated file belongs there"):
        publish(NEW, target)


def test_write_package_behind_a_link_is_published_where_the_link_leads(tmp_path: Path) -> None:
    """A folder that is a symbolic link stays one."""
    (tmp_path / "real").mkdir()
    (tmp_path / "blog").symlink_to("real")
    publish(OLD, tmp_path / "blog")
    assert (tmp_path / "blog").is_symlink()
    assert contents(tmp_path / "real") == dict(OLD.files)


def test_write_what_a_killed_run_left_is_removed_by_the_next(target: Path) -> None:
    """A staging folder of a killed run goes with the next publication."""
    left = target.parent / ".blog.restencil-abc"
    (left / "new").mkdir(parents=True)
    publish(NEW, target)
    assert not left.exists()


def test_write_without_an_exchange_of_folders_files_are_replaced_one_by_one(target: Path) -> None:
    """Where the folder cannot be exchanged (it is a mount point, say) the result is the same."""
    from restencil_generator.output.write import _replace_one_by_one

    fresh = target.parent / "fresh"
    fresh.mkdir()
    (target / "notes.md").write_text("mine")
    differences = compare(NEW, target)
    for found in differences:
        if found.expected is not None:
            (fresh / found.path).write_text(found.expected)
    _replace_one_by_one(fresh, target, differences)
    assert contents(target) == {**NEW.files, "notes.md": "mine"}


# ----------------------------------------------------------------------------------------------- kills and two at once

_ALTERNATE = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from tests.generator.output.test_write import big
from restencil_generator.output.write import publish
target = Path({target!r})
print("ready", flush=True)
for turn in range(100000):
    publish(big(turn % 2), target)
"""


def big(turn: int) -> Package:
    """One of two packages of many modules; every module says which one it is of, and imports its neighbour."""
    files = {
        f"m{n}.py": f"from . import m{n + 1} as next\nTURN = {turn}\nassert next.TURN == TURN\n" for n in range(30)
    }
    files["m30.py"] = f"TURN = {turn}\n"
    files["__init__.py"] = ""
    if turn:
        files["only_one.py"] = "x = 1\n"
    return package(files, SPEC if turn else OTHER_SPEC)


@contextlib.contextmanager
def alternating(target: Path) -> Generator[None]:
    """A process publishes one package and the other in turn, until it is killed at the end of the block."""
    code = _ALTERNATE.format(path=sys.path, target=str(target))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.kill()


@pytest.fixture
def published(tmp_path: Path) -> Path:
    publish(big(0), tmp_path / "blog")
    return tmp_path / "blog"


def is_one_of_both(target: Path) -> bool:
    found = {path.name: path.read_text() for path in target.iterdir() if path.is_file()}
    return found in (dict(big(0).files), dict(big(1).files))


def test_write_killed_at_any_datetime_the_package_is_whole(published: Path) -> None:
    """After a kill at each of many moments the folder holds one package or the other, and `compare` tells the truth.

    On a busy machine it takes more moments until both were there.
    """
    seen = set[bool]()
    for moment in range(0, 1000, 1 if IS_NIGHT else 5):
        if moment >= 25 and seen == {True, False}:
            break
        with alternating(published):
            time.sleep(0.0007 * (moment % 100))
        assert is_one_of_both(published), f"torn at moment {moment}"
        # What `compare` says is what the files say: no difference to one of the two.
        assert (compare(big(0), published) == []) != (compare(big(1), published) == [])
        seen.add(compare(big(1), published) == [])
    assert seen == {True, False}
    publish(big(1), published)
    assert [path.name for path in published.parent.iterdir()] == ["blog"]


def test_write_two_publications_at_once_leave_one_whole_result(published: Path) -> None:
    """Two processes that publish into one folder do not mix, whenever one looks."""
    whole = 0

    def looked() -> bool:
        """Look once; return whether the folder held a package 40 times, each of them whole."""
        nonlocal whole
        time.sleep(0.01)
        folder = os.open(published, os.O_RDONLY)
        try:
            found = {}
            for name in os.listdir(folder):
                with open(os.open(name, os.O_RDONLY, dir_fd=folder), encoding="utf-8") as file:
                    found[name] = file.read()
            if os.fstat(folder).st_ino == published.stat().st_ino:
                assert found in (dict(big(0).files), dict(big(1).files))
                whole += 1
        except FileNotFoundError:
            pass  # the folder was exchanged after it was opened, and is being removed
        finally:
            os.close(folder)
        return whole == 40

    with alternating(published), alternating(published):
        eventually(looked)
    assert is_one_of_both(published)
