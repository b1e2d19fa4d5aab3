"""The templates of generated packages; `CONTEXT.md` says what they get."""
