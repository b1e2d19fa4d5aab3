"""The grammar of the spec language: one table of keys and kinds of values, its reader and its JSON Schema."""
