"""Projects: configuration, the packages of all their specs, and scaffolding."""
