"""Source text of specs: files, YAML and nodes with their positions."""
