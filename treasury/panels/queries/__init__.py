"""The SQL selections that panels list."""
