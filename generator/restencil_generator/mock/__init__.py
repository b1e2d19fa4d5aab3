"""`restencil mock`: a server that behaves as a spec says, with data that it keeps while it runs.

`create_app` makes the ASGI application (for tests in process), `serve` runs it. Of the generator this folder knows the
loaded spec, `declaration`, and nothing else. Needs the extra `[mock]`.

A request goes through it in this order: `app` reads HTTP, `routes` finds the endpoint, `failures` say whether an error
is asked for and what its body is, `answer` lets `body` judge what
was sent, `records` choose what the call is about, `pages` cut it, `changes` write, and `shape` put together what the
spec declares. `tables` keep the data as rows, `intake` brings JSON into them, `show` brings it back, `seed` fills them
first, with the spec's examples and with what `made_up` invents.
"""

from restencil_generator.mock.app import create_app
from restencil_generator.mock.errors import CannotServe
from restencil_generator.mock.failures import Failure, failure
from restencil_generator.mock.server import serve

__all__ = ["CannotServe", "Failure", "create_app", "failure", "serve"]
