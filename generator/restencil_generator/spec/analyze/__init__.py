"""Semantic analysis: resolves names and inherited settings of a spec, and reports all errors."""
