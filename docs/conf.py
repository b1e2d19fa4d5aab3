"""The site, for Sphinx: `make docs` builds it into build/site, and any warning is an error.

Pages are the Markdown of this repository as a forge shows it, and links between them are those of files. What a forge
has no word for is made here: the order of the pages, which is that of the lists in `index.md`; diagrams, which are
drawn when the site is built; and docstrings, which are Markdown where Sphinx expects something else. Nothing in the
site is loaded from elsewhere.
"""

from __future__ import annotations

import ast
import builtins
import enum
import hashlib
import importlib
import inspect
import posixpath
import re
import shutil
import sys
import typing
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final

import mermaidx
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

ROOT: Final = Path(__file__).resolve().parents[1]
LOG: Final = logging.getLogger(__name__)

sys.path[:0] = [str(ROOT / "runtime"), str(ROOT / "generator"), str(ROOT / "templates")]

import restencil  # noqa: E402 - found by the path above
from restencil_generator.spec.grammar import json_schema  # noqa: E402

project = "restencil"
html_title = "restencil"
html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_css_files = ["site.css"]
html_static_path = ["_static"]
language = "en"
smartquotes = False  # two hyphens are those of an option

root_doc = "docs/index"
include_patterns = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs/**.md",
    "templates/restencil_templates/CONTEXT.md",
    "tests/benchmarks/results.md",
]
exclude_patterns = [".*", "build", "dist", "node_modules", "tests/golden", "tests/servers"]

extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
myst_fence_as_directive = ["mermaid"]
suppress_warnings = ["myst.header"]  # the first heading of a part of a page may be deeper than the one before
default_role = "code"

autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"


# --------------------------------------------------------------------------------------------------- the order of pages


def listed(text: str) -> Iterator[tuple[str, list[str]]]:
    """The parts of a page of lists, each with what its links say and where they lead, in order."""
    for part in re.split(r"^## ", text, flags=re.MULTILINE):
        links = re.findall(r"^[-|] \[`?([^\]`]*)`?\]\(([^):#]+\.md)\)", part, re.MULTILINE)
        if links:
            yield part.partition("\n")[0], [f"{said} <{link}>" for said, link in links]


def trees(text: str) -> str:
    """The lists of a page as what Sphinx takes for the order of pages."""
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(links) + "\n```\n"
        for caption, links in listed(text)
    )


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Gives pages that list others their place above them, and those of the API their docstrings."""
    source[0] = re.sub(r"^```\{api\} (\S+)\n(.*?)^```$", api, source[0], flags=re.MULTILINE | re.DOTALL)
    if page == root_doc:
        source[0] += trees(source[0])
    elif (Path(app.srcdir) / page).is_dir():
        links = [link for _, found in listed(source[0]) for link in found if f"<{posixpath.basename(page)}/" in link]
        source[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(links) + "\n```\n"


def finished(app: Sphinx, error: Exception | None) -> None:
    """The top of the site leads to the first page; the pages are there as Markdown too, which `llms.txt` names.

    The JSON Schema of the spec language is beside its reference page, where editors can load it.
    """
    if error is None:
        Path(app.outdir, "docs", "reference", json_schema.FILE_NAME).write_text(json_schema.schema_text(), "utf-8")
        top = '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html"><title>restencil</title>\n'
        (Path(app.outdir) / "index.html").write_text(top, "utf-8")
        for page in (ROOT / "docs" / "llms.txt", *(Path(app.srcdir, f"{page}.md") for page in app.env.found_docs)):
            shutil.copyfile(page, Path(app.outdir, page.relative_to(ROOT)))


# ------------------------------------------------------------------------------------------------------------- diagrams


MERMAID: Final = {
    "fontFamily": "sans-serif",
    "flowchart": {"htmlLabels": False, "rankSpacing": 30},
    "sequence": {"mirrorActors": False},
}


class Diagram(SphinxDirective):
    """A fence of `mermaid`, drawn for both colour schemes, of which the page shows one."""

    has_content = True
    themes: ClassVar = {"light": "neutral", "dark": "dark"}

    def run(self) -> list[nodes.Node]:
        source = "\n".join(self.content)
        return [nodes.raw("", drawing, format="html") for drawing in self._drawn(source)]

    def _drawn(self, source: str) -> Iterator[str]:
        for scheme, theme in self.themes.items():
            try:
                svg = mermaidx.render(source, theme=theme, config=MERMAID).svg()
            except Exception as error:
                LOG.warning("a diagram cannot be drawn: %s", error, location=self.get_location())
                continue
            name = "diagram-" + hashlib.sha256(f"{scheme} {source}".encode()).hexdigest()[:12]
            yield f'<div class="diagram only-{scheme}">{_legible(svg).replace("my-svg", name)}</div>\n'


def _legible(svg: str) -> str:
    """A drawing that narrow pages shrink to 60 % at most; below that, the reader scrolls it."""
    return re.sub(r"(max-width: ([\d.]+)px;)", lambda m: f"{m[1]} min-width: {float(m[2]) * 0.6:.0f}px;", svg, count=1)


# ----------------------------------------------------------------------------------------------------------- docstrings


PUBLIC: Final = {
    name
    for module in ("restencil", "restencil.schema", "restencil.storage", "restencil.testing", "restencil_generator")
    for name in importlib.import_module(module).__all__
}


BUILTIN: Final = {*dir(builtins), *enum.__all__, *typing.__all__}

TYPE_VARIABLE: Final = "The type variable of a resource: the kind of controller that it is bound to."


def origin(module: str, name: str) -> str:
    """The module, below a public one, that a name of that comes from; nothing for one that it defines itself."""
    if module == "restencil":
        return next(module for module, names in restencil._NAMES.items() if name in names)
    for taken in ast.parse(inspect.getsource(importlib.import_module(module))).body:
        if isinstance(taken, ast.AnnAssign) and getattr(taken.target, "id", "") == name:
            return ""
        if isinstance(taken, ast.ImportFrom) and name in [one.name for one in taken.names]:
            return str(taken.module)
    raise LookupError(f"{module} does not say where {name} comes from")


def said(module: str, name: str) -> str:
    """The text below the assignment of a name that is neither class nor function, in the file that it comes from."""
    body = ast.parse(inspect.getsource(importlib.import_module(f"{module}.{origin(module, name)}".rstrip(".")))).body
    for assigned, text in pairwise(body):
        if isinstance(assigned, ast.AnnAssign) and getattr(assigned.target, "id", "") == name:
            match text:
                case ast.Expr(value=ast.Constant(value=str(found))):
                    return "\n   ".join(_restructured(inspect.cleandoc(found).splitlines()))
    return TYPE_VARIABLE


def asked(module: str, name: str) -> str:
    """What Sphinx is asked to show of a public name: its docstring, and those of its members."""
    value = getattr(importlib.import_module(module), name)
    if inspect.isfunction(value):
        return f".. autofunction:: {module}.{name}\n"
    if not isinstance(value, type):
        return f".. py:data:: {module}.{name}\n\n   {said(module, name)}\n"
    # What comes from a class that is no public one is a member like its own; what comes from a public one stands there.
    others = ",".join(sorted((PUBLIC | BUILTIN) - {name}))
    # Sphinx asks for subclasses, and protocols such as `Manager` answer that by an error.
    protocol = any(getattr(base, "_is_protocol", False) for base in value.__mro__)
    inherited = "" if protocol else f"   :inherited-members: {others}\n"
    return f".. autoclass:: {module}.{name}\n   :members:\n{inherited}\n"


def api(fence: re.Match[str]) -> str:
    """A fence of `api`, public names of a module, a line each, in the words of Sphinx."""
    return "```{eval-rst}\n" + "\n".join(asked(fence[1], name) for name in fence[2].split()) + "```\n"


def docstring(_: Sphinx, kind: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """Markdown as our docstrings have it, in the words of Sphinx: code that is indented, columns, and plain texts."""
    lines[:] = list(_restructured(lines))


def _restructured(lines: list[str]) -> Iterator[str]:
    now = "text"
    before = ""
    for line, after in pairwise([*lines, ""]):
        if not line.strip():
            yield line
        elif line.startswith("|"):
            if "---" not in line + after:  # the head of a table, and the line below it, go without saying
                cells = re.split(r" \| ", line.strip("| "), maxsplit=1)
                yield _escaped(cells[0])
                yield f"    {_escaped(cells[-1])}"
        elif column := re.match(r"((?:\*{0,2}\w+(?:, )?)+) {2,}(\S.*)", line):
            now = "columns"
            yield f"{_term(column[1])}"
            yield f"    {_escaped(column[2])}"
        elif line.startswith("    ") and now == "columns" and before.strip():
            yield f"    {_escaped(line.strip())}"
        elif line.startswith("    "):
            if now != "code" and not line.strip().startswith(">>>"):
                now = "code"
                yield from (".. code-block:: python", "")
            yield line
        elif line.startswith(">>> ") or (now == "doctest" and before.strip()):
            now = "doctest"
            yield line
        else:
            if now == "columns" and before.strip():
                yield ""
            now = "text"
            yield _escaped(line)
        before = line


def _term(names: str) -> str:
    return ", ".join(f"``{name}``" for name in names.split(", "))


def _escaped(line: str) -> str:
    """A line without the signs that mean something to Sphinx alone: everything outside of `code` is text."""
    parts = re.split(r"(`+[^`]*`+)", line)
    parts[::2] = [re.sub(r"([*|\\]|_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
    parts[::2] = [re.sub(r"^(?=\w)", r"\\ ", part) if place else part for place, part in enumerate(parts[::2])]
    parts[1::2] = [f"``{part.strip('`')}``" for part in parts[1::2]]
    return "".join(parts)


def unlinked(app: Sphinx, page: nodes.document) -> None:
    """Types of Python itself lead nowhere: `bytes` in an annotation is no field of that name."""
    for reference in [*page.findall(addnodes.pending_xref)]:
        if hasattr(builtins, reference.get("reftarget", "")):
            reference.replace_self(nodes.Text(reference["reftarget"]))


def setup(app: Sphinx) -> None:
    """What Sphinx calls."""
    app.add_directive("mermaid", Diagram)
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("doctree-read", unlinked)
    app.connect("build-finished", finished)
