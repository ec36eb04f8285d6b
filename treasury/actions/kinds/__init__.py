"""The kinds of action; each declares its fields, checks, sentence and call."""
