"""Tests of the reference of a package in Markdown."""
