"""The line of each decorator: method, path, and every option that is not the class's."""

from __future__ import annotations

import pytest
from tests.generator.codegen.lines import has_line, has_lines, has_part, lacks, of_resource, rendered

GET = 'method="GET", path="/t/:id"'
LIST = 'method="GET", path="/t"'

LINES: list[tuple[str, str]] = [
    # Standard members
    ("members: [get]", f"@restencil.rest({GET})"),
    ("members: [get_list]", f"@restencil.rest_list({LIST})"),
    ("members: [get_list, push]", f"@restencil.rest_list({LIST}, push=_push, unshift=None)"),
    ("members: [get_list, push, unshift]", f"@restencil.rest_list({LIST}, push=_push)"),
    ("members: [get_list, unshift]", f"@restencil.rest_list({LIST}, unshift=_unshift)"),
    ("members: [get_list, push]", "create = restencil.push_of(get_list)"),
    ("members: [update]", '@restencil.rest(method="PUT", path="/t/:id")'),
    ("members: [partial_update]", '@restencil.rest(method="PATCH", path="/t/:id")'),
    ("members: [delete]", '@restencil.rest(method="DELETE", path="/t/:id")'),
    # Methods and side effects
    (
        "endpoints: {a: {path: /a, side_effect: true, body: null}}",
        '@restencil.rest(method="POST", path="/a", body=None)',
    ),
    (
        "endpoints: {b: {path: /b, side_effect: true, method: GET}}",
        '@restencil.rest(method="GET", path="/b", side_effect=True)',
    ),
    ("endpoints: {get: {side_effect: true}}", f"@restencil.rest({GET}, side_effect=True)"),
    (
        "endpoints: {c: {path: /c, method: POST, side_effect: false, body: null}}",
        '@restencil.rest(method="POST", path="/c", side_effect=False, body=None)',
    ),
    # Options that differ from those of the class, and such as are taken back
    ("endpoints: {get: {options: {timeout: 1s}}}", f"@restencil.rest({GET}, timeout=1000)"),
    ("endpoints: {get: {options: {timeout: 60s}}}", f"@restencil.rest({GET}, timeout=60_000)"),
    ("options: {timeout: 5s}\nendpoints: {get: {options: {timeout: 5s}}}", f"@restencil.rest({GET})"),
    (
        "options: {error_policy: soft}\nendpoints: {get: {options: {error_policy: hard}}}",
        f"@restencil.rest({GET}, error_policy=None)",
    ),
    ("endpoints: {get: {deprecated: Do not.}}", f'@restencil.rest({GET}, deprecated="Do not.")'),
    ("endpoints: {get: {deprecated: true}}", f'@restencil.rest({GET}, deprecated="")'),
    (
        "endpoints: {f: {path: /f, options: {needs: [name]}}}",
        '@restencil.rest(method="GET", path="/f", needs=("name",))',
    ),
    ("endpoints: {f: {path: /f, options: {needs: []}}}", '@restencil.rest(method="GET", path="/f", needs=())'),
    (
        "endpoints: {p: {side_effect: true, path: /p, body: null, follow_see_other: true}}",
        '@restencil.rest(method="POST", path="/p", follow_see_other=True, body=None)',
    ),
    (
        'endpoints: {get: {process: "python:my.hooks:clean"}}',
        f'@restencil.rest({GET}, process=restencil.lazy_function("my.hooks:clean"))',
    ),
    (
        "endpoints: {p: {method: POST, path: /p, schema: null, body: null, expires: nothing}}",
        '@restencil.rest(method="POST", path="/p", schema=None, expires="nothing", body=None)',
    ),
    (
        'endpoints: {by_name: {path: "/n/:name", params: {name: {field: name}}}}',
        '@restencil.rest(method="GET", path="/n/:name", path_params={"name": "name"})',
    ),
    # Schemas
    ("endpoints: {n: {path: /n, schema: null}}", '@restencil.rest(method="GET", path="/n", schema=None)'),
    ("endpoints: {n: {path: /n, schema: [Thing]}}", '@restencil.rest(method="GET", path="/n", schema=[Thing])'),
    (
        "endpoints: {n: {method: POST, path: /n, schema: {invalidate: Thing}, body: null}}",
        '@restencil.rest(method="POST", path="/n", schema=schema.Invalidate(Thing), body=None)',
    ),
    # Bodies
    (
        "endpoints: {s: {method: POST, path: /s, body: {to: string}}}",
        '@restencil.rest(method="POST", path="/s", body=schema.Object({"to": None}))',
    ),
    (
        "endpoints: {s: {method: POST, path: /s, body: {form: {to: string}}, schema: null}}",
        '@restencil.rest(method="POST", path="/s", schema=None, body_format="form", body=schema.Object({"to": None}))',
    ),
    (
        "endpoints: {s: {method: POST, path: /s, body: {multipart: {to: {type: string, wire: theTo}}}, schema: null}}",
        '@restencil.rest(method="POST", path="/s", schema=None, body_format="multipart",'
        ' body=schema.Object({"to": None}, wire={"to": "theTo"}))',
    ),
    (
        "endpoints: {s: {method: POST, path: /s, body: [Thing]}}",
        '@restencil.rest(method="POST", path="/s", body=[Thing])',
    ),
    (
        "endpoints: {s: {method: POST, path: /s, body: any}}",
        '@restencil.rest(method="POST", path="/s", body_format="json", body=dict)',
    ),
    (
        "endpoints: {s: {method: POST, path: /s, body: {one_of: [integer, string]}}}",
        '@restencil.rest(method="POST", path="/s", body_format="json", body=dict)',
    ),
    (
        "endpoints: {s: {method: POST, path: /s, body: bytes, schema: null}}",
        '@restencil.rest(method="POST", path="/s", schema=None, body_format="bytes", body=dict)',
    ),
    ("endpoints: {s: {method: POST, path: /s, body: Thing}}", '@restencil.rest(method="POST", path="/s")'),
    # Endpoints that extend another one
    (
        "endpoints: {named: {extends: update, path: /n/:id, body: {name: string}}}",
        '@restencil.rest(method="PUT", path="/n/:id", extends="update", body=schema.Object({"name": None}))',
    ),
    (
        "endpoints: {more: {extends: get_list, path: /more}}",
        '@restencil.rest_list(method="GET", path="/more", push=_more_push, extends="get_list",'
        ' schema=schema.Collection([Thing], follow=True, apart="/more"))',
    ),
    (
        "endpoints: {get: {options: {timeout: 1s}}, again: {extends: get, path: /g/:id}}",
        '@restencil.rest(method="GET", path="/g/:id", extends="get", timeout=1000)',
    ),
    (
        "endpoints: {get: {options: {timeout: 1s}}, again: {extends: get, path: /g/:id, options: {timeout: null}}}",
        '@restencil.rest(method="GET", path="/g/:id", extends="get", timeout=None)',
    ),
    # Operations of a list
    (
        "endpoints: {push: {path: /t/new, options: {timeout: 1s}}}",
        f'@restencil.rest_list({LIST}, push=_push, push_options={{"path": "/t/new", "timeout": 1000}},'
        ' unshift_options={"path": "/t/new", "timeout": 1000})',
    ),
    (
        "endpoints: {create: {options: {retries: 1}}}",
        "create = restencil.push_of(get_list).extend(retries=1)",
    ),
]


