"""Two specs beside each other: what changed, what it means, and whether that is so."""
