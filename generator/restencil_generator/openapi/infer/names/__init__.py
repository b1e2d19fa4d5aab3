"""The names that an import gives."""
