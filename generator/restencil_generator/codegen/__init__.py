"""Code generation: from a resolved spec to the text of its modules."""
