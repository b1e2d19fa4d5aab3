"""Advice about valid specs."""
