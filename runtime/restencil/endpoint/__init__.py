"""From arguments to a request, from a response to a value; no I/O."""
