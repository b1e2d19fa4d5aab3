"""`restencil mock`: a stateful mock server for the API of a spec.

`create_app` creates the ASGI application (for tests in process), `serve` runs it. This folder uses only the resolved
specs and `spec.model` of the generator. Needs the extra `[mock]`.

A request is processed in this order: `app` reads HTTP, `routes` finds the endpoint, `failures` decides whether an error
was requested, `answer` has `parse_body` and `changes` validate the body, `records` selects the records, `pages` selects
the page, `changes` writes, and `respond` builds the declared response. `tables` stores the data as rows, `store_json`
converts JSON to rows, `serialize` converts rows to JSON, and `seed` creates the first rows: from the examples of the
spec and from `fake_values`.
"""

from restencil_generator.mock.app import create_app
from restencil_generator.mock.errors import CannotServe
from restencil_generator.mock.server import serve

__all__ = ["CannotServe", "create_app", "serve"]
