"""Documents of our own, each with the manners of a kind of real API: what an import makes of them."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from tests.openapi.documents import read_tree
from tests.openapi.imports import NAMES, imported, spec

from restencil_generator.openapi.infer.build import make
from restencil_generator.openapi.options import Options
from restencil_generator.openapi.spec_tree import Tree
from restencil_generator.openapi.spec_writer import write
from restencil_generator.spec.load import load_text


@pytest.mark.parametrize("name", NAMES)
def test_inferred_spec_spec_is_what_reviewers_have_read(name: str) -> None:
    """A document gives its spec byte for byte."""
    assert imported(name).text == spec(name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_inferred_spec_check_refuses_nothing(name: str) -> None:
    """What an import writes passes the check, and nothing had to be taken out for that."""
    assert [problem for problem in load_text(imported(name).text).problems if problem.severity == "error"] == []
    assert [each.message for each in imported(name).document.findings if each.code == "import-mistake"] == []
    assert imported(name).document.left_out == []


@pytest.mark.parametrize("name", NAMES)
def test_inferred_spec_every_operation_is_in_the_spec(name: str) -> None:
    """Each operation of a document is an endpoint, or it stands in `left_out`."""
    made = imported(name)
    covered = {id(operation) for operation in made.inferred.operations.values()}
    assert covered == {id(operation) for operation in made.document.operations}


def test_inferred_spec_writing_is_the_inverse_of_reading() -> None:
    """A tree without comments is written as it was before they were there, but for them."""
    tree = imported(NAMES[0]).tree
    plain = write(Tree(tree.value))
    assert [line.partition("  #")[0].rstrip() for line in write(tree).splitlines()[1:]] == plain.splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_inferred_spec_order_of_paths_and_schemas_has_no_meaning(name: str, tmp_path: Path) -> None:
    """A document whose paths, methods and schemas stand the other way round gives the bytes that it gave."""
    tree = copy.deepcopy(dict(imported(name).document.tree))
    tree["paths"] = {path: dict(reversed(item.items())) for path, item in reversed(tree["paths"].items())}
    for table in (tree.get("components", {}), tree):
        for key in ("schemas", "definitions"):
            if key in table:
                table[key] = dict(reversed(table[key].items()))
    again = make(read_tree(tree, tmp_path), Options(), name).text
    assert again.splitlines()[1:] == imported(name).text.splitlines()[1:]
