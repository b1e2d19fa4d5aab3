"""The `restencil` command."""
