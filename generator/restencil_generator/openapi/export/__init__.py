"""Export of specs as OpenAPI documents."""
