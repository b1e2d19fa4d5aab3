"""Templates of a user's own: one replaced, a block extended, versions, errors."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import pytest
from tests.generator.declared import declared

import restencil_generator as generator
from restencil_generator.codegen import context
from restencil_generator.codegen.context import CONTEXT_VERSION
from restencil_generator.exceptions import Failure
from restencil_generator.output.drift import compare, read_manifest, read_text
from restencil_generator.output.manifest import Manifest
from restencil_generator.output.pipeline import build
from restencil_generator.output.write import publish

ROOT = Path(__file__).parents[3]
TEMPLATES = ROOT / "templates" / "restencil_templates"
FIRST = "{# restencil-context: 3 #}\n"
NO_BLOCK = "block '{}' does not exist in builtin/resource.py.jinja"
NO_PYTHON = "that is not valid Python: invalid syntax"

SPEC = declared("""
restencil: 1
package: blog
resources:
  posts: {path: /posts/:id, schema: {entity: Post, fields: {id: integer, title: string}}}
""")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "templates"
    found.mkdir()
    return found


def with_line(line: str) -> str:
    """A template for resources that adds a line below the class."""
    return (
        f'{FIRST}{{% extends "builtin/resource.py.jinja" %}}\n{{% block resource %}}\n{{{{ super() -}}}}\n{line}\n'
        "{% endblock %}\n"
    )


def with_block(name: str) -> str:
    """A template for resources that has this block."""
    return f'{FIRST}{{% extends "builtin/resource.py.jinja" %}}\n{{% block {name} %}}{{% endblock %}}\n'


def test_one_template_can_be_replaced(folder: Path) -> None:
    """A template of the same name replaces the built-in one; the others stay; what it gives is formatted by black."""
    (folder / "enums.py.jinja").write_text(FIRST + "x = 1")
    (folder / "resource.py.jinja").write_text(with_line("NAME='{{ module.resource.name }}'"))
    files = build(SPEC, "blog.yaml", templates=folder).files
    plain = build(SPEC, "blog.yaml").files
    assert files["posts.py"] == plain["posts.py"] + '\n\nNAME = "Posts"\n'
    assert files["_client.py"] == plain["_client.py"]


def test_templates_what_was_formatted_is_not_formatted_again(folder: Path, tmp_path: Path) -> None:
    """The manifest keeps the digest of a text before black changed it; while it is that, the file on disk is taken."""
    (folder / "resource.py.jinja").write_text(with_line("X=  1"))
    target = tmp_path / "blog"
    first = build(SPEC, "blog.yaml", templates=folder)
    assert Manifest.parse(first.files["manifest.sha256"]) != Manifest()
    assert [line for line in first.files["manifest.sha256"].splitlines() if line.startswith("# rendered")]
    publish(first, target)
    # Were it formatted again, it would get the layout of black and not that of the file, which is another one here.
    laid_out = first.files["posts.py"].replace("X = 1", "X = (1)")
    (target / "posts.py").write_text(laid_out)
    manifest = read_manifest(target)
    from restencil_generator.output.manifest import digest

    known = Manifest(manifest.spec, {**manifest.digests, "posts.py": digest(laid_out)}, manifest.rendered)
    again = build(SPEC, "blog.yaml", templates=folder, known=known, read=lambda path: read_text(target, path))
    assert again.files["posts.py"] == laid_out
    (folder / "resource.py.jinja").write_text(with_line("X=  2"))
    changed = build(SPEC, "blog.yaml", templates=folder, known=known, read=lambda path: read_text(target, path))
    assert changed.files["posts.py"].endswith("\nX = 2\n")


def test_templates_generation_with_templates_is_a_fixed_point(folder: Path, tmp_path: Path) -> None:
    """What was published with templates is what they give the next time."""
    (folder / "resource.py.jinja").write_text(with_line("X=  1"))
    target = tmp_path / "blog"
    first = build(SPEC, "blog.yaml", templates=folder)
    publish(first, target)
    again = build(
        SPEC, "blog.yaml", templates=folder, known=read_manifest(target), read=lambda path: read_text(target, path)
    )
    assert again.files == first.files
    assert compare(again, target) == []


def test_templates_must_be_utf_8(folder: Path) -> None:
    """A template in another encoding is rejected with its file and the byte."""
    (folder / "enums.py.jinja").write_bytes(b"{# restencil-context: 3 #}\n# \xe9\n")
    with pytest.raises(Failure, match=re.escape(f"{folder / 'enums.py.jinja'}: is not UTF-8: byte 0xe9. Save it")):
        build(SPEC, "blog.yaml", templates=folder)


def test_templates_block_inside_of_an_overridden_one_may_have_any_name(folder: Path) -> None:
    """Its parent has none of this name."""
    (folder / "resource.py.jinja").write_text(with_line("{% block mine %}{% endblock %}"))
    build(SPEC, "blog.yaml", templates=folder)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        # Versions are checked before anything is rendered.
        ("enums", "{{ broken", "enums.py.jinja:1: has no context version. Make this the first line: " + FIRST.strip()),
        (
            "enums",
            "{# restencil-context: 99 #}{{ broken",
            "enums.py.jinja:1: was written for version 99 of the context, and this restencil has version 3",
        ),
        # Jinja would ignore a block that the parent does not have.
        ("resource", with_block("dok"), f"resource.py.jinja:3: {NO_BLOCK.format('dok')}; did you mean 'doc'?"),
        (
            "resource",
            with_block("x"),
            f"resource.py.jinja:3: {NO_BLOCK.format('x')}; its blocks are body, directives, doc,",
        ),
        # What fails is told with its line.
        (
            "resource",
            f"{FIRST}x = 1\n{{{{ module.zz }}}}\n",
            "resource.py.jinja:3: 'restencil_generator.codegen.context.Module object' has no attribute 'zz'",
        ),
        ("resource", f"{FIRST}x = 1\n\n{{% if %}}\n", "resource.py.jinja:4: Expected an expression"),
        ("resource", f"{FIRST}{{{{ module.path.zz() }}}}\n", "resource.py.jinja:2: "),
        ("resource", f"{FIRST}{{{{ 1 // 0 }}}}\n", "resource.py.jinja:2: ZeroDivisionError"),
        ("resource", f"{FIRST}{{% include 'nowhere.jinja' %}}\n", "nowhere.jinja"),
        ("resource", f"{FIRST}x = = 1\n", f"resource.py.jinja generates text for posts.py {NO_PYTHON}"),
        # A folder without a template that has the name of a built-in one is a slip.
        ("ressource", FIRST, "has no template with the name of a built-in one: base.py.jinja"),
    ],
)
def test_templates_that_cannot_be_used_are_reported(folder: Path, name: str, text: str, said: str) -> None:
    """With their file, line and what to do; nothing is written."""
    (folder / f"{name}.py.jinja").write_text(text)
    with pytest.raises(Failure) as failed:
        build(SPEC, "blog.yaml", templates=folder)
    assert str(failed.value).startswith(str(folder)) and said in str(failed.value)


def test_templates_that_are_no_folder_are_reported(folder: Path) -> None:
    """The message says what to pass."""
    with pytest.raises(Failure, match=r"is not a folder; pass a folder of templates"):
        build(SPEC, "blog.yaml", templates=folder / "nowhere")


def test_templates_built_in_templates_say_their_version() -> None:
    """They are examples for a user's own, and the documentation names each of them and each of their blocks."""
    documented = (TEMPLATES / "CONTEXT.md").read_text()
    for path in TEMPLATES.glob("*.jinja"):
        text = path.read_text()
        assert text.startswith(f"{{#- restencil-context: {CONTEXT_VERSION} -#}}\n")
        assert f"`{path.name}`" in documented
        for block in re.findall(r"{% block (\w+) %}", text):
            assert f"`{block}`" in documented, (path.name, block)


