"""Whether the cache of a generated package calls fresh only what the server would say now."""
