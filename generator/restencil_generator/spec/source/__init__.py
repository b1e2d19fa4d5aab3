"""The sources of specs: files, YAML, and nodes with their places."""
