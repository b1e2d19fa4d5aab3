"""The three-way merge of an imported spec, its edits and the next version of the document."""
