"""OpenAPI documents in and out: what `restencil import` and `restencil export openapi` do."""
