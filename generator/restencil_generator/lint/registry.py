"""The registry of lint: the check for each code."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from restencil_generator.diagnostics.model import Place, Problem
from restencil_generator.lint import (
    endpoint_options,
    entities,
    examples,
    headers,
    identity,
    optimistic,
    pages,
    paths,
    search_params,
    secrets,
    unions,
    usage,
)
from restencil_generator.lint.common import Finding
from restencil_generator.spec import model as d


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """A code and the function that finds it.

    With `once` only the first finding at each place is reported, because several endpoints may inherit it.
    """

    code: str
    find: Callable[[d.Spec], Iterable[Finding]]
    once: bool = False

    def problems(self, spec: d.Spec) -> Iterator[Problem]:
        """Yield the findings as warnings, which do not prevent generation."""
        places: set[Place] = set()
        for found in self.find(spec):
            if not (self.once and found.place in places):
                places.add(found.place)
                yield Problem(self.code, found.message, found.place, found.hint, found.related, "warning")


CHECKS: Final = (
    Check("plain-http", secrets.find_plain_http),
    Check("secret-looking", secrets.find_secret_looking),
    Check("secret-not-stored", secrets.find_secrets_not_stored),
    Check("stored-credential", secrets.find_stored_credentials),
    Check("header-in-key", headers.find_headers_in_key, once=True),
    Check("header-partitions", headers.find_partitions, once=True),
    Check("param-out-of-reach", paths.find_params_out_of_reach),
    Check("key-not-in-path", identity.find_keys_not_in_path),
    Check("single-record", identity.find_single_records),
    Check("delete-cannot-find-entity", identity.find_unfound_deletes),
    Check("shared-key", entities.find_shared_keys),
    Check("nested-collection", entities.find_nested_collections),
    Check("union-order", unions.find_alike),
    Check("body-member-misfit", optimistic.find_misfits, once=True),
    Check("no-effect", endpoint_options.find_without_effect),
    Check("body-shares-key", endpoint_options.find_shared_keys),
    Check("no-effect", pages.find_without_effect),
    Check("no-iterate", pages.find_no_iterate),
    Check("search-no-field", search_params.find_no_field),
    Check("search-type", search_params.find_no_text),
    Check("example-misfit", examples.find_misfits),
    Check("unused", usage.find_unused),
)
"""The checks for every valid spec."""
