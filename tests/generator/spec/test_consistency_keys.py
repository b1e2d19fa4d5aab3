"""The keys that decide what generated packages call fresh, and which requests may be redirected."""

from __future__ import annotations

import textwrap

import pytest
from tests.generator.declared import declared

from restencil_generator.diff import compare
from restencil_generator.output.pipeline import build
from restencil_generator.spec import model as d

HEAD = """\
restencil: 1
package: made
url_prefix: https://api.example
enums: {State: [open, closed], Other: [open, closed]}
entities:
  Person: {fields: {id: integer, name: string}}
  Team: {pk: slug, fields: {slug: string}}
  Info: {pk: run_id, fields: {run_id: uuid}}
  Task:
    fields:
      id: integer
      title: string
      done: boolean
      state: State
      points: integer
      score: number
      key: uuid
      due: date
      owner: Person
      team: Team?
      labels: [string]
"""


def spec(text: str) -> d.Spec:
    """A spec without mistakes: the head and these resources."""
    return declared(HEAD + textwrap.dedent(text))


def files(text: str) -> dict[str, str]:
    """The files of the package of a spec."""
    return dict(build(spec(text), "made.yaml").files)


def tasks(params: str) -> str:
    return f"resources:\n  tasks: {{path: '/tasks/:id', schema: Task, search_params: {{{params}}}}}\n"


def filters(params: str) -> tuple[str, ...] | None:
    """The exact filters of a list of tasks with these search parameters."""
    return spec(tasks(params)).resources["tasks"].endpoints["get_list"].exact_filters


# -------------------------------------------------------------------------------------------------------- exact filters


@pytest.mark.parametrize(
    ("params", "exact"),
    [
        *(
            (f"{name}: {kind}?", (name,))
            for name, kind in [("done", "boolean"), ("state", "State"), ("points", "integer")]
        ),
        ("key: uuid?", ("key",)),
        ("owner: integer?, team: string?", ("owner", "team")),
        *((f"{name}: {kind}?", ()) for name, kind in [("title", "string"), ("score", "number"), ("due", "date")]),
        *((f"{name}: {kind}?", ()) for name, kind in [("points", "string"), ("state", "Other"), ("owner", "string")]),
        ("labels: [string], q: boolean?", ()),
        ("title: {type: string?, filter: equals}, points: {type: integer?, filter: unknown}", ("title",)),
        ("finished: {type: boolean?, field: done}, done: {type: boolean?, field: title}", ("finished",)),
    ],
)
def test_consistency_keys_exact_filters_of_search_parameters(params: str, exact: tuple[str, ...]) -> None:
    """A boolean, an enum, an integer, a UUID or a primary key of the name and type of a field selects by equality.

    Texts, numbers, dates, lists, other types and names of no field do not; `filter` and `field` overrule both.
    """
    assert filters(params) == exact


def test_consistency_keys_exact_filters_order_and_pages_are_no_filters() -> None:
    """Arguments of the order and of pages do not count; a list without other arguments has no filters."""
    found = spec("""
        resources:
          tasks:
            path: /tasks/:id
            schema: Task
            search_params: {order_by: string?, page: integer?}
            collection: {non_filter_arguments: [order_by]}
            pagination_field: page
        """)
    assert found.resources["tasks"].endpoints["get_list"].exact_filters is None


def test_consistency_keys_exact_filters_order_of_the_list_itself_is_no_filter() -> None:
    """An argument of the order is known by its name in the spec, whatever the list calls it in URLs."""
    found = spec("""
        resources:
          tasks:
            path: /tasks/:id
            schema: Task
            collection: {non_filter_arguments: [points]}
            endpoints: {get_list: {search_params: {points: {type: integer?, wire: sortBy}}}}
        """)
    assert found.resources["tasks"].endpoints["get_list"].exact_filters is None


def test_consistency_keys_exact_filters_path_parameters_count() -> None:
    """A parameter of a list's path filters it as well."""
    found = spec("""
        resources:
          tasks: {path: "/people/:owner/tasks/:id", schema: Task}
          others: {path: "/rooms/:room/tasks/:id", schema: Task}
        """)
    assert found.resources["tasks"].endpoints["get_list"].exact_filters == ("owner",)
    assert found.resources["others"].endpoints["get_list"].exact_filters == ()


def test_consistency_keys_exact_filters_names_are_those_on_the_wire() -> None:
    """The generated option has the names of URLs, and stands at the list alone."""
    text = files(tasks("done: {type: boolean?, wire: isDone}, title: string?"))["tasks.py"]
    assert text.count("exact_filters=") == 1
    assert 'exact_filters=("isDone",)' in text
    assert "exact_filters=()" in files(tasks("title: string?"))["tasks.py"]
    assert "exact_filters" not in files("resources: {tasks: {path: /tasks/:id, schema: Task}}")["tasks.py"]


# ---------------------------------------------------------------------------------------------------------------- field


