"""Docstrings of generated code: what modules, classes and endpoints are for."""

from __future__ import annotations

import pytest
from tests.generator.codegen.lines import has_line, has_lines, of_resource, rendered

TYPED_DICTS: list[tuple[str, str, str]] = [
    (
        "body: {name: string}",
        "class ThingsBody(typing.TypedDict):",
        '"""Request body that creates or changes a member of `/t/:id`."""',
    ),
    (
        "body: {name: string}",
        "class ThingsPartialUpdateBody(typing.TypedDict, total=False):",
        '"""Request body of `PATCH /t/:id`. All keys are optional."""',
    ),
    (
        "endpoints: {send: {method: POST, path: /s, body: {to: string}}}",
        "class ThingsSendBody(typing.TypedDict):",
        '"""Request body of `POST /s`."""',
    ),
    (
        "endpoints: {send: {method: POST, path: /s, body: {at: {object: {x: any}}}}}",
        "class ThingsSendBodyAt(typing.TypedDict):",
        '"""Part of the request body of `POST /s`."""',
    ),
    (
        "endpoints: {find: {path: /f, schema: {hits: [Thing]}}}",
        "class ThingsFindResult(typing.TypedDict):",
        '"""Response of `GET /f`."""',
    ),
    (
        "endpoints: {find: {path: /f, schema: {page: {n: integer}, hits: [Thing]}}, again: {extends: find, path: /g}}",
        "class ThingsFindResultPage(typing.TypedDict):",
        '"""Part of the response of `GET /f`."""',
    ),
]


@pytest.mark.parametrize(("settings", "head", "doc"), TYPED_DICTS, ids=[head for _, head, _ in TYPED_DICTS])
def test_docstrings_typed_dict_says_what_it_is_for(settings: str, head: str, doc: str) -> None:
    """The endpoint that writes a body or a schema is named; others inherit it."""
    has_lines(of_resource(settings), head, doc)


def test_docstrings_body_of_an_entity_says_which_keys_are_mandatory() -> None:
    """All keys are optional, unless the spec says that bodies must hold some."""
    modules = rendered("""
        entities:
          Free: {fields: {id: integer, name: string}}
          Bound: {fields: {id: integer, name: {type: string, required: true}}}
        resources: {frees: {path: /f/:id, schema: Free}, bounds: {path: /b/:id, schema: Bound}}
        """)
    head = "Body(typing.TypedDict, total=False):"
    has_lines(modules["frees.py"], f"class Free{head}", '"""Request body for `Free`. All keys are optional."""')
    mandatory = '"""Request body for `Bound`. Keys marked `Required` are mandatory."""'
    has_lines(modules["bounds.py"], f"class Bound{head}", mandatory)


def test_docstrings_members_of_bodies_keep_their_descriptions() -> None:
    """The docstring is below the key."""
    text = of_resource(
        "endpoints: {s: {method: POST, path: /s, body: {to: {type: string, description: Who gets it.}}}}"
    )
    has_lines(text, "to: str", '"""Who gets it."""')


@pytest.mark.parametrize(
    ("settings", "lines"),
    [
        ("", ['"""`GET /t/:id`"""']),
        ("endpoints: {get: {description: One thing.}}", ['"""One thing. `GET /t/:id`"""']),
        (
            'endpoints: {get: {description: "Two\\n\\nparagraphs."}}',
            ['"""Two', "paragraphs.", "`GET /t/:id`", '"""'],
        ),
        ("endpoints: {get: {deprecated: Do not.}}", ['"""`GET /t/:id`', "Deprecated: Do not.", '"""']),
        ("endpoints: {get: {deprecated: true}}", ['"""`GET /t/:id`', "Deprecated.", '"""']),
        (
            'params: {id: {type: integer, description: "Its\\nnumber."}}',
            ['"""`GET /t/:id`', "`id`: Its number.", '"""'],
        ),
        (
            "examples: {get: {params: {id: 1}, response: {id: 1, name: x}}}",
            [
                '"""`GET /t/:id`',
                "Example:",
                "made.things.get(id=1)",
                "Response:",
                '{"id": 1, "name": "x"}',
                '"""',
            ],
        ),
    ],
)
def test_docstrings_endpoint_says_what_it_does(settings: str, lines: list[str]) -> None:
    """The description and then the route; deprecation, parameters and examples are paragraphs of their own."""
    has_lines(of_resource(settings), "def get(self, *, id: int) -> Thing:", *lines)


