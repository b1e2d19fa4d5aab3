"""The three-way merge of an imported spec, its edits and the document's next version."""
