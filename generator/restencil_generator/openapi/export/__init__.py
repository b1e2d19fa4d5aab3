"""Specs as OpenAPI documents."""
