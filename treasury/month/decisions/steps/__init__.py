"""The SQL queries with which decisions are checked."""