@pytest.mark.parametrize(("settings", "line"), LINES, ids=[f"{number}" for number in range(len(LINES))])
def test_endpoint_options_decorator_writes_method_path_and_options(settings: str, line: str) -> None:
    """The line that settings of a resource give."""
    has_line(of_resource(settings), line)


INHERITED: dict[str, tuple[str, str, list[str]]] = {
    "an added endpoint has what the resource says, and nothing of its list": (
        "",
        "options: {timeout: 5s}\npagination_field: page\nsearch_params: {name: string?}\nendpoints: {own: {}}",
        ['@restencil.rest(method="GET", path="/t/:id")'],
    ),
    "one that extends another has all of it, headers by name": (
        "",
        """
        endpoints:
          a: {extends: b, method: POST, body: null}
          b: {extends: c, options: {timeout: 1s}, headers: {X-B: b}}
          c: {extends: get, path: "/c/:name", options: {retries: 3}, headers: {X-C: c}}
        """,
        [
            'method="GET", path="/c/:name", extends="get", request_init={"headers": {"X-C": "c"}}, retries=3)',
            'extends="c", request_init={"headers": {"X-B": "b", "X-C": "c"}}, timeout=1000, retries=3)',
            'method="POST", path="/c/:name", extends="b", request_init={"headers": {"X-B": "b", "X-C": "c"}}, '
            "timeout=1000, retries=3, body=None)",
        ],
    ),
    "pages only where the schema holds a collection": (
        "",
        """
        pagination_field: page
        members: [get_list, get_page]
        endpoints:
          plain: {extends: get_list, path: /plain, schema: {results: [Thing]}}
          paged: {extends: get_list, path: /paged, schema: {results: {collection: [Thing]}}}
        """,
        [
            '@restencil.rest(method="GET", path="/plain", extends="get_list", schema={"results": [Thing]}, '
            "pagination_field=None)",
            'method="GET", path="/paged", push=_paged_push, get_page=_paged_get_page, items=_paged_item, '
            'extends="get_list", schema={"results": schema.Collection([Thing], follow=True, apart="/paged")}, '
            'pagination_field="page")',
        ],
    ),
    "a written side effect goes before a method written here, and this before an inherited one": (
        "",
        """
        endpoints:
          b: {path: /b, method: POST, side_effect: false, body: null}
          c: {extends: b, path: /c}
          e: {extends: b, path: /e, method: PUT}
          f: {extends: update, path: /f}
          g: {extends: update, path: /g, method: get}
        """,
        [
            '@restencil.rest(method="POST", path="/c", extends="b", side_effect=False, body=None)',
            '@restencil.rest(method="PUT", path="/e", extends="b", side_effect=None, body=None)',
            '@restencil.rest(method="PUT", path="/f", extends="update")',
            '@restencil.rest(method="GET", path="/g", extends="update")',
        ],
    ),
    "the nearest level counts, headers by name without case, and null takes an option back": (
        "url_prefix: https://a.example\nheaders: {X-A: spec, X-B: spec}\noptions: {timeout: 10s, retries: 2}\n",
        """
        headers: {x-a: resource}
        options: {retries: null}
        endpoints: {get: {headers: {X-a: endpoint}, url_prefix: ""}}
        """,
        [
            'path="/t/:id", schema=Thing, url_prefix="https://a.example", '
            'request_init={"headers": {"x-a": "resource", "X-B": "spec"}}, invalid_if_stale=True, needs="all", '
            "timeout=10_000, strict=True, body=Thing",
            f'({GET}, url_prefix=None, request_init={{"headers": {{"X-a": "endpoint", "X-B": "spec"}}}})',
        ],
    ),
    "credentials of the nearest level, of which none is one, and null takes them back": (
        "auth: {schemes: {token: {bearer: true}, app: {cookie: app}, key: {header: X}}}\n",
        """
        auth: [key, [token, app]]
        endpoints:
          get_list: {auth: none}
          create: {auth: token}
          update: {auth: null}
          again: {extends: get_list, path: /again, schema: [Thing]}
        """,
        [
            'strict=True, auth=(("key",), ("app", "token")), body=Thing',
            f"@restencil.rest_list({LIST}, push=_push, auth=((),))",
            'create = restencil.push_of(get_list).extend(auth=(("token",),))',
            '@restencil.rest(method="PUT", path="/t/:id", auth=None)',
            '@restencil.rest(method="PATCH", path="/t/:id")',
            '@restencil.rest(method="GET", path="/again", extends="get_list", schema=[Thing], auth=((),))',
        ],
    ),
    "the only scheme of a spec is called token": (
        "auth: {bearer: true}\n",
        "auth: none\nendpoints: {get: {auth: token}}",
        [f'@restencil.rest({GET}, auth=(("token",),))', "strict=True, auth=((),), body=Thing"],
    ),
}


