"""Warnings about valid specs."""
