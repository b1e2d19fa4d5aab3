"""Import and export of OpenAPI documents: `restencil import` and `restencil export openapi`."""
