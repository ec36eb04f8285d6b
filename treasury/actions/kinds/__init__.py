"""The kinds of action: each one declaration of its fields, its checks, sentence and call."""
