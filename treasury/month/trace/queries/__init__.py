"""The SQL queries that read the records of one trace."""
