"""The output of `restencil cache`: plain data for `--format json`, and the same data as text.

Inspecting changes nothing. Stored data came from an API, so characters that are not printable are escaped before they
reach a terminal.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from restencil_generator.exceptions import Failure

if TYPE_CHECKING:
    from restencil.storage import StoredResult, StoredRow
    from restencil_generator.cache_inspect import NamespaceSummary, StoredNamespace

SHORT: Final = 6
"""Number of hash digits that are shown, which is usually enough to identify a namespace."""

_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))
_SIZES: Final = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))
_MOST: Final = 100
"""Maximum number of findings of one kind that are listed for a namespace."""


@contextlib.contextmanager
def opened(where: str, wanted: str | None) -> Generator[Sequence[StoredNamespace]]:
    """Open the namespaces at a path or URL, or the one whose hash starts with `wanted`.

    Raises `Failure` if the storage cannot be opened, or if not exactly one hash starts with `wanted`.
    """
    from restencil_generator.cache_inspect import namespaces

    found: Sequence[StoredNamespace] = ()
    try:
        found = namespaces(where)
        yield found if wanted is None else [_chosen(found, wanted)]
    except (ValueError, ImportError) as error:  # a StorageError is a ValueError
        raise Failure(str(error)) from error
    finally:
        for namespace in found:
            namespace.close()


def _chosen(found: Sequence[StoredNamespace], wanted: str) -> StoredNamespace:
    chosen = [namespace for namespace in found if namespace.hash.startswith(wanted.rstrip("…"))]
    if len(chosen) == 1 and wanted:
        return chosen[0]
    what = "no namespace begins with" if not chosen else f"{len(chosen)} namespaces begin with"
    names = ", ".join(namespace.hash for namespace in found) or "none"
    raise Failure(f"{what} {wanted!r}; there are: {names}")


# -- ls ----------------------------------------------------------------------------------------------------------------


def listed(found: Sequence[StoredNamespace]) -> list[dict[str, Any]]:
    """Return the tables and sizes of each namespace."""
    return [_listed(namespace.hash, namespace.summary()) for namespace in found]


def _listed(name: str, summary: NamespaceSummary) -> dict[str, Any]:
    tables = [
        {
            "table": table.name,
            "rows": table.rows,
            "deleted": table.tombstones,
            "bytes": table.bytes,
            "oldest": table.oldest,
            "newest": table.newest,
        }
        for table in summary.tables
    ]
    return {
        "namespace": name,
        "place": summary.place,
        "epoch": summary.epoch,
        "begun": summary.begun,
        "bytes": summary.bytes,
        "last_commit": summary.committed,
        "tables": tables,
        "results": {"count": summary.results, "bytes": summary.result_bytes},
    }


def listed_text(found: Sequence[dict[str, Any]], now: float) -> str:
    """Format the result of `listed` as text; `now` is in ms since 1970."""
    return "".join(_lines_of(one, now) for one in found) or "nothing is stored here\n"


def _lines_of(one: dict[str, Any], now: float) -> str:
    committed = "no commit" if one["last_commit"] is None else f"last commit {_ago(one['last_commit'], now)}"
    head = [_head(one), f"begun {_ago(one['begun'], now)}", _size(one["bytes"]), committed]
    rows = [
        (
            printable(table["table"]),
            f"{table['rows']:,} {'row ' if table['rows'] == 1 else 'rows'}",
            f"{table['deleted']:,} deleted",
            _size(table["bytes"]),
            "" if table["oldest"] is None else f"{_span(now - table['oldest'])} … {_span(now - table['newest'])}",
        )
        for table in one["tables"]
    ]
    results = one["results"]
    rows.append(("results", f"{results['count']:,}     ", "", _size(results["bytes"]), ""))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        f"  {name:<{widths[0]}}  {count:>{widths[1]}}  {gone:>{widths[2]}}  {size:>{widths[3]}}  {ages}".rstrip()
        for name, count, gone, size, ages in rows
    ]
    return "\n".join(["  ".join(head), *lines, ""])


def _head(one: dict[str, Any]) -> str:
    return "  ".join(filter(None, (f"{one['namespace'][:SHORT]}…", printable(one["place"]))))


# -- show --------------------------------------------------------------------------------------------------------------


def shown(found: Sequence[StoredNamespace], names: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the stored results and rows with these names, by namespace, and the names that were not found.

    A name is a result key, a table, or `TABLE/PK`. Without names, the keys of all results are returned.
    """
    missing = list(names)
    data: list[dict[str, Any]] = []
    for namespace in found:
        one: dict[str, Any] = {"namespace": namespace.hash, "place": namespace.summary().place}
        if names:
            things = [(name, _things(namespace, name)) for name in names]
            one["results"] = [thing for _, (results, _) in things for thing in results]
            one["rows"] = [thing for _, (_, rows) in things for thing in rows]
            missing = [name for name, (results, rows) in things if name in missing and not results and not rows]
        else:
            one["keys"] = [result.key for result, _ in namespace.results()]
        data.append(one)
    return data, missing


