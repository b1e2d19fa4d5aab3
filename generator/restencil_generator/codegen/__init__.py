"""Code generation: from a resolved spec to the source of its modules."""
