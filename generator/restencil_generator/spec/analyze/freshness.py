"""How long answers live and what changes are made for: `freshness` and `concurrency` among the options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restencil_generator.spec import model as d
from restencil_generator.spec.grammar.read import ParsedSection

if TYPE_CHECKING:
    from restencil_generator.spec.analyze.types import Types


def read_options(types: Types, given: ParsedSection, what: str) -> dict[str, Any]:
    """The options of a level: those that are mappings are what they mean."""
    found = given.values()
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


def _bounds(types: Types, given: ParsedSection, what: str) -> d.ServerFreshness:
    bounds: ParsedSection | None = given["server"]
    if bounds is None:
        return d.ServerFreshness()
    least, most = bounds["at_least"], bounds["at_most"]
    if least is not None and most is not None and least > most:
        message = f"'freshness' of {what} is at least {least} ms and at most {most} ms"
        node = bounds.node("at_least") or given.key("server")
        types.report("freshness-bounds", message, node, "write the shorter one as at_least")
    return d.ServerFreshness(least, most)
