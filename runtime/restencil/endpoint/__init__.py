"""Endpoints and resources: from arguments to a request, and from a response to a value, without I/O."""
