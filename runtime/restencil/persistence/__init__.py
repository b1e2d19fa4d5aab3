"""Persistence: reads through, writes behind, and follows the changes of other processes in a storage."""