@pytest.mark.parametrize(("top", "settings", "lines"), INHERITED.values(), ids=list(INHERITED))
def test_endpoint_options_inherited_setting_is_that_of_the_nearest_level(
    top: str, settings: str, lines: list[str]
) -> None:
    """What spec, resource and extended endpoints say counts for an endpoint where it says nothing itself."""
    module = of_resource(settings, top)
    for line in lines:
        has_part(module, line)


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ("", 'path="/t/:id", schema=schema.Lazy("._entities:Thing", __name__), invalid_if_stale=True'),
        ("", 'needs="all", strict=True, body='),
        ("options: {needs: required}", 'needs="required"'),
        ("options: {timeout: 5s, error_policy: soft}", "error_policy=restencil.always_soft, timeout=5000"),
        ("body: {name: string}", 'body=schema.Object({"name": None})'),
        ("endpoint: python:my.api:Base", "endpoint=my.api.Base"),
        ("collection: python:my.lists:Sorted", "collection=my.lists.Sorted"),
    ],
)
def test_endpoint_options_class_line_has_what_all_members_share(settings: str, part: str) -> None:
    """Path, schema and the options of the resource."""
    entity = "entities: {Thing: {fields: {id: integer, name: string}}}\n"
    more = f"\n    {settings}" if settings else ""
    other = "\n  others: {path: /o/:id, schema: Thing, members: [get]}"
    text = rendered(f"{entity}resources:\n  things:\n    path: /t/:id\n    schema: Thing{more}{other}\n")["things.py"]
    has_part(text, part)


