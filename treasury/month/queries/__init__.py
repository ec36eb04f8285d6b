"""SQL queries of single tables and facts that are not steps of a month."""
