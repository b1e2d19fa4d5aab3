"""The lowest layer, which does not depend on resources: JSON values, errors, durations, schedulers, transports."""