def test_consistency_keys_field_of_search_parameters_and_body_members_is_generated() -> None:
    """Wire names lead to fields by their names in Python, dotted ones inside of objects."""
    text = files("""
        objects: {Meta: {run_id: string}}
        resources:
          runs:
            schema: {entity: Run, pk: info.run_id, fields: {info: Meta, title: string}}
            path: /runs/:run
            members: [get]
            endpoints:
              get: {path: /runs/get, search_params: {runId: {type: string, field: info.run_id}}}
              drop:
                {method: POST, path: /runs/delete, schema: null, body: {run: {type: string, field: info.run_id}}}
              plain: {method: POST, path: /runs/plain, body: {form: {run: {type: string, field: info.run_id}}}}
        """)["runs.py"]
    assert 'search_fields={"runId": "info.run_id"}' in text
    assert text.count('body_fields={"run": "info.run_id"}') == 2


# ---------------------------------------------------------------------------------------------- needs, invalid_if_stale


def test_consistency_keys_needs_is_inherited_and_null_restores_all() -> None:
    """The nearest level counts; `null` gives the default of packages back."""
    found = spec("""
        options: {needs: required, invalid_if_stale: false}
        resources:
          tasks: {path: /tasks/:id, schema: Task, endpoints: {get: {options: {needs: null, invalid_if_stale: null}}}}
          people: {path: /people/:id, schema: Person, options: {needs: [name]}}
        """)
    tasks_, people = found.resources["tasks"], found.resources["people"]
    assert (tasks_.options.needs, tasks_.options.invalid_if_stale) == ("required", False)
    assert (tasks_.endpoints["get"].options.needs, tasks_.endpoints["get"].options.invalid_if_stale) == ("all", True)
    assert people.endpoints["get_list"].options.needs == ("name",)


def test_consistency_keys_needs_of_a_resource_are_for_entities_that_have_the_fields() -> None:
    """What an endpoint brings of another entity is whole with all its fields; else nothing would be asked of it."""
    found = spec("""
        resources:
          people:
            path: /people/:id
            schema: Person
            options: {needs: [name]}
            endpoints:
              tasks: {path: /people/:id/tasks, schema: [Task]}
              friends: {path: /people/:id/friends, schema: [Person]}
              both: {path: /people/:id/both, schema: {people: [Person], tasks: [Task]}}
        """)
    needs = {name: one.options.needs for name, one in found.resources["people"].endpoints.items()}
    assert (needs["get"], needs["friends"]) == (("name",), ("name",))
    assert (needs["tasks"], needs["both"]) == ("all", "all")


def test_consistency_keys_invalid_if_stale_is_written_with_every_resource() -> None:
    """Packages wait for fresh data unless the spec says `false`."""
    text = "options: {invalid_if_stale: %s}\nresources: {tasks: {path: /tasks/:id, schema: Task}}"
    assert "    invalid_if_stale=True,\n" in files(text % "true")["tasks.py"]
    assert "    invalid_if_stale=True,\n" in files(text % "null")["tasks.py"]
    assert "    invalid_if_stale=False,\n" in files(text % "false")["tasks.py"]


# ------------------------------------------------------------------------------------------------- redirects, prefixes


def test_consistency_keys_redirects_of_the_spec_and_of_an_endpoint() -> None:
    """The spec says it for all requests, an endpoint for its own."""
    made = files("""
        redirects: {cross_origin_body: true}
        resources:
          tasks:
            path: /tasks/:id
            schema: Task
            members: [get]
            endpoints: {put: {method: PUT, redirects: {cross_origin_body: false}}}
        """)
    assert '    redirects={"cross_origin_body": True},\n' in made["tasks.py"]
    assert "redirects=None)\n    def put(" in made["tasks.py"]
    assert 'redirects={"cross_origin_body": True}' in made["_client.py"]
    assert "redirects" not in files("resources: {tasks: {path: /tasks/:id, schema: Task}}")["tasks.py"]


def test_consistency_keys_url_prefixes_of_endpoints_are_known_to_the_client() -> None:
    """Prefixes that resources and endpoints have of their own can be replaced by a client, and no others."""
    made = files("""
        resources:
          tasks:
            path: /tasks/:id
            schema: Task
            endpoints: {upload: {method: POST, path: /up, url_prefix: "https://up.example"}}
          people: {path: /people/:id, schema: Person, url_prefix: "https://people.example"}
        """)
    assert 'url_prefixes=("https://people.example", "https://up.example")' in made["_client.py"].replace("\n    ", " ")


# ----------------------------------------------------------------------------------------------------------------- diff


def test_consistency_keys_diff_null_is_the_default() -> None:
    """What a package has anyway is no change where it is written."""
    text = "options: {%s}\nresources: {tasks: {path: /tasks/:id, schema: Task}}"
    old, new = spec(text % ""), spec(text % "needs: all, invalid_if_stale: true")
    assert list(compare(old, new)) == []
