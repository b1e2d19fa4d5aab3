"""From the tree of a spec to its declaration, or to every mistake in it: `spec.check` is the way in."""