def _things(namespace: StoredNamespace, name: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the results and rows with a name."""
    result = namespace.result(name)
    results = [] if result is None else [_result(namespace, *result)]
    tables = {table.name for table in namespace.summary().tables}
    if name in tables:
        return results, [_row(*row) for row in namespace.rows(name)]
    parts = name.split("/")
    cells = (("/".join(parts[:at]), "/".join(parts[at:])) for at in range(1, len(parts)))
    rows = [row for table, pk in cells if table in tables and (row := namespace.row(table, pk)) is not None]
    return results, [_row(*row) for row in rows]


def _times(held: StoredRow | StoredResult, used: float) -> dict[str, Any]:
    fetched_at, date, expires_at = held.times
    return {
        "fetched_at": fetched_at,
        "date": date,
        "expires_at": None if expires_at == float("inf") else expires_at,
        "used": used,
        "rev": held.rev,
        "shape": held.shape,
    }


def _row(row: StoredRow, used: float) -> dict[str, Any]:
    value = {"deleted": True} if row.value is None else _value(row.value)
    return {"table": row.table, "pk": row.pk, **_times(row, used), **value}


def _result(namespace: StoredNamespace, result: StoredResult, used: float) -> dict[str, Any]:
    value = {"value": None} if result.value is None else _value(result.value)
    cells = list(dict.fromkeys(_cells(namespace, value.get("value"))))
    return {
        "key": result.key,
        **_times(result, used),
        "invalidated": result.invalidated,
        **value,
        "cells": [list(cell) for cell in cells],
    }


def _value(text: bytes) -> dict[str, Any]:
    try:
        return {"value": json.loads(text)}
    except ValueError:
        return {"value": None, "damaged": "no JSON"}


def _cells(namespace: StoredNamespace, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the rows that a result refers to: its schema is unknown, so every string that is a primary key counts."""
    tables = [table.name for table in namespace.summary().tables]
    for text in _texts(value):
        for table in tables:
            row = namespace.row(table, text)
            if row is not None:
                yield table, text
                yield from ((items, pk) for items, pk in _items(row[0]) if namespace.row(items, pk) is not None)


def _items(row: StoredRow) -> Iterator[tuple[str, str]]:
    """Yield the rows that a stored list or map of primary keys refers to: `[Article]` refers to `Article`."""
    tables = _tables_of(row.table)
    if not tables or row.value is None:
        return
    for item in _texts(_value(row.value).get("value")):
        if len(tables) == 1:
            yield tables[0], item


def _tables_of(table: str) -> list[str]:
    """Return the tables that a table of lists or maps refers to; none for a table of entities."""
    end = {"[": "]", "{": "}"}.get(table[:1])
    return [] if end is None else [name for name in table[1:].rpartition(end)[0].split(";") if name]


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings in a value, nested ones included: any of them may be a primary key."""
    waiting = [value]
    for one in waiting:
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            waiting += one.values()


def shown_text(data: Sequence[dict[str, Any]], now: float) -> str:
    """Format the result of `shown` as text; `now` is in ms since 1970."""
    lines: list[str] = []
    for one in data:
        things = [*one.get("results", ()), *one.get("rows", ())]
        keys = one.get("keys", ())
        if len(data) > 1 and (things or keys):
            lines.append(_head(one))
        lines += map(printable, keys)
        for thing in things:
            lines += _thing_text(thing, now)
    return "".join(f"{line}\n" for line in lines)


def _thing_text(thing: dict[str, Any], now: float) -> list[str]:
    name = thing["key"] if "key" in thing else f"{thing['table']}/{thing['pk']}"
    expiry = thing["expires_at"]
    if thing.get("invalidated"):
        fresh = "invalidated"
    elif expiry is None:
        fresh = "never stale"
    else:
        fresh = f"stale since {_span(now - expiry)}" if expiry <= now else f"stale in {_span(expiry - now)}"
    details = [f"received {_ago(thing['date'], now)}", fresh, f"rev {thing['rev']}", _used(thing["used"], now)]
    if thing["shape"]:
        details.append(f"schema {printable(thing['shape'])}")
    if thing.get("deleted"):
        value = "deleted"
    elif "damaged" in thing:
        value = f"damaged: {thing['damaged']}"
    else:
        value = printable(json.dumps(thing["value"], ensure_ascii=False))
    cells = [printable("/".join(cell)) for cell in thing.get("cells", ())]
    more = f" and {len(cells) - _MOST:,} more" if len(cells) > _MOST else ""
    leads = [f"  leads to {', '.join(cells[:_MOST])}{more}"] if cells else []
    return [printable(name), f"  {', '.join(details)}", f"  {value}", *leads]


# -- stats -------------------------------------------------------------------------------------------------------------


def counted(found: Sequence[StoredNamespace], *, check: bool) -> list[dict[str, Any]]:
    """Return counts, log, leases and free pages of each namespace; `check` adds damage and dangling references."""
    return [_counted(namespace, check=check) for namespace in found]


def _counted(namespace: StoredNamespace, *, check: bool) -> dict[str, Any]:
    from restencil import StorageCorrupt

    try:
        summary = namespace.summary()
    except StorageCorrupt as error:
        if not check:
            raise
        return {"namespace": namespace.hash, "place": "", "found": [str(error)]}
    counts: dict[str, Any] = {
        "namespace": namespace.hash,
        "place": summary.place,
        "rows": sum(table.rows for table in summary.tables),
        "deleted": sum(table.tombstones for table in summary.tables),
        "results": summary.results,
        "bytes": summary.bytes,
        "log": {"first": summary.first, "last": summary.last},
        "leases": [{"name": name, "owner": owner, "remaining": left} for name, owner, left in summary.leases],
        "free_pages": summary.free_pages,
    }
    if check:
        counts["found"] = list(_findings(namespace, summary))
    return counts


def _findings(namespace: StoredNamespace, summary: NamespaceSummary) -> Iterator[str]:
    damage = list(namespace.damage())
    yield from damage
    if damage:
        return
    pks = {table.name: {row.pk for row, _ in namespace.rows(table.name)} for table in summary.tables}
    whole = {table.name for table in summary.tables if not table.incomplete}
    yield from _few(
        f"{row.table}/{row.pk} is not valid JSON"
        for table in summary.tables
        for row, _ in namespace.rows(table.name)
        if row.value is not None and "damaged" in _value(row.value)
    )
    yield from _few(
        f"the result of {result.key} is not valid JSON"
        for result, _ in namespace.results()
        if result.value is not None and "damaged" in _value(result.value)
    )
    yield from _few(
        f"{row.table}/{row.pk} refers to {items}/{pk}, which does not exist"
        for table in summary.tables
        for row, _ in namespace.rows(table.name)
        for items, pk in _items(row)
        if items in whole and pk not in pks[items]
    )


def _few(findings: Iterator[str]) -> Iterator[str]:
    for count, finding in enumerate(findings):
        if count == _MOST:
            yield f"and more like this: {finding}"
            return
        yield finding


def counted_text(data: Sequence[dict[str, Any]]) -> str:
    """Format the result of `counted` as text."""
    lines: list[str] = []
    for one in data:
        lines.append(_head(one))
        if "rows" in one:
            log = one["log"]
            leases = [f"{lease['name']} for {_span(lease['remaining'])}" for lease in one["leases"]]
            counts = [f"{name} {one[name]:,}" for name in ("rows", "deleted", "results")]
            lines += [
                f"  {', '.join(counts)}, {_size(one['bytes'])}",
                f"  log {log['first']:,} … {log['last']:,}" if log["last"] else "  log empty",
                f"  leases: {printable(', '.join(leases)) or 'none'}",
                f"  free pages: {one['free_pages']:,}",
            ]
        lines += [f"  found: {printable(finding)}" for finding in one.get("found", ())]
        if one.get("found") == []:
            lines.append("  no damage found")
    return "".join(f"{line}\n" for line in lines) or "nothing is stored here\n"


# -- clear -------------------------------------------------------------------------------------------------------------


def cleared(found: Sequence[StoredNamespace]) -> list[dict[str, Any]]:
    """Begin a new, empty epoch of each namespace."""
    return [{"namespace": namespace.hash, "epoch": namespace.reset()} for namespace in found]


def cleared_text(data: Sequence[dict[str, Any]]) -> str:
    """Format the result of `cleared` as text."""
    return "".join(f"{one['namespace'][:SHORT]}…  cleared\n" for one in data) or "nothing is stored here\n"


# -- words -------------------------------------------------------------------------------------------------------------


def printable(text: str) -> str:
    """Escape the characters that are not printable, so that data from an API cannot control the terminal."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def _ago(moment: float, now: float) -> str:
    return f"{_span(now - moment)} ago"


def _used(hour: float, now: float) -> str:
    """Format the time of the last use, which is recorded by the hour."""
    hours = int((now - hour) // 3_600_000)
    return f"used {_span(hours * 3_600_000)} ago" if hours else "used within the hour"


def _span(length: float) -> str:
    """Format a duration in ms, in its largest unit."""
    for size, unit in _UNITS:
        if abs(length) >= size:
            return f"{int(length / size)} {unit}"
    return "0 s"


def _size(count: int) -> str:
    for size, unit in _SIZES:
        if count >= size:
            return f"{count / size:.1f} {unit}" if count < 100 * size and unit != "kB" else f"{count // size} {unit}"
    return f"{count} B"
