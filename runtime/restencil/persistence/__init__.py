"""What a store does with the storage it stands on: reads that load, writes, and what others changed."""
