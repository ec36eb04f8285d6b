"""Provider exposure as people see it: a section of the report, a figure by day, a letter."""
