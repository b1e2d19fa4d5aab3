"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Two busy cores make any single example slow now and then: what counts is the result, not the time.
settings.register_profile("restencil", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("restencil")
