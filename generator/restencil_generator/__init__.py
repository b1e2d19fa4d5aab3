"""restencil's generator: a spec in, a typed Python package out."""
