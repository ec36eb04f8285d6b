"""The steps of a close as sentences: confirmed by a person and stored in the journal."""
