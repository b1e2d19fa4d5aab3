"""`restencil mock`: a server that behaves as a spec says, with data that it keeps while it runs.

`create_app` makes the ASGI application (for tests in process), `serve` runs it. Of the generator this folder knows the
loaded spec, `spec.model`, and nothing else. Needs the extra `[mock]`.

A request goes through it in this order: `app` reads HTTP, `routes` finds the endpoint, `failures` decides whether an
error was asked for, `answer` has `body` validate the request, `records` selects what the call is about, `pages` cuts
it, `changes` writes, and `respond` builds the response that the spec declares. `tables` keeps the data as rows,
`store_json` stores JSON in them, `serialize` turns them into JSON, and `seed` fills them first: with examples of the
spec and with what `fake_values` invents.
"""

from restencil_generator.mock.app import create_app
from restencil_generator.mock.errors import CannotServe
from restencil_generator.mock.failures import Failure, failure
from restencil_generator.mock.server import serve

__all__ = ["CannotServe", "Failure", "create_app", "failure", "serve"]
