"""Packages on disk: manifest, drift, atomic writes and the build cache."""
