"""Provider exposure for people: a section of the report, and a letter."""