def test_docstrings_search_parameters_are_described_with_their_deprecation() -> None:
    """Only those that the spec describes."""
    text = of_resource(
        "search_params: {from: {type: string?, description: First one., deprecated: No.}, plain: string?}"
    )
    has_lines(text, '"""`GET /t`', "`from_`: First one. Deprecated: No.", '"""')


def test_docstrings_list_operations_have_a_docstring_if_they_are_described() -> None:
    """`push` and `create` are what the list and `push` are, unless the spec says something of them."""
    text = of_resource("""
        members: [get_list, push]
        endpoints: {push: {description: One more.}, create: {description: One more too.}}
        """)
    has_lines(text, "def _push(self, *, body: ThingBody) -> Thing:", '"""One more. `POST /t`"""')
    has_lines(text, "create = restencil.push_of(get_list)", '"""One more too. `POST /t`"""')
    has_line(of_resource("members: [get_list, push]"), "def _push(self, *, body: ThingBody) -> Thing: ...")


def test_docstrings_modules_say_what_they_contain() -> None:
    """One sentence each; the package has the title and description of the API."""
    modules = rendered("""
        title: Things
        description: All of them.
        enums: {Kind: [a]}
        objects: {Point: {x: integer}}
        errors: {404: Point}
        entities: {Shared: {fields: {id: integer, kind: Kind}}}
        resources:
          one: {path: /one/:id, schema: Shared}
          two: {path: /two/:id, schema: Shared}
          search: {endpoints: {find: {path: /find, schema: {all: Shared}}}}
        """)
    has_line(modules["one.py"], '"""Resource at `/one/:id`: operations, request and response types."""')
    has_line(modules["search.py"], '"""Resource `search`: operations, request and response types."""')
    has_line(modules["_entities.py"], '"""Entities shared by several resources."""')
    has_line(modules["_objects.py"], '"""Value objects."""')
    has_line(modules["_enums.py"], '"""Known values of fields."""')
    has_line(modules["_errors.py"], '"""Exceptions for error responses."""')
    has_line(modules["_client.py"], '"""Synchronous and asynchronous clients."""')
    has_lines(modules["__init__.py"], '"""Things', "All of them.", '"""')


def test_docstrings_error_classes_name_their_status() -> None:
    """The status with its phrase, or a range of them."""
    spec = """
        errors: {404: Missing}
        objects: {Missing: {why: string}}
        resources: {things: {path: /t/:id, schema: {entity: Thing, fields: {id: integer}}}}
        """
    text = rendered(spec)["_errors.py"]
    has_line(text, '"""The server responded with an error."""')
    has_line(text, '"""The server responded with 404 Not Found."""')


def test_docstrings_classes_without_a_description_have_no_docstring() -> None:
    """Nothing repeats a name."""
    modules = rendered("""
        objects: {Point: {x: integer}}
        entities: {Thing: {fields: {id: integer}}, Other: {extends: Thing, fields: {}}}
        resources: {things: {path: /t/:id, schema: Thing}}
        """)
    has_lines(modules["_entities.py"], "class Thing(restencil.Entity):", "id: int = 0")
    has_lines(modules["_entities.py"], "class Other(Thing):", "pass")
    has_lines(modules["_objects.py"], "class Point(restencil.Record):", "x: int = 0")
    has_lines(
        modules["_client.py"],
        "class AsyncMade(_Resources[restencil.AsyncController], restencil.AsyncController):",
        "_api = _API",
    )
