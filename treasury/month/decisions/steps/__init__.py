"""The SQL selections that decisions are held against."""
