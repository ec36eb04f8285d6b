"""SQL queries of the panels' lists."""
