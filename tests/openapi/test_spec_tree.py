"""The tree of an imported spec: nodes by key path, comments that mark guesses, what is taken out."""

import pytest

from restencil_generator.openapi.spec_tree import Origin, Tree, shown


def tree() -> Tree:
    return Tree(
        value={"package": "shop", "entities": {"Order": {"pk": ["owner", "id"], "fields": {"id": "integer"}}}},
        comments={
            ("entities", "Order", "pk"): "check: pk guessed: id",
            ("entities", "Order", "fields", "id"): "the id",
            ("gone",): "check: nothing",
        },
        origins={("entities", "Order", "fields", "id"): Origin("wire:id", "/components/schemas/Order/properties/id")},
    )


def test_spec_tree_nodes_are_found_by_their_key_paths() -> None:
    """A node is named by the keys that lead to it, an item of a list by its index."""
    assert tree().get(("entities", "Order", "fields", "id")) == "integer"
    assert tree().get(("entities", "Order", "pk", "1")) == "id"
    assert tree().get(()) == tree().value


@pytest.mark.parametrize(
    "path", [("x",), ("package", "x"), ("entities", "Order", "pk", "2"), ("entities", "Order", "pk", "a")]
)
def test_spec_tree_path_to_nothing_is_an_error(path: tuple[str, ...]) -> None:
    """A key path that names no node is a `KeyError` that shows it."""
    with pytest.raises(KeyError) as raised:
        tree().get(path)
    assert raised.value.args == (shown(path),)


def test_spec_tree_what_is_taken_out_takes_its_comments_along() -> None:
    """A node that is removed leaves neither comments nor origins behind."""
    one = tree()
    one.remove(("entities", "Order"))
    assert one.value == {"package": "shop", "entities": {}}
    assert one.comments == {("gone",): "check: nothing"}
    assert one.origins == {}


def test_spec_tree_guesses_are_counted_by_their_comments() -> None:
    """What is to be checked are the comments with `check:`, on nodes that are there, in the order of the file."""
    assert tree().checks() == [(("entities", "Order", "pk"), "pk guessed: id")]
