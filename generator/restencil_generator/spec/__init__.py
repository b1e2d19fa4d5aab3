"""The spec language: source text, grammar, semantic analysis and the resolved model."""
