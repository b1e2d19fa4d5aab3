"""The pipeline from a loaded spec to the files of its package: plan, render, verify, break lines, format."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from restencil_generator.codegen.layout import fits, lay_out
from restencil_generator.codegen.plan import plan
from restencil_generator.codegen.render import Renderer
from restencil_generator.codegen.verify import verify
from restencil_generator.output.manifest import Manifest, Package, assemble, digest
from restencil_generator.spec import model as d

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the number of finished modules and their total."""


def build(
    spec: d.Spec,
    source: str,
    *,
    templates: Path | None = None,
    known: Manifest | None = None,
    read: Callable[[str], str | None] = lambda path: None,
    progress: Progress = lambda done, total: None,
) -> Package:
    """Build the package of a spec; `source` is the spec's path in messages.

    `known` is the manifest of the existing package and `read` returns the contents of one of its files (None: no file):
    files that are already formatted are not formatted again. Writes nothing. Raises `Failure` if a user's template
    fails, does not produce valid Python, or loses something.
    """
    renderer = Renderer(templates)
    modules = plan(spec)
    rendered: dict[str, str] = {}
    for done, module in enumerate(modules):
        progress(done, len(modules))
        text = renderer.render(module)
        if renderer.custom:
            tree = verify(module.path, text, renderer.built_in(module), renderer.user_template(module))
        else:
            tree = ast.parse(text)
        rendered[module.path] = lay_out(text, tree)
    progress(len(modules), len(modules))
    files = _formatted(rendered, known or Manifest(), read, every=renderer.custom)
    changed = {path: digest(text) for path, text in rendered.items() if files[path] != text}
    return assemble(spec.package, source, spec.digest, {**files, "py.typed": ""}, changed)


def _formatted(
    rendered: Mapping[str, str], known: Manifest, read: Callable[[str], str | None], *, every: bool
) -> dict[str, str]:
    """Return the formatted files, in the given order."""
    files: dict[str, str] = {}
    pending: dict[str, str] = {}
    for path, text in rendered.items():
        files[path] = text
        if not every and fits(text):
            continue
        before = digest(text)
        if known.digests.get(path) == before:
            continue
        if known.rendered.get(path) == before:
            there = read(path)
            if there is not None and digest(there) == known.digests.get(path):
                files[path] = there
                continue
        pending[path] = text
    if pending:
        from restencil_generator.codegen.format import format_all, format_statements

        files |= format_all(pending) if every else format_statements(pending)
    return files
