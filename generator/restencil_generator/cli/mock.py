"""The command `mock`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from restencil_generator.cli.console import Console, Exit
from restencil_generator.cli.options import command, format_option, need, specs_alone
from restencil_generator.exceptions import Failure

if TYPE_CHECKING:
    from restencil_generator.project.config import Project


@command(
    "Run a mock server for the API of the specs.",
    specs_alone,
    format_option,
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=8000,
        show_default=True,
        help="The port to listen on; 0 selects a free port.",
    ),
    click.option(
        "--host",
        default="127.0.0.1",
        show_default=True,
        help="The address to listen on. Requests must name it, or localhost, in `Host`.",
    ),
    click.option("--no-auth", is_flag=True, help="Accept requests without credentials where the spec has `auth`."),
    click.option("--auth-server", is_flag=True, help="Also issue tokens at the path of each `token_url`."),
    click.option(
        "--max-body",
        type=click.IntRange(0),
        default=10_000_000,
        show_default=True,
        metavar="N",
        help="The largest request body in bytes; larger ones get the response 413.",
    ),
)
def mock(
    console: Console,
    project: Callable[[], Project],
    port: int,
    host: str,
    no_auth: bool,
    auth_server: bool,
    max_body: int,
) -> Exit:
    """Run a stateful mock server for the API of the specs on this machine, until interrupted.

    It starts with the examples of the spec, which must fit the declared types. Errors have the bodies that `errors`
    declares. A request can ask for an error with the header `Prefer: status=404`.

    \b
    Examples:
      restencil mock specs/blog.yaml
      restencil mock specs/blog.yaml --port 0
    """
    need("`restencil mock`", "mock", "starlette", "uvicorn")
    from restencil_generator.api import load_all

    specs = load_all(project().specs)
    from restencil_generator.mock import CannotServe, serve  # imported only if all specs are valid

    try:
        serve(
            specs,
            host=host,
            port=port,
            auth=not no_auth,
            auth_server=auth_server,
            max_body=max_body,
            announce=console.say,
            log=console.note,
        )
    except CannotServe as error:
        raise Failure(str(error)) from error
    return Exit.SUCCESS
