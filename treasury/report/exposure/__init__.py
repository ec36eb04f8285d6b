"""Provider exposure as people see it: a section of the report, and a letter."""
