"""SQL queries for single tables and facts, which are not steps of a month."""
