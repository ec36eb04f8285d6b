"""The SQL statements that upgrade a journal's database."""
