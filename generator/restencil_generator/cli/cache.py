"""The commands that inspect stored caches: `cache ls`, `show`, `stats` and `clear`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from restencil_generator.cli.console import Console, Exit
from restencil_generator.cli.options import cli, command, format_of
from restencil_generator.exceptions import Failure


@cli.group(short_help="Inspect or clear a cache on disk or on a server.")
def cache() -> None:
    """Inspect the storage of a cache: the folder of a SQLiteStorage, or the URL of a ValkeyStorage.

    Only `clear` changes anything, and programs may use the storage meanwhile. The exit code is 1 if `stats --check`
    finds damage or `show` does not find a name, and 2 if the folder or server does not exist or cannot be read.

    \b
    Examples:
      restencil cache ls ~/.cache/shop
      restencil cache show ~/.cache/shop Order/17
    """


_storage = click.argument("where", metavar="PATH_OR_URL")
_id = click.option("--id", "wanted", metavar="HASH", help="Select one namespace, by the beginning of its hash.")


@command("List namespaces and tables.", _storage, _id, format_of("text", "json"), name="ls", group=cache)
def cache_ls(console: Console, where: str, wanted: str | None) -> Exit:
    """List each namespace with its place, size and last commit, and each table with its rows, bytes and ages.

    \b
    Examples:
      restencil cache ls ~/.cache/shop
      restencil cache ls ~/.cache/shop --id 3f0c9a --format json
    """
    from restencil_generator.cli import cache_inspect

    with cache_inspect.opened(where, wanted) as found:
        listed = cache_inspect.listed(found)
    _print_stored(console, listed, lambda now: cache_inspect.listed_text(listed, now))
    return Exit.SUCCESS


@command(
    "Print results and rows.",
    _storage,
    click.argument("names", metavar="[KEY | TABLE[/PK]]...", nargs=-1),
    _id,
    format_of("text", "json"),
    name="show",
    group=cache,
)
def cache_show(console: Console, where: str, names: Sequence[str], wanted: str | None) -> Exit:
    """Print results and rows: values, times, schema and last use. Without names, print the keys of all results.

    \b
    Examples:
      restencil cache show ~/.cache/shop
      restencil cache show ~/.cache/shop 'GET https://api.shop.example/orders'
      restencil cache show ~/.cache/shop Order Item/17
    """
    from restencil_generator.cli import cache_inspect

    with cache_inspect.opened(where, wanted) as found:
        data, missing = cache_inspect.shown(found, names)
    _print_stored(console, data, lambda now: cache_inspect.shown_text(data, now))
    if not names and not any(one["keys"] for one in data):
        console.note("no results are stored here; `restencil cache ls` lists the tables")
    for name in missing:
        console.error(f"{cache_inspect.printable(name)} was not found: name the key of a result, a table, or TABLE/PK")
    return Exit.FINDINGS if missing else Exit.SUCCESS


@command(
    "Print counts, the log and leases; --check looks for damage.",
    _storage,
    click.option("--check", is_flag=True, help="Look for damaged pages, invalid JSON and dangling references."),
    _id,
    format_of("text", "json"),
    name="stats",
    group=cache,
)
def cache_stats(console: Console, where: str, check: bool, wanted: str | None) -> Exit:
    """Print counts, the first and last number of the log, current leases, and free pages.

    \b
    Examples:
      restencil cache stats ~/.cache/shop
      restencil cache stats ~/.cache/shop --check
    """
    from restencil_generator.cli import cache_inspect

    with cache_inspect.opened(where, wanted) as found, console.steps() as step:
        step("checking" if check else "counting")
        data = cache_inspect.counted(found, check=check)
    _print_stored(console, data, lambda now: cache_inspect.counted_text(data))
    return Exit.FINDINGS if any(one.get("found") for one in data) else Exit.SUCCESS


@command(
    "Delete everything that is stored.",
    _storage,
    click.option("--yes", is_flag=True, help="Do not ask for confirmation."),
    _id,
    format_of("text", "json"),
    name="clear",
    group=cache,
)
def cache_clear(console: Console, where: str, yes: bool, wanted: str | None) -> Exit:
    """Delete everything in each namespace, as `Store.reset_entire_store()` does.

    Running programs continue with an empty cache.

    \b
    Examples:
      restencil cache clear ~/.cache/shop
      restencil cache clear ~/.cache/shop --id 3f0c9a --yes
    """
    from restencil_generator.cli import cache_inspect

    with cache_inspect.opened(where, wanted) as found:
        if found and not yes and not _agreed(len(found)):
            console.note("nothing cleared")
            return Exit.FINDINGS
        data = cache_inspect.cleared(found)
    _print_stored(console, data, lambda now: cache_inspect.cleared_text(data))
    return Exit.SUCCESS


def _agreed(count: int) -> bool:
    """Ask for confirmation. Raises `Failure` if stdin is not a terminal."""
    what = "this namespace" if count == 1 else f"all {count} namespaces"
    try:
        return click.confirm(f"Clear {what}? Data will be fetched again.", err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise Failure("no confirmation was given: pass --yes to clear without confirmation") from None


def _print_stored(console: Console, data: Sequence[Mapping[str, Any]], text: Callable[[float], str]) -> None:
    if console.prints_documents:
        import json

        console.say(json.dumps(data, indent=2))
        return
    import time

    console.say(text(time.time() * 1000), end="")