def test_endpoint_options_no_body_is_in_the_class_line_of_a_resource_that_only_reads() -> None:
    """Without a call that sends one, nothing says what bodies are."""
    lacks(of_resource("members: [get, get_list]\n"), "body=")


def test_endpoint_options_unknown_body_of_another_entity_is_written() -> None:
    """The JSON names of a body are those of its own type, whatever the schema of the endpoint is."""
    text = rendered("""
        objects: {Point: {x: integer}}
        entities:
          Thing: {fields: {id: integer}}
          Other: {fields: {id: integer}}
        resources:
          things:
            path: /t/:id
            schema: Thing
            body: {name: string}
            endpoints:
              update: {body: Thing}
              answer: {method: POST, path: /a, schema: Other}
              other: {method: POST, path: /b, schema: Other, body: Other}
              point: {method: POST, path: /p, body: Point}
              quiet: {method: POST, path: /c, body: null}
              loud: {extends: quiet, path: /d, body: any}
              raw: {extends: quiet, path: /e, body: bytes, schema: null}
        """)["things.py"]
    other = 'schema.Lazy("._entities:Other", __name__)'
    has_line(text, '@restencil.rest(method="PUT", path="/t/:id", body=Thing)')
    has_line(text, f'@restencil.rest(method="POST", path="/a", schema={other})')
    has_line(text, f'@restencil.rest(method="POST", path="/b", schema={other}, body={other})')
    has_line(text, '@restencil.rest(method="POST", path="/p", body=Point)')
    has_line(text, '@restencil.rest(method="POST", path="/c", body=None)')
    has_line(text, '@restencil.rest(method="POST", path="/d", extends="quiet", body_format="json", body=dict)')
    has_line(
        text,
        '@restencil.rest(method="POST", path="/e", extends="quiet", schema=None, body_format="bytes", body=dict)',
    )
    assert text.count('body=schema.Object({"name": None})') == 1


def test_endpoint_options_members_that_do_not_exist_are_not_in_the_types() -> None:
    """Without `push` there is no `create`."""
    lacks(of_resource("members: [get_list, unshift]\n"), "create")


def test_endpoint_options_extended_list_has_its_own_operations() -> None:
    """What types `push` and `get_page` of another list is a function of its own."""
    text = of_resource("""
        pagination_field: page
        search_params: {order_by: string?}
        endpoints:
          found: {extends: get_list, path: /found, schema: {results: [Thing]}}
          more: {extends: get_list, path: /more}
        """)
    has_part(text, 'path="/found", extends="get_list", schema={"results": [Thing]}')
    has_part(text, "pagination_field=None")
    has_part(text, 'path="/more", push=_more_push, get_page=_more_get_page, extends="get_list"')


def test_endpoint_options_class_and_decorator_are_on_lines_before_the_signature() -> None:
    """A decorator directly precedes its function."""
    text = of_resource("members: [get]\n")
    has_lines(text, f"@restencil.rest({GET})", "def get(self, *, id: int) -> Thing:", '"""`GET /t/:id`"""', "...")
