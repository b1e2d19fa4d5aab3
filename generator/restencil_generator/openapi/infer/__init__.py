"""Inference: heuristics that derive a spec from an OpenAPI document."""
