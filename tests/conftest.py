"""Settings that all tests share."""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

# A busy machine makes any single example slow now and then: what counts is the result, not the time. `make test` tries
# the same examples each time, `make nightly` new ones.
settings.register_profile("restencil", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("explore", settings.get_profile("restencil"), derandomize=False, print_blob=True)
settings.load_profile("restencil")

# A job that a shell put into the background ignores Ctrl-C, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
