"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A busy machine makes any single example slow now and then: what counts is the result, not the time. `make test` tries
# the same examples each time, `make nightly` new ones.
settings.register_profile("restencil", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("explore", settings.get_profile("restencil"), derandomize=False, print_blob=True)
settings.load_profile("restencil")
