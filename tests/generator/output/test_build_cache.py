"""The cache of earlier runs: what it takes in, what it may say, and what is in the way of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.generator.projects import SPEC, enter, process, restencil

from restencil_generator.output import build_cache
from restencil_generator.output.manifest import MANIFEST, Manifest, digest


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the spec of a blog, a cache, and no CI around."""
    return enter(tmp_path, monkeypatch, "blog.yaml", str(tmp_path / "cache"))


def entries() -> list[Path]:
    return sorted(Path("cache").iterdir()) if Path("cache").is_dir() else []


# -------------------------------------------------------------------------------------------------------------- answers


def test_build_cache_entry_never_makes_check_say_yes() -> None:
    """A package that was changed together with its manifest and the entry of the cache differs all the same."""
    restencil("generate", "blog.yaml")
    posts, manifest = Path("blog/posts.py"), Path("blog", MANIFEST)
    posts.write_text(posts.read_text() + "evil = True\n")
    recorded = Manifest.parse(manifest.read_text())
    assert recorded is not None
    manifest.write_text(Manifest(recorded.spec, {**recorded.digests, "posts.py": digest(posts.read_text())}).text())
    key = build_cache.key_of(Path("blog.yaml"), None)
    assert key is not None
    build_cache.remember(key, build_cache.Entry("blog", manifest.read_text()))
    assert "blog/posts.py: generator changed" in restencil("check", "blog.yaml", code=1).out
    restencil("generate", "blog.yaml", "--dry-run", code=1)
    restencil("generate", "blog.yaml", "--force")
    assert "evil" not in posts.read_text()


def test_build_cache_check_leaves_the_cache_alone() -> None:
    """What `check` finds it tells, and keeps nothing."""
    restencil("check", "blog.yaml", code=1)
    assert entries() == []


def test_build_cache_name_of_the_spec_counts() -> None:
    """It stands in the header of each file, be it that of a file or of a folder."""
    Path("one").mkdir()
    Path("blog.yaml").rename("one/spec.yaml")
    restencil("generate", "one")
    Path("one").rename("two")
    assert restencil("generate", "two").out == "blog: 4 written, 1 unchanged\n"


@pytest.mark.parametrize("value", ["true", "1", "True"])
def test_build_cache_in_ci_there_is_no_cache(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in CI neither reads nor writes it."""
    monkeypatch.setenv("CI", value)
    restencil("generate", "blog.yaml")
    assert entries() == []
    monkeypatch.setenv("CI", "false")
    restencil("generate", "blog.yaml")
    assert len(entries()) == 1


def test_build_cache_spec_that_changes_while_it_is_read_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package of the old text must not stand under the new one."""
    from restencil_generator import api

    load_all = api.load_all

    def meanwhile(paths: list[Path]) -> list[api.Spec]:
        loaded = load_all(paths)
        Path("blog.yaml").write_text(SPEC.replace("title", "headline"))
        return loaded

    monkeypatch.setattr(api, "load_all", meanwhile)
    restencil("generate", "blog.yaml")
    assert entries() == []


# -------------------------------------------------------------------------------------------------------------- folder


def test_build_cache_trimming_leaves_files_of_others_alone() -> None:
    """In a folder that others use too, only entries of its own go when there are too many, the oldest first."""
    folder = Path("cache")
    folder.mkdir()
    others = [folder / name for name in ("notes.txt", "a" * 64, ".new-x", "b" * 63 + ".restencil", ".restencil")]
    for age, path in enumerate([*others, folder / "sub"]):
        path.mkdir() if path.name == "sub" else path.write_text("mine")
        os.utime(path, (age, age))
    old = [folder / f"{number:064x}.restencil" for number in range(70)]
    for age, path in enumerate(old):
        path.write_text("")
        os.utime(path, (1000 + age, 1000 + age))
    left = folder / ".restencil-new-abc"
    left.write_text("of a run that was killed")
    os.utime(left, (999, 999))
    restencil("generate", "blog.yaml")
    assert all(path.exists() for path in others)
    assert (folder / "sub").is_dir()
    assert not left.exists()
    kept = {path for path in entries() if path.is_file()} - set(others)
    assert len(kept) == 64
    assert kept & set(old) == set(old[7:])


# ------------------------------------------------------------------------------------------------------------ templates


@pytest.mark.parametrize("how", ["include", "import", "a link"])
def test_build_cache_every_file_that_a_template_reads_counts(how: str) -> None:
    """What a template includes, imports or extends may have any name, and stand in any folder beside it."""
    own = Path("own")
    (own / "deep").mkdir(parents=True)
    part = own / "deep" / "part.txt"
    part.write_text("# one" if how != "import" else "{% macro said() %}# one{% endmacro %}")
    if how == "a link":
        part.rename("part.txt")
        part.symlink_to(Path("part.txt").resolve())
    use = "{% include 'deep/part.txt' %}"
    if how == "import":
        use = "{% from 'deep/part.txt' import said %}{{ said() }}"
    builtin = "{% extends 'builtin/resource.py.jinja' %}"
    (own / "resource.py.jinja").write_text(
        f"{{# restencil-context: 3 #}}{builtin}{{% block imports %}}{{{{ super() }}}}\n{use}\n{{% endblock %}}"
    )
    restencil("generate", "blog.yaml", "--templates", "own")
    assert "# one" in Path("blog/posts.py").read_text()
    part.write_text(part.read_text().replace("one", "two"))
    restencil("generate", "blog.yaml", "--templates", "own")
    assert "# two" in Path("blog/posts.py").read_text()


# ---------------------------------------------------------------------------------------------------------------- pipes


@pytest.mark.parametrize("command", [["generate"], ["generate", "--dry-run"], ["check"], ["lint"]])
def test_build_cache_spec_from_a_pipe_is_read_once(command: list[str]) -> None:
    """`/dev/stdin`, and what a shell puts in the place of `<(…)`, give their text one time."""
    restencil("generate", "blog.yaml")
    done = process(*command, "/dev/stdin", stdin=SPEC.replace("title", "headline"))
    if command == ["generate"]:
        assert done.returncode == 0, done.stderr
        assert "headline" in Path("blog/posts.py").read_text()
    elif command == ["lint"]:
        assert (done.returncode, done.stdout) == (0, "1 spec checked, no issues\n")
    else:
        assert done.returncode == 1, done.stderr
        assert "blog/posts.py: spec changed" in done.stdout


def test_build_cache_spec_from_process_substitution_is_read_once() -> None:
    """A pipe that is named by a descriptor."""
    reading, writing = os.pipe()
    os.write(writing, SPEC.encode())
    os.close(writing)
    try:
        restencil("generate", f"/dev/fd/{reading}")
    finally:
        os.close(reading)
    assert "title" in Path("blog/posts.py").read_text()
