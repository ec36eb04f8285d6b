"""The SQL engine of matching: compose named steps, run them, cache rows, render other dialects."""
