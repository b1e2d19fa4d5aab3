"""Options of endpoints: converts those that are mappings or lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restencil_generator.diagnostics.model import did_you_mean, quoted
from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.value_reader import ParsedSection, Subject

if TYPE_CHECKING:
    from collections.abc import Sequence

    from restencil_generator.spec.analyze.types import Types
    from restencil_generator.spec.source.nodes import Node


def read_options(types: Types, given: ParsedSection, what: Subject) -> dict[str, Any]:
    """Read the options of a level by their names in `Options`; null restores the default."""
    found = given.values()
    for name in ("invalid_if_stale", "needs"):
        if name in found and found[name] is None:
            found[name] = getattr(d.Options(), name)
    if isinstance(found.get("needs"), list):
        found["needs"] = tuple(name for name, _ in found["needs"])
    freshness, concurrency = found.get("freshness"), found.get("concurrency")
    if freshness == "server":
        found["freshness"] = d.ServerFreshness()
    elif isinstance(freshness, ParsedSection):
        found["freshness"] = _bounds(types, freshness, what)
    if concurrency == "etag":
        found["concurrency"] = d.Concurrency()
    elif isinstance(concurrency, ParsedSection):
        found["concurrency"] = d.Concurrency("etag" in concurrency, concurrency["field"])
    return found


def _bounds(types: Types, given: ParsedSection, what: Subject) -> d.ServerFreshness:
    bounds: ParsedSection | None = given["server"]
    if bounds is None:
        return d.ServerFreshness()
    least, most = bounds["at_least"], bounds["at_most"]
    if least is not None and most is not None and least > most:
        message = f"'at_least' ({least} ms) of 'freshness' of {what} is longer than 'at_most' ({most} ms)"
        node = bounds.node("at_least") or given.key("server")
        types.report("freshness-bounds", message, node, "write the shorter one as at_least")
    return d.ServerFreshness(least, most)


def check_needs(
    types: Types, options: ParsedSection | None, entities: Sequence[d.Entity], what: Subject, owner: str
) -> None:
    """Report fields under `needs` that no entity has. `owner` is the owner of the entities in messages."""
    needs: list[tuple[str, Node]] | str | None = None if options is None else options["needs"]
    if options is None or needs is None or isinstance(needs, str):
        return
    if not entities:
        message = f"'needs' of {what} lists fields, but {owner} has no entity"
        types.report("key-not-here", message, options.key("needs"), "write 'all' or 'required', or remove it")
        return
    for name, node in needs:
        if any(entity.field(name) for entity in entities):
            continue
        known = types.raw_fields(entities[0].name)
        hint = did_you_mean(name, known) or (f"its fields: {', '.join(known[:12])}" if known else "")
        message = f"{quoted(name)} in 'needs' of {what} is not a field of entity {quoted(entities[0].name)}"
        types.report("needs-field", message, node, hint)
