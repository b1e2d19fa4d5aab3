"""OpenAPI documents of any version, read into one model."""
