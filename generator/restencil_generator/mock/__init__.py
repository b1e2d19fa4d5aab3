"""`restencil mock`: a server that behaves as a spec says, with data that it keeps while it runs.

`create_app` makes the ASGI application (for tests in process), `serve` runs it. Inside, `routes` finds the endpoint of
a request, `answer` answers it, `tables` keeps the data and `made_up` invents it. Needs the extra `[mock]`.
"""

from restencil_generator.mock.app import create_app
from restencil_generator.mock.server import serve

__all__ = ["create_app", "serve"]
