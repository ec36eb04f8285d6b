"""treasury: close the month in a notebook."""
