"""`errors`: which level and key counts for a status, and what the package has for it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.generator.declared import declared

from restencil_generator.api import generate
from restencil_generator.spec import model as d
from restencil_generator.spec.error_classes import covers, laid_over, reason_phrase
from restencil_generator.spec.load import load_text
from restencil_generator.spec.model import shape_at

HEAD = """
restencil: 1
package: shop
objects:
  Problem: {title: string, detail: string?}
  NotFound: {what: string}
  Conflict: {current_version: integer}
"""

ORDERS = """
resources:
  orders:
    path: /orders/:id
    schema: {entity: Order, fields: {id: integer, name: string}}
"""


def spec(text: str) -> d.Spec:
    return declared(HEAD + text)


def errors_of(text: str, endpoint: str = "get") -> dict[str, d.Shape]:
    return dict(spec(text).resources["orders"].endpoints[endpoint].errors)


def files(text: str) -> dict[str, str]:
    return generate(spec(text))


# ------------------------------------------------------------------------------------------------------------ which one


def test_errors_narrowest_key_counts() -> None:
    """Of one level, a status comes before its hundred, and that before the default."""
    errors: dict[str, d.Shape] = {"default": ("A",), "4XX": ("B",), "404": ("C",)}
    assert [shape_at(errors, status) for status in (404, 410, 503, 302)] == [("C",), ("B",), ("A",), ("A",)]
    assert shape_at({"404": ("C",)}, 410) is None


def test_errors_nearest_level_counts_before_the_narrowest_key() -> None:
    """What an endpoint says of 4XX comes before what the spec says of 404."""
    errors = errors_of(f"errors: {{404: NotFound, 503: Problem}}{ORDERS}    errors: {{4XX: Problem}}\n")
    assert errors == {"503": ("Problem",), "4XX": ("Problem",)}
    errors = errors_of(f"errors: {{404: NotFound, 5XX: Problem}}{ORDERS}    errors: {{default: any}}\n")
    assert errors == {"default": ()}


def test_errors_levels_are_laid_over_each_other() -> None:
    """Spec, resource and endpoint each add what they say; a member that extends another has its errors too."""
    text = f"""errors: {{4XX: Problem}}{ORDERS}    errors: {{404: NotFound}}
    endpoints:
      get: {{errors: {{409: Conflict}}}}
      again: {{extends: get, path: /again/:id}}
"""
    assert errors_of(text, "get_list") == {"404": ("NotFound",), "4XX": ("Problem",)}
    whole = {"404": ("NotFound",), "409": ("Conflict",), "4XX": ("Problem",)}
    assert errors_of(text, "get") == errors_of(text, "again") == whole


def test_errors_null_takes_an_inherited_one_back() -> None:
    """A status that was taken back has no shape; where a wider key is about it, its body is any JSON."""
    assert errors_of(f"errors: {{404: NotFound}}{ORDERS}    errors: {{404: null}}\n") == {}
    errors = errors_of(f"errors: {{404: NotFound, 4XX: Problem}}{ORDERS}    errors: {{404: null}}\n")
    assert errors == {"404": (), "4XX": ("Problem",)}
    assert errors_of(f"errors: {{404: NotFound, 4XX: Problem}}{ORDERS}    errors: {{default: null}}\n") == {}


def test_errors_status_is_the_same_in_quotes() -> None:
    """Keys are read as text: `404:` and `"404":` are one, so that both are a key that is given twice."""
    assert errors_of(f'errors: {{"404": NotFound}}{ORDERS}') == errors_of(f"errors: {{404: NotFound}}{ORDERS}")
    problems = load_text(f'{HEAD}errors: {{"404": NotFound, 404: NotFound}}{ORDERS}').problems
    assert [problem.code for problem in problems] == ["duplicate-key"]


_KEYS = st.sampled_from(["400", "404", "409", "503", "599", "4XX", "5XX", "default"])
_LEVEL = st.dictionaries(_KEYS, st.sampled_from([None, ("A",), ("B",), ("C", "D")]), max_size=5)


@given(levels=st.lists(_LEVEL, max_size=4), status=st.sampled_from([300, 400, 404, 409, 418, 503, 500]))
def test_errors_levels_in_one_mapping_say_what_they_say_one_by_one(
    levels: list[dict[str, d.Shape | None]], status: int
) -> None:
    """The mapping that an endpoint has gives what looking for the nearest level, then the narrowest key, gives."""
    together: dict[str, d.Shape] = {}
    for level in levels:
        together = laid_over(together, level)
    meant: d.Shape | None = None
    for level in reversed(levels):
        if any(covers(key, str(status)) for key in level):
            meant = shape_at(level, status)
            break
    assert (shape_at(together, status) or ()) == (meant or ())


# ------------------------------------------------------------------------------------------------------- what there is


def test_errors_package_without_errors_has_no_classes() -> None:
    """Where a spec says nothing of errors, or takes all of it back, nothing is generated for them."""
    for said in ("", "    errors: {404: null}\n"):
        made = files(f"{ORDERS}{said}")
        assert "_errors.py" not in made
        assert "error_classes" not in made["orders.py"]
        assert "errors=" not in made["orders.py"]


def test_errors_object_of_the_name_of_a_class_is_no_clash_without_errors() -> None:
    """The names are taken only where the package has the classes."""
    loaded = load_text(f"{HEAD}  NotFoundError: {{a: string}}{ORDERS}")
    assert not [problem for problem in loaded.problems if problem.severity == "error"]


def test_errors_phrases_do_not_depend_on_the_version_of_python() -> None:
    """Python 3.13 replaced four phrases by those of RFC 9110; a package is the same on older ones."""
    phrases = [reason_phrase(status) for status in (413, 414, 416, 422)]
    assert phrases == ["Content Too Large", "URI Too Long", "Range Not Satisfiable", "Unprocessable Content"]
    text = files(f"errors: {{422: Problem}}{ORDERS}")["_errors.py"]
    assert '"""The server responded with 422 Unprocessable Content."""' in text
