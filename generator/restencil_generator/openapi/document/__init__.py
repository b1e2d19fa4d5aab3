"""OpenAPI documents of all versions, read into one model."""
