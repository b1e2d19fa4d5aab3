"""What waits for bytes."""
