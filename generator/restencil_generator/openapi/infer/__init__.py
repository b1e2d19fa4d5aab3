"""The guesses of an import: from a document to a spec."""
