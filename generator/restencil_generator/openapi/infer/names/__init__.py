"""The names in an imported spec."""