def test_templates_documentation_names_every_member_of_the_context() -> None:
    """CONTEXT.md names all members of a module and of what it is made of."""
    documented = (TEMPLATES / "CONTEXT.md").read_text()
    kinds = [kind for kind in vars(context).values() if isinstance(kind, type) and dataclasses.is_dataclass(kind)]
    assert len(kinds) > 15
    for kind in kinds:
        for field in dataclasses.fields(kind):
            assert f"`{field.name}`" in documented, (kind.__name__, field.name)


def test_templates_package_is_one_line() -> None:
    """`__init__.py` makes the folder a package for editable installs and holds nothing else."""
    text = (TEMPLATES / "__init__.py").read_text()
    assert text.count("\n") == 1
    assert ast.get_docstring(ast.parse(text)) is not None


# ----------------------------------------------------------------------------------------------- what must be kept


def test_template_may_add_bases_decorators_methods_and_docstrings(folder: Path) -> None:
    """The template of the page on custom templates changes what it says, and nothing else of the class."""
    page = (ROOT / "docs" / "how-to" / "templates.md").read_text("utf-8")
    found = re.search(r"{# templates/resource\.py\.jinja #}\n(.*?)```", page, re.DOTALL)
    assert found is not None
    (folder / "resource.py.jinja").write_text(found[1])
    text = build(SPEC, "blog.yaml", templates=folder).files["posts.py"]
    plain = build(SPEC, "blog.yaml").files["posts.py"]
    tree = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
    before = {node.name: node for node in ast.parse(plain).body if isinstance(node, ast.ClassDef)}
    assert ast.dump(tree["Post"]) == ast.dump(before["Post"])
    posts = tree["Posts"]
    assert [ast.unparse(one) for one in posts.decorator_list] == ["registered"]
    assert ast.unparse(posts.bases[0]) == "Audited"
    methods = {node.name: node for node in posts.body if isinstance(node, ast.FunctionDef)}
    assert methods.keys() - {one.name for one in before["Posts"].body if isinstance(one, ast.FunctionDef)} == {"manual"}
    assert ast.get_docstring(methods["get"]) == "GET /posts/:id"


@pytest.mark.parametrize(
    ("name", "block", "finding"),
    [
        (
            "resource.py.jinja",
            '{% block record_fields %}\n    id: object = 0\n    title: str = ""\n{% endblock %}',
            "posts.py changes the type of `Post.id` from `int` to `object`",
        ),
        ("init.py.jinja", "{% block body %}{% endblock %}", "__init__.py lacks the call `restencil.lazy_package("),
    ],
)
def test_template_that_loses_or_changes_something_is_rejected(
    folder: Path, tmp_path: Path, name: str, block: str, finding: str
) -> None:
    """The error names the template, the module and what is missing, and nothing is written."""
    (folder / name).write_text(f'{FIRST}{{% extends "builtin/{name}" %}}\n{block}\n')
    with pytest.raises(Failure, match=re.escape(f"{folder / name}: {finding}")):
        generator.write(SPEC, tmp_path / "out", templates=folder)
    assert not (tmp_path / "out").exists()
