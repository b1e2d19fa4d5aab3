"""The stages that process a response before it is committed."""
