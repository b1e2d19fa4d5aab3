"""The reference of a package for its users, as Markdown: calls with arguments and types, types, errors, examples."""
