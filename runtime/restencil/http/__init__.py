"""Sends HTTP requests: transports, authentication, redirects, limits and redaction."""
